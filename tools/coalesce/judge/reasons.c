/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reasons.c - one sentence for each verdict: the cause of divergence, with its line and its
 * variable; or why there is none.
 *
 * Each level carries its cause (judge_parts.h: why, place), which is turned into words here. A line
 * is named if it is in the file.
 */
#include <string.h>

#include "coalesce/judge/judge_parts.h"

/* Texts live as long as co_judge(). If memory ran out they are empty, and the judge fails. */
#define SAY(judge, ...) said(judge, co_arena_print((judge)->own, __VA_ARGS__))

static const char *said(struct judge *judge, const char *text)
{
	judge->failed |= !text;
	return text ? text : "";
}

static const char *variable_name(const struct judge *judge, int variable)
{
	return variable == CO_NONE ? "it" : judge->program->variables[variable].name;
}

/* "at line 12", "in an included file" */
static const char *at_line(struct judge *judge, const struct co_node *node)
{
	if (!node || !node->in_file)
		return "in an included file";
	return SAY(judge, "at line %u", node->line);
}

static const char *call_text(const struct judge *judge, const struct co_node *node)
{
	const char *name = NULL;
	if (node && node->kind == CO_CALL)
		name = call_name(judge->program, node);
	return name ? name : node && node->kind == CO_NEW ? "new" : "a call";
}

static const char *builtin_text(struct judge *judge, const struct co_node *node)
{
	const struct co_node *base = node->kind == CO_MEMBER ? node->first : node;
	const char *name = judge->program->variables[base->variable].name;
	if (node->kind != CO_MEMBER || !node->name)
		return name;
	return SAY(judge, "%s.%s", name, node->name);
}

/* The cause of the level of a value. */
static const char *source(struct judge *judge, const struct cell *cell)
{
	const struct co_node *node = cell->at;
	const char *of = variable_name(judge, cell->of), *at = at_line(judge, node);
	if (node && node->kind == CO_VARIABLE)
		of = variable_name(judge, node->variable);
	switch ((enum why)cell->why) {
	case WHY_BUILTIN: return builtin_text(judge, node);
	case WHY_LOADED: return SAY(judge, "the value loaded %s", at);
	case WHY_GAVE: return SAY(judge, "the result of %s %s", call_text(judge, node), at);
	case WHY_ALLOCATED:
		return SAY(judge, "the memory that %s returned %s", call_text(judge, node), at);
	case WHY_ADDRESSED:
	case WHY_REFERENCE: return SAY(judge, "%s, which may be written through its address", of);
	case WHY_VOLATILE: return SAY(judge, "%s, which is volatile", of);
	case WHY_GLOBAL: return SAY(judge, "%s, which any thread may write", of);
	case WHY_SHARED:
		return SAY(judge, "%s, which is shared and may be written while it is read", of);
	case WHY_UNSET: return "a variable that may not be set";
	case WHY_PLACE: return SAY(judge, "the address of %s", of);
	case WHY_CALLERS: return "unknown callers";
	default: return SAY(judge, "unknown code %s", at);
	}
}

/* The variable that a level was read from, unless the source is that variable. */
static const char *reader(const struct judge *judge, const struct cell *cell)
{
	const struct co_node *at = cell->at;
	while (at && at->kind == CO_MEMBER)
		at = at->first;
	if (cell->of == CO_NONE || (at && at->kind == CO_VARIABLE && at->variable == cell->of))
		return NULL;
	return variable_name(judge, cell->of);
}

/* "n depends on threadIdx.x", "the size depends on ...": `what` is used if no variable is known. */
static const char *depends(struct judge *judge, const struct cell *cell, const char *what)
{
	const char *by = source(judge, cell), *name = reader(judge, cell);
	if (cell->place == PLACE_NONE || !cell->where)
		return SAY(judge, "%s depends on %s", name ? name : what, by);
	return SAY(judge, "%s is not set by all threads, %s, because of %s", name ? name : what,
		   at_line(judge, cell->where), by);
}

