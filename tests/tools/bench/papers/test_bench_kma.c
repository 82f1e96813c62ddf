/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_kma.c - `mam bench kma` on a simulated GPU: every allocator passes its workloads and
 * leaves nothing allocated, a heap that is too small is reported, and the results are computed
 * correctly.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/gpu.h"
#include "bench/papers/kma/kma.h"
#include "bench/papers/kma/told.h"
#include "tools/bench/device_player.h"
#include "tools/bench/sim/device_sim.h"

static const struct device_suite suite = {
	.prefix = "kma",
	.allocators = kma_allocators,
	.allocator_count = &kma_allocator_count,
	.works = kma_works,
	.work_count = KMA_WORKS,
	.system_heap = KMA_HEAP,
	.takes_part = kma_plan_takes_part,
	.places = kma_plan_places,
};

static const char *const names[] = { "kma", "mam_kmalloc", "cuda", "poor" };
#define FREEING 3

static void setup(void)
{
	player_setup_suite(&suite);
}

static struct device_cell cell_of(enum kma_work work, uint32_t lanes, uint32_t min, uint32_t max,
				  uint32_t rounds)
{
	struct device_cell cell = player_cell(work, lanes, min, max, rounds);

	cell.heap_bytes = 8 * PLAYER_HEAP;
	return cell;
}

static void check_good(const char *name, const char *metric)
{
	ck_assert_msg(player_trouble[0] == '\0', "%s: %s", name, player_trouble);
	ck_assert_msg(player_value(name, "wrong") == 0, "%s: %s", name, player_notes);
	ck_assert_msg(player_value(name, "none") == 0, "%s: %s", name, player_notes);
	ck_assert_msg(player_value(name, metric) > 0, "%s: %s", name, player_notes);
}

START_TEST(single_lane_pairs_are_timed)
{
	struct device_cell cell = cell_of(KMA_ONE, 1, 4, 4, 50);
	size_t i;

	cell.lanes = 1;
	player_play(NULL, cell);
	for (i = 0; i < FREEING; i++) {
		check_good(names[i], "ns");
		ck_assert_double_eq_tol(player_value(names[i], "ns") * 50,
					player_value(names[i], "us") * 1000, 1e-3);
		ck_assert_double_eq(player_value(names[i], "runs"), 2);
	}
	ck_assert_double_eq(player_value("poor", "ns"), -1);
	ck_assert_double_eq(player_value(KMA_OPENCL, "ns"), -1);
}
END_TEST

START_TEST(pairs_of_many_lanes_are_counted)
{
	static const uint32_t sizes[][2] = { { 64, 64 }, { 32, 128 }, { 4, 2048 } };
	const struct device_cell cell = cell_of(KMA_MANY, 70, sizes[_i][0], sizes[_i][1], 7);
	size_t i;

	player_play(NULL, cell);
	for (i = 0; i < FREEING; i++) {
		check_good(names[i], "mpairs");
		ck_assert_double_eq_tol(
			player_value(names[i], "mpairs") * player_value(names[i], "us"), 490, 1e-3);
	}
}
END_TEST

START_TEST(array_lists_are_correct)
{
	struct device_cell cell = cell_of(KMA_ARRAYLIST, 300, _i < 2 ? 4 : 8, _i < 2 ? 4 : 8, 3);
	size_t i;

	cell.share = _i % 2; /* malloc, or a list */
	player_play(NULL, cell);
	for (i = 0; i < FREEING; i++)
		check_good(names[i], "us");
	ck_assert_double_eq(player_value("poor", "us"), -1);
	ck_assert_uint_eq(device_sim_base_blocks, 0);
}
END_TEST

START_TEST(graphs_are_correct)
{
	static const uint32_t lanes[] = { 1, 64, 100 };
	struct device_cell cell = cell_of(KMA_GRAPH, lanes[_i], 0, 0, 1);
	size_t i;

	cell.filled = 200;
	cell.share = 40;
	player_play(NULL, cell);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		check_good(names[i], "us");
		ck_assert_double_eq_tol(
			player_value(names[i], "medges") * player_value(names[i], "us"), 200, 1e-3);
	}
	ck_assert_uint_eq(device_sim_base_blocks, 0);
}
END_TEST

