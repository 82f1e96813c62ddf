/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc_kernels.cuh - the kernels of xmalloc.cu: lanes allocate, write, check and free in any
 * available way, and keep their memory in a table.
 *
 * The pattern of a part is its entry and its bytes, mixed, in its first and last eight bytes. It
 * shows parts that overlap, and memory that is freed twice and then allocated twice.
 */
#ifndef XMALLOC_KERNELS_CUH
#define XMALLOC_KERNELS_CUH

#include <mam/coalesce.cuh>
#include <mam/xmalloc.cuh>

#define THREADS 256
#define PUBLISHED MAM_WAYS /* one more way: xmcMalloc() and xmcFree() */

typedef unsigned long long u64;

/* Shared by all kernels; the counters are in managed memory. */
struct table {
	unsigned char **at; /* per lane; NULL: nothing */
	unsigned int *bytes;
	unsigned int lanes;
	u64 *vain; /* requests that returned NULL */
	u64 *bad;  /* errors, by enum wrong */
};

enum wrong { WRONG_PATTERN, WRONG_FREE, WRONGS };

/* The objects that a way uses. */
struct means {
	struct mam_kheap *heap; /* NULL over CUDA's malloc() */
	struct mam_buffers *buffers;
	struct mam_kmap *map;
};

__device__ static unsigned int mix(unsigned int a, unsigned int b)
{
	unsigned int x = a * 0x9e3779b9u + b * 0x85ebca6bu + 0x165667b1u;

	x = (x ^ x >> 15) * 0x2c1b3c6du;
	x = (x ^ x >> 12) * 0x297a2d39u;
	return x ^ x >> 15;
}

__device__ static unsigned char byte_of(unsigned int place, unsigned int bytes, unsigned int k)
{
	return (unsigned char)((mix(place, bytes) >> 8 * (k & 3)) + k);
}

__device__ static void write_part(unsigned char *at, unsigned int place, unsigned int bytes)
{
	for (unsigned int k = 0; k < bytes; k = k == 7 && bytes > 16 ? bytes - 8 : k + 1)
		at[k] = byte_of(place, bytes, k);
}

__device__ static bool is_written(const unsigned char *at, unsigned int place, unsigned int bytes)
{
	for (unsigned int k = 0; k < bytes; k = k == 7 && bytes > 16 ? bytes - 8 : k + 1)
		if (at[k] != byte_of(place, bytes, k))
			return false;
	return true;
}

__device__ static void wrong(struct table table, enum wrong what)
{
	atomicAdd(&table.bad[what], 1ull);
}

/* Some lanes take longer, so that a warp's lanes arrive in groups. */
__device__ static void stray(unsigned int random)
{
	if (random % 5 == 0)
		__nanosleep(random >> 8 & 511);
}

/*
 * A base of the program's own: mam_kmalloc() and mam_kfree(), once for all ways, to keep the
 * compilation short. The calls as published use mam_base_heap().
 */
#ifdef XMC_HEAP
__device__ static __noinline__ void *heap_alloc(void *heap, size_t bytes)
{
	return mam_kmalloc((struct mam_kheap *)heap, bytes);
}

__device__ static __noinline__ bool heap_free(void *heap, void *block)
{
	return mam_kfree((struct mam_kheap *)heap, block);
}
#endif

__device__ static struct mam_kbase base_of(struct mam_kheap *heap)
{
#ifdef XMC_HEAP
	struct mam_kbase base = { heap_alloc, heap_free, heap, 0 };

	return base;
#else
	(void)heap;
	return mam_base_cuda();
#endif
}

/* How many threads must call together. */
__host__ __device__ static unsigned int group_of(int way)
{
	return way == MAM_WAY_BLOCK || way == MAM_WAY_BLOCK_HEADERS ? THREADS
	       : way == MAM_WAY_WARP || way == MAM_WAY_WARP_HEADERS ? 32
								    : 1;
}

