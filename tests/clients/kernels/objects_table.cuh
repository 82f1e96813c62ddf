/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects_table.cuh - the table of objects.cu, with each lane's object, the kernels that fill,
 * empty and check it, and the host's check of all of it.
 *
 * The pattern of an object is its entry and its bytes, mixed, in its first and last eight bytes. It
 * shows objects that overlap, and memory that is freed twice and then allocated twice.
 */
#ifndef OBJECTS_TABLE_CUH
#define OBJECTS_TABLE_CUH

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

#include <mam/heap.cuh>

#ifndef CLIENT
#define CLIENT "objects"
#endif
#define THREADS 256
#ifndef SECONDS
#define SECONDS 60
#endif
#include "say.cuh"

typedef unsigned long long u64;

/* Shared by all kernels; the counters are in managed memory. */
struct table {
	unsigned char **at; /* per lane; NULL: no object */
	unsigned int *bytes;
	unsigned int lanes;
	u64 *vain; /* requests that returned NULL */
	u64 *bad;  /* errors, by enum wrong */
};

/* Errors. */
enum wrong {
	WRONG_USABLE,  /* fewer bytes than requested */
	WRONG_PATTERN, /* the object does not contain what the lane wrote */
	WRONG_FREE,    /* the lane's object could not be freed */
	WRONG_CLEAR,   /* a byte of mam_kcalloc() is not zero */
	WRONG_COPY,    /* mam_krealloc() did not copy everything */
	WRONG_LANES,   /* lanes do not see each other's writes to a shared object */
	WRONG_BLOCK,   /* threads of a block do not see each other's writes */
	WRONG_PART,    /* a part has the wrong address or size, or two lanes share it */
	WRONGS
};

static const char *const wrongs[WRONGS] = { "fewer bytes than requested",
					    "another's pattern",
					    "a free refused",
					    "not cleared",
					    "not copied",
					    "not shared by lanes",
					    "not shared by a block",
					    "not its part" };

static void same(u64 wanted, u64 got, const char *what)
{
	if (wanted != got)
		fail(1, "%s: %llu, expected %llu", what, got, wanted);
}

static struct mam_heap_info info_of(struct mam_heap *heap)
{
	struct mam_heap_info info = {};

	info.size = sizeof(info);
	check(mam_heap_stats(heap, NULL, &info), "mam_heap_stats");
	return info;
}

/* All requests that returned NULL for lack of room, for any reason. */
static u64 refusals_of(const struct mam_heap_info *info)
{
	return info->full + info->contended + info->at_limit + info->pool_full + info->silent +
	       info->no_slot + info->refused;
}

static void no_wrongs(const u64 *bad, const char *what)
{
	for (int i = 0; i < WRONGS; i++)
		if (bad[i])
			fail(1, "%s: %s, %llu times", what, wrongs[i], bad[i]);
}

/*
 * Larger heaps start with this size and grow to their full size; 0: they start with the full size.
 */
static size_t first_bytes;

static struct mam_heap *heap_of(struct mam_pool *pool, size_t bytes)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap;

	attr.bytes = bytes;
	if (first_bytes && first_bytes < bytes) {
		attr.bytes = first_bytes;
		attr.max_bytes = bytes;
	}
	check(mam_heap_create(pool, &attr, &heap), "mam_heap_create");
	return heap;
}

struct stage {
	struct mam_pool *pool;
	struct table table;
	cudaStream_t streams[4];
	size_t room; /* bytes that a heap may have */
};

static unsigned int blocks_of(unsigned int lanes)
{
	return (lanes + THREADS - 1) / THREADS;
}

__device__ static unsigned int mix(unsigned int a, unsigned int b)
{
	unsigned int x = a * 0x9e3779b9u + b * 0x85ebca6bu + 0x165667b1u;

	x = (x ^ x >> 15) * 0x2c1b3c6du;
	x = (x ^ x >> 12) * 0x297a2d39u;
	return x ^ x >> 15;
}

