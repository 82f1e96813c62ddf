/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach.c - statements: which threads reach which place.
 *
 *   if, switch   both paths are analyzed with the level of the condition. Where they join, the
 *                greater level of each variable counts. If only some threads reach an
 *                assignment, its target is divergent (values.c): no further step is needed.
 *   return, ...  if not all threads reach an exit, those that take it leave the others. From then
 *                on the state contains the level of the exit, up to the place where these threads
 *                join again (after the loop or switch for break, in the next iteration for
 *                continue, after the call for return).
 *   loops        are repeated until the state at their header is a fixed point. Threads that leave
 *                make the remaining ones divergent: the level of all exits is the level of the
 *                whole body. The state of a header is kept for the next iteration of the outer
 *                loop, so the iterations of nested loops do not multiply.
 *   waiting      if not all threads leave a loop together, and its exit depends on something that
 *                others may change, a thread may wait for another in it. Then threads that have to
 *                converge after the loop may never do so. No thread is assumed to continue after
 *                it. A counted loop (counting.c) does not wait.
 *
 * Bounds, sources: judge_parts.h, judge.h.
 */
#include <string.h>

#include "coalesce/judge/judge_parts.h"

static void statement(struct walk *walk, struct state *state, const struct co_node *node);

struct cell reach_here(const struct walk *walk, const struct state *state)
{
	struct cell who = cell_join(walk->here, state->ended);
	who = cell_join(who, state->returned);
	who = cell_join(who, state->broke);
	return cell_join(who, state->continued);
}

void reach_end(struct state *state, struct cell who)
{
	who.bits = 0;
	state->ended = cell_join(state->ended, who);
}

static bool may_wait(struct cell who)
{
	if (who.level == CO_ALL)
		return false;
	return (who.bits & BIT_ATOMIC) || ((who.bits & BIT_SAME) && !(who.bits & BIT_MOVES));
}

/* Threads leave a loop. */
static void leave_loop(struct scope *scope, struct cell who)
{
	scope->left = cell_join(scope->left, who);
	scope->left.bits = 0;
	scope->waits |= may_wait(who);
}

static struct scope *innermost_loop(struct walk *walk)
{
	struct scope *scope = walk->scope;
	while (scope && !scope->loop)
		scope = scope->outer;
	return scope;
}

/* ---- exits ----------------------------------------------------------------------------------- */

static void leave_by_break(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell who = reach_here(walk, state);
	struct scope *scope = walk->scope;
	if (!scope) { /* a break outside of loops and switches: its target is unknown */
		reach_end(state, cell_place(cell_why(CO_EACH, WHY_UNKNOWN, node, CO_NONE),
					    PLACE_JUMP, node));
		return;
	}
	if (scope->loop)
		leave_loop(scope, who);
	state_join(walk, scope->out, state);
	if (scope->loop) /* the other threads do not depend on the reason for the break */
		who.bits = 0;
	state->broke = cell_join(state->broke, cell_place(who, PLACE_LEFT, node));
	state->dead = true;
}

static void leave_by_continue(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell who = reach_here(walk, state);
	struct scope *scope = innermost_loop(walk);
	if (!scope) {
		reach_end(state, cell_place(cell_why(CO_EACH, WHY_UNKNOWN, node, CO_NONE),
					    PLACE_JUMP, node));
		return;
	}
	state_join(walk, scope->next, state);
	state->continued = cell_join(state->continued, cell_place(who, PLACE_LEFT, node));
	state->dead = true;
}

/* If the node has a name, the thread itself ends there, not only the function. */
static void leave_function(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct cell value = value_children(walk, state, node);
	struct cell who = reach_here(walk, state);
	struct cell left = cell_place(who, PLACE_LEFT, node);
	walk->result = cell_join(walk->result, cell_join(value, left));
	for (struct scope *scope = walk->scope; scope; scope = scope->outer)
		if (scope->loop)
			leave_loop(scope, who);
	left.bits = 0;
	state->returned = cell_join(state->returned, left);
	if (node->name)
		reach_end(state, left);
	state_join(walk, walk->behind, state);
	state->dead = true;
}

/* ---- if, switch ------------------------------------------------------------------------------ */