/* Threads that must call together request the same size. */
__device__ static unsigned int size_of(int way, unsigned int place, unsigned int seed)
{
	unsigned int random = mix(place / group_of(way), seed);

	return random % 16 ? 1 + (random >> 8) % 300 : 1 + (random >> 8) % 3000;
}

/* No thread needs to wait here if each may call alone. */
__device__ static void meet(int way, unsigned int random)
{
	if (group_of(way) == 1)
		stray(random);
	else
		__syncwarp();
}

template <enum mam_kway way> __device__ __noinline__ void *take_by(struct means means, size_t bytes)
{
	struct mam_kcoalescer c = { base_of(means.heap), means.buffers, means.map };

	return mam_way_alloc(way, c, bytes);
}

template <enum mam_kway way> __device__ __noinline__ bool give_by(struct means means, void *at)
{
	struct mam_kcoalescer c = { base_of(means.heap), means.buffers, means.map };

	return mam_way_free(way, c, at);
}

__device__ static __noinline__ void *get(size_t bytes)
{
	return xmcMalloc(bytes);
}

__device__ static __noinline__ bool put(void *at)
{
	return xmcFree(at);
}

/*
 * A way is a constant at its call. Each kernel contains all ways and selects one, to keep the
 * compilation short: functions called by kernels are compiled again for each kernel.
 */
__device__ static void *take(int way, struct means means, size_t bytes)
{
	switch (way) {
	case MAM_WAY_BASE: return take_by<MAM_WAY_BASE>(means, bytes);
	case MAM_WAY_XMALLOC: return take_by<MAM_WAY_XMALLOC>(means, bytes);
	case MAM_WAY_SEGMENTS: return take_by<MAM_WAY_SEGMENTS>(means, bytes);
	case MAM_WAY_WARP_HEADERS: return take_by<MAM_WAY_WARP_HEADERS>(means, bytes);
	case MAM_WAY_WARP: return take_by<MAM_WAY_WARP>(means, bytes);
	case MAM_WAY_BLOCK_HEADERS: return take_by<MAM_WAY_BLOCK_HEADERS>(means, bytes);
	case MAM_WAY_BLOCK: return take_by<MAM_WAY_BLOCK>(means, bytes);
	default: return get(bytes);
	}
}

__device__ static bool free_part(int way, struct means means, void *at)
{
	switch (way) {
	case MAM_WAY_BASE: return give_by<MAM_WAY_BASE>(means, at);
	case MAM_WAY_XMALLOC: return give_by<MAM_WAY_XMALLOC>(means, at);
	case MAM_WAY_SEGMENTS: return give_by<MAM_WAY_SEGMENTS>(means, at);
	case MAM_WAY_WARP_HEADERS: return give_by<MAM_WAY_WARP_HEADERS>(means, at);
	case MAM_WAY_WARP: return give_by<MAM_WAY_WARP>(means, at);
	case MAM_WAY_BLOCK_HEADERS: return give_by<MAM_WAY_BLOCK_HEADERS>(means, at);
	case MAM_WAY_BLOCK: return give_by<MAM_WAY_BLOCK>(means, at);
	default: return put(at);
	}
}

__device__ static void give(int way, struct means means, struct table table, unsigned char *at,
			    unsigned int place, unsigned int bytes)
{
	if (!is_written(at, place, bytes))
		wrong(table, WRONG_PATTERN);
	if (!free_part(way, means, at))
		wrong(table, WRONG_FREE);
}

/* Allocates, writes, checks and frees, all in one kernel. */
__global__ void within(int way, struct means means, struct table table, unsigned int seed,
		       unsigned int rounds)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;

	for (unsigned int round = 0; round < rounds; round++) {
		unsigned int random = mix(place, seed + round);
		unsigned int bytes = size_of(way, place, seed + round);
		unsigned char *at;

		meet(way, random);
		at = (unsigned char *)take(way, means, bytes);
		if (!at) {
			atomicAdd(table.vain, 1ull);
			continue;
		}
		write_part(at, place, bytes);
		stray(random >> 3);
		give(way, means, table, at, place, bytes);
	}
}

