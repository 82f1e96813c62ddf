/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.c - a heap's statistics: its books, copied to the host and counted there.
 *
 * The header in one copy, the bitmap in pieces, so that a heap of any size is read with little host
 * memory. Each piece is waited for before the next one takes its place. Of objects the bitmap is
 * that of the units; then come the tallies and what stands on the units (survey.h).
 */
#include <stdlib.h>
#include <string.h>

#include "heap/survey.h"

_Static_assert(MAM_HEAP_CLASSES == MAM_CLASSES, "one row for each class");
_Static_assert(MAM_HEAP_RETURNS == MAM_RETURNS, "as many as the ring holds");

#define PIECE_WORDS ((size_t)1 << 16)

/* The run of free pages that reaches from word to word. */
struct tally {
	uint64_t free;    /* pages */
	uint64_t run;     /* free pages just before the next word */
	uint64_t longest; /* free pages in a row */
};

static void count_run(struct tally *tally, uint64_t pages)
{
	tally->run += pages;
	if (tally->run > tally->longest)
		tally->longest = tally->run;
}

/* Stretches of free and of taken pages, from the lowest bit up. */
static void count_word(struct tally *tally, uint64_t taken)
{
	unsigned int at = 0, length;

	tally->free += 64 - (unsigned int)__builtin_popcountll(taken);
	while (at < 64) {
		uint64_t rest = taken >> at;

		if (rest & 1) {
			length = rest == UINT64_MAX ? 64 : (unsigned int)__builtin_ctzll(~rest);
			tally->run = 0;
		} else {
			length = rest == 0 ? 64 - at : (unsigned int)__builtin_ctzll(rest);
			count_run(tally, length);
		}
		at += length;
	}
}

/* The bitmap, its header, and how many pages it has. */
struct map {
	uintptr_t at;
	uint32_t pages;
};

static struct map map_of(const struct mam_heap *heap)
{
	if (heap->blocks == 0)
		return (struct map){ mam_grant_books(heap), heap->pages };
	return (struct map){ mam_grant_head(heap) + mam_grant_plan(heap).units,
			     heap->blocks * MAM_BLOCK_UNITS };
}

static void read_bitmap(const struct map *map, struct mam_reach_visit *visit, uint64_t *piece,
			struct tally *tally)
{
	uintptr_t at = map->at + sizeof(struct mam_pages);
	size_t left = mam_layout_words(map->pages);

	while (left != 0 && mam_reach_good(visit)) {
		size_t words = left < PIECE_WORDS ? left : PIECE_WORDS;

		mam_reach_read(visit, piece, at, words * sizeof(*piece));
		mam_reach_wait(visit);
		for (size_t i = 0; i < words; i++)
			count_word(tally, piece[i]);
		at += words * sizeof(*piece);
		left -= words;
	}
}

/* A copy that failed leaves anything: what was counted is shown to nobody then. */
static enum mam_status read_pages(const struct mam_heap *heap, struct CUstream_st *stream,
				  struct mam_heap_info *info)
{
	const struct map map = map_of(heap);
	const size_t words = mam_layout_words(map.pages);
	struct tally tally = { 0 };
	struct mam_reach_visit visit;
	struct mam_pages books;
	enum mam_status status;
	uint64_t *piece;

	piece = calloc(words < PIECE_WORDS ? words : PIECE_WORDS, sizeof(*piece));
	if (!piece)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = mam_reach_begin(&heap->reach, stream, true, &visit);
	if (status == MAM_OK) {
		memset(&books, 0, sizeof(books));
		mam_reach_read(&visit, &books, map.at, sizeof(books));
		read_bitmap(&map, &visit, piece, &tally);
		status = mam_reach_end(&visit);
	}
	free(piece);
	if (status != MAM_OK)
		return status;
	info->pages = map.pages;
	info->taken = map.pages - tally.free;
	info->free = tally.free;
	info->longest_free = tally.longest;
	info->full = books.tally[MAM_TALLY_FULL];
	info->no_run = books.tally[MAM_TALLY_NO_RUN];
	info->contended = books.tally[MAM_TALLY_CONTENDED];
	info->bad_sizes = books.tally[MAM_TALLY_BAD_SIZE];
	info->double_frees = books.tally[MAM_TALLY_TWICE];
	info->foreign_frees = books.tally[MAM_TALLY_FOREIGN];
	info->wrong_heaps = books.tally[MAM_TALLY_WRONG];
	return MAM_OK;
}

static void count_item(struct mam_heap_info *info, const struct mam_survey_item *item)
{
	const uint64_t live = (unsigned int)__builtin_popcountll(item->live);
	struct mam_heap_class *class_;

	if (item->class_ == 0) {
		info->large_objects++;
		info->large_bytes += (uint64_t)item->units << MAM_UNIT_SHIFT;
		return;
	}
	class_ = &info->classes[item->class_ - 1];
	class_->objects += live;
	class_->slabs++;
	class_->idle += live == 0;
}

/* What the classes have together. */
static void add_up(struct mam_heap_info *info)
{
	info->objects = info->large_objects;
	info->object_bytes = info->large_bytes;
	for (uint32_t i = 0; i < MAM_CLASSES; i++) {
		struct mam_heap_class *class_ = &info->classes[i];

		class_->bytes = mam_class_bytes(i + 1);
		info->objects += class_->objects;
		info->object_bytes += class_->objects * class_->bytes;
		info->slabs += class_->slabs;
		info->idle_slabs += class_->idle;
	}
}

