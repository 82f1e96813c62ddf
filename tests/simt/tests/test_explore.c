/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_explore.c - the search runs the specified seeds, stops at the first failure, and prints a
 * command that reproduces it. The program runs itself as a small test program with a bug
 * (EXPLORE_CHILD).
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/port.h"
#include "simt/explore.h"
#include "simt/suite.h"

struct tally {
	uint32_t count, begun, checked;
};

static struct tally tally;

MAM_KERNEL(counts)
{
	uint32_t *count = &((struct tally *)argument)->count;

	mam_atomic_add32(count, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KERNEL(counts_badly)
{
	uint32_t *count = &((struct tally *)argument)->count;
	uint32_t seen = mam_atomic_load32(count, MAM_RELAXED, MAM_AT_DEVICE);

	mam_atomic_store32(count, seen + 1, MAM_RELAXED, MAM_AT_DEVICE);
}

static void begin(void *argument)
{
	struct tally *before = argument;

	before->count = 0;
	before->begun++;
}

static const char *check(void *argument)
{
	struct tally *after = argument;

	after->checked++;
	return after->count == 2 ? NULL : "a count was lost";
}

static struct simt_case case_of(const char *name, simt_kernel *kernel)
{
	memset(&tally, 0, sizeof(tally));
	unsetenv("SIMT_CASE");
	unsetenv("SIMT_SEED");
	unsetenv("SIMT_SEEDS");
	unsetenv("SIMT_FIRST");
	unsetenv("SIMT_POLICY");
	return (struct simt_case){ .name = name,
				   .kernel = kernel,
				   .grid = 2,
				   .block = 1,
				   .argument = &tally,
				   .begin = begin,
				   .check = check,
				   .seeds = 200 };
}

START_TEST(each_seed_runs_under_each_policy)
{
	struct simt_case test = case_of("good", counts);
	struct simt_search search;

	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(search.schedules, 600);
	ck_assert_uint_ge(search.steps, 1200);
	ck_assert_uint_eq(tally.begun, 600);
	ck_assert_uint_eq(tally.checked, 600);
	ck_assert(!search.failed);
	test.policies = 1u << SIMT_BY_WARP;
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(search.schedules, 200);
}
END_TEST

START_TEST(first_failure_stops_search)
{
	struct simt_case test = case_of("bad", counts_badly);
	struct simt_search search, again;
	char text[2 * SIMT_TEXT_BYTES], seed[32], part[96];

	ck_assert(!simt_explore(&test, &search));
	ck_assert(search.failed);
	ck_assert_int_eq(search.result.verdict, SIMT_FAILED);
	ck_assert_str_eq(search.result.text, "after the run: a count was lost");
	ck_assert_uint_le(search.schedules, 60);
	simt_describe(&test, &search, text, sizeof(text));
	snprintf(part, sizeof(part), "SIMT_CASE='bad' SIMT_SEED=%llu SIMT_POLICY=%s ",
		 (unsigned long long)search.seed, simt_policy_name(search.policy));
	ck_assert_ptr_nonnull(strstr(text, part));

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)search.seed);
	setenv("SIMT_SEED", seed, 1);
	setenv("SIMT_POLICY", simt_policy_name(search.policy), 1);
	ck_assert(!simt_explore(&test, &again));
	ck_assert_uint_eq(again.schedules, 1);
	ck_assert_uint_eq(again.result.hash, search.result.hash);
	ck_assert_uint_eq(again.result.steps, search.result.steps);
}
END_TEST

START_TEST(environment_selects_seed_policy_and_case)
{
	struct simt_case test = case_of("good", counts);
	struct simt_search search;

	setenv("SIMT_SEEDS", "7", 1);
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(search.schedules, 21);
	setenv("SIMT_POLICY", "pct", 1);
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(search.schedules, 7);
	setenv("SIMT_CASE", "bad", 1);
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(search.schedules, 0);
	setenv("SIMT_CASE", "good", 1);
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(search.schedules, 7);
}
END_TEST

START_TEST(search_starts_at_SIMT_FIRST)
{
	struct simt_case test = case_of("bad", counts_badly);
	struct simt_search search;
	char seed[32];

	ck_assert(!simt_explore(&test, &search));
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)search.seed + 1);
	setenv("SIMT_FIRST", seed, 1);
	ck_assert(!simt_explore(&test, &search));
	ck_assert_uint_ge(search.seed, strtoull(seed, NULL, 10));
}
END_TEST

START_TEST(invalid_environment_is_ignored)
{
	struct simt_case test = case_of("good", counts);
	struct simt_search search;

	setenv("SIMT_SEEDS", "many", 1);
	setenv("SIMT_POLICY", "luck", 1);
	setenv("SIMT_SEED", "", 1);
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(search.schedules, 600);
}
END_TEST

static bool no_world(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, counts, 0, 1, argument);
}

START_TEST(unbuilt_world_is_a_failure)
{
	struct simt_case test = case_of("no world", NULL);
	struct simt_search search;

	test.build = no_world;
	ck_assert(!simt_explore(&test, &search));
	ck_assert_int_eq(search.result.verdict, SIMT_NO_MEMORY);
}
END_TEST

/* The output and exit status of the small program. `with` precedes it on the command line. */
static bool child(const char *with, char *text, size_t bytes)
{
	char command[8192], path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	size_t got;
	FILE *pipe;

	ck_assert_int_gt(length, 0);
	path[length] = '\0';
	snprintf(command, sizeof(command), "%s %s 2>&1", with,
		 strstr(with, "SIMT_CASE") ? "" : path);
	pipe = popen(command, "r");
	ck_assert_ptr_nonnull(pipe);
	got = fread(text, 1, bytes - 1, pipe);
	text[got] = '\0';
	return pclose(pipe) == 0;
}

