/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.c - see decide.h.
 *
 *   1. Of each allocation it is assumed that it becomes one request of all threads of the block, so
 *      that all of them get memory there, or none does. With that the source is judged, and
 *      rewritten.
 *   2. Of those that did not become such a request it is not assumed any more; again from 1, until
 *      all that is assumed is so.
 *
 * Why that holds: take the first time that one of these requests is made and not all come to it. Up
 * to there all of them were made by all, who then waited for each other and got memory or did not,
 * as was assumed; so what was judged of the way there is true of it, and all come.
 *
 * Each round but the last assumes less, so there are at most as many as allocations, and one; what
 * falls takes what hangs on it along in the judge, so mostly there are two or three. Each of them
 * takes the judge's time.
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

/* All that may become together, in order. */
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

/* Of `places` those that are together by now: how many. */
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
