/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics: each event is counted exactly once, peaks persist, and structs of other sizes work.
 * test_random compares the counters all the time.
 */
#include <string.h>

#include "base/clock.h"
#include "fixture.h"
#include "pool/streamlist.h"

static const struct mam_pool_config one_chunk = { .chunk_bytes = 64 * KIB,
						  .growth_bytes = MAM_GROWTH_NONE };

START_TEST(new_pool_counts_only_its_chunk)
{
	struct fixture *f = fixture_new(&one_chunk);
	struct mam_stats stats = stats_of(f);

	ck_assert_uint_eq(stats.chunks, 1);
	ck_assert_uint_eq(stats.grows, 1);
	ck_assert_uint_eq(stats.segments, 1);
	ck_assert_uint_eq(stats.reserved_bytes, 64 * KIB);
	ck_assert_uint_eq(stats.peak_reserved_bytes, 64 * KIB);
	ck_assert_uint_eq(stats.largest_free_bytes, 64 * KIB);
	ck_assert_uint_eq(stats.live_blocks + stats.live_bytes + stats.live_rounded_bytes, 0);
	ck_assert_uint_eq(
		stats.free_blocks + stats.free_block_bytes + stats.largest_free_block_bytes, 0);
	ck_assert_uint_eq(stats.allocs + stats.frees + stats.failures + stats.shrinks, 0);
	ck_assert_uint_eq(stats.high_water_bytes, 0);
	ck_assert_uint_gt(stats.host_bytes, 0);
	fixture_end(f);
}
END_TEST

/* Chunks added and released, refused calls, and the time that they took, and no more. */
START_TEST(source_calls_are_counted_and_timed)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB, .growth_bytes = 64 * KIB };
	uint64_t began = mam_clock_ns();
	struct fixture *f = fixture_new(&config);
	struct mam_stats stats = stats_of(f);
	void *block;

	ck_assert_uint_eq(stats.driver_calls, 1);
	ck_assert_uint_gt(stats.driver_ns, 0);
	alloc(f, 16 * KIB);
	ck_assert_uint_eq(stats_of(f).driver_calls, 1);
	space_refuse(&f->space, SPACE_GROW, 1, 2, MAM_ERROR_OUT_OF_MEMORY);
	block = alloc(f, 8 * KIB); /* 64 and 32 KiB are refused */
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 4);
	ck_assert_uint_eq(stats_of(f).driver_calls, 4);
	space_refuse(&f->space, SPACE_GROW, 1, 9, MAM_ERROR_DRIVER);
	refused(f, MIB, 0, MAM_ERROR_DRIVER);
	space_refuse_none(&f->space);
	ck_assert_uint_eq(stats_of(f).driver_calls, f->space.calls[SPACE_GROW]);
	dealloc(f, block);
	space_refuse(&f->space, SPACE_SHRINK, 1, 1, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, NULL), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(f->space.calls[SPACE_SHRINK], 2);
	ck_assert_uint_eq(stats_of(f).driver_calls, f->space.calls[SPACE_GROW] + 2);
	stats = stats_of(f);
	ck_assert_uint_le(stats.driver_ns, mam_clock_ns() - began);
	ck_assert_uint_eq(stats.shrinks, 1);
	fixture_end(f);
}
END_TEST

static uint64_t seven(struct mam_source *source)
{
	(void)source;
	return 7;
}

START_TEST(source_can_report_time_of_its_calls)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .growth_bytes = 16 * KIB });
	struct mam_source_ops ops = *f->space.source.ops;
	const struct mam_source_ops *own = f->space.source.ops;

	ops.cost = seven;
	f->space.source.ops = &ops;
	alloc(f, 16 * KIB);
	alloc(f, 16 * KIB);
	ck_assert_uint_eq(stats_of(f).driver_calls, 2);
	ck_assert_uint_eq(stats_of(f).driver_ns, 7);
	f->space.source.ops = own;
	fixture_end(f);
}
END_TEST

START_TEST(live_bytes_count_requested_and_rounded)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block = alloc(f, 700);
	struct mam_stats stats;

	alloc(f, 1);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.live_blocks, 2);
	ck_assert_uint_eq(stats.live_bytes, 701);
	ck_assert_uint_eq(stats.live_rounded_bytes, 1536);
	dealloc(f, block);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.live_blocks, 1);
	ck_assert_uint_eq(stats.live_bytes, 1);
	ck_assert_uint_eq(stats.live_rounded_bytes, 512);
	ck_assert_uint_eq(stats.allocs, 2);
	ck_assert_uint_eq(stats.frees, 1);
	fixture_end(f);
}
END_TEST

