/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_api.h - the part of the CUDA runtime API that the fake runtime has, in plain C types.
 *
 * It stands to libcudart as driver_api.h stands to libcuda: fake, clients and tests are
 * compiled with it, and what was compiled with it runs on the real library. An int result is a
 * cudaError_t.
 */
#ifndef MAM_TESTS_RUNTIME_API_H
#define MAM_TESTS_RUNTIME_API_H

#include <stddef.h>
#include <stdint.h>

struct CUstream_st;
struct CUevent_st;

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

int cudaGetDeviceCount(int *count);
int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaDeviceSynchronize(void);
int cudaDeviceReset(void);

int cudaMalloc(void **address, size_t bytes);
int cudaFree(void *address);
int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height);
int cudaMallocManaged(void **address, size_t bytes, unsigned int flags);
int cudaMallocHost(void **address, size_t bytes);
int cudaHostAlloc(void **address, size_t bytes, unsigned int flags);
int cudaFreeHost(void *address);
int cudaMallocAsync(void **address, size_t bytes, struct CUstream_st *stream);
int cudaFreeAsync(void *address, struct CUstream_st *stream);
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
