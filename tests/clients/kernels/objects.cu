/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.cu - a heap of objects under load: no two of a million lanes get the same memory.
 *
 * Each lane has an entry in a table for an object: its address, its bytes, and in its first and
 * last eight bytes a pattern made of the entry and the bytes. Kernels fill the table, free some of
 * it, and fill it again, with sizes from 1 B to 64 KiB; lanes of a warp diverge and sleep in
 * between. Between kernels the host checks that no two objects overlap, that each is aligned, and
 * that the heap's statistics match the table. Further parts test heaps that are too small, lanes
 * that allocate while others free, several kernels at once, shared objects, calloc and realloc, and
 * invalid calls.
 *
 *     nvcc -arch=native -I PREFIX/include -o objects objects.cu -L PREFIX/lib -lmam
 *     ./objects [--lanes N] [--seconds N] [--part mistakes|forms|host|full|churn|mixed] [--first N]
 *
 * Prints "ok - PART: ..." for each part, and "all is well" at the end, with status 0. With
 * --seconds it continues that long with random work, and verifies all of it. With --first, heaps
 * larger than N MiB start with N MiB and grow. A kernel that does not finish within a minute ends
 * the program with status 3.
 */
#include "objects_table.cuh"

/* All lanes at once, then some free and others fill, in different streams. */
static void make_mixed(struct stage *stage)
{
	struct mam_heap *heap = heap_of(stage->pool, stage->room);
	struct mam_kheap *device = mam_heap_device(heap);
	unsigned int grid = blocks_of(stage->table.lanes);
	u64 first, live = 0;

	empty_table(stage);
	fill<<<grid, THREADS, 0, stage->streams[0]>>>(device, stage->table, 1, 0, false);
	finish(stage->streams[0], "a fill");
	first = compare(stage, heap, "a fill", true);
	if (first * 100 < (u64)stage->table.lanes * 95)
		fail(1, "in a heap twice as large as needed only %llu lanes got an object", first);
	for (unsigned int round = 0; round < 6; round++) {
		cudaStream_t one = stage->streams[round % 4], two = stage->streams[(round + 1) % 4];

		drop<<<grid, THREADS, 0, one>>>(device, stage->table, round, 1 + round);
		finish(one, "a drop");
		compare(stage, heap, "after a drop");
		/* Lanes without an object try again. */
		*stage->table.vain = 0;
		fill<<<grid, THREADS, 0, two>>>(device, stage->table, 100 + round, 0, round % 2);
		finish(two, "a second fill");
		look<<<grid, THREADS, 0, two>>>(device, stage->table);
		finish(two, "a look");
		live = compare(stage, heap, "after a second fill", round == 5);
	}
	same(stage->table.lanes, live + *stage->table.vain, "failures in the counts");
	drop<<<grid, THREADS, 0, stage->streams[3]>>>(device, stage->table, 0, 8);
	finish(stage->streams[3], "the last drop");
	same(0, compare(stage, heap, "after the last drop"), "objects left");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("ok - mixed: %llu objects of 1 B to 64 KiB, 6 rounds in 4 streams, %llu failed "
		    "requests\n",
		    first, *stage->table.vain);
}

/*
 * A heap that is too small is filled with one size after another: all freed memory can be allocated
 * again. Objects that take whole units are placed in an arbitrary order, with gaps between them. So
 * fewer than before may fit, but no request may return NULL while a gap is long enough.
 */
