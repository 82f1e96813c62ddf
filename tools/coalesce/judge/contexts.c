/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contexts.c - context-sensitive analysis: each function is analyzed once for each way in which it
 * is called.
 *
 *   1. Kernels are roots: all threads of the block enter them, with arguments from the host.
 *      Functions without a visible caller, and functions that any code may call, are roots as well:
 *      nothing is known of their callers.
 *   2. A call looks up the context with the same levels and masks, or creates it. It uses the
 *      results that the context has so far. Initially these are the best possible.
 *   3. The newest stale context is analyzed. If its results rise, its callers become stale.
 *   4. When no context is stale, a fixed point is reached: each function was analyzed with the
 *      final results of its callees. Contexts that are still used are analyzed once more to record
 *      the verdicts.
 *
 * The number of contexts of a function is limited. After MAX_CONTEXTS, further calls share one
 * context for each level of reaching threads; nothing is known of arguments and shared variables in
 * it. The root is not used for that: its callers are unknown and pass no parameter, while these
 * callers pass what is proven of them.
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce/judge/judge_parts.h"

static const struct co_function *function_of(const struct judge *judge, int index)
{
	return &judge->program->functions[index];
}

static struct context *context_new(struct judge *judge, int function)
{
	size_t arguments = function_of(judge, function)->parameter_count;
	struct context *context = co_arena_take(judge->own, sizeof *context);
	if (!context)
		return NULL;
	context->arguments = co_arena_take(judge->own, arguments * sizeof *context->arguments);
	context->targets = co_arena_take(judge->own, arguments * sizeof *context->targets);
	context->outs = co_arena_take(judge->own, arguments * sizeof *context->outs);
	if (!context->arguments || !context->targets || !context->outs)
		return NULL;
	for (size_t i = 0; i < arguments; i++)
		context->outs[i] = cell_all;
	context->function = function;
	context->result = context->ended = context->sizes = cell_all;
	context->synced = true;
	context->stale = true;
	context->next_made = judge->made;
	judge->made = context;
	return context;
}

static void context_keep(struct judge *judge, struct context *context)
{
	struct facts *facts = &judge->facts[context->function];
	context->next = facts->contexts;
	facts->contexts = context;
	facts->context_count++;
}

struct context *context_root(struct judge *judge, int function)
{
	const struct co_function *of = function_of(judge, function);
	struct facts *facts = &judge->facts[function];
	for (struct context *context = facts->contexts; context; context = context->next)
		if (context->root) {
			context->used = true;
			return context;
		}
	struct context *context = context_new(judge, function);
	if (!context)
		return NULL;
	struct cell from = cell_all;
	if (!of->kernel || of->is_virtual)
		from = cell_why(CO_EACH, WHY_CALLERS, NULL, CO_NONE);
	context->entry = from;
	for (size_t i = 0; i < of->parameter_count; i++)
		context->arguments[i] = from;
	context->dirty = UINT64_MAX;
	context->read = from.level == CO_ALL ? 0 : UINT64_MAX;
	context->root = context->used = true;
	context_keep(judge, context);
	return context;
}

/*
 * The value of parameter `i`: the argument at its position, if there are as many arguments as
 * parameters.
 */
static struct cell argument_of(const struct judge *judge, const struct co_function *of, size_t i,
			       const struct cell *arguments, size_t count)
{
	const struct co_variable *variable = &judge->program->variables[of->parameters[i]];
	struct cell value = cell_all;
	if (variable->reference || variable->is_volatile ||
	    judge->variables[of->parameters[i]].anybody)
		return cell_why(CO_EACH, WHY_ADDRESSED, NULL, of->parameters[i]);
	if (count == of->parameter_count || (of->variadic && count > of->parameter_count))
		value = arguments[i];
	else
		value = cell_why(CO_EACH, WHY_CALLERS, NULL, CO_NONE);
	value.bits = 0;
	return cell_number(value);
}

static bool is_same(const struct judge *judge, const struct context *context,
		    const struct context *wanted)
{
	size_t count = function_of(judge, context->function)->parameter_count;
	if (context->root || context->entry.level != wanted->entry.level ||
	    context->dirty != wanted->dirty || context->read != wanted->read ||
	    context->lent != wanted->lent || context->whole != wanted->whole)
		return false;
	for (size_t i = 0; i < count; i++)
		if (context->arguments[i].level != wanted->arguments[i].level ||
		    (i < MAX_ARGUMENTS && (context->lent >> i & 1) &&
		     context->targets[i].level != wanted->targets[i].level))
			return false;
	return true;
}

