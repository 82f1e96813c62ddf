/* SPDX-License-Identifier: Apache-2.0 */
/* A pool with a cache, used by one thread: callers see the same behavior as without a cache. */
#include <stdlib.h>

#include <mam/source.h>
#include <mam/stream.h>

#include "base/event.h"
#include "cached.h"

#define SLOTS 200
#define STEPS 100000

static struct mam_pool *pool;

static void begin(void)
{
	pool = cached_pool(64 * MIB);
}

START_TEST(freed_block_is_reused_without_pool)
{
	void *block = pool_alloc(pool, 300);

	pool_free(pool, block);
	ck_assert_uint_eq(numbers(pool).cached_blocks, 1);
	ck_assert_ptr_eq(pool_alloc(pool, 512), block); /* rounds up to the same granule */
	ck_assert_uint_eq(numbers(pool).cached_blocks, 0);
	ck_assert_uint_eq(numbers(pool).live_bytes, 512);
	pool_free(NULL, block);
	ck_assert_uint_eq(numbers(pool).allocs, 2);
	ck_assert_uint_eq(numbers(pool).frees, 2);
	done_with(pool);
}
END_TEST

START_TEST(block_up_to_an_eighth_larger_is_reused)
{
	void *block = pool_alloc(pool, 90 * KIB), *next;
	size_t bytes;

	pool_free(pool, block);
	ck_assert_ptr_eq(pool_alloc(pool, 80 * KIB), block);
	ck_assert_int_eq(mam_usable_size(pool, block, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, 90 * KIB);
	ck_assert_uint_eq(numbers(pool).live_bytes, 80 * KIB);
	ck_assert_uint_eq(numbers(pool).live_rounded_bytes, 90 * KIB);
	pool_free(pool, block);
	next = pool_alloc(pool, 79 * KIB);
	ck_assert_ptr_ne(next, block);
	pool_free(pool, next);
	done_with(pool);
}
END_TEST

/* Operations without the pool are counted before the next one with it. */
START_TEST(free_that_bypasses_cache_keeps_peak_correct)
{
	void *block = pool_alloc(pool, 64 * KIB), *large = NULL;

	pool_free(pool, block);
	ck_assert_uint_eq(numbers(pool).live_bytes, 0);
	ck_assert_int_eq(mam_malloc_async(pool, MIB, NULL, &large), MAM_OK);
	ck_assert_ptr_eq(pool_alloc(pool, 64 * KIB), block);
	ck_assert_int_eq(mam_free_async(pool, large, NULL), MAM_OK);
	ck_assert_uint_eq(numbers(pool).peak_live_bytes, MIB + 64 * KIB);
	pool_free(pool, block);
	done_with(pool);
}
END_TEST

START_TEST(misuse_has_same_statuses_as_without_cache)
{
	char *block = pool_alloc(pool, 4096), *large = pool_alloc(pool, 48 * KIB);
	struct mam_pool *stranger = cached_pool(MIB), *owner;
	struct mam_segment_info segment = { .size = sizeof(segment) };
	size_t bytes;

	ck_assert_int_eq(mam_free(pool, block + 512), MAM_ERROR_INTERIOR);
	ck_assert_int_eq(mam_free(pool, block + 1), MAM_ERROR_INTERIOR);
	ck_assert_int_eq(mam_free(pool, large + 512), MAM_ERROR_INTERIOR);
	ck_assert_int_eq(mam_free(stranger, block), MAM_ERROR_NOT_OWNED);
	pool_free(pool, block);
	pool_free(pool, large);
	for (int i = 0; i < 2; i++) { /* cached at first, then not */
		ck_assert_int_eq(mam_free(pool, block), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free(NULL, block), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free(pool, large), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free(pool, large + 512), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free(pool, block + 512), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free(stranger, block), MAM_ERROR_NOT_OWNED);
		ck_assert_int_eq(mam_usable_size(pool, block, &bytes), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_pool_retire(pool, block, NULL, NULL), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_pool_retire(pool, large + 512, NULL, NULL),
				 MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free_async(pool, block, NULL), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free_async(pool, large, NULL), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free_async(pool, large + 512, NULL), MAM_ERROR_DOUBLE_FREE);
		/* Where no tag nearby reveals it. */
		ck_assert_int_eq(mam_free(pool, large + 40 * KIB), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free_async(pool, large + 40 * KIB, NULL),
				 MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_pool_retire(pool, large + 40 * KIB, NULL, NULL),
				 MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_owner(large, &owner, &segment), MAM_OK);
		ck_assert_ptr_eq(owner, pool);
		ck_assert(!segment.live);
		ck_assert_uint_eq(segment.requested, 0);
		ck_assert_int_eq(mam_pool_trim(pool, SIZE_MAX, NULL), MAM_OK);
	}
	done_with(stranger);
	done_with(pool);
}
END_TEST

/* A tag that shows the size must not make a block belong to any other pool. */
START_TEST(usable_size_is_that_of_block_that_serves)
{
	void *block = pool_alloc(pool, 90 * KIB), *large = pool_alloc(pool, 2 * MIB);
	struct mam_pool *stranger = cached_pool(MIB);
	size_t bytes = 1;

	pool_free(pool, block);
	ck_assert_ptr_eq(pool_alloc(pool, 81 * KIB), block);
	for (int tagged = 1; tagged >= 0; tagged--) { /* then a block that bypasses the cache */
		ck_assert_int_eq(mam_usable_size(stranger, block, &bytes), MAM_ERROR_NOT_OWNED);
		ck_assert_uint_eq(bytes, 1);
		ck_assert_int_eq(mam_usable_size(pool, block, &bytes), MAM_OK);
		ck_assert_uint_eq(bytes, tagged ? 90 * KIB : 2 * MIB);
		ck_assert_int_eq(mam_usable_size(NULL, block, &bytes), MAM_OK);
		ck_assert_uint_eq(bytes, tagged ? 90 * KIB : 2 * MIB);
		ck_assert_int_eq(mam_usable_size(pool, (char *)block + 512, &bytes),
				 MAM_ERROR_INTERIOR);
		bytes = 1;
		pool_free(pool, block);
		block = large;
	}
	ck_assert_int_eq(mam_pool_destroy(stranger), MAM_OK);
	done_with(pool);
}
END_TEST

static size_t live_seen, free_seen, requested_seen;

static bool count(const struct mam_segment_info *segment, void *user)
{
	(void)user;
	*(segment->live ? &live_seen : &free_seen) += 1;
	requested_seen += segment->requested;
	return true;
}

START_TEST(walk_reports_blocks_of_callers_only)
{
	void *first = pool_alloc(pool, 1000), *second = pool_alloc(pool, 600),
	     *third = pool_alloc(pool, 90 * KIB);

	pool_free(pool, first);
	first = pool_alloc(pool, 1024);
	pool_free(pool, second);
	ck_assert_int_eq(mam_pool_walk(pool, count, NULL), MAM_OK);
	ck_assert_uint_eq(live_seen, 2);
	ck_assert_uint_eq(requested_seen, 1024 + 90 * KIB);
	ck_assert_uint_eq(free_seen, 2); /* memory of the second one, and the rest of the chunk */
	pool_free(pool, first);
	pool_free(pool, third);
	done_with(pool);
}
END_TEST

START_TEST(retired_block_bypasses_cache)
{
	void *block = pool_alloc(pool, 1000);
	size_t bytes, reclaimed;
	uint64_t ticket;

	pool_free(pool, block);
	block = pool_alloc(pool, 700);
	ck_assert_int_eq(mam_pool_retire(pool, block, &ticket, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, 1024);
	ck_assert_uint_eq(numbers(pool).live_bytes, 0);
	ck_assert_uint_eq(numbers(pool).retired_bytes, 1024);
	ck_assert_int_eq(mam_free(pool, block), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_pool_reclaim(pool, ticket, &reclaimed), MAM_OK);
	ck_assert_uint_eq(reclaimed, 1024);
	done_with(pool);
}
END_TEST

/*
 * The same random requests on a pool with a cache and on one without: equal statistics throughout.
 */
START_TEST(statistics_match_pool_without_cache)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	void *with[SLOTS] = { NULL }, *without[SLOTS] = { NULL };
	struct mam_pool *plain;

	attr.source = "host";
	attr.chunk_bytes = 64 * MIB;
	attr.cache = MAM_CACHE_OFF;
	ck_assert_int_eq(mam_pool_create(&attr, &plain), MAM_OK);
	ck_assert_ptr_null(plain->cache);
	srandom(1);
	for (size_t step = 0; step < STEPS; step++) {
		size_t slot = (size_t)random() % SLOTS;
		size_t bytes = (size_t)random() % ((size_t)512 << random() % 13) + 1;

		if (with[slot]) {
			pool_free(pool, with[slot]);
			pool_free(plain, without[slot]);
		}
		with[slot] = pool_alloc(pool, bytes);
		without[slot] = pool_alloc(plain, bytes);
		if (step % (STEPS / 50) == 0) {
			struct mam_stats ours = numbers(pool), theirs = numbers(plain);

			ck_assert_uint_eq(ours.live_blocks, theirs.live_blocks);
			ck_assert_uint_eq(ours.live_bytes, theirs.live_bytes);
			ck_assert_uint_eq(ours.peak_live_blocks, theirs.peak_live_blocks);
			ck_assert_uint_eq(ours.peak_live_bytes, theirs.peak_live_bytes);
			ck_assert_uint_eq(ours.allocs, theirs.allocs);
			ck_assert_uint_eq(ours.frees, theirs.frees);
			ck_assert_uint_eq(ours.failures, theirs.failures);
			ck_assert_uint_ge(ours.live_rounded_bytes, theirs.live_rounded_bytes);
			ck_assert_uint_le(ours.live_rounded_bytes,
					  theirs.live_rounded_bytes / 8 * 9);
			ck_assert_uint_le(ours.cached_bytes, ours.reserved_bytes / 4 + 65536);
			ck_assert_uint_eq(theirs.cached_blocks, 0);
		}
	}
	for (size_t slot = 0; slot < SLOTS; slot++) {
		if (with[slot])
			pool_free(pool, with[slot]);
		if (without[slot])
			pool_free(plain, without[slot]);
	}
	done_with(pool);
	done_with(plain);
}
END_TEST

START_TEST(uncacheable_blocks_go_to_pool)
{
	void *aligned, *again, *now;

	ck_assert_int_eq(mam_malloc_aligned(pool, 1000, 4096, &aligned), MAM_OK);
	pool_free(pool, aligned);
	ck_assert_uint_eq(numbers(pool).cached_blocks, 0);
	pool_free(pool, pool_alloc(pool, MIB + 1));
	ck_assert_uint_eq(numbers(pool).cached_blocks, 0);
	pool_free(pool, pool_alloc(pool, MIB));
	ck_assert_uint_eq(numbers(pool).cached_blocks, 1);
	ck_assert_int_eq(mam_malloc_aligned(pool, MIB, 512, &again), MAM_OK);
	ck_assert_uint_eq(numbers(pool).cached_blocks, 0);
	pool_free(pool, again);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, MIB, 0, &now), MAM_OK);
	ck_assert_ptr_eq(now, again);
	pool_free(pool, now);
	done_with(pool);
}
END_TEST

