/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.c - shared variables: when all threads of a block read the same value from them.
 *
 * They do if no thread has written to the variable since all threads of the block last met, and
 * none does until they meet again. The mask `dirty` contains the written variables, `read` those
 * that were read as uniform. A write to a variable in `read` makes it racy for good, because a fast
 * thread may write before a slow one reads. Arrays may overlap (extern), so a write to one is a
 * write to all. A variable is never uniform if its address is known to other code, if it is
 * volatile, or if it is not among the first MAX_SHARED.
 */
#include "coalesce/judge/judge_parts.h"

static uint64_t bit_of(const struct judge *judge, int variable)
{
	int bit = judge->variables[variable].shared;
	return bit == CO_NONE ? 0 : (uint64_t)1 << bit;
}

struct cell shared_read(struct walk *walk, struct state *state, const struct co_node *node,
			int variable, struct cell index)
{
	const struct judge *judge = walk->judge;
	uint64_t bit = bit_of(judge, variable);
	struct cell value = cell_why(CO_EACH, WHY_SHARED, node, variable);
	value.bits = (index.bits & ~BIT_MOVES) | (index.bits & BIT_MOVES ? 0 : BIT_SAME);
	if (judge->program->variables[variable].is_volatile) {
		value.why = WHY_VOLATILE;
		value.bits |= BIT_ATOMIC;
		return value;
	}
	if (judge->variables[variable].anybody)
		value.why = WHY_ADDRESSED;
	if (!bit || judge->variables[variable].anybody || ((judge->racy | state->dirty) & bit))
		return value;
	if (index.level < CO_EACH && reach_here(walk, state).level < CO_EACH)
		state->read |= bit;
	return cell_number(index);
}

void shared_write(struct walk *walk, struct state *state, int variable)
{
	struct judge *judge = walk->judge;
	uint64_t bit = bit_of(judge, variable);
	if (judge->variables[variable].indexed)
		bit |= judge->arrays;
	uint64_t raced = bit & state->read & ~judge->racy;
	if (raced) {
		judge->racy |= raced;
		judge->changed = true;
	}
	state->dirty |= bit;
}

void shared_unknown(struct walk *walk, struct state *state)
{
	uint64_t raced = state->read & ~walk->judge->racy;
	if (raced) {
		walk->judge->racy |= raced;
		walk->judge->changed = true;
	}
	state->dirty = UINT64_MAX;
}

void shared_meet(struct walk *walk, struct state *state)
{
	if (reach_here(walk, state).level != CO_ALL)
		return;
	state->dirty = 0;
	state->read = 0;
	state->synced = true;
}

void shared_meanwhile(struct state *other, const struct state *done)
{
	other->dirty |= done->dirty;
	other->read |= done->read;
}
