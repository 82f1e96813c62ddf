/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory that is taken piece by piece and given back all at once.
 *
 * Pieces are cut from chunks, one after the other; what is larger than a chunk has one of its own.
 * O(1) a piece; at most 15 bytes are lost to alignment for each, and less than a chunk in all that
 * are open. What is taken is zero and aligned for anything.
 */
#ifndef MAM_TOOLS_COALESCE_ARENA_H
#define MAM_TOOLS_COALESCE_ARENA_H

#include <stddef.h>

struct co_arena;

/* All but the last: NULL, when memory ran out. */
struct co_arena *co_arena_new(void);
void *co_arena_take(struct co_arena *arena, size_t bytes); /* 0 bytes count as 1 */
char *co_arena_text(struct co_arena *arena, const char *text, size_t bytes); /* and a NUL */
char *co_arena_print(struct co_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void co_arena_free(struct co_arena *arena); /* NULL: nothing happens */

#endif
