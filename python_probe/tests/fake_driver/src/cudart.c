/* libcudart.so.13: devices and memory, over the same devices and allocations as libcuda. */
#define _GNU_SOURCE
#include "cudart.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#pragma GCC diagnostic ignored "-Wunused-parameter"

static __thread Code last_error;

Code failed(Code code) {
  if (code) last_error = code;
  return code;
}

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
#include "cudart_errors.inc"
};
static const int error_count = sizeof errors / sizeof *errors;

API const char* cudaGetErrorName(Code code) {
  for (int i = 0; i < error_count; i++)
    if (errors[i].code == code) return errors[i].name;
  return "unrecognized error code";
}
API const char* cudaGetErrorString(Code code) {
  for (int i = 0; i < error_count; i++)
    if (errors[i].code == code) return errors[i].text;
  return "unrecognized error code";
}
API Code cudaGetLastError(void) {
  Code code = last_error;
  last_error = SUCCESS;
  return code;
}
API Code cudaPeekAtLastError(void) { return last_error; }

API Code cudaRuntimeGetVersion(int* out) {
  *out = 13000;
  return SUCCESS;
}
API Code cudaDriverGetVersion(int* out) {
  *out = ledger() ? ledger()->driver.cuda_version : 0;
  return SUCCESS;
}
API Code cudaGetDeviceCount(int* out) {
  *out = 0;
  ENTER();
  if (!ledger()) return failed(INSUFFICIENT_DRIVER);
  *out = sim_device_count();
  return failed(sim_init());
}
API Code cudaGetDevice(int* out) {
  *out = sim_current();
  return failed(sim_init());
}
API Code cudaSetDevice(int device) {
  ENTER();
  if (sim_index(device) < 0) return failed(INVALID_DEVICE);
  sim_set_current(device);
  return failed(sim_open_runtime_context());
}
API Code cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  if (sim_index(device) < 0) return failed(INVALID_DEVICE);
  return failed(sim_open_context(device));
}
NOTHING(cudaSetDeviceFlags, unsigned flags)
API Code cudaGetDeviceFlags(unsigned* out) {
  *out = 0;
  return SUCCESS;
}
API Code cudaDeviceReset(void) {
  ENTER();
  sim_close_context(sim_current());
  return SUCCESS;
}
API Code cudaDeviceSynchronize(void) {
  ENTER_CONTEXT();
  return SUCCESS;
}
API Code cudaDeviceGetAttribute(int* out, int attribute, int device) {
  ENTER();
  if (sim_index(device) < 0) return failed(INVALID_DEVICE);
  *out = sim_attribute(device, attribute);
  return SUCCESS;
}
API Code cudaDeviceGetPCIBusId(char* out, int size, int device) {
  DeviceRow* row = sim_device(device);
  if (!row) return failed(INVALID_DEVICE);
  snprintf(out, (size_t)size, "%s", row->bus_id + 4);
  return SUCCESS;
}
API Code cudaDeviceGetByPCIBusId(int* out, const char* wanted) {
  for (int i = 0; i < sim_device_count(); i++) {
    const char* bus_id = sim_device(i)->bus_id;
    if (strcasecmp(bus_id, wanted) && strcasecmp(bus_id + 4, wanted)) continue;
    *out = i;
    return SUCCESS;
  }
  return failed(INVALID_DEVICE);
}
API Code cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return SUCCESS;
}
API Code cudaDeviceCanAccessPeer(int* out, int device, int peer) {
  *out = 0;
  return SUCCESS;
}
API Code cudaDeviceEnablePeerAccess(int device, unsigned flags) { return failed(217); }
API Code cudaDeviceDisablePeerAccess(int device) { return failed(705); }
NOTHING(cudaDeviceSetLimit, int limit, size_t value)
API Code cudaDeviceGetLimit(size_t* out, int limit) {
  *out = limit == 2 ? 8 << 20 : 1024; /* cudaLimitMallocHeapSize */
  return SUCCESS;
}
NOTHING(cudaDeviceSetCacheConfig, int config)

