/* Device memory that several processes share. An allocation that is exported moves into a file
 * without a name, under the same address; another process of the same user maps it through /proc.
 * The exporter alone is charged. */
#define _GNU_SOURCE
#include "sim.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };

/* What a handle's 64 bytes mean here. */
typedef struct {
  uint64_t bytes;
  int pid, file, device; /* of the exporter; the device is an index in the ledger */
} Handle;

static size_t mapped_bytes(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

/* Pages that hold nothing stay holes in the file. */
static bool copy_content(int file, const char* start, size_t bytes) {
  static const char zeros[CHUNK];
  for (size_t at = 0; at < bytes; at += CHUNK) {
    size_t size = bytes - at < CHUNK ? bytes - at : CHUNK;
    if (!memcmp(start + at, zeros, size)) continue;
    if (pwrite(file, start + at, size, (off_t)at) != (ssize_t)size) return false;
  }
  return true;
}

/* Returns the file, -1 if there is no room. */
static int move_to_file(const Allocation* a) {
  size_t bytes = mapped_bytes(a->bytes);
  int file = memfd_create("simulated-device-memory", MFD_CLOEXEC);
  if (file < 0) return -1;
  bool moved = !ftruncate(file, (off_t)bytes) && copy_content(file, a->start, bytes) &&
               mmap(a->start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                    file, 0) != MAP_FAILED;
  if (moved) return file;
  close(file);
  return -1;
}

int sim_export(void* pointer, void* handle) {
  Allocation a;
  if (!sim_find(pointer, &a) || a.kind != ON_DEVICE) return INVALID_VALUE;
  if (!a.file) {
    a.file = move_to_file(&a);
    if (a.file < 0) return OUT_OF_MEMORY;
    sim_set_file(a.start, a.file);
  }
  Handle content = {a.bytes, getpid(), a.file, sim_index(a.device)};
  memset(handle, 0, 64);
  memcpy(handle, &content, sizeof content);
  return SUCCESS;
}

int sim_import(const void* handle, void** out) {
  Handle h;
  memcpy(&h, handle, sizeof h);
  *out = NULL;
  if (h.pid == getpid()) return INVALID_CONTEXT; /* as CUDA: not in the exporting process */
  int device = 0;
  while (device < sim_device_count() && sim_index(device) != h.device) device++;
  int code = sim_open_context(device);
  if (code) return code;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", h.pid, h.file);
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return INVALID_RESOURCE_HANDLE;
  struct stat status;
  size_t bytes = mapped_bytes(h.bytes);
  void* start = MAP_FAILED;
  if (!fstat(file, &status) && status.st_size == (off_t)bytes)
    start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (start == MAP_FAILED) {
    close(file);
    return INVALID_RESOURCE_HANDLE;
  }
  sim_add(start, h.bytes, device, IMPORTED);
  sim_set_file(start, file);
  *out = start;
  return SUCCESS;
}

int sim_close(void* pointer) {
  Allocation a;
  if (!sim_remove(pointer, IMPORTED, &a)) return INVALID_VALUE;
  munmap(a.start, mapped_bytes(a.bytes));
  close(a.file);
  return SUCCESS;
}
