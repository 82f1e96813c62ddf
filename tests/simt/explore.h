/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explore.h - searches interleavings for a failure.
 *
 * For each seed and policy: `begin` initializes the state, the kernel runs, and `check` examines
 * the result. The first failure stops the search, and is reported with the command that reproduces
 * it:
 *
 *    SIMT_CASE='two warps' SIMT_SEED=417 SIMT_POLICY=warp tests/heap/pages/test_pages
 *
 * Blocks are one row of threads in a third of the runs, 48x4 threads in another, and 16x16 in the
 * last; a grid is one row, one column or one stack. The shape follows from seed and policy. The
 * kernel runs in as many threads of each block as the case specifies (simt.h), so the time is the
 * same. A case whose kernel needs all threads of a block sets config.whole.
 *
 * A case with `deviations` begins with all schedules that deviate from a fixed one at up to that
 * number of points (bound.h). Its failure names the policy "bound" and the deviations as a seed.
 *
 * The environment: SIMT_SEED and SIMT_POLICY select one interleaving, SIMT_CASE selects the case of
 * that name, SIMT_SEEDS is the number of seeds (instead of the case's own number), SIMT_FIRST is
 * the first seed, SIMT_SHAPE (line, 48x4 or 16x16) is the shape of all blocks, and SIMT_TRACE=1
 * prints each step of a replay.
 */
#ifndef MAM_TESTS_SIMT_EXPLORE_H
#define MAM_TESTS_SIMT_EXPLORE_H

#include "simt/simt.h"

struct simt_case {
	const char *name;
	simt_kernel *kernel;
	unsigned int grid, block;
	void *argument;                /* of the kernel and the two functions below */
	void (*begin)(void *argument); /* may be NULL */
	/* Returns NULL, or a description of the error; may be NULL. */
	const char *(*check)(void *argument);
	/* Instead of one kernel: a world of several launches and host threads. May be NULL. */
	bool (*build)(struct simt_world *world, void *argument);
	/* Of host threads: before the seeds, all schedules with up to this number of them; at most 4. */
	unsigned int deviations;
	unsigned int seeds;        /* number of seeds per policy */
	unsigned int policies;     /* bits 1 << SIMT_BY_...; 0: all */
	struct simt_config config; /* the search sets seed, policy and, if it has none, the shape */
};

struct simt_search {
	uint64_t schedules, steps;
	uint64_t plans; /* lists of deviations, with those that TEST_SHARE leaves out */
	double seconds;
	bool failed;
	uint64_t seed;           /* of the failure */
	enum simt_policy policy; /* of the failure */
	struct simt_result result;
};

#define SIMT_SHAPES 3
/* For a single launch: blocks and grids of shape number `which`, taken modulo SIMT_SHAPES. */
void simt_set_shape(struct simt_config *config, uint64_t which);
/*
 * True if all interleavings succeeded; a case that SIMT_CASE excludes succeeds without a run. With
 * TEST_SHARE=n in the environment only one n-th of the seeds is tried.
 */
bool simt_explore(const struct simt_case *test, struct simt_search *search);
/* The same with all seeds: for searches that must find a failure. */
bool simt_explore_fully(const struct simt_case *test, struct simt_search *search);
/* Writes the failure and the command that reproduces it to `text`. */
void simt_describe(const struct simt_case *test, const struct simt_search *search, char *text,
		   size_t bytes);
/*
 * For tests: explores, prints a failure, and fails the Check test. Counts the program's schedules,
 * and prints them at exit.
 */
void simt_must_pass(const struct simt_case *test);
/*
 * The opposite: the search must find a failure with this verdict (any verdict if SIMT_FINE),
 * otherwise the Check test fails. If SIMT_CASE, SIMT_SEED or SIMT_SEEDS is set, the result is
 * printed, and the test passes.
 */
void simt_must_fail(const struct simt_case *test, enum simt_verdict verdict);

#endif
