/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_addrtree.c - groups of neighbors and the tree of the groups. The segments are records made
 * up here, in chunks that are lists, without a pool. Lookups are compared with a scan of the lists.
 */
#include <check.h>
#include <stdlib.h>

#include "index/addrtree.h"

#define UNIT ((uint64_t)512)
#define CHUNKS 3
#define CHUNK_BYTES (UNIT << 20)

static struct mam_records segments;
static uint32_t root;
static uint32_t chunk[CHUNKS]; /* its first segment */

static uint64_t base_of(size_t n)
{
	return (n + 1) * 4 * CHUNK_BYTES;
}

static struct mam_segment *at(uint32_t handle)
{
	return mam_segment_at(&segments, handle);
}

static uint32_t fresh(uint64_t base, uint64_t bytes)
{
	uint32_t handle;

	ck_assert_int_eq(mam_records_reserve(&segments, MAM_SEGMENT_RECORDS), MAM_OK);
	handle = mam_records_take(&segments);
	*at(handle) =
		(struct mam_segment){ .base = base, .bytes = bytes, .state = MAM_SEGMENT_LIVE };
	return handle;
}

static void setup(void)
{
	static const size_t order[CHUNKS] = { 1, 2, 0 };

	ck_assert_int_eq(mam_segments_init(&segments), MAM_OK);
	root = 0;
	for (size_t i = 0; i < CHUNKS; i++) {
		chunk[order[i]] = fresh(base_of(order[i]), CHUNK_BYTES);
		mam_addrtree_insert(&segments, &root, chunk[order[i]]);
	}
}

static void teardown(void)
{
	mam_records_fini(&segments);
}

/* As in space.c. */
static uint32_t cut(uint32_t below, uint64_t bytes)
{
	uint32_t above = fresh(at(below)->base + bytes, at(below)->bytes - bytes);

	at(above)->prev = below;
	at(above)->next = at(below)->next;
	mam_addrtree_insert_after(&segments, &root, below, above);
	if (at(below)->next != 0)
		at(at(below)->next)->prev = above;
	at(below)->next = above;
	at(below)->bytes = bytes;
	return above;
}

static void join(uint32_t below)
{
	uint32_t above = at(below)->next;

	mam_addrtree_remove(&segments, &root, above);
	at(below)->bytes += at(above)->bytes;
	at(below)->next = at(above)->next;
	if (at(above)->next != 0)
		at(at(above)->next)->prev = below;
	mam_records_put(&segments, above);
}

/*
 * Checks the invariants, the iteration order, and that each segment is found by its first, an inner
 * and its last byte.
 */
static void ck_assert_order(uint64_t wanted)
{
	uint64_t count, groups, walked = 0;
	uint32_t by_address = mam_addrtree_first(&segments, root);
	const char *fault = mam_addrtree_check(&segments, root, &count, &groups);

	ck_assert_msg(fault == NULL, "%s", fault);
	ck_assert_uint_eq(count, wanted);
	ck_assert_uint_eq(segments.touched - 1u - segments.idle_count, count + groups);
	for (size_t i = 0; i < CHUNKS; i++) {
		for (uint32_t here = chunk[i]; here != 0; here = at(here)->next) {
			uint64_t base = at(here)->base, end = mam_segment_end(at(here));

			ck_assert_uint_eq(by_address, here);
			by_address = mam_addrtree_next(&segments, by_address);
			ck_assert_uint_eq(mam_addrtree_find(&segments, root, base), here);
			ck_assert_uint_eq(mam_addrtree_find(&segments, root, base + 1), here);
			ck_assert_uint_eq(mam_addrtree_find(&segments, root, end - 1), here);
			walked++;
		}
		ck_assert_uint_eq(mam_addrtree_find(&segments, root, base_of(i) - 1), 0);
		ck_assert_uint_eq(mam_addrtree_find(&segments, root, base_of(i) + CHUNK_BYTES), 0);
	}
	ck_assert_uint_eq(by_address, 0);
	ck_assert_uint_eq(walked, wanted);
	ck_assert_uint_eq(mam_addrtree_find(&segments, root, 0), 0);
	ck_assert_uint_eq(mam_addrtree_find(&segments, root, UINT64_MAX), 0);
}

START_TEST(empty_tree_finds_nothing)
{
	ck_assert_uint_eq(mam_addrtree_find(&segments, 0, base_of(0)), 0);
	ck_assert_uint_eq(mam_addrtree_first(&segments, 0), 0);
	ck_assert_order(CHUNKS);
}
END_TEST

/*
 * Always at the lower end, always at the upper one, always in the middle: groups split at each
 * position.
 */
