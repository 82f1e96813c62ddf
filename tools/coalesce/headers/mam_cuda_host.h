/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam_cuda_host.h - the last part of mam_cuda.h: the host API for kernel launches and memory. Host
 * code is only searched for the kernels that it launches, so functions accept any arguments.
 */
#ifndef MAM_CO_CUDA_HOST_H
#define MAM_CO_CUDA_HOST_H

typedef struct mam_co_stream *cudaStream_t;
typedef struct mam_co_event *cudaEvent_t;
typedef struct mam_co_graph *cudaGraph_t;
typedef struct mam_co_graph_exec *cudaGraphExec_t;
typedef struct mam_co_graph_node *cudaGraphNode_t;
typedef struct mam_co_pool *cudaMemPool_t;
typedef struct mam_co_stream *CUstream;
typedef struct mam_co_context *CUcontext;
typedef struct mam_co_module *CUmodule;
typedef struct mam_co_function *CUfunction;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
typedef int CUresult;
#define CUDA_SUCCESS 0

enum cudaError {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInitializationError = 3,
	cudaErrorInsufficientDriver = 35,
	cudaErrorNoDevice = 100,
	cudaErrorNotReady = 600,
	cudaErrorNotSupported = 801,
	cudaErrorUnknown = 999
};
typedef enum cudaError cudaError_t;
enum cudaMemcpyKind {
	cudaMemcpyHostToHost,
	cudaMemcpyHostToDevice,
	cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice,
	cudaMemcpyDefault
};
enum cudaLimit {
	cudaLimitStackSize,
	cudaLimitPrintfFifoSize,
	cudaLimitMallocHeapSize,
	cudaLimitDevRuntimeSyncDepth,
	cudaLimitDevRuntimePendingLaunchCount
};
enum cudaFuncCache {
	cudaFuncCachePreferNone,
	cudaFuncCachePreferShared,
	cudaFuncCachePreferL1,
	cudaFuncCachePreferEqual
};
enum cudaFuncAttribute {
	cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
	cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaDeviceAttr {
	cudaDevAttrMaxThreadsPerBlock = 1,
	cudaDevAttrWarpSize = 10,
	cudaDevAttrMultiProcessorCount = 16,
	cudaDevAttrComputeCapabilityMajor = 75,
	cudaDevAttrComputeCapabilityMinor = 76,
	cudaDevAttrCooperativeLaunch = 95
};
struct cudaDeviceProp {
	char name[256];
	size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, memPitch;
	size_t sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
	int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
	int clockRate, major, minor, multiProcessorCount, kernelExecTimeoutEnabled, integrated;
	int canMapHostMemory, computeMode, concurrentKernels, ECCEnabled, pciBusID, pciDeviceID;
	int memoryClockRate, memoryBusWidth, l2CacheSize, maxThreadsPerMultiProcessor;
	int managedMemory, cooperativeLaunch, concurrentManagedAccess;
};
struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion;
};

#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost 0x02
#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaCpuDeviceId (-1)

extern "C" cudaError_t cudaConfigureCall(dim3, dim3, size_t = 0, cudaStream_t = 0);
extern "C" unsigned int __cudaPushCallConfiguration(dim3, dim3, size_t = 0, cudaStream_t = 0);
extern "C" cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
template <class K>
cudaError_t cudaLaunchKernel(K, dim3, dim3, void **, size_t = 0, cudaStream_t = 0);
template <class K>
cudaError_t cudaLaunchCooperativeKernel(K, dim3, dim3, void **, size_t = 0, cudaStream_t = 0);
MAM_CO_HD const char *cudaGetErrorString(cudaError_t);
MAM_CO_HD const char *cudaGetErrorName(cudaError_t);
template <class T> MAM_CO_HD cudaError_t cudaMalloc(T **, size_t);

