/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kma_wrong.c - the heap of superblocks step by step: all sizes, invalid frees, out of memory,
 * and the states of superblocks.
 */
#include "kma/kit.h"

#define MANY 20000u

static struct kkit *fresh(uint32_t superblocks, uint32_t shift)
{
	struct kkit *kit = kkit_create(superblocks, shift, 0, NULL);

	kkit_begin(kit);
	return kit;
}

static uint32_t to_the_end(struct kkit *kit, size_t bytes, void **had)
{
	uint32_t n = 0;

	while (n < MANY && (had[n] = kkit_get(kit, bytes)))
		n++;
	ck_assert_uint_lt(n, MANY);
	return n;
}

static void *had[MANY];

/*
 * Allocates until the heap is full, frees in another order, and fills the heap again: the same
 * number each time.
 */
START_TEST(heap_can_be_filled_with_each_size)
{
	uint32_t shift = (uint32_t)_i, bytes, n, i, which;
	struct kkit *kit = fresh(3, shift);

	for (bytes = 1; bytes <= 1u << shift; bytes += bytes < 70 ? 1 : bytes / 3) {
		which = mam_kma_class_for(kit->heap, bytes);
		n = to_the_end(kit, bytes, had);
		ck_assert_uint_eq(n, which < mam_kma_classes(shift)
					     ? 3 * mam_kma_class(shift, which).total
					     : 3);
		ck_assert_uint_eq(kkit_stats(kit).bytes,
				  (uint64_t)n * (which < mam_kma_classes(shift)
							 ? mam_kma_class(shift, which).size
							 : 1u << shift));
		for (i = 0; i < n; i++) {
			ck_assert_uint_eq((uintptr_t)had[i] % (bytes > 8   ? 16
							       : bytes > 4 ? 8
									   : 4),
					  0);
			kkit_put(kit, had[(i * 7919) % n]);
			had[(i * 7919) % n] = NULL;
			if ((i + 1) * 7919 % n == 0)
				break;
		}
		for (i = 0; i < n; i++)
			kkit_put(kit, had[i]);
		ck_assert_uint_eq(kkit_stats(kit).inactive, 0);
	}
	ck_assert_ptr_null(kkit_whole(kit));
	kkit_destroy(kit);
}
END_TEST

/* Half of each superblock is freed: other sizes get nothing, this size gets all of it again. */
START_TEST(free_blocks_serve_their_own_size_only)
{
	struct kkit *kit = fresh(4, 8);
	uint32_t n = to_the_end(kit, 16, had), i;

	ck_assert_uint_eq(kkit_stats(kit).inactive, 4);
	for (i = 0; i < n; i += 2)
		kkit_put(kit, had[i]);
	ck_assert_ptr_null(kkit_get(kit, 32));
	for (i = 0; i < n; i += 2) {
		had[i] = kkit_get(kit, 9);
		ck_assert_ptr_nonnull(had[i]);
	}
	ck_assert_ptr_null(kkit_get(kit, 16));
	for (i = 0; i < n; i++)
		kkit_put(kit, had[i]);
	ck_assert_ptr_null(kkit_whole(kit));
	kkit_destroy(kit);
}
END_TEST

static uint64_t wrongs(struct kkit *kit)
{
	return kkit_stats(kit).failures[MAM_KMA_WRONG_FREE];
}

