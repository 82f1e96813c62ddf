/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_cases.h - small programs (program_read_text.h) and what the judge must say of them.
 *
 * `want` has a verdict for each call that is judged, in the order of the text, "; " between them:
 * who comes, and if any do together, whether the size is the same; "/block" or "/warp" where
 * `best` is better; "helper" in front of a call of a function that allocates. `reason`: a part of
 * the last verdict's reason; NULL, any.
 */
#ifndef TESTS_COALESCE_TOOL_JUDGE_CASES_H
#define TESTS_COALESCE_TOOL_JUDGE_CASES_H

struct judge_case {
	const char *text, *want, *reason;
};

/* Each ends with a text that is NULL. */
extern const struct judge_case judge_cases_reach[], judge_cases_loops[], judge_cases_values[],
	judge_cases_calls[], judge_cases_together[];

#endif
