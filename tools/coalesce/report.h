/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - prints the verdicts, for people and for programs.
 */
#ifndef MAM_TOOLS_COALESCE_REPORT_H
#define MAM_TOOLS_COALESCE_REPORT_H

#include <stdio.h>

#include "coalesce/rewrite/decide.h"

/* Number of collective and of other allocations in the files. */
struct co_tally {
	size_t block, warp, none;
	size_t varying; /* of those of a block or warp */
	size_t later;   /* of the others: of a block or warp once the file is rewritten */
};

/* co_report_put - prints a line per allocation; `plain`: tab separated. Adds to `tally`. */
void co_report_put(FILE *file, const struct co_program *program, const struct co_decision *decision,
		   bool plain, struct co_tally *tally);
bool co_report_is_listed(const struct co_verdict *verdict);   /* an allocation in the file */
const char *co_report_call(const struct co_verdict *verdict); /* "malloc" */
/* co_report_sum - prints one sentence about all files */
void co_report_sum(FILE *file, const struct co_tally *tally, size_t files);

#endif
