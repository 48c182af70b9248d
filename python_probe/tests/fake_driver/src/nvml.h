/* The part of NVML's interface that the simulated driver answers, declared from NVML's reference
 * (docs.nvidia.com/deploy/nvml-api) and nvidia-ml-py, so that no CUDA header is needed. */
#pragma once
#include "ledger.h"

typedef int Result;
typedef void* Handle;

enum {
  OK = 0,
  UNINITIALIZED = 1,
  INVALID_ARGUMENT = 2,
  NOT_SUPPORTED = 3,
  NOT_FOUND = 6,
  INSUFFICIENT_SIZE = 7,
  DRIVER_NOT_LOADED = 9,
  ARGUMENT_VERSION_MISMATCH = 25
};
#define NOT_AVAILABLE 0xFFFFFFFFFFFFFFFFull /* NVML_VALUE_NOT_AVAILABLE */
#define NO_INSTANCE 0xFFFFFFFFu

typedef struct {
  unsigned long long total, free, used;
} Memory1;
typedef struct {
  unsigned version;
  unsigned long long total, reserved, free, used;
} Memory2;
typedef struct {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device, pci_subsystem;
  char bus_id[32];
} Pci;
typedef struct {
  char bus_id[16];
  unsigned domain, bus, device, pci_device, pci_subsystem, reserved[4];
} PciOld;
typedef struct {
  unsigned version, sensor;
  int celsius;
} TemperatureV1;
typedef struct {
  unsigned field, scope;
  long long timestamp, latency;
  int value_type;
  Result result;
  union {
    double d;
    unsigned u;
    unsigned long long q;
  } value;
} FieldValue;
typedef struct {
  unsigned pid;
  unsigned long long used;
} ProcessInfo1;
typedef struct {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
} ProcessInfo2;
typedef struct {
  unsigned pid;
  unsigned long long timestamp;
  unsigned sm, memory, encoder, decoder;
} ProcessUtilization;

/* NVML marks a versioned struct by its size and version. */
#define STRUCT_VERSION(type, number) ((unsigned)sizeof(type) | (unsigned)(number) << 24)

/* A handle is the address of a device's slot. */
HIDDEN int device_index(Handle handle); /* -1: no handle of ours */
HIDDEN Handle device_handle(int index);
HIDDEN bool initialized(void);

/* How each function about a device begins: `index` and `device` are set, or the call is over. */
#define ENTER(handle)                            \
  if (!initialized()) return UNINITIALIZED;      \
  int index = device_index(handle);              \
  if (index < 0) return INVALID_ARGUMENT;        \
  DeviceRow* device = &ledger()->devices[index]; \
  (void)device;                                  \
  do {                                           \
    int injected = CALL(__func__, index);        \
    if (injected) return injected;               \
  } while (0)

/* How each function about the driver begins. */
#define ENTER_DRIVER()                        \
  do {                                        \
    if (!initialized()) return UNINITIALIZED; \
    int injected = CALL(__func__, -1);        \
    if (injected) return injected;            \
  } while (0)

static inline Result number(unsigned* out, int value) {
  if (!out) return INVALID_ARGUMENT;
  if (value < 0) return NOT_SUPPORTED;
  *out = (unsigned)value;
  return OK;
}
HIDDEN Result text(char* out, unsigned size, const char* value);
