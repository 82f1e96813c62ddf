/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets.c - variables of a thread that other names stand for: through a pointer or a reference
 * that a function gets as a parameter, or through a local one.
 *
 *   1. facts.c visits all code. A parameter that is a pointer or a reference gets a slot for its
 *      target. If the parameter itself may be kept, changed or computed with, it leaks.
 *   2. Each place where a local variable, or a parameter's own target, is bound to such a name is a
 *      binding: an argument of a call, or the only initial value of a local pointer or reference.
 *   3. If a name leaks, so does everything that is bound to it: its variables may be written by any
 *      code. A variable that a call may write is not named elsewhere in the same expression,
 *      because the order of evaluation is unknown there.
 *   4. At a call (calls.c), the callee's slot starts with the level of the variable, and at its end
 *      the variable gets the level of the slot. Two parameters with one target are not followed in
 *      that call; their variable may have any value after it.
 *
 * Invariant: if a name does not leak, its target is a variable of the same thread that no other
 * code can access while the function runs, except by other names that targets.c resolves to it.
 * Bound: each round over the bindings marks one more variable, so bindings x variables at most.
 */
#include <string.h>

#include "coalesce/judge/judge_parts.h"

static const struct co_variable *variable_at(const struct judge *judge, int index)
{
	return &judge->program->variables[index];
}

int target_root(const struct judge *judge, const struct co_node *node, bool *through)
{
	*through = false;
	while (node && (node->kind == CO_MEMBER || node->kind == CO_LOAD)) {
		const struct co_node *base = node->first;
		if (node->is_volatile || !base)
			return CO_NONE;
		if (node->kind == CO_LOAD && !base->array) {
			if (base->kind != CO_VARIABLE)
				return CO_NONE;
			const struct co_variable *variable = variable_at(judge, base->variable);
			if (variable->pointer && !variable->reference) {
				*through = true;
				return base->variable;
			}
			if (variable->reference && variable->plain)
				return CO_NONE; /* a reference to a pointer */
		}
		node = base;
	}
	if (!node || node->kind != CO_VARIABLE)
		return CO_NONE;
	*through = variable_at(judge, node->variable)->reference;
	return node->variable;
}

static bool is_own(const struct judge *judge, int variable, int function)
{
	const struct co_variable *of = variable_at(judge, variable);
	return (of->home == CO_LOCAL || of->home == CO_PARAMETER) && of->owner == function &&
	       !of->is_volatile;
}

/* The place that an argument or an initial value binds to the name `to`; NULL: none is known. */
const struct co_node *target_place(const struct judge *judge, const struct co_node *node, int to)
{
	const struct co_variable *name = variable_at(judge, to);
	bool temporary = node->kind == CO_MIX || node->kind == CO_VALUE;
	if (name->reference)
		return node->bound && !temporary ? node : NULL;
	if (node->kind == CO_ADDRESS)
		return node->first;
	/* A pointer that is passed on: its target. */
	const struct co_variable *from =
		node->kind == CO_VARIABLE ? variable_at(judge, node->variable) : NULL;
	return from && from->pointer && !from->reference ? node : NULL;
}

/* The root of that place, seen from the pointer that is passed on, too. */
int target_bound(const struct judge *judge, const struct co_node *node, int to, int function,
		 bool *through)
{
	const struct co_node *place = target_place(judge, node, to);
	int root = place ? target_root(judge, place, through) : CO_NONE;
	if (place == node && !variable_at(judge, to)->reference)
		*through = true;
	if (root == CO_NONE || !is_own(judge, root, function))
		return CO_NONE;
	return !*through || judge->variables[root].target != CO_NONE ||
			       variable_at(judge, root)->home == CO_LOCAL
		       ? root
		       : CO_NONE;
}

bool target_add(struct judge *judge, struct binding binding)
{
	size_t count = judge->binding_count;
	if ((count & (count - 1)) == 0) { /* full */
		struct binding *wider =
			co_arena_take(judge->own, (count ? 2 * count : 1) * sizeof *wider);
		if (!wider)
			return false;
		if (count)
			memcpy(wider, judge->bindings, count * sizeof *wider);
		judge->bindings = wider;
	}
	judge->bindings[judge->binding_count++] = binding;
	return true;
}

/* ---- after all code was visited -------------------------------------------------------------- */

static bool is_lost(const struct judge *judge, int name)
{
	const struct variable_facts *facts = &judge->variables[name];
	return facts->leaks || facts->anybody || facts->foreign ||
	       (facts->target == CO_NONE && facts->alias == CO_NONE);
}

static bool lose(struct judge *judge, const struct binding *binding)
{
	struct variable_facts *facts = &judge->variables[binding->from];
	bool *lost = binding->through ? &facts->leaks : &facts->anybody;
	bool changed = !*lost;
	*lost = true;
	return changed;
}

/* The variable, or the parameter whose target it is, that a name stands for in the end. */
static int last_root(const struct judge *judge, int variable)
{
	for (unsigned int i = 0; i < 64 && judge->variables[variable].alias != CO_NONE; i++)
		variable = judge->variables[variable].alias;
	return variable;
}

