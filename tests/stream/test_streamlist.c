/* SPDX-License-Identifier: Apache-2.0 */
/* Stream free lists: they keep memory separate, merge and split it, and return it to the pool. */
#include "pool/fixture.h"

#include <stdlib.h>
#include "pool/streamlist.h"

static uint32_t streamlist_new(struct fixture *f)
{
	uint32_t list = 0;

	mam_lock_take(&f->pool->lock);
	ck_assert_int_eq(mam_streamlist_begin_locked(f->pool, &list), MAM_OK);
	mam_lock_release(&f->pool->lock);
	ck_assert_uint_ne(list, 0);
	return list;
}

static uint32_t loose_list_new(struct fixture *f)
{
	uint32_t list = streamlist_new(f);

	mam_lock_take(&f->pool->lock);
	ck_assert(!mam_streamlist_at(f->pool, list)->loose);
	mam_streamlist_at(f->pool, list)->loose = 1;
	mam_lock_release(&f->pool->lock);
	return list;
}

static enum mam_status put(struct fixture *f, uint32_t list, void *block)
{
	enum mam_status status;

	mam_lock_take(&f->pool->lock);
	if (mam_streamlist_at(f->pool, list)->loose)
		status = mam_streamlist_keep_locked(f->pool, list, (uintptr_t)block);
	else
		status = mam_streamlist_put_locked(f->pool, list, (uintptr_t)block);
	mam_lock_release(&f->pool->lock);
	intact(f);
	return status;
}

/* NULL: no segment in the list or in those that it follows fits. */
static void *alloc_from(struct fixture *f, uint32_t list, size_t bytes)
{
	struct mam_request request;
	void *block = NULL;
	uint32_t best;

	ck_assert_int_eq(mam_space_shape(f->pool, bytes, 0, &request), MAM_OK);
	mam_lock_take(&f->pool->lock);
	best = mam_streamlist_best_locked(f->pool, list, &request);
	if (best != 0)
		ck_assert_int_eq(mam_streamlist_take_locked(f->pool, best, &request, &block),
				 MAM_OK);
	mam_lock_release(&f->pool->lock);
	intact(f);
	return block;
}

static unsigned release(struct fixture *f, uint32_t list, unsigned max)
{
	unsigned released;

	mam_lock_take(&f->pool->lock);
	released = mam_streamlist_release_locked(f->pool, list, max);
	mam_lock_release(&f->pool->lock);
	intact(f);
	return released;
}

static void follow(struct fixture *f, uint32_t list, uint32_t older)
{
	mam_lock_take(&f->pool->lock);
	mam_streamlist_follow_locked(f->pool, list, older);
	mam_lock_release(&f->pool->lock);
}

static struct fixture *small_pool(void)
{
	static const struct mam_pool_config config = { .chunk_bytes = 64 * KIB,
						       .growth_bytes = MAM_GROWTH_NONE };

	return fixture_new(&config);
}