START_TEST(granule_decides_cached_sizes)
{
	static const size_t granules[] = { 16, 256, 512, 4096, MIB, 2 * MIB };

	for (size_t i = 0; i < sizeof(granules) / sizeof(granules[0]); i++) {
		struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
		struct mam_pool *other;
		void *block;

		attr.source = "host";
		attr.chunk_bytes = 64 * MIB;
		attr.granule = granules[i];
		ck_assert_int_eq(mam_pool_create(&attr, &other), MAM_OK);
		block = pool_alloc(other, 1);
		pool_free(other, block);
		ck_assert_uint_eq(numbers(other).cached_blocks,
				  granules[i] >= 512 && granules[i] <= MIB);
		ck_assert_ptr_eq(pool_alloc(other, granules[i]), block);
		ck_assert_uint_eq(numbers(other).live_rounded_bytes, granules[i]);
		pool_free(other, block);
		done_with(other);
	}
	done_with(pool);
}
END_TEST

static size_t reported[2];

static void listen(const struct mam_event *event, void *user)
{
	(void)user;
	if (event->kind == MAM_EVENT_ALLOC)
		reported[0] += event->bytes;
	else if (event->kind == MAM_EVENT_FREE)
		reported[1] += event->bytes;
}

START_TEST(listeners_get_all_events)
{
	void *block = pool_alloc(pool, 700);

	ck_assert(mam_event_subscribe(listen, NULL));
	pool_free(pool, block);
	for (size_t bytes = 600; bytes < 610; bytes++)
		pool_free(pool, pool_alloc(pool, bytes));
	ck_assert(mam_event_unsubscribe(listen, NULL));
	ck_assert_uint_eq(reported[0], 6045);
	ck_assert_uint_eq(reported[1], 6045 + 700);
	done_with(pool);
}
END_TEST