static size_t count_names(struct judge *judge, const struct co_node *node, int root)
{
	size_t count = node->kind == CO_VARIABLE && last_root(judge, node->variable) == root;
	judge->work++;
	for (const struct co_node *child = node->first; child; child = child->next)
		count += count_names(judge, child, root);
	return count;
}

/* Another part of the expression names the variable, and may be evaluated before or after. */
static bool is_unordered(struct judge *judge, const struct binding *binding)
{
	int root = last_root(judge, binding->from);
	if (!binding->call || binding->call == binding->expression)
		return false;
	return count_names(judge, binding->expression, root) >
	       count_names(judge, binding->call, root);
}

static bool spread_written(struct judge *judge)
{
	bool changed = false;
	for (size_t i = 0; i < judge->binding_count; i++) {
		const struct binding *binding = &judge->bindings[i];
		struct variable_facts *from = &judge->variables[binding->from];
		bool *written = binding->through ? &from->written : &from->modified;
		if (!judge->variables[binding->to].written || *written)
			continue;
		*written = changed = true;
	}
	return changed;
}

void targets_resolve(struct judge *judge)
{
	while (spread_written(judge))
		continue;
	for (size_t i = 0; i < judge->binding_count; i++)
		if (judge->variables[judge->bindings[i].to].written &&
		    is_unordered(judge, &judge->bindings[i]))
			lose(judge, &judge->bindings[i]);
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < judge->program->variable_count; i++) {
			struct variable_facts *facts = &judge->variables[i];
			/* A captured variable that changes: the closure may have another value. */
			if (facts->foreign && facts->modified && !facts->anybody)
				facts->anybody = changed = true;
		}
		for (size_t i = 0; i < judge->binding_count; i++)
			if (is_lost(judge, judge->bindings[i].to))
				changed |= lose(judge, &judge->bindings[i]);
	}
}

/* ---- during the analysis --------------------------------------------------------------------- */

static int slot_of(const struct walk *walk, int variable)
{
	const struct variable_facts *facts = &walk->judge->variables[variable];
	return is_own(walk->judge, variable, walk->context->function) && !facts->anybody
		       ? facts->slot
		       : CO_NONE;
}

/* The number of a parameter that is followed in this context; 0: it is not followed. */
static uint32_t bit_of(const struct walk *walk, int variable)
{
	const struct co_function *of = &walk->judge->program->functions[walk->context->function];
	for (size_t i = 0; i < of->parameter_count && i < MAX_ARGUMENTS; i++)
		if (of->parameters[i] == variable)
			return (uint32_t)1 << i;
	return 0;
}

int target_slot(const struct walk *walk, int variable, bool *whole)
{
	const struct judge *judge = walk->judge;
	*whole = true;
	for (unsigned int i = 0; i < 64; i++) {
		const struct variable_facts *facts = &judge->variables[variable];
		if (is_lost(judge, variable) || !is_own(judge, variable, walk->context->function))
			return CO_NONE;
		if (facts->target != CO_NONE) {
			uint32_t bit = bit_of(walk, variable);
			*whole = *whole && variable_at(judge, variable)->plain &&
				 (walk->context->whole & bit);
			return walk->context->lent & bit ? facts->target : CO_NONE;
		}
		*whole = *whole && facts->alias_whole;
		variable = facts->alias;
		if (!facts->alias_through)
			return slot_of(walk, variable);
	}
	return CO_NONE;
}

int target_slot_of(const struct walk *walk, const struct co_node *place, bool *whole)
{
	bool through;
	int root = target_root(walk->judge, place, &through);
	if (root == CO_NONE || !through)
		return CO_NONE;
	int slot = target_slot(walk, root, whole);
	/* *p, or the reference itself: not p->m, p[i] or a part of it */
	*whole = *whole && (place->kind == CO_VARIABLE ||
			    (place->kind == CO_LOAD && place->first->kind == CO_VARIABLE &&
			     !place->first->next && !place->name && !place->first->array));
	return slot;
}

bool target_is_temporary(const struct judge *judge, const struct co_node *argument, int parameter)
{
	return (argument->kind == CO_MIX || argument->kind == CO_VALUE) && argument->bound &&
	       variable_at(judge, parameter)->reference && !is_lost(judge, parameter);
}

/* The slot of a place that an argument binds to a parameter. */
int target_lent(const struct walk *walk, const struct co_node *argument, int parameter, bool *whole)
{
	const struct judge *judge = walk->judge;
	const struct co_node *place = target_place(judge, argument, parameter);
	bool through;
	int root = target_bound(judge, argument, parameter, walk->context->function, &through);
	*whole = false;
	if (root == CO_NONE || is_lost(judge, parameter))
		return CO_NONE;
	if (through && place->kind == CO_VARIABLE)
		return target_slot(walk, root, whole);
	if (through)
		return target_slot_of(walk, place, whole);
	const struct co_variable *variable = variable_at(judge, root);
	*whole = place->kind == CO_VARIABLE && (variable->pointer || variable->plain);
	return slot_of(walk, root);
}
