/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bins: the smallest block that fits, the newest first, evictions, and the effect of a double free.
 */
#include "cached.h"

#define BASE ((uintptr_t)0x7f2000000000)

static struct mam_bins bins;
static struct mam_bins other;

static void begin(void)
{
	memset(&bins, 0, sizeof(bins));
	memset(&other, 0, sizeof(other));
	bins.key = mam_blocktag_cached_key(1);
	other.key = mam_blocktag_cached_key(2);
}

/* Blocks far enough apart for any size. */
static uintptr_t block_of(size_t number)
{
	return BASE + number * ((uintptr_t)2 << 20);
}

static void push(struct mam_bins *into, size_t number, uint64_t granules)
{
	mam_bins_push(into, block_of(number), mam_blocktag_make(block_of(number), granules),
		      granules);
	ck_assert_ptr_null(mam_bins_check(into));
}

static uintptr_t pop(uint64_t granules)
{
	mam_blocktag_word *tag;
	uintptr_t block = mam_bins_pop(&bins, granules, &tag);

	ck_assert_ptr_null(mam_bins_check(&bins));
	if (block != 0)
		mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
	return block;
}

START_TEST(best_fit_is_found)
{
	static const uint64_t sizes[] = { 1, 2, 63, 64, 65, 127, 128, 1000, 2047, 2048 };

	ck_assert_uint_eq(mam_bins_best(&bins, 1, MAM_BLOCKTAG_MAX), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		push(&bins, i, sizes[i]);
	for (uint64_t min = 1; min <= MAM_BLOCKTAG_MAX; min++) {
		size_t i = 0;

		while (sizes[i] < min)
			i++;
		ck_assert_uint_eq(mam_bins_best(&bins, min, MAM_BLOCKTAG_MAX), sizes[i]);
		ck_assert_uint_eq(mam_bins_best(&bins, min, sizes[i]), sizes[i]);
		if (sizes[i] > min)
			ck_assert_uint_eq(mam_bins_best(&bins, min, sizes[i] - 1), 0);
	}
}
END_TEST

START_TEST(bin_is_a_stack)
{
	for (size_t i = 0; i < 100; i++)
		push(&bins, i, 7);
	ck_assert_uint_eq(bins.blocks, 100);
	ck_assert_uint_eq(bins.granules, 700);
	for (size_t i = 100; i-- > 0;)
		ck_assert_uint_eq(pop(7), block_of(i));
	ck_assert_uint_eq(mam_bins_best(&bins, 1, MAM_BLOCKTAG_MAX), 0);
	ck_assert_uint_eq(bins.granules, 0);
}
END_TEST

START_TEST(eviction_takes_from_fullest_octave)
{
	void *blocks[8];

	for (size_t i = 0; i < 50; i++)
		push(&bins, i, 4); /* 200 granules */
	push(&bins, 50, 100);
	push(&bins, 51, 120); /* 220 granules */
	ck_assert_uint_eq(mam_bins_evict(&bins, blocks, 1), 1);
	ck_assert_ptr_eq(blocks[0], (void *)block_of(50));
	ck_assert_uint_eq(mam_blocktag_of(block_of(50), 100), MAM_BLOCKTAG_NONE);
	ck_assert_uint_eq(mam_bins_evict(&bins, blocks, 8), 8); /* 200 against 120 */
	ck_assert_uint_eq(bins.granules, 42 * 4 + 120);
	ck_assert_ptr_null(mam_bins_check(&bins));
	while (mam_bins_evict(&bins, blocks, 8) != 0)
		continue;
	ck_assert_uint_eq(bins.blocks, 0);
}
END_TEST

START_TEST(batch_moves_all_blocks_of_octave)
{
	struct mam_batch batch;

	for (size_t i = 0; i < 20; i++)
		push(&bins, i, 10 + i);
	ck_assert_uint_eq(mam_bins_fullest(&bins), 4);
	ck_assert(mam_bins_pack(&bins, 4, &batch)); /* 16 to 29: one octave, from 16 up */
	ck_assert_uint_eq(batch.blocks, 14);
	ck_assert_uint_eq(batch.granules, 14 * 45 / 2);
	ck_assert_ptr_null(mam_batch_check(&batch, 4));
	ck_assert_uint_eq(bins.blocks, 6);
	ck_assert(!mam_bins_pack(&bins, 4, &(struct mam_batch){ 0 }));
	mam_bins_unpack(&other, 4, &batch);
	ck_assert_uint_eq(other.blocks, 14);
	ck_assert_uint_eq(other.granules, batch.granules);
	ck_assert_uint_eq(mam_bins_best(&other, 1, MAM_BLOCKTAG_MAX), 16);
	ck_assert_ptr_null(mam_bins_check(&bins));
	ck_assert_ptr_null(mam_bins_check(&other));
}
END_TEST

START_TEST(batch_size_is_bounded)
{
	struct mam_batch batch;

	for (size_t i = 0; i < 100; i++)
		push(&bins, i, i < 50 ? 1 : MAM_BLOCKTAG_MAX);
	ck_assert(mam_bins_pack(&bins, 0, &batch));
	ck_assert_uint_eq(batch.blocks, MAM_BATCH_BLOCKS);
	ck_assert(mam_bins_pack(&bins, 11, &batch));
	ck_assert_uint_eq(batch.granules, MAM_BATCH_GRANULES);
}
END_TEST

/* Blocks below it are indistinguishable from others: they are lost, however the batch ends. */
START_TEST(double_free_of_batched_block_ends_batch)
{
	void *blocks[MAM_BATCH_BLOCKS];
	struct mam_batch batch;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < 5; i++)
			push(&bins, i, 8 + i);
		ck_assert(mam_bins_pack(&bins, 3, &batch));
		mam_bins_push(&other, block_of(3), mam_blocktag_find(block_of(3), 11), 11);
		ck_assert_ptr_nonnull(mam_batch_check(&batch, 3));
		if (round == 0) {
			ck_assert_uint_eq(mam_batch_end(&batch, 3, blocks), 1);
			ck_assert_ptr_eq(blocks[0], (void *)block_of(4));
			ck_assert_uint_eq(mam_blocktag_of(block_of(4), 12), MAM_BLOCKTAG_NONE);
		} else {
			mam_bins_unpack(&bins, 3, &batch);
			ck_assert_uint_eq(bins.blocks, 1);
			ck_assert_uint_eq(bins.lost, 4);
			ck_assert_ptr_null(mam_bins_check(&bins));
		}
	}
}
END_TEST

