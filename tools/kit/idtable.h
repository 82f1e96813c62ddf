/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idtable.h - from an id of a trace, any 64-bit number, to the number of the block it names now.
 *
 * Open addressing with linear probing, a power of two of slots, at most two thirds full. Ids are
 * never taken out: a trace that frees a block twice is told so, and not that the id is unknown.
 * O(1) a step; 16 bytes a slot.
 */
#ifndef TOOLS_IDTABLE_H
#define TOOLS_IDTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDTABLE_NONE UINT32_MAX

struct idtable_slot {
	uint64_t id;
	uint32_t block; /* IDTABLE_NONE: the slot is empty */
};

struct idtable {
	struct idtable_slot *slots; /* NULL until the first idtable_at() */
	size_t slots_count;         /* a power of two, or 0 */
	size_t used; /* slots that are not empty; at most two thirds of slots_count */
};

/*
 * idtable_at - where the block of `id` is written down; IDTABLE_NONE stands there for a new id, and
 * the caller puts a number in its place. NULL: no memory. Valid until the next call.
 */
uint32_t *idtable_at(struct idtable *table, uint64_t id);

/* idtable_find - the block of `id`, or IDTABLE_NONE. */
uint32_t idtable_find(const struct idtable *table, uint64_t id);

void idtable_fini(struct idtable *table);

#endif