START_TEST(addresses_are_reused_by_other_pool)
{
	void *block = pool_alloc(pool, 5000), *theirs = NULL;
	struct mam_pool *next = NULL;

	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK); /* with a live block: its tag stays */
	ck_assert_int_eq(mam_free(pool, block), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_free(NULL, block), MAM_ERROR_NOT_OWNED);
	for (int i = 0; i < 8 && !next; i++) {
		next = cached_pool(64 * MIB);
		theirs = pool_alloc(next, 5000);
		pool_free(next, theirs);
		theirs = pool_alloc(next, 5000);
		ck_assert_int_eq(mam_free(pool, theirs), MAM_ERROR_DESTROYED);
		pool_free(NULL, theirs);
	}
	done_with(next);
}
END_TEST

/* Cache limit on mapped memory: a 256th of all memory, up to 12 MiB per thread. */
START_TEST(cache_is_smaller_on_mapped_memory)
{
	static const struct {
		size_t total_gib, max_mib;
	} row[] = { { 1, 4 }, { 2, 8 }, { 80, 12 } };
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct mam_pool_attr pool_attr = MAM_POOL_ATTR_INIT;
	struct mam_source *source;
	struct mam_pool *mapped;
	void *block[20];

	attr.simulated = true;
	attr.total_bytes = row[_i].total_gib << 30;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_OK);
	pool_attr.cache = MAM_CACHE_ON;
	ck_assert_int_eq(mam_pool_create_on(source, &pool_attr, &mapped), MAM_OK);
	for (int i = 0; i < 20; i++)
		block[i] = pool_alloc(mapped, MIB);
	for (int i = 0; i < 20; i++)
		pool_free(mapped, block[i]);
	ck_assert_uint_le(numbers(mapped).cached_bytes, row[_i].max_mib * MIB);
	ck_assert_uint_ge(numbers(mapped).cached_bytes, row[_i].max_mib * MIB / 2);
	done_with(mapped);
	mam_source_destroy(source);
	done_with(pool);
}
END_TEST

