/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told.h - the counters that a kernel of `mam bench case` reports, in place of struct device_found.
 */
#ifndef MAM_TOOLS_BENCH_CASES_TOLD_H
#define MAM_TOOLS_BENCH_CASES_TOLD_H

#include <stdint.h>

/* Flags of a job. */
#define CASE_COUNT 1u /* requests count themselves and the live bytes: for an untimed pass */

struct case_told {
	uint64_t none;  /* failed requests */
	uint64_t wrong; /* number of errors */
	/* With CASE_COUNT. */
	uint64_t asks;  /* requests */
	uint64_t steps; /* their steps, if the allocator counts them in a search */
	uint64_t live;  /* bytes requested and not freed */
	uint64_t peak;  /* their peak */
	/* Specific to the case. */
	uint64_t count, sum, more, rest;
	uint64_t own[6];
};

#endif
