/* libcuda.so.1: devices, contexts and memory. */
#define _GNU_SOURCE
#include "cuda_types.h"
#include "sim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ENTER()                    \
  do {                             \
    int injected = SIM_CALL();     \
    if (injected) return injected; \
  } while (0)
#define DEVICE(row, device)            \
  DeviceRow* row = sim_device(device); \
  if (!row) return INVALID_DEVICE

API Code cuInit(unsigned flags) {
  ENTER();
  return sim_init();
}
API Code cuDriverGetVersion(int* out) {
  *out = ledger() ? ledger()->driver.cuda_version : 0;
  return SUCCESS;
}
API Code cuDeviceGetCount(int* out) {
  ENTER();
  *out = sim_device_count();
  return SUCCESS;
}
API Code cuDeviceGet(int* out, int ordinal) {
  ENTER();
  *out = ordinal;
  return sim_index(ordinal) < 0 ? INVALID_DEVICE : SUCCESS;
}
API Code cuDeviceGetName(char* out, int size, int device) {
  DEVICE(row, device);
  snprintf(out, (size_t)size, "%s", row->name);
  return SUCCESS;
}
API Code cuDeviceGetUuid_v2(unsigned char* out, int device) {
  DEVICE(row, device);
  sim_uuid(row, out);
  return SUCCESS;
}
API Code cuDeviceGetUuid(unsigned char* out, int device) { return cuDeviceGetUuid_v2(out, device); }
API Code cuDeviceGetAttribute(int* out, int attribute, int device) {
  ENTER();
  *out = sim_attribute(device, attribute);
  return sim_index(device) < 0 ? INVALID_DEVICE : SUCCESS;
}
API Code cuDeviceComputeCapability(int* major, int* minor, int device) {
  DEVICE(row, device);
  *major = row->cc_major;
  *minor = row->cc_minor;
  return SUCCESS;
}
API Code cuDeviceTotalMem_v2(size_t* out, int device) {
  DEVICE(row, device);
  *out = row->total - row->reserved;
  return SUCCESS;
}
API Code cuDeviceGetPCIBusId(char* out, int size, int device) {
  DEVICE(row, device);
  snprintf(out, (size_t)size, "%s", row->bus_id + 4);
  return SUCCESS;
}
API Code cuDeviceCanAccessPeer(int* out, int device, int peer) {
  *out = 0;
  return SUCCESS;
}

/* A context is the address of its device's slot, so that a device has one context: its primary. */
static char slots[LEDGER_DEVICES];
static __thread Context stack[64];
static __thread int depth;

static Context context_of(int device) { return slots + device; }
static int device_of(Context context) {
  char* slot = context;
  return slot >= slots && slot < slots + LEDGER_DEVICES ? (int)(slot - slots) : -1;
}
static Code open_context(int device, Context* out) {
  int code = sim_open_context(device);
  if (!code) *out = context_of(device);
  return code;
}
static void push(Context context) {
  if (depth < 64) stack[depth++] = context;
  sim_set_current(device_of(context));
}

API Code cuDevicePrimaryCtxRetain(Context* out, int device) {
  ENTER();
  return open_context(device, out);
}
API Code cuDevicePrimaryCtxRelease_v2(int device) { return SUCCESS; }
API Code cuDevicePrimaryCtxReset_v2(int device) {
  ENTER();
  sim_close_context(device);
  return SUCCESS;
}
API Code cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (sim_index(device) < 0) return INVALID_DEVICE;
  if (flags) *flags = 0;
  if (active) *active = sim_has_context(device);
  return SUCCESS;
}
API Code cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) { return SUCCESS; }
API Code cuCtxCreate_v2(Context* out, unsigned flags, int device) {
  ENTER();
  int code = open_context(device, out);
  if (!code) push(*out);
  return code;
}
API Code cuCtxDestroy_v2(Context context) {
  int device = device_of(context);
  if (device < 0) return INVALID_CONTEXT;
  if (depth && stack[depth - 1] == context) depth--;
  sim_close_context(device);
  return SUCCESS;
}
API Code cuCtxPushCurrent_v2(Context context) {
  if (device_of(context) < 0) return INVALID_CONTEXT;
  push(context);
  return SUCCESS;
}
API Code cuCtxPopCurrent_v2(Context* out) {
  if (!depth) return INVALID_CONTEXT;
  Context popped = stack[--depth];
  if (out) *out = popped;
  if (depth) sim_set_current(device_of(stack[depth - 1]));
  return SUCCESS;
}
API Code cuCtxSetCurrent(Context context) {
  if (context && device_of(context) < 0) return INVALID_CONTEXT;
  if (depth) depth--;
  if (context) push(context);
  return SUCCESS;
}
API Code cuCtxGetCurrent(Context* out) {
  Context runtimes = sim_runtime_is_current() ? context_of(sim_current()) : NULL;
  *out = depth ? stack[depth - 1] : runtimes;
  return SUCCESS;
}
API Code cuCtxGetDevice(int* out) {
  *out = sim_current();
  return SUCCESS;
}
API Code cuCtxGetApiVersion(Context context, unsigned* out) {
  *out = 3020;
  return SUCCESS;
}
API Code cuCtxSynchronize(void) {
  ENTER();
  return SUCCESS;
}
API Code cuCtxGetFlags(unsigned* out) {
  *out = 0;
  return SUCCESS;
}
API Code cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return SUCCESS;
}
API Code cuCtxSetLimit(int limit, size_t value) { return SUCCESS; }
API Code cuCtxGetLimit(size_t* out, int limit) {
  *out = limit == 2 ? 8 << 20 : 1024; /* CU_LIMIT_MALLOC_HEAP_SIZE */
  return SUCCESS;
}
API Code cuCtxEnablePeerAccess(Context context, unsigned flags) { return 217; /* unsupported */ }

