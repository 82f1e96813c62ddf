/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_memory.h - memory of the race checker: taken piece by piece, given back all at once.
 *
 * A reset keeps the chunks, so a search over many seeds asks the system for memory only at its
 * start.
 */
#ifndef MAM_TESTS_SIMT_RACE_MEMORY_H
#define MAM_TESTS_SIMT_RACE_MEMORY_H

#include <stddef.h>

struct race_chunk;

/* All zero is a memory from which nothing was taken yet. */
struct race_memory {
	struct race_chunk *first; /* all chunks, in the order in which they are used */
	struct race_chunk *now;   /* the one that pieces come from */
	size_t used;              /* bytes of `now` that are taken */
};

/* Zeroed, 16 aligned; NULL if there is none. */
void *race_memory_take(struct race_memory *memory, size_t bytes);
/* All pieces are free again. */
void race_memory_reset(struct race_memory *memory);
/* Back to the system. */
void race_memory_fini(struct race_memory *memory);
/* What the system gave so far. */
size_t race_memory_bytes(const struct race_memory *memory);

#endif
