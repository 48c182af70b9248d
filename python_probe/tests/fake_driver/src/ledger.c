#define _GNU_SOURCE
#include "ledger.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static Ledger* mapped;
static int descriptor = -1;
static pid_t own_pid;
static uint64_t own_start;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void after_fork(void) { pthread_mutex_init(&mutex, NULL); }

/* Clock ticks since boot; 0 if there is no such process or it is a zombie, whose memory a driver
 * has freed already. */
static uint64_t start_time(pid_t pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = 0;
  char* s = strrchr(text, ')'); /* the command's name before it may hold anything */
  if (!s) return 0;
  s += 2;
  if (*s == 'Z' || *s == 'X') return 0;
  for (int field = 3; field < 22; field++) {
    s = strchr(s, ' ');
    if (!s) return 0;
    s++;
  }
  return strtoull(s, NULL, 10);
}

static void attach(void) { /* mutex held */
  if (mapped && own_pid == getpid()) return;
  static bool registered;
  if (!registered) pthread_atfork(NULL, NULL, after_fork);
  registered = true;
  const char* path = getenv("VRAM_SIMULATED_LEDGER");
  if (!path || !*path) return;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status;
  Ledger* l = MAP_FAILED;
  if (!fstat(fd, &status) && status.st_size == sizeof(Ledger))
    l = mapped ? mapped : mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (l == MAP_FAILED || l->magic != LEDGER_MAGIC || l->version != LEDGER_VERSION) {
    close(fd);
    return;
  }
  if (descriptor >= 0)
    close(descriptor); /* a forked child needs an open file, and lock, of its own */
  descriptor = fd;
  mapped = l;
  own_pid = getpid();
  own_start = start_time(own_pid);
}

Ledger* ledger(void) {
  if (mapped && own_pid == getpid()) return mapped;
  pthread_mutex_lock(&mutex);
  attach();
  pthread_mutex_unlock(&mutex);
  return mapped;
}

bool ledger_lock(void) {
  pthread_mutex_lock(&mutex);
  attach();
  if (!mapped) {
    pthread_mutex_unlock(&mutex);
    return false;
  }
  flock(descriptor, LOCK_EX);
  return true;
}

void ledger_unlock(void) {
  flock(descriptor, LOCK_UN);
  pthread_mutex_unlock(&mutex);
}

static CallsRow* calls_row(const char* function) {
  CallsRow* found = NULL;
  if (!ledger_lock()) return NULL;
  for (unsigned i = 0; i < LEDGER_CALLS && !found; i++) {
    CallsRow* row = &mapped->calls[i];
    if (!row->function[0]) snprintf(row->function, sizeof row->function, "%s", function);
    if (!strcmp(row->function, function)) found = row;
  }
  ledger_unlock();
  return found;
}

static bool concerns(const InjectedErrorRow* error, const char* function, int device) {
  size_t n = strlen(error->function);
  if (!n || !error->count || (error->device >= 0 && error->device != device)) return false;
  bool start = error->function[n - 1] == '*';
  return start ? !strncmp(error->function, function, n - 1) : !strcmp(error->function, function);
}

int ledger_call(CallsRow** row, const char* function, int device) {
  Ledger* l = ledger();
  if (!l) return 0;
  if (!*row) *row = calls_row(function);
  if (*row) __atomic_fetch_add(&(*row)->count, 1, __ATOMIC_RELAXED);
  int code = 0, slow = 0;
  for (unsigned i = 0; i < LEDGER_ERRORS; i++) {
    InjectedErrorRow* error = &l->errors[i];
    if (!concerns(error, function, device)) continue;
    if (error->count > 0) __atomic_fetch_sub(&error->count, 1, __ATOMIC_SEQ_CST);
    if (error->slow_ms > slow) slow = error->slow_ms;
    if (!code) code = error->code;
  }
  struct timespec delay = {slow / 1000, slow % 1000 * 1000000L};
  while (slow && nanosleep(&delay, &delay) && errno == EINTR) continue;
  return code;
}

/* A process that is gone is seen at once. A zombie, or a pid that another process has got, is
 * looked for every 10 ms only: a driver's call costs no look into /proc for each process. */
static bool gone(const ProcessRow* p, bool thorough) {
  if (kill((pid_t)p->pid, 0) && errno == ESRCH) return true;
  return thorough && start_time((pid_t)p->pid) != p->started;
}

