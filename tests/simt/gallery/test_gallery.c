/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gallery.c - each bug of the gallery is found within a second, and no interleaving of its
 * twin fails.
 *
 * The program is built twice: without and with access hooks. Only the latter checks for races,
 * except in rows that request it. The former must not report bugs that only the latter can see. A
 * row is printed for each bug: its verdict, the number of seeds for each policy, and the CPU time
 * of the search that uses all policies in turn. Twins pass under strict masks, too.
 *
 * With SIMT_SEED set, the program is run by the last line of a report: it runs that one
 * interleaving of each bug and twin, or of the one that SIMT_CASE names, and prints verdict and
 * hash.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "simt/explore.h"
#include "simt/gallery/gallery.h"

#ifdef SIMT_HOOKS
#define HOOKS true
#else
#define HOOKS false
#endif

/* Sanitizers make everything slower. */
#ifdef __SANITIZE_ADDRESS__
#define SLOWER 5
#else
#define SLOWER 1
#endif

#define LIMIT_S 1.0      /* to find a bug */
#define FIND_SEEDS 3000  /* per policy, at most */
#define TABLE_SEEDS 300  /* per policy, for its column */
#define HIDDEN_SEEDS 100 /* for a bug that must not be reported */
#define TWIN_SEEDS 10000 /* for all policies together */
#define STATE_BYTES (16 << 10)
#define TEXT_BYTES (SIMT_TEXT_BYTES + 8192)

#define ROW_OF(name) &gallery_##name##_row,
static const struct gallery_row *const rows[] = { GALLERY_ROWS(ROW_OF) };

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

/* The current case: begin and check get only the kernel's state. */
static struct {
	const struct gallery_row *row;
	bool bug;
	uint64_t state[STATE_BYTES / sizeof(uint64_t)];
} stage;

static void stage_begin(void *state)
{
	memset(state, 0, stage.row->bytes);
	stage.row->begin(state, stage.bug, stage.row->grid, stage.row->block);
}

/* A kernel and its host thread. */
static bool stage_build(struct simt_world *world, void *state)
{
	const struct gallery_row *row = stage.row;

	return simt_world_launch(world, 0, row->kernel, row->grid, row->block, state) &&
	       simt_world_host(world, row->host, state);
}

/* The bug's case has its name, so that SIMT_CASE can select it. */
static struct simt_case stage_set(const struct gallery_row *row, bool bug, unsigned int seeds)
{
	static char twin[64];
	struct simt_case test = {
		.name = row->name,
		.kernel = row->kernel,
		.grid = row->grid,
		.block = row->block,
		.argument = stage.state,
		.begin = stage_begin,
		.check = row->check,
		.build = row->host ? stage_build : NULL,
		.seeds = seeds,
		.config = row->config,
	};

	if (row->bytes > sizeof(stage.state))
		abort();
	stage.row = row;
	stage.bug = bug;
	if (!bug) {
		snprintf(twin, sizeof(twin), "%s, twin", row->name);
		test.name = twin;
	}
	/* The shape does not matter to these bugs, and the same kernels run on GPUs. */
	test.config.block.x = row->block;
	test.config.race |= HOOKS;
	test.config.strict |= !bug;
	return test;
}

