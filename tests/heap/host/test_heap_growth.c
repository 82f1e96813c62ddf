/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap that grows, from the host's side, on the fake driver and with the real service: its
 * creation, the grants and large objects in statistics and heap walk, what a reset keeps, and what
 * a trim releases.
 *
 * Device functions that are called outside of a launch run as the only lane of the only block, in
 * the memory of the fake driver.
 */
#include <mam/heap.cuh>

#include "heap/growth/growing.h"

#define NON_BLOCKING 1u
#define CAPTURE_GLOBAL 0u

/* ---- creation ------------------------------------------------------------------------------ */

START_TEST(growth_follows_metadata)
{
	struct mam_heap_attr attr = GROWING(5 * MAM_HEAP_BLOCK, 64 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap;
	const struct mam_growth *growth;
	const struct mam_kheap *head;
	const unsigned char *at;
	size_t constant = offsetof(struct mam_growth, stage);
	size_t free_at = offsetof(struct mam_growth, large_free);
	void *dirt;

	(void)cuda;
	ck_assert_int_eq(mam_malloc(pool, 4 * MIB, &dirt), MAM_OK);
	memset(dirt, 0xa5, 4 * MIB);
	ck_assert_int_eq(mam_free(pool, dirt), MAM_OK);
	attr.wait_us = 1234;
	attr.ahead = MAM_HEAP_AHEAD_NONE;
	heap = made(pool, &attr);
	head = mam_heap_device(heap);
	growth = head->growth;
	ck_assert_ptr_eq(growth,
			 (const char *)head + mam_growth_offset(5, mam_metadata_columns(5)));
	ck_assert_ptr_nonnull(growth->mail);
	ck_assert_ptr_null(growth->reports);
	ck_assert_uint_eq(growth->wait_ns, 1234000);
	ck_assert_uint_eq(head->current, 0);
	ck_assert_uint_eq(head->layout, MAM_HEAP_LAYOUT_PLAIN);
	at = (const unsigned char *)growth;
	for (size_t i = constant; i < sizeof(*growth); i++)
		ck_assert_uint_eq(
			at[i], i >= free_at && i < free_at + sizeof(growth->large_free) ? 0xff : 0);
	ck_assert_uint_eq(stats_of(heap).space_bytes,
			  5 * MAM_HEAP_BLOCK +
				  mam_metadata_plan_of(5, mam_metadata_columns(5)).end +
				  sizeof(*growth));
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(fixed_heap_has_no_growth)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap;
	size_t freed = 77;

	(void)cuda;
	attr.bytes = MIB;
	attr.wait_us = 5; /* unused, but not an error */
	heap = made(pool, &attr);
	ck_assert_ptr_null(mam_heap_device(heap)->growth);
	ck_assert_int_eq(mam_heap_trim(heap, NULL, &freed), MAM_OK);
	ck_assert_uint_eq(freed, 0);
	ck_assert_int_eq(mam_heap_trim(NULL, NULL, &freed), MAM_ERROR_INVALID_VALUE);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/*
 * Kernels with debug checks recognize a debug heap by its layout; other kernels cannot allocate
 * from it.
 */
START_TEST(debug_heap_has_debug_layout)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap;

	(void)cuda;
	attr.bytes = MIB;
	attr.debug = 1;
	heap = made(pool, &attr);
	ck_assert_uint_eq(mam_heap_device(heap)->layout, MAM_HEAP_LAYOUT_DEBUG);
	ck_assert_ptr_nonnull(mam_heap_device(heap)->growth);
	ck_assert_ptr_null(mam_heap_device(heap)->growth->mail);
	ck_assert_ptr_null(mam_kmalloc(mam_heap_device(heap), 16));
	ck_assert_uint_eq(stats_of(heap).grants, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Kernels that are compiled for one device cannot allocate from a heap of several. */
START_TEST(heap_of_several_devices_has_its_own_layout)
{
	static const uint32_t layouts[] = { MAM_HEAP_LAYOUT_PLAIN, MAM_HEAP_LAYOUT_PLAIN,
					    MAM_HEAP_LAYOUT_DEBUG };
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap;

	(void)cuda;
	attr.bytes = MIB;
	attr.peers = 1;
	attr.kind = _i == 1 ? MAM_HEAP_PAGES : MAM_HEAP_OBJECTS;
	attr.debug = _i == 2;
	heap = made(pool, &attr);
	ck_assert_uint_eq(mam_heap_device(heap)->layout, layouts[_i] | MAM_HEAP_LAYOUT_PEERS);
	ck_assert_ptr_null(mam_kmalloc(mam_heap_device(heap), 16));
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- growth --------------------------------------------------------------------------------- */

START_TEST(growth_is_counted)
{
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	struct mam_heap_info info;

	(void)cuda;
	fill(heap, 2000, 4096);
	info = counted(heap);
	ck_assert_uint_eq(info.objects, 2000);
	ck_assert_uint_ge(info.grants, 2);
	ck_assert_uint_ge(info.asks, 1);
	ck_assert_uint_eq(info.at_limit + info.full + info.contended + info.silent, 0);
	ck_assert_uint_ge(info.pages, 8000);
	compare(heap);

	while (held.count > 700)
		give(heap, any(held.count));
	compare(heap);
	free_all(heap);
	compare(heap);
	info = counted(heap);
	ck_assert_uint_eq(info.idle_slabs, info.slabs);
	ck_assert_uint_eq(info.foreign_frees + info.double_frees + info.interior_frees, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Large objects are blocks of the pool: they are in no page, but counted as objects. */
START_TEST(large_objects_are_pool_blocks)
{
	static const size_t sizes[] = { 257 * KIB, MIB, 3 * MIB + 1, 300 * KIB };
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	uint64_t before = stats_of(heap).space_bytes, bytes = 0;
	struct mam_heap_info info;

	(void)cuda;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ck_assert(take(heap, sizes[i]));
		bytes += sizes[i];
	}
	fill(heap, 10, 100);
	info = counted(heap);
	ck_assert_uint_eq(info.host_objects, 4);
	ck_assert_uint_ge(info.host_bytes, bytes);
	ck_assert_uint_lt(info.host_bytes, bytes + 4 * 2 * MIB);
	ck_assert_uint_eq(info.large_objects, 4);
	ck_assert_uint_eq(info.objects, 10);
	ck_assert_uint_ge(info.space_bytes, before + bytes);
	compare(heap);
	give(heap, 1);
	compare(heap);
	free_all(heap);
	info = counted(heap);
	ck_assert_uint_eq(info.host_objects + info.host_bytes + info.objects, 0);
	wait_for_space(heap, before);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(random_objects_match_statistics_and_walk)
{
	struct mam_heap_attr attr = GROWING(MIB, 48 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);

	(void)cuda;
	for (unsigned int round = 0; round < 12; round++) {
		unsigned int wanted = any(round % 3 ? 2500 : 300);
		size_t freed;

		for (unsigned int i = 0; i < 2500; i++)
			if (held.count < wanted)
				(void)take(heap,
					   any(100) ? 1 + any(1u << (4 + any(13))) : any(MIB));
			else if (held.count != 0)
				give(heap, any(held.count));
		compare(heap);
		if (round % 3 == 2) {
			ck_assert_int_eq(mam_heap_trim(heap, NULL, &freed), MAM_OK);
			compare(heap);
		}
	}
	heap_end(heap); /* with live objects */
	pool_end(pool);
}
END_TEST

/* ---- limits ---------------------------------------------------------------------------------- */

START_TEST(failure_at_limit_is_counted)
{
	struct mam_heap_attr attr = GROWING(MIB, 3 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	struct mam_heap_info info;

	(void)cuda;
	while (take(heap, 64 * KIB))
		;
	ck_assert_uint_ge(held.count, 40); /* of 48 */
	ck_assert(!take(heap, 2 * MIB));
	info = counted(heap);
	ck_assert_uint_eq(info.at_limit, 2);
	ck_assert_uint_eq(info.full + info.pool_full + info.silent + info.no_slot + info.refused,
			  0);
	ck_assert_uint_ge(info.refusals, 1);
	ck_assert_uint_le(info.pages, 3 * 1024);
	ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
	held.count = 0;
	ck_assert_uint_eq(counted(heap).at_limit, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(failure_in_full_pool_is_counted)
{
	struct mam_heap_attr attr = GROWING(MIB, MAM_HEAP_UNLIMITED);
	struct mam_pool_attr small = MAM_POOL_ATTR_INIT;
	struct cuda cuda = load();
	struct mam_heap_info info;
	struct mam_pool *pool;
	struct mam_heap *heap;

	(void)cuda;
	small.source = "cudamalloc";
	small.limit_bytes = 8 * MIB;
	small.growth_bytes = 8 * MIB;
	ck_assert_int_eq(mam_pool_create(&small, &pool), MAM_OK);
	heap = made(pool, &attr);
	while (take(heap, 64 * KIB))
		;
	ck_assert(!take(heap, 8 * MIB));
	info = counted(heap);
	ck_assert_uint_eq(info.pool_full, 2);
	ck_assert_uint_eq(info.full + info.at_limit + info.silent, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- reset ----------------------------------------------------------------------------------- */

START_TEST(reset_keeps_grants_and_frees_large_objects)
{
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	struct mam_heap_info info;
	uint64_t grants, current;

	(void)cuda;
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < 20; i++)
			ck_assert(take(heap, 300 * KIB));
		fill(heap, 1500, 4096);
		ck_assert(mam_kfree(mam_heap_device(heap), held.address[held.count - 1]));
		ck_assert(!mam_kfree(mam_heap_device(heap), held.address[held.count - 1]));
		grants = stats_of(heap).grants;
		current = mam_heap_device(heap)->current;
		ck_assert_uint_ge(grants, 1);
		ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
		held.count = 0;
		info = counted(heap);
		ck_assert_uint_eq(info.grants, grants);
		ck_assert_uint_eq(mam_heap_device(heap)->current, current);
		ck_assert_uint_eq(info.objects + info.taken + info.slabs + info.host_objects, 0);
		ck_assert_uint_eq(info.opened + info.closed + info.searches + info.looks, 0);
		ck_assert_uint_eq(info.foreign_frees + info.double_frees, 0);
		ck_assert_uint_eq(info.longest_free, longest(heap));
		ck_assert(nothing_is_dry(heap));
		compare(heap);
		ck_assert_uint_eq(info.space_bytes - info.grant_bytes - info.spare_bytes,
				  own_bytes(heap));
	}
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* A reset waits for its stream, so it cannot be captured. */
START_TEST(reset_and_trim_cannot_be_captured)
{
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	size_t freed = 77;

	fill(heap, 600, 4096);
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL), CUDA_SUCCESS);
	ck_assert_int_eq(mam_heap_reset(heap, stream), MAM_ERROR_WOULD_WAIT);
	ck_assert_int_eq(mam_heap_trim(heap, stream, &freed), MAM_ERROR_WOULD_WAIT);
	ck_assert_uint_eq(freed, 77);
	ck_assert_int_eq(cuda.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	compare(heap);
	ck_assert_int_eq(cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
	ck_assert_int_eq(mam_heap_reset(heap, stream), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_trim(heap, stream, &freed), MAM_ERROR_INVALID_VALUE);
	compare(heap);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- trim ------------------------------------------------------------------------------------ */

START_TEST(trim_releases_empty_grants)
{
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	uint64_t blocks = pool_stats(pool).live_blocks, opened;
	struct mam_heap_info info, after;
	size_t freed = 77;

	(void)cuda;
	for (unsigned int round = 0; round < 3; round++) {
		fill(heap, 3000, 4096);
		info = counted(heap);
		ck_assert_uint_ge(info.grants, 3);
		free_all(heap);
		ck_assert(!mam_kfree(mam_heap_device(heap), mam_heap_device(heap)));
		info = counted(heap);
		opened = info.opened;
		ck_assert_int_eq(mam_heap_trim(heap, NULL, &freed), MAM_OK);
		ck_assert_uint_eq(freed, info.grant_bytes + info.spare_bytes);
		after = counted(heap);
		ck_assert_uint_eq(after.grants + after.grant_bytes, 0);
		ck_assert_uint_eq(after.spare_grants + after.spare_bytes, 0);
		ck_assert_uint_eq(after.space_bytes, own_bytes(heap));
		ck_assert_uint_eq(after.pages, 1024);
		ck_assert_uint_le(pool_stats(pool).live_blocks, blocks);
		/* The counters keep earlier events. */
		ck_assert_uint_eq(after.opened, opened);
		ck_assert_uint_eq(after.searches, info.searches);
		ck_assert_uint_eq(after.foreign_frees, round + 1);
		ck_assert_int_eq(mam_heap_trim(heap, NULL, &freed), MAM_OK);
		ck_assert_uint_eq(freed, 0);
		compare(heap);
	}
	ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
	ck_assert_uint_eq(counted(heap).opened, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Frees all objects but those of the heap's own memory and of each nth grant. */
static void keep_only(struct mam_heap *heap, uint64_t nth)
{
	for (unsigned int i = 0; i < held.count;)
		if (place_of(heap, held.address[i]) % nth == 0)
			i++;
		else
			give(heap, i);
}

/* A grant with live objects stays, and the objects stay in place. */
START_TEST(trim_keeps_grants_in_use)
{
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	const struct mam_growth *growth = mam_heap_device(heap)->growth;
	struct mam_grant part[MAM_PARTS_FIRST];
	uint64_t parts;
	size_t freed;

	(void)cuda;
	fill(heap, 4000, 4096);
	parts = growth->parts.value;
	memcpy(part, growth->part, sizeof(part));
	ck_assert_uint_ge(parts, 3);
	/* Only objects in every second grant stay. */
	keep_only(heap, 2);
	ck_assert_uint_gt(held.count, 0);
	ck_assert_int_eq(mam_heap_trim(heap, NULL, &freed), MAM_OK);
	ck_assert_uint_gt(freed, 0);
	ck_assert_uint_eq(growth->parts.value, parts / 2);
	for (uint64_t i = 0; i < parts / 2; i++)
		ck_assert_mem_eq(&growth->part[i], &part[2 * i + 1], sizeof(part[0]));
	for (uint64_t i = parts / 2; i < parts; i++)
		ck_assert_uint_eq(growth->part[i].space, 0);
	/* The data that kernels read about them moved with them. */
	for (uint32_t i = 0; i < parts / 2; i++)
		ck_assert_ptr_eq(growth->head[i].space,
				 (unsigned char *)(uintptr_t)growth->part[i].space);
	ck_assert_uint_eq(mam_heap_device(heap)->current, parts / 2);
	ck_assert(nothing_is_dry(heap));
	compare(heap);
	fill(heap, 3000, 4096);
	compare(heap);
	free_all(heap);
	compare(heap);
	ck_assert_int_eq(mam_heap_trim(heap, NULL, NULL), MAM_OK);
	ck_assert_uint_eq(growth->parts.value, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- more parts than the first table has ---- */

#define PIECES 200
#define PIECE (2 * MIB + 256 * KIB)

/* Allocates all of the pool, and frees pieces of it that a small grant fits into. */
static unsigned int break_up(struct mam_pool *pool, void *pins[PIECES])
{
	void *piece[PIECES];
	unsigned int count = 0;

	while (count < PIECES && mam_malloc(pool, PIECE, &piece[count]) == MAM_OK &&
	       mam_malloc(pool, 64 * KIB, &pins[count]) == MAM_OK)
		count++;
	ck_assert_uint_gt(count, MAM_PARTS_FIRST + 10);
	ck_assert_uint_lt(count, PIECES);
	for (unsigned int i = 0; i < count; i++)
		ck_assert_int_eq(mam_free(pool, piece[i]), MAM_OK);
	return count;
}

static void fill_all(struct mam_heap *heap)
{
	while (take(heap, 64 * KIB))
		;
	compare(heap);
}

START_TEST(parts_of_later_tables_are_counted_walked_and_released)
{
	struct mam_heap_attr attr = GROWING(MIB, MAM_HEAP_UNLIMITED);
	struct mam_pool_attr chunks = MAM_POOL_ATTR_INIT;
	struct cuda cuda = load();
	const struct mam_growth *growth;
	unsigned int pieces, objects;
	struct mam_pool *pool;
	struct mam_heap *heap;
	void *pins[PIECES];
	uint64_t parts, i;

	(void)cuda;
	chunks.source = "cudamalloc";
	chunks.growth_bytes = chunks.limit_bytes = 240 * MIB; /* so it has one chunk */
	chunks.cache = MAM_CACHE_OFF; /* and pins are where the test allocated them */
	ck_assert_int_eq(mam_pool_create(&chunks, &pool), MAM_OK);
	pieces = break_up(pool, pins);
	heap = made(pool, &attr);
	growth = mam_heap_device(heap)->growth;
	fill_all(heap);
	objects = held.count;
	parts = growth->parts.value;
	ck_assert_uint_gt(parts, MAM_PARTS_FIRST + 5);
	/* Only objects in every fourth grant stay; these are in both tables. */
	keep_only(heap, 4);
	compare(heap);
	ck_assert_int_eq(mam_heap_trim(heap, NULL, NULL), MAM_OK);
	ck_assert_uint_eq(growth->parts.value, parts / 4);
	for (i = 0; i < parts; i++)
		ck_assert_uint_eq(grant_at(growth, i)->space != 0, i < parts / 4);
	compare(heap);
	fill_all(heap);
	ck_assert_uint_ge(held.count, objects - 64);
	ck_assert_uint_gt(growth->parts.value, MAM_PARTS_FIRST);
	ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
	held.count = 0;
	compare(heap);
	fill_all(heap);
	ck_assert_uint_ge(held.count, objects - 64);
	free_all(heap);
	compare(heap);
	ck_assert_int_eq(mam_heap_trim(heap, NULL, NULL), MAM_OK);
	ck_assert_uint_eq(growth->parts.value, 0);
	compare(heap);
	heap_end(heap);
	for (i = 0; i < pieces; i++)
		ck_assert_int_eq(mam_free(pool, pins[i]), MAM_OK);
	pool_end(pool);
}
END_TEST

/* A fetch in progress means that the heap is in use. */
START_TEST(trim_fails_during_fetch)
{
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	struct mam_growth *growth = mam_heap_device(heap)->growth;
	size_t freed = 77;
	uint64_t grants;

	(void)cuda;
	fill(heap, 600, 4096);
	free_all(heap);
	grants = counted(heap).grants;
	growth->stage.value |= MAM_STAGE_MAKING;
	ck_assert_int_eq(mam_heap_trim(heap, NULL, &freed), MAM_ERROR_WOULD_WAIT);
	ck_assert_uint_eq(freed, 77);
	ck_assert_uint_eq(counted(heap).grants, grants);
	growth->stage.value &= ~(uint64_t)0xff;
	ck_assert_int_eq(mam_heap_trim(heap, NULL, &freed), MAM_OK);
	ck_assert_uint_eq(counted(heap).grants, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- frees by the host ----------------------------------------------------------------------- */

START_TEST(host_frees_objects_in_all_grants)
{
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	struct mam_heap_info info;
	size_t taken;

	(void)cuda;
	for (unsigned int i = 0; i < 5; i++)
		ck_assert(take(heap, 300 * KIB + i));
	fill(heap, 1500, 4096);
	ck_assert_int_eq(mam_heap_free(heap, NULL, (void *const *)held.address, held.count, &taken),
			 MAM_OK);
	ck_assert_uint_eq(taken, held.count);
	info = counted(heap);
	ck_assert_uint_eq(info.returned, held.count);
	ck_assert_uint_eq(info.objects, held.count);
	mam_kdrain(mam_heap_device(heap));
	held.count = 0;
	compare(heap);
	info = counted(heap);
	ck_assert_uint_eq(info.returned + info.foreign_frees + info.double_frees, 0);
	ck_assert_int_eq(mam_heap_trim(heap, NULL, NULL), MAM_OK);
	ck_assert_uint_eq(counted(heap).grants, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- destruction ----------------------------------------------------------------------------- */

START_TEST(destroy_leaks_nothing)
{
	struct fake_held before, after;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();

	cuda.fake_holds(&before);
	for (unsigned int i = 0; i < 8; i++) {
		struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
		struct mam_heap *heap;

		attr.ahead = i % 5 == 0 ? MAM_HEAP_AHEAD_NONE : i % 5;
		heap = made(pool, &attr);
		held.count = 0;
		if (i % 2)
			ck_assert(take(heap, MIB));
		fill(heap, 200 * i, 4096);
		compare(heap);
		held.count = 0;
		heap_end(heap);
	}
	ck_assert_uint_eq(pool_stats(pool).live_blocks, 0);
	pool_end(pool);
	cuda.fake_holds(&after);
	ck_assert_mem_eq(&before, &after, sizeof(before));
}
END_TEST

START_TEST(calls_fail_after_pool_is_abandoned)
{
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct mam_heap_info info = { .size = sizeof(info) };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	size_t freed = 77;

	(void)cuda;
	fill(heap, 600, 4096);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_heap_trim(heap, NULL, &freed), MAM_ERROR_DESTROYED);
	ck_assert_uint_eq(freed, 77);
	ck_assert_int_eq(mam_heap_destroy(heap), MAM_OK);
}
END_TEST

static void start(void)
{
	set_up();
	held.count = 0;
}

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, growth_follows_metadata);
	tcase_add_test(tests, fixed_heap_has_no_growth);
	tcase_add_test(tests, debug_heap_has_debug_layout);
	tcase_add_loop_test(tests, heap_of_several_devices_has_its_own_layout, 0, 3);
	tcase_add_test(tests, growth_is_counted);
	tcase_add_test(tests, large_objects_are_pool_blocks);
	tcase_add_test(tests, random_objects_match_statistics_and_walk);
	tcase_add_test(tests, failure_at_limit_is_counted);
	tcase_add_test(tests, failure_in_full_pool_is_counted);
	tcase_add_test(tests, reset_keeps_grants_and_frees_large_objects);
	tcase_add_test(tests, reset_and_trim_cannot_be_captured);
	tcase_add_test(tests, trim_releases_empty_grants);
	tcase_add_test(tests, trim_keeps_grants_in_use);
	tcase_add_test(tests, parts_of_later_tables_are_counted_walked_and_released);
	tcase_add_test(tests, trim_fails_during_fetch);
	tcase_add_test(tests, host_frees_objects_in_all_grants);
	tcase_add_test(tests, destroy_leaks_nothing);
	tcase_add_test(tests, calls_fail_after_pool_is_abandoned);
}

int main(void)
{
	return run_suite("heap/heap_growth", add);
}
