/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_freelists.c - the segregated free lists alone: the free blocks are records made up here,
 * without a pool.
 *
 * Best fit is compared with a plain scan. The border between lists of one size and lists of several
 * sizes (512 granules), and the ends of the words of the bitmaps, are tested one by one.
 */
#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "index/freelists.h"

#define GRANULE ((uint64_t)512)

static struct mam_records segments;
static struct mam_freelists freelists;
static uint64_t made; /* number of free blocks made so far */

static void setup(void)
{
	ck_assert_int_eq(mam_segments_init(&segments), MAM_OK);
	ck_assert_int_eq(mam_freelists_init(&freelists, GRANULE), MAM_OK);
	made = 0;
}

static void teardown(void)
{
	mam_freelists_fini(&freelists);
	mam_records_fini(&segments);
}

/* `next` not 0 makes it a free block that is not the end of its chunk; any record will do. */
static uint32_t free_block(uint64_t base, uint64_t granules, uint32_t next)
{
	uint32_t handle;
	struct mam_segment *segment;

	ck_assert_int_eq(mam_records_reserve(&segments, 1), MAM_OK);
	handle = mam_records_take(&segments);
	segment = mam_segment_at(&segments, handle);
	*segment = (struct mam_segment){ .base = base,
					 .bytes = granules * GRANULE,
					 .state = MAM_SEGMENT_FREE };
	segment->next = next;
	/* Leftovers of a live block: the links are meaningless until the free lists write them. */
	segment->by_size = (struct mam_rbnode){ 8, { 8, 9 } };
	segment->peer_prev = 8;
	segment->peer_next = 8;
	mam_freelists_insert(&freelists, &segments, handle);
	made++;
	return handle;
}

static uint64_t best_granules(uint64_t granules)
{
	uint32_t found = mam_freelists_best(&freelists, &segments, granules * GRANULE);

	return found == 0 ? 0 : mam_segment_at(&segments, found)->bytes / GRANULE;
}

static void check_lists(uint64_t free_blocks)
{
	uint64_t count = 0;
	const char *fault = mam_freelists_check(&freelists, &segments, &count);

	ck_assert_msg(fault == NULL, "%s", fault);
	ck_assert_uint_eq(count, free_blocks);
}

START_TEST(empty_freelists_find_nothing)
{
	ck_assert_uint_eq(best_granules(1), 0);
	ck_assert_uint_eq(best_granules(511), 0);
	ck_assert_uint_eq(best_granules(512), 0);
	ck_assert_uint_eq(mam_freelists_largest(&freelists, &segments), 0);
	ck_assert_uint_eq(mam_freelists_largest_inner(&freelists, &segments), 0);
	ck_assert_uint_eq(mam_freelists_best_aligned(&freelists, &segments, GRANULE, 4096), 0);
	check_lists(0);
}
END_TEST

/* The pages of the metadata that are in memory. */
static size_t resident_pages(void)
{
	unsigned char resident[64] = { 0 };
	size_t pages = (sizeof(*freelists.metadata) + 4095) / 4096, count = 0;

	ck_assert_uint_le(pages, sizeof(resident));
	ck_assert_int_eq(mincore(freelists.metadata, pages * 4096, resident), 0);
	for (size_t i = 0; i < pages; i++)
		count += resident[i] & 1;
	return count;
}

START_TEST(bytes_are_pages_ever_written)
{
	/* Some systems have larger pages, or count pages that were never written. */
	bool known = sysconf(_SC_PAGESIZE) == 4096 && resident_pages() == 0;
	uint32_t small, large;

	ck_assert_uint_eq(mam_freelists_bytes(&freelists), 0);
	small = free_block(1 << 20, 1, 0);
	ck_assert_uint_eq(mam_freelists_bytes(&freelists), 3 * 4096);
	(void)free_block(2 << 20, 1023, 0);
	ck_assert_uint_eq(mam_freelists_bytes(&freelists), 3 * 4096);
	large = free_block(3 << 20, 1024, 0);
	(void)free_block(4 << 20, (uint64_t)1 << 45, 0);
	ck_assert_uint_eq(mam_freelists_bytes(&freelists), 5 * 4096);
	ck_assert(!known || resident_pages() == 5);
	mam_freelists_remove(&freelists, &segments, small);
	mam_freelists_remove(&freelists, &segments, large);
	ck_assert_uint_eq(mam_freelists_bytes(&freelists), 5 * 4096);
}
END_TEST

