/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool's interface for caches: several blocks per call, and counts of the blocks that callers
 * own.
 */
#include "cached.h"
#include "pool/batch.h"

START_TEST(blocks_after_the_first_count_as_cached)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = MIB });
	struct mam_tally tally = { 0 };
	void *block, *more[8];
	size_t got;

	ck_assert_int_eq(mam_pool_alloc_batch(f->pool, 700, 0, &tally, &block, 8, more, &got),
			 MAM_OK);
	ck_assert_uint_eq(got, 8);
	intact(f);
	ck_assert_uint_eq(stats_of(f).live_blocks, 1);
	ck_assert_uint_eq(stats_of(f).live_bytes, 700);
	ck_assert_uint_eq(stats_of(f).peak_live_blocks, 1);
	ck_assert_uint_eq(stats_of(f).allocs, 1);
	ck_assert_uint_eq(stats_of(f).cached_blocks, 8);
	ck_assert_uint_eq(stats_of(f).cached_bytes, 8 * 1024);
	ck_assert_int_eq(mam_pool_fini(f->pool), MAM_ERROR_LIVE_BLOCKS);
	mam_pool_free_batch(f->pool, more, 8, &tally);
	intact(f);
	ck_assert_uint_eq(stats_of(f).cached_blocks, 0);
	ck_assert_uint_eq(stats_of(f).frees, 0);
	ck_assert_uint_eq(stats_of(f).live_blocks, 1);
	mam_pool_free_batch(f->pool, more, 8, &tally); /* no longer live: skipped */
	intact(f);
	ck_assert_int_eq(mam_pool_free_one(f->pool, block, 0, &tally), MAM_OK);
	ck_assert_int_eq(mam_pool_free_one(f->pool, block, 0, &tally), MAM_ERROR_DOUBLE_FREE);
	ck_assert_uint_eq(stats_of(f).segments, 1);
	fixture_end(f);
}
END_TEST

START_TEST(batch_is_bounded_by_free_space)
{
	struct fixture *f = fixture_new(
		&(struct mam_pool_config){ .chunk_bytes = 4096, .growth_bytes = MAM_GROWTH_NONE });
	struct mam_tally tally = { 0 };
	void *block, *more[16];
	size_t got;

	ck_assert_int_eq(mam_pool_alloc_batch(f->pool, 512, 0, &tally, &block, 16, more, &got),
			 MAM_OK);
	ck_assert_uint_eq(got, 7);
	ck_assert_int_eq(mam_pool_alloc_batch(f->pool, 512, 0, &tally, &block, 1, more + 8, &got),
			 MAM_ERROR_WOULD_WAIT);
	ck_assert_uint_eq(stats_of(f).failures, 0);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(tally_is_added_to_counts_with_its_peaks)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = MIB });
	struct mam_tally tally = { 0 };
	void *block, *more[4];
	size_t got;

	ck_assert_int_eq(mam_pool_alloc_batch(f->pool, 512, 0, &tally, &block, 4, more, &got),
			 MAM_OK);
	for (int i = 0; i < 3; i++)
		mam_tally_alloc(&tally, 500, 512);
	mam_tally_free(&tally, 500, 512);
	mam_pool_meet(f->pool, &tally);
	intact(f);
	ck_assert_uint_eq(stats_of(f).live_blocks, 3);
	ck_assert_uint_eq(stats_of(f).peak_live_blocks, 4);
	ck_assert_uint_eq(stats_of(f).live_bytes, 512 + 2 * 500);
	ck_assert_uint_eq(stats_of(f).peak_live_bytes, 512 + 3 * 500);
	ck_assert_uint_eq(stats_of(f).cached_blocks, 2);
	ck_assert_uint_eq(tally.allocs, 0);
	ck_assert_uint_eq(tally.reserved_bytes, MIB);
	/* Only the caller knows the requested size. */
	ck_assert_int_eq(mam_pool_free_one(f->pool, more[0], 500, &tally), MAM_OK);
	ck_assert_uint_eq(stats_of(f).live_bytes, 512 + 500);
	mam_pool_amend(f->pool, more[1], 500, &tally);
	ck_assert_int_eq(mam_pool_free(f->pool, more[1]), MAM_OK);
	ck_assert_uint_eq(stats_of(f).live_bytes, 512);
	fixture_end(f);
}
END_TEST

/* One thread reports its allocations; others have not yet reported their frees, repeatedly. */
START_TEST(peaks_never_exceed_existing_blocks)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = MIB });
	struct mam_tally reported = { 0 }, other = { 0 };
	void *block, *more[2];
	size_t got;

	ck_assert_int_eq(mam_pool_alloc_batch(f->pool, 1024, 0, &reported, &block, 2, more, &got),
			 MAM_OK);
	for (int i = 0; i < 10; i++) {
		mam_tally_alloc(&reported, 1000, 1024);
		mam_tally_free(&other, 1000, 1024);
	}
	mam_pool_meet(f->pool, &reported);
	ck_assert_int_eq(mam_pool_alloc_batch(f->pool, 512, 0, &reported, &block, 0, more, &got),
			 MAM_OK);
	ck_assert_uint_eq(stats_of(f).peak_live_blocks, 4);
	ck_assert_uint_eq(stats_of(f).peak_live_bytes, 3 * 1024 + 512);
	ck_assert_uint_eq(stats_of(f).peak_live_rounded_bytes, 3 * 1024 + 512);
	mam_pool_meet(f->pool, &other);
	ck_assert_uint_eq(stats_of(f).live_blocks, 2);
	ck_assert_uint_eq(stats_of(f).live_bytes, 1024 + 512);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(fresh_space_is_refused_above_limit)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = MIB });
	struct mam_tally tally = { 0 };
	void *first, *second, *third;

	ck_assert_int_eq(mam_pool_alloc_below(f->pool, 64 * KIB, 0, &tally, 0, &first), MAM_OK);
	ck_assert_int_eq(mam_pool_alloc_below(f->pool, 64 * KIB, 0, &tally, 0, &second),
			 MAM_ERROR_WOULD_WAIT);
	ck_assert_uint_eq(tally.high_bytes, 64 * KIB);
	ck_assert_int_eq(mam_pool_alloc_below(f->pool, 64 * KIB, 0, &tally, 64 * KIB, &second),
			 MAM_OK);
	dealloc(f, first);
	/* A free block that fits is not fresh memory. */
	ck_assert_int_eq(mam_pool_alloc_below(f->pool, 64 * KIB, 0, &tally, 0, &third), MAM_OK);
	ck_assert_ptr_eq(third, first);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/batch");

	tcase_add_test(tcase, blocks_after_the_first_count_as_cached);
	tcase_add_test(tcase, batch_is_bounded_by_free_space);
	tcase_add_test(tcase, tally_is_added_to_counts_with_its_peaks);
	tcase_add_test(tcase, peaks_never_exceed_existing_blocks);
	tcase_add_test(tcase, fresh_space_is_refused_above_limit);
	return suite_end();
}
