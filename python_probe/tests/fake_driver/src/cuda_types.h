/* The parts of CUDA's two interfaces that the simulated driver's functions are declared with, so
 * that no CUDA header is needed. The layouts of structs that cross the interface are CUDA 13's;
 * tests/frameworks compares them with NVIDIA's own headers. Handles are opaque: void pointers. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef int Code; /* CUresult, cudaError_t */
typedef unsigned long long Address;
typedef void *Context, *Stream, *Event, *Module, *Function, *Library, *Pool, *Pointer;

typedef struct {
  unsigned x, y, z;
} Dim3;

typedef struct {
  Dim3 grid, block;
  size_t shared;
  Stream stream;
  void* attributes;
  unsigned count;
} LaunchConfig; /* cudaLaunchConfig_t */

typedef struct {
  Dim3 grid, block;
  unsigned shared;
  Stream hStream;
  void* attributes;
  unsigned count;
} DriverLaunchConfig; /* CUlaunchConfig */

typedef struct {
  int type, id;
} MemLocation; /* CUmemLocation, cudaMemLocation: passed by value */

typedef struct {
  int type, handle_types;
  MemLocation location;
  void* windows_data;
  unsigned char flags[8];
} AllocationProp; /* CUmemAllocationProp */

typedef struct {
  char reserved[64];
} IpcHandle; /* passed by value */

typedef struct {
  int type, device;
  void *device_pointer, *host_pointer;
  long reserved[8];
} PointerAttributes; /* cudaPointerAttributes */

typedef struct {
  size_t shared, constant, local;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared;
  int carveout, cluster_required, cluster_width, cluster_height, cluster_depth;
  int cluster_policy, nonportable_cluster, reserved[16];
} FunctionAttributes; /* cudaFuncAttributes */

/* cudaDeviceProp, with its members' own names. */
typedef struct {
  char name[256];
  unsigned char uuid[16];
  char luid[8];
  unsigned luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int multiProcessorCount, integrated, canMapHostMemory;
  int textures_and_surfaces[39];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver;
  int asyncEngineCount, unifiedAddressing, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor, streamPrioritiesSupported;
  int globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
  int hostNativeAtomicSupported, pageableMemoryAccess, concurrentManagedAccess;
  int computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
  int timelineSemaphoreInteropSupported, memoryPoolsSupported;
  int rest[71];
} DeviceProp;