static void make_full(struct stage *stage)
{
	static const unsigned int sizes[] = { 256, 16, 1050, 8192, 4100, 64, 65536, 9000, 48 };
	/* A heap that grows does not use a remainder that is smaller than a grant. */
	size_t whole = first_bytes ? 60 : 80;
	size_t room =
		std::min<size_t>(stage->room, (size_t)stage->table.lanes * 40 + 4 * first_bytes);
	struct mam_heap *heap = heap_of(stage->pool, room);
	struct mam_kheap *device = mam_heap_device(heap);
	unsigned int grid = blocks_of(stage->table.lanes);
	unsigned int parts = 0;

	empty_table(stage);
	for (unsigned int size : sizes) {
		u64 got[2];

		for (unsigned int again = 0; again < 2; again++) {
			struct mam_heap_info before = info_of(heap), after;

			*stage->table.vain = 0;
			fill<<<grid, THREADS, 0, stage->streams[again]>>>(device, stage->table,
									  size, size, again);
			finish(stage->streams[again], "a fill too large");
			got[again] = compare(stage, heap, "after a fill too large");
			after = info_of(heap);
			same(stage->table.lanes, got[again] + *stage->table.vain,
			     "failures in the counts");
			same(*stage->table.vain, refusals_of(&after) - refusals_of(&before),
			     "failures in the counts");
			if (size > 8192 && *stage->table.vain &&
			    after.longest_free * after.page_bytes >= size)
				fail(1, "%u bytes: NULL, although %llu adjacent pages are free",
				     size, (u64)after.longest_free);
			drop<<<grid, THREADS, 0, stage->streams[2]>>>(device, stage->table, 0, 8);
			finish(stage->streams[2], "a drop");
			same(0, compare(stage, heap, "after a drop"), "objects left");
		}
		if (got[0] < stage->table.lanes && size <= 8192 && got[1] * 100 < got[0] * 99)
			fail(1, "%u bytes: %llu the first time and %llu the second time", size,
			     got[0], got[1]);
		if (got[0] < stage->table.lanes && size <= 8192 &&
		    got[0] * size * 100 < room * whole)
			fail(1, "%u bytes: only %llu lanes got one, of %zu bytes", size, got[0],
			     room);
		parts++;
	}
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("ok - full: %u sizes, each until the heap is full, twice\n", parts);
}

/*
 * Four kernels at once: with room for all objects, and with room for some, so that each request
 * searches.
 */
static void make_churn(struct stage *stage)
{
	size_t all = std::max<size_t>((size_t)stage->table.lanes * 2048, 32 << 20);

	for (unsigned int share = 1; share <= 16; share *= 4) {
		struct mam_heap *heap = heap_of(stage->pool, all / share);

		empty_table(stage);
		for (unsigned int round = 0; round < 3; round++)
			run_churn(stage, heap, share == 1 ? 12 : 4, 1000 * share + 100 * round);
		if (share == 1)
			same(0, *stage->table.vain, "failed requests with room for all");
		empty_heap(stage, heap);
		std::printf("ok - churn: four kernels at once in a heap of %zu MiB, %llu failed "
			    "requests\n",
			    (all / share) >> 20, *stage->table.vain);
		check(mam_heap_destroy(heap), "mam_heap_destroy");
	}
}

/* One object per block of threads. */
__global__ void share_block(struct mam_kheap *heap, struct table table)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;

	for (unsigned int round = 1; round < 4; round++) {
		unsigned int *all =
			(unsigned int *)mam_kmalloc_shared_block(heap, THREADS * 4 * round);

		if (all)
			all[threadIdx.x] = place * round;
		stray(mix(place, round));
		__syncthreads();
		if (all && all[THREADS - 1 - threadIdx.x] !=
				   (place - threadIdx.x + THREADS - 1 - threadIdx.x) * round)
			wrong(table, WRONG_BLOCK);
		if (!mam_kfree_shared_block(heap, all))
			wrong(table, WRONG_FREE);
	}
}

/* One object for every third lane, and at the same time others for the rest. */
__global__ void share_lanes(struct mam_kheap *heap, struct table table)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	unsigned int mask = lane % 3 ? 0xb6db6db6u : 0x49249249u, next = lane;

	do
		next = (next + 1) % 32;
	while (!(mask >> next & 1));
	for (unsigned int round = 0; round < 4; round++) {
		unsigned int *part =
			(unsigned int *)mam_kmalloc_shared_lanes(heap, mask, 128 << round);

		stray(mix(place, round));
		if (part)
			part[lane] = place ^ round;
		__syncwarp(mask);
		if (part && part[next] != ((place - lane + next) ^ round))
			wrong(table, WRONG_LANES);
		if (!mam_kfree_shared_lanes(heap, mask, part))
			wrong(table, WRONG_FREE);
	}
}

