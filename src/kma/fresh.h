/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fresh.h - superblocks that were never used: taken one by one from below, and in runs from above.
 *
 * One word, high << 32 | low: superblocks low to high - 1 are fresh. A CAS increments low by one,
 * or decrements high by a run's length. Freeing the run just above high raises high again. The
 * superblocks of any other run go to the queue one by one, and are never part of a run again.
 *
 * KMA (GPGPU-7, 2014) inserts all superblocks into its queue one by one when a heap is created, and
 * cannot allocate more than one superblock. It proposes both for a KMA-2, with a sorted list. Here
 * it is one word.
 *
 * Invariants: low <= high; fresh superblocks are free by their state. The word is the whole state,
 * so ABA is harmless.
 *
 * Memory order: freeing a run releases, and a lane that moves high or low acquires.
 *
 * Bound: 1 read and 1 CAS; a CAS fails only because another one succeeded.
 */
#ifndef MAM_KMA_FRESH_H
#define MAM_KMA_FRESH_H

#include "device/port_global.h"
#include "kma/queue.h"

MAM_KBOTH uint64_t mam_kma_fresh_word(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

/*
 * The first of `count` adjacent superblocks, or MAM_KMA_NONE; a single one comes from below, more
 * from above.
 */
MAM_KFN uint32_t mam_kma_fresh_take(MAM_GLOBAL uint64_t *fresh, uint32_t count)
{
	uint64_t seen = mam_atomic_load64(fresh, MAM_RELAXED, MAM_AT_DEVICE), next, was;
	uint32_t low, high;

	MAM_ROLLED
	for (;;) {
		low = (uint32_t)seen;
		high = (uint32_t)(seen >> 32);
		if (high - low < count)
			return MAM_KMA_NONE;
		next = count == 1 ? mam_kma_fresh_word(low + 1, high)
				  : mam_kma_fresh_word(low, high - count);
		was = mam_atomic_cas64(fresh, seen, next, MAM_ACQUIRE, MAM_AT_DEVICE);
		if (was == seen)
			return count == 1 ? low : high - count;
		seen = was;
	}
}

/* True: the superblocks are fresh again. */
MAM_KFN bool mam_kma_fresh_give(MAM_GLOBAL uint64_t *fresh, uint32_t first, uint32_t count)
{
	uint64_t seen = mam_atomic_load64(fresh, MAM_RELAXED, MAM_AT_DEVICE), next, was;

	MAM_ROLLED
	while ((uint32_t)(seen >> 32) == first) {
		next = mam_kma_fresh_word((uint32_t)seen, first + count);
		was = mam_atomic_cas64(fresh, seen, next, MAM_ACQ_REL, MAM_AT_DEVICE);
		if (was == seen)
			return true;
		seen = was;
	}
	return false;
}

#endif