/* 1 B to 64 KiB; each power of two is equally likely. */
__device__ static unsigned int size_of(unsigned int random)
{
	unsigned int doubling = random % 17;

	return doubling == 16 ? 65536u : (1u << doubling) + (random >> 8) % (1u << doubling);
}

__device__ static unsigned char byte_of(unsigned int place, unsigned int bytes, unsigned int k)
{
	return (unsigned char)((mix(place, bytes) >> 8 * (k & 3)) + k);
}

__device__ static void write_object(unsigned char *at, unsigned int place, unsigned int bytes)
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

__device__ static void take(struct mam_kheap *heap, struct table table, unsigned int place,
			    unsigned int bytes)
{
	unsigned char *at = (unsigned char *)mam_kmalloc(heap, bytes);

	table.at[place] = at;
	table.bytes[place] = bytes;
	if (!at) {
		atomicAdd(table.vain, 1ull);
		return;
	}
	if (mam_kusable(heap, at) < bytes)
		wrong(table, WRONG_USABLE);
	write_object(at, place, bytes);
}

__device__ static void give(struct mam_kheap *heap, struct table table, unsigned int place)
{
	if (!is_written(table.at[place], place, table.bytes[place]))
		wrong(table, WRONG_PATTERN);
	if (!mam_kfree(heap, table.at[place]))
		wrong(table, WRONG_FREE);
	table.at[place] = NULL;
}

/* Each lane without an object allocates one; `bytes` 0: of a random size. */
__global__ void fill(struct mam_kheap *heap, struct table table, unsigned int seed,
		     unsigned int bytes, bool strays)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x, random = mix(place, seed);

	if (place >= table.lanes || table.at[place])
		return;
	if (strays)
		stray(random);
	take(heap, table, place, bytes ? bytes : size_of(random));
}

/* `of_8` in eight of the objects are freed, in another order than they were allocated. */
__global__ void drop(struct mam_kheap *heap, struct table table, unsigned int seed,
		     unsigned int of_8)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int place = (unsigned int)((u64)i * 1000003u % table.lanes);

	if (i < table.lanes && table.at[place] && mix(place, ~seed) % 8 < of_8)
		give(heap, table, place);
}

/* Every object is as it was written. */
__global__ void look(struct mam_kheap *heap, struct table table)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;

	if (place < table.lanes && table.at[place] &&
	    (!is_written(table.at[place], place, table.bytes[place]) ||
	     mam_kusable(heap, table.at[place]) < table.bytes[place]))
		wrong(table, WRONG_PATTERN);
}

/* Lanes allocate and free on their own, diverge, sleep, and skip rounds. */
__global__ void churn(struct mam_kheap *heap, struct table table, unsigned int first,
		      unsigned int rounds, unsigned int seed)
{
	unsigned int place = first + blockIdx.x * blockDim.x + threadIdx.x, random;

	if (place >= table.lanes)
		return;
	for (unsigned int round = 0; round < rounds; round++) {
		random = mix(place, seed + round);
		stray(random);
		if (table.at[place])
			give(heap, table, place);
		else if (random % 3)
			take(heap, table, place, size_of(mix(random, 7)) % 4096 + 1);
		stray(random >> 3);
	}
}

typedef std::vector<std::pair<u64, u64>> object_list; /* address and bytes */

struct visit {
	const object_list *objects;
	std::vector<bool> seen;
	size_t count;
};

/*
 * The object must be in the table, and not seen before. Objects of a heap that grows come in a
 * different order.
 */
static bool visit_object(void *argument, void *address, size_t bytes)
{
	struct visit *visit = (struct visit *)argument;
	std::pair<u64, u64> wanted((u64)(uintptr_t)address, 0);
	size_t i =
		(size_t)(std::lower_bound(visit->objects->begin(), visit->objects->end(), wanted) -
			 visit->objects->begin());

	if (i == visit->objects->size() || (*visit->objects)[i].first != wanted.first ||
	    (*visit->objects)[i].second > bytes || visit->seen[i])
		return false;
	visit->seen[i] = true;
	visit->count++;
	return true;
}

