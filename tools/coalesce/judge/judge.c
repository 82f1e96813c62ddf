/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.c - see judge.h; judge_parts.h describes the analysis.
 */
#include "coalesce/judge/judge_parts.h"

/* False: memory ran out. */
static bool begin(struct judge *judge)
{
	const struct co_program *program = judge->program;
	judge->arena = co_arena_new();
	judge->own = co_arena_new();
	if (!judge->arena || !judge->own)
		return false;
	judge->facts = co_arena_take(judge->own, program->function_count * sizeof *judge->facts);
	judge->variables =
		co_arena_take(judge->own, program->variable_count * sizeof *judge->variables);
	return judge->facts && judge->variables;
}

struct co_judgement *co_judge(const struct co_program *program, const char *const *library)
{
	return co_judge_together(program, library, NULL, 0);
}

struct co_judgement *co_judge_together(const struct co_program *program, const char *const *library,
				       const struct co_place *together, size_t count)
{
	struct judge judge = { .program = program,
			       .library = library,
			       .together = together,
			       .together_count = count };
	struct co_judgement *judgement = NULL;
	if (begin(&judge) && facts_find(&judge) && circles_find(&judge)) {
		targets_resolve(&judge);
		facts_spread(&judge);
		verdicts_sort(&judge);
		contexts_analyze(&judge);
		if (!judge.failed)
			judgement = verdicts_make(&judge);
	}
	co_arena_free(judge.own);
	if (!judgement)
		co_arena_free(judge.arena);
	return judgement;
}

void co_judgement_free(struct co_judgement *judgement)
{
	if (judgement)
		co_arena_free(judgement->arena);
}