API Code cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER();
  int code = sim_open_context(sim_current());
  if (code) return code;
  uint64_t f, t;
  ledger_memory(sim_index(sim_current()), &f, &t);
  *free = f;
  *total = t;
  return SUCCESS;
}
API Code cuMemAlloc_v2(Address* out, size_t bytes) {
  ENTER();
  if (!bytes) return INVALID_VALUE;
  void* start;
  int code = sim_allocate(sim_current(), bytes, &start);
  *out = (Address)start;
  return code;
}
API Code cuMemAllocPitch_v2(Address* out, size_t* pitch, size_t width, size_t height,
                            unsigned size) {
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc_v2(out, *pitch * height);
}
API Code cuMemAllocManaged(Address* out, size_t bytes, unsigned flags) {
  return cuMemAlloc_v2(out, bytes);
}
API Code cuMemAllocAsync(Address* out, size_t bytes, Stream stream) {
  return cuMemAlloc_v2(out, bytes);
}
API Code cuMemFree_v2(Address start) {
  ENTER();
  return sim_free((void*)start);
}
API Code cuMemFreeAsync(Address start, Stream stream) { return cuMemFree_v2(start); }
API Code cuMemGetAddressRange_v2(Address* start, size_t* bytes, Address pointer) {
  Allocation a;
  if (!sim_find((void*)pointer, &a)) return INVALID_VALUE;
  if (start) *start = (Address)a.start;
  if (bytes) *bytes = a.bytes;
  return SUCCESS;
}

API Code cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  if (posix_memalign(out, 4096, bytes ? bytes : 1)) return OUT_OF_MEMORY;
  sim_add(*out, bytes, sim_current(), ON_HOST);
  return SUCCESS;
}
API Code cuMemAllocHost_v2(void** out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }
API Code cuMemFreeHost(void* pointer) {
  Allocation a;
  if (sim_remove(pointer, ON_HOST, &a)) free(a.start);
  return SUCCESS;
}
API Code cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  sim_add(pointer, bytes, sim_current(), REGISTERED);
  return SUCCESS;
}
API Code cuMemHostUnregister(void* pointer) {
  Allocation a;
  return sim_remove(pointer, REGISTERED, &a) ? SUCCESS : INVALID_VALUE;
}
API Code cuMemHostGetDevicePointer_v2(Address* out, void* pointer, unsigned flags) {
  *out = (Address)pointer;
  return SUCCESS;
}

#define COPY(function, target, source, kind)                \
  API Code function(target to, source from, size_t bytes) { \
    ENTER();                                                \
    return sim_copy((void*)to, (void*)from, bytes, kind);   \
  }
#define COPY_ASYNC(function, target, source, kind)                         \
  API Code function(target to, source from, size_t bytes, Stream stream) { \
    ENTER();                                                               \
    if (sim_captured(stream)) return SUCCESS;                              \
    return sim_copy((void*)to, (void*)from, bytes, kind);                  \
  }
COPY(cuMemcpy, Address, Address, ANYWHERE)
COPY(cuMemcpyHtoD_v2, Address, Pointer, TO_DEVICE)
COPY(cuMemcpyDtoH_v2, Pointer, Address, TO_HOST)
COPY(cuMemcpyDtoD_v2, Address, Address, WITHIN_DEVICE)
COPY_ASYNC(cuMemcpyAsync, Address, Address, ANYWHERE)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, Address, Pointer, TO_DEVICE)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, Pointer, Address, TO_HOST)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, Address, Address, WITHIN_DEVICE)