/*
 * Two threads free one block concurrently: the tag is that of the last one, and the bin of the
 * first one detects it.
 */
START_TEST(block_in_two_bins_is_allocated_once)
{
	push(&bins, 1, 5);
	push(&bins, 2, 5);
	push(&bins, 3, 5);
	push(&bins, 4, 6);
	mam_bins_push(&other, block_of(3), mam_blocktag_find(block_of(3), 5), 5);
	ck_assert_ptr_null(mam_bins_check(&other));
	ck_assert_ptr_nonnull(mam_bins_check(&bins));
	ck_assert_uint_eq(pop(5), 0);
	ck_assert_uint_eq(bins.lost, 3);
	ck_assert_uint_eq(bins.blocks, 1);
	ck_assert_uint_eq(mam_bins_best(&bins, 5, 5), 0);
	ck_assert_uint_eq(pop(6), block_of(4));
}
END_TEST

/*
 * The transfer cache has stacks for each octave: a batch of any octave is found, and eviction
 * returns everything.
 */
START_TEST(transfer_cache_keeps_every_octave)
{
	static struct mam_transfer transfer;
	void *blocks[MAM_BATCH_BLOCKS];
	size_t evicted = 0;

	mam_transfer_init(&transfer);
	for (unsigned octave = 0; octave < MAM_BINS_OCTAVES; octave++) {
		push(&bins, octave, UINT64_C(1) << octave);
		ck_assert_uint_eq(mam_transfer_give(&transfer, &bins, UINT64_MAX), 1);
		ck_assert_uint_eq(bins.blocks, 0);
	}
	ck_assert_ptr_null(mam_transfer_check(&transfer));
	push(&bins, 20, 1);
	/* It already has 4095 granules. */
	ck_assert_uint_eq(mam_transfer_give(&transfer, &bins, 4095), 0);
	ck_assert_uint_eq(pop(1), block_of(20));
	ck_assert(!mam_transfer_take(&transfer, &other, 9, 15));
	ck_assert(mam_transfer_take(&transfer, &other, 28, 42)); /* from the octave above */
	ck_assert_uint_eq(mam_bins_best(&other, 28, 42), 32);
	for (size_t count; (count = mam_transfer_evict(&transfer, blocks)) != 0;)
		evicted += count;
	ck_assert_uint_eq(evicted + other.blocks, MAM_BINS_OCTAVES);
	ck_assert_ptr_null(mam_transfer_check(&transfer));
}
END_TEST

/* A full stack does not fill the octave, and a thread that begins with another one finds all. */
START_TEST(stacks_of_an_octave_are_for_all_threads)
{
	static struct mam_transfer transfer;
	const size_t most = MAM_TRANSFER_STACKS * MAM_TRANSFER_BATCHES;

	mam_transfer_init(&transfer);
	for (size_t i = 0; i < most; i++) {
		push(&bins, i, 1);
		ck_assert_uint_eq(mam_transfer_give(&transfer, &bins, UINT64_MAX), 1);
	}
	push(&bins, most, 1);
	ck_assert_uint_eq(mam_transfer_give(&transfer, &bins, UINT64_MAX), 0);
	ck_assert_uint_eq(pop(1), block_of(most));
	ck_assert_ptr_null(mam_transfer_check(&transfer));
	for (size_t i = 0; i < most; i++) {
		ck_assert(mam_transfer_take(&transfer, &other, 1, 1));
		ck_assert_uint_eq(other.blocks, i + 1);
	}
	ck_assert(!mam_transfer_take(&transfer, &other, 1, 1));
	ck_assert_ptr_null(mam_transfer_check(&transfer));
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/bins");

	tcase_add_checked_fixture(tcase, begin, NULL);
	tcase_add_test(tcase, best_fit_is_found);
	tcase_add_test(tcase, bin_is_a_stack);
	tcase_add_test(tcase, eviction_takes_from_fullest_octave);
	tcase_add_test(tcase, batch_moves_all_blocks_of_octave);
	tcase_add_test(tcase, batch_size_is_bounded);
	tcase_add_test(tcase, double_free_of_batched_block_ends_batch);
	tcase_add_test(tcase, transfer_cache_keeps_every_octave);
	tcase_add_test(tcase, stacks_of_an_octave_are_for_all_threads);
	tcase_add_test(tcase, block_in_two_bins_is_allocated_once);
	return suite_end();
}