START_TEST(peaks_are_independent)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *many[5], *large;
	struct mam_stats stats;

	for (int i = 0; i < 5; i++)
		many[i] = alloc(f, 1); /* most blocks */
	for (int i = 0; i < 5; i++)
		dealloc(f, many[i]);
	large = alloc(f, 4096); /* most bytes */
	dealloc(f, large);
	many[0] = alloc(f, 2049); /* and later less of everything */
	dealloc(f, many[0]);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.peak_live_blocks, 5);
	ck_assert_uint_eq(stats.peak_live_bytes, 4096);
	ck_assert_uint_eq(stats.peak_live_rounded_bytes, 4096);
	fixture_end(f);
}
END_TEST

START_TEST(high_water_is_highest_block_end)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *low = alloc(f, 4096), *high = alloc(f, 512);

	dealloc(f, low);
	ck_assert_uint_eq(stats_of(f).high_water_bytes, 4608);
	dealloc(f, high);
	alloc(f, 512);
	ck_assert_uint_eq(stats_of(f).high_water_bytes, 4608);
	alloc(f, 4608);
	ck_assert_uint_eq(stats_of(f).high_water_bytes, 5120);
	fixture_end(f);
}
END_TEST

START_TEST(high_water_is_sum_over_chunks)
{
	struct mam_pool_config config = { .growth_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);

	alloc(f, 10 * KIB);
	alloc(f, 12 * KIB);
	ck_assert_uint_eq(stats_of(f).high_water_bytes, 22 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(free_chunk_ends_are_not_counted_as_free_blocks)
{
	struct mam_pool_config config = { .growth_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	void *free_block;
	struct mam_stats stats;

	free_block = alloc(f, 3 * KIB);
	alloc(f, 5 * KIB); /* chunk 1: free block, live block, free end of 8 KiB */
	dealloc(f, free_block);
	alloc(f, 12 * KIB); /* chunk 2: live block, fresh end of 4 KiB */
	stats = stats_of(f);
	ck_assert_picture(f, KIB, "F3 L5 F8 | L12 F4");
	ck_assert_uint_eq(stats.free_blocks, 1);
	ck_assert_uint_eq(stats.free_block_bytes, 3 * KIB);
	ck_assert_uint_eq(stats.largest_free_block_bytes, 3 * KIB);
	ck_assert_uint_eq(stats.largest_free_bytes, 8 * KIB);
	ck_assert_uint_eq(stats.segments, 5);
	fixture_end(f);
}
END_TEST

START_TEST(largest_free_block_is_found_among_many)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block[10];

	for (size_t i = 0; i < 10; i++) {
		block[i] = alloc(f, (i * 3 % 10 + 1) * 512);
		alloc(f, 512);
	}
	for (int i = 0; i < 10; i++)
		dealloc(f, block[i]);
	ck_assert_uint_eq(stats_of(f).free_blocks, 10);
	ck_assert_uint_eq(stats_of(f).free_block_bytes, 55 * 512);
	ck_assert_uint_eq(stats_of(f).largest_free_block_bytes, 10 * 512);
	fixture_end(f);
}
END_TEST

START_TEST(refused_request_counts_only_as_failure)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block;

	refused(f, 65 * KIB, 0, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats_of(f).failures, 1);
	refused(f, SIZE_MAX, 0, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats_of(f).failures, 2);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 65 * KIB, 0, &block), MAM_ERROR_WOULD_WAIT);
	ck_assert_uint_eq(stats_of(f).failures, 2);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, SIZE_MAX, 0, &block),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats_of(f).failures, 3);
	kept(f, f, MAM_ERROR_NOT_OWNED); /* an invalid free is not a failed request */
	ck_assert_uint_eq(stats_of(f).failures, 3);
	ck_assert_uint_eq(stats_of(f).allocs, 0);
	fixture_end(f);
}
END_TEST

