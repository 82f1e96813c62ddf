/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects_check.h - after a run: compares the metadata of a heap of objects with the shadow of
 * objects_kit.h, which includes this file.
 *
 * okit_check() proves that each unit is free or belongs to a complete slab or run, that a slot is
 * allocated if and only if it has an owner, that no operation is left incomplete, and that each
 * NULL was counted once. The other checks do the same and more: okit_check_empty(): all objects
 * were freed. okit_check_served(): besides, no request failed. okit_check_full(): the failed
 * requests could not be served; this holds where nothing is freed after a failure.
 */
#ifndef MAM_TESTS_HEAP_OBJECTS_CHECK_H
#define MAM_TESTS_HEAP_OBJECTS_CHECK_H

#include <stdarg.h>
#include <stdio.h>

/* Formats a failure message for the reader. */
static inline const char *okit_wrong(const char *format, ...)
{
	static char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return text;
}

/* How often this was counted. */
OKIT_UNSEEN uint64_t okit_tally(const struct okit *kit, enum mam_object_tally what)
{
	return kit->heap->tallies->of[what].value;
}

OKIT_UNSEEN uint32_t okit_owner_of(const struct okit *kit, uint32_t unit)
{
	return ((const unsigned char *)kit->heap->owners)[unit];
}

OKIT_UNSEEN bool okit_taken(const struct okit *kit, uint32_t unit)
{
	return mam_pages_bits(kit->heap->units)[unit / 64] >> unit % 64 & 1;
}

/* All slots of a class: the value of the word of an empty slab. */
static inline uint64_t okit_all_slots(uint32_t class_)
{
	return ~(uint64_t)0 >> (64 - mam_class_slots(class_));
}

/* Returns whether the unit is free, or belongs to an empty slab, which may be closed. */
OKIT_UNSEEN bool okit_to_be_had(const struct okit *kit, uint32_t unit)
{
	uint32_t class_ = okit_owner_of(kit, unit), word;

	if (!okit_taken(kit, unit))
		return true;
	if (!class_ || class_ > MAM_CLASSES)
		return false;
	word = unit >> mam_class_span_shift(class_);
	return mam_metadata_words(kit->heap, class_)[word] == okit_all_slots(class_);
}

/* How many more objects of a class fit. */
OKIT_UNSEEN uint32_t okit_room(const struct okit *kit, uint32_t class_)
{
	const uint64_t *words = mam_metadata_words(kit->heap, class_);
	uint32_t word, first, i, room = 0;

	for (word = 0; word < mam_metadata_word_count(kit->heap, class_); word++) {
		first = mam_metadata_unit(class_, word);
		room += mam_popc64(words[word]);
		if (words[word])
			continue;
		for (i = 0; i < mam_class_units(class_) && okit_to_be_had(kit, first + i); i++)
			;
		room += i == mam_class_units(class_) ? mam_class_slots(class_) : 0;
	}
	return room;
}

