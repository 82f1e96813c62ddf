/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explore.h - searches interleavings for one that goes wrong.
 *
 * For each seed and policy: `begin` makes the state new, the kernel runs, `check` looks at what is
 * left. The first failure stops the search and is written out with the command that has it again:
 *
 *     SIMT_CASE='two warps' SIMT_SEED=417 SIMT_POLICY=warp tests/heap/pages/test_pages
 *
 * Blocks are one row of threads in a third of the runs, 48x4 threads in another, and 16x16 in the
 * last; a grid is one row, one column and one stack. The shape follows from seed and policy. The
 * kernel runs in as many threads of each block as the case has (simt.h), so the time is the same. A
 * case whose kernel needs all threads of a block sets config.whole.
 *
 * The environment: SIMT_SEED and SIMT_POLICY run one interleaving, SIMT_CASE only the case of that
 * name, SIMT_SEEDS says how many seeds (in place of the case's own number), SIMT_FIRST where they
 * begin, SIMT_SHAPE (line, 48x4 or 16x16) the shape of all blocks, SIMT_TRACE=1 prints each step of
 * a replay.
 */
#ifndef MAM_TESTS_SIMT_EXPLORE_H
#define MAM_TESTS_SIMT_EXPLORE_H

#include "simt/simt.h"

struct simt_case {
	const char *name;
	simt_kernel *kernel;
	unsigned int grid, block;
	void *argument;                /* the kernel's, and of the two calls below */
	void (*begin)(void *argument); /* may be NULL */
	/* NULL if all is well, or what is wrong; may be NULL. */
	const char *(*check)(void *argument);
	/* In place of one kernel: a world of several launches and host threads. May be NULL. */
	bool (*build)(struct simt_world *world, void *argument);
	unsigned int seeds;        /* how many, for each policy */
	unsigned int policies;     /* bits 1 << SIMT_BY_...; 0: all */
	struct simt_config config; /* the search sets seed, policy and, if it has none, the shape */
};

struct simt_search {
	uint64_t schedules, steps;
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
 * True if all interleavings went well; a case that SIMT_CASE leaves out goes well without a run. With
 * TEST_SHARE=n in the environment only one n-th of the seeds is tried.
 */
bool simt_explore(const struct simt_case *test, struct simt_search *search);
/* The same with all seeds: for searches that must find something. */
bool simt_explore_fully(const struct simt_case *test, struct simt_search *search);
/* What failed and the command that has it again, into `text`. */
void simt_describe(const struct simt_case *test, const struct simt_search *search, char *text,
		   size_t bytes);
/*
 * For tests: explores, prints what failed, and fails the Check test. Counts schedules a program
 * runs; prints them at exit.
 */
void simt_must_pass(const struct simt_case *test);
/*
 * The opposite: a failure with this verdict must be found (any if SIMT_FINE), else the Check test
 * fails. Where SIMT_CASE, SIMT_SEED or SIMT_SEEDS choose, what is found is printed, and nothing
 * fails.
 */
void simt_must_fail(const struct simt_case *test, enum simt_verdict verdict);

#endif
