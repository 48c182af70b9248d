/* Devices, contexts and allocations: what libcuda's and libcudart's functions share. It lives in
 * libcuda.so.1, which libcudart.so.13 is linked to. A device is an ordinal as the process sees it
 * (after CUDA_VISIBLE_DEVICES); codes are those that CUDA's two interfaces have in common. */
#pragma once
#include "ledger.h"

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  NOT_SUPPORTED_801 = 801
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

typedef enum { ON_DEVICE = 1, ON_HOST = 2, REGISTERED = 4, MAPPED = 8 } Kind;
typedef struct {
  char* start;
  size_t bytes;
  int device;
  Kind kind;
} Allocation;
API bool sim_find(const void* pointer, Allocation* out);
API void sim_add(void* pointer, size_t bytes, int device, Kind kind);
API bool sim_remove(void* pointer, int kinds, Allocation* out);
API void sim_fill(void* pointer, int value, size_t bytes);

API int sim_call(CallsRow** row, const char* function); /* ledger_call for the current device */
API void sim_trace(const char* text);                   /* with VRAM_SIMULATED_TRACE=1, to stderr */
API void* sim_entry_point(const char* name);            /* NULL: not modelled */

#define SIM_CALL()             \
  ({                           \
    static CallsRow* row_;     \
    sim_call(&row_, __func__); \
  })
