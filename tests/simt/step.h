/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - scheduling points, and early ends of a run.
 *
 * A lane that reaches one is counted, and the next lane is entered directly from its stack. The
 * main stack is entered only when a block or a launch ends or starts, when no lane can continue,
 * and with a verdict.
 */
#ifndef MAM_TESTS_SIMT_STEP_H
#define MAM_TESTS_SIMT_STEP_H

#include "simt/lane.h"

/* Counts a point of `lane`, the running one, at `site`. Ends a run with too many points. */
void simt_count(struct simt_lane *lane, const char *site);
/* Continues with some lane, perhaps the caller; returns when the caller continues. */
void simt_go(struct simt_lane *lane);
static inline void simt_step(struct simt_lane *lane, const char *site)
{
	simt_count(lane, site);
	simt_go(lane);
}
/*
 * The running lane, for functions of lanes only: a host thread's call ends the run. NULL outside.
 */
struct simt_lane *simt_device(const char *what, const char *site);
/* Ends the run; does not return if called from a lane. */
void simt_stop(enum simt_verdict verdict, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

#endif
