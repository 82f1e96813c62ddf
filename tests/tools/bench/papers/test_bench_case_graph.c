/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_case_graph.c - the graph of `mam bench case` on a simulated GPU: with every allocator
 * the lists have the edges that the host computes, and all lists are freed, also in heaps that are
 * in use; one vertex has all edges; a heap is too small.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/cases/cases.h"
#include "tools/bench/device_player.h"

#define CHUNK 128u

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

static struct device_cell cell_of(uint32_t share, uint32_t edges, uint32_t vertices)
{
	struct device_cell cell = player_cell(CASE_GRAPH, 1, CHUNK, CHUNK, 4);

	cell.share = share;
	cell.filled = edges;
	cell.buffers = vertices;
	return cell;
}

static void setup(void)
{
	player_setup_suite(&suite);
}

static bool takes_part(size_t i, uint32_t share)
{
	/* mam's pages are too large for a chunk. */
	return strcmp(case_allocators[i].name, CASE_COMPACT) != 0 &&
	       strcmp(case_allocators[i].name, CASE_MAM_PAGES) != 0 &&
	       (share == 1000 || !case_allocators[i].slow);
}

static void check_all(uint32_t share)
{
	size_t i;

	ck_assert_str_eq(player_trouble, "");
	for (i = 0; i < case_allocator_count; i++) {
		const char *name = case_allocators[i].name;

		if (!takes_part(i, share))
			continue;
		ck_assert_msg(player_value(name, "wrong") == 0, "%s: %g wrong: %s", name,
			      player_value(name, "wrong"), player_notes);
		ck_assert_msg(player_value(name, "none") == 0, "%s: %s", name, player_notes);
		ck_assert_double_gt(player_value(name, "us"), 0);
		ck_assert_double_ge(player_value(name, "wall_us"), 0);
	}
}

/* Vertices, edges; 0: as many as in the bench. */
static const struct {
	uint32_t edges, vertices, share;
} graphs[] = {
	{ 400, 0, 1000 }, { 300, 1, 1000 }, { 400, 3, 1000 }, { 401, 200, 1000 },
	{ 4, 1, 1000 },   { 400, 0, 500 },  { 300, 1, 500 },  { 400, 20, 50 },
};

START_TEST(every_graph_equals_the_reference)
{
	player_play(NULL, cell_of(graphs[_i].share, graphs[_i].edges, graphs[_i].vertices));
	check_all(graphs[_i].share);
	ck_assert_double_gt(player_value(CASE_MAM, "asks"), 0);
	ck_assert_double_gt(player_value(CASE_MAM, "objects_mib"), 0);
	ck_assert_double_eq(player_value(CASE_RESERVED, "asks"), 0);
	ck_assert_double_gt(player_value(CASE_RESERVED, "peak_mib"), 0);
}
END_TEST

/*
 * Arrays of one vertex: 75 edges are added per round, so there are about 225 at most, in an array
 * of 256.
 */
START_TEST(arrays_and_chunks_grow_as_expected)
{
	player_play(NULL, cell_of(1000, 300, 1));
	ck_assert_double_ge(player_value("cuda-malloc", "asks"), 8);
	ck_assert_double_eq(player_value("cuda-malloc", "asks"), player_value(CASE_MAM, "asks"));
	ck_assert_double_eq(player_value("corw", "asks"), player_value("rw", "asks"));
	/* Chunks of 15. */
	ck_assert_double_ge(player_value("rw", "asks"), 10);
	/* Replaced arrays are freed: less than two arrays of 2 KiB and the rest remain. */
	ck_assert_double_le(player_value(CASE_MAM, "objects_mib"), 3.0 * 1024 / BENCH_MIB);
}
END_TEST

START_TEST(failed_requests_give_no_time)
{
	static const char *const names[] = { CASE_MAM, "corw", "rw" };
	struct device_cell cell = cell_of(1000, 2000, 700);
	size_t i;

	cell.heap_bytes = 1 << 17;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cell.heap_bytes = strcmp(names[i], CASE_MAM) == 0 ? 1 << 17 : 1 << 15;
		cell.filled = strcmp(names[i], CASE_MAM) == 0 ? 16000 : 2000;
		player_play(names[i], cell);
		ck_assert_str_eq(player_trouble, "");
		ck_assert_msg(player_value(names[i], "none") > 0, "%s: %s", names[i], player_notes);
		ck_assert_double_eq(player_value(names[i], "wrong"), 0);
		ck_assert_double_eq(player_value(names[i], "us"), -1);
		ck_assert_ptr_nonnull(strstr(player_notes, "no time is reported"));
	}
}
END_TEST

int main(void)
{
	Suite *checks = suite_create("bench case graph");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, every_graph_equals_the_reference, 0,
			    sizeof(graphs) / sizeof(graphs[0]));
	tcase_add_test(tc, arrays_and_chunks_grow_as_expected);
	tcase_add_test(tc, failed_requests_give_no_time);
	suite_add_tcase(checks, tc);
	runner = srunner_create(checks);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