/* Lanes that happen to be active together; lanes with the same address share an object. */
__global__ void share_warp(struct mam_kheap *heap, struct table table)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;

	for (unsigned int round = 0; round < 4; round++) {
		unsigned int *part, group;

		stray(mix(place, round));
		part = (unsigned int *)mam_kmalloc_shared_warp(heap, 128);
		if (part)
			part[lane] = place;
		__syncwarp();
		group = __match_any_sync(0xffffffffu, (u64)(uintptr_t)part);
		for (unsigned int other = 0; part && other < 32; other++)
			if (group >> other & 1 && part[other] != place - lane + other)
				wrong(table, WRONG_LANES);
		__syncwarp();
		if (!mam_kfree_shared_lanes(heap, 0xffffffffu, part))
			wrong(table, WRONG_FREE);
	}
}

__global__ void resize(struct mam_kheap *heap, struct table table)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int random = mix(place, 5), bytes = size_of(random) % 3000 + 1;
	unsigned char *own = (unsigned char *)mam_kcalloc(heap, bytes, 1);

	for (unsigned int k = 0; own && k < bytes; k++)
		if (own[k])
			wrong(table, WRONG_CLEAR);
	if (!own)
		atomicAdd(table.vain, 1ull);
	for (unsigned int step = 0; own && step < 6; step++) {
		unsigned int next = size_of(mix(random, step)) % 6000 + 1;
		unsigned char *moved;

		write_object(own, place, bytes);
		stray(mix(random, step));
		moved = (unsigned char *)mam_krealloc(heap, own, next);
		if (!moved) {
			atomicAdd(table.vain, 1ull);
			if (!is_written(own, place, bytes))
				wrong(table, WRONG_COPY);
			continue;
		}
		own = moved;
		if (mam_kusable(heap, own) < next)
			wrong(table, WRONG_USABLE);
		for (unsigned int k = 0; k < 8 && k < next && k < bytes; k++)
			if (own[k] != byte_of(place, bytes, k))
				wrong(table, WRONG_COPY);
		if (next >= bytes && !is_written(own, place, bytes))
			wrong(table, WRONG_COPY);
		bytes = next;
	}
	if (own && mam_krealloc(heap, own, 0))
		wrong(table, WRONG_FREE);
}

/* Whether `part` follows the parts of the lanes of `mask` before this one. */
__device__ static bool behind(unsigned int mask, const unsigned char *part, unsigned int bytes)
{
	unsigned int lane = threadIdx.x % 32, before = 0;
	u64 first = __shfl_sync(mask, (u64)(uintptr_t)part, __ffs(mask) - 1);

	for (unsigned int other = 0; other < 32; other++)
		if (mask >> other & 1) {
			unsigned int wants = __shfl_sync(mask, bytes, other);

			before += other < lane ? wants : 0;
		}
	return (u64)(uintptr_t)part == first + before && first % 16 == 0;
}

/*
 * Parts for every third lane, and for the rest. The next of these lanes frees the part, sometimes
 * late.
 */
