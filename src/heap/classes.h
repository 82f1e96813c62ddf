/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classes.h - sizes of objects: which class serves a request, and how a slab of a class is cut.
 *
 * A grain is 16 bytes, a unit 1 KiB, a block 64 units. Classes are numbered from 1:
 *
 *   to 128 B    every 16 B          1 to 8
 *   to 512 B    4 a doubling        9 to 16     at most 1.25 apart
 *   to 1 KiB    8 a doubling       17 to 24     at most 1.125 apart
 *   to 8 KiB   16 a doubling       25 to 72     at most 1.0625 apart
 *
 * A slab has one 64-bit word, so 64 slots at most, and begins at a multiple of its span, a power of
 * two of units in one block: the largest that is not above the number of grains of its class. So a
 * slot of a power of two lies at a multiple of its size, and a slab has 32 slots at least up to 2
 * KiB. Units that the last slot does not reach are not the slab's.
 *
 * All is arithmetic on the class's number: a table would be one more load before the first.
 */
#ifndef MAM_HEAP_CLASSES_H
#define MAM_HEAP_CLASSES_H

#include "heap/port.h"

#define MAM_CLASSES 72
#define MAM_CLASS_BYTES_MAX 8192u
#define MAM_GRAIN_SHIFT 4
#define MAM_UNIT_SHIFT 10
#define MAM_BLOCK_SHIFT 16
#define MAM_BLOCK_UNITS 64u
/* Words of all classes in one block. */
#define MAM_BLOCK_WORDS 305u

/* The class that serves `bytes`; 0: none does, as that is 0 or more than MAM_CLASS_BYTES_MAX. */
MAM_KBOTH uint32_t mam_class_of(size_t bytes)
{
	uint32_t below, octave, steps;

	if (bytes - 1 >= MAM_CLASS_BYTES_MAX)
		return 0;
	below = (uint32_t)(bytes - 1) >> MAM_GRAIN_SHIFT;
	if (below < 8)
		return below + 1;
	octave = 3 + (below >= 16) + (below >= 32) + (below >= 64) + (below >= 128) + (below >= 256);
	steps = octave < 5 ? 2 : octave == 5 ? 3 : 4;
	/* Of octaves 3, 4, 5, 6, ... the first class is 9, 13, 17, 25, 41, 57. */
	return (octave < 6 ? 4 * octave - 3 : 16 * octave - 71) +
	       (below >> (octave - steps)) - (1u << steps);
}

/* Bytes of a slot, in grains. */
MAM_KBOTH uint32_t mam_class_grains(uint32_t class_)
{
	uint32_t octave, steps, at;

	if (class_ <= 8)
		return class_;
	octave = class_ < 25 ? (class_ < 17 ? (class_ + 3) / 4 : 5) : (class_ + 71) / 16;
	steps = octave < 5 ? 2 : octave == 5 ? 3 : 4;
	at = class_ - (octave < 6 ? 4 * octave - 3 : 16 * octave - 71) + 1;
	return (1u << octave) + (at << (octave - steps));
}

MAM_KBOTH uint32_t mam_class_bytes(uint32_t class_)
{
	return mam_class_grains(class_) << MAM_GRAIN_SHIFT;
}

/* A slab begins at a multiple of 1 << this units. */
MAM_KBOTH uint32_t mam_class_span_shift(uint32_t class_)
{
	if (class_ >= 24)
		return 6;
	if (class_ >= 8)
		return class_ < 16 ? 1 + class_ / 4 : 5;
	return class_ >= 4 ? 2 : class_ >= 2;
}

/* Slots of a slab. */
MAM_KBOTH uint32_t mam_class_slots(uint32_t class_)
{
	return (MAM_BLOCK_UNITS << mam_class_span_shift(class_)) / mam_class_grains(class_);
}

/* Units of a slab. */
MAM_KBOTH uint32_t mam_class_units(uint32_t class_)
{
	return (mam_class_slots(class_) * mam_class_grains(class_) + MAM_BLOCK_UNITS - 1) /
	       MAM_BLOCK_UNITS;
}

/* Words of a class in one block: one for each slab that goes in. */
MAM_KBOTH uint32_t mam_class_words(uint32_t class_)
{
	return MAM_BLOCK_UNITS >> mam_class_span_shift(class_);
}

/* Words of the classes before it, in one block. */
MAM_KBOTH uint32_t mam_class_words_before(uint32_t class_)
{
	uint32_t shift = mam_class_span_shift(class_);
	/* Of each span, a byte: its first class, and the words before that one by 16. */
	uint32_t first = (uint32_t)((uint64_t)0x18100c08040201 >> (8 * shift)) & 255;
	uint32_t words = (uint32_t)((uint64_t)0x100f0e0c080400 >> (8 * shift)) & 255;

	return 16 * words + ((class_ - first) * MAM_BLOCK_UNITS >> shift);
}

#endif
