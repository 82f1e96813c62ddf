/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - calls: what the name of a function implies, and what a function with a body returns.
 *
 *   known     known.c classifies it. Votes and shuffles are warp-uniform if all lanes reach them
 *             with a uniform mask, because such a mask must name all lanes.
 *   a body    its context (contexts.c) has the level of the result, whether threads exit or wait in
 *             it, which shared variables are written when it returns, and whether all threads met
 *             in it
 *   neither   anything: threads may exit or wait in it, so no thread is assumed to continue after
 *             it. Exception: functions named with --library, which always return.
 *
 * Invariant: nothing is claimed after a call of an unknown function.
 */
#include <string.h>

#include "coalesce/judge/judge_parts.h"

const char *call_name(const struct co_program *program, const struct co_node *node)
{
	return node->function != CO_NONE ? program->functions[node->function].name : node->name;
}

enum known call_known(const struct co_program *program, const struct co_node *node)
{
	if (node->kind != CO_CALL)
		return KNOWN_NOT;
	const char *name = call_name(program, node);
	if (node->function != CO_NONE && program->functions[node->function].in_file)
		return KNOWN_NOT;
	/* A function of a header may have any name. */
	if ((node->function != CO_NONE || node->own) && !known_reserved(name))
		return KNOWN_NOT;
	return known_name(name);
}

bool call_writes(enum known known, size_t at, const struct co_node *argument)
{
	bool place = argument->kind == CO_ADDRESS && argument->first;
	if (known == KNOWN_ATOMIC)
		return at == 0 && place;
	if (known == KNOWN_MATCH)
		return at == 2 && (place || argument->bound);
	return false;
}

static struct cell gave(const struct co_node *node, enum co_level level, unsigned char bits)
{
	struct cell value = cell_why(level, WHY_GAVE, node, CO_NONE);
	value.bits = bits & (unsigned char)~BIT_MOVES;
	return value;
}

/* A load that can see writes of other threads: __ldcv, __ldcg, ..., or assembly; not __ldg. */
static bool may_poll(const struct co_node *node)
{
	return node->name &&
	       (strncmp(node->name, "__ldc", 5) == 0 || strcmp(node->name, "asm") == 0);
}

/*
 * Lanes meet in it. According to PTX they need not reach the same call: lanes at one call may wait
 * for lanes at another call further on.
 */
static bool lanes_meet(const struct co_node *node)
{
	static const char end[] = "_sync";
	size_t length = node->name ? strlen(node->name) : 0;
	return length >= sizeof end && (strcmp(node->name, "__syncwarp") == 0 ||
					strcmp(node->name + length + 1 - sizeof end, end) == 0);
}

/* The level of a result that a warp computes together, if its lanes are converged. */
static struct cell of_warp(struct walk *walk, struct state *state, const struct co_node *node,
			   struct cell mask, unsigned char bits)
{
	struct cell who = cell_join(mask, reach_here(walk, state));
	return gave(node, who.level <= CO_WARP ? CO_WARP : CO_EACH, bits);
}

/*
 * True if the width of a shuffle is the warp size: omitted, or written as such. A width that is not
 * part of the call's text is the parameter's default.
 */
static bool is_warp_wide(const struct walk *walk, const struct co_node *call,
			 const struct co_node *width)
{
	const struct co_program *program = walk->judge->program;
	if (!width || (call->in_file && !width->in_file && width->kind == CO_VALUE))
		return true;
	if (width->kind == CO_VARIABLE)
		return program->variables[width->variable].home == CO_BUILTIN &&
		       strcmp(program->variables[width->variable].name, "warpSize") == 0;
	return width->kind == CO_VALUE && width->in_file && !width->macro &&
	       width->end - width->begin == 2 && width->end <= program->bytes &&
	       memcmp(program->text + width->begin, "32", 2) == 0;
}

