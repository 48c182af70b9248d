/* How the runtime's functions begin and fail. */
#pragma once
#include "cuda_types.h"
#include "sim.h"

enum { INSUFFICIENT_DRIVER = 35, INVALID_SYMBOL = 13 };

HIDDEN Code failed(Code code); /* remembers it for cudaGetLastError */

#define ENTER()                            \
  do {                                     \
    int injected = SIM_CALL();             \
    if (injected) return failed(injected); \
  } while (0)

/* For functions that make the current device's context when there is none yet. */
#define ENTER_CONTEXT()                       \
  do {                                        \
    ENTER();                                  \
    Code opened = sim_open_runtime_context(); \
    if (opened) return failed(opened);        \
  } while (0)

/* A function that succeeds and does nothing. */
#define NOTHING(function, ...) \
  API Code function(__VA_ARGS__) { return SUCCESS; }
