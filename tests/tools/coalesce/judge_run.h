/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_run.h - runs a kernel of a program with a few threads, one after the other, and compares
 * what they do at judged calls with the verdicts.
 *
 * Each thread has its own number for threadIdx. Values that it loads, gets from atomics, or did not
 * set are numbers of its own; all other values are the same for all threads. A switch goes to the
 * case whose number is its value modulo one more than its cases; to none, or the default, for the
 * last. A thread has a limited number of steps; if one needs more, the program is not checked. An
 * allocation that is `together` gives each thread a number of its own, or all of them 0.
 */
#ifndef TESTS_COALESCE_TOOL_JUDGE_RUN_H
#define TESTS_COALESCE_TOOL_JUDGE_RUN_H

#include "coalesce/judge/judge.h"

enum run_result { RUN_FINE, RUN_WRONG, RUN_TOO_LONG };

/* `held` increases by the number of claimed allocations that threads reached. */
enum run_result judge_run(const struct co_program *program, const struct co_judgement *judgement,
			  const struct co_place *together, size_t together_count, int kernel,
			  unsigned long input, unsigned long *held);

#endif
