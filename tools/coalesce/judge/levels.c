/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levels.c - joins and copies levels and states, and recycles states. See judge_parts.h.
 *
 * Where two paths join, the greater level counts, with its reason; of equal levels the first one's.
 * States are allocated from the arena of the `struct walk` and recycled. If memory runs out, all
 * new states are the same one, `scrap`, and the judge fails: the results are ignored.
 */
#include <string.h>

#include "coalesce/judge/judge_parts.h"

const struct cell cell_all = { .of = CO_NONE };

struct cell cell_why(enum co_level level, enum why why, const struct co_node *at, int of)
{
	return (struct cell){ .level = (unsigned char)level,
			      .nulls = (unsigned char)level,
			      .why = (unsigned char)why,
			      .of = of,
			      .at = at };
}

struct cell cell_join(struct cell one, struct cell other)
{
	unsigned char bits = one.bits | other.bits;
	struct cell joined = other.level > one.level ? other : one;
	joined.nulls = one.nulls > other.nulls ? one.nulls : other.nulls;
	joined.bits = bits;
	return joined;
}

struct cell cell_number(struct cell value)
{
	value.nulls = value.level;
	return value;
}

struct cell cell_place(struct cell value, enum place place, const struct co_node *where)
{
	if (value.level == CO_ALL)
		return cell_all;
	value.nulls = value.level;
	value.place = (unsigned char)place;
	value.where = where;
	return value;
}

static size_t state_bytes(const struct walk *walk)
{
	return sizeof(struct state) + (size_t)walk->facts->slots * sizeof(struct cell);
}

/* Counts the work of copying or joining states. */
static void count_work(struct walk *walk)
{
	walk->judge->work += 4 + (uint64_t)walk->facts->slots / 4;
}

struct state *state_new(struct walk *walk)
{
	struct state *state = walk->free_states;
	if (state) {
		walk->free_states = state->next_free;
		memset(state, 0, state_bytes(walk));
	} else {
		state = co_arena_take(walk->arena, state_bytes(walk));
	}
	count_work(walk);
	if (!state) {
		walk->judge->failed = true;
		return walk->scrap;
	}
	state->dead = true;
	return state;
}

void state_set(struct walk *walk, struct state *to, const struct state *from)
{
	count_work(walk);
	if (to != from)
		memcpy(to, from, state_bytes(walk));
}

struct state *state_copy(struct walk *walk, const struct state *from)
{
	struct state *copy = state_new(walk);
	state_set(walk, copy, from);
	return copy;
}

void state_drop(struct walk *walk, struct state *state)
{
	if (state == walk->scrap)
		return;
	state->next_free = walk->free_states;
	walk->free_states = state;
}

/* True: it rose. */
static bool rise(struct cell *to, const struct cell *from)
{
	struct cell before = *to;
	*to = cell_join(before, *from);
	return to->level != before.level || to->nulls != before.nulls || to->bits != before.bits;
}

static bool join_left(struct state *to, const struct state *from)
{
	bool rose = rise(&to->returned, &from->returned);
	rose |= rise(&to->ended, &from->ended);
	rose |= rise(&to->broke, &from->broke);
	return rise(&to->continued, &from->continued) || rose;
}

static bool some_left(const struct state *state)
{
	return state->returned.level > CO_ALL || state->ended.level > CO_ALL ||
	       state->broke.level > CO_ALL || state->continued.level > CO_ALL;
}

/* Threads that left run concurrently with those that continue here, so their accesses count. */
static bool leave_masks(struct state *to, const struct state *from)
{
	uint64_t dirty = to->dirty, read = to->read;
	if (!some_left(from))
		return false;
	to->dirty |= from->dirty;
	to->read |= from->read;
	return to->dirty != dirty || to->read != read;
}

bool state_join(struct walk *walk, struct state *to, const struct state *from)
{
	bool rose = join_left(to, from);
	count_work(walk);
	if (from->dead)
		return leave_masks(to, from) || rose;
	if (to->dead) {
		to->dead = false;
		to->synced = from->synced;
		to->dirty = from->dirty | (some_left(to) ? to->dirty : 0);
		to->read = from->read | (some_left(to) ? to->read : 0);
		memcpy(to->cells, from->cells, (size_t)walk->facts->slots * sizeof(struct cell));
		return true;
	}
	rose |= (from->dirty & ~to->dirty) || (from->read & ~to->read) ||
		(to->synced && !from->synced);
	to->dirty |= from->dirty;
	to->read |= from->read;
	to->synced = to->synced && from->synced;
	for (int i = 0; i < walk->facts->slots; i++)
		rose |= rise(&to->cells[i], &from->cells[i]);
	return rose;
}
