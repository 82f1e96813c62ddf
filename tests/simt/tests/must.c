/* SPDX-License-Identifier: Apache-2.0 */
/*
 * must.c - explorations as assertions of Check: separate from explore.c, so that programs without
 * Check can explore.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "simt/explore.h"

static char text[SIMT_TEXT_BYTES + 4096 + 512];

void simt_must_pass(const struct simt_case *test)
{
	struct simt_search search;

	if (simt_explore(test, &search))
		return;
	simt_describe(test, &search, text, sizeof(text));
	ck_abort_msg("%s", text);
}

void simt_must_fail(const struct simt_case *test, enum simt_verdict verdict)
{
	bool chosen = getenv("SIMT_CASE") || getenv("SIMT_SEED") || getenv("SIMT_SEEDS");
	struct simt_search search;
	bool well = simt_explore_fully(test, &search);

	if (!well)
		simt_describe(test, &search, text, sizeof(text));
	if (chosen) { /* run by hand: the chosen seeds need not contain the failure */
		if (search.schedules)
			printf("%s: %s\n", test->name, well ? "nothing was found" : text);
		return;
	}
	if (well) {
		ck_abort_msg("%s: what is wrong here was not found in %llu interleavings",
			     test->name, (unsigned long long)search.schedules);
	}
	if (verdict != SIMT_FINE && search.result.verdict != verdict)
		ck_abort_msg("%s was to be found, but: %s", simt_verdict_name(verdict), text);
}
