/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classes.h - the size classes that a superblock may be divided into. For host and device.
 *
 * 1. A class for each power of two from 4 B to a quarter of the superblock, with as many blocks as
 *    fit together with their bitmap. The bitmap has one bit per block, in 32-bit words at the
 *    superblock's end.
 * 2. The remaining bytes are shared among the blocks, in steps of 16 B (not for blocks below 16 B):
 *    of 4,096 B, seven blocks of 512 become seven of 576, three of 1,024 become three of 1,360.
 * 3. A last class of two blocks. Two halves and a bitmap do not fit, so by 1 there would be only
 *    one half. Instead there are two blocks that are less than 32 B smaller than a half. A larger
 *    request takes a whole superblock, which needs no bitmap.
 *
 * So of 4,096 B: 4 8 16 32 64 128 272 576 1360 2032 4096. Splet, Howes, Gaster, Varbanescu: KMA, a
 * dynamic memory manager for OpenCL, GPGPU-7 (2014), has the powers of two and states that
 * heuristics should reduce the waste for large blocks that almost fit; 2 and 3 are such heuristics.
 *
 * Bound: blocks of a class are smaller than twice its power of two, so the smallest class that fits
 * is that of the power of two or the one before it.
 *
 * Invariants: size * total + 4 * words <= superblock; sizes increase; blocks of 16 B and more are
 * at multiples of 16, smaller ones at multiples of their size.
 */
#ifndef MAM_KMA_CLASSES_H
#define MAM_KMA_CLASSES_H

#include "device/port.h"

#define MAM_KMA_SHIFT 12u /* default for superblocks */
#define MAM_KMA_SHIFT_MIN 8u
#define MAM_KMA_SHIFT_MAX 16u
#define MAM_KMA_CLASSES (MAM_KMA_SHIFT_MAX - 2)

struct mam_kma_class {
	uint32_t size;  /* of a block, bytes */
	uint32_t total; /* blocks per superblock */
};

/* The number of classes for superblocks of 1 << shift bytes. */
MAM_KBOTH uint32_t mam_kma_classes(uint32_t shift)
{
	return shift - 2;
}

/* Words of 32 bits in the bitmap. */
MAM_KBOTH uint32_t mam_kma_words(uint32_t total)
{
	return (total + 31) / 32;
}

MAM_KBOTH struct mam_kma_class mam_kma_class(uint32_t shift, uint32_t which)
{
	struct mam_kma_class made;
	uint32_t bytes = 1u << shift;

	made.size = 4u << which;
	made.total = which + 1 == mam_kma_classes(shift) ? 2 : bytes >> (2 + which);
	if (made.total > 2)
		while (made.size * made.total + 4 * mam_kma_words(made.total) > bytes)
			made.total--;
	if (made.size >= 16)
		made.size = (bytes - 4 * mam_kma_words(made.total)) / made.total / 16 * 16;
	return made;
}

#endif