static const uint64_t sizes[] = {
	1,   2,   63,  64,   65,   127,  128,    510,     511,           512,
	513, 575, 576, 1023, 1024, 1025, 100000, 1 << 20, (1 << 20) + 1, (uint64_t)1 << 45
};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/*
 * One free block: every request up to its size finds it, no larger one does, and its removal leaves
 * an empty list.
 */
START_TEST(one_free_block_serves_requests_up_to_its_size)
{
	uint64_t size = sizes[_i];
	uint32_t handle = free_block(1 << 20, size, 0);

	ck_assert_uint_eq(best_granules(1), size);
	ck_assert_uint_eq(best_granules(size), size);
	ck_assert_uint_eq(best_granules(size + 1), 0);
	ck_assert_uint_eq(mam_freelists_largest(&freelists, &segments), handle);
	check_lists(1);
	mam_freelists_remove(&freelists, &segments, handle);
	ck_assert_uint_eq(best_granules(1), 0);
	check_lists(0);
}
END_TEST

START_TEST(best_fit_crosses_from_small_to_large_lists)
{
	for (size_t i = 0; i < SIZES; i++)
		free_block(i << 30, sizes[i], 0);
	check_lists(SIZES);
	for (size_t i = 1; i < SIZES; i++) {
		ck_assert_uint_eq(best_granules(sizes[i - 1] + 1), sizes[i]);
		ck_assert_uint_eq(best_granules(sizes[i]), sizes[i]);
	}
}
END_TEST

START_TEST(lowest_of_equal_free_blocks_is_found_first)
{
	uint64_t size = _i == 0 ? 7 : 700;
	uint32_t middle = free_block(2 << 20, size, 0);
	uint32_t low = free_block(1 << 20, size, 0);
	uint32_t high = free_block(3 << 20, size, 0);

	ck_assert_uint_eq(mam_freelists_best(&freelists, &segments, size * GRANULE), low);
	mam_freelists_remove(&freelists, &segments, low);
	/* Inserted last. */
	ck_assert_uint_eq(mam_freelists_best(&freelists, &segments, size * GRANULE), high);
	mam_freelists_remove(&freelists, &segments, high);
	ck_assert_uint_eq(mam_freelists_best(&freelists, &segments, size * GRANULE), middle);
	check_lists(1);
}
END_TEST

START_TEST(aligned_request_takes_best_fitting_block)
{
	/* Contains no whole 4096 bytes at a multiple of 4096. */
	uint32_t tight = free_block((8 << 20) + 512, 8, 0);
	uint32_t exact = free_block(16 << 20, 8, 0);
	uint32_t roomy = free_block((32 << 20) + 512, 600, 0);

	(void)tight;
	ck_assert_uint_eq(mam_freelists_best_aligned(&freelists, &segments, 8 * GRANULE, 4096),
			  exact);
	mam_freelists_remove(&freelists, &segments, exact);
	ck_assert_uint_eq(mam_freelists_best_aligned(&freelists, &segments, 8 * GRANULE, 4096),
			  roomy);
	mam_freelists_remove(&freelists, &segments, roomy);
	ck_assert_uint_eq(mam_freelists_best_aligned(&freelists, &segments, 8 * GRANULE, 4096), 0);
}
END_TEST

/* More tight blocks than the search examines at first, and one later tight block that fits. */
START_TEST(aligned_request_searches_all_candidates)
{
	uint32_t fits;

	for (uint64_t i = 0; i < 40; i++)
		free_block((i << 20) + 512, 8 + i % 3, 0);
	fits = free_block(64 << 20, 10, 0);
	ck_assert_uint_eq(mam_freelists_best_aligned(&freelists, &segments, 8 * GRANULE, 1 << 20),
			  fits);
}
END_TEST

/*
 * The size that always suffices is exact: a free block one granule smaller may start at the worst
 * address.
 */
START_TEST(aligned_request_rejects_block_one_granule_short)
{
	uint64_t alignment = 16 * GRANULE;
	uint32_t sure;

	for (uint64_t i = 0; i < 10; i++)
		free_block((i << 20) + GRANULE, 8, 0);
	free_block((16 << 20) + GRANULE, 8 + 16 - 2, 0);
	sure = free_block((32 << 20) + GRANULE, 8 + 16 - 1, 0);
	ck_assert_uint_eq(mam_freelists_best_aligned(&freelists, &segments, 8 * GRANULE, alignment),
			  sure);
}
END_TEST

