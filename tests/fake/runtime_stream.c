/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_stream.c - the fake runtime's streams, captures, events and stream-ordered allocation.
 *
 * Some functions exist twice: the version with _ptsz is for code compiled for per-thread
 * default streams, and calls the driver's function for those.
 */
#include "runtime.h"

/* Ensures a context, calls the driver, records an error. */
#define FORWARD(declared, call)                       \
	int declared                                  \
	{                                             \
		int result = runtime_ready();         \
                                                      \
		if (result == cudaSuccess)            \
			result = runtime_driver.call; \
		return runtime_remember(result);      \
	}

FORWARD(cudaStreamCreateWithFlags(struct CUstream_st **stream, unsigned int flags),
	cuStreamCreate(stream, flags))
FORWARD(cudaStreamDestroy(struct CUstream_st *stream), cuStreamDestroy(stream))
FORWARD(cudaStreamSynchronize(struct CUstream_st *stream), cuStreamSynchronize(stream))
FORWARD(cudaStreamQuery(struct CUstream_st *stream), cuStreamQuery(stream))
FORWARD(cudaStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event,
			    unsigned int flags),
	cuStreamWaitEvent(stream, event, flags))
FORWARD(cudaStreamBeginCapture(struct CUstream_st *stream, int mode),
	cuStreamBeginCapture(stream, mode))
FORWARD(cudaStreamBeginCapture_ptsz(struct CUstream_st *stream, int mode),
	cuStreamBeginCapture_ptsz(stream, mode))
FORWARD(cudaStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph),
	cuStreamEndCapture(stream, graph))
FORWARD(cudaStreamEndCapture_ptsz(struct CUstream_st *stream, struct CUgraph_st **graph),
	cuStreamEndCapture_ptsz(stream, graph))
FORWARD(cudaStreamIsCapturing(struct CUstream_st *stream, int *status),
	cuStreamIsCapturing(stream, status))
FORWARD(cudaThreadExchangeStreamCaptureMode(int *mode), cuThreadExchangeStreamCaptureMode(mode))
FORWARD(cudaGraphDestroy(struct CUgraph_st *graph), cuGraphDestroy(graph))
FORWARD(cudaEventCreateWithFlags(struct CUevent_st **event, unsigned int flags),
	cuEventCreate(event, flags))
FORWARD(cudaEventDestroy(struct CUevent_st *event), cuEventDestroy(event))
FORWARD(cudaEventRecord(struct CUevent_st *event, struct CUstream_st *stream),
	cuEventRecord(event, stream))
FORWARD(cudaEventQuery(struct CUevent_st *event), cuEventQuery(event))
FORWARD(cudaEventSynchronize(struct CUevent_st *event), cuEventSynchronize(event))
FORWARD(cudaEventElapsedTime(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end),
	cuEventElapsedTime(milliseconds, start, end))

int cudaStreamCreate(struct CUstream_st **stream)
{
	return cudaStreamCreateWithFlags(stream, 0);
}

int cudaEventCreate(struct CUevent_st **event)
{
	return cudaEventCreateWithFlags(event, 0);
}

static int allocate(__typeof__(cuMemAllocAsync) *driver, void **address, size_t bytes,
		    struct CUstream_st *stream)
{
	unsigned long long found = 0;
	int result = address ? cudaSuccess : cudaErrorInvalidValue;

	if (result == cudaSuccess && bytes)
		result = driver(&found, bytes, stream);
	if (result == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return result;
}

static int allocate_from(__typeof__(cuMemAllocFromPoolAsync) *driver, void **address, size_t bytes,
			 struct CUmemPoolHandle_st *pool, struct CUstream_st *stream)
{
	unsigned long long found = 0;
	int result = address ? cudaSuccess : cudaErrorInvalidValue;

	if (result == cudaSuccess && bytes)
		result = driver(&found, bytes, pool, stream);
	if (result == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return result;
}

static int release(__typeof__(cuMemFreeAsync) *driver, void *address, struct CUstream_st *stream)
{
	return address ? driver((uintptr_t)address, stream) : cudaSuccess;
}

/* The driver's functions are only known once the runtime is initialized. */
#define TWICE(name, declared, function, driver, ...)                                  \
	int name declared                                                             \
	{                                                                             \
		int result = runtime_ready();                                         \
                                                                                      \
		if (result == cudaSuccess)                                            \
			result = function(runtime_driver.driver, __VA_ARGS__);        \
		return runtime_remember(result);                                      \
	}                                                                             \
	int name##_ptsz declared                                                      \
	{                                                                             \
		int result = runtime_ready();                                         \
                                                                                      \
		if (result == cudaSuccess)                                            \
			result = function(runtime_driver.driver##_ptsz, __VA_ARGS__); \
		return runtime_remember(result);                                      \
	}

TWICE(cudaMallocAsync, (void **address, size_t bytes, struct CUstream_st *stream), allocate,
      cuMemAllocAsync, address, bytes, stream)
TWICE(cudaMallocFromPoolAsync,
      (void **address, size_t bytes, struct CUmemPoolHandle_st *pool, struct CUstream_st *stream),
      allocate_from, cuMemAllocFromPoolAsync, address, bytes, pool, stream)
TWICE(cudaFreeAsync, (void *address, struct CUstream_st *stream), release, cuMemFreeAsync, address,
      stream)

int cudaDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	int result = runtime_load();

	if (result == cudaSuccess)
		result = runtime_driver.cuDeviceGetDefaultMemPool(pool, device);
	return runtime_remember(result);
}
