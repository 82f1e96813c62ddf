/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory that is allocated piece by piece and freed all at once.
 *
 * Pieces are cut from chunks, one after the other. A piece larger than a chunk gets a chunk of its
 * own. An allocation is O(1). Alignment wastes at most 15 bytes per piece, and all unfinished
 * chunks together waste less than one chunk. Memory is zeroed and aligned for any type.
 */
#ifndef MAM_TOOLS_COALESCE_ARENA_H
#define MAM_TOOLS_COALESCE_ARENA_H

#include <stddef.h>

struct co_arena;

/* All except the last return NULL if memory ran out. */
struct co_arena *co_arena_new(void);
void *co_arena_take(struct co_arena *arena, size_t bytes); /* 0 bytes count as 1 */
char *co_arena_text(struct co_arena *arena, const char *text, size_t bytes); /* appends a NUL */
char *co_arena_print(struct co_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void co_arena_free(struct co_arena *arena); /* NULL: no-op */

#endif
