/* libcuda.so.1: streams, events, modules and launches, which do nothing, and how functions are
 * found by name. Kernels are launched and never run: values are wrong, bytes are right. */
#define _GNU_SOURCE
#include "cuda_types.h"
#include "sim.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ENTER()                    \
  do {                             \
    int injected = SIM_CALL();     \
    if (injected) return injected; \
  } while (0)
/* A function that succeeds and does nothing. */
#define NOTHING(function, ...) \
  API Code function(__VA_ARGS__) { return SUCCESS; }
/* One that makes an object whose content is nobody's business. */
#define CREATE(function, ...)                    \
  API Code function(void** out, ##__VA_ARGS__) { \
    *out = calloc(1, 64);                        \
    return *out ? SUCCESS : OUT_OF_MEMORY;       \
  }
#define DESTROY(function)           \
  API Code function(void* object) { \
    free(object);                   \
    return SUCCESS;                 \
  }

API Code cuStreamCreateWithPriority(Stream* out, unsigned flags, int priority) {
  *out = sim_stream(flags, priority);
  return SUCCESS;
}
API Code cuStreamCreate(Stream* out, unsigned flags) {
  return cuStreamCreateWithPriority(out, flags, 0);
}
DESTROY(cuStreamDestroy_v2)
API Code cuStreamSynchronize(Stream stream) {
  ENTER();
  return sim_wait_here(stream);
}
API Code cuStreamQuery(Stream stream) { return sim_wait_here(stream); }
API Code cuStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  sim_wait(stream, event);
  return SUCCESS;
}
API Code cuStreamIsCapturing(Stream stream, int* out) {
  sim_capture(stream, out);
  return SUCCESS;
}
Code cuCtxGetCurrent(Context* out); /* cuda.c */
API Code cuStreamGetCtx(Stream stream, Context* out) { return cuCtxGetCurrent(out); }
API Code cuStreamAddCallback(Stream stream, void (*call)(Stream, Code, void*), void* data,
                             unsigned flags) {
  if (sim_captured(stream)) return CAPTURE_UNSUPPORTED;
  call(stream, SUCCESS, data);
  return SUCCESS;
}
API Code cuLaunchHostFunc(Stream stream, void (*call)(void*), void* data) {
  if (!sim_captured(stream)) call(data);
  return SUCCESS;
}

API Code cuEventCreate(Event* out, unsigned flags) {
  *out = sim_event();
  return SUCCESS;
}
DESTROY(cuEventDestroy_v2)
API Code cuEventRecord(Event event, Stream stream) {
  sim_record(event, stream);
  return SUCCESS;
}
NOTHING(cuEventSynchronize, Event event)
NOTHING(cuEventQuery, Event event)
API Code cuEventElapsedTime(float* milliseconds, Event from, Event to) {
  *milliseconds = sim_milliseconds(from, to);
  return SUCCESS;
}
API Code cuEventElapsedTime_v2(float* milliseconds, Event from, Event to) {
  return cuEventElapsedTime(milliseconds, from, to);
}

CREATE(cuModuleLoadData, const void* image)
CREATE(cuModuleLoadDataEx, const void* image, unsigned count, int* options, void** values)
CREATE(cuModuleLoad, const char* path)
CREATE(cuModuleLoadFatBinary, const void* image)
DESTROY(cuModuleUnload)
CREATE(cuModuleGetFunction, Module module, const char* name)
API Code cuModuleGetLoadingMode(int* out) {
  *out = 2; /* lazy */
  return SUCCESS;
}
CREATE(cuLibraryLoadData, const void* code, int* jit, void** jit_values, unsigned jit_count,
       int* options, void** values, unsigned count)
DESTROY(cuLibraryUnload)
CREATE(cuLibraryGetKernel, Library library, const char* name)
CREATE(cuLibraryGetModule, Library library)
API Code cuKernelGetFunction(Function* out, Function kernel) {
  *out = kernel;
  return SUCCESS;
}
API Code cuFuncGetAttribute(int* out, int attribute, Function function) {
  *out = attribute == 0 ? 1024 : attribute == 4 ? 32 : 0; /* threads a block, registers */
  return SUCCESS;
}
NOTHING(cuFuncSetAttribute, Function function, int attribute, int value)
NOTHING(cuFuncSetCacheConfig, Function function, int config)
API Code cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, Function function, int block,
                                                     size_t shared) {
  *out = 2;
  return SUCCESS;
}
API Code cuOccupancyMaxPotentialBlockSize(int* grid, int* block, Function function, void* sizes,
                                          size_t shared, int limit) {
  *grid = 64;
  *block = 256;
  return SUCCESS;
}
static Code launch(Stream stream) {
  sim_captured(stream);
  return sim_open_context(sim_current());
}
API Code cuLaunchKernel(Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, Stream stream, void** arguments,
                        void** extra) {
  ENTER();
  return launch(stream);
}
API Code cuLaunchKernelEx(const DriverLaunchConfig* config, Function function, void** arguments,
                          void** extra) {
  ENTER();
  return launch(config->hStream);
}

API Code cuLinkCreate_v2(unsigned count, int* options, void** values, void** out) {
  *out = calloc(1, 64);
  return *out ? SUCCESS : OUT_OF_MEMORY;
}
NOTHING(cuLinkAddData_v2, void* link, int type, void* data, size_t size, const char* name,
        unsigned count, int* options, void** values)
NOTHING(cuLinkAddFile_v2, void* link, int type, const char* path, unsigned count, int* options,
        void** values)
API Code cuLinkComplete(void* link, void** out, size_t* size) {
  static char image[64];
  *out = image;
  *size = sizeof image;
  return SUCCESS;
}
DESTROY(cuLinkDestroy)
NOTHING(cuProfilerStart, void)
NOTHING(cuProfilerStop, void)

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
#include "cuda_errors.inc"
};
static const int error_count = sizeof errors / sizeof *errors;

API Code cuGetErrorName(Code code, const char** out) {
  for (int i = 0; i < error_count; i++)
    if (errors[i].code == code) {
      *out = errors[i].name;
      return SUCCESS;
    }
  *out = NULL;
  return INVALID_VALUE;
}
API Code cuGetErrorString(Code code, const char** out) {
  for (int i = 0; i < error_count; i++)
    if (errors[i].code == code) {
      *out = errors[i].text;
      return SUCCESS;
    }
  *out = NULL;
  return INVALID_VALUE;
}

/* A statically linked runtime asks for private tables here. They are not modelled: such a program
 * (CuPy's wheel is one) gets an error from its runtime. */
API Code cuGetExportTable(const void** out, const void* id) {
  sim_trace("cuGetExportTable is refused");
  if (out) *out = NULL;
  return NOT_SUPPORTED_801;
}

void* sim_entry_point(const char* name) {
  static void* self;
  if (!self) {
    Dl_info info;
    dladdr((void*)sim_entry_point, &info);
    self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  static const char* const suffixes[] = {"_v3", "_v2", ""};
  for (int i = 0; i < 3; i++) {
    char versioned[128];
    snprintf(versioned, sizeof versioned, "%s%s", name, suffixes[i]);
    void* found = dlsym(self, versioned);
    if (found) return found;
  }
  sim_trace("asked for an entry point that is not modelled:");
  sim_trace(name);
  return NULL;
}
API Code cuGetProcAddress_v2(const char* name, void** out, int version, uint64_t flags,
                             int* status) {
  *out = sim_entry_point(name);
  if (status) *status = *out ? 0 : 1;
  return *out ? SUCCESS : 500; /* CUDA_ERROR_NOT_FOUND */
}
API Code cuGetProcAddress(const char* name, void** out, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
