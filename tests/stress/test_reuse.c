/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reuse.c - no block is given out while work that may use it is not done: a million random operations, on streams
 * that lag, under every policy, on both sources of device memory, by one thread and by several (mill.h).
 *
 * The two controls show that the book sees: a driver that says "done" too early, and a program that frees on the wrong
 * stream, must both be caught.
 *
 * A failure names its seed. With one thread the same seed fails at the same operation again:
 *   STRESS_SEED=N      this seed rather than those of the table
 *   STRESS_OPERATIONS=N  this many, rather than a million in all
 */
#include "mill.h"

#include <string.h>

#include "api/suite.h"
#include "scale.h"

/* All rows together: a million. */
static const struct mill_setup setups[] = {
	/* source, policy, cache, limit, largest, threads, operations, seed */
	{ "cudamalloc", MAM_FREE_STRICT, MAM_CACHE_ON, 96 * MIB, 4 * MIB, 1, 100000, 1, false },
	{ "cudamalloc", MAM_FREE_STREAM, MAM_CACHE_ON, 96 * MIB, 4 * MIB, 1, 100000, 2, false },
	{ "cudamalloc", MAM_FREE_DEFERRED, MAM_CACHE_ON, 96 * MIB, 4 * MIB, 1, 100000, 3, false },
	{ "cudamalloc", MAM_FREE_DEFAULT, MAM_CACHE_OFF, 96 * MIB, 256 * KIB, 1, 50000, 4, false },
	{ "cudamalloc", MAM_FREE_STREAM, MAM_CACHE_ON, 96 * MIB, 256 * KIB, 4, 100000, 5, false },
	{ "cudamalloc", MAM_FREE_STRICT, MAM_CACHE_ON, 0, 4 * MIB, 4, 50000, 6, false },
	{ "vmm", MAM_FREE_STRICT, MAM_CACHE_ON, 96 * MIB, 4 * MIB, 1, 100000, 7, false },
	{ "vmm", MAM_FREE_STREAM, MAM_CACHE_ON, 96 * MIB, 32 * MIB, 1, 100000, 8, false },
	{ "vmm", MAM_FREE_DEFERRED, MAM_CACHE_OFF, 96 * MIB, 4 * MIB, 1, 100000, 9, false },
	{ "vmm", MAM_FREE_STREAM, MAM_CACHE_ON, 96 * MIB, 4 * MIB, 4, 100000, 10, false },
	{ "vmm", MAM_FREE_DEFERRED, MAM_CACHE_ON, 0, 32 * MIB, 4, 100000, 11, false },
};

static struct mill_setup setup_at(int row, unsigned share)
{
	struct mill_setup setup = setups[row];

	setup.seed = from_environment("STRESS_SEED", setup.seed);
	setup.operations =
		from_environment("STRESS_OPERATIONS", 1000000) * setup.operations / 1000000 / share;
	return setup;
}

START_TEST(no_block_is_given_out_too_early)
{
	struct mill_setup setup = setup_at(_i, STRESS_SHARE);
	struct mill_result result;
	struct cuda cuda = mill_load();

	mill_run(&cuda, &setup, &result);
	ck_assert_msg(!result.why[0], "%s, policy %d, %u threads: %s", setup.source,
		      (int)setup.policy, setup.threads, result.why);
	ck_assert_uint_gt(result.allocs, setup.operations / 4);
	ck_assert_uint_gt(result.reused, result.allocs);
	ck_assert_uint_gt(result.ahead, 0);
}
END_TEST

/* The controls end at what they see: none of them plays all operations. */
START_TEST(a_driver_that_says_done_too_early_is_seen)
{
	struct mill_setup setup = setup_at(_i, 1);
	struct mill_result result;
	struct cuda cuda;

	setenv("FAKE_CUDA_HASTY", "1", 1);
	cuda = mill_load();
	mill_run(&cuda, &setup, &result);
	ck_assert_msg(strstr(result.why, "is given out although stream") ||
			      strstr(result.why, "while work used them"),
		      "%s, policy %d: %s", setup.source, (int)setup.policy,
		      result.why[0] ? result.why : "nothing was seen");
	ck_assert_uint_lt(result.allocs, setup.operations);
}
END_TEST

START_TEST(a_free_on_the_wrong_stream_is_seen)
{
	struct mill_setup setup = setup_at(_i, 1);
	struct mill_result result;
	struct cuda cuda = mill_load();

	setup.wrong_stream = true;
	setup.threads =
		1; /* of several threads the order decides whether it can be seen; one repeats itself */
	mill_run(&cuda, &setup, &result);
	ck_assert_msg(strstr(result.why, "is given out although stream") ||
			      strstr(result.why, "while work used them"),
		      "%s, policy %d: %s", setup.source, (int)setup.policy,
		      result.why[0] ? result.why : "nothing was seen");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stress/reuse");
	TCase *reuse = suite_case(suite, "reuse");

	tcase_set_timeout(reuse, 600);
	tcase_add_loop_test(reuse, no_block_is_given_out_too_early, 0, COUNT_OF(setups));
	tcase_add_loop_test(reuse, a_driver_that_says_done_too_early_is_seen, 0, COUNT_OF(setups));
	tcase_add_loop_test(reuse, a_free_on_the_wrong_stream_is_seen, 0, COUNT_OF(setups));
	return suite_run(suite);
}