static void tell(struct mam_heap_info *info, const struct mam_tallies *tallies)
{
#define OF(kind) tallies->of[MAM_OBJECT_##kind].value
	info->full = OF(FULL);
	info->no_run = 0;
	info->contended = OF(CONTENDED);
	info->bad_sizes = OF(TOO_LARGE);
	info->double_frees = OF(TWICE);
	info->foreign_frees = OF(FOREIGN);
	info->zero_sizes = OF(ZERO);
	info->interior_frees = OF(INTERIOR);
#undef OF
}

static void tell_steps(struct mam_heap_info *info, const struct mam_steps *steps, uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++) {
		info->searches += steps[i].searches;
		info->looks += steps[i].looks;
		info->passes += steps[i].passes;
	}
}

/* Each slab that was opened stands or was closed. */
static void tell_slabs(struct mam_heap_info *info, const uint32_t *closes, uint32_t blocks)
{
	for (uint32_t i = 0; i < blocks; i++)
		info->closed += closes[i];
	info->opened = info->closed + info->slabs;
}

/* Counts, of which each is where the books have it. */
struct counts {
	struct mam_tallies tallies;
	uint64_t pages[2 * MAM_PAGES_LINE / 8]; /* of calls for pages, of which it has none */
	uint64_t told, taken; /* of what the host gave back */
	struct mam_steps *steps;
	uint32_t *closes; /* of each block */
};

static void read_counts(const struct mam_heap *heap, struct mam_reach_visit *visit,
			struct counts *counts)
{
	const struct mam_books_plan plan = mam_grant_plan(heap);
	const uintptr_t head = mam_grant_head(heap), returns = head + plan.returns;

	mam_reach_read(visit, &counts->tallies, head + plan.tallies, sizeof(counts->tallies));
	mam_reach_read(visit, counts->pages,
		       mam_grant_books(heap) + offsetof(struct mam_pages, tally),
		       sizeof(counts->pages));
	mam_reach_read(visit, &counts->taken, returns + offsetof(struct mam_returns, taken),
		       sizeof(counts->taken));
	mam_reach_read(visit, &counts->told, returns + offsetof(struct mam_returns, told),
		       sizeof(counts->told));
	mam_reach_read(visit, counts->steps, head + plan.steps,
		       heap->columns * sizeof(*counts->steps));
	mam_reach_read(visit, counts->closes, head + plan.closes,
		       heap->blocks * sizeof(*counts->closes));
}

static enum mam_status read_objects(const struct mam_heap *heap, struct CUstream_st *stream,
				    struct mam_survey *survey, struct counts *counts,
				    struct mam_heap_info *info)
{
	struct mam_survey_item item;
	struct mam_reach_visit visit;
	enum mam_status status;
	uint64_t standing = 0;

	status = mam_reach_begin(&heap->reach, stream, true, &visit);
	if (status != MAM_OK)
		return status;
	read_counts(heap, &visit, counts);
	while (mam_survey_read(survey, &visit))
		while (mam_survey_next(survey, &item)) {
			standing += item.units;
			count_item(info, &item);
		}
	status = mam_reach_end(&visit);
	if (status != MAM_OK)
		return status;
	add_up(info);
	tell(info, &counts->tallies);
	for (unsigned int kind = 0; kind < MAM_TALLIES; kind++)
		info->wrong_heaps += counts->pages[kind];
	tell_steps(info, counts->steps, heap->columns);
	tell_slabs(info, counts->closes, heap->blocks);
	info->returned = counts->told - counts->taken;
	/* Kernels may have gone on between the two readings. */
	info->moving = info->taken > standing ? info->taken - standing : 0;
	return MAM_OK;
}

static enum mam_status count_objects(const struct mam_heap *heap, struct CUstream_st *stream,
				     struct mam_heap_info *info)
{
	struct mam_survey survey;
	struct counts counts = { 0 };
	enum mam_status status = MAM_ERROR_OUT_OF_HOST_MEMORY;

	counts.steps = calloc(heap->columns, sizeof(*counts.steps));
	counts.closes = calloc(heap->blocks, sizeof(*counts.closes));
	if (counts.steps && counts.closes)
		status = mam_survey_init(&survey, heap);
	if (status == MAM_OK) {
		status = read_objects(heap, stream, &survey, &counts, info);
		mam_survey_fini(&survey);
	}
	free(counts.closes);
	free(counts.steps);
	return status;
}

enum mam_status mam_heap_stats(struct mam_heap *heap, struct CUstream_st *stream,
			       struct mam_heap_info *stats)
{
	struct mam_heap_info full = { 0 };
	enum mam_status status;
	size_t size;

	if (!heap || !stats || stats->size < sizeof(stats->size))
		return MAM_ERROR_INVALID_VALUE;
	if (!mam_grant_alive(heap))
		return MAM_ERROR_DESTROYED;
	size = stats->size;
	full.size = size;
	full.ground_bytes = heap->ground_bytes;
	full.page_bytes = (uint64_t)1 << heap->shift;
	status = read_pages(heap, stream, &full);
	if (status == MAM_OK && heap->blocks != 0)
		status = count_objects(heap, stream, &full);
	if (status != MAM_OK)
		return status;
	/* A caller newer than this library: what we do not know is 0. */
	memset(stats, 0, size);
	memcpy(stats, &full, size < sizeof(full) ? size : sizeof(full));
	return MAM_OK;
}
