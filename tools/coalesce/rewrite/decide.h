/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.h - the verdicts of a program before and after rewriting it.
 *
 * Programs check whether they got memory, and return if not. In the original source each thread
 * checks its own pointer, so after `if (!p) return;` no thread is known to continue together with
 * all others. Once that request is one for all threads of the block, either all of them get memory
 * or none does. Then it is known again which threads continue.
 */
#ifndef MAM_TOOLS_COALESCE_DECIDE_H
#define MAM_TOOLS_COALESCE_DECIDE_H

#include "rewrite.h"

struct co_decision {
	struct co_judgement *judgement; /* of the original source */
	struct co_judgement *rewritten; /* after `edits`; the same calls in the same order */
	struct co_edits *edits;
};

/* False: memory ran out, and nothing has to be freed. */
bool co_decide(const struct co_program *program, const char *const *library,
	       struct co_decision *decision);
void co_decision_free(struct co_decision *decision);

#endif
