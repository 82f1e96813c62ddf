/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects_check.h - after a run: compares the metadata of a heap of objects with the shadow of
 * objects_kit.h, which includes this file.
 *
 * okit_check() proves that each unit is free or belongs to a complete group of a slab or to a
 * complete run, that a slot is allocated if and only if it has an owner, that no operation is left
 * incomplete, and that each NULL was counted once. The other checks do the same and more:
 * okit_check_empty(): all objects were freed. okit_check_served(): besides, no request failed.
 * okit_check_full(): the failed requests could not be served; this holds where nothing is freed
 * after a failure.
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

/* ---- groups of a slab, by arithmetic of their own -------------------------------------------- */

/* The number of groups. */
static inline uint32_t okit_groups(uint32_t class_)
{
	uint32_t each = mam_class_group_units(class_);

	return (mam_class_units(class_) + each - 1) / each;
}

/* The group of its slab that has this unit. */
static inline uint32_t okit_group(uint32_t class_, uint32_t unit)
{
	return unit % (1u << mam_class_span_shift(class_)) / mam_class_group_units(class_);
}

static inline uint64_t okit_group_slots(uint32_t class_, uint32_t group)
{
	uint32_t quanta = group * mam_class_group_units(class_) * OKIT_UNIT_GRAINS;
	uint32_t end = quanta + mam_class_group_units(class_) * OKIT_UNIT_GRAINS;
	uint64_t slots = 0;
	uint32_t i;

	for (i = quanta / mam_class_quanta(class_); i < mam_class_slots(class_); i++)
		if ((i + 1) * mam_class_quanta(class_) <= end)
			slots |= (uint64_t)1 << i;
	return slots;
}

/* The number of its units. */
static inline uint32_t okit_group_units(uint32_t class_, uint32_t group)
{
	uint32_t each = mam_class_group_units(class_), left = mam_class_units(class_);

	left -= group * each;
	return left < each ? left : each;
}

/* Returns whether the unit is free, or belongs to a group whose slots are free: it may be closed. */
OKIT_UNSEEN bool okit_to_be_had(const struct okit *kit, uint32_t unit)
{
	uint32_t class_ = okit_owner_of(kit, unit), word;
	uint64_t slots;

	if (!okit_taken(kit, unit))
		return true;
	if (!class_ || class_ > MAM_CLASSES)
		return false;
	word = unit >> mam_class_span_shift(class_);
	slots = okit_group_slots(class_, okit_group(class_, unit));
	return !(~mam_metadata_words(kit->heap, class_)[word] & slots);
}

/* The number of available units in a row, starting with this one, up to `max` and in one block. */
OKIT_UNSEEN uint32_t okit_row(const struct okit *kit, uint32_t unit, uint32_t max)
{
	uint32_t n;

	for (n = 0; n < max && unit / MAM_BLOCK_UNITS == (unit + n) / MAM_BLOCK_UNITS &&
		    okit_to_be_had(kit, unit + n);
	     n++)
		;
	return n;
}

/* How many more objects of a class fit in slots: in those that are free, and in new groups. */
OKIT_UNSEEN uint32_t okit_room_slots(const struct okit *kit, uint32_t class_)
{
	const uint64_t *words = mam_metadata_words(kit->heap, class_);
	uint32_t word, group, first, n, room = 0;
	uint64_t slots;

	for (word = 0; word < mam_metadata_word_count(kit->heap, class_); word++) {
		room += mam_popc64(words[word]);
		for (group = 0; group < okit_groups(class_); group++) {
			slots = okit_group_slots(class_, group);
			first = mam_metadata_unit(class_, word) +
				group * mam_class_group_units(class_);
			n = okit_group_units(class_, group);
			if (!(words[word] & slots) && okit_row(kit, first, n) == n)
				room += mam_popc64(slots);
		}
	}
	return room;
}

/*
 * How many more objects of a class fit: in slots; where there are none, in runs, unless the size is
 * a power of two.
 */
