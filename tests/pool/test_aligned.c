/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned blocks: the memory skipped below one stays free, and every alignment value gets a valid
 * result.
 */
#include <stdlib.h>

#include "fixture.h"

static const struct mam_pool_config one_chunk = { .chunk_bytes = 64 * KIB,
						  .growth_bytes = MAM_GROWTH_NONE };

START_TEST(power_of_two_alignment_is_honored)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * MIB };
	struct fixture *f = fixture_new(&config);

	for (size_t alignment = 1; alignment <= 4 * MIB; alignment *= 2)
		ck_assert_uint_eq((uintptr_t)alloc_aligned(f, 700, alignment) % alignment, 0);
	fixture_end(f);
}
END_TEST

START_TEST(alignment_must_be_power_of_two)
{
	static const size_t alignments[] = { 3, 6, 511, 513, 1536, SIZE_MAX, SIZE_MAX - 1 };
	struct fixture *f = fixture_new(&one_chunk);

	for (size_t i = 0; i < sizeof(alignments) / sizeof(alignments[0]); i++)
		refused(f, 512, alignments[i], MAM_ERROR_INVALID_VALUE);
	fixture_end(f);
}
END_TEST

START_TEST(alignment_up_to_granule_adds_no_padding)
{
	struct fixture *f = fixture_new(&one_chunk);

	for (size_t alignment = 1; alignment <= 512; alignment *= 2)
		alloc_aligned(f, 512, alignment);
	ck_assert_picture(f, 512, "L1 L1 L1 L1 L1 L1 L1 L1 L1 L1 F118");
	fixture_end(f);
}
END_TEST

START_TEST(skipped_space_stays_free)
{
	/* Starts 512 above a multiple of every alignment. */
	struct fixture *f = fixture_new(&one_chunk);
	void *block = alloc_aligned(f, 1024, 4096);

	ck_assert_uint_eq((uintptr_t)block, f->space.piece[0].base - 512 + 4096);
	ck_assert_picture(f, 512, "F7 L2 F119");
	ck_assert_uint_eq(stats_of(f).free_blocks, 1);
	alloc(f, 7 * 512); /* and serves other requests */
	ck_assert_picture(f, 512, "L7 L2 F119");
	dealloc(f, block);
	ck_assert_picture(f, 512, "L7 F121");
	fixture_end(f);
}
END_TEST

START_TEST(free_of_aligned_block_merges_with_skipped_space)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block = alloc_aligned(f, 1024, 8192);

	dealloc(f, block);
	ck_assert_picture(f, 512, "F128");
	fixture_end(f);
}
END_TEST

START_TEST(aligned_exact_fit_is_used_whole)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *low = alloc(f, 7 * 512), *aligned = alloc(f, 1024);

	ck_assert_uint_eq((uintptr_t)aligned % 4096, 0);
	alloc(f, 512);
	dealloc(f, aligned);
	ck_assert_ptr_eq(alloc_aligned(f, 1024, 4096), aligned);
	ck_assert_picture(f, 512, "L7 L2 L1 F118");
	(void)low;
	fixture_end(f);
}
END_TEST

START_TEST(misaligned_free_block_is_skipped)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *tight = alloc(f, 4 * 512), *wall = alloc(f, 512);

	dealloc(f, tight);
	ck_assert_uint_gt((uintptr_t)alloc_aligned(f, 2048, 4096), (uintptr_t)wall);
	ck_assert_ptr_eq(alloc(f, 2048), tight);
	fixture_end(f);
}
END_TEST

