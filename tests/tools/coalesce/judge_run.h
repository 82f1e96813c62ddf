/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_run.h - a kernel of a program is run by a few threads, one after the other, and what they
 * do at calls that are judged is held against the verdicts.
 *
 * Each thread has its own number for threadIdx; what it loads, gets from atomics, or did not set
 * is a number of its own; all else is the same for all. Which case a switch goes to is its value
 * modulo one more than its cases; none, or the default, for the last. A thread has so many steps;
 * where one needs more nothing is said of the program. An allocation that is `together` gives each
 * thread a number of its own, or all of them 0.
 */
#ifndef TESTS_COALESCE_TOOL_JUDGE_RUN_H
#define TESTS_COALESCE_TOOL_JUDGE_RUN_H

#include "coalesce/judge/judge.h"

enum run_result { RUN_FINE, RUN_WRONG, RUN_TOO_LONG };

/* `held` rises by the allocations that were claimed and that threads came to. */
enum run_result judge_run(const struct co_program *program, const struct co_judgement *judgement,
			  const struct co_place *together, size_t together_count, int kernel,
			  unsigned long input, unsigned long *held);

#endif