START_TEST(setup_times_are_reported)
{
	struct device_cell cell = cell_of(KMA_SETUP, 1, 4, 4, 1);

	cell.lanes = 1;
	cell.share = 16;
	player_play(NULL, cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_gt(player_value("kma", "make_us"), 0);
	ck_assert_double_gt(player_value("kma", "kernel_us"), 0);
	ck_assert_double_gt(player_value("kma", "lone_us"), 0);
	ck_assert_double_gt(player_value("poor", "make_us"), 0);
	ck_assert_double_gt(player_value("mam_kmalloc", "make_us"), 0);
	ck_assert_double_eq(player_value("cuda", "make_us"), -1);
	ck_assert_double_eq(player_value("poor", "kernel_us"), -1);
}
END_TEST

/* A heap of a few superblocks, and more lanes than blocks: reported, and without a time. */
START_TEST(heap_that_is_too_small_gives_no_time)
{
	struct device_cell cell = cell_of(KMA_ARRAYLIST, 200, 8, 8, 20);

	cell.heap_bytes = 24 * 1024;
	if (_i == 1) {
		cell = cell_of(KMA_GRAPH, 32, 0, 0, 1);
		cell.heap_bytes = 64 * 1024;
		cell.filled = 4000;
		cell.share = 1000;
	}
	player_play("kma", cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_gt(player_value("kma", "none"), 0);
	ck_assert_double_eq(player_value("kma", "us"), -1);
	ck_assert_ptr_nonnull(strstr(player_notes, _i == 0 ? "requests that got nothing: "
							   : "are not as its edges say"));
}
END_TEST

START_TEST(heap_without_a_superblock_is_reported)
{
	struct device_cell cell = cell_of(KMA_ONE, 1, 4, 4, 1);

	cell.heap_bytes = 4096;
	player_play("kma", cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_ptr_nonnull(strstr(player_notes, "so small a heap has no superblock"));
	ck_assert_double_eq(player_value("kma", "us"), -1);
}
END_TEST

/* ---- results ---- */

static double ratio(const struct bench_results *results, const char *name, const char *parameter)
{
	double value = -1;

	(void)bench_results_get(results, "kma-ratio", name, parameter, "times", &value);
	return value;
}

START_TEST(ratios_are_computed)
{
	struct bench_results results = { .rows = NULL };

	bench_results_add(&results, "kma-one", "kma", "10000", "ns", 500);
	bench_results_add(&results, "kma-one", "cuda", "10000", "ns", 1000);
	bench_results_add(&results, "kma-one", KMA_OPENCL, "10000", "ns", 250);
	bench_results_add(&results, "kma-many", "kma", "none 4608", "ns", 10);
	bench_results_add(&results, "kma-many", "cuda", "low 4608", "ns", 30);
	bench_results_add(&results, "kma-arraylist", "kma", "malloc 4B 16K", "us", 80);
	bench_results_add(&results, "kma-arraylist", "kma", "list 4B 16K", "us", 8);
	bench_results_add(&results, "kma-tree", "mam_kmalloc", "64K 384", "us", 12);
	bench_results_add(&results, "kma-tree", "poor", "64K 384", "us", 10);
	bench_results_add(&results, "kma-tree", KMA_OPENCL, "64K 384", "us", 30);
	bench_results_add(&results, "kma-tree", KMA_OPENCL_POOR, "64K 384", "us", 20);
	kma_complete(&results);
	ck_assert_double_eq(ratio(&results, "kma", "one"), 2);
	ck_assert_double_eq(ratio(&results, KMA_OPENCL, "one"), 4);
	ck_assert_double_eq(ratio(&results, "cuda", "one"), -1);
	ck_assert_double_eq(ratio(&results, "kma", "many none"), -1);
	ck_assert_double_eq(ratio(&results, "kma", "scale"), 50);
	ck_assert_double_eq(ratio(&results, "kma", "arraylist"), 10);
	ck_assert_double_eq(ratio(&results, "mam_kmalloc", "tree"), 1.2);
	ck_assert_double_eq(ratio(&results, KMA_OPENCL, "tree"), 1.5);
	ck_assert_double_eq(ratio(&results, "published", "one"), 1.8);
	bench_results_fini(&results);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("bench_kma");
	TCase *works = tcase_create("works"), *numbers = tcase_create("numbers");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(works, setup, NULL);
	tcase_add_test(works, single_lane_pairs_are_timed);
	tcase_add_loop_test(works, pairs_of_many_lanes_are_counted, 0, 3);
	tcase_add_loop_test(works, array_lists_are_correct, 0, 4);
	tcase_add_loop_test(works, graphs_are_correct, 0, 3);
	tcase_add_test(works, setup_times_are_reported);
	tcase_add_loop_test(works, heap_that_is_too_small_gives_no_time, 0, 2);
	tcase_add_test(works, heap_without_a_superblock_is_reported);
	tcase_set_timeout(works, 120);
	suite_add_tcase(s, works);
	tcase_add_test(numbers, ratios_are_computed);
	suite_add_tcase(s, numbers);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
