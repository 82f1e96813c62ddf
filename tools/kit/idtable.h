/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idtable.h - map an id of a trace, any 64-bit number, to the number of the block that it denotes
 * now.
 *
 * Open addressing with linear probing; the number of slots is a power of two, and at most two
 * thirds are used. Ids are never removed, so a second free of a block is reported as a double free
 * and not as an unknown id. O(1) per operation; 16 bytes per slot.
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
	size_t used;                /* slots in use; at most two thirds of slots_count */
};

/*
 * idtable_at - the field that holds the block number of `id`. For a new id it holds IDTABLE_NONE,
 * and the caller stores a number. NULL: out of memory. Valid until the next call.
 */
uint32_t *idtable_at(struct idtable *table, uint64_t id);

/* idtable_find - the block of `id`, or IDTABLE_NONE. */
uint32_t idtable_find(const struct idtable *table, uint64_t id);

void idtable_fini(struct idtable *table);

#endif