static bool add_caller(struct judge *judge, struct context *context, struct context *caller)
{
	for (int i = 0; i < context->caller_count; i++)
		if (context->callers[i] == caller)
			return true;
	judge->work += (uint64_t)context->caller_count;
	if (context->caller_count == context->caller_room) {
		int room = context->caller_room ? 2 * context->caller_room : 4;
		struct context **wider = co_arena_take(judge->own, (size_t)room * sizeof *wider);
		if (!wider)
			return false;
		if (context->caller_count)
			memcpy(wider, context->callers,
			       (size_t)context->caller_count * sizeof *wider);
		context->callers = wider;
		context->caller_room = room;
	}
	context->callers[context->caller_count++] = caller;
	return true;
}

static struct context *find_same(struct judge *judge, const struct context *wanted)
{
	struct context *context = judge->facts[wanted->function].contexts;
	for (; context; context = context->next) {
		judge->work++;
		if (is_same(judge, context, wanted))
			return context;
	}
	return NULL;
}

/* Keeps which threads enter, and drops everything else. */
static void widen(const struct judge *judge, struct context *wanted)
{
	size_t count = function_of(judge, wanted->function)->parameter_count;
	for (size_t i = 0; i < count; i++)
		wanted->arguments[i] = cell_why(CO_EACH, WHY_CALLERS, NULL, CO_NONE);
	wanted->dirty = wanted->read = UINT64_MAX;
	wanted->lent = wanted->whole = 0;
}

static struct context *find(struct judge *judge, struct context *wanted)
{
	struct facts *facts = &judge->facts[wanted->function];
	struct context *context = find_same(judge, wanted);
	if (!context && facts->context_count >= (int)MAX_CONTEXTS) {
		widen(judge, wanted);
		context = find_same(judge, wanted);
	}
	if (context)
		return context;
	if (judge->noting) /* it should exist by now: claim nothing */
		judge->work = MAX_WORK;
	context = context_new(judge, wanted->function);
	if (!context)
		return NULL;
	size_t count = function_of(judge, wanted->function)->parameter_count;
	context->entry = wanted->entry;
	context->dirty = wanted->dirty;
	context->read = wanted->read;
	context->lent = wanted->lent;
	context->whole = wanted->whole;
	memcpy(context->arguments, wanted->arguments, count * sizeof *context->arguments);
	for (size_t i = 0; i < count && i < MAX_ARGUMENTS; i++)
		context->targets[i] = wanted->targets[i];
	context_keep(judge, context);
	return context;
}

struct context *context_of(struct walk *walk, const struct state *state, int function,
			   struct cell entry, const struct cell *arguments, size_t count,
			   const struct lending *lending)
{
	struct judge *judge = walk->judge;
	const struct co_function *of = function_of(judge, function);
	uint64_t touches = judge->facts[function].touches;
	struct cell *levels = calloc(of->parameter_count + 1, sizeof *levels);
	if (!levels)
		return NULL;
	for (size_t i = 0; i < of->parameter_count; i++)
		levels[i] = argument_of(judge, of, i, arguments, count);
	entry.bits = 0;
	struct cell targets[MAX_ARGUMENTS];
	memcpy(targets, lending->targets, sizeof targets);
	struct context wanted = { .function = function,
				  .entry = entry,
				  .arguments = levels,
				  .targets = targets,
				  .lent = lending->lent,
				  .whole = lending->whole,
				  .dirty = state->dirty & touches,
				  .read = state->read & touches };
	struct context *context = find(judge, &wanted);
	free(levels);
	if (!context || !add_caller(judge, context, walk->context))
		return NULL;
	if (judge->noting && !context->used)
		context->used = context->stale = true;
	return context;
}

/* ---- analysis -------------------------------------------------------------------------------- */

static bool rise(struct cell *to, struct cell from)
{
	struct cell before = *to;
	from.bits &= (unsigned char)~BIT_MOVES;
	*to = cell_join(before, from);
	return to->level != before.level || to->nulls != before.nulls || to->bits != before.bits;
}

/* The results of a context have risen: mark its callers stale. */
static void settle(struct judge *judge, struct context *context, const struct walk *walk)
{
	uint64_t touches = walk->facts->touches;
	uint64_t dirty = context->dirty_behind | (walk->behind->dirty & touches);
	uint64_t read = context->read_behind | (walk->behind->read & touches);
	bool synced = context->synced && (walk->behind->dead || walk->behind->synced);
	bool rose = rise(&context->result, walk->result);
	rose |= rise(&context->ended, walk->behind->ended);
	rose |= rise(&context->sizes, walk->sizes);
	const struct co_function *of = function_of(judge, context->function);
	for (size_t i = 0; i < of->parameter_count && i < MAX_ARGUMENTS; i++) {
		int slot = judge->variables[of->parameters[i]].target;
		if (slot != CO_NONE && (context->lent >> i & 1))
			rose |= rise(&context->outs[i], walk->behind->cells[slot]);
	}
	rose |= dirty != context->dirty_behind || read != context->read_behind ||
		synced != context->synced;
	context->dirty_behind = dirty;
	context->read_behind = read;
	context->synced = synced;
	if (!rose)
		return;
	if (judge->noting) /* the fixed point was reached: claim nothing */
		judge->work = MAX_WORK;
	for (int i = 0; i < context->caller_count; i++)
		context->callers[i]->stale = true;
}

