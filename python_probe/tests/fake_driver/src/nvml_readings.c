/* libnvidia-ml.so.1: what a device reads. A column of -1 is "not supported". */
#define _GNU_SOURCE
#include "nvml.h"
#include <string.h>
#include <time.h>

#define TEXT(function, column)                                   \
  API Result function(Handle handle, char* out, unsigned size) { \
    ENTER(handle);                                               \
    return text(out, size, device->column);                      \
  }
#define NUMBER(function, value)                       \
  API Result function(Handle handle, unsigned* out) { \
    ENTER(handle);                                    \
    return number(out, (value));                      \
  }
#define MASK(function, value)                                   \
  API Result function(Handle handle, unsigned long long* out) { \
    ENTER(handle);                                              \
    *out = (value);                                             \
    return OK;                                                  \
  }

TEXT(nvmlDeviceGetName, name)
TEXT(nvmlDeviceGetUUID, uuid)
API Result nvmlDeviceGetSerial(Handle handle, char* out, unsigned size) {
  ENTER(handle);
  return device->serial[0] ? text(out, size, device->serial) : NOT_SUPPORTED;
}
API Result nvmlDeviceGetVbiosVersion(Handle handle, char* out, unsigned size) {
  ENTER(handle);
  return text(out, size, "95.02.3C.00.8E");
}

NUMBER(nvmlDeviceGetBrand, device->brand)
NUMBER(nvmlDeviceGetArchitecture, device->architecture)
NUMBER(nvmlDeviceGetMultiGpuBoard, 0)
NUMBER(nvmlDeviceGetNumGpuCores, device->multiprocessors * 128)
NUMBER(nvmlDeviceGetPowerUsage, device->power)
NUMBER(nvmlDeviceGetPowerManagementLimit, device->power_limit)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, device->power_limit)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, device->power_limit)
NUMBER(nvmlDeviceGetPowerManagementMode, device->power_limit < 0 ? -1 : 1)
NUMBER(nvmlDeviceGetFanSpeed, device->fan)
NUMBER(nvmlDeviceGetNumFans, device->fans)
NUMBER(nvmlDeviceGetPerformanceState, device->performance_state)
NUMBER(nvmlDeviceGetPowerState, device->performance_state)
NUMBER(nvmlDeviceGetPersistenceMode, device->persistence)
NUMBER(nvmlDeviceGetComputeMode, device->compute_mode)
NUMBER(nvmlDeviceGetDisplayActive, device->display_active)
NUMBER(nvmlDeviceGetDisplayMode, device->display_active)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, device->pcie_generation)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, device->pcie_generation)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, device->pcie_width)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, device->pcie_width)

MASK(nvmlDeviceGetCurrentClocksThrottleReasons, device->throttling)
MASK(nvmlDeviceGetCurrentClocksEventReasons, device->throttling)
MASK(nvmlDeviceGetSupportedClocksThrottleReasons, 0x1ff)
MASK(nvmlDeviceGetSupportedClocksEventReasons, 0x1ff)

API Result nvmlDeviceGetCudaComputeCapability(Handle handle, int* major, int* minor) {
  ENTER(handle);
  *major = device->cc_major;
  *minor = device->cc_minor;
  return OK;
}

