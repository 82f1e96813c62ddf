/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fail.c - a failed launch reports the reason and the place and leaks nothing, and an invalid
 * launch is refused.
 */
#include <setjmp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/port.h"
#include "simt/expect.h"

MAM_KERNEL(asserts)
{
	MAM_KASSERT(mam_thread() != 5 || mam_block() != 1);
	(void)argument;
}

START_TEST(assertion_text_names_place_and_lane)
{
	struct expect what = { .kernel = asserts, .grid = 2, .block = 40 };
	const struct simt_result *result = simt_expect(
		&what, SIMT_FAILED, "assertion failed: mam_thread() != 5 || mam_block() != 1, at ");

	ck_assert_ptr_nonnull(strstr(result->text, "test_fail.c:"));
	ck_assert_ptr_nonnull(strstr(result->text, "block 1 thread 5 (lane 5 of warp 0)"));
}
END_TEST

static uint64_t resident_pages(void)
{
	unsigned long long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%llu %llu", &size, &resident), 2);
	fclose(file);
	return resident;
}

MAM_KERNEL(fails_midway)
{
	MAM_SHARED(
		struct { char bytes[4096]; }, shared);

	(void)argument;
	shared->bytes[mam_thread()] = 1;
	mam_warp_sync(~0u);
	MAM_KASSERT(simt_random() % 64 != 0);
	mam_syncthreads();
}

START_TEST(failed_launch_leaks_nothing)
{
	struct simt_config config = { .seed = 0 };
	uint64_t before = 0;

	for (config.seed = 0; config.seed < 2000; config.seed++) {
		simt_launch(&config, fails_midway, 4, 64, NULL, NULL);
		if (config.seed == 100)
			before = resident_pages();
	}
	ck_assert_uint_le(resident_pages(), before + 200);
}
END_TEST

static jmp_buf out;

MAM_KERNEL(jumps_out)
{
	(void)argument;
	mam_warp_sync(~0u);
	longjmp(out, 1);
}

/* As Check's assertions do when its tests are not forked. */
START_TEST(longjmp_out_of_kernel_is_harmless)
{
	struct simt_config config = { .seed = 1 };

	if (!setjmp(out)) {
		simt_launch(&config, jumps_out, 1, 32, NULL, NULL);
		ck_abort_msg("the launch returned");
	}
	ck_assert_int_eq(simt_launch(&config, asserts, 1, 32, NULL, NULL), SIMT_FINE);
}
END_TEST

START_TEST(longjmp_out_of_world_is_harmless)
{
	struct simt_config config = { .seed = 1 };
	struct simt_world *world = simt_world_create(&config), *other;

	ck_assert(simt_world_launch(world, 0, jumps_out, 1, 32, NULL));
	if (!setjmp(out)) {
		simt_world_run(world, NULL);
		ck_abort_msg("the launch returned");
	}
	ck_assert_int_eq(simt_launch(&config, asserts, 1, 32, NULL, NULL), SIMT_FINE);
	simt_world_destroy(world);
	ck_assert_int_eq(simt_launch(&config, asserts, 1, 32, NULL, NULL), SIMT_FINE);
	world = simt_world_create(&config);
	other = simt_world_create(&config);
	ck_assert_ptr_ne(world, other);
	simt_world_destroy(other);
	simt_world_destroy(world);
}
END_TEST

MAM_KERNEL(launches)
{
	struct simt_config config = { .seed = 1 };

	simt_launch(&config, asserts, 1, 1, argument, NULL);
}

START_TEST(launch_from_kernel_fails)
{
	struct expect what = { .kernel = launches, .grid = 1, .block = 1 };

	simt_expect(&what, SIMT_FAILED, "only host threads can");
}
END_TEST

START_TEST(invalid_launch_is_refused)
{
	static const unsigned int sizes[][2] = {
		{ 0, 1 }, { 1, 0 }, { 1, 1025 }, { 4000000, 1024 }
	};
	struct simt_config config = { .seed = 1 };
	struct simt_result result;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ck_assert_int_eq(
			simt_launch(&config, asserts, sizes[i][0], sizes[i][1], NULL, &result),
			SIMT_NO_MEMORY);
		ck_assert_int_eq(result.verdict, SIMT_NO_MEMORY);
		ck_assert_ptr_nonnull(strstr(result.text, "no such launch"));
	}
}
END_TEST

START_TEST(failure_outside_launch_aborts)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		simt_fail("it is wrong", "here");
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
END_TEST

START_TEST(verdicts_and_policies_have_names)
{
	for (unsigned int i = 0; i <= SIMT_NO_MEMORY; i++) {
		ck_assert_ptr_nonnull(simt_verdict_name(i));
		for (unsigned int j = 0; j < i; j++)
			ck_assert_str_ne(simt_verdict_name(i), simt_verdict_name(j));
	}
	ck_assert_str_eq(simt_policy_name(SIMT_BY_LANE), "lane");
	ck_assert_str_eq(simt_policy_name(SIMT_BY_WARP), "warp");
	ck_assert_str_eq(simt_policy_name(SIMT_BY_PCT), "pct");
}
END_TEST

SIMT_SUITE("simt/fail", assertion_text_names_place_and_lane, failed_launch_leaks_nothing,
	   longjmp_out_of_kernel_is_harmless, longjmp_out_of_world_is_harmless,
	   launch_from_kernel_fails, invalid_launch_is_refused, failure_outside_launch_aborts,
	   verdicts_and_policies_have_names)
