/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutate_must.c - replaces simt/tests/must.c in mutant programs: the first failure ends the
 * program, because one is enough.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "simt/explore.h"

static char text[SIMT_TEXT_BYTES + 8192];

/* Prints a line in the format of Check. */
static void end_with(const struct simt_case *test, const char *why)
{
	printf("mutate_must.c:1:F:case:%s:0: %s\n", test->name, why);
	fflush(stdout);
	_exit(EXIT_FAILURE);
}

void simt_must_pass(const struct simt_case *test)
{
	struct simt_search search;

	if (simt_explore(test, &search))
		return;
	simt_describe(test, &search, text, sizeof(text));
	end_with(test, text);
}

void simt_must_fail(const struct simt_case *test, enum simt_verdict verdict)
{
	struct simt_search search;

	if (simt_explore(test, &search) && !getenv("SIMT_SEEDS"))
		end_with(test, "the planted defect was not found");
	(void)verdict;
}
