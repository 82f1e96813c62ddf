/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counting.c - counted loops: they terminate whatever other threads do.
 *
 *   1. The condition compares a local variable of the function with a loop-invariant value, or
 *      tests whether it is zero.
 *   2. All assignments to the variable in the loop move it in one direction, ++ and += or -- and
 *      -=, by a step that is never zero.
 *   3. The variable changes in every iteration: in the condition, in the step, or in a top-level
 *      statement of the body that no `continue` can skip.
 *
 * Bound: the nodes of the loop are visited once for each evaluation of its condition. The recursion
 * is as deep as the function (judge_parts.h: DEEPEST). Invariant: a loop of any other form is not
 * counted, because it may contain threads that wait for others (reach.c).
 */
#include <string.h>

#include "coalesce/judge/judge_parts.h"

struct counter {
	struct judge *judge;
	const struct co_node *loop;
	int variable;
	bool up, fine;
	bool one; /* by 1 in each iteration */
};

static bool is_word(const struct co_node *node, const char *word)
{
	return node->name && strcmp(node->name, word) == 0;
}

/* A variable that only assignments to it by name can change. */
static bool is_own(const struct judge *judge, int index)
{
	const struct co_variable *variable = &judge->program->variables[index];
	return (variable->home == CO_LOCAL || variable->home == CO_PARAMETER) &&
	       !variable->is_volatile && !variable->reference && !judge->variables[index].anybody;
}

bool node_names(const struct co_node *node, int variable)
{
	if (node->kind == CO_VARIABLE)
		return node->variable == variable;
	for (const struct co_node *child = node->first; child; child = child->next)
		if (node_names(child, variable))
			return true;
	return false;
}

/* Consists of values and of variables that can only be set by name. */
static bool is_plain(const struct judge *judge, const struct co_node *node)
{
	switch (node->kind) {
	case CO_VALUE: return true;
	case CO_VARIABLE:
		return judge->program->variables[node->variable].home == CO_BUILTIN ||
		       is_own(judge, node->variable);
	case CO_MEMBER:
	case CO_MIX:
		for (const struct co_node *child = node->first; child; child = child->next)
			if (!is_plain(judge, child))
				return false;
		return node->first != NULL;
	default: return false;
	}
}

/* Greater than zero: a positive literal, or a number of threads. */
static bool is_positive(const struct judge *judge, const struct co_node *node)
{
	const struct co_program *program = judge->program;
	const struct co_node *child = node->first;
	switch (node->kind) {
	case CO_VALUE:
		return node->in_file && !node->macro && node->end <= program->bytes &&
		       program->text[node->begin] >= '1' && program->text[node->begin] <= '9';
	case CO_VARIABLE:
		return program->variables[node->variable].home == CO_BUILTIN &&
		       (strcmp(program->variables[node->variable].name, "blockDim") == 0 ||
			strcmp(program->variables[node->variable].name, "gridDim") == 0 ||
			strcmp(program->variables[node->variable].name, "warpSize") == 0);
	case CO_MEMBER: return child && is_positive(judge, child);
	default: return false;
	}
}

/* The effect of an assignment on the counter variable. */
static void see_assign(struct counter *counter, const struct co_node *node)
{
	const struct co_node *target = node->first, *by = target ? target->next : NULL;
	bool one = is_word(node, counter->up ? "++" : "--");
	bool more = is_word(node, counter->up ? "+=" : "-=") && !counter->one && by &&
		    is_positive(counter->judge, by);
	if (!target || target->kind != CO_VARIABLE || target->variable != counter->variable)
		counter->fine &= !target || target->kind == CO_LOAD ||
				 !node_names(target, counter->variable);
	else
		counter->fine &= node->reads && (one || more);
}

static void see_all(struct counter *counter, const struct co_node *node)
{
	counter->judge->work++;
	switch (node->kind) {
	case CO_ASSIGN: see_assign(counter, node); break;
	case CO_DECLARE: counter->fine &= node->variable != counter->variable; break;
	case CO_UNKNOWN: counter->fine &= !node_names(node, counter->variable); break;
	default: break;
	}
	for (const struct co_node *child = node->first; child; child = child->next)
		see_all(counter, child);
}

/* Returns whether `variable` may be set in `node`. */
static bool sets(const struct co_node *node, int variable)
{
	bool here = node->kind == CO_ASSIGN ? node->first && node_names(node->first, variable)
		    : node->kind == CO_UNKNOWN
			    ? node_names(node, variable)
			    : node->kind == CO_DECLARE && node->variable == variable;
	for (const struct co_node *child = node->first; child && !here; child = child->next)
		here = sets(child, variable);
	return here;
}

/* True if no variable in `node` is set in the loop. */
static bool stays(const struct counter *counter, const struct co_node *node)
{
	if (node->kind == CO_VARIABLE)
		return !sets(counter->loop, node->variable);
	for (const struct co_node *child = node->first; child; child = child->next)
		if (!stays(counter, child))
			return false;
	return true;
}

static bool has(const struct co_node *node, enum co_kind kind)
{
	if (node->kind == kind)
		return true;
	for (const struct co_node *child = node->first; child; child = child->next)
		if (has(child, kind))
			return true;
	return false;
}

/* True if the node, or a part of it that is always executed, changes the variable. */
static bool moves(const struct co_node *node, int variable)
{
	if (node->kind == CO_ASSIGN)
		return node->first && node->first->kind == CO_VARIABLE &&
		       node->first->variable == variable;
	if (node->kind != CO_MIX && node->kind != CO_SEQUENCE)
		return false;
	for (const struct co_node *child = node->first; child; child = child->next)
		if (moves(child, variable))
			return true;
	return false;
}

/* True if `side` counts towards `other` (NULL: zero). */
static bool counts_to(struct counter *counter, const struct co_node *side,
		      const struct co_node *other, bool up, bool one)
{
	const struct co_node *condition = counter->loop->first->next;
	const struct co_node *step = condition->next, *body = step->next;
	if (side->kind == CO_ASSIGN && side->first)
		side = side->first;
	if (side->kind != CO_VARIABLE || !is_own(counter->judge, side->variable))
		return false;
	counter->variable = side->variable;
	counter->up = up;
	counter->one = one;
	counter->fine = !other || (is_plain(counter->judge, other) && stays(counter, other));
	for (const struct co_node *part = condition; part && counter->fine; part = part->next)
		see_all(counter, part);
	return counter->fine && (moves(condition, side->variable) || moves(step, side->variable) ||
				 (!has(body, CO_CONTINUE) && moves(body, side->variable)));
}

bool loop_counts(struct judge *judge, const struct co_node *loop)
{
	const struct co_node *condition = loop->first->next, *left = condition->first;
	struct counter counter = { .judge = judge, .loop = loop };
	if (condition->kind == CO_VARIABLE || condition->kind == CO_ASSIGN)
		return counts_to(&counter, condition, NULL, false, true);
	if (condition->kind != CO_MIX || !left || !left->next)
		return false;
	const struct co_node *right = left->next;
	bool less = is_word(condition, "<") || is_word(condition, "<=");
	if (less || is_word(condition, ">"))
		return counts_to(&counter, left, right, less, false) ||
		       (!is_word(condition, "<=") &&
			counts_to(&counter, right, left, !less, false));
	return is_word(condition, "!=") && (counts_to(&counter, left, right, true, true) ||
					    counts_to(&counter, left, right, false, true));
}
