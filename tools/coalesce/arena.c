/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - see arena.h.
 *
 * The chunk that pieces are cut from is the first one in the list. A piece that needs a chunk of
 * its own is inserted after it, so that the rest of the first chunk is not lost.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coalesce/arena.h"

#define ALIGNMENT ((size_t)16)
#define CHUNK ((size_t)64 << 10)

struct chunk {
	struct chunk *next;
	size_t used, room; /* of the bytes after this header */
};

struct co_arena {
	struct chunk *chunks;
};

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

static char *bytes_of(struct chunk *chunk)
{
	return (char *)chunk + aligned(sizeof *chunk);
}

static struct chunk *chunk_new(size_t room)
{
	struct chunk *chunk = calloc(1, aligned(sizeof *chunk) + room);
	if (chunk)
		chunk->room = room;
	return chunk;
}

struct co_arena *co_arena_new(void)
{
	return calloc(1, sizeof(struct co_arena));
}

/* Returns a chunk with room for `bytes`, or NULL if memory ran out. */
static struct chunk *chunk_for(struct co_arena *arena, size_t bytes)
{
	struct chunk *first = arena->chunks;
	if (first && bytes <= first->room - first->used)
		return first;
	struct chunk *chunk = chunk_new(bytes > CHUNK / 4 ? bytes : CHUNK);
	if (!chunk)
		return NULL;
	if (first && chunk->room == bytes) {
		chunk->next = first->next;
		first->next = chunk;
	} else {
		chunk->next = first;
		arena->chunks = chunk;
	}
	return chunk;
}

void *co_arena_take(struct co_arena *arena, size_t bytes)
{
	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = aligned(bytes ? bytes : 1);
	struct chunk *chunk = chunk_for(arena, bytes);
	if (!chunk)
		return NULL;
	void *piece = bytes_of(chunk) + chunk->used;
	chunk->used += bytes;
	return piece;
}

char *co_arena_text(struct co_arena *arena, const char *text, size_t bytes)
{
	if (bytes == SIZE_MAX)
		return NULL;
	char *copy = co_arena_take(arena, bytes + 1);
	if (copy && bytes)
		memcpy(copy, text, bytes);
	return copy;
}

char *co_arena_print(struct co_arena *arena, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int bytes = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	char *text = bytes < 0 ? NULL : co_arena_take(arena, (size_t)bytes + 1);
	if (!text)
		return NULL;
	va_start(arguments, format);
	vsnprintf(text, (size_t)bytes + 1, format, arguments);
	va_end(arguments);
	return text;
}

void co_arena_free(struct co_arena *arena)
{
	if (!arena)
		return;
	for (struct chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(arena);
}
