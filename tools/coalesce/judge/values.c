/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.c - expressions: in which scope a value is uniform.
 *
 * The level of a value is the greatest level of its operands. If only some threads reach an
 * assignment, its target is divergent: the others have the old value. Memory may contain anything,
 * except constants and shared variables (shared.c). In addition to its level, a value records why a
 * loop may wait for it (judge_parts.h: BIT_...), which reach.c tests in the conditions of loops.
 *
 * O(nodes) a visit. Invariant: a kind of node that is unknown here may have any value.
 */
#include <string.h>

#include "coalesce/judge/judge_parts.h"

static const struct co_variable *variable_of(const struct walk *walk, int index)
{
	return &walk->judge->program->variables[index];
}

/* The slot of a variable of this function; CO_NONE: it belongs to another one. */
static int own_slot(const struct walk *walk, int index)
{
	const struct co_variable *variable = variable_of(walk, index);
	if (variable->home != CO_PARAMETER && variable->home != CO_LOCAL)
		return CO_NONE;
	return variable->owner == walk->context->function ? walk->judge->variables[index].slot
							  : CO_NONE;
}

struct cell value_children(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell value = cell_all;
	for (const struct co_node *child = node->first; child; child = child->next)
		value = cell_join(value, value_of(walk, state, child));
	return value;
}

/* For a value from memory: it may change, unless each iteration reads another address. */
static unsigned char memory_bits(struct cell address)
{
	return address.bits | (address.bits & BIT_MOVES ? 0 : BIT_SAME);
}

/* ---- variables ------------------------------------------------------------------------------- */

static struct cell read_builtin(const struct walk *walk, const struct co_node *node)
{
	static const char *const same[] = { "blockIdx", "blockDim", "gridDim", "warpSize" };
	const char *name = variable_of(walk, node->variable)->name;
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		if (strcmp(name, same[i]) == 0)
			return cell_all;
	return cell_why(CO_EACH, WHY_BUILTIN, node, node->variable);
}

/*
 * The slot of the closure, in a lambda that names a variable of another function. Only a variable
 * that nothing sets after its declaration gets here: any code may write the others.
 */
static int captured_slot(const struct walk *walk, int index)
{
	const struct co_function *of = &walk->judge->program->functions[walk->context->function];
	if (!of->is_lambda || !of->parameter_count || !walk->judge->variables[index].foreign)
		return CO_NONE;
	return walk->judge->variables[of->parameters[0]].slot;
}

static struct cell read_own(const struct walk *walk, const struct state *state,
			    const struct co_node *node)
{
	int index = node->variable, slot = own_slot(walk, index);
	const struct co_variable *variable = variable_of(walk, index);
	enum why why = variable->is_volatile ? WHY_VOLATILE
		       : variable->reference ? WHY_REFERENCE
					     : WHY_ADDRESSED;
	struct cell value = cell_why(CO_EACH, why, node, index);
	value.bits = variable->is_volatile ? BIT_ATOMIC : BIT_SAME;
	bool whole;
	if (variable->reference && !variable->is_volatile)
		slot = target_slot(walk, index, &whole);
	else if (slot == CO_NONE)
		slot = captured_slot(walk, index);
	if (slot == CO_NONE || variable->is_volatile || walk->judge->variables[index].anybody)
		return value;
	value = state->cells[slot];
	value.of = index;
	if (walk->loop && (walk->loop->sets[slot / 8] >> slot % 8 & 1) &&
	    !(value.bits & (BIT_SAME | BIT_ATOMIC)))
		value.bits |= BIT_MOVES;
	return value;
}

static struct cell read_variable(struct walk *walk, struct state *state, const struct co_node *node)
{
	const struct co_variable *variable = variable_of(walk, node->variable);
	struct cell value = cell_why(CO_EACH, WHY_GLOBAL, node, node->variable);
	value.bits = variable->is_volatile ? BIT_ATOMIC : BIT_SAME;
	switch (variable->home) {
	case CO_PARAMETER:
	case CO_LOCAL: return read_own(walk, state, node);
	case CO_SHARED: return shared_read(walk, state, node, node->variable, cell_all);
	case CO_CONSTANT: return variable->is_volatile || variable->reference ? value : cell_all;
	case CO_BUILTIN: return read_builtin(walk, node);
	default: return value;
	}
}

