/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_memory.h - memory of the race checker: allocated piece by piece, freed all at once.
 *
 * A reset keeps the chunks, so a search over many seeds allocates from the system only at its
 * start.
 */
#ifndef MAM_TESTS_SIMT_RACE_MEMORY_H
#define MAM_TESTS_SIMT_RACE_MEMORY_H

#include <stddef.h>

struct race_chunk;

/* A zeroed struct is an empty memory. */
struct race_memory {
	struct race_chunk *first; /* all chunks, in the order of use */
	struct race_chunk *now;   /* the chunk that pieces are allocated from */
	size_t used;              /* allocated bytes of `now` */
};

/* Zeroed, aligned to 16; NULL: out of memory. */
void *race_memory_take(struct race_memory *memory, size_t bytes);
/* All pieces are free again. */
void race_memory_reset(struct race_memory *memory);
/* Frees everything to the system. */
void race_memory_fini(struct race_memory *memory);
/* Bytes allocated from the system so far. */
size_t race_memory_bytes(const struct race_memory *memory);

#endif
