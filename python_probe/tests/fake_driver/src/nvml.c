/* libnvidia-ml.so.1: initialisation, the driver, and how devices are found. */
#define _GNU_SOURCE
#include "nvml.h"
#include <stdio.h>
#include <string.h>

static int open_count;
static char slots[LEDGER_DEVICES];

bool initialized(void) { return open_count && ledger(); }

int device_index(Handle handle) {
  char* slot = handle;
  if (slot < slots || slot >= slots + LEDGER_DEVICES) return -1;
  int index = (int)(slot - slots);
  return index < (int)ledger()->device_count ? index : -1;
}

Handle device_handle(int index) { return slots + index; }

Result text(char* out, unsigned size, const char* value) {
  if (!out) return INVALID_ARGUMENT;
  if (strlen(value) + 1 > size) return INSUFFICIENT_SIZE;
  strcpy(out, value);
  return OK;
}

static Result open_library(const char* function) {
  if (!ledger()) return DRIVER_NOT_LOADED;
  int injected = CALL(function, -1);
  if (injected) return injected;
  __atomic_add_fetch(&open_count, 1, __ATOMIC_SEQ_CST);
  return OK;
}
API Result nvmlInit(void) { return open_library("nvmlInit_v2"); }
API Result nvmlInit_v2(void) { return open_library("nvmlInit_v2"); }
API Result nvmlInitWithFlags(unsigned flags) {
  (void)flags;
  return open_library("nvmlInit_v2");
}
API Result nvmlShutdown(void) {
  if (!open_count) return UNINITIALIZED;
  __atomic_sub_fetch(&open_count, 1, __ATOMIC_SEQ_CST);
  return OK;
}

API const char* nvmlErrorString(Result result) {
  static const char* const texts[] = {"Success",
                                      "Uninitialized",
                                      "Invalid Argument",
                                      "Not Supported",
                                      "Insufficient Permissions",
                                      "Already Initialized",
                                      "Not Found",
                                      "Insufficient Size",
                                      "Insufficient External Power",
                                      "Driver Not Loaded",
                                      "Timeout",
                                      "Interrupt Request Issue",
                                      "NVML Shared Library Not Found",
                                      "Function Not Found",
                                      "Corrupted infoROM",
                                      "GPU is lost",
                                      "GPU requires restart",
                                      "The operating system has blocked the request.",
                                      "Driver/library version mismatch",
                                      "In use by another client",
                                      "Insufficient Memory",
                                      "No data"};
  if (result >= 0 && result < (int)(sizeof texts / sizeof *texts)) return texts[result];
  return result == ARGUMENT_VERSION_MISMATCH ? "Argument Version Mismatch" : "Unknown Error";
}

API Result nvmlSystemGetDriverVersion(char* out, unsigned size) {
  ENTER_DRIVER();
  return text(out, size, ledger()->driver.driver_version);
}
API Result nvmlSystemGetNVMLVersion(char* out, unsigned size) {
  ENTER_DRIVER();
  return text(out, size, ledger()->driver.nvml_version);
}
API Result nvmlSystemGetCudaDriverVersion(int* out) {
  ENTER_DRIVER();
  *out = ledger()->driver.cuda_version;
  return OK;
}
API Result nvmlSystemGetCudaDriverVersion_v2(int* out) {
  return nvmlSystemGetCudaDriverVersion(out);
}

API Result nvmlSystemGetProcessName(unsigned pid, char* out, unsigned size) {
  ENTER_DRIVER();
  char path[64], command[4096];
  snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
  FILE* f = fopen(path, "r");
  if (!f) return NOT_FOUND;
  size_t n = fread(command, 1, sizeof command - 1, f);
  fclose(f);
  if (!n) return NOT_FOUND;
  if (!size) return INSUFFICIENT_SIZE;
  command[n] = 0;
  snprintf(out, size, "%s", command);
  return OK;
}

/* A slice is no device of its own to NVML's counting. */
static bool is_card(int index) { return ledger()->devices[index].parent < 0; }

static int ordinal(int index) {
  int before = 0;
  for (int i = 0; i < index; i++) before += is_card(i);
  return before;
}

API Result nvmlDeviceGetCount_v2(unsigned* out) {
  ENTER_DRIVER();
  return number(out, ordinal((int)ledger()->device_count));
}
API Result nvmlDeviceGetCount(unsigned* out) { return nvmlDeviceGetCount_v2(out); }

API Result nvmlDeviceGetHandleByIndex_v2(unsigned wanted, Handle* out) {
  if (!initialized()) return UNINITIALIZED;
  for (int i = 0; i < (int)ledger()->device_count; i++) {
    if (!is_card(i) || ordinal(i) != (int)wanted) continue;
    *out = device_handle(i);
    return CALL(__func__, i);
  }
  return INVALID_ARGUMENT;
}
API Result nvmlDeviceGetHandleByIndex(unsigned wanted, Handle* out) {
  return nvmlDeviceGetHandleByIndex_v2(wanted, out);
}

