/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actives.h - which superblock has blocks of a class: a map from classes to entries.
 *
 * Each class has 1 << shift entries; a lane's number chooses among them, so that lanes of many
 * warps do not all change the state of one superblock. An entry is a word, tag << 32 | what:
 * nothing, a mark that somebody prepares a superblock for it, or a superblock's number and one. Each
 * change is a CAS and raises the tag.
 *
 * Entries are hints: the superblock's state has the last word (superblock.h). An entry may name one
 * that has become something else; who finds that treats it as nothing.
 *
 * Nobody waits for a mark for ever: who has seen the same one MAM_KMA_PATIENCE times goes on as if it
 * were its own, with a superblock that it takes itself. Who comes second to publish gives its own
 * back, and neither is lost. Where lanes run one after the other, as in OpenCL on CPUs, marks are
 * never seen.
 *
 * After the superblock hash map of KMA (GPGPU-7, 2014), which has one entry a class, and in which
 * those that see a mark wait.
 *
 * Orders: publish releases, and a look acquires, so who sees the number sees the state, or a later one.
 */
#ifndef MAM_KMA_ACTIVES_H
#define MAM_KMA_ACTIVES_H

#include "heap/port_global.h"

#define MAM_KMA_VACANT 0u
#define MAM_KMA_MARK 0xffffffffu
#define MAM_KMA_PATIENCE 64u
#define MAM_KMA_ENTRIES_SHIFT_MAX 10u

/* Numbers that differ little become such that do not. */
MAM_KBOTH uint32_t mam_kma_mix(uint32_t number)
{
	number = (number ^ number >> 16) * 0x7feb352du;
	number = (number ^ number >> 15) * 0x846ca68bu;
	return number ^ number >> 16;
}

/* Of `entries` of 1 << shift for each class, that of a lane with this number: a warp's have one. */
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

/* If it names one. */
MAM_KBOTH uint32_t mam_kma_entry_superblock(uint64_t seen)
{
	return mam_kma_entry_what(seen) - 1;
}

MAM_KBOTH uint64_t mam_kma_entry_word(uint64_t seen, uint32_t what)
{
	return ((seen >> 32) + 1) << 32 | what;
}

/* True: it had not changed, and has the caller's mark; `*seen` is the entry with it. */
MAM_KFN bool mam_kma_entry_mark(MAM_GLOBAL uint64_t *entry, uint64_t *seen)
{
	uint64_t before = *seen;

	*seen = mam_kma_entry_word(before, MAM_KMA_MARK);
	return mam_atomic_cas64(entry, before, *seen, MAM_RELAXED, MAM_AT_DEVICE) == before;
}

/* True: it had not changed, and names the superblock. */
MAM_KFN bool mam_kma_entry_publish(MAM_GLOBAL uint64_t *entry, uint64_t seen, uint32_t superblock)
{
	return mam_atomic_cas64(entry, seen, mam_kma_entry_word(seen, superblock + 1), MAM_RELEASE,
				MAM_AT_DEVICE) == seen;
}

/* It names nothing any more, unless it has changed. */
MAM_KFN void mam_kma_entry_clear(MAM_GLOBAL uint64_t *entry, uint64_t seen)
{
	(void)mam_atomic_cas64(entry, seen, mam_kma_entry_word(seen, MAM_KMA_VACANT), MAM_RELAXED,
			       MAM_AT_DEVICE);
}

#endif