START_TEST(chunk_is_split_and_merged_from_any_side)
{
	enum { CUTS = 200 };
	uint32_t here = chunk[1];

	for (uint64_t i = 0; i < CUTS; i++) {
		if (_i == 0) {
			cut(chunk[1], at(chunk[1])->bytes - UNIT);
		} else if (_i == 1) {
			here = cut(here, UNIT);
		} else {
			here = at(chunk[1])->next ? at(chunk[1])->next : chunk[1];
			cut(here, here == chunk[1] ? CHUNK_BYTES / 2 : at(here)->bytes - UNIT);
		}
		ck_assert_order(CHUNKS + i + 1);
	}
	for (uint64_t i = CUTS; i > 0; i--) {
		/* At the front, or next to the last. */
		here = chunk[1];
		if (_i == 1)
			while (at(at(here)->next)->next != 0)
				here = at(here)->next;
		join(here);
		ck_assert_order(CHUNKS + i - 1);
	}
	ck_assert_uint_eq(at(chunk[1])->bytes, CHUNK_BYTES);
}
END_TEST

START_TEST(random_splits_and_merges_match_scan)
{
	enum { STEPS = 6000 };
	static uint32_t here[STEPS + CHUNKS];
	uint64_t count = CHUNKS;
	unsigned seed = 7001 + (unsigned)_i;

	for (size_t i = 0; i < CHUNKS; i++)
		here[i] = chunk[i];
	for (int step = 0; step < STEPS; step++) {
		size_t pick = (size_t)rand_r(&seed) % count;
		uint32_t handle = here[pick];
		/* Alternately up and down, so that groups fill and empty. */
		bool grow = rand_r(&seed) % 8 < (step / 1000 % 2 ? 3 : 5);

		if (grow && at(handle)->bytes > UNIT) {
			uint64_t units = at(handle)->bytes / UNIT;

			here[count++] =
				cut(handle, UNIT * (1 + (uint64_t)rand_r(&seed) % (units - 1)));
		} else if (!grow && at(handle)->next != 0) {
			uint32_t gone = at(handle)->next;

			join(handle);
			for (pick = 0; here[pick] != gone; pick++)
				continue;
			here[pick] = here[--count];
		}
		if (step % 100 == 0)
			ck_assert_order(count);
	}
	ck_assert_order(count);
}
END_TEST

START_TEST(detach_and_reattach_need_no_record)
{
	uint64_t count, groups;

	mam_addrtree_detach(&segments, &root, chunk[2]);
	ck_assert_uint_eq(mam_addrtree_find(&segments, root, base_of(2)), 0);
	ck_assert_ptr_null(mam_addrtree_check(&segments, root, &count, &groups));
	ck_assert_uint_eq(count, CHUNKS - 1);
	mam_addrtree_reattach(&segments, &root, chunk[2]);
	ck_assert_order(CHUNKS);
	mam_addrtree_detach(&segments, &root, chunk[0]);
	mam_addrtree_reattach(&segments, &root, chunk[0]);
	ck_assert_order(CHUNKS);
	for (size_t i = 0; i < CHUNKS; i++) {
		mam_addrtree_detach(&segments, &root, chunk[i]);
		mam_addrtree_forget(&segments, chunk[i]);
		mam_records_put(&segments, chunk[i]);
	}
	ck_assert_uint_eq(root, 0);
	ck_assert_uint_eq(segments.touched - 1u, segments.idle_count);
}
END_TEST

static void count_one_more(struct mam_group *group)
{
	group->count++;
}
static void count_one_less(struct mam_group *group)
{
	group->count--;
}
static void begin_elsewhere(struct mam_group *group)
{
	group->base++;
}
static void begin_lower(struct mam_group *group)
{
	group->base--;
}
static void begin_with_other_segment(struct mam_group *group)
{
	group->first = at(group->first)->next;
}
static void mark_empty(struct mam_group *group)
{
	group->count = 0;
}
static void set_wrong_group(struct mam_group *group)
{
	at(at(group->first)->next)->group = at(chunk[0])->group;
}
static void overlap(struct mam_group *group)
{
	at(group->first)->bytes += UNIT;
}
static void overlap_next_group(struct mam_group *group)
{
	uint32_t last = group->first;

	while (at(at(last)->next)->group == at(last)->group)
		last = at(last)->next;
	at(last)->bytes += UNIT;
}

static void (*const damages[])(struct mam_group *) = {
	count_one_more, count_one_less,  begin_elsewhere, begin_with_other_segment, begin_lower,
	mark_empty,     set_wrong_group, overlap,         overlap_next_group
};

START_TEST(check_detects_corruption)
{
	uint64_t count, groups;

	for (uint64_t i = 0; i < 40; i++)
		cut(chunk[1], CHUNK_BYTES - UNIT * (i + 1));
	ck_assert_order(CHUNKS + 40);
	damages[_i](mam_group_at(&segments, at(chunk[1])->group));
	ck_assert_ptr_nonnull(mam_addrtree_check(&segments, root, &count, &groups));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("index/addrtree");
	TCase *tcase = tcase_create("addrtree");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, empty_tree_finds_nothing);
	tcase_add_loop_test(tcase, chunk_is_split_and_merged_from_any_side, 0, 3);
	tcase_add_loop_test(tcase, random_splits_and_merges_match_scan, 0, 4);
	tcase_add_test(tcase, detach_and_reattach_need_no_record);
	tcase_add_loop_test(tcase, check_detects_corruption, 0,
			    sizeof(damages) / sizeof(damages[0]));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
