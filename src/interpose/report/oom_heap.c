/* SPDX-License-Identifier: Apache-2.0 */
/* oom_heap.c - see oom_heap.h. */
#include "interpose/report/oom_heap.h"

#include <sys/mman.h>
#include <time.h>

#include "interpose/report/oom_advice.h"
#include "interpose/watch/tagged.h"

#define VISIT_NS UINT64_C(40000000)
#define CLOCK_EVERY 256u                 /* segments */
#define ALIGNED_FROM ((uint64_t)1 << 20) /* a pool aligns blocks of this size and more, to: */
#define ALIGNMENT ((uint64_t)64 << 10)

uint64_t mam_oom_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t whole_pieces(uint64_t base, uint64_t bytes)
{
	uint64_t first = (base + MAM_OOM_PIECE - 1) / MAM_OOM_PIECE;
	uint64_t end = (base + bytes) / MAM_OOM_PIECE;

	return end > first ? (end - first) * MAM_OOM_PIECE : 0;
}

struct visit {
	struct mam_oom_heap *heap;
	struct mam_oom_top *sizes;
};

/* Called under the pool's lock. */
static bool visit_segment(const struct mam_segment_info *info, void *user)
{
	struct mam_oom_heap *heap = ((struct visit *)user)->heap;
	struct mam_oom_segment segment = {
		.base = (uintptr_t)info->base,
		.bytes = info->bytes,
		.chunk = (uintptr_t)info->chunk_base,
		.state = info->live      ? MAM_OOM_LIVE
			 : info->retired ? MAM_OOM_WAITING
					 : MAM_OOM_FREE,
	};

	if (heap->seen % CLOCK_EVERY == 0 && mam_oom_now() > heap->until) {
		heap->is_whole = false;
		return false;
	}
	if (segment.state == MAM_OOM_LIVE)
		mam_oom_top_add(((struct visit *)user)->sizes, info->requested, info->bytes);
	if (segment.state == MAM_OOM_FREE)
		heap->whole_pieces += whole_pieces(segment.base, segment.bytes);
	if (segment.state == MAM_OOM_LIVE || heap->end != segment.base ||
	    heap->chunk != segment.chunk)
		heap->run = 0;
	if (segment.state != MAM_OOM_LIVE)
		heap->run += segment.bytes;
	if (heap->run > heap->largest_run)
		heap->largest_run = heap->run;
	heap->end = segment.base + segment.bytes;
	heap->chunk = segment.chunk;
	if (heap->segments != NULL && heap->kept < MAM_OOM_HEAP_MAX)
		heap->segments[heap->kept++] = segment;
	heap->seen++;
	return true;
}

void mam_oom_heap_read(struct mam_pool *pool, struct mam_oom_heap *heap, struct mam_oom_top *sizes)
{
	struct visit visit = { heap, sizes };

	*heap = (struct mam_oom_heap){ .is_whole = true, .until = mam_oom_now() + VISIT_NS };
	heap->segments = mmap(NULL, MAM_OOM_HEAP_MAX * sizeof(*heap->segments),
			      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap->segments == MAP_FAILED)
		heap->segments = NULL;
	if (mam_pool_walk(pool, visit_segment, &visit) != MAM_OK)
		heap->is_whole = false;
}

void mam_oom_heap_free(struct mam_oom_heap *heap)
{
	if (heap->segments != NULL)
		munmap(heap->segments, MAM_OOM_HEAP_MAX * sizeof(*heap->segments));
	heap->segments = NULL;
}

/* Lines that are written, or counted again in the same order for the frees. */
struct writer {
	struct mam_file_text *text;
	uint64_t place; /* where the next block will be, in the chunk of the replay */
	uint64_t id;
	uint64_t frees;
	bool is_freeing; /* the second pass */
};

/* `key` and `value` are one of mam-trace.5. */
static void put_block(struct writer *writer, uint64_t bytes, const char *key, const char *value,
		      bool is_free)
{
	writer->id++;
	writer->place += bytes;
	if (!writer->is_freeing) {
		mam_file_put(writer->text, "a %llu %llu 0 %s=%s\n", (unsigned long long)writer->id,
			     (unsigned long long)bytes, key, value);
	} else if (is_free) {
		mam_file_put(writer->text, "f %llu\n", (unsigned long long)writer->id);
		writer->frees++;
	}
}

/* The parts: up to an aligned place, as far as the size is aligned, and the rest. */
static void put_free(struct writer *writer, uint64_t bytes)
{
	uint64_t first =
		bytes < ALIGNED_FROM ? bytes : (ALIGNMENT - writer->place % ALIGNMENT) % ALIGNMENT;
	uint64_t middle = (bytes - first) / ALIGNMENT * ALIGNMENT;
	const uint64_t parts[] = { first, middle, bytes - first - middle };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i] != 0)
			put_block(writer, parts[i], "who", "free", true);
}

static void put_gap(struct writer *writer)
{
	uint64_t odd = writer->place % ALIGNMENT;

	put_block(writer, 2 * ALIGNMENT - odd, "who", "between-chunks", false);
}

/* Another thread may free the block meanwhile: it has no tag then, or that of the next one. */
static void put_live(struct writer *writer, const struct mam_oom_segment *segment)
{
	const char *tags =
		writer->is_freeing ? NULL : mam_tagged_find((const void *)(uintptr_t)segment->base);

	put_block(writer, segment->bytes, tags == NULL ? "who" : "tag",
		  tags == NULL ? "live" : tags, false);
}

static void put_segments(const struct mam_oom_heap *heap, struct writer *writer)
{
	writer->place = writer->id = 0;
	for (size_t i = 0; i < heap->kept; i++) {
		const struct mam_oom_segment *at = &heap->segments[i];

		if (i > 0 && (at->chunk != at[-1].chunk || at->base != at[-1].base + at[-1].bytes))
			put_gap(writer);
		if (at->state == MAM_OOM_FREE)
			put_free(writer, at->bytes);
		else if (at->state == MAM_OOM_LIVE)
			put_live(writer, at);
		else
			put_block(writer, at->bytes, "who", "waits-for-GPU", false);
	}
}

void mam_oom_heap_write(const struct mam_oom_heap *heap, uint64_t requested,
			struct mam_file_text *text, struct mam_oom_replay *replay)
{
	struct writer writer = { .text = text };

	put_segments(heap, &writer);
	writer.is_freeing = true;
	put_segments(heap, &writer);
	mam_file_put(text, "a %llu %llu 0 who=failed-request\n", (unsigned long long)writer.id + 1,
		     (unsigned long long)requested);
	*replay = (struct mam_oom_replay){ .chunk = writer.place,
					   .events = writer.id + writer.frees + 1 };
}