__global__ void part_lanes(struct mam_kheap *heap, struct table table)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	unsigned int mask = lane % 3 ? 0xb6db6db6u : 0x49249249u, next = lane;

	do
		next = (next + 1) % 32;
	while (!(mask >> next & 1));
	for (unsigned int round = 0; round < 6; round++) {
		unsigned int bytes = round % 2 ? 4 << round : size_of(mix(place, round)) % 700 + 1;
		unsigned char *part = (unsigned char *)mam_kmalloc_lanes(heap, mask, bytes);
		unsigned char *other;

		if (__any_sync(mask, part == NULL)) {
			if (part)
				wrong(table, WRONG_PART);
			atomicAdd(table.vain, 1ull);
			continue;
		}
		if (!behind(mask, part, bytes) || mam_kusable(heap, part) != bytes)
			wrong(table, WRONG_PART);
		write_object(part, place, bytes);
		stray(mix(place, round));
		__syncwarp(mask);
		other = (unsigned char *)(uintptr_t)__shfl_sync(mask, (u64)(uintptr_t)part, next);
		bytes = __shfl_sync(mask, bytes, next);
		if (!is_written(other, place - lane + next, bytes))
			wrong(table, WRONG_PART);
		if (round % 3)
			stray(mix(place, ~round));
		if (!mam_kfree(heap, other))
			wrong(table, WRONG_FREE);
	}
}

/*
 * Each thread keeps a part of an object that its warp, or its block, allocated. In every fifth
 * block, threads with an odd number get none.
 */
__global__ void part_keep(struct mam_kheap *heap, struct table table, bool block, unsigned int seed)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x, random = mix(place, seed);
	unsigned int bytes = blockIdx.x % 2 ? size_of(random) % 300 + 1 : 24;
	unsigned char *part;

	if (blockIdx.x % 5 == 4 && threadIdx.x % 2)
		bytes = 0;
	part = (unsigned char *)(block ? mam_kmalloc_block(heap, bytes)
				       : mam_kmalloc_lanes(heap, 0xffffffffu, bytes));
	table.at[place] = part;
	table.bytes[place] = bytes;
	if (!bytes && part)
		wrong(table, WRONG_PART);
	if (bytes && !part)
		atomicAdd(table.vain, 1ull);
	if (!part)
		return;
	if (mam_kusable(heap, part) != bytes)
		wrong(table, WRONG_PART);
	write_object(part, place, bytes);
}

/*
 * One thread of each group that allocated together (a warp or a block) frees all its parts at once.
 */
__global__ void part_all(struct mam_kheap *heap, struct table table, unsigned int together)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;

	if (place % together == 2 && table.at[place] && !mam_kfree_parts(heap, table.at[place]))
		wrong(table, WRONG_FREE);
	table.at[place] = NULL;
}

/* In a three-dimensional block the threads are in the order of lanes. */
__global__ void part_cube(struct mam_kheap *heap, struct table table)
{
	unsigned int i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
	unsigned char *part = (unsigned char *)mam_kmalloc_block(heap, 4 + i % 3 * 4);
	__shared__ unsigned char *at[96];

	at[i] = part;
	__syncthreads();
	if (!part || (i && part != at[i - 1] + 4 + (i - 1) % 3 * 4))
		wrong(table, WRONG_PART);
	__syncthreads();
	if (!mam_kfree(heap, at[95 - i]))
		wrong(table, WRONG_FREE);
}

/*
 * Parts that outlive their kernel: freed one by one in another order, among objects; or all at
 * once.
 */