/* These accept any arguments. */
#define MAM_CO_HOST(name) template <class... T> MAM_CO_HD cudaError_t name(T &&...)
MAM_CO_HOST(cudaMallocManaged);
MAM_CO_HOST(cudaMallocHost);
MAM_CO_HOST(cudaMallocAsync);
MAM_CO_HOST(cudaMallocPitch);
MAM_CO_HOST(cudaHostAlloc);
MAM_CO_HOST(cudaHostRegister);
MAM_CO_HOST(cudaHostUnregister);
MAM_CO_HOST(cudaHostGetDevicePointer);
MAM_CO_HOST(cudaFree);
MAM_CO_HOST(cudaFreeHost);
MAM_CO_HOST(cudaFreeAsync);
MAM_CO_HOST(cudaMemcpy);
MAM_CO_HOST(cudaMemcpyAsync);
MAM_CO_HOST(cudaMemcpy2D);
MAM_CO_HOST(cudaMemcpyToSymbol);
MAM_CO_HOST(cudaMemcpyFromSymbol);
MAM_CO_HOST(cudaMemcpyToSymbolAsync);
MAM_CO_HOST(cudaMemcpyFromSymbolAsync);
MAM_CO_HOST(cudaGetSymbolAddress);
MAM_CO_HOST(cudaGetSymbolSize);
MAM_CO_HOST(cudaMemset);
MAM_CO_HOST(cudaMemsetAsync);
MAM_CO_HOST(cudaMemGetInfo);
MAM_CO_HOST(cudaMemPrefetchAsync);
MAM_CO_HOST(cudaMemAdvise);
MAM_CO_HOST(cudaPointerGetAttributes);
MAM_CO_HOST(cudaDeviceSynchronize);
MAM_CO_HOST(cudaThreadSynchronize);
MAM_CO_HOST(cudaDeviceReset);
MAM_CO_HOST(cudaDeviceSetLimit);
MAM_CO_HOST(cudaDeviceGetLimit);
MAM_CO_HOST(cudaDeviceGetAttribute);
MAM_CO_HOST(cudaDeviceSetCacheConfig);
MAM_CO_HOST(cudaThreadSetLimit);
MAM_CO_HOST(cudaGetDevice);
MAM_CO_HOST(cudaSetDevice);
MAM_CO_HOST(cudaSetDeviceFlags);
MAM_CO_HOST(cudaGetDeviceCount);
MAM_CO_HOST(cudaGetDeviceProperties);
MAM_CO_HOST(cudaDriverGetVersion);
MAM_CO_HOST(cudaRuntimeGetVersion);
MAM_CO_HOST(cudaGetLastError);
MAM_CO_HOST(cudaPeekAtLastError);
MAM_CO_HOST(cudaStreamCreate);
MAM_CO_HOST(cudaStreamCreateWithFlags);
MAM_CO_HOST(cudaStreamCreateWithPriority);
MAM_CO_HOST(cudaStreamDestroy);
MAM_CO_HOST(cudaStreamSynchronize);
MAM_CO_HOST(cudaStreamQuery);
MAM_CO_HOST(cudaStreamWaitEvent);
MAM_CO_HOST(cudaEventCreate);
MAM_CO_HOST(cudaEventCreateWithFlags);
MAM_CO_HOST(cudaEventDestroy);
MAM_CO_HOST(cudaEventRecord);
MAM_CO_HOST(cudaEventSynchronize);
MAM_CO_HOST(cudaEventQuery);
MAM_CO_HOST(cudaEventElapsedTime);
MAM_CO_HOST(cudaFuncSetAttribute);
MAM_CO_HOST(cudaFuncGetAttributes);
MAM_CO_HOST(cudaFuncSetCacheConfig);
MAM_CO_HOST(cudaOccupancyMaxActiveBlocksPerMultiprocessor);
MAM_CO_HOST(cudaOccupancyMaxPotentialBlockSize);
MAM_CO_HOST(cudaProfilerStart);
MAM_CO_HOST(cudaProfilerStop);
#undef MAM_CO_HOST

#endif
