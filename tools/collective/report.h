/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - what was found, for people and for programs.
 */
#ifndef MAM_TOOLS_COALESCE_REPORT_H
#define MAM_TOOLS_COALESCE_REPORT_H

#include <stdio.h>

#include "decide.h"

/* Of allocations in files: how many are collective, how many are not. */
struct co_tally {
	size_t block, warp, none;
	size_t varying; /* of those of block and warp */
	size_t later;   /* of the others, who are of a block or warp once the file is rewritten */
};

/* co_report_put - a line an allocation; `plain`: tab separated. Adds to `tally`. */
void co_report_put(FILE *file, const struct co_program *program,
		   const struct co_decision *decision, bool plain, struct co_tally *tally);
/* co_report_sum - one sentence on all files */
void co_report_sum(FILE *file, const struct co_tally *tally, size_t files);

#endif
