/* SPDX-License-Identifier: Apache-2.0 */
/*
 * override.cu - a program whose kernels call malloc, free and new, and get memory from a heap.
 *
 * It stands for a program that was written for the toolkit's allocator: only the first include and
 * mam_kmalloc_use() were added. Built twice and linked, the second time with -DPART=2, it is a
 * program of two files (the first time with -DFILES=2). With -rdc=true these share the setting,
 * without it each file has its own.
 *
 *     nvcc -rdc=true -arch=native -I PREFIX/include -c -o one.o override.cu
 *     nvcc -rdc=true -arch=native -I PREFIX/include -DPART=2 -c -o two.o override.cu
 *     nvcc -rdc=true -arch=native -o override one.o two.o -L PREFIX/lib -lmam
 *
 * Prints "ok - PART" for each part, and "all is well" at the end, with status 0.
 */
#include <mam/kmalloc_override.cuh>

#include <cstdio>
#include <ctime>
#include <malloc.h>
#include <memory>
#include <unistd.h>
#include <vector>

#ifndef PART
#define PART 1
#endif
#define LANES 4096
#define SECONDS 30

/* Members with these names are not allocators. */
struct counter {
	int count;
	__host__ __device__ void free(int n)
	{
		count -= n;
	}
	__host__ __device__ int malloc(int n)
	{
		return count += n;
	}
};

struct shape {
	int sides;
	__host__ __device__ explicit shape(int n) : sides(n)
	{
	}
	__host__ __device__ virtual int corners() const
	{
		return sides;
	}
	__host__ __device__ virtual ~shape()
	{
	}
};

struct star : shape {
	__host__ __device__ explicit star(int n) : shape(n)
	{
	}
	__host__ __device__ int corners() const
	{
		return 2 * sides;
	}
};

/* The same code for host and device: libc's malloc on the host, the heap's on the device. */
__host__ __device__ static inline int *both(int value)
{
	int *at = (int *)std::malloc(sizeof(*at));

	if (at)
		*at = value;
	return at;
}

#ifdef __cpp_aligned_new
struct alignas(256) line {
	int words[64];
};
#endif

/* Without a heap: NULL, and nothing breaks. */
static __global__ void without(unsigned int *bad)
{
	int *at = (int *)malloc(4);

	free(at);
	if (at || calloc(1, 4) || realloc(NULL, 4) || new (std::nothrow_t{}) shape(3))
		atomicAdd(bad, 1);
}

static __global__ void with(unsigned int *bad, int **kept)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	struct counter counter = { 0 };
	shape *one = new star(i), *several;
	int *number = both(i), *zeros = (int *)calloc(5, sizeof(int));
	unsigned char *room = (unsigned char *)malloc(100);
	shape *placed = new (room) shape(7);

	counter.free(counter.malloc(3));
	if (counter.count || one->corners() != 2 * i || *number != i || placed->corners() != 7 ||
	    (void *)placed != (void *)room || zeros[4])
		atomicAdd(bad, 1);
	placed->~shape();
	room = (unsigned char *)realloc(room, 5000);
	if (!room || mam_kusable(mam_kmalloc_heap(), room) < 5000)
		atomicAdd(bad, 1);
	several = new shape[2]{ shape(i), shape(i + 1) };
	if (several[1].corners() != i + 1)
		atomicAdd(bad, 1);
	delete[] several;
	delete one;
	::free(number);
	std::free(zeros);
	free(room);
#ifdef __cpp_aligned_new
	line *aligned = new line;
	if ((size_t)aligned % alignof(line))
		atomicAdd(bad, 1);
	delete aligned;
#endif
	kept[i] = new int(i);
}

static __global__ void give(unsigned int *bad, int **kept)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (*kept[i] != i)
		atomicAdd(bad, 1);
	delete kept[i];
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	std::fflush(stdout);
	std::fprintf(stderr, "override: %s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
	_exit(1);
}

static void finish(unsigned int *bad, const char *what)
{
	std::time_t deadline = std::time(NULL) + SECONDS;
	cudaError_t result;

	while ((result = cudaStreamQuery(NULL)) == cudaErrorNotReady) {
		if (std::time(NULL) > deadline) {
			std::fprintf(stderr, "override: %s: not done after %d s\n", what, SECONDS);
			_exit(3);
		}
		usleep(100);
	}
	check(result == cudaSuccess && !*bad, what);
	std::printf("ok - %s in file %d\n", what, PART);
}

static unsigned long long live(struct mam_heap *heap)
{
	struct mam_heap_info info = {};

	info.size = sizeof(info);
	check(mam_heap_stats(heap, NULL, &info) == MAM_OK, "mam_heap_stats");
	check(!info.double_frees && !info.foreign_frees && !info.interior_frees, "no mistakes");
	return info.objects;
}

/* The work of one file; `shared`: another file has already set the heap. */
static void work(struct mam_heap *heap, bool shared, unsigned int *bad, int **kept)
{
	if (!shared) {
		without<<<1, 32>>>(bad);
		finish(bad, "no heap");
		check(mam_kmalloc_use(heap) == MAM_OK, "mam_kmalloc_use");
	}
	with<<<LANES / 128, 128>>>(bad, kept);
	finish(bad, "malloc and new");
	check(live(heap) == LANES, "objects live");
	give<<<LANES / 64, 64>>>(bad, kept);
	finish(bad, "delete in another kernel");
	check(live(heap) == 0, "no object is left");
}

void second(struct mam_heap *heap, bool shared, unsigned int *bad, int **kept);

#if PART == 2
void second(struct mam_heap *heap, bool shared, unsigned int *bad, int **kept)
{
	work(heap, shared, bad, kept);
}
#else
int main()
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	std::unique_ptr<shape> host(new star(4));
	std::vector<int> numbers(1000, 7);
	struct mam_heap *heap;
	unsigned int *bad;
	int **kept, *one = both(3);

	alarm(4 * SECONDS);
	check(host->corners() == 8 && numbers[999] == 7 && one && *one == 3 &&
		      malloc_usable_size(one) >= sizeof(*one),
	      "the host has its own malloc and new");
	std::free(one);
	std::printf("ok - the host has its own malloc and new\n");
	check(cudaMallocManaged(&bad, sizeof(*bad)) == cudaSuccess, "cudaMallocManaged");
	check(cudaMallocManaged(&kept, LANES * sizeof(*kept)) == cudaSuccess, "cudaMallocManaged");
	*bad = 0;
	attr.bytes = (size_t)256 << 20;
#ifdef MAM_KDEBUG
	attr.debug = 1;
#endif
	check(mam_heap_create(NULL, &attr, &heap) == MAM_OK, "mam_heap_create");
	work(heap, false, bad, kept);
#ifdef FILES
#ifdef __CUDACC_RDC__
	second(heap, true, bad, kept);
#else
	second(heap, false, bad, kept);
#endif
#endif
	check(mam_kmalloc_use(NULL) == MAM_OK, "mam_kmalloc_use(NULL)");
	without<<<1, 32>>>(bad);
	finish(bad, "no heap any more");
	check(mam_heap_destroy(heap) == MAM_OK, "mam_heap_destroy");
	check(cudaFree(bad) == cudaSuccess && cudaFree(kept) == cudaSuccess, "cudaFree");
	std::printf("all is well\n");
	return 0;
}
#endif