OKIT_UNSEEN uint32_t okit_room(const struct okit *kit, uint32_t class_)
{
	uint32_t quanta = mam_class_quanta(class_), room = okit_room_slots(kit, class_), unit = 0;
	uint32_t n = (quanta + OKIT_UNIT_GRAINS - 1) / OKIT_UNIT_GRAINS;

	while (!room && quanta & (quanta - 1) && unit < kit->blocks * MAM_BLOCK_UNITS) {
		room = okit_row(kit, unit, n) == n;
		unit++;
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

/* How many live objects have a slot of a class larger than their own. */
OKIT_UNSEEN uint32_t okit_larger(const struct okit *kit)
{
	uint32_t at, owner, count = 0;

	for (at = 0; at < kit->blocks * OKIT_BLOCK_GRAINS; at++) {
		owner = okit_owner_of(kit, at / OKIT_UNIT_GRAINS);
		if (kit->extent[at] && owner && owner <= MAM_CLASSES)
			count += mam_class_quanta(owner) > kit->extent[at];
	}
	return count;
}

/* Compares the units and slots of a group with the shadow; counts its live objects. */
OKIT_UNSEEN const char *okit_check_group(const struct okit *kit, uint32_t class_, uint32_t unit,
					 uint32_t *live)
{
	uint32_t word = unit >> mam_class_span_shift(class_), quanta = mam_class_quanta(class_), i;
	uint32_t group = okit_group(class_, unit), at, first = mam_metadata_unit(class_, word);
	uint64_t slots = mam_metadata_words(kit->heap, class_)[word];

	if (group >= okit_groups(class_) || unit != first + group * mam_class_group_units(class_))
		return okit_wrong("no group of class %u can start at unit %u", class_, unit);
	for (i = 0; i < okit_group_units(class_, group); i++)
		if (!okit_taken(kit, unit + i) || okit_owner_of(kit, unit + i) != class_)
			return okit_wrong(
				"unit %u of the group of class %u at unit %u has another owner",
				unit + i, class_, unit);
	for (i = 0; i < mam_class_slots(class_); i++) {
		if (!(okit_group_slots(class_, group) >> i & 1))
			continue;
		at = first * OKIT_UNIT_GRAINS + i * quanta;
		if ((slots >> i & 1) == !!kit->extent[at])
			return okit_wrong("class %u, word %u, slot %u: %s", class_, word, i,
					  kit->extent[at] ? "free, but has an owner"
							  : "allocated, but has no owner");
		/* Where its own class has no room, an object has a slot of a larger one. */
		if (kit->extent[at] > quanta)
			return okit_wrong("class %u, word %u, slot %u has another size", class_,
					  word, i);
		*live += !!kit->extent[at];
	}
	return NULL;
}

/* The units of the run that starts at a unit with this owner; 0: none does. */
OKIT_UNSEEN uint32_t okit_run_units(const struct okit *kit, uint32_t unit, uint32_t owner)
{
	if (owner == MAM_OWNER_LONG)
		return kit->heap->longs[unit / MAM_BLOCK_UNITS];
	if (owner > MAM_OWNER_RUN + MAM_FEW_UNITS && owner < MAM_OWNER_MOVING)
		return owner - MAM_OWNER_RUN;
	if (owner > MAM_OWNER_FEW && owner <= MAM_OWNER_FEW + MAM_FEW_UNITS)
		return owner - MAM_OWNER_FEW;
	return 0;
}

/*
 * Checks the units of the run that starts with this one. One of a few units has an object of a
 * class, which may have fewer quanta. A power of two is aligned to its size (okit_note()).
 */
OKIT_UNSEEN const char *okit_check_run(const struct okit *kit, uint32_t unit, uint32_t n)
{
	uint32_t quanta = kit->extent[unit * OKIT_UNIT_GRAINS], i;

	if (n > kit->blocks * 64 - unit)
		return okit_wrong("a run at unit %u has %u units", unit, n);
	if (n > MAM_FEW_UNITS ? quanta != n * OKIT_UNIT_GRAINS
			      : (quanta + OKIT_UNIT_GRAINS - 1) / OKIT_UNIT_GRAINS != n)
		return okit_wrong("the run of %u units at unit %u has no owner", n, unit);
	for (i = 0; i < n; i++)
		if (!okit_taken(kit, unit + i) ||
		    (i && okit_owner_of(kit, unit + i) != MAM_OWNER_INSIDE))
			return okit_wrong(
				"unit %u of the run of %u units at unit %u has another owner",
				unit + i, n, unit);
	return NULL;
}

/* Each unit is free, or belongs to a complete group or run; no other object is live. */
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
			wrong = okit_check_group(kit, owner, unit, &live);
			n = wrong ? 1 : okit_group_units(owner, okit_group(owner, unit));
		} else if (okit_run_units(kit, unit, owner)) {
			n = okit_run_units(kit, unit, owner);
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

/* A bit that is set belongs to a slot of an open group. */
OKIT_UNSEEN const char *okit_check_word(const struct okit *kit, uint32_t class_, uint32_t word)
{
	uint64_t slots = mam_metadata_words(kit->heap, class_)[word];
	uint32_t group, unit = mam_metadata_unit(class_, word);

	if (slots & ~okit_all_slots(class_))
		return okit_wrong("class %u, word %u: slots past the last are free", class_, word);
	for (group = 0; slots && group < okit_groups(class_); group++)
		if (slots & okit_group_slots(class_, group) &&
		    okit_owner_of(kit, unit + group * mam_class_group_units(class_)) != class_)
			return okit_wrong("class %u, word %u, group %u: free slots, but not open",
					  class_, word, group);
	return NULL;
}

OKIT_UNSEEN const char *okit_check_words(const struct okit *kit)
{
	const char *wrong = NULL;
	uint32_t class_, word;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++)
		for (word = 0; !wrong && word < mam_metadata_word_count(kit->heap, class_); word++)
			wrong = okit_check_word(kit, class_, word);
	return wrong;
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

/* As okit_check(), and all objects were freed: units are free or belong to idle groups. */
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