START_TEST(invalid_frees_are_refused)
{
	struct kkit *kit = fresh(8, 8);
	unsigned char *small = mam_kma_alloc(kit->heap, 16), *other = mam_kma_alloc(kit->heap, 16);
	unsigned char *whole = mam_kma_alloc(kit->heap, 256), *run = mam_kma_alloc(kit->heap, 700);
	unsigned char *space = mam_kma_space(kit->heap), *never = space + 3 * 256;
	uint64_t n = 0;
	uint32_t i;

	ck_assert(small && other && whole && run);
	ck_assert(mam_kma_free(kit->heap, NULL));
	for (i = 1; i < 16; i++)
		ck_assert(++n && !mam_kma_free(kit->heap, small + i));
	/* The bitmap follows the last block. */
	for (i = 15 * 16; i < 256; i++)
		ck_assert(++n && !mam_kma_free(kit->heap, space + i));
	ck_assert(++n && !mam_kma_free(kit->heap, small + 32)); /* a free block */
	for (i = 1; i < 256; i++)
		ck_assert(++n && !mam_kma_free(kit->heap, whole + i));
	for (i = 1; i < 768; i++)
		ck_assert(++n && !mam_kma_free(kit->heap, run + i));
	for (i = 0; i < 256; i++)
		ck_assert(++n && !mam_kma_free(kit->heap, never + i));
	ck_assert(++n && !mam_kma_free(kit->heap, space - 1));
	ck_assert(++n && !mam_kma_free(kit->heap, space - 256));
	ck_assert(++n && !mam_kma_free(kit->heap, space + 8 * 256));
	ck_assert(++n && !mam_kma_free(kit->heap, &n));
	ck_assert_uint_eq(wrongs(kit), n);
	/* The first free succeeds, the second one fails. */
	ck_assert(mam_kma_free(kit->heap, other) && !mam_kma_free(kit->heap, other));
	ck_assert(mam_kma_free(kit->heap, small) && !mam_kma_free(kit->heap, small));
	ck_assert(mam_kma_free(kit->heap, whole) && !mam_kma_free(kit->heap, whole));
	ck_assert(mam_kma_free(kit->heap, run) && !mam_kma_free(kit->heap, run));
	ck_assert_uint_eq(wrongs(kit), n + 4);
	ck_assert_uint_eq(kkit_stats(kit).blocks + kkit_stats(kit).runs, 0);
	ck_assert_uint_eq(kkit_stats(kit).frees, 4);
	ck_assert_uint_eq(kkit_stats(kit).allocs, 4);
	kkit_destroy(kit);
}
END_TEST

START_TEST(invalid_requests_return_null)
{
	struct kkit *kit = fresh(4, 8);

	ck_assert_ptr_null(mam_kma_alloc(kit->heap, 0));
	ck_assert_uint_eq(kkit_stats(kit).failures[MAM_KMA_TOO_LARGE], 0);
	ck_assert_ptr_null(mam_kma_alloc(kit->heap, 4 * 256 + 1));
	ck_assert_ptr_null(mam_kma_alloc(kit->heap, ~(size_t)0));
	ck_assert_uint_eq(kkit_stats(kit).failures[MAM_KMA_TOO_LARGE], 2);
	ck_assert_ptr_null(kkit_whole(kit));
	kkit_destroy(kit);
}
END_TEST

/* Runs are allocated from above, and freed there unless superblocks below them were freed. */
START_TEST(runs_are_allocated_from_above)
{
	struct kkit *kit = fresh(10, 8);
	unsigned char *all = kkit_get(kit, 10 * 256), *one, *two, *three;

	ck_assert_ptr_eq(all, mam_kma_space(kit->heap));
	ck_assert_ptr_null(kkit_get(kit, 4));
	ck_assert_uint_eq(kkit_stats(kit).in_runs, 10);
	ck_assert_uint_eq(kkit_stats(kit).bytes, 2560);
	kkit_put(kit, all);
	two = kkit_get(kit, 512);
	three = kkit_get(kit, 513);
	one = kkit_get(kit, 256);
	ck_assert_ptr_eq(two, mam_kma_space(kit->heap) + 8 * 256);
	ck_assert_ptr_eq(three, two - 3 * 256);
	ck_assert_ptr_eq(one, mam_kma_space(kit->heap));
	ck_assert_uint_eq(kkit_stats(kit).runs, 3);
	kkit_put(kit, three);
	three = kkit_get(kit, 768);
	ck_assert_ptr_eq(three, two - 3 * 256);
	/* From here on two single superblocks are left. */
	kkit_put(kit, two);
	ck_assert_ptr_null(kkit_get(kit, 5 * 256));
	ck_assert_uint_eq(kkit_stats(kit).failures[MAM_KMA_NO_RUN], 1);
	two = kkit_get(kit, 4 * 256);
	ck_assert_ptr_eq(two, one + 256);
	kkit_put(kit, one);
	kkit_put(kit, two);
	kkit_put(kit, three);
	ck_assert_ptr_null(kkit_whole(kit));
	kkit_destroy(kit);
}
END_TEST

/*
 * A superblock of one lane's allocations and frees stays attached, and another class can still get
 * it.
 */
