/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classes.h - size classes of objects: which class serves a request, and how a slab of a class is
 * cut.
 *
 * An alignment unit is 16 bytes, a unit 1 KiB, a block 64 units. Classes are numbered from 1:
 *
 *   to 128 B    every 16 B               1 to 8
 *   to 512 B    4 per power of two       9 to 16     at most 1.25 apart
 *   to 1 KiB    8 per power of two      17 to 24     at most 1.125 apart
 *   to 8 KiB   16 per power of two      25 to 72     at most 1.0625 apart
 *
 * A slab has one 64-bit word, so at most 64 slots. It starts at a multiple of its span, a power of
 * two of units within one block: the largest one that does not exceed the class's size in alignment
 * units. So a slot whose size is a power of two is aligned to its size, and a slab has at least 32
 * slots up to 2 KiB. Units that the last slot does not reach do not belong to the slab.
 *
 * A slab consists of groups, which are opened and closed one by one (slab.h). A group is the fewest
 * units whose slots do not straddle its end: 64 B: 1 unit of 16 slots; 1.5 KiB: 3 units, 2 slots; a
 * power of two from 1 KiB: one slot. The last group of a slab may be smaller.
 *
 * Everything is computed from the class's number: a table would cost one more load before the
 * first.
 */
#ifndef MAM_HEAP_SLAB_CLASSES_H
#define MAM_HEAP_SLAB_CLASSES_H

#include "device/port.h"

#define MAM_CLASSES 72
#define MAM_CLASS_BYTES_MAX 8192u
#define MAM_GRAIN_SHIFT 4
#define MAM_UNIT_SHIFT 10
#define MAM_BLOCK_SHIFT 16
#define MAM_BLOCK_UNITS 64u
/* Words of all classes in one block. */
#define MAM_BLOCK_WORDS 305u

/* The binary logarithm of `n`, 8 to 511. */
MAM_KBOTH uint32_t mam_class_octave(uint32_t n)
{
#ifdef __CUDA_ARCH__
	return 31 - (uint32_t)__clz((int)n);
#else
	return 3 + (n >= 16) + (n >= 32) + (n >= 64) + (n >= 128) + (n >= 256);
#endif
}

/* The class that serves `bytes`; 0 if `bytes` is 0 or exceeds MAM_CLASS_BYTES_MAX. */
MAM_KBOTH uint32_t mam_class_of(size_t bytes)
{
	uint32_t below, octave, steps;

	if (bytes - 1 >= MAM_CLASS_BYTES_MAX)
		return 0;
	below = (uint32_t)(bytes - 1) >> MAM_GRAIN_SHIFT;
	if (below < 8)
		return below + 1;
	octave = mam_class_octave(below);
	steps = octave < 5 ? 2 : octave == 5 ? 3 : 4;
	/* The first classes of octaves 3, 4, 5, 6, ... are 9, 13, 17, 25, 41, 57. */
	return (octave < 6 ? 4 * octave - 3 : 16 * octave - 71) + (below >> (octave - steps)) -
	       (1u << steps);
}

/* Size of a slot in alignment units of 16 bytes. */
MAM_KBOTH uint32_t mam_class_quanta(uint32_t class_)
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
	return mam_class_quanta(class_) << MAM_GRAIN_SHIFT;
}

/* A slab starts at a multiple of 1 << this units. */
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
	return (MAM_BLOCK_UNITS << mam_class_span_shift(class_)) / mam_class_quanta(class_);
}

/* Units of a slab. */
MAM_KBOTH uint32_t mam_class_units(uint32_t class_)
{
	return (mam_class_slots(class_) * mam_class_quanta(class_) + MAM_BLOCK_UNITS - 1) /
	       MAM_BLOCK_UNITS;
}

/*
 * Slots of a group are 1 << this: as many as a unit has alignment units, divided by what both have
 * in common.
 */
MAM_KBOTH uint32_t mam_class_group_shift(uint32_t class_)
{
	uint32_t quanta = mam_class_quanta(class_), shift = 6;

	for (; shift && !(quanta & 1); quanta >>= 1)
		shift--;
	return shift;
}

/* Units of a group. */
MAM_KBOTH uint32_t mam_class_group_units(uint32_t class_)
{
	return mam_class_quanta(class_) >> (6 - mam_class_group_shift(class_));
}

/* Words of a class in one block: one for each slab that fits. */
MAM_KBOTH uint32_t mam_class_words(uint32_t class_)
{
	return MAM_BLOCK_UNITS >> mam_class_span_shift(class_);
}

/* Words of the preceding classes in one block. */
MAM_KBOTH uint32_t mam_class_words_before(uint32_t class_)
{
	uint32_t shift = mam_class_span_shift(class_);
	/* A byte for each span: its first class, and the words before that class divided by 16. */
	uint32_t first = (uint32_t)((uint64_t)0x18100c08040201 >> (8 * shift)) & 255;
	uint32_t words = (uint32_t)((uint64_t)0x100f0e0c080400 >> (8 * shift)) & 255;

	return 16 * words + ((class_ - first) * MAM_BLOCK_UNITS >> shift);
}

