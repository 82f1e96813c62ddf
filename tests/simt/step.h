/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - scheduling points, and how a run ends early.
 *
 * A lane that reaches one is counted and the next lane is entered straight from its stack; the
 * main stack is entered only when a block or a launch ends or begins, when nobody can go on, and
 * with a verdict.
 */
#ifndef MAM_TESTS_SIMT_STEP_H
#define MAM_TESTS_SIMT_STEP_H

#include "simt/lane.h"

/* Counts a point of `lane`, the one that runs, at `site`. A run of too many ends here. */
void simt_count(struct simt_lane *lane, const char *site);
/* Somebody goes on, perhaps the caller; returns when the caller does. */
void simt_go(struct simt_lane *lane);
static inline void simt_step(struct simt_lane *lane, const char *site)
{
	simt_count(lane, site);
	simt_go(lane);
}
/*
 * The lane that runs, for functions of lanes only: a host thread's call ends the run. NULL outside.
 */
struct simt_lane *simt_device(const char *what, const char *site);
/* Ends the run: from a lane, does not return. */
void simt_stop(enum simt_verdict verdict, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

#endif
