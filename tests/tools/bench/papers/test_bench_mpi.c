/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_mpi.c - `mam bench mpi` on a simulated GPU: every allocator passes its workloads, an
 * allocator that cannot run all ranks at once is refused, errors and failed requests are reported,
 * and the results are computed correctly.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/gpu.h"
#include "bench/papers/mpi/mpi_bench.h"
#include "bench/papers/mpi/mpi_job.h"
#include "tools/bench/device_player.h"
#include "tools/bench/sim/device_sim.h"

static const struct device_suite suite = {
	.prefix = "mpi",
	.allocators = mpi_allocators,
	.allocator_count = &mpi_allocator_count,
	.works = mpi_works,
	.work_count = MPI_WORKS,
	.system_heap = MPI_HEAP,
	.takes_part = mpi_plan_takes_part,
	.places = mpi_plan_places,
};

static void setup(void)
{
	player_setup_suite(&suite);
}

/* Smaller than in the plan: a lane is a fiber. */
static struct device_cell unit_cell(enum mpi_work work, uint32_t n, uint32_t variant)
{
	struct device_cell cell = player_cell(work, 2 * MPI_UNIT_BLOCK, n * 4, n * 4, n);

	cell.heap_bytes = 16 * PLAYER_HEAP;
	cell.share = variant;
	return cell;
}

static struct device_cell operation_cell(enum mpi_operation operation, uint32_t ranks,
					 uint32_t block, uint32_t doubles)
{
	struct device_cell cell =
		player_cell(MPI_WORK_OPERATIONS, ranks, doubles * 8, doubles * 8, doubles);

	cell.heap_bytes = 16 * PLAYER_HEAP;
	cell.lanes = block;
	cell.share = operation;
	return cell;
}

static void check_good(const char *name, const char *metric)
{
	ck_assert_msg(player_trouble[0] == '\0', "%s: %s", name, player_trouble);
	ck_assert_msg(player_value(name, "wrong") == 0, "%s: %s", name, player_notes);
	ck_assert_double_eq(player_value(name, "none"), -1);
	ck_assert_msg(player_value(name, metric) > 0, "%s: %s", name, player_notes);
}

START_TEST(linear_messages_are_correct)
{
	const char *name = mpi_allocators[_i].name;

	player_play(name, unit_cell(MPI_WORK_LINEAR, 100, 0));
	check_good(name, "work_cycles");
	ck_assert_double_gt(player_value(name, "gflops"), 0);
	ck_assert_double_gt(player_value(name, "malloc_ms"), 0);
	ck_assert_double_ge(player_value(name, "malloc_ms_sd"), 0);
	ck_assert_double_gt(player_value(name, "free_ms"), 0);
	ck_assert_double_eq(player_value(name, "threads"), 2 * MPI_UNIT_BLOCK);
	ck_assert_double_eq(player_value(name, "runs"), 2);
	/* at least 400 bytes apart; without gaps the fewest lines suffice. */
	ck_assert_double_ge(player_value(name, "lane_distance"), 400);
	ck_assert_double_ge(player_value(name, "lines_held"), 1);
	ck_assert_double_le(player_value(name, "lines_per_access"), 32);
	ck_assert_double_ge(player_value(name, "lines_per_access"), 31);
	if (strstr(name, "-N") != NULL || strstr(name, "-k") != NULL)
		ck_assert_double_le(player_value(name, "lines_held"), 1.05);
}
END_TEST

START_TEST(quadratic_messages_are_correct)
{
	static const char *const names[] = { "cuda-NB", "cuda", "mam-NW", "mam-kwarp" };
	const char *name = names[_i];

	player_play(name, unit_cell(MPI_WORK_QUADRATIC, 7, _i % 2 ? MPI_TOGETHER : MPI_CELL_FULL));
	check_good(name, "work_cycles");
	ck_assert_double_gt(player_value(name, "gflops"), 0);
	ck_assert_double_eq(player_value(name, "lane_distance"), -1);
}
END_TEST

START_TEST(alltoall_is_correct)
{
	const char *name = mpi_allocators[_i].name;

	player_play(name, operation_cell(MPI_ALLTOALL, 64, 32, 2));
	check_good(name, "median_ms");
	ck_assert_double_le(player_value(name, "p5_ms"), player_value(name, "median_ms"));
	ck_assert_double_le(player_value(name, "median_ms"), player_value(name, "p95_ms"));
	ck_assert_double_eq(player_value(name, "runs"), 2);
}
END_TEST

