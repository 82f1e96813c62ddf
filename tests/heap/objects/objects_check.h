/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects_check.h - after a run: the books of a heap of objects say what the shadow of
 * objects_kit.h says, which includes this.
 *
 * okit_check() proves that each unit is free or of a whole slab or run, that a slot is taken if
 * and only if somebody has it, that nothing is left half done, and that each NULL was counted once.
 * As it: okit_check_empty(), and all came back; okit_check_served(), and nobody went without
 * either; okit_check_full(), and what failed could not have been served, which is good where
 * nothing was given back after a failure.
 */
#ifndef MAM_TESTS_HEAP_OBJECTS_CHECK_H
#define MAM_TESTS_HEAP_OBJECTS_CHECK_H

#include <stdarg.h>
#include <stdio.h>

/* What is wrong, for whoever reads the failure. */
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

/* All slots of a class: what the word of an empty slab says. */
static inline uint64_t okit_all_slots(uint32_t class_)
{
	return ~(uint64_t)0 >> (64 - mam_class_slots(class_));
}

/* Is it free, or in a slab that is empty and may go? */
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

/* The longest run of units to be had. */
OKIT_UNSEEN uint32_t okit_longest(const struct okit *kit)
{
	uint32_t unit, run = 0, longest = 0;

	for (unit = 0; unit < kit->blocks * MAM_BLOCK_UNITS; unit++) {
		run = okit_to_be_had(kit, unit) ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* A slab's units and slots, and what the shadow says of them; counts its live objects. */
OKIT_UNSEEN const char *okit_check_slab(const struct okit *kit, uint32_t class_, uint32_t word,
					uint32_t *live)
{
	uint32_t first = mam_metadata_unit(class_, word), quanta = mam_class_quanta(class_), i, at;
	uint64_t slots = mam_metadata_words(kit->heap, class_)[word];

	for (i = 0; i < mam_class_units(class_); i++)
		if (!okit_taken(kit, first + i) || okit_owner_of(kit, first + i) != class_)
			return okit_wrong("unit %u of the slab of class %u at unit %u is not its",
					  first + i, class_, first);
	if (slots & ~okit_all_slots(class_))
		return okit_wrong("class %u, word %u: slots past the last are free", class_, word);
	for (i = 0; i < mam_class_slots(class_); i++) {
		at = first * OKIT_UNIT_GRAINS + i * quanta;
		if ((slots >> i & 1) == !!kit->extent[at])
			return okit_wrong("class %u, word %u, slot %u: %s", class_, word, i,
					  kit->extent[at] ? "free, and somebody has it"
							  : "taken, and nobody has it");
		if (kit->extent[at] && kit->extent[at] != quanta)
			return okit_wrong("class %u, word %u, slot %u is of another size", class_,
					  word, i);
		*live += !!kit->extent[at];
	}
	return NULL;
}

/* A run's units, of which this is the first. */
OKIT_UNSEEN const char *okit_check_run(const struct okit *kit, uint32_t unit, uint32_t n)
{
	uint32_t i;

	if (n <= MAM_CLASS_BYTES_MAX >> MAM_UNIT_SHIFT || n > kit->blocks * 64 - unit)
		return okit_wrong("a run at unit %u is of %u units", unit, n);
	if (kit->extent[unit * OKIT_UNIT_GRAINS] != n * OKIT_UNIT_GRAINS)
		return okit_wrong("nobody has the run of %u units at unit %u", n, unit);
	for (i = 0; i < n; i++)
		if (!okit_taken(kit, unit + i) ||
		    (i && okit_owner_of(kit, unit + i) != MAM_OWNER_INSIDE))
			return okit_wrong("unit %u of the run of %u units at unit %u is not its",
					  unit + i, n, unit);
	return NULL;
}

/* Each unit: free, or of a slab, or of a run, whole ones; and nothing else is live. */
OKIT_UNSEEN const char *okit_check_units(const struct okit *kit)
{
	uint32_t unit = 0, owner, n, live = 0;
	const char *wrong;

	while (unit < kit->blocks * MAM_BLOCK_UNITS) {
		owner = okit_owner_of(kit, unit);
		n = 1;
		wrong = NULL;
		if (!okit_taken(kit, unit) && owner)
			return okit_wrong("unit %u is free, and its owner is %u", unit, owner);
		if (okit_taken(kit, unit) && !owner)
			return okit_wrong("unit %u is taken by nobody", unit);
		if (owner && owner <= MAM_CLASSES) {
			if (unit % (1u << mam_class_span_shift(owner)))
				return okit_wrong("unit %u is of no slab of class %u", unit, owner);
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
		return okit_wrong("%u objects are live, and the heap knows %u", kit->live, live);
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
				return okit_wrong("class %u, word %u: room, and no slab", class_,
						  word);
	return NULL;
}

OKIT_UNSEEN const char *okit_check_tallies(const struct okit *kit)
{
	uint64_t nulls = okit_tally(kit, MAM_OBJECT_FULL) + okit_tally(kit, MAM_OBJECT_CONTENDED) +
			 okit_tally(kit, MAM_OBJECT_ZERO) + okit_tally(kit, MAM_OBJECT_TOO_LARGE);

	if (nulls != kit->failed)
		return okit_wrong("%u requests got nothing, and %llu were counted", kit->failed,
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

/* As okit_check(), and all objects are back: so units are free or of empty slabs. */
static inline const char *okit_check_empty(void *argument)
{
	const struct okit *kit = argument;

	if (kit->live)
		return okit_wrong("%u objects were not given back", kit->live);
	return okit_check(argument);
}

/* As okit_check_empty(), and nobody went without. */
static inline const char *okit_check_served(void *argument)
{
	const struct okit *kit = argument;

	if (kit->failed)
		return okit_wrong("%u requests got nothing", kit->failed);
	return okit_check_empty(argument);
}

/* As okit_check(), and nothing that failed, which something did, could be served now. */
static inline const char *okit_check_full(void *argument)
{
	const struct okit *kit = argument;
	uint32_t class_;

	if (!kit->failed)
		return "nothing failed";
	for (class_ = 1; class_ <= MAM_CLASSES; class_++)
		if (kit->refused[class_] && okit_room(kit, class_))
			return okit_wrong("%u bytes failed with room for %u of them",
					  mam_class_bytes(class_), okit_room(kit, class_));
	if (kit->refused_units && okit_longest(kit) >= kit->refused_units)
		return okit_wrong("a run of %u units failed with %u in a row to be had",
				  kit->refused_units, okit_longest(kit));
	return okit_check(argument);
}

#endif
