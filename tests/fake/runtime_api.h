/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_api.h - the part of the CUDA runtime API that the fake runtime implements, in plain C
 * types.
 *
 * It corresponds to libcudart as driver_api.h does to libcuda: fake, clients and tests are compiled
 * with it, and programs compiled with it also run on the real library. An int result is a
 * cudaError_t.
 */
#ifndef MAM_TESTS_RUNTIME_API_H
#define MAM_TESTS_RUNTIME_API_H

#include <stddef.h>
#include <stdint.h>

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUmemPoolHandle_st;
struct CUarray_st;

enum {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInitializationError = 3,
	cudaErrorInsufficientDriver = 35,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorNotReady = 600,
	cudaErrorUnknown = 999
};
enum {
	cudaMemcpyHostToHost = 0,
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
	cudaMemcpyDefault = 4
};

enum {
	cudaMemoryTypeUnregistered = 0,
	cudaMemoryTypeHost = 1,
	cudaMemoryTypeDevice = 2,
	cudaMemoryTypeManaged = 3
};

struct rt_pitched {
	void *address;
	size_t pitch, width, height;
};

struct rt_extent {
	size_t width, height, depth;
};

/* As of CUDA 13: earlier versions end after host_address. */
struct rt_attributes {
	int type;
	int device;
	void *device_address, *host_address;
	long reserved[8];
};

/* Bits of each channel; kind 0: signed, 1: unsigned, 2: float. */
struct rt_channel {
	int x, y, z, w;
	int kind;
};

struct rt_ipc_handle {
	unsigned char bytes[64];
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int error);
const char *cudaGetErrorString(int error);
int cudaRuntimeGetVersion(int *version);
int cudaDriverGetVersion(int *version);
int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
			    int *status);
int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version,
				     unsigned long long flags, int *status);

int cudaGetDriverEntryPoint_ptsz(const char *symbol, void **function, unsigned long long flags,
				 int *status);
int cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **function, unsigned int version,
					  unsigned long long flags, int *status);

int cudaGetDeviceCount(int *count);
int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaDeviceSynchronize(void);
int cudaDeviceReset(void);
int cudaDeviceCanAccessPeer(int *can, int device, int peer);
int cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
int cudaDeviceDisablePeerAccess(int peer);

int cudaMalloc(void **address, size_t bytes);
int cudaFree(void *address);
int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height);
int cudaMallocManaged(void **address, size_t bytes, unsigned int flags);
int cudaMallocHost(void **address, size_t bytes);
int cudaHostAlloc(void **address, size_t bytes, unsigned int flags);
int cudaFreeHost(void *address);
int cudaMallocAsync(void **address, size_t bytes, struct CUstream_st *stream);
int cudaFreeAsync(void *address, struct CUstream_st *stream);
int cudaMallocAsync_ptsz(void **address, size_t bytes, struct CUstream_st *stream);
int cudaFreeAsync_ptsz(void *address, struct CUstream_st *stream);
int cudaDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device);
int cudaMallocFromPoolAsync(void **address, size_t bytes, struct CUmemPoolHandle_st *pool,
			    struct CUstream_st *stream);
int cudaMallocFromPoolAsync_ptsz(void **address, size_t bytes, struct CUmemPoolHandle_st *pool,
				 struct CUstream_st *stream);
int cudaMalloc3D(struct rt_pitched *pitched, struct rt_extent extent);
int cudaMallocArray(struct CUarray_st **array, const struct rt_channel *channel, size_t width,
		    size_t height, unsigned int flags);
int cudaFreeArray(struct CUarray_st *array);
int cudaHostRegister(void *address, size_t bytes, unsigned int flags);
int cudaHostUnregister(void *address);
int cudaPointerGetAttributes(struct rt_attributes *attributes, const void *address);
int cudaIpcGetMemHandle(struct rt_ipc_handle *handle, void *address);
int cudaIpcOpenMemHandle(void **address, struct rt_ipc_handle handle, unsigned int flags);
int cudaIpcCloseMemHandle(void *address);
int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct CUstream_st *stream);
int cudaMemset(void *to, int value, size_t bytes);
int cudaMemsetAsync(void *to, int value, size_t bytes, struct CUstream_st *stream);

int cudaStreamCreate(struct CUstream_st **stream);
int cudaStreamCreateWithFlags(struct CUstream_st **stream, unsigned int flags);
int cudaStreamDestroy(struct CUstream_st *stream);
int cudaStreamSynchronize(struct CUstream_st *stream);
int cudaStreamQuery(struct CUstream_st *stream);
int cudaStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags);
int cudaStreamBeginCapture(struct CUstream_st *stream, int mode);
int cudaStreamBeginCapture_ptsz(struct CUstream_st *stream, int mode);
int cudaStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph);
int cudaStreamEndCapture_ptsz(struct CUstream_st *stream, struct CUgraph_st **graph);
int cudaStreamIsCapturing(struct CUstream_st *stream, int *status);
int cudaThreadExchangeStreamCaptureMode(int *mode);
int cudaStreamCreateWithPriority(struct CUstream_st **stream, unsigned int flags, int priority);
int cudaStreamGetCaptureInfo(struct CUstream_st *stream, int *status, unsigned long long *id,
			     struct CUgraph_st **graph, void *dependencies, void *edges,
			     size_t *count);
int cudaGraphDestroy(struct CUgraph_st *graph);
int cudaGraphGetNodes(struct CUgraph_st *graph, void *nodes, size_t *count);
int cudaGraphInstantiate(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
			 unsigned long long flags);
int cudaGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				  unsigned long long flags);
int cudaGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream);
int cudaGraphExecDestroy(struct CUgraphExec_st *exec);
int cudaGetDeviceProperties(void *properties, int device);
int cudaDeviceGetStreamPriorityRange(int *lowest, int *highest);
int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
			struct CUstream_st *stream);
int cudaEventCreate(struct CUevent_st **event);
int cudaEventCreateWithFlags(struct CUevent_st **event, unsigned int flags);
int cudaEventDestroy(struct CUevent_st *event);
int cudaEventRecord(struct CUevent_st *event, struct CUstream_st *stream);
int cudaEventQuery(struct CUevent_st *event);
int cudaEventSynchronize(struct CUevent_st *event);
int cudaEventElapsedTime(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
