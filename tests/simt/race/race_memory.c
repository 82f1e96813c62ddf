/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_memory.c - a list of chunks and a mark that moves through it.
 *
 * 1. A piece is allocated at the mark; if the chunk is too short, the mark moves to the next chunk.
 * 2. At the end of the list a chunk is added, at least as large as the piece.
 * 3. A reset moves the mark back to the start.
 * A chunk that is too short for one piece is skipped until the next reset: each piece wastes less
 * than its own size.
 */
#include "simt/race/race_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)256 << 10)
#define PIECE_ALIGN 16

struct race_chunk {
	struct race_chunk *next;
	size_t bytes; /* after this header */
};

/* The header's size as a multiple of the alignment. */
#define HEADER_BYTES ((sizeof(struct race_chunk) + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN)

static struct race_chunk *chunk_create(size_t bytes)
{
	struct race_chunk *chunk;

	if (bytes < CHUNK_BYTES)
		bytes = CHUNK_BYTES;
	chunk = malloc(HEADER_BYTES + bytes);
	if (!chunk)
		return NULL;
	chunk->next = NULL;
	chunk->bytes = bytes;
	return chunk;
}

void *race_memory_take(struct race_memory *memory, size_t bytes)
{
	struct race_chunk **link = &memory->first;
	void *piece;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
	if (!memory->now || memory->now->bytes - memory->used < bytes) {
		if (memory->now)
			link = &memory->now->next;
		while (*link && (*link)->bytes < bytes)
			link = &(*link)->next;
		if (!*link)
			*link = chunk_create(bytes);
		if (!*link)
			return NULL;
		memory->now = *link;
		memory->used = 0;
	}
	piece = (char *)memory->now + HEADER_BYTES + memory->used;
	memory->used += bytes;
	return memset(piece, 0, bytes);
}

void race_memory_reset(struct race_memory *memory)
{
	memory->now = memory->first;
	memory->used = 0;
}

void race_memory_fini(struct race_memory *memory)
{
	while (memory->first) {
		struct race_chunk *next = memory->first->next;

		free(memory->first);
		memory->first = next;
	}
	race_memory_reset(memory);
}

size_t race_memory_bytes(const struct race_memory *memory)
{
	size_t bytes = 0;

	for (const struct race_chunk *chunk = memory->first; chunk; chunk = chunk->next)
		bytes += HEADER_BYTES + chunk->bytes;
	return bytes;
}