/* The longest run of available units. */
OKIT_UNSEEN uint32_t okit_longest(const struct okit *kit)
{
	uint32_t unit, run = 0, longest = 0;

	for (unit = 0; unit < kit->blocks * MAM_BLOCK_UNITS; unit++) {
		run = okit_to_be_had(kit, unit) ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Compares a slab's units and slots with the shadow; counts its live objects. */
OKIT_UNSEEN const char *okit_check_slab(const struct okit *kit, uint32_t class_, uint32_t word,
					uint32_t *live)
{
	uint32_t first = mam_metadata_unit(class_, word), quanta = mam_class_quanta(class_), i, at;
	uint64_t slots = mam_metadata_words(kit->heap, class_)[word];

	for (i = 0; i < mam_class_units(class_); i++)
		if (!okit_taken(kit, first + i) || okit_owner_of(kit, first + i) != class_)
			return okit_wrong(
				"unit %u of the slab of class %u at unit %u has another owner",
				first + i, class_, first);
	if (slots & ~okit_all_slots(class_))
		return okit_wrong("class %u, word %u: slots past the last are free", class_, word);
	for (i = 0; i < mam_class_slots(class_); i++) {
		at = first * OKIT_UNIT_GRAINS + i * quanta;
		if ((slots >> i & 1) == !!kit->extent[at])
			return okit_wrong("class %u, word %u, slot %u: %s", class_, word, i,
					  kit->extent[at] ? "free, but has an owner"
							  : "allocated, but has no owner");
		if (kit->extent[at] && kit->extent[at] != quanta)
			return okit_wrong("class %u, word %u, slot %u has another size", class_,
					  word, i);
		*live += !!kit->extent[at];
	}
	return NULL;
}

/* Checks the units of the run that starts with this one. */
OKIT_UNSEEN const char *okit_check_run(const struct okit *kit, uint32_t unit, uint32_t n)
{
	uint32_t i;

	if (n <= MAM_CLASS_BYTES_MAX >> MAM_UNIT_SHIFT || n > kit->blocks * 64 - unit)
		return okit_wrong("a run at unit %u has %u units", unit, n);
	if (kit->extent[unit * OKIT_UNIT_GRAINS] != n * OKIT_UNIT_GRAINS)
		return okit_wrong("the run of %u units at unit %u has no owner", n, unit);
	for (i = 0; i < n; i++)
		if (!okit_taken(kit, unit + i) ||
		    (i && okit_owner_of(kit, unit + i) != MAM_OWNER_INSIDE))
			return okit_wrong(
				"unit %u of the run of %u units at unit %u has another owner",
				unit + i, n, unit);
	return NULL;
}

/* Each unit is free, or belongs to a complete slab or run; no other object is live. */
OKIT_UNSEEN const char *okit_check_units(const struct okit *kit)
{
	uint32_t unit = 0, owner, n, live = 0;
	const char *wrong;

	while (unit < kit->blocks * MAM_BLOCK_UNITS) {
		owner = okit_owner_of(kit, unit);
		n = 1;
		wrong = NULL;
		if (!okit_taken(kit, unit) && owner)
			return okit_wrong("unit %u is free, but its owner is %u", unit, owner);
		if (okit_taken(kit, unit) && !owner)
			return okit_wrong("unit %u is allocated, but has no owner", unit);
		if (owner && owner <= MAM_CLASSES) {
			if (unit % (1u << mam_class_span_shift(owner)))
				return okit_wrong("no slab of class %u can start at unit %u", unit,
						  owner);
			n = mam_class_units(owner);
			wrong = okit_check_slab(kit, owner, unit >> mam_class_span_shift(owner),
						&live);
		} else if (owner == MAM_OWNER_LONG ||
			   (owner > MAM_OWNER_RUN && owner < MAM_OWNER_MOVING)) {
			n = owner == MAM_OWNER_LONG ? kit->heap->longs[unit / MAM_BLOCK_UNITS]
						    : owner - MAM_OWNER_RUN;
			live++;
			wrong = okit_check_run(kit, unit, n);
		} else if (owner) {
			return okit_wrong("unit %u has owner %u", unit, owner);
		}
		if (wrong)
			return wrong;
		unit += n;
	}
	if (live != kit->live)
		return okit_wrong("%u objects are live, but the heap has %u", kit->live, live);
	return NULL;
}

/* A word that is not 0 belongs to a slab. */
OKIT_UNSEEN const char *okit_check_words(const struct okit *kit)
{
	uint32_t class_, word;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++)
		for (word = 0; word < mam_metadata_word_count(kit->heap, class_); word++)
			if (mam_metadata_words(kit->heap, class_)[word] &&
			    okit_owner_of(kit, mam_metadata_unit(class_, word)) != class_)
				return okit_wrong("class %u, word %u: free slots, but no slab",
						  class_, word);
	return NULL;
}

OKIT_UNSEEN const char *okit_check_tallies(const struct okit *kit)
{
	uint64_t nulls = okit_tally(kit, MAM_OBJECT_FULL) + okit_tally(kit, MAM_OBJECT_CONTENDED) +
			 okit_tally(kit, MAM_OBJECT_ZERO) + okit_tally(kit, MAM_OBJECT_TOO_LARGE);

	if (nulls != kit->failed)
		return okit_wrong("%u requests failed, but %llu were counted", kit->failed,
				  (unsigned long long)nulls);
	return kit->heap->units->open.value ? "a run is still open" : NULL;
}

static inline const char *okit_check(void *argument)
{
	const struct okit *kit = argument;
	const char *wrong = okit_check_units(kit);

	if (!wrong)
		wrong = okit_check_words(kit);
	return wrong ? wrong : okit_check_tallies(kit);
}

/* As okit_check(), and all objects were freed: units are free or belong to empty slabs. */
static inline const char *okit_check_empty(void *argument)
{
	const struct okit *kit = argument;

	if (kit->live)
		return okit_wrong("%u objects were not freed", kit->live);
	return okit_check(argument);
}

/* As okit_check_empty(), and no request failed. */
static inline const char *okit_check_served(void *argument)
{
	const struct okit *kit = argument;

	if (kit->failed)
		return okit_wrong("%u requests failed", kit->failed);
	return okit_check_empty(argument);
}

/* As okit_check(), and at least one request failed, none of which could be served now. */
static inline const char *okit_check_full(void *argument)
{
	const struct okit *kit = argument;
	uint32_t class_;

	if (!kit->failed)
		return "no request failed";
	for (class_ = 1; class_ <= MAM_CLASSES; class_++)
		if (kit->refused[class_] && okit_room(kit, class_))
			return okit_wrong("%u bytes failed with room for %u such objects",
					  mam_class_bytes(class_), okit_room(kit, class_));
	if (kit->refused_units && okit_longest(kit) >= kit->refused_units)
		return okit_wrong("a run of %u units failed with %u available in a row",
				  kit->refused_units, okit_longest(kit));
	return okit_check(argument);
}

#endif
