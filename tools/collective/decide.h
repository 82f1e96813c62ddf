/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.h - a program's verdicts as they are, and as they become by rewriting it.
 *
 * Programs ask whether they were given memory, and leave if not. As the source stands each thread
 * has its own answer, so behind `if (!p) return;` nobody is known to come with all others. But once
 * that request is one for all threads of the block, all of them get memory or none does, and who
 * comes behind it is known again.
 */
#ifndef MAM_TOOLS_COALESCE_DECIDE_H
#define MAM_TOOLS_COALESCE_DECIDE_H

#include "rewrite.h"

struct co_decision {
	struct co_judgement *judgement; /* of the source as it is */
	struct co_judgement *rewritten; /* once `edits` are made; the same calls in the same order */
	struct co_edits *edits;
};

/* False: memory ran out, and nothing is left to be freed. */
bool co_decide(const struct co_program *program, const char *const *library,
	       struct co_decision *decision);
void co_decision_free(struct co_decision *decision);

#endif
