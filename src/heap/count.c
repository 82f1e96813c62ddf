/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.c - a heap's statistics: its books, copied to the host and counted there.
 *
 * The header in one copy, the bitmap in pieces, so that a heap of any size is read with little host
 * memory. Each piece is waited for before the next one takes its place.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/grant.h"

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

static void read_bitmap(const struct mam_heap *heap, struct mam_reach_visit *visit,
			uint64_t *piece, struct tally *tally)
{
	uintptr_t at = mam_grant_books(heap) + sizeof(struct mam_pages);
	size_t left = mam_layout_words(heap->pages);

	while (left != 0 && visit->answer.result == MAM_DRIVER_SUCCESS) {
		size_t words = left < PIECE_WORDS ? left : PIECE_WORDS;

		mam_reach_read(visit, piece, at, words * sizeof(*piece));
		mam_reach_wait(visit);
		for (size_t i = 0; i < words; i++)
			count_word(tally, piece[i]);
		at += words * sizeof(*piece);
		left -= words;
	}
}

static enum mam_status read_all(const struct mam_heap *heap, struct CUstream_st *stream,
				struct mam_pages *books, struct tally *tally)
{
	size_t words = mam_layout_words(heap->pages);
	struct mam_reach_visit visit;
	enum mam_status status;
	uint64_t *piece;

	piece = calloc(words < PIECE_WORDS ? words : PIECE_WORDS, sizeof(*piece));
	if (!piece)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = mam_reach_begin(&heap->reach, stream, true, &visit);
	if (status == MAM_OK) {
		mam_reach_read(&visit, books, mam_grant_books(heap), sizeof(*books));
		read_bitmap(heap, &visit, piece, tally);
		status = mam_reach_end(&visit);
	}
	free(piece);
	return status;
}

enum mam_status mam_heap_stats(struct mam_heap *heap, struct CUstream_st *stream,
			       struct mam_heap_info *stats)
{
	struct mam_heap_info full;
	struct tally tally = { 0 };
	struct mam_pages books;
	enum mam_status status;
	size_t size;

	if (!heap || !stats || stats->size < sizeof(stats->size))
		return MAM_ERROR_INVALID_VALUE;
	if (!mam_grant_alive(heap))
		return MAM_ERROR_DESTROYED;
	size = stats->size;
	status = read_all(heap, stream, &books, &tally);
	if (status != MAM_OK)
		return status;
	full = (struct mam_heap_info){
		.size = size,
		.ground_bytes = heap->ground_bytes,
		.page_bytes = (uint64_t)1 << heap->shift,
		.pages = heap->pages,
		.taken = heap->pages - tally.free,
		.free = tally.free,
		.longest_free = tally.longest,
		.full = books.tally[MAM_TALLY_FULL],
		.no_run = books.tally[MAM_TALLY_NO_RUN],
		.contended = books.tally[MAM_TALLY_CONTENDED],
		.bad_sizes = books.tally[MAM_TALLY_BAD_SIZE],
		.double_frees = books.tally[MAM_TALLY_TWICE],
		.foreign_frees = books.tally[MAM_TALLY_FOREIGN],
	};
	/* A caller newer than this library: what we do not know is 0. */
	memset(stats, 0, size);
	memcpy(stats, &full, size < sizeof(full) ? size : sizeof(full));
	return MAM_OK;
}
