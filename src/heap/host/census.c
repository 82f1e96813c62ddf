/* SPDX-License-Identifier: Apache-2.0 */
/*
 * census.c - census.h: pieces of bitmap, items of a survey, and the counts besides them.
 */
#include "heap/host/census.h"

#include <stdlib.h>
#include <string.h>

#include "heap/host/room.h"
#include "heap/host/survey.h"

_Static_assert(MAM_HEAP_CLASSES == MAM_CLASSES, "one row for each class");
_Static_assert(MAM_HEAP_RETURNS == MAM_RETURNS, "as many as the ring holds");
_Static_assert(offsetof(struct mam_heap_info, reachable) ==
		       sizeof(struct mam_heap_info) - MAM_HEAP_REACHABLE * sizeof(uint64_t),
	       "numbers up to the last field");

#define PIECE_WORDS ((size_t)1 << 16)

/* The run of free pages that reaches from word to word. */
struct tally {
	uint64_t free;    /* pages */
	uint64_t run;     /* free pages just before the next word */
	uint64_t longest; /* consecutive free pages */
};

static void count_run(struct tally *tally, uint64_t pages)
{
	tally->run += pages;
	if (tally->run > tally->longest)
		tally->longest = tally->run;
}

/* Stretches of free and of allocated pages, starting at the lowest bit. */
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

static void read_bitmap(uintptr_t at, size_t left, struct mam_copy_visit *visit, uint64_t *piece,
			struct tally *tally)
{
	while (left != 0 && mam_copy_good(visit)) {
		size_t words = left < PIECE_WORDS ? left : PIECE_WORDS;

		mam_copy_read(visit, piece, at, words * sizeof(*piece));
		mam_copy_wait(visit);
		for (size_t i = 0; i < words; i++)
			count_word(tally, piece[i]);
		at += words * sizeof(*piece);
		left -= words;
	}
}

/* A failed copy leaves undefined content: the counts are discarded then. */
enum mam_status mam_census_pages(const struct mam_copy *reach, struct CUstream_st *stream,
				 uintptr_t at, uint32_t pages, struct mam_heap_info *info)
{
	const size_t words = mam_layout_words(pages);
	struct tally tally = { 0 };
	struct mam_copy_visit visit;
	struct mam_pages metadata;
	enum mam_status status;
	uint64_t *piece;

	piece = calloc(words < PIECE_WORDS ? words : PIECE_WORDS, sizeof(*piece));
	if (!piece)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = mam_copy_begin(reach, stream, true, &visit);
	if (status == MAM_OK) {
		memset(&metadata, 0, sizeof(metadata));
		mam_copy_read(&visit, &metadata, at, sizeof(metadata));
		read_bitmap(at + sizeof(metadata), words, &visit, piece, &tally);
		status = mam_copy_end(&visit);
	}
	free(piece);
	if (status != MAM_OK)
		return status;
	info->pages = pages;
	info->taken = pages - tally.free;
	info->free = tally.free;
	info->longest_free = tally.longest;
	info->full = metadata.tally[MAM_TALLY_FULL];
	info->no_run = metadata.tally[MAM_TALLY_NO_RUN];
	info->contended = metadata.tally[MAM_TALLY_CONTENDED];
	info->bad_sizes = metadata.tally[MAM_TALLY_BAD_SIZE];
	info->double_frees = metadata.tally[MAM_TALLY_TWICE];
	info->foreign_frees = metadata.tally[MAM_TALLY_FOREIGN];
	info->wrong_heaps = metadata.tally[MAM_TALLY_WRONG];
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

static void count_slabs(struct mam_heap_info *info)
{
	for (uint32_t i = 0; i < MAM_CLASSES; i++) {
		info->slabs += info->classes[i].slabs;
		info->idle_slabs += info->classes[i].idle;
	}
}

void mam_census_finish(struct mam_heap_info *sum)
{
	sum->objects = sum->large_objects;
	sum->object_bytes = sum->large_bytes;
	for (uint32_t i = 0; i < MAM_CLASSES; i++) {
		struct mam_heap_class *class_ = &sum->classes[i];

		class_->bytes = mam_class_bytes(i + 1);
		sum->objects += class_->objects;
		sum->object_bytes += class_->objects * class_->bytes;
	}
}

static void copy_tallies(struct mam_heap_info *info, const struct mam_tallies *tallies)
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
	info->at_limit = OF(AT_LIMIT);
	info->pool_full = OF(POOL_FULL);
	info->silent = OF(SILENT);
	info->no_slot = OF(NO_SLOT);
	info->refused = OF(REFUSED);
#undef OF
}

static void report_steps(struct mam_heap_info *info, const struct mam_steps *steps, uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++) {
		info->searches += steps[i].searches;
		info->looks += steps[i].looks;
		info->passes += steps[i].passes;
	}
}

/* Each group that was opened is still open or was closed. */
static void report_slabs(struct mam_heap_info *info, const uint32_t *closes, uint32_t blocks)
{
	for (uint32_t i = 0; i < blocks; i++)
		info->closed += closes[i];
	info->opened = info->closed + info->slabs;
}

/* Counts, each from its place in the metadata. */
struct counts {
	struct mam_tallies tallies;
	uint64_t pages[2 * MAM_PAGES_LINE / 8]; /* of calls for pages, of which it has none */
	uint64_t told, taken;                   /* of objects that the host freed */
	struct mam_steps *steps;
	uint32_t *closes; /* of each block */
};