API Code cuMemsetD8_v2(Address start, unsigned char value, size_t count) {
  ENTER();
  return sim_fill((void*)start, value, count);
}
API Code cuMemsetD8Async(Address start, unsigned char value, size_t count, Stream stream) {
  return sim_captured(stream) ? SUCCESS : cuMemsetD8_v2(start, value, count);
}
API Code cuMemsetD32_v2(Address start, unsigned value, size_t count) {
  ENTER();
  Code code = sim_fill((void*)start, 0, count * 4);
  for (size_t i = 0; !code && value && i < count; i++) ((unsigned*)start)[i] = value;
  return code;
}
API Code cuMemsetD32Async(Address start, unsigned value, size_t count, Stream stream) {
  return sim_captured(stream) ? SUCCESS : cuMemsetD32_v2(start, value, count);
}

API Code cuPointerGetAttribute(void* out, int attribute, Address pointer) {
  Allocation a;
  if (!sim_find((void*)pointer, &a)) return INVALID_VALUE;
  bool on_host = a.kind & (ON_HOST | REGISTERED);
  switch (attribute) {
    case 1: *(Context*)out = context_of(a.device); break;
    case 2: *(int*)out = on_host ? 1 : 2; break; /* CU_MEMORYTYPE_HOST, _DEVICE */
    case 3: *(Address*)out = pointer; break;
    case 4:
      if (!on_host) return INVALID_VALUE;
      *(Address*)out = pointer;
      break;
    case 7:
    case 11: *(Address*)out = (Address)a.start; break; /* a buffer's id, its start */
    case 9: *(int*)out = a.device; break;
    case 12: *(size_t*)out = a.bytes; break;
    case 13: *(int*)out = 1; break; /* mapped */
    default: *(int*)out = 0;
  }
  return SUCCESS;
}
API Code cuPointerGetAttributes(unsigned count, int* attributes, void** out, Address pointer) {
  for (unsigned i = 0; i < count; i++) cuPointerGetAttribute(out[i], attributes[i], pointer);
  return SUCCESS;
}
API Code cuPointerSetAttribute(const void* value, int attribute, Address pointer) {
  return SUCCESS;
}

/* Virtual memory management, enough for PyTorch's expandable segments: a handle is charged, a
 * mapping backs it with pages. */
typedef struct {
  size_t bytes;
  int device;
} Physical;

API Code cuMemGetAllocationGranularity(size_t* out, const AllocationProp* prop, int option) {
  *out = LEDGER_GRANULARITY;
  return SUCCESS;
}
API Code cuMemAddressReserve(Address* out, size_t bytes, size_t alignment, Address hint,
                             unsigned long long flags) {
  char* area = mmap(NULL, bytes + LEDGER_GRANULARITY, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) return OUT_OF_MEMORY;
  *out = ((Address)area + LEDGER_GRANULARITY - 1) / LEDGER_GRANULARITY * LEDGER_GRANULARITY;
  return SUCCESS;
}
API Code cuMemAddressFree(Address start, size_t bytes) {
  munmap((void*)start, bytes);
  return SUCCESS;
}
API Code cuMemCreate(Address* out, size_t bytes, const AllocationProp* prop,
                     unsigned long long flags) {
  ENTER();
  int device = prop->location.id, code = sim_open_context(device);
  if (code) return code;
  if (!ledger_charge(sim_index(device), bytes, false)) return OUT_OF_MEMORY;
  Physical* physical = malloc(sizeof *physical);
  if (!physical) abort();
  *physical = (Physical){bytes, device};
  *out = (Address)physical;
  return SUCCESS;
}
API Code cuMemRelease(Address handle) {
  Physical* physical = (Physical*)handle;
  ledger_release(sim_index(physical->device), physical->bytes);
  free(physical);
  return SUCCESS;
}
API Code cuMemMap(Address start, size_t bytes, size_t offset, Address handle,
                  unsigned long long flags) {
  if (mmap((void*)start, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
    return OUT_OF_MEMORY;
  sim_add((void*)start, bytes, ((Physical*)handle)->device, MAPPED);
  return SUCCESS;
}
API Code cuMemUnmap(Address start, size_t bytes) {
  Allocation a;
  if (!sim_remove((void*)start, MAPPED, &a)) return INVALID_VALUE;
  mmap((void*)start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
  return SUCCESS;
}
API Code cuMemSetAccess(Address start, size_t bytes, const void* access, size_t count) {
  return SUCCESS;
}