START_TEST(older_caller_gets_its_fields)
{
	struct fixture *f = fixture_new(&one_chunk);
	struct mam_stats stats;

	alloc(f, 700);
	memset(&stats, 0x5a, sizeof(stats));
	stats.size = offsetof(struct mam_stats, live_rounded_bytes);
	ck_assert_int_eq(mam_pool_stats(f->pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.live_blocks, 1);
	ck_assert_uint_eq(stats.live_bytes, 700);
	ck_assert_uint_eq(stats.live_rounded_bytes, 0x5a5a5a5a5a5a5a5a);
	ck_assert_uint_eq(stats.size, offsetof(struct mam_stats, live_rounded_bytes));
	fixture_end(f);
}
END_TEST

START_TEST(newer_caller_gets_zeros_for_unknown_fields)
{
	struct fixture *f = fixture_new(&one_chunk);
	struct {
		struct mam_stats known;
		uint64_t unknown[2];
		uint64_t beyond;
	} stats;

	memset(&stats, 0x5a, sizeof(stats));
	stats.known.size = offsetof(typeof(stats), beyond);
	ck_assert_int_eq(mam_pool_stats(f->pool, &stats.known), MAM_OK);
	ck_assert_uint_eq(stats.unknown[0] + stats.unknown[1], 0);
	ck_assert_uint_eq(stats.beyond, 0x5a5a5a5a5a5a5a5a);
	ck_assert_uint_eq(stats.known.size, offsetof(typeof(stats), beyond));
	fixture_end(f);
}
END_TEST

START_TEST(struct_without_size_is_rejected)
{
	struct fixture *f = fixture_new(&one_chunk);
	struct mam_stats stats = { .size = 0, .live_blocks = 77 };

	ck_assert_int_eq(mam_pool_stats(f->pool, &stats), MAM_ERROR_INVALID_VALUE);
	stats.size = sizeof(size_t) - 1;
	ck_assert_int_eq(mam_pool_stats(f->pool, &stats), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(stats.live_blocks, 77);
	ck_assert_int_eq(mam_pool_stats(f->pool, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_stats(NULL, &stats), MAM_ERROR_INVALID_VALUE);
	fixture_end(f);
}
END_TEST

/* Those of the pool and of streams, as long as the pool exists: another list reuses them. */
START_TEST(host_bytes_include_free_lists)
{
	struct fixture *f = fixture_new(&one_chunk);
	uint64_t empty = stats_of(f).host_bytes, before, with_list;
	void *low = alloc(f, 512), *middle = alloc(f, 512);
	uint32_t list = 0;

	(void)alloc(f, 512);
	ck_assert_int_eq(mam_pool_free(f->pool, low), MAM_OK);
	before = stats_of(f).host_bytes;
	ck_assert_uint_ge(before, empty + 3 * 4096);
	mam_lock_take(&f->pool->lock);
	ck_assert_int_eq(mam_streamlist_begin_locked(f->pool, &list), MAM_OK);
	ck_assert_int_eq(mam_streamlist_put_locked(f->pool, list, (uintptr_t)middle), MAM_OK);
	mam_lock_release(&f->pool->lock);
	with_list = stats_of(f).host_bytes;
	ck_assert_uint_ge(with_list, before + 3 * 4096 + sizeof(struct mam_streamlist));
	mam_lock_take(&f->pool->lock);
	ck_assert_uint_eq(mam_streamlist_release_locked(f->pool, list, 1), 1);
	mam_streamlist_end_locked(f->pool, list);
	ck_assert_int_eq(mam_streamlist_begin_locked(f->pool, &list), MAM_OK);
	mam_lock_release(&f->pool->lock);
	ck_assert_uint_eq(stats_of(f).host_bytes, with_list);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/stats");

	tcase_add_test(tcase, new_pool_counts_only_its_chunk);
	tcase_add_test(tcase, source_calls_are_counted_and_timed);
	tcase_add_test(tcase, source_can_report_time_of_its_calls);
	tcase_add_test(tcase, live_bytes_count_requested_and_rounded);
	tcase_add_test(tcase, peaks_are_independent);
	tcase_add_test(tcase, high_water_is_highest_block_end);
	tcase_add_test(tcase, high_water_is_sum_over_chunks);
	tcase_add_test(tcase, free_chunk_ends_are_not_counted_as_free_blocks);
	tcase_add_test(tcase, largest_free_block_is_found_among_many);
	tcase_add_test(tcase, refused_request_counts_only_as_failure);
	tcase_add_test(tcase, older_caller_gets_its_fields);
	tcase_add_test(tcase, newer_caller_gets_zeros_for_unknown_fields);
	tcase_add_test(tcase, struct_without_size_is_rejected);
	tcase_add_test(tcase, host_bytes_include_free_lists);
	return suite_end();
}
