/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_blocks.h - the live blocks of a profile by their ids.
 *
 * Open addressing with linear probing; a free closes the gap that it leaves, so the table stays as
 * small as the live blocks are few, and in the processor's caches. Hashes depend on a random
 * number, so no file is slow on purpose.
 */
#ifndef TOOLS_PROFILE_BLOCKS_H
#define TOOLS_PROFILE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_block {
	uint64_t id;
	uint64_t bytes;
	uint64_t time; /* of its allocation */
	uint32_t leaf;
	bool used; /* false: an empty slot */
};

struct profile_blocks {
	struct profile_block *slots; /* NULL until the first block */
	size_t room;                 /* a power of two */
	size_t count;                /* at most half of it */
	uint64_t seed;
};

/*
 * profile_blocks_add - the new block of an id, whose other fields the caller sets; *is_live: it is
 * live already, and this is that block. NULL: out of memory.
 */
struct profile_block *profile_blocks_add(struct profile_blocks *blocks, uint64_t id, bool *is_live);

/* profile_blocks_take - remove a block and copy it. False: the id is not live. */
bool profile_blocks_take(struct profile_blocks *blocks, uint64_t id, struct profile_block *block);

bool profile_blocks_has(const struct profile_blocks *blocks, uint64_t id);

void profile_blocks_fini(struct profile_blocks *blocks);

#endif