START_TEST(attached_superblock_serves_other_class)
{
	struct kkit *kit = fresh(1, 8);
	uint64_t before;
	void *part;
	uint32_t i;

	kkit_put(kit, kkit_get(kit, 16));
	before = *mam_kma_state(kit->heap, 0);
	for (i = 0; i < 20; i++)
		kkit_put(kit, kkit_get(kit, 16));
	ck_assert_uint_eq(before, *mam_kma_state(kit->heap, 0));
	ck_assert_uint_eq(kkit_stats(kit).active, 1);
	part = kkit_get(kit, 64);
	ck_assert_ptr_nonnull(part);
	ck_assert_uint_gt(*mam_kma_state(kit->heap, 0) >> 40, before >> 40);
	/* The entry of 16 still names it. */
	ck_assert_ptr_null(kkit_get(kit, 16));
	kkit_put(kit, part);
	ck_assert_ptr_nonnull(part = kkit_get(kit, 16));
	kkit_put(kit, part);
	ck_assert_ptr_nonnull(part = kkit_get(kit, 256));
	kkit_put(kit, part);
	ck_assert_ptr_null(kkit_whole(kit));
	kkit_destroy(kit);
}
END_TEST

/* Full superblocks are inactive; the first free block makes one of them active. */
START_TEST(first_free_activates_full_superblock)
{
	struct kkit *kit = fresh(3, 8);
	uint32_t n = to_the_end(kit, 112, had);
	struct mam_kma_stats stats = kkit_stats(kit);

	ck_assert_uint_eq(n, 6);
	ck_assert(stats.active == 0 && stats.inactive == 3 && stats.free == 0);
	ck_assert_uint_eq(stats.failures[MAM_KMA_NO_SUPERBLOCK], 1);
	kkit_put(kit, had[0]);
	kkit_put(kit, had[2]);
	stats = kkit_stats(kit);
	ck_assert(stats.active == 1 && stats.inactive == 2);
	kkit_put(kit, had[3]);
	ck_assert_uint_eq(kkit_stats(kit).free, 1);
	kkit_put(kit, had[1]);
	kkit_put(kit, had[4]);
	kkit_put(kit, had[5]);
	stats = kkit_stats(kit);
	ck_assert(stats.active == 1 && stats.inactive == 0 && stats.free == 2);
	ck_assert_ptr_null(kkit_whole(kit));
	kkit_destroy(kit);
}
END_TEST

/* The number of inspected states is limited by the terms. */
START_TEST(search_is_bounded)
{
	struct kkit *kit = kkit_create(8, 8, 0, NULL);
	uint32_t n, i;

	kit->terms.search = 1;
	kkit_begin(kit);
	n = to_the_end(kit, 112, had);
	ck_assert_uint_eq(n, 16);
	/*
	 * One free block in each of two: the free made the first one active, the other is only
	 * found by a search.
	 */
	kkit_put(kit, had[2]);
	kkit_put(kit, had[4]);
	ck_assert_ptr_nonnull(had[2] = kkit_get(kit, 112));
	had[4] = kkit_get(kit, 112);
	ck_assert(!had[4] == (mam_kma_mix(mam_kma_self()) % 8 != 2));
	for (i = 0; i < n; i++)
		kkit_put(kit, had[i]);
	ck_assert_ptr_null(kkit_empty(kit));
	kkit_destroy(kit);
}
END_TEST

/* By one worker or many: the same memory. */
START_TEST(format_does_not_depend_on_worker_count)
{
	struct kkit *one = kkit_create(77, 9, 3, NULL), *many = kkit_create(77, 9, 3, NULL);
	uint32_t i;

	kkit_begin(one);
	memset(many->memory, 0xa5, many->terms.bytes + 2 * KKIT_GUARD);
	for (i = 0; i < 13; i++)
		ck_assert_uint_eq(mam_kma_format(many->heap, many->terms, i, 13), 77);
	ck_assert_mem_eq(one->memory, many->memory, one->terms.bytes + 2 * KKIT_GUARD);
	many->terms.bytes = 100;
	ck_assert_uint_eq(mam_kma_format(many->heap, many->terms, 0, 1), 0);
	ck_assert_mem_eq(one->memory, many->memory, one->terms.bytes + 2 * KKIT_GUARD);
	kkit_destroy(one);
	kkit_destroy(many);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("step by step");

	tcase_add_loop_test(tcase, heap_can_be_filled_with_each_size, MAM_KMA_SHIFT_MIN, 13);
	tcase_add_test(tcase, free_blocks_serve_their_own_size_only);
	tcase_add_test(tcase, invalid_frees_are_refused);
	tcase_add_test(tcase, invalid_requests_return_null);
	tcase_add_test(tcase, runs_are_allocated_from_above);
	tcase_add_test(tcase, attached_superblock_serves_other_class);
	tcase_add_test(tcase, first_free_activates_full_superblock);
	tcase_add_test(tcase, search_is_bounded);
	tcase_add_test(tcase, format_does_not_depend_on_worker_count);
	return kkit_run(tcase, "kma/step by step");
}