START_TEST(aligned_block_is_found_among_many_misaligned)
{
	struct mam_pool_config config = { .chunk_bytes = 512 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	void *block[40], *good = NULL;

	/*
	 * Blocks of 2 KiB, separated by live blocks. Of the free blocks that they leave, one in
	 * eight starts at a multiple of 4 KiB.
	 */
	for (int i = 0; i < 40; i++) {
		block[i] = alloc(f, 2048);
		alloc(f, 512);
	}
	alloc(f, (size_t)stats_of(f).largest_free_bytes);
	for (int i = 39; i >= 0; i--) {
		if ((uintptr_t)block[i] % 4096 == 0 && good == NULL) {
			good = block[i];
			dealloc(f, good);
		} else if ((uintptr_t)block[i] % 4096) {
			dealloc(f, block[i]);
		}
	}
	ck_assert_ptr_nonnull(good);
	ck_assert_ptr_eq(alloc_aligned(f, 2048, 4096), good);
	refused(f, 2048, 4096, MAM_ERROR_OUT_OF_MEMORY);
	fixture_end(f);
}
END_TEST

START_TEST(impossible_alignment_is_refused)
{
	struct mam_pool_config config = { .chunk_bytes = 64 * KIB, .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);

	alloc(f, 512); /* an idle chunk would be released before the refusal */
	for (unsigned shift = 40; shift < 64; shift++)
		refused(f, 512, (size_t)1 << shift, MAM_ERROR_OUT_OF_MEMORY);
	refused(f, SIZE_MAX, (size_t)1 << 63, MAM_ERROR_OUT_OF_MEMORY);
	fixture_end(f);
}
END_TEST

START_TEST(growth_fits_aligned_block_at_any_chunk_base)
{
	struct mam_pool_config config = { .growth_bytes = 512 };

	for (size_t alignment = 1024; alignment <= 4 * MIB; alignment *= 2) {
		struct fixture *f = fixture_new(&config);
		void *block = alloc_aligned(f, 512, alignment);

		ck_assert_uint_eq((uintptr_t)block % alignment, 0);
		ck_assert_uint_eq(stats_of(f).grows, 1);
		fixture_end(f);
	}
}
END_TEST

START_TEST(growth_adds_nothing_if_chunks_are_aligned)
{
	struct mam_pool_config config = { .growth_bytes = 4096 };
	struct fixture *f = fixture_on(&config, SPACE_SCATTERED, 4096, 2 * MIB, 0);

	alloc_aligned(f, 64 * KIB, 2 * MIB);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 64 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(large_blocks_are_aligned_by_default)
{
	struct mam_pool_config config = { .chunk_bytes = 64 * MIB, .large_alignment = 64 * KIB };
	struct fixture *f = fixture_on(&config, SPACE_UP, 2 * MIB, 2 * MIB, 0);
	char *small = alloc(f, MIB - 512), *large = alloc(f, MIB), *next = alloc(f, 3 * MIB + 1);

	ck_assert_ptr_eq(large, small + MIB);
	ck_assert_ptr_eq(next, large + MIB);
	ck_assert_uint_eq(stats_of(f).live_rounded_bytes, 5 * MIB - 512 + 64 * KIB);
	ck_assert_ptr_eq(alloc(f, 512), large - 512); /* skipped space serves other requests */
	/* Large after rounding up. */
	ck_assert_ptr_eq(alloc(f, MIB - 511), next + 3 * MIB + 64 * KIB);
	ck_assert_uint_eq((uintptr_t)alloc_aligned(f, 2 * MIB, 4 * MIB) % (4 * MIB), 0);
	ck_assert_uint_eq((uintptr_t)alloc_aligned(f, 2 * MIB, 4096) % (64 * KIB), 0);
	dealloc(f, large);
	ck_assert_ptr_eq(alloc(f, MIB), large);
	fixture_end(f);
}
END_TEST

START_TEST(random_large_blocks_are_aligned)
{
	static const struct mam_pool_config configs[] = {
		{ .large_alignment = 64 * KIB },
		{ .large_alignment = 64 * KIB, .granule = 16 },
		{ .large_alignment = 64 * KIB, .granule = 2 * MIB },
	};
	struct fixture *f = fixture_on(&configs[_i], SPACE_SCATTERED, 2 * MIB, 2 * MIB, 0);
	void *blocks[64] = { NULL };

	srand(7);
	for (int step = 0; step < 4000; step++) {
		size_t bytes = 1 + (size_t)rand() % (rand() % 2 ? 4 * MIB : 8 * KIB);
		int i = rand() % 64;

		if (blocks[i] != NULL)
			dealloc(f, blocks[i]);
		blocks[i] = alloc(f, bytes);
		if (bytes >= MIB)
			ck_assert_uint_eq((uintptr_t)blocks[i] % (64 * KIB), 0);
	}
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/aligned");

	tcase_add_test(tcase, power_of_two_alignment_is_honored);
	tcase_add_test(tcase, alignment_must_be_power_of_two);
	tcase_add_test(tcase, alignment_up_to_granule_adds_no_padding);
	tcase_add_test(tcase, skipped_space_stays_free);
	tcase_add_test(tcase, free_of_aligned_block_merges_with_skipped_space);
	tcase_add_test(tcase, aligned_exact_fit_is_used_whole);
	tcase_add_test(tcase, misaligned_free_block_is_skipped);
	tcase_add_test(tcase, aligned_block_is_found_among_many_misaligned);
	tcase_add_test(tcase, impossible_alignment_is_refused);
	tcase_add_test(tcase, growth_fits_aligned_block_at_any_chunk_base);
	tcase_add_test(tcase, growth_adds_nothing_if_chunks_are_aligned);
	tcase_add_test(tcase, large_blocks_are_aligned_by_default);
	tcase_add_loop_test(tcase, random_large_blocks_are_aligned, 0, 3);
	return suite_end();
}