static struct cell shuffle(struct walk *walk, struct state *state, const struct co_node *node,
			   const struct cell *arguments, size_t count, unsigned char bits)
{
	const struct co_node *width = node->first;
	for (int i = 0; i < 3 && width; i++)
		width = width->next;
	if (count < 3 || count > 4 || arguments[2].level > CO_WARP ||
	    !is_warp_wide(walk, node, width))
		return gave(node, CO_EACH, bits | BIT_SAME);
	return of_warp(walk, state, node, arguments[0], bits);
}

/*
 * A match that all lanes of the mask, or of a warp-sized tile, compute together: the result, and
 * whether all values are equal, which is written to the third argument.
 */
static struct cell match(struct walk *walk, struct state *state, const struct co_node *node,
			 const struct cell *arguments, unsigned char bits)
{
	const struct co_node *object = node->first, *last = object;
	bool tile = !object || object->kind == CO_ADDRESS;
	struct cell value = of_warp(walk, state, node, tile ? cell_all : arguments[0], bits);
	for (int i = 0; i < 2 && last; i++)
		last = last->next;
	if (last && call_writes(KNOWN_MATCH, 2, last))
		value_set(walk, state, last->kind == CO_ADDRESS ? last->first : last, value);
	return value;
}

static void end_thread(struct walk *walk, struct state *state, const struct co_node *node)
{
	reach_end(state, cell_place(reach_here(walk, state), PLACE_LEFT, node));
	state_join(walk, walk->behind, state);
	state->dead = true;
}

static struct cell barrier(struct walk *walk, struct state *state, const struct co_node *node)
{
	shared_meet(walk, state);
	return gave(node, reach_here(walk, state).level == CO_ALL ? CO_ALL : CO_EACH, BIT_SAME);
}

static struct cell allocation(struct walk *walk, struct state *state, const struct co_node *node,
			      const struct cell *arguments, size_t count, bool heap)
{
	struct cell who = reach_here(walk, state);
	struct cell size = cell_why(CO_EACH, WHY_UNKNOWN, node, CO_NONE);
	if (heap && count)
		who = cell_join(who, arguments[0]);
	if (count == (heap ? 2 : 1))
		size = arguments[count - 1];
	verdicts_note(walk, node, who, size);
	return cell_allocated(walk->judge, node);
}

static bool in_library(const struct judge *judge, const struct co_node *node)
{
	const char *name = call_name(judge->program, node);
	for (size_t i = 0; judge->library && name && judge->library[i]; i++)
		if (strcmp(judge->library[i], name) == 0)
			return true;
	return false;
}

/* A call of which at most the name is known. */
static struct cell call_stranger(struct walk *walk, struct state *state, const struct co_node *node,
				 struct cell all)
{
	struct cell any = gave(node, CO_EACH, BIT_ATOMIC);
	shared_unknown(walk, state);
	if (in_library(walk->judge, node))
		verdicts_note(walk, node, reach_here(walk, state), all);
	else
		reach_end(state, cell_place(any, PLACE_ENDED, node));
	return any;
}

/* ---- functions with a body ------------------------------------------------------------------- */

static void apply(struct state *state, const struct context *context, uint64_t touches,
		  const struct co_node *node)
{
	if (context->synced) {
		state->dirty = 0;
		state->read = 0;
		state->synced = true;
	}
	state->dirty = (state->dirty & ~touches) | (context->dirty_behind & touches);
	state->read = (state->read & ~touches) | (context->read_behind & touches);
	if (context->ended.level > CO_ALL) {
		struct cell ended = context->ended;
		if (ended.place == PLACE_LEFT)
			ended = cell_place(ended, PLACE_ENDED, node);
		reach_end(state, ended);
	}
}

/* The variables that a call lends to its callee, by the slots that contain them. */
struct lent {
	int slot;
	bool whole;
	struct cell index;
};

