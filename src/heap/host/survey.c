/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.c - survey.h: reads owners, the relevant words, owners again and units.
 */
#include "heap/host/survey.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BLOCKS 1024u

enum mam_status mam_survey_init(struct mam_survey *survey, const struct mam_plot *plot)
{
	const size_t blocks = plot->blocks < PIECE_BLOCKS ? plot->blocks : PIECE_BLOCKS;

	*survey = (struct mam_survey){ .plot = *plot };
	survey->owners = calloc(blocks, MAM_BLOCK_UNITS);
	survey->before = calloc(blocks, MAM_BLOCK_UNITS);
	survey->longs = calloc(blocks, sizeof(*survey->longs));
	survey->taken = calloc(blocks, sizeof(*survey->taken));
	survey->words = calloc(blocks * MAM_BLOCK_WORDS, sizeof(*survey->words));
	if (survey->owners && survey->before && survey->longs && survey->taken && survey->words)
		return MAM_OK;
	mam_survey_fini(survey);
	return MAM_ERROR_OUT_OF_HOST_MEMORY;
}

void mam_survey_fini(struct mam_survey *survey)
{
	free(survey->owners);
	free(survey->before);
	free(survey->longs);
	free(survey->taken);
	free(survey->words);
}

/* No other unit of a group is at such a position of its slab. */
static bool begins_group(uint32_t owner, uint32_t unit)
{
	const uint32_t at =
		owner == 0 || owner > MAM_CLASSES ? 0 : unit % (1u << mam_class_span_shift(owner));

	return owner != 0 && owner <= MAM_CLASSES && at < mam_class_units(owner) &&
	       at % mam_class_group_units(owner) == 0;
}

/* The next unit with an owner, starting at `unit`: eight units without one are one step. */
static uint32_t next_said(const unsigned char *owners, uint32_t unit, uint32_t units)
{
	uint64_t eight;

	for (; unit % 8 == 0 && unit < units; unit += 8) {
		memcpy(&eight, owners + unit, sizeof(eight));
		if (eight != 0)
			break;
	}
	return unit;
}

/* The storage of the piece's share of a class's words. */
static uint64_t *words_of(const struct mam_survey *survey, uint32_t class_)
{
	return survey->words + (size_t)mam_class_words_before(class_) * survey->blocks;
}

/* The range of relevant words of each class. */
struct reach_of {
	uint32_t from, to;
};

static void find_words(const struct mam_survey *survey, struct reach_of *ranges)
{
	const uint32_t units = survey->blocks * MAM_BLOCK_UNITS;
	uint32_t unit = next_said(survey->before, 0, units), owner, word;

	for (; unit < units; unit = next_said(survey->before, unit + 1, units)) {
		owner = survey->before[unit];
		if (!begins_group(owner, unit))
			continue;
		word = unit >> mam_class_span_shift(owner);
		if (ranges[owner].to == 0)
			ranges[owner].from = word;
		ranges[owner].to = word + 1;
	}
}

static void read_words(const struct mam_survey *survey, struct mam_copy_visit *visit)
{
	const uintptr_t words =
		mam_plot_head(&survey->plot) + mam_plot_metadata(&survey->plot).words;
	struct reach_of ranges[MAM_CLASSES + 1] = { 0 };
	uint64_t first;

	find_words(survey, ranges);
	for (uint32_t class_ = 1; class_ <= MAM_CLASSES; class_++) {
		const struct reach_of range = ranges[class_];

		if (range.to == 0)
			continue;
		first = (uint64_t)mam_class_words_before(class_) * survey->plot.blocks +
			(uint64_t)mam_class_words(class_) * survey->block;
		mam_copy_read(visit, words_of(survey, class_) + range.from,
			      words + (first + range.from) * sizeof(*survey->words),
			      (range.to - range.from) * sizeof(*survey->words));
	}
}

bool mam_survey_read(struct mam_survey *survey, struct mam_copy_visit *visit)
{
	const uintptr_t head = mam_plot_head(&survey->plot);
	const struct mam_metadata_plan plan = mam_plot_metadata(&survey->plot);
	uintptr_t owners;
	uint32_t left;

	survey->block += survey->blocks;
	left = survey->plot.blocks - survey->block;
	survey->blocks = left < PIECE_BLOCKS ? left : PIECE_BLOCKS;
	survey->unit = 0;
	if (left == 0)
		return false;
	owners = head + plan.owners + (size_t)survey->block * MAM_BLOCK_UNITS;
	mam_copy_read(visit, survey->before, owners, (size_t)survey->blocks * MAM_BLOCK_UNITS);
	mam_copy_read(visit, survey->longs,
		      head + plan.longs + survey->block * sizeof(*survey->longs),
		      survey->blocks * sizeof(*survey->longs));
	mam_copy_wait(visit);
	read_words(survey, visit);
	mam_copy_read(visit, survey->owners, owners, (size_t)survey->blocks * MAM_BLOCK_UNITS);
	mam_copy_read(visit, survey->taken,
		      head + plan.units + sizeof(struct mam_pages) +
			      survey->block * sizeof(*survey->taken),
		      survey->blocks * sizeof(*survey->taken));
	mam_copy_wait(visit);
	return mam_copy_good(visit);
}

/* The group of a class that starts at the piece's unit. */
static void describe_group(const struct mam_survey *survey, uint32_t unit, uint32_t class_,
			   struct mam_survey_item *item)
{
	const uint32_t span = mam_class_span_shift(class_), each = mam_class_group_units(class_);
	const uint32_t at = unit % (1u << span), left = mam_class_units(class_) - at;
	const uint32_t slots = mam_class_slots(class_),
		       first = at / each << mam_class_group_shift(class_);
	const uint32_t full = 1u << mam_class_group_shift(class_);
	const uint32_t count = slots - first < full ? slots - first : full;

	item->class_ = class_;
	item->units = left < each ? left : each;
	item->slab -= at;
	item->live = ~words_of(survey, class_)[unit >> span] & ~(uint64_t)0 >> (64 - count)
										       << first;
}

/* The item with this owner at the piece's unit; units of 0: none. */
static struct mam_survey_item item_at(const struct mam_survey *survey, uint32_t unit,
				      uint32_t owner)
{
	const uint32_t all = survey->plot.blocks * MAM_BLOCK_UNITS;
	struct mam_survey_item item = { .unit = survey->block * MAM_BLOCK_UNITS + unit, .live = 1 };

	item.slab = item.unit;
	if (begins_group(owner, unit)) {
		describe_group(survey, unit, owner, &item);
	} else if (owner > MAM_CLASSES && owner < MAM_OWNER_MOVING) {
		item.units = owner - MAM_OWNER_RUN;
	} else if (owner > MAM_OWNER_FEW && owner <= MAM_OWNER_FEW + MAM_FEW_UNITS) {
		item.units = owner - MAM_OWNER_FEW;
	} else if (owner == MAM_OWNER_LONG) {
		item.units = survey->longs[unit / MAM_BLOCK_UNITS];
	}
	if (item.units > all - item.unit)
		item.units = 0;
	return item;
}

bool mam_survey_next(struct mam_survey *survey, struct mam_survey_item *item)
{
	const uint32_t units = survey->blocks * MAM_BLOCK_UNITS;
	uint32_t unit, owner;

	while ((unit = next_said(survey->owners, survey->unit, units)) < units) {
		survey->unit = unit + 1;
		owner = survey->owners[unit];
		if (owner != survey->before[unit])
			continue;
		*item = item_at(survey, unit, owner);
		if (item->units != 0)
			return true;
	}
	return false;
}
