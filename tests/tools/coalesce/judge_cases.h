/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_cases.h - small programs (program_read_text.h) and the judge's expected verdicts.
 *
 * `want` has a verdict for each call that is judged, in the order of the text, with "; " between
 * them: which threads reach it; if threads reach it together, whether the size is uniform; "/block"
 * or "/warp" if `best` is better; "helper" before a call of a function that allocates. `reason`: a
 * part of the last verdict's reason; NULL: any.
 */
#ifndef TESTS_COALESCE_TOOL_JUDGE_CASES_H
#define TESTS_COALESCE_TOOL_JUDGE_CASES_H

struct judge_case {
	const char *text, *want, *reason;
};

/* Each array ends with a NULL text. */
extern const struct judge_case judge_cases_reach[], judge_cases_loops[], judge_cases_values[],
	judge_cases_calls[], judge_cases_together[];

#endif
