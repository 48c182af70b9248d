/* Allocations: host memory behind device pointers, taken without reserving it, so that 20 GiB "on
 * the device" cost the host what is written to them. A sorted table says what a pointer belongs to.
 */
#define _GNU_SOURCE
#include "sim.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Allocation* table;
static int count, room;

/* The last entry that starts at or before the pointer; -1: none. */
static int position(const void* pointer) {
  int low = 0, high = count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (table[middle].start <= (const char*)pointer)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

void sim_add(void* pointer, size_t bytes, int device, Kind kind) {
  pthread_mutex_lock(&mutex);
  if (count == room) {
    room = room ? room * 2 : 256;
    table = realloc(table, (size_t)room * sizeof *table);
    if (!table) abort();
  }
  int i = position(pointer) + 1;
  memmove(table + i + 1, table + i, (size_t)(count - i) * sizeof *table);
  table[i] = (Allocation){pointer, bytes, device, kind, 0};
  count++;
  pthread_mutex_unlock(&mutex);
}

bool sim_remove(void* pointer, int kinds, Allocation* out) {
  pthread_mutex_lock(&mutex);
  int i = position(pointer);
  bool found = i >= 0 && table[i].start == pointer && table[i].kind & kinds;
  if (found) {
    *out = table[i];
    memmove(table + i, table + i + 1, (size_t)(count - i - 1) * sizeof *table);
    count--;
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

bool sim_find(const void* pointer, Allocation* out) {
  pthread_mutex_lock(&mutex);
  int i = position(pointer);
  bool found = i >= 0 && (const char*)pointer < table[i].start + table[i].bytes;
  if (found) *out = table[i];
  pthread_mutex_unlock(&mutex);
  return found;
}

void sim_set_file(void* start, int file) {
  pthread_mutex_lock(&mutex);
  int i = position(start);
  if (i >= 0 && table[i].start == start) table[i].file = file;
  pthread_mutex_unlock(&mutex);
}

static size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

int sim_allocate(int device, size_t bytes, void** out) {
  *out = NULL;
  if (!bytes) return SUCCESS;
  int code = sim_open_context(device);
  if (code) return code;
  if (!ledger_charge(sim_index(device), bytes, false)) return OUT_OF_MEMORY;
  /* Large ones are aligned to the driver's steps, as expandable segments need. */
  size_t align = bytes >= 1 << 20 ? LEDGER_GRANULARITY : PAGE, size = pages(bytes);
  char* area = mmap(NULL, size + align, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) {
    ledger_release(sim_index(device), bytes);
    return OUT_OF_MEMORY;
  }
  char* start = (char*)(((uintptr_t)area + align - 1) / align * align);
  if (start > area) munmap(area, (size_t)(start - area));
  if (start < area + align) munmap(start + size, (size_t)(area + align - start));
  madvise(start, size, MADV_NOHUGEPAGE);
  sim_add(start, bytes, device, ON_DEVICE);
  *out = start;
  return SUCCESS;
}

int sim_free(void* pointer) {
  Allocation a;
  if (!pointer) return SUCCESS;
  if (!sim_remove(pointer, ON_DEVICE, &a)) return INVALID_VALUE;
  munmap(a.start, pages(a.bytes));
  if (a.file) close(a.file);
  ledger_release(sim_index(a.device), a.bytes);
  return SUCCESS;
}

HIDDEN void forget_device(int device) {
  for (;;) {
    void* found = NULL;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < count && !found; i++)
      if (table[i].device == device && table[i].kind == ON_DEVICE) found = table[i].start;
    pthread_mutex_unlock(&mutex);
    if (!found) return;
    sim_free(found);
  }
}

/* Copies that write much at once get huge pages; anything less would cost the host too much. */
enum { LARGE = 16 << 20 };
static char* page_before(void* pointer) { return (char*)((uintptr_t)pointer / PAGE * PAGE); }

/* Mappings of an expandable segment follow each other, so the first and the last byte count. */
static bool known(const void* pointer, size_t bytes) {
  Allocation a;
  return sim_find(pointer, &a) && sim_find((const char*)pointer + bytes - 1, &a);
}

int sim_copy(void* to, const void* from, size_t bytes, Copy kind) {
  Allocation a;
  if (!bytes) return SUCCESS;
  if ((kind == TO_DEVICE || kind == WITHIN_DEVICE) && !known(to, bytes)) return INVALID_VALUE;
  if ((kind == TO_HOST || kind == WITHIN_DEVICE) && !known(from, bytes)) return INVALID_VALUE;
  if (bytes >= LARGE && sim_find(to, &a) && a.kind & ON_DEVICE && !a.file)
    madvise(page_before(to), bytes, MADV_HUGEPAGE);
  memmove(to, from, bytes);
  return SUCCESS;
}

/* Zeroing much gives pages back. */
int sim_fill(void* pointer, int value, size_t bytes) {
  Allocation a;
  if (!bytes) return SUCCESS;
  if (!known(pointer, bytes) || !sim_find(pointer, &a)) return INVALID_VALUE;
  if (value || bytes <= 1 << 20 || a.kind & (ON_HOST | REGISTERED)) {
    memset(pointer, value, bytes);
    return SUCCESS;
  }
  char* start = (char*)(((uintptr_t)pointer + PAGE - 1) / PAGE * PAGE);
  char* end = (char*)(((uintptr_t)pointer + bytes) / PAGE * PAGE);
  memset(pointer, 0, (size_t)(start - (char*)pointer));
  if (madvise(start, (size_t)(end - start), a.file ? MADV_REMOVE : MADV_DONTNEED))
    memset(start, 0, (size_t)(end - start));
  memset(end, 0, (size_t)((char*)pointer + bytes - end));
  return SUCCESS;
}