static void make_parts(struct stage *stage, struct mam_heap *heap, bool block)
{
	struct mam_kheap *device = mam_heap_device(heap);
	unsigned int grid = stage->table.lanes / THREADS;
	u64 vain = 0;

	part_cube<<<20, dim3(8, 4, 3)>>>(device, stage->table);
	finish(NULL, "parts of a cube");
	for (unsigned int round = 0; round < 4; round++) {
		struct mam_heap_info info;

		empty_table(stage);
		part_keep<<<grid, THREADS>>>(device, stage->table, block, round);
		finish(NULL, "parts");
		look<<<grid, THREADS>>>(device, stage->table);
		finish(NULL, "a check of parts");
		vain += *stage->table.vain;
		info = info_of(heap);
		if (!*stage->table.vain)
			same((u64)grid * (block ? 1 : THREADS / 32), info.objects,
			     "objects of all parts");
		if (round % 2) {
			part_all<<<grid, THREADS>>>(device, stage->table, block ? THREADS : 32);
		} else {
			drop<<<blocks_of(stage->table.lanes), THREADS>>>(device, stage->table,
									 round, 3);
			fill<<<grid, THREADS>>>(device, stage->table, 7 + round, 64, true);
			look<<<grid, THREADS>>>(device, stage->table);
			drop<<<blocks_of(stage->table.lanes), THREADS>>>(device, stage->table,
									 round, 8);
		}
		finish(NULL, "parts freed");
		no_wrongs(stage->table.bad, block ? "parts of blocks" : "parts of warps");
		info = info_of(heap);
		same(0, info.objects, "objects after their parts");
		same(0, info.double_frees + info.foreign_frees + info.interior_frees,
		     "errors with parts");
	}
	std::printf("ok - forms: parts of %s in later kernels, %llu failed requests\n",
		    block ? "blocks" : "warps", vain);
}

static void make_forms(struct stage *stage)
{
	static const struct {
		const char *name;
		void (*kernel)(struct mam_kheap *heap, struct table table);
	} forms[] = { { "block", share_block },
		      { "lanes", share_lanes },
		      { "warp", share_warp },
		      { "parts", part_lanes },
		      { "calloc and realloc", resize } };
	struct mam_heap *heap = heap_of(stage->pool, stage->room);
	struct mam_heap_info info;

	for (const auto &form : forms) {
		empty_table(stage);
		form.kernel<<<stage->table.lanes / THREADS, THREADS>>>(mam_heap_device(heap),
								       stage->table);
		finish(NULL, form.name);
		no_wrongs(stage->table.bad, form.name);
		info = info_of(heap);
		same(0, info.objects, form.name);
		same(0, info.double_frees + info.foreign_frees + info.interior_frees, form.name);
		std::printf("ok - forms: %s, %llu failed requests\n", form.name,
			    *stage->table.vain);
	}
	make_parts(stage, heap, false);
	make_parts(stage, heap, true);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
}

__global__ void drain(struct mam_kheap *heap)
{
	mam_kdrain(heap);
}