/* Why not all threads reach the place. */
static const char *some_come(struct judge *judge, const struct cell *cell)
{
	const char *at = at_line(judge, cell->where), *by = source(judge, cell);
	const char *name = reader(judge, cell);
	const char *on = name ? SAY(judge, "%s, which depends on %s", name, by) : by;
	switch ((enum place)cell->place) {
	case PLACE_CONDITION:
		return SAY(judge, "not all threads pass the condition %s, because of %s", at, on);
	case PLACE_LOOP:
		return SAY(judge,
			   "threads leave the loop %s in different iterations, because of %s", at,
			   on);
	case PLACE_LEFT: return SAY(judge, "threads leave %s because of %s", at, on);
	case PLACE_ENDED:
		return SAY(judge, "threads may not return from %s, called %s",
			   call_text(judge, cell->where), at);
	case PLACE_WAIT:
		return SAY(judge, "threads may wait for each other %s, because of %s", at, by);
	case PLACE_JUMP: return SAY(judge, "control flow is unknown after the jump %s", at);
	case PLACE_UNKNOWN: return SAY(judge, "code %s is not understood", at);
	case PLACE_DEEP: return "a called function is too large to be analyzed";
	default: break;
	}
	return cell->why == WHY_CALLERS ? "the callers of this function are unknown"
					: depends(judge, cell, "the heap");
}

/* A variable that the size depends on, to name it. */
static const char *named(const struct judge *judge, const struct co_node *node)
{
	if (!node)
		return NULL;
	if (node->kind == CO_VARIABLE)
		return judge->program->variables[node->variable].name;
	/* A value that a lambda captured. */
	if (node->kind == CO_MEMBER && node->name && node->first->kind == CO_VARIABLE) {
		int owner = judge->program->variables[node->first->variable].owner;
		if (owner != CO_NONE && judge->program->functions[owner].is_lambda &&
		    judge->program->functions[owner].parameters[0] == node->first->variable)
			return node->name;
	}
	for (const struct co_node *child = node->first; child; child = child->next) {
		const char *name = named(judge, child);
		if (name)
			return name;
	}
	return NULL;
}

/* All threads of the block, or of a warp, are together. */
static const char *good(struct judge *judge, const struct record *record)
{
	const struct co_verdict *verdict = &record->verdict;
	const struct cell *size = record->some ? &record->sizes : &record->all_sizes;
	bool warp = verdict->reached == CO_WARP;
	const char *who =
		warp ? "all lanes of a warp reach it" : "all threads of the block reach it";
	const char *name = named(judge, record->measure), *what = "";
	if (warp)
		who = SAY(judge, "%s; in the block, %s", who, some_come(judge, &record->reached));
	if (verdict->kind == CO_HELPER)
		return who;
	what = depends(judge, size, "the size");
	if (verdict->size > verdict->reached)
		return SAY(judge, "%s, but %s", who, what);
	if (!name)
		name = "bytes";
	return warp ? SAY(judge, "%s; the same %s in the warp", who, name)
		    : SAY(judge, "%s, with the same %s", who, name);
}

static const char *unseen(struct judge *judge, const struct record *record)
{
	const struct facts *facts = &judge->facts[record->verdict.function];
	if (judge->work >= MAX_WORK)
		return "the file is too large to be analyzed";
	if (facts->too_deep)
		return "its function is nested too deeply to be analyzed";
	if (facts->spoiled)
		return SAY(judge, "control flow in its function is unknown, because of the code %s",
			   at_line(judge, facts->spoiled));
	return "the instances of its template differ, or no thread reaches it";
}

const char *reason_of(struct judge *judge, const struct record *record, unsigned int *line)
{
	const struct co_verdict *verdict = &record->verdict;
	const struct co_node *at = NULL;
	const char *text = "each thread frees its own memory";
	bool gives_back = verdict->kind == CO_FREE || verdict->kind == CO_KFREE ||
			  verdict->kind == CO_OPERATOR_DELETE;
	if (!gives_back && judge->program->functions[verdict->function].is_rest) {
		text = "it is not followed: it is in a lambda, an initializer or a default "
		       "argument, "
		       "or its type is not known";
	} else if (!gives_back && (!record->seen || judge->work >= MAX_WORK)) {
		text = unseen(judge, record);
		at = judge->facts[verdict->function].spoiled;
	} else if (!gives_back && verdict->reached == CO_EACH) {
		text = some_come(judge, &record->reached);
		at = record->reached.where ? record->reached.where : record->reached.at;
	} else if (!gives_back) {
		text = good(judge, record);
		at = record->reached.where;
		if (verdict->size > verdict->reached)
			at = (record->some ? record->sizes : record->all_sizes).at;
	}
	*line = at && at->in_file ? at->line : 0;
	return judge->failed ? NULL : co_arena_text(judge->arena, text, strlen(text));
}