/*
 * The same for each class in one number, for device code: one load in place of forty instructions.
 * From bit 0: size in alignment units, 10 bits; span shift, 3; slots, 7; words before, 9; the
 * binary logarithm of the slots, rounded down, 3; then the factor that replaces a division by the
 * size: 2^31 / size in alignment units, rounded up. Row 0 equals row 1, for lanes without a class.
 */
#ifdef MAM_KTABLE
MAM_KTABLE uint64_t mam_class_table[MAM_CLASSES + 1] = {
	0x80000000c0080001, 0x80000000c0080001, 0x40000000c4080402, 0x2aaaaaaba6054403,
	0x20000000c8080804, 0x1999999aa9066805, 0x15555556aa054806, 0x12492493ab048807,
	0x10000000cc080c08, 0x0ccccccdac866c0a, 0x0aaaaaabad054c0c, 0x0924924aad848c0e,
	0x08000000ce081010, 0x06666667ae467014, 0x05555556ae855018, 0x04924925aec4901c,
	0x04000000cf081420, 0x038e38e4af271424, 0x03333334af467428, 0x02e8ba2faf65d42c,
	0x02aaaaabaf855430, 0x02762763afa4f434, 0x02492493afc49438, 0x02222223afe4543c,
	0x02000000d0081840, 0x01e1e1e2b0179844, 0x01c71c72b0271848, 0x01af286cb036b84c,
	0x0199999ab0467850, 0x01861862b0561854, 0x01745d18b065d858, 0x01642c86b075985c,
	0x01555556b0855860, 0x0147ae15b0951864, 0x013b13b2b0a4f868, 0x012f684cb0b4b86c,
	0x0124924ab0c49870, 0x011a7b97b0d47874, 0x01111112b0e45878, 0x01084211b0f4387c,
	0x01000000b1041880, 0x00f0f0f19113d888, 0x00e38e3991239890, 0x00d7943691335898,
	0x00cccccd914338a0, 0x00c30c31915318a8, 0x00ba2e8c9162f8b0, 0x00b216439172d8b8,
	0x00aaaaab9182b8c0, 0x00a3d70b919298c8, 0x009d89d991a278d0, 0x0097b42691b258d8,
	0x0092492591c258e0, 0x008d3dcc91d238e8, 0x0088888991e238f0, 0x0084210991f218f8,
	0x0080000092021900, 0x007878797211f910, 0x0071c71d7221d920, 0x006bca1b7231b930,
	0x0066666772419940, 0x0061861972519950, 0x005d174672617960, 0x00590b2272717970,
	0x0055555672815980, 0x0051eb8672915990, 0x004ec4ed72a139a0, 0x004bda1372b139b0,
	0x0049249372c139c0, 0x00469ee672d119d0, 0x0044444572e119e0, 0x0042108572f119f0,
	0x0040000073011a00,
};

MAM_KFN uint64_t mam_traits_of(uint32_t class_)
{
	return mam_class_table[class_];
}

MAM_KFN uint32_t mam_traits_quanta(uint64_t traits)
{
	return (uint32_t)traits & 1023;
}

MAM_KFN uint32_t mam_traits_bytes(uint64_t traits)
{
	return mam_traits_quanta(traits) << MAM_GRAIN_SHIFT;
}

MAM_KFN uint32_t mam_traits_span_shift(uint64_t traits)
{
	return (uint32_t)traits >> 10 & 7;
}

MAM_KFN uint32_t mam_traits_slots(uint64_t traits)
{
	return (uint32_t)traits >> 13 & 127;
}

MAM_KFN uint32_t mam_traits_words_before(uint64_t traits)
{
	return (uint32_t)traits >> 20 & 511;
}

/* 1 << this is the largest power of two that does not exceed the number of slots. */
MAM_KFN uint32_t mam_traits_round_shift(uint64_t traits)
{
	return (uint32_t)traits >> 29;
}

/* Words in one block are 1 << this. */
MAM_KFN uint32_t mam_traits_words_shift(uint64_t traits)
{
	return 6 - mam_traits_span_shift(traits);
}

MAM_KFN uint32_t mam_traits_units(uint64_t traits)
{
	return (mam_traits_slots(traits) * mam_traits_quanta(traits) + MAM_BLOCK_UNITS - 1) /
	       MAM_BLOCK_UNITS;
}

/* Slots of a group are 1 << this. */
MAM_KFN uint32_t mam_traits_group_shift(uint64_t traits)
{
	return 7 - mam_ffs32(mam_traits_quanta(traits) | MAM_BLOCK_UNITS);
}

/* Units of a group. */
MAM_KFN uint32_t mam_traits_group_units(uint64_t traits)
{
	return mam_traits_quanta(traits) >> (6 - mam_traits_group_shift(traits));
}

/* Divides `n` alignment units, fewer than those of a block, by the size of a slot. */
MAM_KFN uint32_t mam_traits_divide(uint64_t traits, uint32_t n)
{
	return (uint32_t)((uint64_t)(2 * n) * (uint32_t)(traits >> 32) >> 32);
}
#endif

#endif