void ledger_reap(Ledger* l) {
  static uint64_t last;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  uint64_t now = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
  bool thorough = now - last >= 10;
  if (thorough) last = now;
  for (unsigned i = 0; i < l->process_rows; i++) {
    ProcessRow* p = &l->processes[i];
    if (!(p->flags & LEDGER_USED) || p->flags & (LEDGER_STATIC | LEDGER_ZOMBIE)) continue;
    if (!p->ended_at && !gone(p, thorough)) continue;
    if (!p->ended_at) p->ended_at = now;
    if (l->driver.keep_dead)
      p->flags |= LEDGER_ZOMBIE;
    else if (now - p->ended_at >= (uint64_t)l->driver.release_ms)
      memset(p, 0, sizeof *p);
  }
}

uint64_t ledger_used(Ledger* l, int device) {
  uint64_t used = 0;
  for (unsigned i = 0; i < l->device_count; i++)
    if ((int)i == device || l->devices[i].parent == device) used += l->devices[i].other_used;
  for (unsigned i = 0; i < l->process_rows; i++) {
    const ProcessRow* p = &l->processes[i];
    if (p->flags & LEDGER_USED && (p->device == device || l->devices[p->device].parent == device))
      used += p->bytes;
  }
  return used;
}

static void read_command(char* name, size_t size) {
  FILE* f = fopen("/proc/self/comm", "r");
  if (!f) return;
  if (fgets(name, (int)size, f)) name[strcspn(name, "\n")] = 0;
  fclose(f);
}

ProcessRow* ledger_own(Ledger* l, int device, bool create) {
  ProcessRow* empty = NULL;
  for (unsigned i = 0; i < l->process_rows; i++) {
    ProcessRow* p = &l->processes[i];
    if (!(p->flags & LEDGER_USED)) {
      if (!empty) empty = p;
    } else if (p->pid == (uint32_t)own_pid && p->device == device && p->started == own_start &&
               !(p->flags & (LEDGER_STATIC | LEDGER_ZOMBIE))) {
      return p;
    }
  }
  if (!create) return NULL;
  if (!empty && l->process_rows < LEDGER_PROCESSES) empty = &l->processes[l->process_rows++];
  if (!empty) return NULL;
  *empty = (ProcessRow){.pid = (uint32_t)own_pid,
                        .device = device,
                        .started = own_start,
                        .lists = LEDGER_COMPUTE,
                        .flags = LEDGER_USED};
  read_command(empty->name, sizeof empty->name);
  return empty;
}

static uint64_t steps(uint64_t bytes) {
  return (bytes + LEDGER_GRANULARITY - 1) / LEDGER_GRANULARITY * LEDGER_GRANULARITY;
}

/* Allocations under 1 MiB share steps of 2 MiB, as the CUDA driver packs them. */
static bool is_small(uint64_t bytes) { return bytes < 1 << 20; }

bool ledger_charge(int device, uint64_t bytes, bool context) {
  if (!ledger_lock()) return false;
  Ledger* l = mapped;
  ledger_reap(l);
  DeviceRow* d = &l->devices[device];
  ProcessRow* p = ledger_own(l, device, true);
  bool done = false;
  if (p) {
    bool packed = !context && is_small(bytes);
    uint64_t added = packed ? steps(p->packed + bytes) - steps(p->packed) : steps(bytes);
    done = ledger_used(l, device) + added + d->reserved <= d->total;
    if (done) {
      if (context) p->flags |= LEDGER_CONTEXT;
      if (!context) p->allocations++;
      if (packed) p->packed += bytes;
      p->bytes += added;
      if (p->bytes > p->peak) p->peak = p->bytes;
    } else if (!p->bytes) {
      memset(p, 0, sizeof *p);
    }
  }
  ledger_unlock();
  return done;
}

void ledger_release(int device, uint64_t bytes) {
  if (!ledger_lock()) return;
  ProcessRow* p = ledger_own(mapped, device, false);
  if (p) {
    uint64_t given = steps(bytes);
    if (is_small(bytes)) {
      given = steps(p->packed) - steps(p->packed - bytes);
      p->packed -= bytes;
    }
    p->bytes = p->bytes > given ? p->bytes - given : 0;
    if (p->allocations) p->allocations--;
  }
  ledger_unlock();
}

void ledger_release_device(int device) {
  if (!ledger_lock()) return;
  ProcessRow* p = ledger_own(mapped, device, false);
  if (p) memset(p, 0, sizeof *p);
  ledger_unlock();
}

void ledger_memory(int device, uint64_t* free, uint64_t* total) {
  *free = *total = 0;
  if (!ledger_lock()) return;
  ledger_reap(mapped);
  *total = mapped->devices[device].total - mapped->devices[device].reserved;
  uint64_t used = ledger_used(mapped, device);
  *free = *total > used ? *total - used : 0;
  ledger_unlock();
}
