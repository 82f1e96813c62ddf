/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.c - see decide.h.
 *
 *   1. Assume of each allocation that it becomes one request for all threads of the block, so that
 *      either all of them get memory or none does. Analyze and rewrite the source under that
 *      assumption.
 *   2. Drop the assumption for the allocations that did not become such a request. Repeat from 1
 *      until all remaining assumptions hold.
 *
 * Proof: consider the first of these requests that not all threads reach. Before it, all threads
 * made all of these requests, waited for each other, and all got memory or none did, as assumed. So
 * the analysis of the path to this request is valid, and all threads reach it.
 *
 * Each round except the last drops at least one assumption, so there are at most as many rounds as
 * allocations, plus one. Dropping one assumption usually invalidates those that depend on it in the
 * same round, so two or three rounds are typical. Each round takes the time of one analysis.
 */
#include "decide.h"

#include <stdlib.h>
#include <string.h>

static int by_place(const void *a, const void *b)
{
	const struct co_place *one = a, *other = b;

	if (one->begin != other->begin)
		return one->begin < other->begin ? -1 : 1;
	return (one->end > other->end) - (one->end < other->end);
}

static bool is_allocation(const struct co_verdict *verdict)
{
	return (verdict->kind == CO_MALLOC || verdict->kind == CO_KMALLOC ||
		verdict->kind == CO_OPERATOR_NEW) &&
	       verdict->node->in_file && !verdict->node->macro;
}

/* All allocations that may become such requests, in order. */
static struct co_place *places_of(const struct co_judgement *judgement, size_t *count)
{
	struct co_place *places = calloc(judgement->count + 1, sizeof(*places));

	*count = 0;
	for (size_t i = 0; places && i < judgement->count; i++)
		if (is_allocation(&judgement->verdicts[i]))
			places[(*count)++] = (struct co_place){ judgement->verdicts[i].node->begin,
								judgement->verdicts[i].node->end };
	if (*count > 1)
		qsort(places, *count, sizeof(*places), by_place);
	return places;
}

/* Keeps those of `places` that became such requests; returns their number. */
static size_t keep(struct co_place *places, size_t count, struct co_edits *edits)
{
	size_t kept = 0;

	if (edits->together_count > 1)
		qsort(edits->together, edits->together_count, sizeof(*edits->together), by_place);
	for (size_t i = 0; i < count && edits->together_count; i++)
		if (bsearch(&places[i], edits->together, edits->together_count, sizeof(*places),
			    by_place))
			places[kept++] = places[i];
	return kept;
}

static void drop(struct co_decision *decision)
{
	co_judgement_free(decision->rewritten);
	co_edits_free(decision->edits);
	decision->rewritten = NULL;
	decision->edits = NULL;
}

static bool decide(struct co_decision *decision, const struct co_program *program,
		   const char *const *library, struct co_place *places, size_t count)
{
	for (;;) {
		size_t before = count;

		drop(decision);
		decision->rewritten = co_judge_together(program, library, places, count);
		if (decision->rewritten)
			decision->edits = co_rewrite(program, decision->rewritten, library);
		if (!decision->edits)
			return false;
		count = keep(places, count, decision->edits);
		if (count == before)
			return true;
	}
}

bool co_decide(const struct co_program *program, const char *const *library,
	       struct co_decision *decision)
{
	struct co_place *places = NULL;
	size_t count = 0;
	bool decided;

	memset(decision, 0, sizeof(*decision));
	decision->judgement = co_judge(program, library);
	if (decision->judgement)
		places = places_of(decision->judgement, &count);
	decided = places && decide(decision, program, library, places, count);
	free(places);
	if (!decided)
		co_decision_free(decision);
	return decided;
}

void co_decision_free(struct co_decision *decision)
{
	drop(decision);
	co_judgement_free(decision->judgement);
	decision->judgement = NULL;
}
