/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_blocks.c - the live blocks of a profile by their ids.
 */
#include "profile/profile_blocks.h"

#include <stdlib.h>
#include <time.h>

#define FIRST_ROOM ((size_t)4096)

/* A change of any bit of an id changes about half of the bits of the result. */
static size_t home_of(const struct profile_blocks *blocks, uint64_t id)
{
	id = (id ^ blocks->seed) * UINT64_C(0x9E3779B97F4A7C15);
	id = (id ^ id >> 32) * (blocks->seed | 1);
	return (size_t)(id ^ id >> 32) & (blocks->room - 1);
}

/* The slot of an id, or the empty one where it belongs. */
static size_t probe(const struct profile_blocks *blocks, uint64_t id)
{
	size_t at = home_of(blocks, id);

	while (blocks->slots[at].used && blocks->slots[at].id != id)
		at = (at + 1) & (blocks->room - 1);
	return at;
}

static uint64_t random_number(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&now) * UINT64_C(0xD1342543DE82EF95);
}

static bool grow(struct profile_blocks *blocks)
{
	struct profile_blocks larger = *blocks;

	larger.room = blocks->room ? 2 * blocks->room : FIRST_ROOM;
	larger.seed = random_number();
	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < blocks->room; i++)
		if (blocks->slots[i].used)
			larger.slots[probe(&larger, blocks->slots[i].id)] = blocks->slots[i];
	free(blocks->slots);
	*blocks = larger;
	return true;
}

struct profile_block *profile_blocks_add(struct profile_blocks *blocks, uint64_t id, bool *is_live)
{
	struct profile_block *block;

	if (2 * (blocks->count + 1) > blocks->room && !grow(blocks))
		return NULL;
	block = &blocks->slots[probe(blocks, id)];
	*is_live = block->used;
	if (!block->used) {
		block->id = id;
		block->used = true;
		blocks->count++;
	}
	return block;
}

/* Move blocks into the gap that would otherwise hide them from probe(). */
static void close_gap(struct profile_blocks *blocks, size_t gap)
{
	const size_t mask = blocks->room - 1;

	for (size_t at = (gap + 1) & mask; blocks->slots[at].used; at = (at + 1) & mask) {
		size_t home = home_of(blocks, blocks->slots[at].id);

		if (((at - home) & mask) < ((at - gap) & mask))
			continue; /* it is between its home and the gap's end: stays */
		blocks->slots[gap] = blocks->slots[at];
		gap = at;
	}
	blocks->slots[gap].used = false;
}

bool profile_blocks_take(struct profile_blocks *blocks, uint64_t id, struct profile_block *block)
{
	size_t at;

	if (blocks->room == 0)
		return false;
	at = probe(blocks, id);
	*block = blocks->slots[at];
	if (!block->used)
		return false;
	close_gap(blocks, at);
	blocks->count--;
	return true;
}

bool profile_blocks_has(const struct profile_blocks *blocks, uint64_t id)
{
	return blocks->room && blocks->slots[probe(blocks, id)].used;
}

void profile_blocks_fini(struct profile_blocks *blocks)
{
	free(blocks->slots);
	*blocks = (struct profile_blocks){ 0 };
}
