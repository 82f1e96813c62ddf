/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a block is placed, how much memory it uses, and that a failed request leaves the pool
 * unchanged.
 */
#include <stdlib.h>

#include "fixture.h"

static const struct mam_pool_config one_chunk = { .chunk_bytes = 64 * KIB,
						  .growth_bytes = MAM_GROWTH_NONE };

START_TEST(blocks_are_placed_in_order_from_chunk_start)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *first = alloc(f, 512), *second = alloc(f, 1024), *third = alloc(f, 512);

	ck_assert_uint_eq((uintptr_t)first, f->space.piece[0].base);
	ck_assert_ptr_eq(second, at(first, 512));
	ck_assert_ptr_eq(third, at(second, 1024));
	ck_assert_picture(f, 512, "L1 L2 L1 F124");
	fixture_end(f);
}
END_TEST

START_TEST(sizes_are_rounded_up_to_granule)
{
	/* clang-format off */
	static const struct { size_t requested, rounded; } sizes[] = {
		{ 1, 512 }, { 511, 512 }, { 512, 512 }, { 513, 1024 }, { 1024, 1024 },
		{ 1025, 1536 },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct fixture *f = fixture_new(&one_chunk);

		alloc(f, sizes[i].requested);
		ck_assert_uint_eq(stats_of(f).live_rounded_bytes, sizes[i].rounded);
		ck_assert_uint_eq(stats_of(f).live_bytes, sizes[i].requested);
		fixture_end(f);
	}
}
END_TEST

START_TEST(best_fit_takes_smallest_free_block)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *wide = alloc(f, 4 * 512), *a = alloc(f, 512), *narrow = alloc(f, 2 * 512),
	     *b = alloc(f, 512);
	void *middle = alloc(f, 3 * 512), *c = alloc(f, 512);

	dealloc(f, wide);
	dealloc(f, narrow);
	dealloc(f, middle);
	ck_assert_picture(f, 512, "F4 L1 F2 L1 F3 L1 F116");
	ck_assert_ptr_eq(alloc(f, 512), narrow);
	ck_assert_ptr_eq(alloc(f, 3 * 512), middle);
	ck_assert_ptr_eq(alloc(f, 2 * 512), wide);
	ck_assert_picture(f, 512, "L2 F2 L1 L1 F1 L1 L3 L1 F116");
	(void)a, (void)b, (void)c;
	fixture_end(f);
}
END_TEST

START_TEST(exact_fit_is_used_whole)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *free_block = alloc(f, 3 * 512);
	uint64_t segments;

	alloc(f, 512);
	dealloc(f, free_block);
	segments = stats_of(f).segments;
	ck_assert_ptr_eq(alloc(f, 3 * 512 - 1), free_block);
	ck_assert_uint_eq(stats_of(f).segments, segments);
	ck_assert_uint_eq(stats_of(f).free_blocks, 0);
	fixture_end(f);
}
END_TEST

START_TEST(block_is_cut_from_front_of_free_block)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *free_block = alloc(f, 8 * 512);

	alloc(f, 512);
	dealloc(f, free_block);
	ck_assert_ptr_eq(alloc(f, 3 * 512), free_block);
	ck_assert_picture(f, 512, "L3 F5 L1 F119");
	ck_assert_ptr_eq(alloc(f, 5 * 512), at(free_block, 3 * 512));
	ck_assert_picture(f, 512, "L3 L5 L1 F119");
	fixture_end(f);
}
END_TEST

START_TEST(lower_of_equal_free_blocks_is_taken)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *low = alloc(f, 512), *wall = alloc(f, 512), *high = alloc(f, 512);

	alloc(f, 512);
	dealloc(f, _i ? low : high);
	dealloc(f, _i ? high : low);
	ck_assert_ptr_eq(alloc(f, 512), low);
	ck_assert_ptr_eq(alloc(f, 512), high);
	(void)wall;
	fixture_end(f);
}
END_TEST