/* A function that cannot be analyzed: it may do anything, and calls its callees in any way. */
static void give_up(struct walk *walk)
{
	const struct facts *facts = walk->facts;
	const struct co_node *at = facts->spoiled;
	struct cell any = cell_why(CO_EACH, WHY_UNKNOWN, at, CO_NONE);
	enum place place = facts->too_deep ? PLACE_DEEP : PLACE_JUMP;
	any.bits = BIT_ATOMIC;
	walk->result = walk->sizes = any;
	walk->behind->dead = false;
	walk->behind->synced = false;
	walk->behind->dirty = walk->behind->read = UINT64_MAX;
	walk->behind->ended = cell_place(any, place, at);
	for (int i = 0; i < facts->slots; i++)
		walk->behind->cells[i] = any;
	for (int i = 0; i < facts->call_count; i++)
		if (!function_of(walk->judge, facts->calls[i])->kernel &&
		    !context_root(walk->judge, facts->calls[i]))
			walk->judge->failed = true;
}

static void begin(struct walk *walk, struct state *state)
{
	const struct judge *judge = walk->judge;
	const struct context *context = walk->context;
	const struct co_function *of = function_of(judge, context->function);
	for (int i = 0; i < walk->facts->slots; i++)
		state->cells[i] = cell_why(CO_EACH, WHY_UNSET, NULL, CO_NONE);
	for (size_t i = 0; i < of->parameter_count; i++) {
		int slot = judge->variables[of->parameters[i]].slot;
		int target = judge->variables[of->parameters[i]].target;
		if (slot != CO_NONE && slot < walk->facts->slots)
			state->cells[slot] = context->arguments[i];
		if (target != CO_NONE && i < MAX_ARGUMENTS && (context->lent >> i & 1))
			state->cells[target] = context->targets[i];
	}
	state->dead = false;
	state->dirty = context->dirty | ~walk->facts->touches;
	state->read = context->read;
	walk->here = context->entry;
}

static void go_through(struct judge *judge, struct context *context)
{
	struct facts *facts = &judge->facts[context->function];
	struct walk walk = { .judge = judge,
			     .context = context,
			     .facts = facts,
			     .result = cell_all,
			     .sizes = cell_all,
			     .arena = co_arena_new() };
	size_t loops = (size_t)facts->loop_count;
	bool fine = walk.arena != NULL;
	if (fine) {
		walk.heads = co_arena_take(walk.arena, loops * sizeof *walk.heads);
		walk.left = co_arena_take(walk.arena, loops * sizeof *walk.left);
		walk.scrap = state_new(&walk);
		walk.nobody = state_new(&walk);
		walk.behind = state_new(&walk);
		struct state *state = state_new(&walk);
		fine = walk.heads && walk.left && state && !judge->failed;
		if (fine && (facts->spoiled || facts->too_deep)) {
			give_up(&walk);
		} else if (fine) {
			begin(&walk, state);
			reach_function(&walk, state);
		}
	}
	if (fine)
		settle(judge, context, &walk);
	else
		judge->failed = true;
	co_arena_free(walk.arena);
}

static struct context *newest_stale(struct judge *judge)
{
	for (struct context *context = judge->made; context; context = context->next_made) {
		judge->work++;
		if (context->stale)
			return context;
	}
	return NULL;
}

static void go_on(struct judge *judge)
{
	struct context *context;
	while (!judge->failed && judge->work < MAX_WORK && (context = newest_stale(judge))) {
		context->stale = false;
		go_through(judge, context);
		if (!judge->changed)
			continue;
		judge->changed = false;
		for (struct context *all = judge->made; all; all = all->next_made)
			all->stale = true;
	}
}

/*
 * Adds the functions that are analyzed whatever their callers; or, if `left_over`, those not
 * reached yet.
 */
static bool add_roots(struct judge *judge, bool left_over)
{
	bool added = false;
	for (size_t i = 0; i < judge->program->function_count; i++) {
		const struct co_function *of = function_of(judge, (int)i);
		const struct facts *facts = &judge->facts[i];
		bool wanted = left_over ? !facts->contexts
					: of->kernel || of->is_virtual || !facts->called;
		if (!wanted)
			continue;
		added = true;
		if (!context_root(judge, (int)i))
			judge->failed = true;
	}
	return added;
}

void contexts_analyze(struct judge *judge)
{
	add_roots(judge, false);
	go_on(judge);
	while (!judge->failed && judge->work < MAX_WORK && add_roots(judge, true))
		go_on(judge);
	judge->noting = true;
	for (struct context *context = judge->made; context; context = context->next_made)
		context->stale = context->used = context->root;
	go_on(judge);
}
