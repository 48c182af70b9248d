/* libcudart.so.13: streams, events, their capture into graphs, and graphs, which do nothing. */
#define _GNU_SOURCE
#include "cudart.h"
#include <stdlib.h>
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define DESTROY(function)           \
  API Code function(void* object) { \
    free(object);                   \
    return SUCCESS;                 \
  }

API Code cudaStreamCreateWithPriority(Stream* out, unsigned flags, int priority) {
  ENTER_CONTEXT();
  *out = sim_stream(flags, priority);
  return SUCCESS;
}
API Code cudaStreamCreateWithFlags(Stream* out, unsigned flags) {
  return cudaStreamCreateWithPriority(out, flags, 0);
}
API Code cudaStreamCreate(Stream* out) { return cudaStreamCreateWithPriority(out, 0, 0); }
DESTROY(cudaStreamDestroy)
API Code cudaStreamSynchronize(Stream stream) {
  ENTER();
  return failed(sim_wait_here(stream));
}
API Code cudaStreamQuery(Stream stream) { return failed(sim_wait_here(stream)); }
API Code cudaStreamGetPriority(Stream stream, int* out) {
  *out = sim_stream_facts(stream).priority;
  return SUCCESS;
}
API Code cudaStreamGetFlags(Stream stream, unsigned* out) {
  *out = sim_stream_facts(stream).flags;
  return SUCCESS;
}
API Code cudaStreamGetDevice(Stream stream, int* out) {
  *out = sim_stream_facts(stream).device;
  return SUCCESS;
}
API Code cudaStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  sim_wait(stream, event);
  return SUCCESS;
}
API Code cudaStreamAddCallback(Stream stream, void (*call)(Stream, Code, void*), void* data,
                               unsigned flags) {
  if (sim_captured(stream)) return failed(CAPTURE_UNSUPPORTED);
  call(stream, SUCCESS, data);
  return SUCCESS;
}
API Code cudaLaunchHostFunc(Stream stream, void (*call)(void*), void* data) {
  if (!sim_captured(stream)) call(data);
  return SUCCESS;
}

API Code cudaEventCreateWithFlags(Event* out, unsigned flags) {
  ENTER_CONTEXT();
  *out = sim_event();
  return SUCCESS;
}
API Code cudaEventCreate(Event* out) { return cudaEventCreateWithFlags(out, 0); }
DESTROY(cudaEventDestroy)
API Code cudaEventRecord(Event event, Stream stream) {
  sim_record(event, stream);
  return SUCCESS;
}
API Code cudaEventRecordWithFlags(Event event, Stream stream, unsigned flags) {
  return cudaEventRecord(event, stream);
}
NOTHING(cudaEventSynchronize, Event event)
NOTHING(cudaEventQuery, Event event)
API Code cudaEventElapsedTime(float* milliseconds, Event from, Event to) {
  *milliseconds = sim_milliseconds(from, to);
  return SUCCESS;
}

API Code cudaStreamIsCapturing(Stream stream, int* out) {
  sim_capture(stream, out);
  return SUCCESS;
}
/* What is captured so far can't be built on: there is no graph before the capture's end. */
API Code cudaStreamGetCaptureInfo(Stream stream, int* status, unsigned long long* id, void** graph,
                                  const void** nodes, const void** edges, size_t* count) {
  int found;
  uint64_t capture = sim_capture(stream, &found);
  if (status) *status = found;
  if (id) *id = capture;
  if (graph) *graph = NULL;
  if (nodes) *nodes = NULL;
  if (edges) *edges = NULL;
  if (count) *count = 0;
  return SUCCESS;
}
NOTHING(cudaThreadExchangeStreamCaptureMode, int* mode)
API Code cudaStreamBeginCapture(Stream stream, int mode) {
  ENTER();
  return failed(sim_begin_capture(stream));
}

typedef struct {
  size_t nodes;
} Graph;

API Code cudaStreamEndCapture(Stream stream, void** out) {
  ENTER();
  size_t nodes;
  *out = NULL;
  Code code = sim_end_capture(stream, &nodes);
  if (code) return failed(code);
  Graph* graph = calloc(1, sizeof *graph);
  if (!graph) abort();
  graph->nodes = nodes;
  *out = graph;
  return SUCCESS;
}
API Code cudaGraphGetNodes(void* graph, void** nodes, size_t* count) {
  if (nodes) return failed(NOT_SUPPORTED_801);
  *count = ((Graph*)graph)->nodes;
  return SUCCESS;
}
DESTROY(cudaGraphDestroy)
API Code cudaGraphInstantiate(void** out, void* graph, unsigned long long flags) {
  ENTER();
  *out = calloc(1, sizeof(Graph));
  return *out ? SUCCESS : failed(OUT_OF_MEMORY);
}
API Code cudaGraphInstantiateWithFlags(void** out, void* graph, unsigned long long flags) {
  return cudaGraphInstantiate(out, graph, flags);
}
DESTROY(cudaGraphExecDestroy)
NOTHING(cudaGraphUpload, void* executable, Stream stream)
API Code cudaGraphLaunch(void* executable, Stream stream) {
  ENTER_CONTEXT();
  sim_captured(stream);
  return SUCCESS;
}