static void branch(struct walk *walk, struct state *state, const struct co_node *node)
{
	const struct co_node *condition = node->first;
	if (!condition)
		return;
	struct cell value = value_of(walk, state, condition);
	struct cell before = walk->here;
	const struct co_node *then = condition->next;
	struct state *other = state_copy(walk, state);
	walk->here = cell_join(before, cell_place(value, PLACE_CONDITION, node));
	if (then)
		statement(walk, state, then);
	if (value.level > CO_ALL)
		shared_meanwhile(other, state);
	if (then && then->next)
		statement(walk, other, then->next);
	walk->here = before;
	state_join(walk, state, other);
	state_drop(walk, other);
}

static bool is_default(const struct co_program *program, const struct co_node *node)
{
	static const char word[] = "default";
	size_t length = sizeof word - 1;
	if (node->name)
		return strcmp(node->name, word) == 0;
	if (!node->in_file || node->macro || node->begin > program->bytes ||
	    program->bytes - node->begin <= length ||
	    memcmp(program->text + node->begin, word, length) != 0)
		return false;
	char next = program->text[node->begin + length];
	return next == ':' || next == ' ' || next == '\t' || next == '\n';
}

/*
 * A label: threads arrive from the switch, and by fall-through from the case above. Without
 * fall-through, threads that left above do not make those that arrive here divergent.
 */
static void label(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct scope *scope = walk->scope;
	while (scope && scope->loop)
		scope = scope->outer;
	if (!scope)
		return;
	scope->has_default |= is_default(walk->judge->program, node);
	if (scope->parts)
		shared_meanwhile(scope->enter, state);
	if (!state->dead) {
		state_join(walk, state, scope->enter);
		return;
	}
	state_join(walk, scope->out, state);
	state_set(walk, state, scope->enter);
}

