/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutate_must.c - what simt/tests/must.c has, for programs of mutants: the first failure is all that is asked for, so it ends
 * the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "simt/explore.h"

static char text[SIMT_TEXT_BYTES + 8192];

/* The line looks like one of Check's. */
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
		end_with(test, "what is wrong here was not found");
	(void)verdict;
}
