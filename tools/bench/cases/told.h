/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told.h - what a kernel of `mam bench case` tells, in the place of struct device_found.
 */
#ifndef MAM_TOOLS_BENCH_CASES_TOLD_H
#define MAM_TOOLS_BENCH_CASES_TOLD_H

#include <stdint.h>

/* Flags of a job. */
#define CASE_COUNT 1u /* requests count themselves and what is live: for a pass that is not timed */

struct case_told {
	uint64_t none;  /* requests that got nothing */
	uint64_t wrong; /* what must not be, counted */
	/* With CASE_COUNT. */
	uint64_t asks;  /* requests */
	uint64_t steps; /* that they took, where the allocator counts them in a walk */
	uint64_t live;  /* bytes asked for and not given back */
	uint64_t peak;  /* the most of them at any time */
	/* Of the case's own. */
	uint64_t count, sum, more, rest;
	uint64_t own[6];
};

#endif