static void must_replay(const char *fork)
{
	char text[16384], with[8192], *again, *steps;

	case_of("", NULL);
	snprintf(with, sizeof(with), "EXPLORE_CHILD=broken CK_FORK=%s", fork);
	ck_assert(!child(with, text, sizeof(text)));
	steps = strstr(text, "broken: failed after ");
	again = strstr(text, "again: ");
	ck_assert_msg(steps && again, "%s", text);
	again += strlen("again: ");
	again[strcspn(again, "\n")] = '\0';
	steps[strcspn(steps, "\n")] = '\0';
	ck_assert_ptr_nonnull(strstr(again, "CK_FORK="));
	snprintf(with, sizeof(with), "EXPLORE_CHILD=broken SIMT_TRACE=1 %s", again);
	memmove(text, steps, strlen(steps) + 1);
	steps = strdup(text);
	ck_assert(!child(with, text, sizeof(text)));
	ck_assert_msg(strstr(text, steps) != NULL, "not \"%s\" in: %s", steps, text);
	ck_assert_ptr_nonnull(strstr(text, "       1 block "));
	ck_assert_ptr_nonnull(strstr(text, " load32 of 0x0 at "));
	ck_assert_ptr_nonnull(strstr(text, " store32 with 0x1, which found 0x0 at "));
	ck_assert_ptr_nonnull(strstr(text, "simt: 1 schedules, "));
	free(steps);
}

START_TEST(command_reproduces_failure)
{
	must_replay("yes");
	must_replay("no");
}
END_TEST

START_TEST(missing_failure_is_reported)
{
	char text[16384], *counted;

	case_of("", NULL);
	ck_assert(!child("EXPLORE_CHILD=sound", text, sizeof(text)));
	ck_assert_msg(
		strstr(text, "sound: what is wrong here was not found in 600 interleavings") !=
			NULL,
		"%s", text);
	ck_assert_ptr_nonnull(strstr(text, "simt: 600 schedules, "));
	ck_assert(!child("EXPLORE_CHILD=other", text, sizeof(text)));
	ck_assert_msg(strstr(text, "race was to be found, but: other: failed") != NULL, "%s", text);
	ck_assert(child("EXPLORE_CHILD=found", text, sizeof(text)));
	counted = strstr(text, " schedules/s\n");
	ck_assert_msg(counted != NULL, "%s", text);
	ck_assert_msg(!strstr(counted + 1, " schedules/s\n"), "counted twice: %s", text);
}
END_TEST

START_TEST(crash_report_names_interleaving)
{
	char text[65536], *again;

	case_of("", NULL);
	ck_assert(!child("EXPLORE_CHILD=crashes", text, sizeof(text)));
	ck_assert_msg(strstr(text, "a lane crashes: signal ") != NULL, "%s", text);
	again = strstr(text, "SIMT_CASE='crashes' SIMT_SEED=");
	ck_assert_msg(again && strstr(again, "SIMT_POLICY=pct "), "%s", text);
}
END_TEST

/* The small programs. */

MAM_KERNEL(crash)
{
	volatile uint32_t *const *nowhere = argument;

	mam_warp_active();
	if (mam_lane())
		**nowhere = 1;
}

START_TEST(crashes)
{
	/* Not an address of a program, and not one that a sanitizer checks before the access. */
	uint32_t *nowhere = (uint32_t *)(uintptr_t)64;
	struct simt_case test = { .name = "crashes",
				  .kernel = crash,
				  .grid = 1,
				  .block = 2,
				  .argument = &nowhere,
				  .seeds = 1,
				  .policies = 1u << SIMT_BY_PCT };

	simt_must_pass(&test);
}
END_TEST

START_TEST(broken)
{
	struct simt_case test = { .name = "broken",
				  .kernel = counts_badly,
				  .grid = 2,
				  .block = 1,
				  .argument = &tally,
				  .begin = begin,
				  .check = check,
				  .seeds = 200 };

	simt_must_pass(&test);
}
END_TEST

START_TEST(sound)
{
	struct simt_case test = case_of("sound", counts);

	simt_must_fail(&test, SIMT_FAILED);
}
END_TEST

START_TEST(other)
{
	struct simt_case test = case_of("other", counts_badly);

	simt_must_fail(&test, SIMT_RACE);
}
END_TEST

START_TEST(found)
{
	struct simt_case test = case_of("found", counts_badly);

	simt_must_fail(&test, SIMT_FAILED);
}
END_TEST

static int run_child(const char *name)
{
	const simt_test tests[] = { broken, sound, other, found, crashes };
	static const char *const names[] = { "broken", "sound", "other", "found", "crashes" };

	unsetenv("EXPLORE_CHILD");
	for (int i = 0; i < 5; i++) {
		if (!strcmp(name, names[i]))
			return simt_run_suite(name, &tests[i], 1);
	}
	return EXIT_FAILURE;
}

int main(void)
{
	unsetenv("TEST_SHARE");
	const simt_test tests[] = { each_seed_runs_under_each_policy,
				    first_failure_stops_search,
				    environment_selects_seed_policy_and_case,
				    search_starts_at_SIMT_FIRST,
				    invalid_environment_is_ignored,
				    unbuilt_world_is_a_failure,
				    command_reproduces_failure,
				    missing_failure_is_reported,
				    crash_report_names_interleaving };

	if (getenv("EXPLORE_CHILD"))
		return run_child(getenv("EXPLORE_CHILD"));
	return simt_run_suite("simt/explore", tests, sizeof(tests) / sizeof(tests[0]));
}
