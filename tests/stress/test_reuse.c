/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reuse.c - no block is allocated while work that may use it is unfinished: random
 * operations, on streams that lag, under every policy, on both sources of device memory, by one
 * thread and by several (mill.h).
 *
 * Two controls show that the shadow map detects errors: a driver that reports work as done too
 * early, and a program that frees on the wrong stream, must both be caught.
 *
 * A failure prints its seed. With one thread, the same seed fails at the same operation again:
 *   STRESS_SEED=N        this seed instead of those of the table
 *   STRESS_OPERATIONS=N  this many, instead of TOTAL in all
 */
#include "mill.h"

#include <string.h>

#include "api/suite.h"
#include "scale.h"

/* All rows together: TOTAL. */
#define TOTAL 1250000

static const struct mill_setup setups[] = {
	/* source, policy, cache, limit, largest, threads, operations, seed, wrong stream, footprint */
	{ "cudamalloc", MAM_FREE_STRICT, MAM_CACHE_ON, 96 * MIB, 4 * MIB, 1, 100000, 1, false, 0 },
	{ "cudamalloc", MAM_FREE_STREAM, MAM_CACHE_ON, 96 * MIB, 4 * MIB, 1, 100000, 2, false, 0 },
	{ "cudamalloc", MAM_FREE_DEFERRED, MAM_CACHE_ON, 96 * MIB, 4 * MIB, 1, 100000, 3, false,
	  0 },
	{ "cudamalloc", MAM_FREE_DEFAULT, MAM_CACHE_OFF, 96 * MIB, 256 * KIB, 1, 50000, 4, false,
	  0 },
	{ "cudamalloc", MAM_FREE_STREAM, MAM_CACHE_ON, 96 * MIB, 256 * KIB, 4, 100000, 5, false,
	  0 },
	{ "cudamalloc", MAM_FREE_STRICT, MAM_CACHE_ON, 0, 4 * MIB, 4, 50000, 6, false, 0 },
	{ "vmm", MAM_FREE_STRICT, MAM_CACHE_ON, 96 * MIB, 4 * MIB, 1, 100000, 7, false, 0 },
	{ "vmm", MAM_FREE_STREAM, MAM_CACHE_ON, 96 * MIB, 32 * MIB, 1, 100000, 8, false, 0 },
	{ "vmm", MAM_FREE_DEFERRED, MAM_CACHE_OFF, 96 * MIB, 4 * MIB, 1, 100000, 9, false, 0 },
	{ "vmm", MAM_FREE_STREAM, MAM_CACHE_ON, 96 * MIB, 4 * MIB, 4, 100000, 10, false, 0 },
	{ "vmm", MAM_FREE_DEFERRED, MAM_CACHE_ON, 0, 32 * MIB, 4, 100000, 11, false, 0 },
	{ "vmm", MAM_FREE_STREAM, MAM_CACHE_ON, 0, 32 * MIB, 1, 100000, 12, false, 5 },
	{ "vmm", MAM_FREE_STREAM, MAM_CACHE_OFF, 0, 4 * MIB, 4, 50000, 13, false, 1 },
	{ "cudamalloc", MAM_FREE_STREAM, MAM_CACHE_ON, 0, 4 * MIB, 1, 100000, 16, false, 1 },
};

static struct mill_setup setup_at(int row, unsigned share)
{
	struct mill_setup setup = setups[row];

	setup.seed = from_environment("STRESS_SEED", setup.seed);
	setup.operations =
		from_environment("STRESS_OPERATIONS", TOTAL) * setup.operations / TOTAL / share;
	return setup;
}

START_TEST(no_block_is_allocated_too_early)
{
	struct mill_setup setup = setup_at(_i, STRESS_SHARE);
	struct mill_result result;
	struct cuda cuda = mill_load();

	mill_run(&cuda, &setup, &result);
	ck_assert_msg(!result.why[0], "%s, policy %d, %u threads: %s", setup.source,
		      (int)setup.policy, setup.threads, result.why);
	ck_assert_uint_gt(result.allocs, setup.operations / 4);
	ck_assert_uint_gt(result.reused, result.allocs);
	/* With several threads, all work may be done when a block is reused. */
	if (setup.threads == 1)
		ck_assert_uint_gt(result.ahead, 0);
}
END_TEST

/*
 * The controls end at their first error: none of them runs all operations. Most find it in some
 * thousands. Addresses and times differ between runs, and so does the number.
 */
static struct mill_setup control_at(int row)
{
	struct mill_setup setup = setup_at(row, 1);

	setup.operations *= 20;
	return setup;
}

/* MAM_ERROR_DRIVER: memory was unmapped while work used it, which breaks the context. */
static bool is_detected(const struct mill_result *result)
{
	return strstr(result->why, "was allocated although stream") ||
	       strstr(result->why, "while work used them") ||
	       strstr(result->why, "MAM_ERROR_DRIVER");
}

START_TEST(driver_that_reports_done_too_early_is_detected)
{
	struct mill_setup setup = control_at(_i);
	struct mill_result result;
	struct cuda cuda;

	setenv("FAKE_CUDA_HASTY", "1", 1);
	cuda = mill_load();
	mill_run(&cuda, &setup, &result);
	ck_assert_msg(is_detected(&result), "%s, policy %d: %s", setup.source, (int)setup.policy,
		      result.why[0] ? result.why : "no error was detected");
	ck_assert_uint_lt(result.allocs, setup.operations);
}
END_TEST

START_TEST(free_on_wrong_stream_is_detected)
{
	struct mill_setup setup = control_at(_i);
	struct mill_result result;
	struct cuda cuda = mill_load();

	setup.wrong_stream = true;
	/*
	 * With several threads the order decides whether it is detected; one thread is
	 * reproducible.
	 */
	setup.threads = 1;
	mill_run(&cuda, &setup, &result);
	ck_assert_msg(is_detected(&result), "%s, policy %d: %s", setup.source, (int)setup.policy,
		      result.why[0] ? result.why : "no error was detected");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stress/reuse");
	TCase *reuse = suite_case(suite, "reuse");

	tcase_set_timeout(reuse, 600);
	tcase_add_loop_test(reuse, no_block_is_allocated_too_early, 0, COUNT_OF(setups));
	tcase_add_loop_test(reuse, driver_that_reports_done_too_early_is_detected, 0,
			    COUNT_OF(setups));
	tcase_add_loop_test(reuse, free_on_wrong_stream_is_detected, 0, COUNT_OF(setups));
	return suite_run(suite);
}
