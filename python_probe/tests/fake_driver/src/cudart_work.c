/* libcudart.so.13: kernels, which are registered and launched but never run. */
#define _GNU_SOURCE
#include "cudart.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-parameter"

static Code make(void** out) {
  *out = calloc(1, 64);
  return *out ? SUCCESS : failed(OUT_OF_MEMORY);
}

NOTHING(cudaProfilerStart, void)
NOTHING(cudaProfilerStop, void)

/* Launches: `f<<<grid, block>>>()` pushes a configuration that the generated stub pops. */
typedef struct {
  Dim3 grid, block;
  size_t shared;
  Stream stream;
} Configuration;
static __thread Configuration configurations[8];
static __thread int depth;

API unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, Stream stream) {
  if (depth < 8) configurations[depth++] = (Configuration){grid, block, shared, stream};
  return SUCCESS;
}
API Code __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared, Stream* stream) {
  if (!depth) return INVALID_VALUE;
  Configuration* c = &configurations[--depth];
  *grid = c->grid;
  *block = c->block;
  *shared = c->shared;
  *stream = c->stream;
  return SUCCESS;
}

API void** __cudaRegisterFatBinary(void* binary) {
  static void* handle;
  return &handle;
}
API void __cudaRegisterFatBinaryEnd(void** handle) {}
API void __cudaUnregisterFatBinary(void** handle) {}
API char __cudaInitModule(void** handle) { return 1; }
API void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                                int limit, void* a, void* b, void* c, void* d, int* size) {}
API void __cudaRegisterManagedVar(void** handle, void** host, char* device, const char* name,
                                  int ext, size_t size, int constant, int global) {}

/* Variables on the device get host memory when they are first asked for. */
typedef struct Variable {
  const void* host;
  size_t bytes;
  void* copies[LEDGER_DEVICES];
  struct Variable* next;
} Variable;
static Variable* variables;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

API void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int ext,
                           size_t bytes, int constant, int global) {
  Variable* variable = calloc(1, sizeof *variable);
  if (!variable) abort();
  variable->host = host;
  variable->bytes = bytes;
  pthread_mutex_lock(&mutex);
  variable->next = variables;
  variables = variable;
  pthread_mutex_unlock(&mutex);
}
static Variable* find_variable(const void* host) {
  Variable* variable = variables;
  while (variable && variable->host != host) variable = variable->next;
  return variable;
}
API Code cudaGetSymbolAddress(void** out, const void* symbol) {
  Variable* variable = find_variable(symbol);
  if (!variable) return failed(INVALID_SYMBOL);
  void** copy = &variable->copies[sim_current()];
  pthread_mutex_lock(&mutex);
  if (!*copy) *copy = calloc(1, variable->bytes + 512);
  pthread_mutex_unlock(&mutex);
  *out = *copy;
  return SUCCESS;
}
API Code cudaGetSymbolSize(size_t* out, const void* symbol) {
  Variable* variable = find_variable(symbol);
  if (!variable) return failed(INVALID_SYMBOL);
  *out = variable->bytes;
  return SUCCESS;
}
API Code cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                            int kind) {
  void* to;
  Code code = cudaGetSymbolAddress(&to, symbol);
  if (!code) memcpy((char*)to + offset, from, bytes);
  return code;
}
API Code cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                 int kind, Stream stream) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}

API Code __cudaGetKernel(void** out, const void* function) {
  *out = (void*)function;
  return SUCCESS;
}
static Code launch(Stream stream) {
  ENTER_CONTEXT();
  sim_captured(stream);
  return SUCCESS;
}
API Code __cudaLaunchKernel(void* kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared,
                            Stream stream) {
  return launch(stream);
}
API Code cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments,
                          size_t shared, Stream stream) {
  return launch(stream);
}
API Code cudaLaunchKernelExC(const void* config, const void* function, void** arguments) {
  return launch(((const LaunchConfig*)config)->stream);
}
API Code cudaLaunchCooperativeKernel(const void* function, Dim3 grid, Dim3 block, void** arguments,
                                     size_t shared, Stream stream) {
  return launch(stream);
}
API Code cudaFuncGetAttributes(FunctionAttributes* out, const void* function) {
  DeviceRow* row = sim_device(sim_current());
  int capability = row ? row->cc_major * 10 + row->cc_minor : 80;
  /* What PyTorch's wheels are compiled for: CUB insists on one of them. */
  static const int compiled[] = {75, 80, 86, 90, 100, 120};
  int version = compiled[0];
  for (int i = 0; i < 6; i++)
    if (compiled[i] <= capability) version = compiled[i];
  *out = (FunctionAttributes){.max_threads = 1024,
                              .registers = 32,
                              .ptx_version = version,
                              .binary_version = version,
                              .max_dynamic_shared = 49152};
  return SUCCESS;
}
NOTHING(cudaFuncSetAttribute, const void* function, int attribute, int value)
NOTHING(cudaFuncSetCacheConfig, const void* function, int config)
API Code cudaGetFuncBySymbol(void** out, const void* function) {
  *out = (void*)function;
  return SUCCESS;
}
NOTHING(cudaKernelSetAttributeForDevice, void* kernel, int attribute, int value, int device)
API Code cudaLibraryLoadData(Library* out, const void* code, void* jit, void** jit_values,
                             unsigned jit_count, void* options, void** values, unsigned count) {
  return make(out);
}
API Code cudaLibraryGetKernel(void** out, Library library, const char* name) { return make(out); }
API Code cudaLibraryUnload(Library library) {
  free(library);
  return SUCCESS;
}
API Code cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void* function, int block,
                                                       size_t shared) {
  *out = 2;
  return SUCCESS;
}
API Code cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, const void* function,
                                                                int block, size_t shared,
                                                                unsigned flags) {
  *out = 2;
  return SUCCESS;
}
API Code cudaOccupancyMaxActiveClusters(int* out, const void* function, const void* config) {
  *out = 2;
  return SUCCESS;
}

/* PyTorch calls what it gets without looking, so a function that isn't modelled says so. */
static Code not_modelled(void) { return NOT_SUPPORTED_801; }

API Code cudaGetDriverEntryPointByVersion(const char* name, void** out, unsigned version,
                                          unsigned long long flags, int* status) {
  void* found = sim_entry_point(name);
  *out = found ? found : (void*)not_modelled;
  if (status) *status = 0;
  return SUCCESS;
}
API Code cudaGetDriverEntryPoint(const char* name, void** out, unsigned long long flags,
                                 int* status) {
  return cudaGetDriverEntryPointByVersion(name, out, 0, flags, status);
}