/*
 * Each lane without memory allocates some, and keeps it. If all must call together, all entries
 * must be empty.
 */
__global__ void fill(int way, struct means means, struct table table, unsigned int seed)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int bytes = size_of(way, place, seed);
	unsigned char *at;

	if (group_of(way) == 1 && (table.at[place] || mix(place, seed) % 32 == 0))
		return;
	meet(way, mix(place, seed + 1));
	at = (unsigned char *)take(way, means, bytes);
	table.at[place] = at;
	table.bytes[place] = bytes;
	if (at)
		write_part(at, place, bytes);
	else
		atomicAdd(table.vain, 1ull);
}

/* `of_8` in eight of the parts are freed by other lanes, in another order. */
__global__ void drop(int way, struct means means, struct table table, unsigned int seed,
		     unsigned int of_8)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int place = (unsigned int)((u64)i * 1000003u % table.lanes);

	if (!table.at[place] || mix(place, ~seed) % 8 >= of_8)
		return;
	stray(mix(i, seed));
	give(way, means, table, table.at[place], place, table.bytes[place]);
	table.at[place] = NULL;
}

__global__ void look(struct table table)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;

	if (table.at[place] && !is_written(table.at[place], place, table.bytes[place]))
		wrong(table, WRONG_PATTERN);
}

/* Lanes allocate and free on their own, diverge, sleep, and skip rounds. */
__global__ void churn(int way, struct means means, struct table table, unsigned int first,
		      unsigned int rounds, unsigned int seed)
{
	unsigned int place = first + blockIdx.x * blockDim.x + threadIdx.x;

	for (unsigned int round = 0; round < rounds; round++) {
		unsigned int random = mix(place, seed + round);

		stray(random);
		if (table.at[place]) {
			give(way, means, table, table.at[place], place, table.bytes[place]);
			table.at[place] = NULL;
		} else if (random % 3) {
			table.bytes[place] = size_of(way, place, random);
			table.at[place] = (unsigned char *)take(way, means, table.bytes[place]);
			if (table.at[place])
				write_part(table.at[place], place, table.bytes[place]);
			else
				atomicAdd(table.vain, 1ull);
		}
		stray(random >> 3);
	}
}

__global__ void drain(struct means means)
{
	(void)mam_buffers_drain(means.buffers, base_of(means.heap));
}

__global__ void format_buffers(struct means means, unsigned int count, unsigned int blocks)
{
	uint64_t half = (uint64_t)32 << 30;
	void *block = mam_base_alloc(base_of(means.heap), 16);

	mam_buffers_format(means.buffers, count, blocks, (uint64_t)(uintptr_t)block - half);
	(void)mam_base_free(base_of(means.heap), block);
}

__global__ void format_map(struct means means, unsigned int entries)
{
	mam_map_format(means.map, entries);
}

__global__ void before_init(u64 *results)
{
	results[0] = get(100) != NULL;
	results[1] = put(results);
}

/* A warp: the first lane keeps its part while the others make errors. */
__global__ void mistakes(u64 *results)
{
	unsigned char *own, *large;
	bool all;

	__syncwarp();
	own = (unsigned char *)get(40);
	large = (unsigned char *)get(10000);
	for (unsigned int i = 0; own && large && i < 40; i++)
		own[i] = large[i] = 1;
	all = own && large;
	all = all && !get(0) && !get((size_t)-1) && put(NULL);
	all = all && !put(own + 8) && !put(own + 16) && !put(large + 32);
	results[threadIdx.x] = all;
	__syncwarp();
	if (threadIdx.x)
		all = put(own) && !put(own);
	__syncwarp();
	if (!threadIdx.x)
		all = put(own);
	results[threadIdx.x] += 2 * all + 4 * put(large);
}

#endif