/* The host frees every second object, while a kernel in another stream allocates. */
static void make_host(struct stage *stage)
{
	struct mam_heap *heap = heap_of(stage->pool, stage->room);
	struct mam_kheap *device = mam_heap_device(heap);
	unsigned int lanes = stage->table.lanes, few = std::min(lanes, 65536u);
	std::vector<unsigned char *> all(few), gone;
	size_t given = 0, taken;

	empty_table(stage);
	stage->table.lanes = few;
	fill<<<blocks_of(few), THREADS>>>(device, stage->table, 3, 0, true);
	finish(NULL, "a fill");
	check(cudaMemcpy(all.data(), stage->table.at, few * sizeof(all[0]), cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	for (unsigned int i = 0; i < few; i += 2) {
		gone.push_back(all[i]);
		all[i] = NULL;
	}
	check(cudaMemcpy(stage->table.at, all.data(), few * sizeof(all[0]), cudaMemcpyHostToDevice),
	      "cudaMemcpy");
	while (given < gone.size()) {
		enum mam_status status =
			mam_heap_free(heap, stage->streams[1], (void *const *)&gone[given],
				      std::min<size_t>(gone.size() - given, 1500), &taken);

		if (status != MAM_OK && status != MAM_ERROR_WOULD_WAIT)
			check(status, "mam_heap_free");
		given += taken;
		if (status == MAM_ERROR_WOULD_WAIT)
			drain<<<4, 64, 0, stage->streams[0]>>>(device);
	}
	fill<<<blocks_of(few), THREADS, 0, stage->streams[0]>>>(device, stage->table, 4, 0, true);
	drain<<<4, 64, 0, stage->streams[0]>>>(device);
	finish(stage->streams[0], "a drain");
	compare(stage, heap, "after frees by the host", true);
	empty_heap(stage, heap);
	stage->table.lanes = lanes;
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("ok - host: freed %zu objects\n", gone.size());
}

__global__ void mistakes(struct mam_kheap *heap, struct mam_kheap *pages, struct mam_kheap *other,
			 void *host, u64 *results)
{
	char *object = (char *)mam_kmalloc(heap, 100), *large = (char *)mam_kmalloc(heap, 20000);
	char *foreign = (char *)mam_kmalloc(other, 100);

	*results++ = object && large && foreign;
	*results++ = mam_kfree(heap, NULL);
	*results++ = mam_kfree(heap, object + 1);
	*results++ = mam_kfree(heap, object + 16);
	*results++ = mam_kfree(heap, large + 16);
	*results++ = mam_kfree(heap, large + 1024);
	*results++ = mam_kfree(heap, foreign);
	*results++ = mam_kfree(heap, host);
	*results++ = mam_kfree(heap, results);
	*results++ = mam_krealloc(heap, foreign, 10) != NULL;
	*results++ = mam_kusable(heap, foreign) + mam_kusable(heap, object + 1);
	*results++ = mam_kfree(heap, object);
	*results++ = mam_kfree(heap, object);
	*results++ = mam_kusable(heap, object);
	*results++ = mam_kfree(heap, large);
	*results++ = mam_kfree(heap, large);
	*results++ = mam_kmalloc(heap, 0) != NULL;
	*results++ = mam_kcalloc(heap, 0, 7) != NULL;
	*results++ = mam_kmalloc(heap, (size_t)1 << 50) != NULL;
	*results++ = mam_kcalloc(heap, (size_t)1 << 33, (size_t)1 << 33) != NULL;
	*results++ = mam_kmalloc(pages, 10) != NULL;
	*results++ = mam_kfree(pages, object);
	*results++ = mam_kmalloc(NULL, 10) != NULL;
	*results++ = mam_kfree(NULL, object);
	*results++ = mam_kfree(other, foreign);
}

static void make_mistakes(struct stage *stage)
{
	static const unsigned char wanted[] = { 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
						0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
	struct mam_heap *heap = heap_of(stage->pool, 1 << 20), *other = heap_of(stage->pool, 1);
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *pages;
	struct mam_heap_info info;
	u64 *results = NULL;
	int host;

	attr.bytes = 1 << 20;
	attr.kind = MAM_HEAP_PAGES;
	check(mam_heap_create(stage->pool, &attr, &pages), "mam_heap_create");
	check(cudaMallocManaged(&results, sizeof(wanted) * sizeof(*results)), "memory");
	mistakes<<<1, 1>>>(mam_heap_device(heap), mam_heap_device(pages), mam_heap_device(other),
			   &host, results);
	finish(NULL, "mistakes");
	for (size_t i = 0; i < sizeof(wanted); i++)
		if (results[i] != wanted[i])
			fail(1, "result of invalid call %zu: %llu", i, results[i]);
	info = info_of(heap);
	same(0, info.objects, "objects left after invalid calls");
	same(4, info.interior_frees, "frees inside an object");
	same(0, info_of(pages).taken, "pages allocated by object calls");
	same(2, info_of(pages).wrong_heaps, "calls for objects on a heap of pages");
	same(2, info.zero_sizes, "requests for 0 bytes");
	same(2, info.bad_sizes, "requests that are too large");
	same(1, info.double_frees, "double frees");
	same(10, info.interior_frees + info.foreign_frees + info.double_frees, "mistakes counted");
	same(0, info_of(other).foreign_frees, "errors counted in the other heap");
	check(cudaFree(results), "cudaFree");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(mam_heap_destroy(other), "mam_heap_destroy");
	check(mam_heap_destroy(pages), "mam_heap_destroy");
	std::printf("ok - mistakes: counted\n");
}

/* Random work until the time is over. */
static void make_long(struct stage *stage, int seconds)
{
	size_t room = std::max<size_t>((size_t)stage->table.lanes * 1024, 32 << 20);
	struct mam_heap *heap = heap_of(stage->pool, room);
	std::time_t end = std::time(NULL) + seconds;
	unsigned int rounds = 0;

	empty_table(stage);
	while (std::time(NULL) < end) {
		run_churn(stage, heap, 8 + rounds % 17, 7919 * rounds);
		if (rounds % 8 == 7)
			empty_heap(stage, heap);
		if (first_bytes && rounds % 4 == 3)
			check(mam_heap_trim(heap, NULL, NULL), "mam_heap_trim");
		rounds++;
	}
	empty_heap(stage, heap);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("ok - long: %d s, %u rounds, %llu failed requests\n", seconds, rounds,
		    *stage->table.vain);
}

static const struct {
	const char *name;
	void (*make)(struct stage *stage);
} parts[] = { { "mistakes", make_mistakes }, { "forms", make_forms }, { "host", make_host },
	      { "full", make_full },         { "churn", make_churn }, { "mixed", make_mixed } };

int main(int argument_count, char **arguments)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct stage stage = {};
	size_t free_bytes, all_bytes;
	const char *part = NULL;
	int seconds = 0;

	stage.table.lanes = 1u << 20;
	for (int i = 1; i + 1 < argument_count; i += 2) {
		if (!std::strcmp(arguments[i], "--lanes"))
			stage.table.lanes = (unsigned int)std::atoi(arguments[i + 1]);
		else if (!std::strcmp(arguments[i], "--seconds"))
			seconds = std::atoi(arguments[i + 1]);
		else if (!std::strcmp(arguments[i], "--part"))
			part = arguments[i + 1];
		else if (!std::strcmp(arguments[i], "--first"))
			first_bytes = (size_t)std::atoi(arguments[i + 1]) << 20;
		else
			fail(2,
			     "unknown option %s; use --lanes N, --seconds N, --part NAME or "
			     "--first N",
			     arguments[i]);
	}
	if (stage.table.lanes < 4 * THREADS)
		fail(2, "--lanes must be at least %d", 4 * THREADS);
	alarm((unsigned int)(4 * SECONDS + seconds));
	check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
	stage.room = std::min<size_t>((size_t)stage.table.lanes * 20480, free_bytes / 4 * 3);
	check(cudaMalloc(&stage.table.at, stage.table.lanes * sizeof(*stage.table.at)), "memory");
	check(cudaMalloc(&stage.table.bytes, stage.table.lanes * sizeof(*stage.table.bytes)),
	      "memory");
	check(cudaMallocManaged(&stage.table.vain, (1 + WRONGS) * sizeof(*stage.table.vain)),
	      "memory");
	stage.table.bad = stage.table.vain + 1;
	for (cudaStream_t &stream : stage.streams)
		check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
		      "cudaStreamCreate");
	std::setvbuf(stdout, NULL, _IOLBF, 0);
	attr.name = "objects";
	check(mam_pool_create(&attr, &stage.pool), "mam_pool_create");

	for (const auto &one : parts)
		if (!part || !std::strcmp(part, one.name)) {
			auto begin = std::chrono::steady_clock::now();

			one.make(&stage);
			std::printf("   %.2f s\n", std::chrono::duration<double>(
							   std::chrono::steady_clock::now() - begin)
							   .count());
		}
	if (seconds > 0)
		make_long(&stage, seconds);
	check(mam_pool_destroy(stage.pool), "mam_pool_destroy");
	for (cudaStream_t stream : stage.streams)
		check(cudaStreamDestroy(stream), "cudaStreamDestroy");
	check(cudaFree(stage.table.vain), "cudaFree");
	check(cudaFree(stage.table.bytes), "cudaFree");
	check(cudaFree(stage.table.at), "cudaFree");
	std::printf("all is well\n");
	return 0;
}
