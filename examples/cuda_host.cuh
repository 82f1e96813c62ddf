/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_host.cuh - host code that the CUDA examples share: error checks, memory, a heap for kernels,
 * and timing of a stream.
 *
 * The including file defines `program`, its name.
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
	std::fprintf(stderr, "%s: error: %s: %s\n", program, what, why);
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

/* A device copy of the `count` elements at `from`; NULL: undefined contents. */
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

/* Checks that everything allocated from the heap was freed. */
static inline void end_heap(struct mam_heap *heap)
{
	struct mam_heap_info info = {};

	info.size = sizeof(info);
	check(mam_heap_stats(heap, NULL, &info), "mam_heap_stats");
	if (info.objects || info.double_frees || info.foreign_frees || info.interior_frees)
		fail("the heap", "it has leaked objects, or counted invalid frees");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
}

/* Blocks of a kernel: as many as the work needs, or as can be resident on the device. */
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

/* Milliseconds from begin() to end(), which waits for the stream. */
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