/* Small free blocks are in bins, large ones in a tree: 511 granules is the last size with a bin. */
START_TEST(bins_and_tree_split_at_last_bin_size)
{
	static const size_t sizes[] = { 513, 510, 512, 511, 514, 1 };
	struct mam_pool_config config = { .chunk_bytes = 4 * MIB, .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	void *free_block[6];

	for (int i = 0; i < 6; i++) {
		free_block[i] = alloc(f, sizes[i] * 512);
		alloc(f, 512);
	}
	for (int i = 0; i < 6; i++)
		dealloc(f, free_block[i]);
	ck_assert_ptr_eq(alloc(f, 511 * 512), free_block[3]);
	ck_assert_ptr_eq(alloc(f, 512 * 512), free_block[2]);
	ck_assert_ptr_eq(alloc(f, 510 * 512), free_block[1]);
	/* From the tree into the bins; the remainder is inserted into a bin. */
	ck_assert_ptr_eq(alloc(f, 511 * 512), free_block[0]);
	ck_assert_ptr_eq(alloc(f, 2 * 512), at(free_block[0], 511 * 512));
	ck_assert_ptr_eq(alloc(f, 514 * 512), free_block[4]);
	ck_assert_ptr_eq(alloc(f, 512), free_block[5]);
	ck_assert_uint_eq(stats_of(f).free_blocks, 0);
	fixture_end(f);
}
END_TEST

START_TEST(one_block_can_fill_whole_chunk)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *all = alloc(f, 64 * KIB);

	ck_assert_picture(f, 512, "L128");
	refused(f, 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	dealloc(f, all);
	ck_assert_picture(f, 512, "F128");
	fixture_end(f);
}
END_TEST

START_TEST(one_byte_over_free_space_is_refused)
{
	struct fixture *f = fixture_new(&one_chunk);

	refused(f, 64 * KIB + 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	alloc(f, 512);
	refused(f, 64 * KIB - 511, 0, MAM_ERROR_OUT_OF_MEMORY);
	alloc(f, 64 * KIB - 512);
	fixture_end(f);
}
END_TEST

START_TEST(fragmented_space_does_not_serve_larger_request)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block[128];

	for (int i = 0; i < 128; i++)
		block[i] = alloc(f, 512);
	for (int i = 0; i < 128; i += 2)
		dealloc(f, block[i]);
	refused(f, 1024, 0, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats_of(f).largest_free_bytes, 512);
	alloc(f, 512);
	fixture_end(f);
}
END_TEST

START_TEST(impossible_size_is_refused_without_source_call)
{
	static const size_t sizes[] = {
		SIZE_MAX,       SIZE_MAX - 510,   SIZE_MAX - 511,
		SIZE_MAX - 512, SIZE_MAX / 2 + 1, (size_t)1 << 56,
	};
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	uint64_t failures = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		refused(f, sizes[i], 0, MAM_ERROR_OUT_OF_MEMORY);
		refused(f, sizes[i], 4096, MAM_ERROR_OUT_OF_MEMORY);
		ck_assert_uint_eq(stats_of(f).failures, failures += 2);
	}
	ck_assert_uint_eq(f->space.all_calls, 0);
	fixture_end(f);
}
END_TEST

START_TEST(other_granules_set_rounding_and_placement)
{
	static const size_t granules[] = { 16, 32, 256, 1024, 64 * KIB, 2 * MIB };

	for (size_t i = 0; i < sizeof(granules) / sizeof(granules[0]); i++) {
		size_t granule = granules[i];
		struct mam_pool_config config = { .chunk_bytes = 8 * granule, .granule = granule };
		struct fixture *f = fixture_on(&config, SPACE_UP, granule, granule, 0);
		void *first = alloc(f, 1), *second = alloc(f, granule + 1);

		ck_assert_ptr_eq(second, at(first, (ptrdiff_t)granule));
		ck_assert_picture(f, granule, "L1 L2 F5");
		fixture_end(f);
	}
}
END_TEST

START_TEST(granule_out_of_range_fails_init)
{
	static const size_t granules[] = { 1, 8, 15, 17, 24, 513, 4 * MIB, (size_t)1 << 63 };

	for (size_t i = 0; i < sizeof(granules) / sizeof(granules[0]); i++) {
		struct mam_pool_config config = { .chunk_bytes = 64 * MIB, .granule = granules[i] };
		struct mam_pool *pool = calloc(1, sizeof(*pool));
		struct space space;

		space_init(&space, SPACE_UP, 16 * MIB, 16 * MIB);
		ck_assert_int_eq(mam_pool_init(pool, &space.source, false, &config),
				 MAM_ERROR_INVALID_VALUE);
		ck_assert_uint_eq(space.all_calls, 0);
		space_fini(&space);
		free(pool);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/alloc");

	tcase_add_test(tcase, blocks_are_placed_in_order_from_chunk_start);
	tcase_add_test(tcase, sizes_are_rounded_up_to_granule);
	tcase_add_test(tcase, best_fit_takes_smallest_free_block);
	tcase_add_test(tcase, exact_fit_is_used_whole);
	tcase_add_test(tcase, block_is_cut_from_front_of_free_block);
	tcase_add_loop_test(tcase, lower_of_equal_free_blocks_is_taken, 0, 2);
	tcase_add_test(tcase, bins_and_tree_split_at_last_bin_size);
	tcase_add_test(tcase, one_block_can_fill_whole_chunk);
	tcase_add_test(tcase, one_byte_over_free_space_is_refused);
	tcase_add_test(tcase, fragmented_space_does_not_serve_larger_request);
	tcase_add_test(tcase, impossible_size_is_refused_without_source_call);
	tcase_add_test(tcase, other_granules_set_rounding_and_placement);
	tcase_add_test(tcase, granule_out_of_range_fails_init);
	return suite_end();
}
