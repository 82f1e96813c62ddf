/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_host.cuh - what the examples' programs for CUDA share on the host: calls that must go well, memory,
 * a heap for kernels, and the time of what a stream does.
 *
 * `program`, its name, is defined by who includes this.
 */
#ifndef EXAMPLES_CUDA_HOST_CUH
#define EXAMPLES_CUDA_HOST_CUH

#include <cstdio>
#include <cstdlib>

#include <mam/heap.cuh>

#define THREADS 256u

static inline void fail(const char *what, const char *why)
{
	std::fflush(stdout);
	std::fprintf(stderr, "%s: %s: %s\n", program, what, why);
	std::exit(1);
}

static inline void check(cudaError_t result, const char *what)
{
	if (result != cudaSuccess)
		fail(what, cudaGetErrorString(result));
}

static inline void check(enum mam_status status, const char *what)
{
	if (status != MAM_OK)
		fail(what, mam_strerror(status));
}

/* A copy on the device of `count` of what lies at `from`; NULL: anything. */
template <typename T> static inline T *on_device(const T *from, size_t count)
{
	void *memory;

	check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
	if (from)
		check(cudaMemcpy(memory, from, count * sizeof(T), cudaMemcpyHostToDevice),
		      "cudaMemcpy");
	return (T *)memory;
}

template <typename T> static inline void to_host(T *to, const T *from, size_t count)
{
	check(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

static inline void fill(void *memory, int byte, size_t bytes)
{
	check(cudaMemset(memory, byte, bytes), "cudaMemset");
}

static inline struct mam_heap *heap_of(size_t bytes)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap;

	attr.bytes = bytes;
	check(mam_heap_create(NULL, &attr, &heap), "mam_heap_create");
	return heap;
}

/* All that was taken from the heap was given back to it. */
static inline void end_heap(struct mam_heap *heap)
{
	struct mam_heap_info info = {};

	info.size = sizeof(info);
	check(mam_heap_stats(heap, NULL, &info), "mam_heap_stats");
	if (info.objects || info.double_frees || info.foreign_frees || info.interior_frees)
		fail("the heap", "objects are left in it, or some were given back wrongly");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
}

/* Blocks of a kernel: as many as there is work for, or as the device runs at a time. */
static inline unsigned int blocks_for(uint64_t work)
{
	int device, processors;
	uint64_t blocks = (work + THREADS - 1) / THREADS;

	check(cudaGetDevice(&device), "cudaGetDevice");
	check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
	      "cudaDeviceGetAttribute");
	if (blocks > (uint64_t)processors * 2048 / THREADS)
		blocks = (uint64_t)processors * 2048 / THREADS;
	return blocks ? (unsigned int)blocks : 1;
}

/* Milliseconds from begin() to end(), which waits. */
struct stopwatch {
	cudaEvent_t begun, done;
};

static inline void begin(struct stopwatch *watch)
{
	check(cudaEventCreate(&watch->begun), "cudaEventCreate");
	check(cudaEventCreate(&watch->done), "cudaEventCreate");
	check(cudaEventRecord(watch->begun), "cudaEventRecord");
}

static inline double end(struct stopwatch *watch, const char *what)
{
	float ms;

	check(cudaGetLastError(), what);
	check(cudaEventRecord(watch->done), what);
	check(cudaEventSynchronize(watch->done), what);
	check(cudaEventElapsedTime(&ms, watch->begun, watch->done), "cudaEventElapsedTime");
	check(cudaEventDestroy(watch->begun), "cudaEventDestroy");
	check(cudaEventDestroy(watch->done), "cudaEventDestroy");
	return ms;
}

#endif
