/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.cu - a heap of objects under load: what a million lanes get from it is theirs alone.
 *
 * Each lane has a place in a table where it keeps an object: its address, its bytes, and in its
 * first and last eight bytes a pattern made of the place and the bytes. Kernels fill the table,
 * free some of it, and fill it again, with sizes from 1 B to 64 KiB; lanes of a warp part and sleep
 * on the way. Between kernels the host looks: no two objects overlap, each is aligned, and the
 * heap's statistics say what the table says. Then come heaps that are too small, lanes that
 * allocate and free while others do, several kernels at once, what lanes share, calloc and realloc,
 * and mistakes.
 *
 *     nvcc -arch=native -I PREFIX/include -o objects objects.cu -L PREFIX/lib -lmam
 *     ./objects [--lanes N] [--seconds N] [--part mistakes|forms|host|full|churn|mixed] [--first N]
 *
 * Prints "ok - PART: ..." for each part, and "all is well" at the end, with status 0. With
 * --seconds it goes on for so long with random work, and verifies it all. With --first heaps that are
 * larger begin with so many MiB, and grow. A kernel that does not come back within a minute ends the
 * program with status 3.
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
		fail(1, "in a heap twice as large as need be only %llu lanes got an object", first);
	for (unsigned int round = 0; round < 6; round++) {
		cudaStream_t one = stage->streams[round % 4], two = stage->streams[(round + 1) % 4];

		drop<<<grid, THREADS, 0, one>>>(device, stage->table, round, 1 + round);
		finish(one, "a drop");
		compare(stage, heap, "after a drop");
		/* Who got nothing before asks again. */
		*stage->table.vain = 0;
		fill<<<grid, THREADS, 0, two>>>(device, stage->table, 100 + round, 0, round % 2);
		finish(two, "a second fill");
		look<<<grid, THREADS, 0, two>>>(device, stage->table);
		finish(two, "a look");
		live = compare(stage, heap, "after a second fill", round == 5);
	}
	same(stage->table.lanes, live + *stage->table.vain, "lanes with an object, and without");
	drop<<<grid, THREADS, 0, stage->streams[3]>>>(device, stage->table, 0, 8);
	finish(stage->streams[3], "the last drop");
	same(0, compare(stage, heap, "after the last drop"), "objects left");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf(
		"ok - mixed: %llu objects of 1 B to 64 KiB, 6 rounds in 4 streams, %llu in vain\n",
		first, *stage->table.vain);
}

/*
 * A heap too small, filled with one size after another: what was given back can all be had. Objects
 * with units of their own lie as chance has it, with gaps between them: as many as before need not
 * go in, but while a gap is long enough nobody may have got NULL.
 */
static void make_full(struct stage *stage)
{
	static const unsigned int sizes[] = { 256, 16, 1050, 8192, 4100, 64, 65536, 9000, 48 };
	/* What is less than a grant a heap that grows does not get. */
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
			     "lanes with an object, and without");
			same(*stage->table.vain, refusals_of(&after) - refusals_of(&before),
			     "failures in the counts");
			if (size > 8192 && *stage->table.vain &&
			    after.longest_free * after.page_bytes >= size)
				fail(1, "%u bytes: NULL, and %llu pages in a row are free", size,
				     (u64)after.longest_free);
			drop<<<grid, THREADS, 0, stage->streams[2]>>>(device, stage->table, 0, 8);
			finish(stage->streams[2], "a drop");
			same(0, compare(stage, heap, "after a drop"), "objects left");
		}
		if (got[0] < stage->table.lanes && size <= 8192 && got[1] * 100 < got[0] * 99)
			fail(1, "%u bytes: %llu the first time and %llu the second", size, got[0],
			     got[1]);
		if (got[0] < stage->table.lanes && size <= 8192 &&
		    got[0] * size * 100 < room * whole)
			fail(1, "%u bytes: only %llu got one of %zu bytes", size, got[0], room);
		parts++;
	}
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("ok - full: %u sizes, each until none is left, twice\n", parts);
}

/* Four kernels at once: with room for all, and with room for a part: then each request searches. */
static void make_churn(struct stage *stage)
{
	size_t all = std::max<size_t>((size_t)stage->table.lanes * 2048, 32 << 20);

	for (unsigned int share = 1; share <= 16; share *= 4) {
		struct mam_heap *heap = heap_of(stage->pool, all / share);

		empty_table(stage);
		for (unsigned int round = 0; round < 3; round++)
			run_churn(stage, heap, share == 1 ? 12 : 4, 1000 * share + 100 * round);
		if (share == 1)
			same(0, *stage->table.vain, "requests in vain with room for all");
		empty_heap(stage, heap);
		std::printf("ok - churn: four kernels at once in a heap of %zu MiB, %llu in vain\n",
			    (all / share) >> 20, *stage->table.vain);
		check(mam_heap_destroy(heap), "mam_heap_destroy");
	}
}

/* One object for the block, and one for a kernel's every block. */
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

/* One for every third lane, and meanwhile others for the rest. */
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

/* Lanes that come together, whoever they are; who shares is known by the address. */
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

/* Where the part of the first of `mask` leads, by what all before this lane want. */
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

/* Parts for every third lane, and for the rest; given back by the next of them, some late. */
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
 * Each thread a part, which it keeps: of those that its warp got together, or its block. Every fifth
 * block's threads with an odd number have none.
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

