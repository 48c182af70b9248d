/* libnvidia-ml.so.1: the lists of processes. */
#define _GNU_SOURCE
#include "nvml.h"
#include <time.h>

/* A card's lists hold its slices' processes too, with the instances they run in. */
static bool listed(Ledger* l, const ProcessRow* p, int index) {
  return p->flags & LEDGER_USED && !(p->flags & LEDGER_HIDDEN) &&
         (p->device == index || l->devices[p->device].parent == index);
}

static unsigned shown_pid(const Ledger* l, const ProcessRow* p) {
  return p->pid + (unsigned)l->driver.pid_offset;
}

static Result list(int index, unsigned which, int version, unsigned* count, void* out) {
  if (!count) return INVALID_ARGUMENT;
  if (!ledger_lock()) return UNINITIALIZED;
  Ledger* l = ledger();
  DeviceRow* device = &l->devices[index];
  ledger_reap(l);
  unsigned room = out ? *count : 0, found = 0;
  for (unsigned i = 0; i < l->process_rows && !device->hide_processes; i++) {
    ProcessRow* p = &l->processes[i];
    if (!listed(l, p, index) || !(p->lists & which)) continue;
    DeviceRow* on = &l->devices[p->device];
    bool sizeless = device->wddm || p->flags & LEDGER_NO_SIZE;
    ProcessInfo2 info = {.pid = shown_pid(l, p),
                         .used = sizeless ? NOT_AVAILABLE : p->bytes,
                         .gpu_instance = (unsigned)on->gpu_instance,
                         .compute_instance = (unsigned)on->compute_instance};
    if (found < room && version == 1)
      ((ProcessInfo1*)out)[found] = (ProcessInfo1){info.pid, info.used};
    else if (found < room)
      ((ProcessInfo2*)out)[found] = info;
    found++;
  }
  ledger_unlock();
  *count = found;
  return found > room ? INSUFFICIENT_SIZE : OK;
}

#define LIST(function, which, version)                             \
  API Result function(Handle handle, unsigned* count, void* out) { \
    ENTER(handle);                                                 \
    return list(index, which, version, count, out);                \
  }
LIST(nvmlDeviceGetComputeRunningProcesses, LEDGER_COMPUTE, 1)
LIST(nvmlDeviceGetComputeRunningProcesses_v2, LEDGER_COMPUTE, 2)
LIST(nvmlDeviceGetComputeRunningProcesses_v3, LEDGER_COMPUTE, 2)
LIST(nvmlDeviceGetGraphicsRunningProcesses, LEDGER_GRAPHICS, 1)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, LEDGER_GRAPHICS, 2)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, LEDGER_GRAPHICS, 2)
LIST(nvmlDeviceGetMPSComputeRunningProcesses, LEDGER_MPS, 1)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, LEDGER_MPS, 2)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, LEDGER_MPS, 2)

API Result nvmlDeviceGetProcessUtilization(Handle handle, ProcessUtilization* out, unsigned* count,
                                           unsigned long long since) {
  ENTER(handle);
  (void)since;
  if (!count) return INVALID_ARGUMENT;
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  unsigned long long timestamp =
      (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000;
  if (!ledger_lock()) return UNINITIALIZED;
  Ledger* l = ledger();
  ledger_reap(l);
  unsigned room = out ? *count : 0, found = 0;
  for (unsigned i = 0; i < l->process_rows && !device->hide_processes; i++) {
    ProcessRow* p = &l->processes[i];
    if (!listed(l, p, index)) continue;
    if (found < room)
      out[found] = (ProcessUtilization){.pid = shown_pid(l, p),
                                        .timestamp = timestamp,
                                        .sm = (unsigned)p->sm,
                                        .memory = (unsigned)p->memory_bus};
    found++;
  }
  ledger_unlock();
  *count = found;
  if (!found) return NOT_FOUND;
  return found > room ? INSUFFICIENT_SIZE : OK;
}
