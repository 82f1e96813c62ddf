/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c - facts about functions and variables that do not depend on levels.
 *
 *   1. Each variable is assigned a slot of its function, or a bit of the shared variables.
 *   2. The tree of each function is visited once with an explicit list of nodes, so its depth does
 *      not matter. Each visit knows the surrounding loop, and whether the named object may be
 *      retained (by a reference or an address).
 *   3. Over the call graph: which functions allocate, which shared variables they access, and which
 *      have atomics (calls.c needs that for recursive functions).
 *
 * O(nodes + functions x calls); one bit for each loop and slot.
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce/judge/judge_parts.h"

struct visit {
	const struct co_node *node;
	unsigned int depth;
	int loop;    /* the surrounding loop; CO_NONE */
	bool kept;   /* the named object may be retained, if its address is taken */
	bool taken;  /* its address is taken */
	bool base;   /* of []: named to be read or written */
	bool fine;   /* a pointer here is not copied: it is tested, or passed on (targets.c) */
	bool copied; /* what is kept is the value there, not the object */
	const struct co_node *expression; /* the whole one around it */
};

struct finder {
	struct judge *judge;
	int function;
	struct visit *visits;
	size_t count, room;
	int call_room, loop_room;
	bool *harmless; /* of variables: the address is only taken for an atomic or the like */
};

static bool push(struct finder *finder, struct visit visit)
{
	if (finder->count == finder->room) {
		size_t room = finder->room ? 2 * finder->room : 256;
		struct visit *wider = realloc(finder->visits, room * sizeof *wider);
		if (!wider)
			return false;
		finder->visits = wider;
		finder->room = room;
	}
	finder->visits[finder->count++] = visit;
	return true;
}

