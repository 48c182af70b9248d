/* Which devices a process sees, their attributes, and its contexts. */
#define _GNU_SOURCE
#include "sim.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int visible[LEDGER_DEVICES], visible_count = -1;
static bool contexts[LEDGER_DEVICES];
static __thread int current;
static __thread bool runtime_is_current;

void sim_trace(const char* text) {
  static int on = -1;
  if (on < 0) on = getenv("VRAM_SIMULATED_TRACE") != NULL;
  if (on) fprintf(stderr, "[simulated driver] %s\n", text);
}

int sim_call(CallsRow** row, const char* function) {
  sim_trace(function);
  return ledger_call(row, function, sim_index(current));
}

/* CUDA sees one slice only of a sliced card, and the card itself not at all. */
static int usable(Ledger* l, int card) {
  if (l->devices[card].mig_mode != 1) return card;
  for (int i = 0; i < (int)l->device_count; i++)
    if (l->devices[i].parent == card) return i;
  return -1;
}

static int named(Ledger* l, const char* name, const int* cards, int count) {
  if (!strncmp(name, "GPU-", 4) || !strncmp(name, "MIG-", 4)) {
    for (int i = 0; i < (int)l->device_count; i++)
      if (!strncmp(l->devices[i].uuid, name, strlen(name))) return i;
    return -1;
  }
  char* end;
  long number = strtol(name, &end, 10);
  return end != name && number >= 0 && number < count ? cards[number] : -1;
}

static int find_visible(Ledger* l) {
  int cards[LEDGER_DEVICES], count = 0, found = 0;
  for (int i = 0; i < (int)l->device_count; i++) {
    int index = l->devices[i].parent < 0 ? usable(l, i) : -1;
    if (index >= 0) cards[count++] = index;
  }
  const char* variable = getenv("CUDA_VISIBLE_DEVICES");
  if (!variable) {
    memcpy(visible, cards, sizeof cards);
    return count;
  }
  char *copy = strdup(variable), *rest = NULL;
  for (char* name = strtok_r(copy, ", ", &rest); name && found < (int)LEDGER_DEVICES;
       name = strtok_r(NULL, ", ", &rest)) {
    int index = named(l, name, cards, count);
    if (index < 0) break; /* as CUDA: the list ends at the first wrong name */
    visible[found++] = index;
  }
  free(copy);
  return found;
}

int sim_device_count(void) {
  if (visible_count < 0) {
    pthread_mutex_lock(&mutex);
    if (visible_count < 0) visible_count = ledger() ? find_visible(ledger()) : 0;
    pthread_mutex_unlock(&mutex);
  }
  return visible_count;
}
int sim_init(void) { return sim_device_count() ? SUCCESS : NO_DEVICE; }
int sim_index(int device) {
  return device >= 0 && device < sim_device_count() ? visible[device] : -1;
}
DeviceRow* sim_device(int device) {
  int index = sim_index(device);
  return index < 0 ? NULL : &ledger()->devices[index];
}
int sim_current(void) { return current; }
void sim_set_current(int device) { current = device; }

bool sim_has_context(int device) {
  return device >= 0 && device < (int)LEDGER_DEVICES && contexts[device];
}

int sim_open_context(int device) {
  if (sim_index(device) < 0) return NO_DEVICE;
  int code = SUCCESS;
  pthread_mutex_lock(&mutex);
  if (!contexts[device]) {
    contexts[device] = ledger_charge(sim_index(device), ledger()->driver.context_bytes, true);
    if (!contexts[device]) code = OUT_OF_MEMORY;
  }
  pthread_mutex_unlock(&mutex);
  return code;
}

int sim_open_runtime_context(void) {
  runtime_is_current = true;
  return sim_open_context(current);
}
bool sim_runtime_is_current(void) { return runtime_is_current && sim_has_context(current); }

HIDDEN void forget_device(int device); /* sim_memory.c */

void sim_close_context(int device) {
  if (!sim_has_context(device)) return;
  forget_device(device);
  contexts[device] = false;
  ledger_release_device(sim_index(device));
}

void sim_uuid(const DeviceRow* row, unsigned char bytes[16]) {
  memset(bytes, 0, 16);
  int count = 0;
  for (const char* s = strchr(row->uuid, '-'); s && *s && count < 16; s++) {
    unsigned byte;
    if (*s == '-') continue;
    if (sscanf(s, "%2x", &byte) == 1) bytes[count++] = (unsigned char)byte;
    s++;
  }
}

/* CUdevice_attribute and cudaDeviceAttr have the same numbers (CUDA's reference). */
int sim_attribute(int device, int attribute) {
  DeviceRow* d = sim_device(device);
  if (!d) return 0;
  unsigned domain = 0, bus = 0, slot = 0;
  sscanf(d->bus_id, "%x:%x:%x", &domain, &bus, &slot);
  int capability = d->cc_major * 10 + d->cc_minor;
  int shared_kib = capability >= 90 ? 227 : capability == 89 ? 99 : capability >= 80 ? 163 : 64;
  switch (attribute) {
    case 1:
    case 2:
    case 3: return 1024;       /* threads a block; block's x and y */
    case 4: return 64;         /* block's z */
    case 5: return 0x7fffffff; /* grid's x */
    case 6:
    case 7: return 65535;                   /* grid's y and z */
    case 8: return 49152;                   /* shared memory a block */
    case 9: return 65536;                   /* constant memory */
    case 10: return 32;                     /* warp */
    case 11: return 0x7fffffff;             /* pitch */
    case 12: return 65536;                  /* registers a block */
    case 13: return d->max_clock_sm * 1000; /* kHz */
    case 14: return 512;                    /* texture alignment */
    case 15: return 1;                      /* overlap */
    case 16: return d->multiprocessors;
    case 19: return 1; /* maps host memory */
    case 20: return d->compute_mode;
    case 31: return 1; /* concurrent kernels */
    case 32: return d->ecc_errors >= 0;
    case 33: return (int)bus;
    case 34: return (int)slot;
    case 36: return d->max_clock_memory * 1000;
    case 37: return 384;      /* memory bus, bits */
    case 38: return 72 << 20; /* L2 cache */
    case 39: return capability >= 90 || capability == 80 ? 2048 : capability >= 80 ? 1536 : 1024;
    case 40: return 2; /* copy engines */
    case 41: return 1; /* unified addressing */
    case 50: return (int)domain;
    case 75: return d->cc_major;
    case 76: return d->cc_minor;
    case 78:
    case 79:
    case 80: return 1;                      /* stream priorities, L1 caches */
    case 81: return (shared_kib + 1) << 10; /* shared memory a multiprocessor */
    case 82: return 65536;                  /* registers a multiprocessor */
    case 83: return 1;                      /* managed memory */
    case 89:
    case 90: return 1;                /* concurrent managed access, preemption */
    case 95: return 1;                /* cooperative launch */
    case 97: return shared_kib << 10; /* shared memory a block, opt-in */
    case 102:
    case 103: return 1;                          /* virtual memory management, its handles */
    case 106: return capability == 89 ? 24 : 32; /* blocks a multiprocessor */
    case 111: return 1024;                       /* reserved shared memory a block */
    case 115: return 1;                          /* memory pools */
    case 120: return capability >= 90;           /* clusters */
    default: return 0;
  }
}