API Result nvmlDeviceGetPowerManagementLimitConstraints(Handle handle, unsigned* low,
                                                        unsigned* high) {
  ENTER(handle);
  number(low, device->power_limit / 2);
  return number(high, device->power_limit);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

API Result nvmlDeviceGetTotalEnergyConsumption(Handle handle, unsigned long long* out) {
  ENTER(handle);
  if (device->power < 0) return NOT_SUPPORTED;
  *out = (unsigned long long)(now() * device->power);
  return OK;
}

/* Memory. The first version counts the driver's reserve as used. */
static Result memory(int index, Memory2* out) {
  DeviceRow* device = &ledger()->devices[index];
  if (device->no_memory_info) return NOT_SUPPORTED;
  if (!ledger_lock()) return UNINITIALIZED;
  ledger_reap(ledger());
  out->used = ledger_used(ledger(), index);
  ledger_unlock();
  out->total = device->total;
  out->reserved = device->reserved;
  uint64_t taken = out->used + out->reserved;
  out->free = out->total > taken ? out->total - taken : 0;
  return OK;
}
API Result nvmlDeviceGetMemoryInfo(Handle handle, Memory1* out) {
  ENTER(handle);
  Memory2 m;
  Result result = memory(index, &m);
  if (result == OK) *out = (Memory1){.total = m.total, .free = m.free, .used = m.total - m.free};
  return result;
}
API Result nvmlDeviceGetMemoryInfo_v2(Handle handle, Memory2* out) {
  ENTER(handle);
  if (out->version != STRUCT_VERSION(Memory2, 2)) return ARGUMENT_VERSION_MISMATCH;
  return memory(index, out);
}
API Result nvmlDeviceGetBAR1MemoryInfo(Handle handle, Memory1* out) {
  ENTER(handle);
  out->total = device->bar1_total;
  out->used = device->bar1_total / 256;
  out->free = out->total - out->used;
  return OK;
}

/* A sliced card and its slices give no utilisation. */
static bool sliced(const DeviceRow* device) { return device->mig_mode == 1 || device->parent >= 0; }

API Result nvmlDeviceGetUtilizationRates(Handle handle, unsigned* out) {
  ENTER(handle);
  if (sliced(device)) return NOT_SUPPORTED;
  number(&out[1], device->memory_use);
  return number(&out[0], device->gpu_use);
}
API Result nvmlDeviceGetEncoderUtilization(Handle handle, unsigned* out, unsigned* period) {
  ENTER(handle);
  *period = 167000;
  return number(out, sliced(device) ? -1 : device->encoder_use);
}
API Result nvmlDeviceGetDecoderUtilization(Handle handle, unsigned* out, unsigned* period) {
  ENTER(handle);
  *period = 167000;
  return number(out, sliced(device) ? -1 : device->decoder_use);
}

API Result nvmlDeviceGetTemperature(Handle handle, int sensor, unsigned* out) {
  ENTER(handle);
  return sensor ? INVALID_ARGUMENT : number(out, device->temperature);
}
API Result nvmlDeviceGetTemperatureV(Handle handle, TemperatureV1* out) {
  ENTER(handle);
  if (out->version != STRUCT_VERSION(TemperatureV1, 1)) return ARGUMENT_VERSION_MISMATCH;
  return number((unsigned*)&out->celsius, device->temperature);
}
API Result nvmlDeviceGetTemperatureThreshold(Handle handle, int kind, unsigned* out) {
  ENTER(handle);
  switch (kind) {
    case 0: return number(out, device->shutdown_at);
    case 1: return number(out, device->slowdown_at);
    case 3: return number(out, device->max_operating);
    default: return NOT_SUPPORTED;
  }
}

API Result nvmlDeviceGetFanSpeed_v2(Handle handle, unsigned fan, unsigned* out) {
  ENTER(handle);
  if (!device->fans) return NOT_SUPPORTED;
  return (int)fan < device->fans ? number(out, device->fan) : INVALID_ARGUMENT;
}

static Result clock_now(const DeviceRow* device, int kind, unsigned* out) {
  switch (kind) {
    case 0: return number(out, device->clock_graphics);
    case 1: return number(out, device->clock_sm);
    case 2: return number(out, device->clock_memory);
    case 3: return number(out, device->clock_video);
    default: return INVALID_ARGUMENT;
  }
}
static Result clock_max(const DeviceRow* device, int kind, unsigned* out) {
  switch (kind) {
    case 0: return number(out, device->max_clock_graphics);
    case 1: return number(out, device->max_clock_sm);
    case 2: return number(out, device->max_clock_memory);
    case 3: return number(out, device->max_clock_video);
    default: return INVALID_ARGUMENT;
  }
}
API Result nvmlDeviceGetClockInfo(Handle handle, int kind, unsigned* out) {
  ENTER(handle);
  return clock_now(device, kind, out);
}
API Result nvmlDeviceGetMaxClockInfo(Handle handle, int kind, unsigned* out) {
  ENTER(handle);
  return clock_max(device, kind, out);
}
API Result nvmlDeviceGetClock(Handle handle, int kind, int which, unsigned* out) {
  ENTER(handle);
  if (which == 0) return clock_now(device, kind, out);
  return which == 3 ? clock_max(device, kind, out) : NOT_SUPPORTED;
}
API Result nvmlDeviceGetApplicationsClock(Handle handle, int kind, unsigned* out) {
  ENTER(handle);
  (void)kind, (void)out;
  return NOT_SUPPORTED;
}

API Result nvmlDeviceGetDriverModel(Handle handle, int* current, int* pending) {
  ENTER(handle);
  if (!device->wddm) return NOT_SUPPORTED;
  *current = *pending = 0; /* NVML_DRIVER_WDDM */
  return OK;
}
API Result nvmlDeviceGetDriverModel_v2(Handle handle, int* current, int* pending) {
  return nvmlDeviceGetDriverModel(handle, current, pending);
}

API Result nvmlDeviceGetEccMode(Handle handle, int* current, int* pending) {
  ENTER(handle);
  if (device->ecc_errors < 0) return NOT_SUPPORTED;
  *current = *pending = 1;
  return OK;
}
API Result nvmlDeviceGetTotalEccErrors(Handle handle, int kind, int counter,
                                       unsigned long long* out) {
  ENTER(handle);
  (void)kind, (void)counter;
  if (device->ecc_errors < 0) return NOT_SUPPORTED;
  *out = (unsigned long long)device->ecc_errors;
  return OK;
}

API Result nvmlDeviceGetPcieThroughput(Handle handle, int counter, unsigned* out) {
  ENTER(handle);
  return number(out, counter == 0 ? device->pcie_tx : device->pcie_rx);
}

/* Field values: the memory's temperature, and NVLink's data counters in KiB over all links. */
enum { MEMORY_TEMPERATURE = 82, NVLINK_DATA_TX = 138, NVLINK_DATA_RX = 139 };

static Result field_value(const DeviceRow* device, FieldValue* field) {
  switch (field->field) {
    case MEMORY_TEMPERATURE:
      field->value_type = 1; /* unsigned int */
      return number(&field->value.u, device->memory_temperature);
    case NVLINK_DATA_TX:
    case NVLINK_DATA_RX: {
      int rate = field->field == NVLINK_DATA_TX ? device->nvlink_tx : device->nvlink_rx;
      if (!device->nvlinks || rate < 0) return NOT_SUPPORTED;
      field->value_type = 3; /* unsigned long long */
      field->value.q = (unsigned long long)(now() * rate);
      return OK;
    }
    default: return NOT_SUPPORTED;
  }
}
API Result nvmlDeviceGetFieldValues(Handle handle, int count, FieldValue* fields) {
  ENTER(handle);
  for (int i = 0; i < count; i++) {
    fields[i].value.q = 0;
    fields[i].timestamp = (long long)(now() * 1e6);
    fields[i].result = field_value(device, &fields[i]);
  }
  return OK;
}

API Result nvmlDeviceGetNvLinkState(Handle handle, unsigned link, unsigned* out) {
  ENTER(handle);
  return number(out, (int)link < device->nvlinks ? 1 : -1);
}

/* PyTorch looks these up and gives up on all of NVML if one is missing. */
#define UNSUPPORTED(function, ...)                  \
  API Result function(Handle handle, __VA_ARGS__) { \
    ENTER(handle);                                  \
    return NOT_SUPPORTED;                           \
  }
#pragma GCC diagnostic ignored "-Wunused-parameter"
UNSUPPORTED(nvmlDeviceGetNvLinkVersion, unsigned link, unsigned* out)
UNSUPPORTED(nvmlDeviceGetNvLinkRemoteDeviceType, unsigned link, int* out)
UNSUPPORTED(nvmlDeviceGetNvLinkRemotePciInfo_v2, unsigned link, Pci* out)
UNSUPPORTED(nvmlDeviceGetNvLinkCapability, unsigned link, int capability, unsigned* out)
UNSUPPORTED(nvmlDeviceGetP2PStatus, Handle other, int kind, int* out)
UNSUPPORTED(nvmlDeviceGetGpuFabricInfo, void* out)
UNSUPPORTED(nvmlDeviceGetGpuFabricInfoV, void* out)