static void find_lent(struct walk *walk, struct state *state, const struct co_node *node,
		      const struct cell *arguments, size_t count, struct lent *lent,
		      struct lending *lending)
{
	const struct co_function *of = &walk->judge->program->functions[node->function];
	size_t i = 0, k;
	for (const struct co_node *child = node->first; child && i < MAX_ARGUMENTS;
	     child = child->next, i++) {
		lent[i] = (struct lent){ .slot = CO_NONE };
		lending->targets[i] = cell_all;
		if (count != of->parameter_count)
			continue;
		lent[i].slot = target_lent(walk, child, of->parameters[i], &lent[i].whole);
		if (lent[i].slot == CO_NONE &&
		    !target_is_temporary(walk->judge, child, of->parameters[i]))
			continue;
		if (lent[i].slot == CO_NONE) {
			lending->targets[i] = cell_number(arguments[i]);
			lending->targets[i].bits = 0;
			lending->lent |= (uint32_t)1 << i;
			lending->whole |= (uint32_t)1 << i;
			continue;
		}
		const struct co_node *place = target_place(walk->judge, child, of->parameters[i]);
		lent[i].index =
			place->kind == CO_VARIABLE ? cell_all : value_index(walk, state, place);
		struct cell value = cell_join(state->cells[lent[i].slot], lent[i].index);
		value.bits = 0;
		lending->targets[i] = cell_number(value);
		lending->lent |= (uint32_t)1 << i;
		lending->whole |= (uint32_t)lent[i].whole << i;
	}
	/* Two names for one variable: neither is followed. */
	for (i = 0; i < count && i < MAX_ARGUMENTS; i++)
		for (k = 0; k < count && k < MAX_ARGUMENTS; k++)
			if (k != i && lent[i].slot != CO_NONE && lent[i].slot == lent[k].slot)
				lending->lent &= ~((uint32_t)1 << i);
	lending->whole &= lending->lent;
}

/* The callee has returned: the variables that it may have written. */
static void take_lent(struct walk *walk, struct state *state, const struct co_node *node,
		      size_t count, const struct lent *lent, const struct context *context,
		      unsigned char bits)
{
	const struct co_function *of = &walk->judge->program->functions[node->function];
	for (size_t i = 0; i < count && i < MAX_ARGUMENTS; i++) {
		if (lent[i].slot == CO_NONE || !walk->judge->variables[of->parameters[i]].written)
			continue;
		bool followed = context->lent >> i & 1;
		struct cell value = gave(node, CO_EACH, BIT_ATOMIC);
		if (followed)
			value = cell_join(context->outs[i], lent[i].index);
		value.bits |= bits | state->cells[lent[i].slot].bits;
		value_set_slot(walk, state, lent[i].slot, cell_number(value),
			       !followed || !(context->whole >> i & 1));
	}
}

static struct cell call_body(struct walk *walk, struct state *state, const struct co_node *node,
			     const struct cell *arguments, size_t count, struct cell all)
{
	struct judge *judge = walk->judge;
	const struct facts *caller = walk->facts, *callee = &judge->facts[node->function];
	struct cell who = reach_here(walk, state);
	struct lent lent[MAX_ARGUMENTS];
	struct lending lending = { 0, 0, { { 0 } } };
	find_lent(walk, state, node, arguments, count, lent, &lending);
	struct context *context =
		context_of(walk, state, node->function, who, arguments, count, &lending);
	if (!context) {
		judge->failed = true;
		return cell_all;
	}
	verdicts_note(walk, node, who, context->sizes);
	take_lent(walk, state, node, count, lent, context, all.bits);
	apply(state, context, callee->touches, node);
	/* Recursive calls are loops, too. */
	if (caller->circle == callee->circle && callee->has_atomics && who.level > CO_ALL)
		reach_end(state, cell_place(who, PLACE_WAIT, node));
	struct cell value = context->result;
	value.bits |= all.bits;
	return value;
}

/*
 * If another argument than `argument` uses a variable that `node` sets, it sees the old or the new
 * value.
 */