START_TEST(tree_operations_are_correct)
{
	const char *name = mpi_allocators[_i / 2].name;

	player_play(name, operation_cell(_i % 2 ? MPI_REDUCE : MPI_BROADCAST, 96, 48, 3));
	if (mpi_way_of(name)->trees)
		check_good(name, "median_ms");
	else
		ck_assert_double_eq(player_value(name, "wrong"), -1);
}
END_TEST

START_TEST(ranks_that_cannot_all_run_are_refused)
{
	player_play("mam", operation_cell(MPI_ALLTOALL, 4096, 512, 1));
	ck_assert_ptr_nonnull(
		strstr(player_notes, "of its 8 blocks of 512 threads only 4 run at once"));
	ck_assert_double_eq(player_value("mam", "wrong"), -1);
	ck_assert_str_eq(player_trouble, "");
}
END_TEST

/* A heap that is too small: failed requests are reported, and no rank waits forever. */
START_TEST(failed_requests_are_reported)
{
	struct device_cell cell = operation_cell(MPI_ALLTOALL, 64, 32, 500);

	cell.heap_bytes = 2 * PLAYER_HEAP;
	player_play(_i ? "mam-kblock" : "mam", cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_gt(player_value(_i ? "mam-kblock" : "mam", "none"), 0);
	ck_assert_double_eq(player_value(_i ? "mam-kblock" : "mam", "median_ms"), -1);
}
END_TEST

START_TEST(mean_deviation_and_quantiles_are_computed)
{
	struct mpi_numbers numbers = { .count = 0 };
	int i;

	ck_assert_double_eq(mpi_numbers_quantile(&numbers, 0.5), 0);
	for (i = 5; i > 0; i--)
		mpi_numbers_add(&numbers, i);
	ck_assert_double_eq(mpi_numbers_mean(&numbers), 3);
	ck_assert_double_eq_tol(mpi_numbers_deviation(&numbers), 1.5811388, 1e-6);
	ck_assert_double_eq(mpi_numbers_quantile(&numbers, 0), 1);
	ck_assert_double_eq(mpi_numbers_quantile(&numbers, 0.5), 3);
	ck_assert_double_eq_tol(mpi_numbers_quantile(&numbers, 0.95), 4.8, 1e-9);
	ck_assert_double_eq(mpi_numbers_quantile(&numbers, 1), 5);
}
END_TEST

START_TEST(accessed_lines_are_counted)
{
	uint64_t addresses[64];
	struct mpi_places places;
	size_t i;

	for (i = 0; i < 64; i++)
		addresses[i] = 4096 + 32 * i;
	places = mpi_places_of(addresses, 64, 64, 32);
	ck_assert_double_eq(places.lane_distance, 32);
	ck_assert_double_eq(places.lines_per_access, 8);
	ck_assert_double_eq(places.lines_held, 1);
	for (i = 0; i < 64; i++)
		addresses[i] = 4096 + 256 * (63 - i);
	addresses[5] = 0; /* got nothing */
	places = mpi_places_of(addresses, 64, 32, 32);
	ck_assert_double_eq(places.lane_distance, 256);
	ck_assert_double_eq(places.lines_per_access, 31.5);
	ck_assert_double_eq_tol(places.lines_held, 63 / 16.0, 1e-9);
}
END_TEST

int main(void)
{
	Suite *suite_of = suite_create("bench mpi");
	TCase *tcase = tcase_create("bench mpi");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 300);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_loop_test(tcase, linear_messages_are_correct, 0, (int)mpi_allocator_count);
	tcase_add_loop_test(tcase, quadratic_messages_are_correct, 0, 4);
	tcase_add_loop_test(tcase, alltoall_is_correct, 0, (int)mpi_allocator_count);
	tcase_add_loop_test(tcase, tree_operations_are_correct, 0, 2 * (int)mpi_allocator_count);
	tcase_add_test(tcase, ranks_that_cannot_all_run_are_refused);
	tcase_add_loop_test(tcase, failed_requests_are_reported, 0, 2);
	tcase_add_test(tcase, mean_deviation_and_quantiles_are_computed);
	tcase_add_test(tcase, accessed_lines_are_counted);
	suite_add_tcase(suite_of, tcase);
	runner = srunner_create(suite_of);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
