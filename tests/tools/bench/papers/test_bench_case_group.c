/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_case_group.c - the group-by of `mam bench case` on a simulated GPU: with every
 * allocator the groups are those of the reference, and no memory remains allocated.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/cases/cases.h"
#include "bench/papers/cases/group/group_work.h"
#include "tools/bench/device_player.h"
#include "tools/bench/sim/device_sim.h"

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

static void setup(void)
{
	player_setup_suite(&suite);
}

static struct device_cell cell_of(uint32_t rows, uint32_t spread, uint32_t bits, uint32_t share)
{
	struct device_cell cell = player_cell(CASE_GROUP, 1, GROUP_PAGE, GROUP_PAGE, spread);

	cell.filled = rows;
	cell.buffers = bits;
	cell.share = share;
	cell.heap_bytes = UINT64_C(16) << 20;
	return cell;
}

/* All that take part are right, and have a time and a peak. */
static void check_right(uint32_t share)
{
	static const char *const names[] = { CASE_MAM,      CASE_MAM_PAGES, "corw",      "rw",
					     "cuda-malloc", CASE_RESERVED,  CASE_COMPACT };
	size_t i;

	ck_assert_str_eq(player_trouble, "");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (share < 1000 && strcmp(names[i], "cuda-malloc") == 0)
			continue;
		ck_assert_msg(player_value(names[i], "wrong") == 0, "%s: %g wrong; %s", names[i],
			      player_value(names[i], "wrong"), player_notes);
		ck_assert_msg(player_value(names[i], "none") == 0, "%s: %s", names[i],
			      player_notes);
		ck_assert_msg(player_value(names[i], "us") > 0, "%s has no time", names[i]);
		ck_assert_double_gt(player_value(names[i], "peak_mib"), 0);
	}
}

static const struct {
	uint32_t rows, spread, bits;
} inputs[] = {
	{ 9345, 10, 16 },            /* lists that are split, and small ones */
	{ 1999, GROUP_UNIFORM, 16 }, /* small lists alone */
	{ 8201, GROUP_UNIFORM, 10 }, /* few groups, and a run of 2 bits */
	{ 8193, GROUP_EQUAL, 12 },   /* one group of three units */
	{ 9007, 5, 18 },             /* three runs */
	{ 1, GROUP_UNIFORM, 12 },
};

START_TEST(groups_equal_the_reference)
{
	player_play(NULL, cell_of(inputs[_i].rows, inputs[_i].spread, inputs[_i].bits, 1000));
	check_right(1000);
}
END_TEST

START_TEST(heap_in_use_gives_the_same_groups)
{
	static const uint32_t shares[] = { 500, 50 };
	struct device_cell cell = cell_of(6007, 9, 14, shares[_i]);

	cell.heap_bytes = case_heap_bytes(UINT64_C(1) << 20, shares[_i]);
	player_play(NULL, cell);
	check_right(shares[_i]);
}
END_TEST

/*
 * Everything is freed in a heap that is too small: the next pass of the same case finds as much
 * memory.
 */
START_TEST(failed_requests_give_no_time)
{
	static const char *const names[] = { CASE_MAM, CASE_MAM_PAGES, "corw", "rw" };
	struct device_cell cell = cell_of(12345, 10, 16, 1000);
	size_t i;

	cell.heap_bytes = UINT64_C(1) << 17;
	player_play(NULL, cell);
	ck_assert_str_eq(player_trouble, "");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ck_assert_msg(player_value(names[i], "none") > 0, "%s: %s", names[i], player_notes);
		ck_assert_double_eq(player_value(names[i], "wrong"), 0);
		ck_assert_double_eq(player_value(names[i], "us"), -1);
	}
}
END_TEST

/* 2^32 counters exceed the device's memory. */
START_TEST(counters_need_too_much_memory)
{
	player_play(CASE_RESERVED, cell_of(300, 4, 32, 1000));
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_eq(player_value(CASE_RESERVED, "us"), -1);
	ck_assert_ptr_nonnull(strstr(player_notes, "too little free memory"));
	player_play(CASE_COMPACT, cell_of(300, 4, 32, 1000));
	ck_assert_double_gt(player_value(CASE_COMPACT, "us"), 0);
}
END_TEST

/*
 * A page contains tuples of one list: while everything is in lists, pages need little more than the
 * tuples.
 */
START_TEST(pages_need_less_than_twice_the_tuples)
{
	const double tuples = 40000 * 8.0 / BENCH_MIB;

	player_play(NULL, cell_of(40000, 2, 16, 1000));
	check_right(1000);
	ck_assert_double_lt(player_value(CASE_MAM, "objects_mib"), 1.5 * tuples);
	ck_assert_double_ge(player_value(CASE_COMPACT, "peak_mib"), 2 * tuples);
}
END_TEST

int main(void)
{
	Suite *checks = suite_create("bench case group");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_set_timeout(tc, 240);
	tcase_add_loop_test(tc, groups_equal_the_reference, 0,
			    (int)(sizeof(inputs) / sizeof(inputs[0])));
	tcase_add_loop_test(tc, heap_in_use_gives_the_same_groups, 0, 2);
	tcase_add_test(tc, failed_requests_give_no_time);
	tcase_add_test(tc, counters_need_too_much_memory);
	tcase_add_test(tc, pages_need_less_than_twice_the_tuples);
	suite_add_tcase(checks, tc);
	runner = srunner_create(checks);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