API Code cudaGetDeviceProperties(DeviceProp* out, int device) {
  ENTER();
  DeviceRow* row = sim_device(device);
  if (!row) return failed(INVALID_DEVICE);
  *out = (DeviceProp){
      .totalGlobalMem = row->total - row->reserved,
      .sharedMemPerBlock = 49152,
      .regsPerBlock = 65536,
      .warpSize = 32,
      .memPitch = 0x7fffffff,
      .maxThreadsPerBlock = 1024,
      .maxThreadsDim = {1024, 1024, 64},
      .maxGridSize = {0x7fffffff, 65535, 65535},
      .totalConstMem = 65536,
      .major = row->cc_major,
      .minor = row->cc_minor,
      .textureAlignment = 512,
      .texturePitchAlignment = 32,
      .multiProcessorCount = row->multiprocessors,
      .canMapHostMemory = 1,
      .concurrentKernels = 1,
      .ECCEnabled = row->ecc_errors >= 0,
      .pciBusID = sim_attribute(device, 33),
      .pciDeviceID = sim_attribute(device, 34),
      .asyncEngineCount = 2,
      .unifiedAddressing = 1,
      .memoryBusWidth = 384,
      .l2CacheSize = 72 << 20,
      .maxThreadsPerMultiProcessor = sim_attribute(device, 39),
      .streamPrioritiesSupported = 1,
      .globalL1CacheSupported = 1,
      .localL1CacheSupported = 1,
      .sharedMemPerMultiprocessor = (size_t)sim_attribute(device, 81),
      .regsPerMultiprocessor = 65536,
      .managedMemory = 1,
      .computePreemptionSupported = 1,
      .cooperativeLaunch = 1,
      .sharedMemPerBlockOptin = (size_t)sim_attribute(device, 97),
      .maxBlocksPerMultiProcessor = 24,
      .reservedSharedMemPerBlock = 1024,
      .hostRegisterSupported = 1,
      .memoryPoolsSupported = 1,
  };
  snprintf(out->name, sizeof out->name, "%s", row->name);
  sim_uuid(row, out->uuid);
  return SUCCESS;
}

/* Memory. */
API Code cudaMalloc(void** out, size_t bytes) {
  ENTER();
  return failed(sim_allocate(sim_current(), bytes, out));
}
API Code cudaFree(void* pointer) {
  ENTER_CONTEXT();
  return failed(sim_free(pointer));
}
API Code cudaMallocAsync(void** out, size_t bytes, Stream stream) { return cudaMalloc(out, bytes); }
API Code cudaFreeAsync(void* pointer, Stream stream) { return cudaFree(pointer); }
API Code cudaMallocManaged(void** out, size_t bytes, unsigned flags) {
  return cudaMalloc(out, bytes);
}
API Code cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(out, *pitch * height);
}
API Code cudaMemGetInfo(size_t* free, size_t* total) {
  ENTER_CONTEXT();
  uint64_t f, t;
  ledger_memory(sim_index(sim_current()), &f, &t);
  *free = f;
  *total = t;
  return SUCCESS;
}
API Code cudaHostAlloc(void** out, size_t bytes, unsigned flags) {
  ENTER();
  if (posix_memalign(out, 4096, bytes ? bytes : 1)) return failed(OUT_OF_MEMORY);
  memset(*out, 0, bytes);
  sim_add(*out, bytes, sim_current(), ON_HOST);
  return SUCCESS;
}
API Code cudaMallocHost(void** out, size_t bytes) { return cudaHostAlloc(out, bytes, 0); }
API Code cudaFreeHost(void* pointer) {
  Allocation a;
  if (sim_remove(pointer, ON_HOST, &a)) free(a.start);
  return SUCCESS;
}
API Code cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  sim_add(pointer, bytes, sim_current(), REGISTERED);
  return SUCCESS;
}
API Code cudaHostUnregister(void* pointer) {
  Allocation a;
  return sim_remove(pointer, REGISTERED, &a) ? SUCCESS : failed(INVALID_VALUE);
}
API Code cudaHostGetDevicePointer(void** out, void* pointer, unsigned flags) {
  *out = pointer;
  return SUCCESS;
}
API Code cudaHostGetFlags(unsigned* out, void* pointer) {
  *out = 0;
  return SUCCESS;
}
API Code cudaPointerGetAttributes(PointerAttributes* out, const void* pointer) {
  Allocation a;
  if (!sim_find(pointer, &a)) { /* cudaMemoryTypeUnregistered, cudaInvalidDeviceId */
    *out = (PointerAttributes){.type = 0, .device = -2, .host_pointer = (void*)pointer};
    return SUCCESS;
  }
  bool on_host = a.kind & (ON_HOST | REGISTERED);
  *out = (PointerAttributes){.type = on_host ? 1 : 2,
                             .device = a.device,
                             .device_pointer = (void*)pointer,
                             .host_pointer = on_host ? (void*)pointer : NULL};
  return SUCCESS;
}

