/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_list.c - see heap_list.h.
 *
 * The copy is in pages of its own, not from malloc(): a thread of the program may hold a lock of its
 * allocator while it waits for the pool.
 */
#define _GNU_SOURCE /* mremap */
#include "interpose/control/heap_list.h"

#include <sys/mman.h>

#include <mam/mam.h>
#include <mam/source.h>

#include "interpose/memory/pools.h"
#include "interpose/process/file.h"
#include "interpose/process/stack.h"
#include "interpose/watch/leaks.h"
#include "interpose/watch/tagged.h"

#define ROOM_FIRST ((size_t)1 << 12)

struct copy {
	struct mam_heap_list_block *blocks;
	size_t count, room;
	bool is_short; /* there was no memory */
};

static bool has_room(struct copy *copy)
{
	size_t room = copy->room == 0 ? ROOM_FIRST : 2 * copy->room;
	void *wider;

	if (copy->count < copy->room)
		return true;
	wider = copy->room == 0
			? mmap(NULL, room * sizeof(struct mam_heap_list_block),
			       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
			: mremap(copy->blocks, copy->room * sizeof(struct mam_heap_list_block),
				 room * sizeof(struct mam_heap_list_block), MREMAP_MAYMOVE);
	if (wider == MAP_FAILED)
		return false;
	copy->blocks = (struct mam_heap_list_block *)wider;
	copy->room = room;
	return true;
}

/* Free space is skipped, except at the start of a chunk. */
static bool visit(const struct mam_segment_info *segment, void *user)
{
	struct copy *copy = (struct copy *)user;
	bool is_used = segment->live || segment->retired;

	if (!is_used && segment->base != segment->chunk_base)
		return true;
	if (!has_room(copy)) {
		copy->is_short = true;
		return false;
	}
	copy->blocks[copy->count++] = (struct mam_heap_list_block){
		.base = (uintptr_t)segment->base,
		.chunk = (uintptr_t)segment->chunk_base,
		.bytes = is_used ? segment->bytes : 0,
		.requested = segment->requested,
		.chunk_bytes = segment->chunk_bytes,
	};
	return true;
}

/*
 * The tags of a block, or its call site. Another thread may free the block meanwhile: it has none
 * then, or those of the next one.
 */
static const char *origin_of(const struct mam_heap_list_block *block)
{
	const void *base = (const void *)block->base;
	const char *tags = block->requested == 0 ? "" : mam_tagged_find(base);
	const struct mam_stack *stack;

	if (tags != NULL)
		return tags;
	stack = mam_leaks_find(base);
	return stack == NULL ? "" : mam_stack_name(stack);
}

static void put_block(struct mam_file_text *text, const struct mam_heap_list_block *block)
{
	const char *origin = origin_of(block);

	mam_file_put(text, "block %llu %zu %zu%s%s\n", (unsigned long long)block->base,
		     block->bytes, block->requested, origin[0] == '\0' ? "" : " ", origin);
}

static void put_pool(const struct mam_pools_entry *entry, const struct mam_heap_list_block *blocks,
		     size_t count, void *user)
{
	struct mam_file_text *text = user;
	const struct mam_source *source = entry->source;
	int device = entry->device < 0 ? 0 : entry->device;
	uintptr_t chunk = 0;

	for (size_t i = 0; i < count && text->error == 0; i++) {
		const struct mam_heap_list_block *block = &blocks[i];

		if (i == 0 || block->chunk != chunk)
			mam_file_put(text, "chunk %d %s %llu %zu\n", device,
				     source == NULL ? "unknown" : source->properties.name,
				     (unsigned long long)block->chunk, block->chunk_bytes);
		chunk = block->chunk;
		if (block->bytes != 0)
			put_block(text, block);
	}
}

bool mam_heap_list_visit(void (*use)(const struct mam_pools_entry *entry,
				     const struct mam_heap_list_block *blocks, size_t count,
				     void *user),
			 void *user)
{
	struct mam_pools_entry *entry;
	struct copy copy = { .room = 0 };

	for (unsigned int at = 0; (entry = mam_pools_next(&at)) != NULL && !copy.is_short;) {
		copy.count = 0;
		if (mam_pool_walk(entry->pool, visit, &copy) == MAM_OK && !copy.is_short)
			use(entry, copy.blocks, copy.count, user);
	}
	if (copy.room != 0)
		munmap(copy.blocks, copy.room * sizeof(*copy.blocks));
	return !copy.is_short;
}

bool mam_heap_list_put(struct mam_file_text *text)
{
	return mam_heap_list_visit(put_pool, text);
}