static void read_counts(const struct mam_plot *plot, struct mam_copy_visit *visit,
			struct counts *counts)
{
	const struct mam_metadata_plan plan = mam_plot_metadata(plot);
	const uintptr_t head = mam_plot_head(plot), returns = head + plan.returns;
	const uintptr_t pages = head + sizeof(struct mam_kheap);

	mam_copy_read(visit, &counts->tallies, head + plan.tallies, sizeof(counts->tallies));
	mam_copy_read(visit, counts->pages, pages + offsetof(struct mam_pages, tally),
		      sizeof(counts->pages));
	mam_copy_read(visit, &counts->taken, returns + offsetof(struct mam_returns, taken),
		      sizeof(counts->taken));
	mam_copy_read(visit, &counts->told, returns + offsetof(struct mam_returns, told),
		      sizeof(counts->told));
	mam_copy_read(visit, counts->steps, head + plan.steps,
		      plot->columns * sizeof(*counts->steps));
	mam_copy_read(visit, counts->closes, head + plan.closes,
		      plot->blocks * sizeof(*counts->closes));
}

/* Makes the units of an idle group available, in the piece that was read. */
static void free_idle(struct mam_survey *survey, const struct mam_survey_item *item)
{
	const uint32_t unit = item->unit - survey->block * MAM_BLOCK_UNITS;

	if (item->class_ != 0 && item->live == 0)
		survey->taken[unit / MAM_BLOCK_UNITS] &=
			~(UINT64_MAX >> (MAM_BLOCK_UNITS - item->units) << unit % MAM_BLOCK_UNITS);
}

static enum mam_status read_objects(const struct mam_copy *reach, struct CUstream_st *stream,
				    struct mam_survey *survey, struct counts *counts,
				    struct mam_heap_info *info)
{
	struct mam_survey_item item;
	struct mam_copy_visit visit;
	enum mam_status status;
	struct mam_room room = { 0 };
	uint64_t standing = 0;

	status = mam_copy_begin(reach, stream, true, &visit);
	if (status != MAM_OK)
		return status;
	read_counts(&survey->plot, &visit, counts);
	while (mam_survey_read(survey, &visit)) {
		while (mam_survey_next(survey, &item)) {
			standing += item.units;
			count_item(info, &item);
			free_idle(survey, &item);
		}
		for (uint32_t i = 0; i < survey->blocks; i++)
			mam_room_add(&room, ~survey->taken[i]);
	}
	status = mam_copy_end(&visit);
	if (status != MAM_OK)
		return status;
	mam_room_finish(&room, info);
	count_slabs(info);
	copy_tallies(info, &counts->tallies);
	for (unsigned int kind = 0; kind < MAM_TALLIES; kind++)
		info->wrong_heaps += counts->pages[kind];
	report_steps(info, counts->steps, survey->plot.columns);
	report_slabs(info, counts->closes, survey->plot.blocks);
	info->returned = counts->told - counts->taken;
	/* Kernels may have continued between the two readings. */
	info->moving = info->taken > standing ? info->taken - standing : 0;
	return MAM_OK;
}

static enum mam_status count_objects(const struct mam_copy *reach, struct CUstream_st *stream,
				     const struct mam_plot *plot, struct mam_heap_info *info)
{
	struct mam_survey survey;
	struct counts counts = { 0 };
	enum mam_status status = MAM_ERROR_OUT_OF_HOST_MEMORY;

	counts.steps = calloc(plot->columns, sizeof(*counts.steps));
	counts.closes = calloc(plot->blocks, sizeof(*counts.closes));
	if (counts.steps && counts.closes)
		status = mam_survey_init(&survey, plot);
	if (status == MAM_OK) {
		status = read_objects(reach, stream, &survey, &counts, info);
		mam_survey_fini(&survey);
	}
	free(counts.closes);
	free(counts.steps);
	return status;
}

enum mam_status mam_census_plot(const struct mam_copy *reach, struct CUstream_st *stream,
				const struct mam_plot *plot, struct mam_heap_info *info)
{
	const uintptr_t units = mam_plot_head(plot) + mam_plot_metadata(plot).units;
	enum mam_status status;

	status = mam_census_pages(reach, stream, units, plot->blocks * MAM_BLOCK_UNITS, info);
	return status == MAM_OK ? count_objects(reach, stream, plot, info) : status;
}

void mam_census_add(struct mam_heap_info *sum, const struct mam_heap_info *one)
{
	const uint64_t *from = (const uint64_t *)(const void *)one;
	uint64_t *to = (uint64_t *)(void *)sum;
	uint64_t longest = one->longest_free;

	if (longest < sum->longest_free)
		longest = sum->longest_free;
	for (size_t i = offsetof(struct mam_heap_info, pages) / sizeof(*to);
	     i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
	sum->longest_free = longest;
}

void mam_census_gone(struct mam_heap_info *sum, const struct mam_heap_info *one)
{
	const struct mam_heap_info happened = {
		.full = one->full,
		.contended = one->contended,
		.bad_sizes = one->bad_sizes,
		.double_frees = one->double_frees,
		.foreign_frees = one->foreign_frees,
		.wrong_heaps = one->wrong_heaps,
		.zero_sizes = one->zero_sizes,
		.interior_frees = one->interior_frees,
		.searches = one->searches,
		.looks = one->looks,
		.opened = one->opened,
		.closed = one->opened, /* including the groups that are still open */
		.passes = one->passes,
		.at_limit = one->at_limit,
		.pool_full = one->pool_full,
		.silent = one->silent,
		.no_slot = one->no_slot,
		.refused = one->refused,
	};

	mam_census_add(sum, &happened);
}
