/* Streams, events, and the capture of a stream's work into a graph. Work is done at once, so that
 * streams need no order; what is captured is not done at all, neither now nor when its graph is
 * launched. */
#define _GNU_SOURCE
#include "sim.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Streams and events remember a capture's id only, which says nothing any more once it ended. */
typedef struct {
  uint64_t id;
  void* origin;
  size_t nodes;
  bool broken;
} Capture;

enum { CAPTURES = 64 };
static Capture captures[CAPTURES];
static uint64_t last_id;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static Capture* capture_of(uint64_t id) { /* mutex held */
  for (int i = 0; id && i < CAPTURES; i++)
    if (captures[i].id == id) return &captures[i];
  return NULL;
}

/* NULL, 1 and 2 are the handles of the default streams, which can't be captured. */
static SimStream* own(void* stream) { return (uintptr_t)stream > 2 ? stream : NULL; }

void* sim_stream(unsigned flags, int priority) {
  SimStream* stream = calloc(1, sizeof *stream);
  if (!stream) abort();
  *stream = (SimStream){sim_current(), flags, priority, 0};
  return stream;
}
SimStream sim_stream_facts(void* stream) {
  return own(stream) ? *own(stream) : (SimStream){sim_current(), 0, 0, 0};
}
void* sim_event(void) {
  SimEvent* event = calloc(1, sizeof *event);
  if (!event) abort();
  return event;
}

void sim_record(void* event, void* stream) {
  SimEvent* e = event;
  clock_gettime(CLOCK_MONOTONIC, &e->at);
  e->capture = own(stream) ? own(stream)->capture : 0;
}
float sim_milliseconds(void* from, void* to) {
  struct timespec a = ((SimEvent*)from)->at, b = ((SimEvent*)to)->at;
  return (float)((double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
}
/* A stream that waits for captured work is captured with it from then on. */
void sim_wait(void* stream, void* event) {
  uint64_t id = ((SimEvent*)event)->capture;
  pthread_mutex_lock(&mutex);
  if (own(stream) && capture_of(id)) own(stream)->capture = id;
  pthread_mutex_unlock(&mutex);
}

int sim_begin_capture(void* stream) {
  int code = own(stream) ? OUT_OF_MEMORY : CAPTURE_UNSUPPORTED;
  pthread_mutex_lock(&mutex);
  if (own(stream) && capture_of(own(stream)->capture)) code = INVALID_VALUE;
  for (int i = 0; code == OUT_OF_MEMORY && i < CAPTURES; i++)
    if (!captures[i].id) {
      captures[i] = (Capture){++last_id, stream, 0, false};
      own(stream)->capture = last_id;
      code = SUCCESS;
    }
  pthread_mutex_unlock(&mutex);
  return code;
}

int sim_end_capture(void* stream, size_t* nodes) {
  pthread_mutex_lock(&mutex);
  Capture* c = own(stream) ? capture_of(own(stream)->capture) : NULL;
  int code = !c ? CAPTURE_UNMATCHED : c->origin != stream ? CAPTURE_UNMATCHED : SUCCESS;
  if (!code && c->broken) code = CAPTURE_INVALIDATED;
  if (!code) *nodes = c->nodes;
  if (c && c->origin == stream) *c = (Capture){0};
  pthread_mutex_unlock(&mutex);
  return code;
}

uint64_t sim_capture(void* stream, int* status) {
  pthread_mutex_lock(&mutex);
  Capture* c = own(stream) ? capture_of(own(stream)->capture) : NULL;
  uint64_t id = c ? c->id : 0;
  *status = !c ? 0 : c->broken ? 2 : 1; /* cudaStreamCaptureStatus */
  pthread_mutex_unlock(&mutex);
  return id;
}

bool sim_captured(void* stream) {
  pthread_mutex_lock(&mutex);
  Capture* c = own(stream) ? capture_of(own(stream)->capture) : NULL;
  if (c) c->nodes++;
  pthread_mutex_unlock(&mutex);
  return c;
}

int sim_wait_here(void* stream) {
  pthread_mutex_lock(&mutex);
  Capture* c = own(stream) ? capture_of(own(stream)->capture) : NULL;
  if (c) c->broken = true;
  pthread_mutex_unlock(&mutex);
  return c ? CAPTURE_UNSUPPORTED : SUCCESS;
}