API Code cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  ENTER();
  return failed(sim_copy(to, from, bytes, kind));
}
API Code cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, Stream stream) {
  ENTER();
  if (sim_captured(stream)) return SUCCESS;
  return failed(sim_copy(to, from, bytes, kind));
}
API Code cudaMemcpyPeer(void* to, int device, const void* from, int source, size_t bytes) {
  ENTER();
  return failed(sim_copy(to, from, bytes, WITHIN_DEVICE));
}
API Code cudaMemcpyPeerAsync(void* to, int device, const void* from, int source, size_t bytes,
                             Stream stream) {
  if (sim_captured(stream)) return SUCCESS;
  return cudaMemcpyPeer(to, device, from, source, bytes);
}
API Code cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                      size_t height, int kind) {
  ENTER();
  Code code = SUCCESS;
  for (size_t i = 0; i < height && !code; i++)
    code = sim_copy((char*)to + i * to_pitch, (const char*)from + i * from_pitch, width, kind);
  return failed(code);
}
API Code cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                           size_t width, size_t height, int kind, Stream stream) {
  if (sim_captured(stream)) return SUCCESS;
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
API Code cudaMemset(void* pointer, int value, size_t bytes) {
  ENTER();
  return failed(sim_fill(pointer, value, bytes));
}
API Code cudaMemsetAsync(void* pointer, int value, size_t bytes, Stream stream) {
  if (sim_captured(stream)) return SUCCESS;
  return cudaMemset(pointer, value, bytes);
}
API Code cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                           Stream stream) {
  ENTER();
  if (sim_captured(stream)) return SUCCESS;
  Code code = SUCCESS;
  for (size_t i = 0; i < height && !code; i++)
    code = sim_fill((char*)pointer + i * pitch, value, width);
  return failed(code);
}
NOTHING(cudaMemPrefetchAsync, const void* pointer, size_t bytes, MemLocation location,
        unsigned flags, Stream stream)
API Code cudaIpcGetMemHandle(IpcHandle* out, void* pointer) {
  ENTER_CONTEXT();
  return failed(sim_export(pointer, out));
}
API Code cudaIpcOpenMemHandle(void** out, IpcHandle handle, unsigned flags) {
  ENTER_CONTEXT();
  return failed(sim_import(&handle, out));
}
API Code cudaIpcCloseMemHandle(void* pointer) {
  ENTER();
  return failed(sim_close(pointer));
}
/* Work is done at once, so an event of another process has nothing to wait for. */
API Code cudaIpcGetEventHandle(IpcHandle* out, Event event) {
  *out = (IpcHandle){0};
  return SUCCESS;
}
API Code cudaIpcOpenEventHandle(Event* out, IpcHandle handle) {
  ENTER_CONTEXT();
  *out = sim_event();
  return SUCCESS;
}

/* One pool of memory, which keeps nothing. */
static char pool;
API Code cudaDeviceGetDefaultMemPool(Pool* out, int device) {
  *out = &pool;
  return SUCCESS;
}
API Code cudaDeviceGetMemPool(Pool* out, int device) {
  *out = &pool;
  return SUCCESS;
}
API Code cudaMemPoolGetAttribute(Pool from, int attribute, void* out) {
  *(uint64_t*)out = 0;
  return SUCCESS;
}
NOTHING(cudaMemPoolSetAttribute, Pool to, int attribute, void* value)
NOTHING(cudaMemPoolTrimTo, Pool from, size_t bytes)
NOTHING(cudaMemPoolSetAccess, Pool to, const void* access, size_t count)