static void choose(struct walk *walk, struct state *state, const struct co_node *node)
{
	if (!node->first)
		return;
	struct cell value = value_of(walk, state, node->first);
	struct cell before = walk->here, broke = state->broke;
	broke.bits = 0;
	walk->here = cell_join(before, broke);
	walk->here = cell_join(walk->here, cell_place(value, PLACE_CONDITION, node));
	state->broke = cell_all;
	struct scope scope = { .outer = walk->scope,
			       .out = state_new(walk),
			       .enter = state_copy(walk, state) };
	scope.parts = value.level > CO_ALL;
	walk->scope = &scope;
	state->dead = true;
	for (const struct co_node *child = node->first->next; child; child = child->next)
		statement(walk, state, child);
	state_join(walk, scope.out, state);
	if (!scope.has_default) /* some threads may take no case */
		state_join(walk, scope.out, scope.enter);
	state_set(walk, state, scope.out);
	state->broke = broke;
	walk->scope = scope.outer;
	walk->here = before;
	state_drop(walk, scope.out);
	state_drop(walk, scope.enter);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* The condition: some threads continue, some leave. */
static void ask(struct walk *walk, struct state *state, const struct co_node *node,
		struct scope *scope, bool *bounded)
{
	const struct co_node *condition = node->first->next;
	if (condition->kind == CO_NOTHING) {
		*bounded = false;
		return;
	}
	struct cell value = value_of(walk, state, condition);
	*bounded = !(value.bits & (BIT_SAME | BIT_ATOMIC)) && loop_counts(walk->judge, node);
	struct cell who = cell_join(reach_here(walk, state), cell_place(value, PLACE_LOOP, node));
	leave_loop(scope, who);
	state_join(walk, scope->out, state);
}

/*
 * Analyzes one iteration from `head`, and joins its end state into `head`. True: that changed
 * something.
 */
static bool go_round(struct walk *walk, const struct co_node *node, struct scope *scope,
		     struct state *head, bool *bounded)
{
	const struct co_node *condition = node->first->next;
	const struct co_node *step = condition->next, *body = step->next;
	struct cell before = walk->here, left = scope->left;
	struct state *state = state_copy(walk, head);
	walk->here = cell_join(before, left);
	scope->waits = false;
	state_set(walk, scope->out, walk->nobody);
	state_set(walk, scope->next, walk->nobody);
	if (!node->do_first)
		ask(walk, state, node, scope, bounded);
	walk->here = cell_join(before, scope->left);
	statement(walk, state, body);
	state_join(walk, state, scope->next);
	state->continued = cell_all;
	walk->here = cell_join(before, scope->left);
	/* Threads that left by break leave the others for good: `left` includes that by now. */
	value_of(walk, state, step);
	if (node->do_first)
		ask(walk, state, node, scope, bounded);
	state->broke = cell_all;
	bool more = state_join(walk, head, state);
	more |= scope->left.level != left.level;
	walk->here = before;
	state_drop(walk, state);
	return more;
}

/*
 * The state after a loop. Threads that broke out include the ones that returned in it: the state of
 * the header has them since the previous iteration. Memory that was read before the loop may be
 * read again by the outer loop.
 */
static void after_loop(struct walk *walk, struct state *state, const struct state *before,
		       const struct scope *scope)
{
	state_set(walk, state, scope->out);
	for (int i = 0; i < walk->facts->slots; i++)
		state->cells[i].bits |= before->cells[i].bits;
	state->broke = before->broke;
	state->continued = before->continued;
}

static bool complete(const struct co_node *node)
{
	const struct co_node *child = node->first;
	for (int i = 0; i < 3 && child; i++)
		child = child->next;
	return child != NULL;
}

static void repeat(struct walk *walk, struct state *state, const struct co_node *node)
{
	struct loop *loop = facts_loop(walk->facts, node);
	if (!loop || !complete(node)) { /* not a loop of the known form */
		reach_end(state, cell_place(cell_why(CO_EACH, WHY_UNKNOWN, node, CO_NONE),
					    PLACE_JUMP, node));
		for (const struct co_node *child = node->first; child; child = child->next)
			statement(walk, state, child);
		return;
	}
	statement(walk, state, node->first);
	ptrdiff_t index = loop - walk->facts->loops;
	struct cell before = walk->here;
	struct loop *outer = walk->loop;
	struct state *entry = state_copy(walk, state), *head = walk->heads[index];
	if (!head)
		head = walk->heads[index] = state_new(walk);
	walk->here = cell_join(cell_join(before, state->broke), state->continued);
	walk->here.bits = 0;
	for (int i = 0; i < walk->facts->slots; i++)
		state->cells[i].bits = 0;
	state->broke = state->continued = cell_all;
	state_join(walk, head, state);
	struct scope scope = { .outer = walk->scope,
			       .loop = loop,
			       .out = state_new(walk),
			       .next = state_new(walk),
			       .left = walk->left[index] };
	walk->scope = &scope; /* cppcheck-suppress autoVariables; until the end of the loop */
	walk->loop = loop;
	bool bounded = false;
	while (go_round(walk, node, &scope, head, &bounded) && !walk->judge->failed &&
	       walk->judge->work < MAX_WORK)
		continue;
	walk->left[index] = scope.left;
	walk->scope = scope.outer;
	walk->loop = outer;
	walk->here = before;
	after_loop(walk, state, entry, &scope);
	if (scope.waits && !bounded)
		reach_end(state, cell_place(scope.left, PLACE_WAIT, node));
	state_drop(walk, entry);
	state_drop(walk, scope.out);
	state_drop(walk, scope.next);
}

/* ---- all statements -------------------------------------------------------------------------- */

static void declare(struct walk *walk, struct state *state, const struct co_node *node)
{
	int slot = walk->judge->variables[node->variable].slot;
	bool set = node->first && node->first->kind != CO_NOTHING;
	struct cell value = value_children(walk, state, node);
	if (slot == CO_NONE ||
	    walk->judge->program->variables[node->variable].owner != walk->context->function)
		return;
	if (!set)
		value = cell_why(CO_EACH, WHY_UNSET, node, node->variable);
	state->cells[slot] = cell_join(value, reach_here(walk, state));
	state->cells[slot].bits &= (unsigned char)~BIT_MOVES;
}

static void statement(struct walk *walk, struct state *state, const struct co_node *node)
{
	if (walk->judge->failed || walk->judge->work++ >= MAX_WORK)
		return;
	switch (node->kind) {
	case CO_NOTHING: break;
	case CO_SEQUENCE:
		for (const struct co_node *child = node->first; child; child = child->next)
			statement(walk, state, child);
		break;
	case CO_DECLARE: declare(walk, state, node); break;
	case CO_IF: branch(walk, state, node); break;
	case CO_LOOP: repeat(walk, state, node); break;
	case CO_SWITCH: choose(walk, state, node); break;
	case CO_CASE:
		label(walk, state, node);
		for (const struct co_node *child = node->first; child; child = child->next)
			statement(walk, state, child);
		break;
	case CO_BREAK: leave_by_break(walk, state, node); break;
	case CO_CONTINUE: leave_by_continue(walk, state, node); break;
	case CO_RETURN: leave_function(walk, state, node); break;
	default: value_of(walk, state, node); break;
	}
}

void reach_function(struct walk *walk, struct state *state)
{
	const struct co_node *body = walk->judge->program->functions[walk->context->function].body;
	if (body)
		statement(walk, state, body);
	state_join(walk, walk->behind, state);
}