/* All parts at once, by one thread of those that got them together: a warp's, or a block's. */
__global__ void part_all(struct mam_kheap *heap, struct table table, unsigned int together)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;

	if (place % together == 2 && table.at[place] && !mam_kfree_parts(heap, table.at[place]))
		wrong(table, WRONG_FREE);
	table.at[place] = NULL;
}

/* In a block of three dimensions threads are in the order of lanes. */
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

/* Parts that outlive their kernel: one by one in another order, among objects; or all at once. */
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
		finish(NULL, "a look at parts");
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
		finish(NULL, "parts given back");
		no_wrongs(stage->table.bad, block ? "parts of blocks" : "parts of warps");
		info = info_of(heap);
		same(0, info.objects, "objects after their parts");
		same(0, info.double_frees + info.foreign_frees + info.interior_frees,
		     "mistakes with parts");
	}
	std::printf("ok - forms: parts of %s in later kernels, %llu in vain\n",
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
		std::printf("ok - forms: %s, %llu in vain\n", form.name, *stage->table.vain);
	}
	make_parts(stage, heap, false);
	make_parts(stage, heap, true);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
}

__global__ void drain(struct mam_kheap *heap)
{
	mam_kdrain(heap);
}

/* The host gives back every second object, while a kernel in another stream allocates. */
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
	std::printf("ok - host: gave back %zu objects\n", gone.size());
}

__global__ void mistakes(struct mam_kheap *heap, struct mam_kheap *pages, struct mam_kheap *other,
			 void *host, u64 *answers)
{
	char *object = (char *)mam_kmalloc(heap, 100), *large = (char *)mam_kmalloc(heap, 20000);
	char *foreign = (char *)mam_kmalloc(other, 100);

	*answers++ = object && large && foreign;
	*answers++ = mam_kfree(heap, NULL);
	*answers++ = mam_kfree(heap, object + 1);
	*answers++ = mam_kfree(heap, object + 16);
	*answers++ = mam_kfree(heap, large + 16);
	*answers++ = mam_kfree(heap, large + 1024);
	*answers++ = mam_kfree(heap, foreign);
	*answers++ = mam_kfree(heap, host);
	*answers++ = mam_kfree(heap, answers);
	*answers++ = mam_krealloc(heap, foreign, 10) != NULL;
	*answers++ = mam_kusable(heap, foreign) + mam_kusable(heap, object + 1);
	*answers++ = mam_kfree(heap, object);
	*answers++ = mam_kfree(heap, object);
	*answers++ = mam_kusable(heap, object);
	*answers++ = mam_kfree(heap, large);
	*answers++ = mam_kfree(heap, large);
	*answers++ = mam_kmalloc(heap, 0) != NULL;
	*answers++ = mam_kcalloc(heap, 0, 7) != NULL;
	*answers++ = mam_kmalloc(heap, (size_t)1 << 50) != NULL;
	*answers++ = mam_kcalloc(heap, (size_t)1 << 33, (size_t)1 << 33) != NULL;
	*answers++ = mam_kmalloc(pages, 10) != NULL;
	*answers++ = mam_kfree(pages, object);
	*answers++ = mam_kmalloc(NULL, 10) != NULL;
	*answers++ = mam_kfree(NULL, object);
	*answers++ = mam_kfree(other, foreign);
}

static void make_mistakes(struct stage *stage)
{
	static const unsigned char wanted[] = { 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
						0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
	struct mam_heap *heap = heap_of(stage->pool, 1 << 20), *other = heap_of(stage->pool, 1);
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *pages;
	struct mam_heap_info info;
	u64 *answers = NULL;
	int host;

	attr.bytes = 1 << 20;
	attr.kind = MAM_HEAP_PAGES;
	check(mam_heap_create(stage->pool, &attr, &pages), "mam_heap_create");
	check(cudaMallocManaged(&answers, sizeof(wanted) * sizeof(*answers)), "memory");
	mistakes<<<1, 1>>>(mam_heap_device(heap), mam_heap_device(pages), mam_heap_device(other),
			   &host, answers);
	finish(NULL, "mistakes");
	for (size_t i = 0; i < sizeof(wanted); i++)
		if (answers[i] != wanted[i])
			fail(1, "the answer to mistake %zu: %llu", i, answers[i]);
	info = info_of(heap);
	same(0, info.objects, "objects left after mistakes");
	same(4, info.interior_frees, "frees inside of an object");
	same(0, info_of(pages).taken, "pages taken by who asked for objects");
	same(2, info_of(pages).wrong_heaps, "calls for objects on a heap of pages");
	same(2, info.zero_sizes, "requests for nothing");
	same(2, info.bad_sizes, "requests for too much");
	same(1, info.double_frees, "objects given back twice");
	same(10, info.interior_frees + info.foreign_frees + info.double_frees, "mistakes counted");
	same(0, info_of(other).foreign_frees, "mistakes counted of the other heap");
	check(cudaFree(answers), "cudaFree");
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
	std::printf("ok - long: %d s, %u rounds, %llu requests in vain\n", seconds, rounds,
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
			fail(2, "what is %s? Give --lanes N, --seconds N, --part NAME or --first N",
			     arguments[i]);
	}
	if (stage.table.lanes < 4 * THREADS)
		fail(2, "give --lanes %d at least", 4 * THREADS);
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
