/* SPDX-License-Identifier: Apache-2.0 */
/*
 * circles.c - strongly connected components of the call graph (mutually recursive functions).
 *
 * A depth-first search with an explicit stack numbers the functions in the order of discovery. For
 * each function it keeps the lowest number that the function can reach. A function that cannot
 * reach an earlier one closes its component: the functions above it on the second stack.
 *
 * Source: R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1 (1972).
 * O(functions + calls). A function that is not mutually recursive is a component of its own. Its
 * list of calls shows whether it calls itself.
 */
#include "coalesce/judge/judge_parts.h"

struct way {
	int function, call;
};

struct circles {
	struct facts *facts;
	struct way *way; /* path to the current function */
	int *open;       /* functions whose component is not closed */
	int *number, *min;
	int depth, open_count, next;
};

static void enter(struct circles *circles, int function)
{
	circles->number[function] = circles->min[function] = ++circles->next;
	circles->open[circles->open_count++] = function;
	circles->way[circles->depth++] = (struct way){ function, 0 };
}

static void lower(int *to, int number)
{
	if (number < *to)
		*to = number;
}

static void leave(struct circles *circles)
{
	int function = circles->way[--circles->depth].function, member;
	if (circles->depth)
		lower(&circles->min[circles->way[circles->depth - 1].function],
		      circles->min[function]);
	if (circles->min[function] != circles->number[function])
		return;
	do {
		member = circles->open[--circles->open_count];
		circles->facts[member].circle = function;
	} while (member != function);
}

static void go_down(struct circles *circles, int from)
{
	enter(circles, from);
	while (circles->depth) {
		struct way *at = &circles->way[circles->depth - 1];
		const struct facts *facts = &circles->facts[at->function];
		if (at->call == facts->call_count) {
			leave(circles);
			continue;
		}
		int callee = facts->calls[at->call++];
		if (!circles->number[callee])
			enter(circles, callee);
		else if (circles->facts[callee].circle == CO_NONE)
			lower(&circles->min[at->function], circles->number[callee]);
	}
}

bool circles_find(struct judge *judge)
{
	size_t count = judge->program->function_count;
	struct circles circles = { .facts = judge->facts };
	circles.way = co_arena_take(judge->own, count * sizeof *circles.way);
	circles.open = co_arena_take(judge->own, count * sizeof *circles.open);
	circles.number = co_arena_take(judge->own, count * sizeof *circles.number);
	circles.min = co_arena_take(judge->own, count * sizeof *circles.min);
	if (!circles.way || !circles.open || !circles.number || !circles.min)
		return false;
	for (size_t i = 0; i < count; i++)
		judge->facts[i].circle = CO_NONE;
	for (size_t i = 0; i < count; i++)
		if (!circles.number[i])
			go_down(&circles, (int)i);
	return true;
}
