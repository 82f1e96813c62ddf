/* SPDX-License-Identifier: Apache-2.0 */
/*
 * motion.h - a heap of objects as a test wants it, slab by slab and run by run, for what happens
 * while slabs begin and end; on top of objects_kit.h.
 *
 * What is laid out by hand has the shadow's blessing: whoever takes a slot of it owns it there.
 */
#ifndef MAM_TESTS_HEAP_MOTION_H
#define MAM_TESTS_HEAP_MOTION_H

#include "heap/objects_kit.h"

static inline uint32_t motion_below(uint32_t n)
{
	return (uint32_t)(simt_random() % n);
}

/* Up to so many steps, so that a lane begins anywhere in what another does. */
static inline void motion_wait(uint32_t most)
{
	uint32_t steps = motion_below(most + 1);

	while (steps--)
		mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
}

/* All the slots of `slots` are the caller's now. */
static inline void motion_own(struct okit *kit, uint32_t class_, uint32_t word, uint64_t slots)
{
	for (; slots; slots &= slots - 1)
		okit_own(kit, mam_books_at(kit->heap, class_, word, mam_ffs64(slots) - 1),
			 mam_class_bytes(class_));
}

static inline void motion_disown(struct okit *kit, uint32_t class_, uint32_t word, uint64_t slots)
{
	for (; slots; slots &= slots - 1)
		okit_disown(kit, mam_books_at(kit->heap, class_, word, mam_ffs64(slots) - 1));
}

/* Opens the slab that has this word, with the slots of `used` the caller's. False: not free. */
static inline bool motion_open(struct okit *kit, uint32_t class_, uint32_t word, uint64_t used)
{
	uint64_t *bits = mam_pages_bits(kit->heap->units);
	uint64_t taken = mam_bitmap_load(bits, mam_slab_block(class_, word));

	if (!mam_slab_ground(kit->heap, class_, word, taken))
		return false;
	mam_slab_publish(kit->heap, class_, word, mam_slots_all(class_) & ~used);
	motion_own(kit, class_, word, used);
	return true;
}

/* Before a run: the slab is there, and somebody has the slots of `used`. */
static inline void motion_slab(struct okit *kit, uint32_t class_, uint32_t word, uint64_t used)
{
	ck_assert(motion_open(kit, class_, word, used));
}

/* Before a run: somebody has so many units in a row, 9 to 63. */
static inline void motion_run(struct okit *kit, uint32_t unit, uint32_t n)
{
	mam_pages_bits(kit->heap->units)[unit / 64] |= mam_bits_span(unit % 64, n);
	mam_owners_set(kit->heap, unit + 1, n - 1, MAM_OWNER_INSIDE);
	mam_owners_set(kit->heap, unit, 1, MAM_OWNER_RUN + n);
	okit_own(kit, kit->ground + ((size_t)unit << MAM_UNIT_SHIFT), (size_t)n << MAM_UNIT_SHIFT);
}

/* Explores `kernel` on the heap that `begin` lays out each time. */
static inline void motion_explore(struct okit *kit, const char *name, void (*begin)(void *),
				  simt_kernel *kernel, uint32_t grid, uint32_t block,
				  uint32_t seeds, const char *(*check)(void *))
{
	struct simt_case test = {
		.name = name,
		.kernel = kernel,
		.grid = grid,
		.block = block,
		.argument = kit,
		.begin = begin,
		.check = check ? check : okit_check,
		.seeds = seeds,
		.config = { .race = KIT_RACE, .strict = true },
	};

	simt_must_pass(&test);
}

#endif