START_TEST(largest_inner_skips_chunk_ends)
{
	uint32_t inner = free_block(1 << 20, 300, 8);

	free_block(2 << 20, 300, 0);
	free_block(3 << 20, 900, 0);
	free_block(4 << 20, 64, 8);
	ck_assert_uint_eq(mam_freelists_largest_inner(&freelists, &segments), inner);
	mam_freelists_remove(&freelists, &segments, inner);
	ck_assert_uint_eq(
		mam_segment_at(&segments, mam_freelists_largest_inner(&freelists, &segments))
			->bytes,
		64 * GRANULE);
}
END_TEST

/*
 * Every size down from 1100 granules, through the lists of several sizes, over the border and the
 * words of the bitmaps.
 */
START_TEST(below_visits_every_size)
{
	uint64_t granules;

	for (granules = 1; granules <= 1100; granules++)
		free_block(granules << 22, granules, granules == 1 ? 8 : 0);
	check_lists(1100);
	ck_assert_uint_eq(
		mam_segment_at(&segments, mam_freelists_largest_inner(&freelists, &segments))
			->bytes,
		GRANULE);
}
END_TEST

/*
 * The size classes are in order, each small size has a class of its own, and no number of bytes
 * exceeds the last class.
 */
START_TEST(size_classes_are_in_order)
{
	uint64_t previous = 0;

	for (uint64_t granules = 1; granules < 5000; granules++) {
		uint64_t class = mam_freelists_class(&freelists, granules * GRANULE);

		ck_assert(granules <= 2048 ? class == granules : class - previous <= 1);
		ck_assert_uint_eq(mam_freelists_class(&freelists, granules * GRANULE + GRANULE - 1),
				  class);
		previous = class;
	}
	for (unsigned bit = 12; bit <= 50; bit++) {
		uint64_t class =
			mam_freelists_class(&freelists, (UINT64_C(3) << bit) / 2 * GRANULE);

		ck_assert_uint_gt(class, previous);
		ck_assert_uint_eq(
			mam_freelists_class(&freelists, ((UINT64_C(3) << bit) / 2 - 1) * GRANULE),
			class - 1);
		ck_assert_uint_lt(class, MAM_FREELISTS_CLASSES);
		previous = class;
	}
	ck_assert_uint_eq(mam_freelists_class(&freelists, UINT64_MAX), MAM_FREELISTS_CLASSES - 1);
}
END_TEST

/*
 * Sizes of all magnitudes: a few granules, around the border, up to 2^20 times that, and many of
 * one class.
 */
static uint64_t any_size(unsigned *seed)
{
	uint64_t size = 1 + (uint64_t)rand_r(seed) % 700;

	switch (rand_r(seed) % 4) {
	case 0: return size;
	case 1: return size << rand_r(seed) % 20;
	case 2: return ((uint64_t)1 << (14 + rand_r(seed) % 3)) + size % 40;
	default: return 65536 + size / 10;
	}
}

START_TEST(random_free_blocks_match_scan)
{
	enum { FREE_BLOCKS = 400, STEPS = 20000 };
	static uint32_t handle[FREE_BLOCKS];
	unsigned seed = 20261;
	int count = 0;

	for (int step = 0; step < STEPS; step++) {
		uint64_t wanted = any_size(&seed);
		uint64_t min = 0, max = 0;
		uint32_t below;

		if (count < FREE_BLOCKS && rand_r(&seed) % 2 == 0) {
			handle[count++] =
				free_block((uint64_t)rand_r(&seed) * GRANULE, any_size(&seed), 0);
		} else if (count > 0) {
			int victim = rand_r(&seed) % count;

			mam_freelists_remove(&freelists, &segments, handle[victim]);
			mam_records_put(&segments, handle[victim]);
			handle[victim] = handle[--count];
		}
		for (int i = 0; i < count; i++) {
			uint64_t size = mam_segment_at(&segments, handle[i])->bytes / GRANULE;

			if (size >= wanted && (min == 0 || size < min))
				min = size;
			if (size < wanted && size > max)
				max = size;
		}
		ck_assert_uint_eq(best_granules(wanted), min);
		below = mam_freelists_below(&freelists, &segments, wanted * GRANULE);
		ck_assert_uint_eq(
			below == 0 ? 0 : mam_segment_at(&segments, below)->bytes / GRANULE, max);
		if (step % 100 == 0)
			check_lists((uint64_t)count);
	}
	check_lists((uint64_t)count);
}
END_TEST

