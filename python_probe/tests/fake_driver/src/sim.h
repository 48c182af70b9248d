/* Devices, contexts and allocations: what libcuda's and libcudart's functions share. It lives in
 * libcuda.so.1, which libcudart.so.13 is linked to. A device is an ordinal as the process sees it
 * (after CUDA_VISIBLE_DEVICES); codes are those that CUDA's two interfaces have in common. */
#pragma once
#include "ledger.h"
#include <time.h>

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  INVALID_RESOURCE_HANDLE = 400,
  NOT_SUPPORTED_801 = 801,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_UNMATCHED = 903
};

API int sim_init(void); /* SUCCESS or NO_DEVICE */
API int sim_device_count(void);
API int sim_index(int device);         /* in the ledger; -1: no such device */
API DeviceRow* sim_device(int device); /* NULL: no such device */
API int sim_attribute(int device, int attribute);
API void sim_uuid(const DeviceRow* row, unsigned char bytes[16]);

API int sim_current(void); /* of this thread */
API void sim_set_current(int device);
/* The runtime makes a device's context this thread's current one; the driver API pushes its own. */
API int sim_open_runtime_context(void);
API bool sim_runtime_is_current(void);

API int sim_open_context(int device); /* charges for it, once */
API bool sim_has_context(int device);
API void sim_close_context(int device); /* and all memory on the device */

API int sim_allocate(int device, size_t bytes, void** out);
API int sim_free(void* pointer);

typedef enum { ON_DEVICE = 1, ON_HOST = 2, REGISTERED = 4, MAPPED = 8, IMPORTED = 16 } Kind;
typedef struct {
  char* start;
  size_t bytes;
  int device;
  Kind kind;
  int file; /* behind memory that other processes may share, otherwise 0 */
} Allocation;
API bool sim_find(const void* pointer, Allocation* out);
API void sim_add(void* pointer, size_t bytes, int device, Kind kind);
API bool sim_remove(void* pointer, int kinds, Allocation* out);
HIDDEN void sim_set_file(void* start, int file);

/* Copies and fills are INVALID_VALUE where memory that has to be the device's isn't. */
typedef enum { WITHIN_HOST, TO_DEVICE, TO_HOST, WITHIN_DEVICE, ANYWHERE } Copy; /* cudaMemcpyKind */
API int sim_copy(void* to, const void* from, size_t bytes, Copy kind);
API int sim_fill(void* pointer, int value, size_t bytes);

/* A handle has 64 bytes. */
API int sim_export(void* pointer, void* handle);
API int sim_import(const void* handle, void** out);
API int sim_close(void* pointer); /* what was imported */

typedef struct {
  int device;
  unsigned flags;
  int priority;
  uint64_t capture;
} SimStream;
typedef struct {
  struct timespec at;
  uint64_t capture;
} SimEvent;
API void* sim_stream(unsigned flags, int priority); /* of the current device; free() ends it */
API SimStream sim_stream_facts(void* stream);       /* a default stream's too */
API void* sim_event(void);                          /* likewise */
API void sim_record(void* event, void* stream);
API void sim_wait(void* stream, void* event);
API float sim_milliseconds(void* from, void* to);
API int sim_begin_capture(void* stream);
API int sim_end_capture(void* stream, size_t* nodes);
API uint64_t sim_capture(void* stream, int* status); /* its id, 0: none */
API bool sim_captured(void* stream); /* true: the work became a node of a graph, don't do it */
API int sim_wait_here(void* stream); /* the host waits, which breaks a capture */

API int sim_call(CallsRow** row, const char* function); /* ledger_call for the current device */
API void sim_trace(const char* text);                   /* with VRAM_SIMULATED_TRACE=1, to stderr */
API void* sim_entry_point(const char* name);            /* NULL: not modelled */

#define SIM_CALL()             \
  ({                           \
    static CallsRow* row_;     \
    sim_call(&row_, __func__); \
  })