/*
 * As attr.spare_bytes promises: free memory above it is released automatically, also when frees
 * bypass a cache.
 */
START_TEST(frees_that_bypass_cache_release_above_spare)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *own = NULL;
	void *large[8], *small[4096];

	attr.source = "host";
	attr.cache = MAM_CACHE_ON;
	attr.growth_bytes = MIB;
	attr.spare_bytes = MIB;
	ck_assert_int_eq(mam_pool_create(&attr, &own), MAM_OK);
	for (int i = 0; i < 8; i++)
		large[i] = pool_alloc(own, MIB);
	for (int i = 0; i < 8; i++)
		pool_free(own, large[i]);
	ck_assert_uint_eq(numbers(own).reserved_bytes, MIB);
	for (int i = 0; i < 4096; i++)
		small[i] = pool_alloc(own, 8192);
	ck_assert_uint_ge(numbers(own).reserved_bytes, 32 * MIB);
	for (int i = 0; i < 4096; i++)
		pool_free(own, small[i]);
	/* Cached memory is not free; evicted memory was. */
	ck_assert_uint_lt(numbers(own).reserved_bytes, 32 * MIB);
	ck_assert_uint_le(numbers(own).reserved_bytes, numbers(own).cached_bytes + 4 * MIB);
	done_with(own);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/cache");

	tcase_add_checked_fixture(tcase, begin, NULL);
	tcase_add_test(tcase, freed_block_is_reused_without_pool);
	tcase_add_test(tcase, block_up_to_an_eighth_larger_is_reused);
	tcase_add_test(tcase, free_that_bypasses_cache_keeps_peak_correct);
	tcase_add_test(tcase, misuse_has_same_statuses_as_without_cache);
	tcase_add_test(tcase, usable_size_is_that_of_block_that_serves);
	tcase_add_test(tcase, walk_reports_blocks_of_callers_only);
	tcase_add_test(tcase, retired_block_bypasses_cache);
	tcase_add_test(tcase, statistics_match_pool_without_cache);
	tcase_add_test(tcase, uncacheable_blocks_go_to_pool);
	tcase_add_test(tcase, granule_decides_cached_sizes);
	tcase_add_test(tcase, listeners_get_all_events);
	tcase_add_test(tcase, addresses_are_reused_by_other_pool);
	tcase_add_test(tcase, frees_that_bypass_cache_release_above_spare);
	tcase_add_loop_test(tcase, cache_is_smaller_on_mapped_memory, 0, 3);
	return suite_end();
}