START_TEST(listed_memory_is_freed_but_not_reusable)
{
	struct fixture *f = small_pool();
	void *a = alloc(f, 64 * KIB);
	uint32_t list = streamlist_new(f);
	struct mam_stats stats;

	ck_assert_int_eq(put(f, list, a), MAM_OK);
	kept(f, a, MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(put(f, list, a), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(put(f, list, at(a, 1 << 20)), MAM_ERROR_NOT_OWNED);
	refused(f, 512, 0, MAM_ERROR_OUT_OF_MEMORY);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.live_blocks, 0);
	ck_assert_uint_eq(stats.retired_blocks, 1);
	ck_assert_uint_eq(stats.retired_bytes, 64 * KIB);
	ck_assert_uint_eq(stats.peak_retired_bytes, 64 * KIB);
	ck_assert_uint_eq(stats.free_blocks, 0);
	ck_assert_uint_eq(release(f, list, 64), 1);
	ck_assert_uint_eq(stats_of(f).retired_bytes, 0);
	ck_assert_ptr_eq(alloc(f, 64 * KIB), a);
	fixture_end(f);
}
END_TEST

START_TEST(neighbors_merge_within_one_list_only)
{
	struct fixture *f = small_pool();
	void *a = alloc(f, 1024), *b = alloc(f, 1024), *c = alloc(f, 1024);
	uint32_t one = streamlist_new(f), two = streamlist_new(f);

	alloc(f, 512);
	ck_assert_int_eq(put(f, one, a), MAM_OK);
	ck_assert_int_eq(put(f, one, c), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_int_eq(put(f, one, b), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	ck_assert_ptr_null(alloc_from(f, two, 512));
	ck_assert_ptr_eq(alloc_from(f, one, 3072), a);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 0);
	ck_assert_int_eq(put(f, two, a), MAM_OK);
	b = alloc_from(f, two, 1024);
	ck_assert_ptr_eq(b, a);
	ck_assert_int_eq(put(f, one, b), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_ptr_null(alloc_from(f, two, 3072));
	mam_lock_take(&f->pool->lock);
	ck_assert_uint_eq(mam_streamlist_move_locked(f->pool, one, two, 64), 1);
	mam_lock_release(&f->pool->lock);
	intact(f);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	ck_assert_ptr_eq(alloc_from(f, two, 3072), a);
	fixture_end(f);
}
END_TEST

START_TEST(neighbors_in_loose_list_merge_when_moved)
{
	struct fixture *f = small_pool();
	void *a = alloc(f, 1024), *b = alloc(f, 1024), *c = alloc(f, 1024);
	uint32_t loose = loose_list_new(f), to = streamlist_new(f);

	alloc(f, 512);
	ck_assert_int_eq(put(f, loose, a), MAM_OK);
	ck_assert_int_eq(put(f, loose, c), MAM_OK);
	ck_assert_int_eq(put(f, loose, b), MAM_OK);
	ck_assert_int_eq(put(f, loose, b), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(put(f, loose, at(a, 1 << 20)), MAM_ERROR_NOT_OWNED);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 3);
	ck_assert_uint_eq(stats_of(f).retired_bytes, 3072);
	ck_assert_ptr_null(alloc_from(f, loose, 3072));
	b = alloc_from(f, loose, 1024);
	ck_assert_ptr_nonnull(b);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_int_eq(put(f, loose, b), MAM_OK);
	mam_lock_take(&f->pool->lock);
	ck_assert_uint_eq(mam_streamlist_move_locked(f->pool, loose, to, 64), 3);
	mam_lock_release(&f->pool->lock);
	intact(f);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	ck_assert_ptr_eq(alloc_from(f, to, 3072), a);
	fixture_end(f);
}
END_TEST

/* Looseness is a property of a list, not of its record. */
START_TEST(list_that_reuses_loose_record_is_not_loose)
{
	struct fixture *f = small_pool();
	uint32_t loose = loose_list_new(f);

	mam_lock_take(&f->pool->lock);
	mam_streamlist_end_locked(f->pool, loose);
	mam_lock_release(&f->pool->lock);
	ck_assert_uint_eq(streamlist_new(f), loose);
	ck_assert(!mam_streamlist_at(f->pool, loose)->loose);
	fixture_end(f);
}
END_TEST

START_TEST(best_fit_of_several_lists_is_taken)
{
	struct fixture *f = small_pool();
	void *large = alloc(f, 4096), *wall = alloc(f, 512), *small = alloc(f, 2048);
	uint32_t older = streamlist_new(f), list = streamlist_new(f);

	alloc(f, 512);
	(void)wall;
	follow(f, list, older);
	ck_assert_int_eq(put(f, list, large), MAM_OK);
	ck_assert_int_eq(put(f, older, small), MAM_OK);
	ck_assert_ptr_eq(alloc_from(f, list, 1024), small);
	ck_assert_ptr_eq(alloc_from(f, list, 1024), at(small, 1024));
	ck_assert_ptr_eq(alloc_from(f, list, 1024), large);
	ck_assert_uint_eq(stats_of(f).retired_bytes, 3072);
	ck_assert_ptr_null(alloc_from(f, older, 512));
	fixture_end(f);
}
END_TEST

static bool absorb(struct fixture *f, uint32_t list, size_t bytes)
{
	struct mam_request request;
	bool absorbed;

	ck_assert_int_eq(mam_space_shape(f->pool, bytes, 0, &request), MAM_OK);
	mam_lock_take(&f->pool->lock);
	absorbed = mam_streamlist_absorb_locked(f->pool, list, &request);
	mam_lock_release(&f->pool->lock);
	intact(f);
	return absorbed;
}

START_TEST(free_neighbor_is_absorbed_if_needed)
{
	struct fixture *f = small_pool();
	void *low = alloc(f, 2048), *one = alloc(f, 1024), *high = alloc(f, 2048), *two;
	uint32_t list = streamlist_new(f), other = streamlist_new(f);

	alloc(f, 512);
	two = alloc(f, 1024);
	alloc(f, 512);
	ck_assert_int_eq(put(f, list, one), MAM_OK);
	ck_assert_int_eq(put(f, other, two), MAM_OK);
	ck_assert(!absorb(f, list, 1536)); /* live blocks on both sides */
	dealloc(f, low);
	dealloc(f, high);
	ck_assert(!absorb(f, list, 5632));
	ck_assert(!absorb(f, other, 1536));
	ck_assert_uint_eq(stats_of(f).retired_bytes, 2048);
	/* Upward first, and no more than is needed. */
	ck_assert(absorb(f, list, 2560));
	ck_assert_uint_eq(stats_of(f).retired_bytes, 2048 + 1536);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_ptr_eq(alloc(f, 512), at(one, 2560));
	ck_assert(absorb(f, list, 4096));
	ck_assert_ptr_eq(alloc_from(f, list, 4096), at(low, 512));
	ck_assert_ptr_eq(alloc(f, 512), low);
	release(f, list, 8);
	release(f, other, 8);
	fixture_end(f);
}
END_TEST

/* An aligned block: the listed memory before it stays in the list, or merges. */
START_TEST(large_blocks_from_list_are_aligned)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * MIB,
					  .growth_bytes = MAM_GROWTH_NONE,
					  .large_alignment = 64 * KIB };
	struct fixture *f = fixture_on(&config, SPACE_UP, 2 * MIB, 2 * MIB, 0);
	char *small = alloc(f, 512), *large = alloc(f, 2 * MIB + 1), *rest = alloc(f, 512);
	uint32_t list = streamlist_new(f), loose = loose_list_new(f);

	ck_assert_ptr_eq(large, small + 64 * KIB);
	ck_assert_ptr_eq(rest, small + 512);
	ck_assert_ptr_eq(alloc(f, 63 * KIB), small + 1024);
	rest = alloc(f, MIB);
	ck_assert_ptr_eq(rest, large + 2 * MIB + 64 * KIB);
	ck_assert_int_eq(put(f, loose, rest), MAM_OK);
	ck_assert_ptr_eq(alloc_from(f, loose, MIB), rest);
	ck_assert_int_eq(put(f, list, small + 1024), MAM_OK);
	ck_assert_int_eq(put(f, list, large), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	/* Skipped bytes before it and the rest after it stay in the list. */
	ck_assert_ptr_eq(alloc_from(f, list, MIB), large);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_uint_eq(stats_of(f).retired_bytes, MIB + 127 * KIB);
	ck_assert_ptr_null(alloc_from(f, list, MIB + 128 * KIB));
	ck_assert_ptr_eq(alloc_from(f, list, MIB + 64 * KIB), large + MIB);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	/* Free space after it is absorbed as far as an aligned block needs. */
	ck_assert_int_eq(put(f, list, rest), MAM_OK);
	ck_assert(absorb(f, list, 2 * MIB));
	ck_assert_ptr_eq(alloc_from(f, list, 2 * MIB), rest);
	release(f, list, 8);
	fixture_end(f);
}
END_TEST

START_TEST(tail_is_absorbed_in_part)
{
	struct fixture *f = small_pool();
	void *one = alloc(f, 1024);
	uint32_t list = streamlist_new(f);

	ck_assert_int_eq(put(f, list, one), MAM_OK);
	ck_assert(!absorb(f, list, 64 * KIB + 512));
	ck_assert(absorb(f, list, 8192));
	ck_assert_uint_eq(stats_of(f).retired_bytes, 8192);
	ck_assert_uint_eq(stats_of(f).high_water_bytes, 8192);
	ck_assert_ptr_eq(alloc(f, 56 * KIB), at(one, 8192));
	ck_assert_ptr_eq(alloc_from(f, list, 8192), one);
	fixture_end(f);
}
END_TEST

/* The newer list is released later: it takes neighbors from the older one, never the other way. */
START_TEST(segment_draws_neighbors_from_older_list)
{
	struct fixture *f = small_pool();
	void *a = alloc(f, 1024), *b = alloc(f, 1024), *c = alloc(f, 1024), *wall = alloc(f, 512);
	void *d = alloc(f, 1024), *e = alloc(f, 1024);
	uint32_t older = streamlist_new(f), newer = streamlist_new(f), oldest = streamlist_new(f);

	(void)wall;
	alloc(f, 512);
	follow(f, older, oldest);
	follow(f, newer, older);
	ck_assert_int_eq(put(f, older, a), MAM_OK);
	ck_assert_int_eq(put(f, oldest, c), MAM_OK);
	ck_assert_int_eq(put(f, newer, b), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	ck_assert_ptr_null(alloc_from(f, older, 512));
	ck_assert_ptr_eq(alloc_from(f, newer, 3072), a);
	ck_assert_int_eq(put(f, newer, d), MAM_OK);
	ck_assert_int_eq(put(f, older, e), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_uint_eq(release(f, older, 8), 1);
	ck_assert_ptr_eq(alloc_from(f, newer, 1024), d);
	fixture_end(f);
}
END_TEST

START_TEST(list_without_older_list_draws_nothing)
{
	struct fixture *f = small_pool();
	void *a = alloc(f, 1024), *b = alloc(f, 1024);
	uint32_t older = streamlist_new(f), newer = streamlist_new(f);

	alloc(f, 512);
	follow(f, newer, older);
	follow(f, newer, 0);
	ck_assert_int_eq(put(f, older, a), MAM_OK);
	ck_assert_int_eq(put(f, newer, b), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert(!absorb(f, newer, 1536));
	ck_assert_ptr_eq(alloc_from(f, newer, 512), b);
	ck_assert_ptr_eq(alloc_from(f, older, 512), a);
	fixture_end(f);
}
END_TEST

/* Otherwise many small frees would delay its release for as long as they continue. */
START_TEST(small_segment_draws_large_neighbor_only_on_demand)
{
	struct fixture *f = small_pool();
	void *large = alloc(f, 65 * 512), *small = alloc(f, 512), *next = alloc(f, 512);
	uint32_t older = streamlist_new(f), newer = streamlist_new(f);

	alloc(f, 512);
	follow(f, newer, older);
	ck_assert_int_eq(put(f, older, large), MAM_OK);
	ck_assert_int_eq(put(f, newer, small), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_int_eq(put(f, newer, next), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_ptr_null(alloc_from(f, newer, 66 * 512));
	ck_assert(!absorb(f, newer, 68 * 512));
	ck_assert(absorb(f, newer, 66 * 512));
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	ck_assert_uint_eq(release(f, older, 8), 0);
	ck_assert_ptr_eq(alloc_from(f, newer, 67 * 512), large);
	fixture_end(f);
}
END_TEST

START_TEST(drawn_segment_merges_on_both_sides)
{
	struct fixture *f = small_pool();
	void *small = alloc(f, 512), *large = alloc(f, 65 * 512), *next = alloc(f, 1024);
	uint32_t older = streamlist_new(f), newer = streamlist_new(f);

	alloc(f, 512);
	follow(f, newer, older);
	ck_assert_int_eq(put(f, older, large), MAM_OK);
	ck_assert_int_eq(put(f, newer, small), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_int_eq(put(f, newer, next), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	ck_assert_ptr_eq(alloc_from(f, newer, 68 * 512), small);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 0);
	fixture_end(f);
}
END_TEST

static enum mam_status serve(struct fixture *f, const struct mam_request *request, void **block)
{
	enum mam_status status;

	mam_lock_take(&f->pool->lock);
	status = mam_streamlist_serve_locked(f->pool, request, block);
	mam_lock_release(&f->pool->lock);
	intact(f);
	return status;
}

START_TEST(offered_list_serves_request_until_it_ends)
{
	struct fixture *f = small_pool();
	void *low = alloc(f, 1024), *one = alloc(f, 1024), *two, *got = NULL;
	struct mam_request request;
	uint32_t list = streamlist_new(f);

	two = alloc(f, 62 * KIB);
	ck_assert_int_eq(put(f, list, one), MAM_OK);
	ck_assert_int_eq(mam_space_shape(f->pool, 2048, 0, &request), MAM_OK);
	ck_assert_int_eq(serve(f, &request, &got), MAM_ERROR_WOULD_WAIT);
	mam_lock_take(&f->pool->lock);
	mam_streamlist_offer_locked(f->pool, list, &request);
	mam_lock_release(&f->pool->lock);
	ck_assert_int_eq(serve(f, &request, &got), MAM_ERROR_WOULD_WAIT);
	dealloc(f, low);
	ck_assert_int_eq(serve(f, &request, &got), MAM_OK); /* absorbed */
	ck_assert_ptr_eq(got, low);
	mam_lock_take(&f->pool->lock);
	mam_streamlist_end_locked(f->pool, list);
	mam_lock_release(&f->pool->lock);
	ck_assert_int_eq(serve(f, &request, &got), MAM_ERROR_WOULD_WAIT);
	/* The record is another list now, which was not offered. */
	ck_assert_uint_eq(streamlist_new(f), list);
	ck_assert_int_eq(put(f, list, two), MAM_OK);
	ck_assert_int_eq(serve(f, &request, &got), MAM_ERROR_WOULD_WAIT);
	fixture_end(f);
}
END_TEST

START_TEST(list_is_released_in_steps_and_reused)
{
	struct fixture *f = small_pool();
	uint32_t list = streamlist_new(f);
	void *blocks[20];

	for (int i = 0; i < 20; i++)
		blocks[i] = alloc(f, 1024);
	for (int i = 0; i < 20; i += 2)
		ck_assert_int_eq(put(f, list, blocks[i]), MAM_OK);
	ck_assert_uint_eq(release(f, list, 6), 6);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 4);
	ck_assert_uint_eq(release(f, list, 6), 4);
	ck_assert_uint_eq(release(f, list, 6), 0);
	mam_lock_take(&f->pool->lock);
	mam_streamlist_end_locked(f->pool, list);
	mam_lock_release(&f->pool->lock);
	intact(f);
	ck_assert_uint_eq(streamlist_new(f), list);
	fixture_end(f);
}
END_TEST

START_TEST(chunk_with_listed_memory_stays)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = 64 * KIB });
	void *a = alloc(f, 1024);
	uint32_t list = streamlist_new(f);
	size_t released = 1;

	ck_assert_int_eq(put(f, list, a), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 0);
	release(f, list, 1);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 64 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(pool_with_listed_memory_can_be_destroyed)
{
	struct fixture *f = small_pool();
	uint32_t list = streamlist_new(f);
	void *a = alloc(f, 1024);

	ck_assert_int_eq(put(f, list, a), MAM_OK);
	ck_assert_int_eq(mam_pool_fini(f->pool), MAM_OK);
	mam_lock_take(&f->pool->lock);
	ck_assert_int_eq(mam_streamlist_put_locked(f->pool, list, (uintptr_t)a),
			 MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_streamlist_begin_locked(f->pool, &list), MAM_ERROR_DESTROYED);
	mam_lock_release(&f->pool->lock);
	fixture_end(f);
}
END_TEST

START_TEST(unused_list_must_be_empty)
{
	struct fixture *f = small_pool();
	void *a = alloc(f, 4096);
	uint32_t list = streamlist_new(f);
	char why[128] = "";

	ck_assert_int_eq(put(f, list, a), MAM_OK);
	mam_lock_take(&f->pool->lock);
	mam_streamlist_end_locked(f->pool, list);
	mam_lock_release(&f->pool->lock);
	ck_assert_int_eq(mam_pool_check(f->pool, why, sizeof(why)), MAM_ERROR_CORRUPT);
	ck_assert_str_eq(why, "an unused stream free list is not empty");
	ck_assert_uint_eq(streamlist_new(f), list);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(failed_host_allocation_changes_nothing)
{
	struct fixture *f = small_pool();
	uint32_t list = 0;
	void *a = alloc(f, 4096);

	mam_records_refuse_at(1);
	mam_lock_take(&f->pool->lock);
	ck_assert_int_eq(mam_streamlist_begin_locked(f->pool, &list), MAM_ERROR_OUT_OF_HOST_MEMORY);
	mam_lock_release(&f->pool->lock);
	ck_assert_uint_eq(list, 0);
	intact(f);
	list = streamlist_new(f);
	ck_assert_int_eq(put(f, list, a), MAM_OK);
	fixture_end(f);
}
END_TEST

/*
 * Random requests, compared with a record of what each owner freed: no block overlaps memory that
 * another owner may use, and the pool's check passes. One owner has a loose list, one a list, and
 * one a chain. The oldest list of the chain is released, ends, and begins again as the newest.
 */
#define BLOCKS 120
#define CHAIN 3
#define ENTRIES 4096

enum owner { LOOSE, SINGLE, CHAINED, OWNERS };

struct entry {
	char *from, *to;
	enum owner owner;
	unsigned turn; /* in the chain, when it was freed */
};

struct shadow {
	struct entry entry[ENTRIES];
	unsigned count;
	unsigned turn;
	uint32_t list[OWNERS]; /* the newest list of the chain */
	uint32_t chain[CHAIN]; /* in turn */
};

/* A block was placed in [from, to). `own`: in memory that `owner` freed. */
static void shadow_cut(struct shadow *shadow, char *from, char *to, bool own, enum owner owner)
{
	unsigned count = shadow->count;

	for (unsigned k = 0; k < count; k++) {
		struct entry *entry = &shadow->entry[k];

		if (entry->to == entry->from || entry->to <= from || to <= entry->from)
			continue;
		ck_assert(own && entry->owner == owner);
		if (entry->to > to && shadow->count < ENTRIES) { /* the rest above */
			shadow->entry[shadow->count] = *entry;
			shadow->entry[shadow->count++].from = to;
		}
		entry->to = entry->from < from ? from : entry->from;
	}
}

/* Releases all of a list; of a chain, its oldest list. */
static void shadow_release(struct fixture *f, struct shadow *shadow, enum owner owner)
{
	unsigned oldest = (shadow->turn + 1) % CHAIN, kept = 0;
	uint32_t list = owner == CHAINED ? shadow->chain[oldest] : shadow->list[owner];

	while (release(f, list, 64) == 64)
		;
	for (unsigned k = 0; k < shadow->count; k++) {
		const struct entry *entry = &shadow->entry[k];

		if (entry->to > entry->from &&
		    (entry->owner != owner || (owner == CHAINED && entry->turn % CHAIN != oldest)))
			shadow->entry[kept++] = *entry;
	}
	shadow->count = kept;
	if (owner != CHAINED)
		return;
	follow(f, shadow->chain[(oldest + 1) % CHAIN], 0);
	mam_lock_take(&f->pool->lock);
	mam_streamlist_end_locked(f->pool, list);
	mam_lock_release(&f->pool->lock);
	shadow->chain[oldest] = streamlist_new(f);
	follow(f, shadow->chain[oldest], shadow->list[CHAINED]);
	shadow->list[CHAINED] = shadow->chain[oldest];
	shadow->turn++;
}

/* In granules, or with _i in large, aligned blocks and small ones. */
static size_t draw_bytes(int large)
{
	size_t granules = 1 + (size_t)rand() % (rand() % 8 == 0 ? 150 : 12);

	return large && rand() % 2 ? MIB + granules * 100 * 512 : granules * 512;
}

START_TEST(random_requests_get_no_memory_of_other_owner)
{
	struct mam_pool_config config = { .chunk_bytes = _i ? 64 * MIB : 64 * KIB,
					  .large_alignment = _i ? 64 * KIB : 0 };
	struct fixture *f = fixture_new(&config);
	struct {
		char *base;
		size_t bytes;
	} blocks[BLOCKS] = { { 0 } };
	static struct shadow shadow;

	shadow.turn = CHAIN - 1;
	for (int i = 0; i < CHAIN; i++) {
		shadow.chain[i] = streamlist_new(f);
		if (i != 0)
			follow(f, shadow.chain[i], shadow.chain[i - 1]);
	}
	shadow.list[LOOSE] = loose_list_new(f);
	shadow.list[SINGLE] = streamlist_new(f);
	shadow.list[CHAINED] = shadow.chain[CHAIN - 1];
	srand(11);
	for (int step = 0; step < 60000; step++) {
		enum owner owner = (enum owner)(rand() % OWNERS);
		uint32_t list = shadow.list[owner];
		int i = rand() % BLOCKS;

		if (blocks[i].base == NULL) {
			size_t bytes = draw_bytes(_i);
			char *got = alloc_from(f, list, bytes);
			bool own = got != NULL, absorbed = false;

			if (!own && owner != LOOSE && step % 3 == 0) {
				absorbed = absorb(f, list, bytes);
				got = alloc_from(f, list, bytes);
				ck_assert(!absorbed || got != NULL);
				own = got != NULL;
			}
			if (!own)
				got = alloc(f, bytes);
			if (bytes >= MIB) {
				ck_assert_uint_eq((uintptr_t)got % (64 * KIB), 0);
				bytes = (bytes + 64 * KIB - 1) / (64 * KIB) * (64 * KIB);
			}
			shadow_cut(&shadow, got, got + bytes, own, owner);
			blocks[i].base = got;
			blocks[i].bytes = bytes;
		} else {
			ck_assert_int_eq(put(f, list, blocks[i].base), MAM_OK);
			ck_assert_uint_lt(shadow.count, ENTRIES);
			shadow.entry[shadow.count++] =
				(struct entry){ blocks[i].base, blocks[i].base + blocks[i].bytes,
						owner, shadow.turn };
			blocks[i].base = NULL;
		}
		if (step % 41 == 0 || shadow.count > ENTRIES - 64)
			shadow_release(f, &shadow, owner);
	}
	for (int i = 0; i < CHAIN; i++)
		shadow_release(f, &shadow, CHAINED);
	shadow_release(f, &shadow, LOOSE);
	shadow_release(f, &shadow, SINGLE);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 0);
	ck_assert_uint_eq(stats_of(f).retired_bytes, 0);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tests = suite_begin("stream/streamlist");

	tcase_add_test(tests, listed_memory_is_freed_but_not_reusable);
	tcase_add_test(tests, neighbors_merge_within_one_list_only);
	tcase_add_test(tests, neighbors_in_loose_list_merge_when_moved);
	tcase_add_test(tests, list_that_reuses_loose_record_is_not_loose);
	tcase_add_test(tests, best_fit_of_several_lists_is_taken);
	tcase_add_test(tests, free_neighbor_is_absorbed_if_needed);
	tcase_add_test(tests, large_blocks_from_list_are_aligned);
	tcase_add_test(tests, tail_is_absorbed_in_part);
	tcase_add_test(tests, segment_draws_neighbors_from_older_list);
	tcase_add_test(tests, list_without_older_list_draws_nothing);
	tcase_add_test(tests, small_segment_draws_large_neighbor_only_on_demand);
	tcase_add_test(tests, drawn_segment_merges_on_both_sides);
	tcase_add_test(tests, offered_list_serves_request_until_it_ends);
	tcase_add_test(tests, list_is_released_in_steps_and_reused);
	tcase_add_test(tests, chunk_with_listed_memory_stays);
	tcase_add_test(tests, pool_with_listed_memory_can_be_destroyed);
	tcase_add_test(tests, unused_list_must_be_empty);
	tcase_add_test(tests, failed_host_allocation_changes_nothing);
	tcase_add_loop_test(tests, random_requests_get_no_memory_of_other_owner, 0, 2);
	return suite_end();
}