/* The base variable of a[i].b->c; CO_NONE. */
static int bottom(const struct co_node *node)
{
	while (node && (node->kind == CO_MEMBER || node->kind == CO_LOAD))
		node = node->first;
	return node && node->kind == CO_VARIABLE ? node->variable : CO_NONE;
}

static struct cell read_member(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell value = value_children(walk, state, node);
	if (value.why == WHY_BUILTIN && value.at == node->first)
		value.at = node;
	if (node->is_volatile) {
		value = cell_join(value, cell_why(CO_EACH, WHY_VOLATILE, node, bottom(node)));
		value.bits |= BIT_ATOMIC;
	}
	return value;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* An array named directly: no pointer is dereferenced. */
static bool is_array(const struct walk *walk, const struct co_node *node)
{
	if (!node || node->kind != CO_VARIABLE)
		return false;
	const struct co_variable *variable = variable_of(walk, node->variable);
	return !variable->pointer && !variable->reference;
}

static struct cell address_of(struct walk *walk, struct state *state, const struct co_node *node);

/* The address of *e, e[i], e->m; nothing is read there. */
static struct cell load_address(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell address = cell_all;
	const struct co_node *base = node->first;
	if (!base)
		return address;
	if (is_array(walk, base))
		address = address_of(walk, state, base);
	else
		address = value_of(walk, state, base);
	for (const struct co_node *index = base->next; index; index = index->next)
		address = cell_join(address, value_of(walk, state, index));
	return address;
}

static struct cell address_of(struct walk *walk, struct state *state, const struct co_node *node)
{
	if (node->kind == CO_MEMBER && node->first)
		return address_of(walk, state, node->first);
	if (node->kind == CO_LOAD)
		return load_address(walk, state, node);
	if (node->kind != CO_VARIABLE) {
		value_of(walk, state, node);
		return cell_why(CO_EACH, WHY_UNKNOWN, node, CO_NONE);
	}
	const struct co_variable *variable = variable_of(walk, node->variable);
	if (variable->home == CO_PARAMETER || variable->home == CO_LOCAL || variable->reference)
		return cell_why(CO_EACH, WHY_PLACE, node, node->variable);
	return cell_all;
}

/* The variable whose own memory contains a place, without dereferencing a pointer; NULL. */
static const struct co_node *stored_in(const struct walk *walk, const struct co_node *node)
{
	while (node && (node->kind == CO_MEMBER || node->kind == CO_LOAD)) {
		if (node->kind == CO_LOAD && node->first && !node->first->array &&
		    !is_array(walk, node->first))
			return NULL;
		node = node->first;
	}
	return node && node->kind == CO_VARIABLE ? node : NULL;
}

struct cell value_index(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell index = cell_all;
	for (; node->kind == CO_MEMBER || node->kind == CO_LOAD; node = node->first)
		for (const struct co_node *child = node->first->next;
		     node->kind == CO_LOAD && child; child = child->next)
			index = cell_join(index, value_of(walk, state, child));
	return index;
}

/* A load from a variable's own memory. */
static struct cell load_own(struct walk *walk, struct state *state, const struct co_node *node,
			    const struct co_node *whole)
{
	struct cell index = value_index(walk, state, node);
	if (variable_of(walk, whole->variable)->home == CO_SHARED)
		return shared_read(walk, state, whole, whole->variable, index);
	return cell_join(read_variable(walk, state, whole), cell_number(index));
}

/* A load through a pointer or a reference whose target is followed. */
static struct cell load_target(struct walk *walk, struct state *state, const struct co_node *node,
			       int slot)
{
	bool through;
	struct cell value = state->cells[slot];
	value.of = target_root(walk->judge, node, &through);
	return cell_join(value, cell_number(value_index(walk, state, node)));
}

static struct cell load(struct walk *walk, struct state *state, const struct co_node *node)
{
	bool all;
	int slot = target_slot_of(walk, node, &all);
	if (slot != CO_NONE)
		return load_target(walk, state, node, slot);
	const struct co_node *whole = stored_in(walk, node);
	if (whole && !node->is_volatile)
		return load_own(walk, state, node, whole);
	struct cell address = load_address(walk, state, node);
	struct cell value = cell_why(CO_EACH, WHY_LOADED, node, CO_NONE);
	value.bits = memory_bits(address);
	int variable = bottom(node);
	if (node->is_volatile || (variable != CO_NONE && variable_of(walk, variable)->is_volatile))
		value.bits |= BIT_ATOMIC;
	return value;
}

/* ---- assignments ----------------------------------------------------------------------------- */

void value_set_slot(struct walk *walk, struct state *state, int slot, struct cell value, bool part)
{
	value = cell_join(value, reach_here(walk, state));
	if (part)
		value = cell_join(value, state->cells[slot]);
	value.bits &= (unsigned char)~BIT_MOVES;
	state->cells[slot] = value;
}

static void set_own(struct walk *walk, struct state *state, int index, struct cell value, bool part)
{
	int slot = own_slot(walk, index);
	if (slot != CO_NONE)
		value_set_slot(walk, state, slot, value, part);
}

/* The variables named in a tree may have any value from now on. */
void value_spoil(struct walk *walk, struct state *state, const struct co_node *node)
{
	if (node->kind == CO_VARIABLE) {
		struct cell any = cell_why(CO_EACH, WHY_UNKNOWN, node, node->variable);
		any.bits = BIT_ATOMIC;
		set_own(walk, state, node->variable, any, false);
		if (variable_of(walk, node->variable)->home == CO_SHARED)
			shared_write(walk, state, node->variable);
	}
	for (const struct co_node *child = node->first; child; child = child->next)
		value_spoil(walk, state, child);
}

void value_set(struct walk *walk, struct state *state, const struct co_node *target,
	       struct cell value)
{
	const struct co_node *inner = target;
	while (inner->kind == CO_MEMBER && inner->first)
		inner = inner->first;
	bool all;
	int slot = target_slot_of(walk, inner, &all);
	if (slot != CO_NONE) {
		value = cell_join(value, value_index(walk, state, inner));
		value_set_slot(walk, state, slot, value, !all || inner != target);
		return;
	}
	if (inner->kind == CO_VARIABLE) {
		set_own(walk, state, inner->variable, value, inner != target);
		if (variable_of(walk, inner->variable)->home == CO_SHARED)
			shared_write(walk, state, inner->variable);
		return;
	}
	if (inner->kind != CO_LOAD) {
		value_of(walk, state, target);
		value_spoil(walk, state, target);
		return;
	}
	const struct co_node *whole = stored_in(walk, inner);
	int variable = bottom(inner);
	if (whole) /* other members may overlap */
		set_own(walk, state, whole->variable,
			cell_join(value, value_index(walk, state, inner)), true);
	else
		load_address(walk, state, inner);
	if (variable != CO_NONE && variable_of(walk, variable)->home == CO_SHARED)
		shared_write(walk, state, variable);
}

static struct cell assign(struct walk *walk, struct state *state, const struct co_node *node)
{
	const struct co_node *target = node->first;
	struct cell value = cell_all;
	if (!target)
		return value;
	for (const struct co_node *child = target->next; child; child = child->next)
		value = cell_join(value, value_of(walk, state, child));
	if (node->reads || !target->next)
		value = cell_join(value, value_of(walk, state, target));
	value_set(walk, state, target, value);
	return value;
}

/* ---- the rest -------------------------------------------------------------------------------- */

/*
 * && and ||: each operand except the first is evaluated by the threads that the previous ones let
 * through.
 */
static struct cell lazy(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell before = walk->here;
	struct cell value = cell_all;
	for (const struct co_node *child = node->first; child; child = child->next) {
		struct state *other = state_copy(walk, state);
		struct cell who = cell_place(value, PLACE_CONDITION, node);
		walk->here = cell_join(before, who);
		value = cell_join(value, value_of(walk, state, child));
		if (child != node->first)
			state_join(walk, state, other);
		state_drop(walk, other);
	}
	walk->here = before;
	return cell_number(value);
}

static struct cell choice(struct walk *walk, struct state *state, const struct co_node *node)
{
	const struct co_node *condition = node->first;
	if (!condition)
		return cell_all;
	struct cell before = walk->here;
	struct cell value = cell_number(value_of(walk, state, condition));
	walk->here = cell_join(before, cell_place(value, PLACE_CONDITION, node));
	struct state *entry = state_copy(walk, state);
	bool parts = value.level > CO_ALL;
	for (const struct co_node *child = condition->next; child; child = child->next) {
		struct state *way = state_copy(walk, entry);
		value = cell_join(value, value_of(walk, way, child));
		if (parts)
			shared_meanwhile(entry, way);
		if (child == condition->next)
			state_set(walk, state, way);
		else
			state_join(walk, state, way);
		state_drop(walk, way);
	}
	if (condition->next && !condition->next->next)
		state_join(walk, state, entry);
	state_drop(walk, entry);
	walk->here = before;
	return value;
}

static bool is_promised(const struct judge *judge, const struct co_node *node)
{
	size_t low = 0, high = judge->together_count;
	while (low < high) {
		size_t half = low + (high - low) / 2;
		const struct co_place *place = &judge->together[half];
		if (place->begin == node->begin && place->end == node->end)
			return node->in_file && !node->macro;
		if (place->begin < node->begin ||
		    (place->begin == node->begin && place->end < node->end))
			low = half + 1;
		else
			high = half;
	}
	return false;
}

struct cell cell_allocated(const struct judge *judge, const struct co_node *node)
{
	struct cell value = cell_why(CO_EACH, WHY_ALLOCATED, node, CO_NONE);
	if (is_promised(judge, node))
		value.nulls = CO_ALL;
	return value;
}

static struct cell allocate(struct walk *walk, struct state *state, const struct co_node *node)
{
	const struct co_node *count = node->first;
	struct cell size = cell_all;
	if (count)
		size = value_of(walk, state, count);
	if (!node->array)
		size = cell_all;
	else if (!count || count->kind == CO_NOTHING)
		size = cell_why(CO_EACH, WHY_UNKNOWN, node, CO_NONE);
	for (const struct co_node *child = count ? count->next : NULL; child; child = child->next)
		value_of(walk, state, child);
	verdicts_note(walk, node, reach_here(walk, state), size);
	return cell_allocated(walk->judge, node);
}

/* The test of a pointer has the level of its being null, whatever it points to. */
static struct cell mix(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell value = value_children(walk, state, node);
	if (node->null == CO_NULL_TESTED)
		value.level = value.nulls;
	return node->null == CO_NULL_KEPT ? value : cell_number(value);
}

/*
 * Only some threads may evaluate its parts. Which threads continue after it, and their values, are
 * unknown.
 */
static struct cell unknown(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell any = cell_why(CO_EACH, WHY_UNKNOWN, node, CO_NONE);
	any.bits = BIT_ATOMIC;
	struct cell before = walk->here, who = cell_place(any, PLACE_UNKNOWN, node);
	reach_end(state, who);
	walk->here = cell_join(before, who);
	value_children(walk, state, node);
	walk->here = before;
	shared_unknown(walk, state);
	value_spoil(walk, state, node);
	return any;
}

struct cell value_of(struct walk *walk, struct state *state, const struct co_node *node)
{
	if (walk->judge->failed || walk->judge->work++ >= MAX_WORK)
		return cell_all;
	switch (node->kind) {
	case CO_NOTHING:
	case CO_VALUE: return cell_all;
	case CO_VARIABLE: return read_variable(walk, state, node);
	case CO_MEMBER: return read_member(walk, state, node);
	case CO_LOAD: return load(walk, state, node);
	case CO_ADDRESS: return node->first ? address_of(walk, state, node->first) : cell_all;
	case CO_ASSIGN: return assign(walk, state, node);
	case CO_CHOICE: return choice(walk, state, node);
	case CO_LAZY: return lazy(walk, state, node);
	case CO_CALL: return call_value(walk, state, node);
	case CO_NEW: return allocate(walk, state, node);
	case CO_DELETE: value_children(walk, state, node); return cell_all;
	case CO_MIX: return mix(walk, state, node);
	default: return unknown(walk, state, node);
	}
}