static unsigned int expected(const struct gallery_row *row)
{
	return HOOKS ? row->hooks : row->plain;
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seeds until each policy finds the bug; "-" if a policy does not find it within TABLE_SEEDS. */
static void print_row(const struct gallery_row *row, const struct simt_search *found,
		      double seconds)
{
	struct simt_case test = stage_set(row, true, TABLE_SEEDS);

	printf("%-16s %-9s", row->name, simt_verdict_name(found->result.verdict));
	for (unsigned int policy = 0; policy < SIMT_POLICIES; policy++) {
		struct simt_search search;

		test.policies = 1u << policy;
		if (simt_explore(&test, &search))
			printf(" %5s", "-");
		else
			printf(" %5llu", (unsigned long long)search.schedules);
	}
	printf(" %9.2f ms  %s\n", seconds * 1e3, row->what);
	fflush(stdout);
}

START_TEST(bug_is_found)
{
	const struct gallery_row *row = rows[_i];
	unsigned int wanted = expected(row);
	struct simt_case test = stage_set(row, true, wanted ? FIND_SEEDS : HIDDEN_SEEDS);
	struct simt_search search;
	double seconds = cpu_seconds();
	bool well = simt_explore(&test, &search);

	seconds = cpu_seconds() - seconds;
	if (!wanted) {
		ck_assert_msg(well, "%s is reported, but cannot be seen here: %s", row->name,
			      search.result.text);
		printf("%-16s %s\n", row->name,
		       row->hooks ? "only with access hooks" : "by neither program: see its file");
		fflush(stdout);
		return;
	}
	ck_assert_msg(!well, "%s is not found in %llu interleavings", row->name,
		      (unsigned long long)search.schedules);
	ck_assert_msg(wanted >> search.result.verdict & 1, "%s is found as %s: %s", row->name,
		      simt_verdict_name(search.result.verdict), search.result.text);
	ck_assert_msg(seconds < LIMIT_S * SLOWER, "%s is found after %.2f s", row->name, seconds);
	print_row(row, &search, seconds);
}
END_TEST

START_TEST(twin_passes)
{
	struct simt_case test = stage_set(
		rows[_i], false, (TWIN_SEEDS / SLOWER + SIMT_POLICIES - 1) / SIMT_POLICIES);

	simt_must_pass(&test);
}
END_TEST

static void describe(const struct simt_search *search, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s%s: %s %016llx after %llu steps\n", stage.row->name,
		 stage.bug ? "" : ", twin", simt_verdict_name(search->result.verdict),
		 (unsigned long long)search->result.hash, (unsigned long long)search->result.steps);
}

/* The command that ends a report reproduces the same interleaving in another process. */
START_TEST(report_command_reproduces_run)
{
	static char text[TEXT_BYTES], wanted[256], got[256];
	struct simt_case test = stage_set(rows[_i], true, FIND_SEEDS);
	struct simt_search search;
	char *command;
	FILE *pipe;

	if (!expected(rows[_i]))
		return;
	ck_assert(!simt_explore(&test, &search));
	describe(&search, wanted, sizeof(wanted));
	simt_describe(&test, &search, text, sizeof(text));
	command = strstr(text, "\nagain: ");
	ck_assert_ptr_nonnull(command);
	pipe = popen(command + strlen("\nagain: "), "r");
	ck_assert_ptr_nonnull(pipe);
	if (!fgets(got, sizeof(got), pipe))
		got[0] = '\0';
	while (fgets(text, sizeof(text), pipe))
		continue;
	ck_assert_int_eq(pclose(pipe), EXIT_SUCCESS);
	ck_assert_str_eq(got, wanted);
}
END_TEST

/* Runs what SIMT_SEED, SIMT_POLICY and SIMT_CASE select, and prints it. */
static void replay(void)
{
	char line[256];

	for (int i = 0; i < 2 * ROWS; i++) {
		struct simt_case test = stage_set(rows[i / 2], i % 2 == 0, 1);
		struct simt_search search;

		simt_explore(&test, &search);
		if (!search.schedules)
			continue;
		describe(&search, line, sizeof(line));
		printf("%s%s\n", line, search.result.text);
	}
}

int main(void)
{
	Suite *suite = suite_create("simt/gallery");
	TCase *tcase = tcase_create("gallery");
	SRunner *runner;
	int failed;

	if (getenv("SIMT_SEED")) {
		replay();
		return EXIT_SUCCESS;
	}
	printf("%-16s %-9s %5s %5s %5s %12s\n", "bug", "found as", "lane", "warp", "pct",
	       "CPU time");
	fflush(stdout);
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, bug_is_found, 0, ROWS);
	tcase_add_loop_test(tcase, report_command_reproduces_run, 0, ROWS);
	tcase_add_loop_test(tcase, twin_passes, 0, ROWS);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