/*
 * The host's check of the table: objects do not overlap, are aligned, and are in the heap's
 * statistics; with `walk` mam_heap_walk() must visit each of them.
 */
static u64 compare(const struct stage *stage, struct mam_heap *heap, const char *what,
		   bool walk = false)
{
	const struct table *table = &stage->table;
	struct visit visit = {};
	std::vector<unsigned char *> all_at(table->lanes);
	std::vector<unsigned int> all_bytes(table->lanes);
	object_list objects;
	struct mam_heap_info info;
	u64 bytes = 0;

	check(cudaMemcpy(all_at.data(), table->at, table->lanes * sizeof(*table->at),
			 cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	check(cudaMemcpy(all_bytes.data(), table->bytes, table->lanes * sizeof(*table->bytes),
			 cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	for (unsigned int i = 0; i < table->lanes; i++) {
		u64 at = (u64)(uintptr_t)all_at[i], n = all_bytes[i];

		if (!at)
			continue;
		if (at % 16 || (n >= 16 && n <= 8192 && !(n & (n - 1)) && at % n))
			fail(1, "%s: %llu bytes are at 0x%llx", what, n, at);
		objects.push_back(std::make_pair(at, n));
		bytes += n;
	}
	std::sort(objects.begin(), objects.end());
	for (size_t i = 1; i < objects.size(); i++)
		if (objects[i - 1].first + objects[i - 1].second > objects[i].first)
			fail(1, "%s: 0x%llx with %llu bytes and 0x%llx overlap", what,
			     objects[i - 1].first, objects[i - 1].second, objects[i].first);
	info = info_of(heap);
	no_wrongs(table->bad, what);
	/* A large object is a block of the pool, and in no table. */
	same(objects.size(), info.objects - info.host_objects, what);
	if (info.object_bytes < bytes)
		fail(1, "%s: live bytes %llu, expected at least %llu", what, (u64)info.object_bytes,
		     bytes);
	same(0, info.double_frees + info.foreign_frees + info.interior_frees, what);
	visit.objects = &objects;
	visit.seen.resize(objects.size());
	if (walk)
		check(mam_heap_walk(heap, NULL, visit_object, &visit), "mam_heap_walk");
	same(walk ? objects.size() : 0, visit.count, "objects of a walk that are in the table");
	return objects.size();
}

static void empty_table(struct stage *stage)
{
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	check(cudaMemset(stage->table.at, 0, stage->table.lanes * sizeof(*stage->table.at)),
	      "cudaMemset");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	*stage->table.vain = 0;
	std::memset(stage->table.bad, 0, WRONGS * sizeof(*stage->table.bad));
}

static void run_churn(struct stage *stage, struct mam_heap *heap, unsigned int rounds,
		      unsigned int seed)
{
	struct mam_kheap *device = mam_heap_device(heap);
	unsigned int part = stage->table.lanes / 4 / THREADS * THREADS;

	for (unsigned int i = 0; i < 4; i++) {
		struct table table = stage->table;

		if (i < 3)
			table.lanes = (i + 1) * part;
		churn<<<blocks_of(table.lanes - i * part), THREADS, 0, stage->streams[i]>>>(
			device, table, i * part, rounds, seed);
	}
	for (unsigned int i = 0; i < 4; i++)
		finish(stage->streams[i], "a churn");
	look<<<blocks_of(stage->table.lanes), THREADS, 0, stage->streams[0]>>>(device,
									       stage->table);
	finish(stage->streams[0], "a look");
	compare(stage, heap, "after a churn");
}

static void empty_heap(struct stage *stage, struct mam_heap *heap)
{
	drop<<<blocks_of(stage->table.lanes), THREADS>>>(mam_heap_device(heap), stage->table, 0, 8);
	finish(NULL, "a drop");
	same(0, compare(stage, heap, "after a drop"), "objects left");
}

#endif