static void clear_a_bit(uint32_t handle)
{
	(void)handle;
	freelists.metadata->full[0] = 0;
}
static void set_a_bit(uint32_t handle)
{
	(void)handle;
	freelists.metadata->full[0] |= 1;
}
static void set_a_bit_of_another_word(uint32_t handle)
{
	(void)handle;
	freelists.metadata->full[3] = 1;
	freelists.metadata->sums[0] |= 8;
}
static void clear_a_bit_of_a_word(uint32_t handle)
{
	(void)handle;
	freelists.metadata->sums[0] = 0;
}
static void set_a_bit_of_a_word(uint32_t handle)
{
	(void)handle;
	freelists.metadata->sums[1] = 1;
}
static void change_a_size(uint32_t handle)
{
	mam_segment_at(&segments, handle)->bytes += GRANULE;
}
static void tie_a_circle(uint32_t handle)
{
	struct mam_segment *segment = mam_segment_at(&segments, handle);

	segment->peer_next = handle;
}
/* Blocks of 70,000 granules and of one more: both are in one class, which is a tree. */
static uint32_t *a_tree(uint32_t *node)
{
	uint64_t class = mam_freelists_class(&freelists, 70000 * GRANULE);

	*node = free_block(2 << 20, 70000, 0);
	free_block(512 << 20, 70001, 0);
	check_lists(3);
	ck_assert_uint_eq(mam_freelists_class(&freelists, 70001 * GRANULE), class);
	ck_assert_uint_ne(freelists.metadata->root[class] & MAM_FREELISTS_TREE, 0);
	return &freelists.metadata->root[class];
}
static void call_a_list_a_tree(uint32_t handle)
{
	mam_segment_at(&segments, handle)->by_size = (struct mam_rbnode){ 0, { 0, 0 } };
	freelists.metadata->root[5] |= MAM_FREELISTS_TREE;
}
static void call_a_tree_a_list(uint32_t handle)
{
	*a_tree(&handle) &= ~MAM_FREELISTS_TREE;
}
static void move_to_another_class(uint32_t handle)
{
	mam_segment_at(&segments, handle)->bytes = 6 * GRANULE;
}
static void lose_the_order_of_a_tree(uint32_t handle)
{
	(void)a_tree(&handle);
	mam_segment_at(&segments, handle)->bytes = 70002 * GRANULE;
}
static void move_a_tree_to_another_class(uint32_t handle)
{
	uint32_t *root = a_tree(&handle);

	root[1] = root[0];
	root[0] = 0;
	if (mam_freelists_class(&freelists, 70000 * GRANULE) % 64 == 63)
		freelists.metadata
			->full[1 + mam_freelists_class(&freelists, 70000 * GRANULE) / 64] = 1;
	freelists.metadata->full[mam_freelists_class(&freelists, 70000 * GRANULE) / 64] <<= 1;
}

/* clang-format off */
static void (*const damages[])(uint32_t) = {
	clear_a_bit,           set_a_bit,
	clear_a_bit_of_a_word, set_a_bit_of_a_word,
	change_a_size,         tie_a_circle,
	call_a_list_a_tree,    call_a_tree_a_list,
	move_to_another_class, move_a_tree_to_another_class,
	set_a_bit_of_another_word, lose_the_order_of_a_tree,
};
/* clang-format on */

START_TEST(check_detects_corruption)
{
	uint64_t count = 0;
	uint32_t handle = free_block(1 << 20, 5, 0);

	check_lists(1);
	damages[_i](handle);
	/* Or the count does not match. */
	ck_assert(mam_freelists_check(&freelists, &segments, &count) != NULL || count != made);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("index/freelists");
	TCase *tcase = tcase_create("freelists");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, empty_freelists_find_nothing);
	tcase_add_test(tcase, bytes_are_pages_ever_written);
	tcase_add_loop_test(tcase, one_free_block_serves_requests_up_to_its_size, 0, SIZES);
	tcase_add_test(tcase, best_fit_crosses_from_small_to_large_lists);
	tcase_add_loop_test(tcase, lowest_of_equal_free_blocks_is_found_first, 0, 2);
	tcase_add_test(tcase, aligned_request_takes_best_fitting_block);
	tcase_add_test(tcase, aligned_request_searches_all_candidates);
	tcase_add_test(tcase, aligned_request_rejects_block_one_granule_short);
	tcase_add_test(tcase, largest_inner_skips_chunk_ends);
	tcase_add_test(tcase, below_visits_every_size);
	tcase_add_test(tcase, size_classes_are_in_order);
	tcase_add_test(tcase, random_free_blocks_match_scan);
	tcase_add_loop_test(tcase, check_detects_corruption, 0,
			    sizeof(damages) / sizeof(damages[0]));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
