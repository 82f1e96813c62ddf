/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_graph.c - the functions of the fake runtime that PyTorch needs besides memory and streams:
 * graphs, priorities, and the properties of a device. A graph has no kernels, so it has no nodes. The
 * driver's functions are looked up at each call: an older fake driver lacks some of them.
 */
#include <dlfcn.h>
#include <string.h>

#include "runtime.h"

/* sizeof(struct cudaDeviceProp) of CUDA 13. The fields that are set here have these offsets. */
#define PROPERTIES_BYTES 1008

enum {
	AT_TOTAL_BYTES = 288,
	AT_WARP_SIZE = 308,
	AT_BLOCK_THREADS_MAX = 320,
	AT_MAJOR = 360,
	AT_MULTIPROCESSORS = 384,
	AT_MULTIPROCESSOR_THREADS_MAX = 604
};

/* NAME, declared in driver_api.h, as a pointer; NULL: the driver lacks it. */
#define DRIVER(name) ((__typeof__(name) *)look_up(#name))

static void *look_up(const char *name)
{
	return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

static void set(void *properties, size_t offset, int value)
{
	memcpy((char *)properties + offset, &value, sizeof(value));
}

int cudaGetDeviceProperties(void *properties, int device)
{
	size_t total = 0;
	int result = properties ? runtime_load() : cudaErrorInvalidValue;

	if (result == cudaSuccess)
		result = DRIVER(cuDeviceTotalMem_v2)(&total, device);
	if (result == cudaSuccess) {
		memset(properties, 0, PROPERTIES_BYTES);
		DRIVER(cuDeviceGetName)(properties, 256, device);
		memcpy((char *)properties + AT_TOTAL_BYTES, &total, sizeof(total));
		set(properties, AT_WARP_SIZE, 32);
		set(properties, AT_BLOCK_THREADS_MAX, 1024);
		set(properties, AT_MAJOR, 9);
		set(properties, AT_MULTIPROCESSORS, 132);
		set(properties, AT_MULTIPROCESSOR_THREADS_MAX, 2048);
	}
	return runtime_remember(result);
}

int cudaDeviceGetStreamPriorityRange(int *lowest, int *highest)
{
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = DRIVER(cuCtxGetStreamPriorityRange)(lowest, highest);
	return runtime_remember(result);
}

int cudaStreamCreateWithPriority(struct CUstream_st **stream, unsigned int flags, int priority)
{
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = DRIVER(cuStreamCreateWithPriority)(stream, flags, priority);
	return runtime_remember(result);
}

/* The fake driver's graphs have no nodes, and it reports no graph before the capture has ended. */
int cudaStreamGetCaptureInfo(struct CUstream_st *stream, int *status, unsigned long long *id,
			     struct CUgraph_st **graph, void *dependencies, void *edges,
			     size_t *count)
{
	uint64_t found = 0;
	int result = runtime_ready();

	(void)dependencies, (void)edges;
	if (result == cudaSuccess)
		result = DRIVER(cuStreamGetCaptureInfo_v3)(stream, status, &found, NULL, NULL, NULL,
							   NULL);
	if (result == cudaSuccess && id)
		*id = found;
	if (result == cudaSuccess && graph)
		*graph = NULL;
	if (result == cudaSuccess && count)
		*count = 0;
	return runtime_remember(result);
}

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
			struct CUstream_st *stream)
{
	struct CUctx_st *to_context = NULL, *from_context = NULL;
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = runtime_primary(to_device, &to_context);
	if (result == cudaSuccess)
		result = runtime_primary(from_device, &from_context);
	if (result == cudaSuccess)
		result = DRIVER(cuMemcpyPeerAsync)((uintptr_t)to, to_context, (uintptr_t)from,
						   from_context, bytes, stream);
	return runtime_remember(result);
}

int cudaGraphGetNodes(struct CUgraph_st *graph, void *nodes, size_t *count)
{
	(void)nodes;
	if (!graph || !count)
		return runtime_remember(cudaErrorInvalidValue);
	*count = 0;
	return cudaSuccess;
}

int cudaGraphInstantiate(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
			 unsigned long long flags)
{
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = DRIVER(cuGraphInstantiateWithFlags)(exec, graph, flags);
	return runtime_remember(result);
}

int cudaGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				  unsigned long long flags)
{
	return cudaGraphInstantiate(exec, graph, flags);
}

int cudaGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = DRIVER(cuGraphLaunch)(exec, stream);
	return runtime_remember(result);
}

int cudaGraphExecDestroy(struct CUgraphExec_st *exec)
{
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = DRIVER(cuGraphExecDestroy)(exec);
	return runtime_remember(result);
}
