/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idtable.c - map an id of a trace to the number of the block that it denotes now.
 */
#include "kit/idtable.h"

#include <stdlib.h>

#define FIRST_SLOTS ((size_t)1024)

/* A change of any bit of an id, low or high, changes about half of the bits of the result. */
static uint64_t mix(uint64_t id)
{
	id = (id ^ id >> 32) * UINT64_C(0x9E3779B97F4A7C15);
	id = (id ^ id >> 29) * UINT64_C(0xD1342543DE82EF95);
	return id ^ id >> 32;
}

/* The slot of an id, or the empty slot in which to insert it. */
static struct idtable_slot *probe(const struct idtable *table, uint64_t id)
{
	size_t mask = table->slots_count - 1;
	size_t at = (size_t)mix(id) & mask;

	while (table->slots[at].block != IDTABLE_NONE && table->slots[at].id != id)
		at = (at + 1) & mask;
	return &table->slots[at];
}

static bool grow(struct idtable *table)
{
	struct idtable larger = { .used = table->used };

	larger.slots_count = table->slots_count ? 2 * table->slots_count : FIRST_SLOTS;
	larger.slots = malloc(larger.slots_count * sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < larger.slots_count; i++)
		larger.slots[i].block = IDTABLE_NONE;
	for (size_t i = 0; i < table->slots_count; i++)
		if (table->slots[i].block != IDTABLE_NONE)
			*probe(&larger, table->slots[i].id) = table->slots[i];
	free(table->slots);
	*table = larger;
	return true;
}

uint32_t *idtable_at(struct idtable *table, uint64_t id)
{
	struct idtable_slot *slot;

	/*
	 * Grow before probing if the id might need a new slot, so that the returned slot does not
	 * move.
	 */
	if (3 * (table->used + 1) > 2 * table->slots_count && !grow(table))
		return NULL;
	slot = probe(table, id);
	if (slot->block == IDTABLE_NONE) {
		slot->id = id;
		table->used++;
	}
	return &slot->block;
}

uint32_t idtable_find(const struct idtable *table, uint64_t id)
{
	return table->slots_count ? probe(table, id)->block : IDTABLE_NONE;
}

void idtable_fini(struct idtable *table)
{
	free(table->slots);
	*table = (struct idtable){ 0 };
}