static const struct co_function *function_of(const struct finder *finder, int index)
{
	return &finder->judge->program->functions[index];
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The variable of a.b.c; CO_NONE: there is none. */
static int variable_behind(const struct co_node *node)
{
	while (node && node->kind == CO_MEMBER)
		node = node->first;
	return node && node->kind == CO_VARIABLE ? node->variable : CO_NONE;
}

/* The same, also of a[i].b. */
static int variable_under(const struct co_node *node)
{
	while (node && (node->kind == CO_MEMBER || node->kind == CO_LOAD))
		node = node->first;
	return node && node->kind == CO_VARIABLE ? node->variable : CO_NONE;
}

static void place_variables(struct judge *judge)
{
	int shared = 0;
	for (size_t i = 0; i < judge->program->variable_count; i++) {
		const struct co_variable *variable = &judge->program->variables[i];
		struct variable_facts *facts = &judge->variables[i];
		facts->slot = CO_NONE;
		facts->shared = CO_NONE;
		if (variable->home == CO_SHARED && shared < (int)MAX_SHARED)
			facts->shared = shared++;
		if (variable->owner != CO_NONE &&
		    (variable->home == CO_PARAMETER || variable->home == CO_LOCAL))
			facts->slot = judge->facts[variable->owner].slots++;
		facts->target = facts->alias = CO_NONE;
		if (facts->slot != CO_NONE && variable->home == CO_PARAMETER && variable->pointer &&
		    !variable->is_volatile)
			facts->target = judge->facts[variable->owner].slots++;
	}
}

static void see_variable(struct finder *finder, const struct visit *visit)
{
	struct judge *judge = finder->judge;
	int index = visit->node->variable;
	const struct co_variable *variable = &judge->program->variables[index];
	struct variable_facts *facts = &judge->variables[index];
	bool own = variable->home == CO_PARAMETER || variable->home == CO_LOCAL;
	if (variable->is_volatile)
		judge->facts[finder->function].has_atomics = true;
	/* &p[i] is the address of p's target, not of p. */
	bool itself = !visit->base || !variable->pointer;
	facts->kept |= visit->kept && itself;
	bool foreign = own && variable->owner != finder->function;
	facts->foreign |= foreign;
	if ((visit->taken && itself) ||
	    (foreign && !function_of(finder, finder->function)->is_lambda))
		facts->anybody = true;
	if (variable->pointer && (foreign || visit->taken || (visit->kept && !visit->copied) ||
				  (!variable->reference && !visit->base && !visit->fine)))
		facts->leaks = true;
	if (visit->base)
		facts->indexed = true;
	else
		facts->as_value = true;
	if (facts->shared != CO_NONE)
		judge->facts[finder->function].touches |= (uint64_t)1 << facts->shared;
}

/* A variable is set: record it in all surrounding loops. */
static void see_set(struct finder *finder, int variable, int loop)
{
	struct facts *facts = &finder->judge->facts[finder->function];
	int slot = variable == CO_NONE ? CO_NONE : finder->judge->variables[variable].slot;
	if (slot == CO_NONE || slot >= facts->slots)
		return;
	for (; loop != CO_NONE; loop = facts->loops[loop].outer)
		facts->loops[loop].sets[slot / 8] |= (unsigned char)(1u << slot % 8);
}

/* Something is written at a place. */
static bool see_write(struct finder *finder, const struct visit *visit, const struct co_node *place)
{
	bool through;
	int root = place ? target_root(finder->judge, place, &through) : CO_NONE;
	if (root == CO_NONE)
		return true;
	if (!through) {
		finder->judge->variables[root].modified = true;
		return true;
	}
	finder->judge->variables[root].written = true;
	return target_add(finder->judge,
			  (struct binding){ root, root, true, visit->node, visit->expression });
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool see_loop(struct finder *finder, const struct visit *visit, int *index)
{
	struct judge *judge = finder->judge;
	struct facts *facts = &judge->facts[finder->function];
	if (((size_t)facts->loop_count + 1) * ((size_t)facts->slots + 1) > MAX_CELLS) {
		facts->too_deep = true;
		*index = CO_NONE;
		return true;
	}
	if (facts->loop_count == finder->loop_room) {
		int room = finder->loop_room ? 2 * finder->loop_room : 8;
		struct loop *wider = co_arena_take(judge->own, (size_t)room * sizeof *wider);
		if (!wider)
			return false;
		if (facts->loop_count)
			memcpy(wider, facts->loops, (size_t)facts->loop_count * sizeof *wider);
		facts->loops = wider;
		finder->loop_room = room;
	}
	*index = facts->loop_count++;
	struct loop *loop = &facts->loops[*index];
	loop->node = visit->node;
	loop->outer = visit->loop;
	loop->sets = co_arena_take(judge->own, (size_t)facts->slots / 8 + 1);
	return loop->sets != NULL;
}

static bool add_call(struct finder *finder, int function)
{
	struct facts *facts = &finder->judge->facts[finder->function];
	if (facts->call_count && facts->calls[facts->call_count - 1] == function)
		return true;
	if (facts->call_count == finder->call_room) {
		int room = finder->call_room ? 2 * finder->call_room : 8;
		int *wider = co_arena_take(finder->judge->own, (size_t)room * sizeof *wider);
		if (!wider)
			return false;
		if (facts->call_count)
			memcpy(wider, facts->calls, (size_t)facts->call_count * sizeof *wider);
		facts->calls = wider;
		finder->call_room = room;
	}
	facts->calls[facts->call_count++] = function;
	return true;
}

/* These functions take references, and retain none. */
static bool only_looks(const char *name)
{
	const char *last = name ? strrchr(name, ':') : NULL;
	last = last ? last + 1 : name;
	return last &&
	       (strcmp(last, "min") == 0 || strcmp(last, "max") == 0 || strcmp(last, "clamp") == 0);
}

static bool takes_references(const struct finder *finder, const struct co_function *callee)
{
	for (size_t i = 0; i < callee->parameter_count; i++)
		if (finder->judge->program->variables[callee->parameters[i]].reference)
			return true;
	return false;
}

/*
 * A place is bound to a name, and not visited as taken or kept, if the name is followed. False:
 * memory ran out.
 */
static bool see_binding(struct finder *finder, struct visit *next, int to,
			const struct co_node *call, bool *bound)
{
	bool through;
	struct judge *judge = finder->judge;
	int from = target_bound(judge, next->node, to, finder->function, &through);
	*bound = from != CO_NONE;
	if (!*bound)
		return true;
	const struct binding binding = { from, to, through, call, next->expression };
	finder->harmless[from] = true;
	next->node = target_place(judge, next->node, to);
	next->kept = next->taken = false;
	next->fine = true;
	return target_add(judge, binding);
}

/* Visits argument number `at` of the `count` arguments of a call. */
static bool see_argument(struct finder *finder, const struct visit *visit, enum known known,
			 const struct co_node *child, size_t at, size_t count)
{
	const struct co_node *node = visit->node;
	const struct co_function *callee =
		node->function != CO_NONE ? function_of(finder, node->function) : NULL;
	struct visit next = { .node = child,
			      .depth = visit->depth + 1,
			      .loop = visit->loop,
			      .expression = visit->expression };
	bool looks = known == KNOWN_PURE && only_looks(call_name(finder->judge->program, node));
	if (looks) /* the result is one of them */
		next.kept = visit->kept || visit->taken;
	if (known == KNOWN_NOT)
		next.kept = !callee || takes_references(finder, callee);
	if (known == KNOWN_NOT && callee && count == callee->parameter_count)
		next.kept = finder->judge->program->variables[callee->parameters[at]].reference;
	bool temporary = child->bound && (child->kind == CO_MIX || child->kind == CO_VALUE);
	next.kept = next.kept && !temporary;
	/* It may be written there. */
	if (known != KNOWN_NOT && !looks && child->bound && !temporary)
		next.kept = true;
	if (known == KNOWN_NOT && callee && callee->body && count == callee->parameter_count &&
	    at < MAX_ARGUMENTS &&
	    finder->judge->variables[callee->parameters[at]].target != CO_NONE) {
		bool bound;
		if (!see_binding(finder, &next, callee->parameters[at], node, &bound))
			return false;
		if (bound)
			return push(finder, next);
	}
	if (call_writes(known, at, child)) {
		next.node = child->kind == CO_ADDRESS ? child->first : child;
		next.kept = false; /* its address is not retained */
		if (!see_write(finder, visit, next.node))
			return false;
		looks = true;
	}
	int variable = variable_under(next.node);
	if (looks && variable != CO_NONE && !finder->judge->program->variables[variable].pointer)
		finder->harmless[variable] = true;
	return push(finder, next);
}

/* Visits a call: its callee, and which arguments may be retained. */
static bool see_call(struct finder *finder, const struct visit *visit)
{
	const struct co_node *node = visit->node;
	struct judge *judge = finder->judge;
	struct facts *facts = &judge->facts[finder->function];
	enum known known = call_known(judge->program, node);
	bool body = known == KNOWN_NOT && node->function != CO_NONE;
	if (body && !add_call(finder, node->function))
		return false;
	if (body && !function_of(finder, node->function)->kernel)
		judge->facts[node->function].called = true;
	if (known == KNOWN_ATOMIC || (known == KNOWN_NOT && !body))
		facts->has_atomics = true;
	if (known == KNOWN_NOT && !body)
		facts->touches = UINT64_MAX;
	if (!verdicts_note_call(judge, finder->function, node))
		return false;
	size_t count = 0, at = 0;
	for (const struct co_node *child = node->first; child; child = child->next)
		count++;
	for (const struct co_node *child = node->first; child; child = child->next)
		if (!see_argument(finder, visit, known, child, at++, count))
			return false;
	return true;
}

/* True if `child` names the object that the node names. */
static bool passes_on(const struct visit *visit, const struct co_node *child)
{
	switch (visit->node->kind) {
	case CO_MIX:
	case CO_MEMBER:
	case CO_LAZY: return true;
	case CO_CHOICE: return child != visit->node->first;
	case CO_ASSIGN:
	case CO_LOAD: return child == visit->node->first;
	default: return false;
	}
}

static bool keeps(const struct finder *finder, const struct visit *visit)
{
	const struct co_node *node = visit->node;
	if (node->kind == CO_DECLARE)
		return finder->judge->program->variables[node->variable].reference;
	return node->kind == CO_RETURN || node->kind == CO_NEW || node->kind == CO_ADDRESS ||
	       node->kind == CO_UNKNOWN;
}

/* Its parts are evaluated one after the other: each is an expression of its own. */
static bool is_ordered(const struct visit *visit)
{
	switch (visit->node->kind) {
	case CO_SEQUENCE:
	case CO_DECLARE:
	case CO_IF:
	case CO_LOOP:
	case CO_SWITCH:
	case CO_CASE:
	case CO_RETURN: return true;
	case CO_LAZY:
	case CO_CHOICE: return visit->node == visit->expression;
	default: return false;
	}
}

static bool see_children(struct finder *finder, const struct visit *visit, int loop)
{
	const struct co_node *node = visit->node;
	bool returns_reference = function_of(finder, finder->function)->returns_reference;
	for (const struct co_node *child = node->first; child; child = child->next) {
		struct visit next = { .node = child, .depth = visit->depth + 1, .loop = loop };
		next.expression = is_ordered(visit) ? child : visit->expression;
		next.copied = visit->copied || (node->kind == CO_RETURN && !returns_reference);
		next.fine = node->kind == CO_MIX && node->null == CO_NULL_TESTED;
		if (node->kind == CO_LOOP && child == node->first)
			next.loop = visit->loop;
		next.base = node->kind == CO_LOAD && child == node->first;
		next.taken = node->kind == CO_ADDRESS || node->kind == CO_UNKNOWN ||
			     (visit->taken && passes_on(visit, child));
		next.kept = visit->kept ? passes_on(visit, child)
					: keeps(finder, visit) &&
						  !(node->kind == CO_NEW && child == node->first);
		if (!push(finder, next))
			return false;
	}
	return true;
}

/* An element whose index may differ between threads. */
static bool has_index(const struct co_node *place)
{
	for (; place && (place->kind == CO_MEMBER || place->kind == CO_LOAD); place = place->first)
		if (place->kind == CO_LOAD && place->first && place->first->next &&
		    place->first->next->kind != CO_VALUE)
			return true;
	return place == NULL;
}

/* &x or x of a number or pointer x, or another name that is passed on. */
static bool is_whole(const struct judge *judge, const struct co_node *value, int from, bool through)
{
	const struct co_variable *variable = &judge->program->variables[from];
	const struct co_node *place = value->kind == CO_ADDRESS ? value->first : value;
	if (through)
		return place->kind == CO_VARIABLE;
	return place && place->kind == CO_VARIABLE && (variable->pointer || variable->plain);
}

/* A local pointer or reference, and its initial value: the only one, if it does not leak. */
static bool see_alias(struct finder *finder, const struct visit *visit)
{
	const struct co_node *node = visit->node, *value = node->first;
	struct judge *judge = finder->judge;
	const struct co_variable *variable = &judge->program->variables[node->variable];
	struct variable_facts *facts = &judge->variables[node->variable];
	struct visit next = { .node = value, .depth = visit->depth + 1, .loop = visit->loop };
	bool bound = false, through;
	next.expression = value;
	if (!variable->pointer || variable->home != CO_LOCAL || facts->alias != CO_NONE ||
	    variable->owner != finder->function || variable->is_volatile || value->next ||
	    has_index(target_place(judge, value, node->variable))) {
		facts->leaks |= facts->alias != CO_NONE;
		return see_children(finder, visit, visit->loop);
	}
	int from = target_bound(judge, value, node->variable, finder->function, &through);
	if (from == node->variable || !see_binding(finder, &next, node->variable, NULL, &bound))
		return from == node->variable ? see_children(finder, visit, visit->loop) : false;
	if (!bound)
		return see_children(finder, visit, visit->loop);
	facts->alias = from;
	facts->alias_through = through;
	facts->alias_whole = is_whole(judge, value, from, through) && variable->plain;
	return push(finder, next);
}

static bool see(struct finder *finder, const struct visit *visit)
{
	const struct co_node *node = visit->node;
	struct facts *facts = &finder->judge->facts[finder->function];
	int loop = visit->loop;
	facts->too_deep |= visit->depth > DEEPEST;
	switch (node->kind) {
	case CO_JUMP: facts->spoiled = node; /* fallthrough */
	case CO_UNKNOWN:
		facts->has_atomics = true;
		facts->touches = UINT64_MAX;
		break;
	case CO_VARIABLE: see_variable(finder, visit); break;
	case CO_DECLARE:
		see_set(finder, node->variable, loop);
		if (node->first)
			return see_alias(finder, visit);
		break;
	case CO_ASSIGN:
		if (!see_write(finder, visit, node->first))
			return false;
		see_set(finder, variable_behind(node->first), loop);
		break;
	case CO_LOOP:
		if (!see_loop(finder, visit, &loop))
			return false;
		break;
	case CO_CALL: return see_call(finder, visit);
	case CO_NEW:
	case CO_DELETE:
		if (!verdicts_note_call(finder->judge, finder->function, node))
			return false;
		break;
	default: break;
	}
	return see_children(finder, visit, loop);
}

static int by_node(const void *one, const void *other)
{
	uintptr_t a = (uintptr_t)((const struct loop *)one)->node;
	uintptr_t b = (uintptr_t)((const struct loop *)other)->node;
	return (a > b) - (a < b);
}

struct loop *facts_loop(struct facts *facts, const struct co_node *node)
{
	struct loop key = { .node = node };
	if (!facts->loop_count)
		return NULL;
	return bsearch(&key, facts->loops, (size_t)facts->loop_count, sizeof key, by_node);
}

static bool see_function(struct finder *finder, int function)
{
	struct judge *judge = finder->judge;
	struct facts *facts = &judge->facts[function];
	const struct co_node *body = judge->program->functions[function].body;
	finder->function = function;
	finder->count = 0;
	finder->call_room = 0;
	finder->loop_room = 0;
	bool fine = !body || push(finder, (struct visit){ .node = body, .loop = CO_NONE });
	while (fine && finder->count) {
		struct visit visit = finder->visits[--finder->count];
		fine = see(finder, &visit);
	}
	/* From here on `outer` is meaningless: loops are sorted by address. */
	if (fine && facts->loop_count)
		qsort(facts->loops, (size_t)facts->loop_count, sizeof *facts->loops, by_node);
	return fine;
}

/* ---- all functions --------------------------------------------------------------------------- */

/* Callees are mostly defined before their callers, so two rounds usually suffice. */
void facts_spread(struct judge *judge)
{
	for (bool changed = true; changed && judge->work < MAX_WORK;) {
		changed = false;
		for (size_t i = 0; i < judge->program->function_count; i++) {
			struct facts *facts = &judge->facts[i];
			for (int c = 0; c < facts->call_count; c++) {
				const struct facts *callee = &judge->facts[facts->calls[c]];
				bool allocates = facts->allocates || callee->allocates;
				bool atomics = facts->has_atomics || callee->has_atomics;
				uint64_t touches = facts->touches | callee->touches;
				judge->work += 1;
				changed |= allocates != facts->allocates ||
					   atomics != facts->has_atomics ||
					   touches != facts->touches;
				facts->allocates = allocates;
				facts->has_atomics = atomics;
				facts->touches = touches;
			}
		}
	}
}

static void resolve_variables(struct judge *judge, const bool *harmless)
{
	for (size_t i = 0; i < judge->program->variable_count; i++) {
		const struct co_variable *variable = &judge->program->variables[i];
		struct variable_facts *facts = &judge->variables[i];
		if ((variable->addressed && (!harmless[i] || facts->kept)) || variable->escaped)
			facts->anybody = true;
		if (facts->shared == CO_NONE || !facts->indexed || variable->pointer)
			continue;
		judge->arrays |= (uint64_t)1 << facts->shared;
		/* The name of an array alone is the address of its first element. */
		facts->anybody |= facts->as_value;
	}
}

bool facts_find(struct judge *judge)
{
	size_t variables = judge->program->variable_count;
	struct finder finder = { .judge = judge };
	finder.harmless = co_arena_take(judge->own, variables * sizeof *finder.harmless);
	bool fine = finder.harmless != NULL;
	if (fine)
		place_variables(judge);
	for (size_t i = 0; fine && i < judge->program->function_count; i++)
		fine = see_function(&finder, (int)i);
	if (fine)
		resolve_variables(judge, finder.harmless);
	free(finder.visits);
	return fine;
}