static void spoil_set(struct walk *walk, struct state *state, const struct co_node *call,
		      const struct co_node *argument, const struct co_node *node)
{
	const struct co_node *target = node->kind == CO_ASSIGN ? node->first : NULL;
	walk->judge->work++;
	while (target && target->kind == CO_MEMBER)
		target = target->first;
	if (target && target->kind == CO_VARIABLE)
		for (const struct co_node *other = call->first; other; other = other->next)
			if (other != argument && node_names(other, target->variable)) {
				value_spoil(walk, state, target);
				break;
			}
	for (const struct co_node *child = node->first; child; child = child->next)
		spoil_set(walk, state, call, argument, child);
}

/* Arguments are evaluated in any order. */
static void spoil_unordered(struct walk *walk, struct state *state, const struct co_node *call)
{
	if (!call->first || !call->first->next)
		return;
	for (const struct co_node *child = call->first; child; child = child->next)
		spoil_set(walk, state, call, child, child);
}

struct cell call_value(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell arguments[MAX_ARGUMENTS], all = cell_all;
	size_t count = 0;
	enum known known = call_known(walk->judge->program, node);
	spoil_unordered(walk, state, node);
	for (const struct co_node *child = node->first; child; child = child->next, count++) {
		struct cell value = value_of(walk, state, child);
		all = cell_join(all, value);
		if (count < MAX_ARGUMENTS)
			arguments[count] = value;
		/* An atomic writes to the object at its first argument. */
		if (known == KNOWN_ATOMIC && call_writes(known, count, child))
			value_set(walk, state, child->first, gave(node, CO_EACH, BIT_ATOMIC));
	}
	if (count > MAX_ARGUMENTS)
		known = KNOWN_NOT;
	struct cell who = reach_here(walk, state);
	if (known != KNOWN_NOT && who.level == CO_EACH && lanes_meet(node))
		reach_end(state, cell_place(who, PLACE_WAIT, node));
	switch (known) {
	case KNOWN_PURE: return cell_number(all);
	case KNOWN_ALL: return cell_all;
	case KNOWN_BARRIER: return barrier(walk, state, node);
	case KNOWN_VOTE: return of_warp(walk, state, node, count ? arguments[0] : all, all.bits);
	case KNOWN_MATCH: return match(walk, state, node, arguments, all.bits);
	case KNOWN_TILE_VOTE: return of_warp(walk, state, node, cell_all, all.bits);
	case KNOWN_TILE_SHUFFLE:
		if (count != 3 || arguments[2].level > CO_WARP)
			return gave(node, CO_EACH, all.bits | BIT_SAME);
		return of_warp(walk, state, node, cell_all, all.bits);
	case KNOWN_SHUFFLE: return shuffle(walk, state, node, arguments, count, all.bits);
	case KNOWN_ATOMIC: return gave(node, CO_EACH, BIT_ATOMIC);
	case KNOWN_MALLOC:
	case KNOWN_KMALLOC:
		return allocation(walk, state, node, arguments, count, known == KNOWN_KMALLOC);
	case KNOWN_MEMORY: return cell_why(CO_EACH, WHY_ALLOCATED, node, CO_NONE);
	case KNOWN_FREE:
	case KNOWN_KFREE: return cell_all;
	case KNOWN_END: end_thread(walk, state, node); return cell_all;
	case KNOWN_HARMLESS: {
		unsigned char moves = all.bits & BIT_MOVES;
		struct cell value = gave(node, CO_EACH, all.bits | (moves ? 0 : BIT_SAME));
		value.bits |= moves | (may_poll(node) ? BIT_ATOMIC : 0);
		return value;
	}
	default: break;
	}
	if (node->function == CO_NONE)
		return call_stranger(walk, state, node, all);
	if (walk->judge->program->functions[node->function].kernel)
		return gave(node, CO_EACH, BIT_ATOMIC); /* a kernel launch */
	return call_body(walk, state, node, arguments, count <= MAX_ARGUMENTS ? count : 0, all);
}
