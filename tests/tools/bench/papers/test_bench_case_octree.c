/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_case_octree.c - the octree of `mam bench case` on a simulated GPU: with every
 * allocator the tree equals that of the host, and all nodes are freed, also in heaps that are in
 * use; all bodies are in one place, or two in each; a heap is too small.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/cases/cases.h"
#include "bench/papers/cases/octree/octree_bodies.h"
#include "bench/papers/cases/octree/octree_reference.h"
#include "tools/bench/device_player.h"

static const struct device_suite suite = {
	.prefix = "case",
	.allocators = case_allocators,
	.allocator_count = &case_allocator_count,
	.works = case_works,
	.work_count = CASE_WORKS,
	.system_heap = CASE_SYSTEM_HEAP,
	.takes_part = case_takes_part,
	.places = case_places,
};

static struct device_cell cell_of(uint32_t share, uint32_t bodies, uint32_t kind)
{
	const uint32_t bytes = sizeof(struct octree_node);
	struct device_cell cell = player_cell(CASE_OCTREE, 1, bytes, bytes, 1);

	cell.share = share;
	cell.filled = bodies;
	cell.buffers = kind;
	return cell;
}

static void setup(void)
{
	player_setup_suite(&suite);
}

static void check_one(const char *name, uint64_t nodes)
{
	const double bytes = (double)nodes * sizeof(struct octree_node);

	ck_assert_msg(player_value(name, "wrong") == 0, "%s: %g wrong: %s", name,
		      player_value(name, "wrong"), player_notes);
	ck_assert_msg(player_value(name, "none") == 0, "%s: %s", name, player_notes);
	ck_assert_double_gt(player_value(name, "build_us"), 0);
	ck_assert_double_gt(player_value(name, "us"), player_value(name, "build_us"));
	if (strcmp(name, CASE_RESERVED) == 0)
		return;
	/* As many requests as nodes in the tree: only the thread that has the lock allocates. */
	ck_assert_double_eq(player_value(name, "asks"), (double)nodes);
	ck_assert_double_eq_tol(player_value(name, "objects_mib"), bytes / BENCH_MIB, 1e-6);
}

static const struct {
	uint32_t bodies, kind, share;
} trees[] = {
	{ 500, OCTREE_CLUSTERED, 1000 }, { 1, OCTREE_CLUSTERED, 1000 },
	{ 2, OCTREE_CLUSTERED, 1000 },   { 300, OCTREE_ALIKE, 1000 },
	{ 40, OCTREE_TWINS, 1000 },      { 500, OCTREE_CLUSTERED, 500 },
	{ 300, OCTREE_CLUSTERED, 50 },
};

START_TEST(every_tree_equals_the_reference)
{
	const struct octree_reference *wanted;
	size_t i;

	wanted = octree_reference_of(trees[_i].bodies, trees[_i].kind, 0);
	ck_assert_ptr_nonnull(wanted);
	player_play(NULL, cell_of(trees[_i].share, trees[_i].bodies, trees[_i].kind));
	ck_assert_str_eq(player_trouble, "");
	for (i = 0; i < case_allocator_count; i++) {
		/* mam's pages are too large for a node. */
		if (strcmp(case_allocators[i].name, CASE_COMPACT) != 0 &&
		    strcmp(case_allocators[i].name, CASE_MAM_PAGES) != 0 &&
		    (trees[_i].share == 1000 || !case_allocators[i].slow))
			check_one(case_allocators[i].name, wanted->count);
	}
}
END_TEST

/* More bodies than the first kernel inserts, so there is a second kernel. */
START_TEST(second_kernel_inserts_the_remaining_bodies)
{
	const struct octree_reference *wanted = octree_reference_of(5000, OCTREE_CLUSTERED, 0);

	ck_assert_ptr_nonnull(wanted);
	player_play(CASE_MAM, cell_of(1000, 5000, OCTREE_CLUSTERED));
	ck_assert_str_eq(player_trouble, "");
	check_one(CASE_MAM, wanted->count);
}
END_TEST

/* The reference itself, where its result is known. */
START_TEST(reference_has_the_known_values)
{
	const struct octree_reference *found = octree_reference_of(300, OCTREE_ALIKE, 2);

	ck_assert_ptr_nonnull(found);
	ck_assert_uint_eq(found->count, OCTREE_LEVELS);
	ck_assert_uint_eq(found->levels, OCTREE_LEVELS * (OCTREE_LEVELS - 1) / 2);
	ck_assert_uint_eq(found->pulled[1].count, 300);
	ck_assert_double_eq(found->pulled[1].force[0], 0);
	found = octree_reference_of(1, OCTREE_CLUSTERED, 1);
	ck_assert_uint_eq(found->count, 0);
	ck_assert_uint_eq(found->pulled[0].count, 1);
	found = octree_reference_of(2000, OCTREE_CLUSTERED, 1);
	ck_assert_uint_gt(found->count, 700);
	ck_assert_uint_lt(found->count, 1400);
	/* Cells attract instead of their bodies. */
	ck_assert_uint_lt(found->pulled[0].count, 500);
}
END_TEST

START_TEST(failed_requests_give_no_time)
{
	static const char *const names[] = { CASE_MAM, "corw", "rw", CASE_RESERVED };
	struct device_cell cell = cell_of(1000, 1400, OCTREE_CLUSTERED);
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const bool is_mam = strcmp(names[i], CASE_MAM) == 0;

		/* Searches through all of a full heap take long: few bodies. */
		cell.heap_bytes = is_mam ? 1 << 17 : 1 << 13;
		cell.filled = is_mam ? 1400 : 300;
		/* Pairs have a node on each level: more than are reserved. */
		if (strcmp(names[i], CASE_RESERVED) == 0)
			cell.buffers = OCTREE_TWINS;
		player_play(names[i], cell);
		ck_assert_str_eq(player_trouble, "");
		ck_assert_msg(player_value(names[i], "none") > 0, "%s: %s", names[i], player_notes);
		ck_assert_msg(player_value(names[i], "wrong") == 0, "%s: %s", names[i],
			      player_notes);
		ck_assert_double_eq(player_value(names[i], "us"), -1);
		ck_assert_double_eq(player_value(names[i], "build_us"), -1);
		ck_assert_ptr_nonnull(strstr(player_notes, "no time is reported"));
	}
}
END_TEST

int main(void)
{
	Suite *checks = suite_create("bench case octree");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, every_tree_equals_the_reference, 0,
			    sizeof(trees) / sizeof(trees[0]));
	tcase_add_test(tc, second_kernel_inserts_the_remaining_bodies);
	tcase_add_test(tc, reference_has_the_known_values);
	tcase_add_test(tc, failed_requests_give_no_time);
	suite_add_tcase(checks, tc);
	runner = srunner_create(checks);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