API Result nvmlDeviceGetHandleByUUID(const char* uuid, Handle* out) {
  ENTER_DRIVER();
  for (int i = 0; i < (int)ledger()->device_count; i++)
    if (!strcmp(ledger()->devices[i].uuid, uuid)) {
      *out = device_handle(i);
      return OK;
    }
  return NOT_FOUND;
}

static void parse_bus_id(const char* s, unsigned* domain, unsigned* bus, unsigned* device) {
  unsigned function;
  *domain = *bus = *device = 0;
  if (sscanf(s, "%x:%x:%x.%x", domain, bus, device, &function) < 3) {
    *domain = 0;
    sscanf(s, "%x:%x.%x", bus, device, &function);
  }
}

API Result nvmlDeviceGetHandleByPciBusId_v2(const char* wanted, Handle* out) {
  ENTER_DRIVER();
  unsigned a[3], b[3];
  parse_bus_id(wanted, &a[0], &a[1], &a[2]);
  for (int i = 0; i < (int)ledger()->device_count; i++) {
    parse_bus_id(ledger()->devices[i].bus_id, &b[0], &b[1], &b[2]);
    if (!is_card(i) || memcmp(a, b, sizeof a)) continue;
    *out = device_handle(i);
    return OK;
  }
  return NOT_FOUND;
}
API Result nvmlDeviceGetHandleByPciBusId(const char* wanted, Handle* out) {
  return nvmlDeviceGetHandleByPciBusId_v2(wanted, out);
}

API Result nvmlDeviceGetIndex(Handle handle, unsigned* out) {
  ENTER(handle);
  return number(out, is_card(index) ? ordinal(index) : 0);
}
API Result nvmlDeviceGetMinorNumber(Handle handle, unsigned* out) {
  ENTER(handle);
  return number(out, ordinal(index));
}
API Result nvmlDeviceGetBoardId(Handle handle, unsigned* out) {
  ENTER(handle);
  return number(out, ordinal(index) * 256);
}

API Result nvmlDeviceGetPciInfo_v3(Handle handle, Pci* out) {
  ENTER(handle);
  *out = (Pci){.pci_device = 0x268410DE, .pci_subsystem = 0x16F310DE};
  parse_bus_id(device->bus_id, &out->domain, &out->bus, &out->device);
  snprintf(out->legacy_bus_id, 16, "%04X:%02X:%02X.0", out->domain & 0xffff, out->bus & 0xff,
           out->device & 0xff);
  snprintf(out->bus_id, 32, "%08X:%02X:%02X.0", out->domain, out->bus, out->device);
  return OK;
}
API Result nvmlDeviceGetPciInfo_v2(Handle handle, PciOld* out) {
  ENTER(handle);
  *out = (PciOld){.pci_device = 0x268410DE};
  parse_bus_id(device->bus_id, &out->domain, &out->bus, &out->device);
  snprintf(out->bus_id, 16, "%04X:%02X:%02X.0", out->domain & 0xffff, out->bus & 0xff,
           out->device & 0xff);
  return OK;
}
API Result nvmlDeviceGetPciInfo(Handle handle, PciOld* out) {
  return nvmlDeviceGetPciInfo_v2(handle, out);
}

/* Slices (MIG). */
API Result nvmlDeviceGetMigMode(Handle handle, unsigned* current, unsigned* pending) {
  ENTER(handle);
  number(pending, device->mig_mode);
  return number(current, device->mig_mode);
}
API Result nvmlDeviceGetMaxMigDeviceCount(Handle handle, unsigned* out) {
  ENTER(handle);
  return number(out, device->mig_mode < 0 ? 0 : 7);
}
API Result nvmlDeviceGetMigDeviceHandleByIndex(Handle handle, unsigned wanted, Handle* out) {
  ENTER(handle);
  if (device->mig_mode != 1) return NOT_SUPPORTED;
  for (int i = 0; i < (int)ledger()->device_count; i++)
    if (ledger()->devices[i].parent == index && wanted-- == 0) {
      *out = device_handle(i);
      return OK;
    }
  return NOT_FOUND;
}
API Result nvmlDeviceIsMigDeviceHandle(Handle handle, unsigned* out) {
  ENTER(handle);
  return number(out, device->parent >= 0);
}
API Result nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle handle, Handle* out) {
  ENTER(handle);
  if (device->parent < 0) return INVALID_ARGUMENT;
  *out = device_handle(device->parent);
  return OK;
}
API Result nvmlDeviceGetGpuInstanceId(Handle handle, unsigned* out) {
  ENTER(handle);
  return number(out, device->gpu_instance);
}
API Result nvmlDeviceGetComputeInstanceId(Handle handle, unsigned* out) {
  ENTER(handle);
  return number(out, device->compute_instance);
}
