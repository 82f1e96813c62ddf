/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actives.h - which superblock serves a class: a map from classes to entries.
 *
 * Each class has 1 << shift entries. The number of a lane selects one of them, so that the lanes of
 * many warps do not all change the state of one superblock. An entry is a word, tag << 32 | value:
 * nothing, a mark that a lane is preparing a superblock for it, or a superblock's number plus one.
 * Each change is a CAS and increments the tag.
 *
 * Entries are hints: the superblock's state is authoritative (superblock.h). An entry may name a
 * superblock that has changed its kind; lanes treat such an entry as empty.
 *
 * No lane waits for a mark forever. A lane that has seen the same mark MAM_KMA_PATIENCE times
 * continues as if it were its own, with a superblock that it takes itself. If another lane
 * publishes first, this lane frees its own superblock, and neither is lost. Where lanes run one
 * after the other, as in OpenCL on CPUs, marks are never seen.
 *
 * After the superblock hash map of KMA (GPGPU-7, 2014), which has one entry per class, and where
 * lanes that see a mark wait.
 *
 * Memory order: publish releases, and a read acquires, so a lane that sees the number sees the
 * state, or a later one.
 */
#ifndef MAM_KMA_ACTIVES_H
#define MAM_KMA_ACTIVES_H

#include "device/port_global.h"

#define MAM_KMA_VACANT 0u
#define MAM_KMA_MARK 0xffffffffu
#define MAM_KMA_PATIENCE 64u
#define MAM_KMA_ENTRIES_SHIFT_MAX 10u

/* Maps numbers that differ little to numbers that differ much. */
MAM_KBOTH uint32_t mam_kma_mix(uint32_t number)
{
	number = (number ^ number >> 16) * 0x7feb352du;
	number = (number ^ number >> 15) * 0x846ca68bu;
	return number ^ number >> 16;
}

/*
 * The entry of a lane with this number, out of `entries` of 1 << shift for each class; all lanes of
 * a warp have the same.
 */
MAM_KBOTH MAM_GLOBAL uint64_t *mam_kma_entry(MAM_GLOBAL uint64_t *entries, uint32_t shift,
					     uint32_t which, uint32_t lane)
{
	return entries + ((size_t)which << shift) + (mam_kma_mix(lane / 32) & ((1u << shift) - 1));
}

MAM_KFN uint64_t mam_kma_entry_look(MAM_GLOBAL uint64_t *entry)
{
	return mam_atomic_load64(entry, MAM_ACQUIRE, MAM_AT_DEVICE);
}

MAM_KBOTH uint32_t mam_kma_entry_what(uint64_t seen)
{
	return (uint32_t)seen;
}

MAM_KBOTH bool mam_kma_entry_names(uint64_t seen)
{
	return mam_kma_entry_what(seen) != MAM_KMA_VACANT &&
	       mam_kma_entry_what(seen) != MAM_KMA_MARK;
}

/* pre: the entry names a superblock. */
MAM_KBOTH uint32_t mam_kma_entry_superblock(uint64_t seen)
{
	return mam_kma_entry_what(seen) - 1;
}

MAM_KBOTH uint64_t mam_kma_entry_word(uint64_t seen, uint32_t what)
{
	return ((seen >> 32) + 1) << 32 | what;
}

/* True: the entry had not changed, and has the caller's mark; `*seen` is the entry with it. */
MAM_KFN bool mam_kma_entry_mark(MAM_GLOBAL uint64_t *entry, uint64_t *seen)
{
	uint64_t before = *seen;

	*seen = mam_kma_entry_word(before, MAM_KMA_MARK);
	return mam_atomic_cas64(entry, before, *seen, MAM_RELAXED, MAM_AT_DEVICE) == before;
}

/* True: the entry had not changed, and names the superblock. */
MAM_KFN bool mam_kma_entry_publish(MAM_GLOBAL uint64_t *entry, uint64_t seen, uint32_t superblock)
{
	return mam_atomic_cas64(entry, seen, mam_kma_entry_word(seen, superblock + 1), MAM_RELEASE,
				MAM_AT_DEVICE) == seen;
}

/* Empties the entry, unless it has changed. */
MAM_KFN void mam_kma_entry_clear(MAM_GLOBAL uint64_t *entry, uint64_t seen)
{
	(void)mam_atomic_cas64(entry, seen, mam_kma_entry_word(seen, MAM_KMA_VACANT), MAM_RELAXED,
			       MAM_AT_DEVICE);
}

#endif
