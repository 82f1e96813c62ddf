/* SPDX-License-Identifier: Apache-2.0 */
/*
 * motion.h - lays out a heap of objects group by group and run by run, for tests of what happens
 * while groups of slabs open and close; built on objects_kit.h.
 *
 * The shadow knows everything that is laid out by hand: a thread that claims one of its slots owns
 * it there.
 */
#ifndef MAM_TESTS_HEAP_MOTION_H
#define MAM_TESTS_HEAP_MOTION_H

#include "heap/objects/objects_kit.h"

static inline uint32_t motion_below(uint32_t n)
{
	return (uint32_t)(simt_random() % n);
}

/*
 * Waits for a random number of steps up to `max`, so that a lane starts anywhere within the work of
 * another.
 */
static inline void motion_wait(uint32_t max)
{
	uint32_t steps = motion_below(max + 1);

	while (steps--)
		mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
}

/* Records the caller as owner of all slots in `slots`. */
static inline void motion_own(struct okit *kit, uint32_t class_, uint32_t word, uint64_t slots)
{
	for (; slots; slots &= slots - 1)
		okit_own(kit, mam_metadata_at(kit->heap, class_, word, mam_ffs64(slots) - 1),
			 mam_class_bytes(class_));
}

static inline void motion_disown(struct okit *kit, uint32_t class_, uint32_t word, uint64_t slots)
{
	for (; slots; slots &= slots - 1)
		okit_disown(kit, mam_metadata_at(kit->heap, class_, word, mam_ffs64(slots) - 1));
}

/* ---- pieces of the heap, by class and word -------------------------------------------------- */

static inline uint64_t motion_span(uint32_t class_, uint32_t word)
{
	return mam_slab_span(mam_traits_of(class_), word);
}

/*
 * Claims the units of those groups with slots in `slots` that are free, in a block whose units were
 * seen as `taken`.
 */
static inline struct mam_kgroups motion_space(struct okit *kit, uint32_t class_, uint32_t word,
					      uint64_t slots, uint64_t taken)
{
	return mam_slab_claim(kit->heap, mam_traits_of(class_), word, slots, taken);
}

/* Completes the open of groups whose units were claimed; the slots of `left` are free. */
static inline void motion_publish(struct okit *kit, uint32_t class_, uint32_t word, uint64_t units,
				  uint64_t left)
{
	mam_slab_publish(kit->heap, class_, mam_traits_of(class_), word, units, left);
}

/* Claims slots of `chosen`, whatever the word contains; the caller owns the claimed ones. */
static inline uint64_t motion_claim(struct okit *kit, uint32_t class_, uint32_t word,
				    uint64_t chosen)
{
	chosen &= mam_slots_claim(mam_metadata_words(kit->heap, class_), word, chosen);
	motion_own(kit, class_, word, chosen);
	return chosen;
}

static inline void motion_release(struct okit *kit, uint32_t class_, uint32_t word, uint64_t slots)
{
	uint64_t seen;

	motion_disown(kit, class_, word, slots);
	seen = mam_slots_release(mam_metadata_words(kit->heap, class_), word, slots);
	MAM_KASSERT(!(seen & slots));
}

/* The request of a lane that scans everything with the lanes of `mask`. */
static inline struct mam_krequest motion_request(const struct okit *kit, uint32_t class_,
						 uint32_t mask)
{
	return (struct mam_krequest){ .mask = mask,
				      .class_ = class_,
				      .mine = { .slot = MAM_NO_SLOT },
				      .root = kit->heap,
				      .heap = kit->heap,
				      .all = true };
}

/* A look at a block for one class, or only to close idle groups. */
static inline struct mam_klook motion_look(const struct okit *kit, uint32_t class_, uint32_t block)
{
	struct mam_kwanted wanted = { { { 0, 0 } }, { { 0, 0 } }, MAM_PASS_SILENT };

	if (class_)
		mam_set_flip(&wanted.mine, class_);
	return mam_pass_block(kit->heap, &wanted, block);
}

/* Closes all idle groups, by one lane. */
static inline void motion_close_idle(const struct okit *kit)
{
	struct mam_krequest request = motion_request(kit, 1, 1u << mam_lane());

	mam_spans_close(&request, 0, 1);
}

/* Allocates an object of the class for one lane, by a scan alone. */
static inline void *motion_by_pass(struct okit *kit, uint32_t class_)
{
	struct mam_krequest request = motion_request(kit, class_, 1u << mam_lane());
	uint32_t scans;

	for (scans = 0; scans < MAM_SEARCH_SCANS && mam_search_slotless(&request); scans++)
		mam_search_scan(&request, request.mask, scans);
	if (!request.object)
		okit_count_failure(kit, mam_class_bytes(class_));
	else
		okit_own(kit, request.object, mam_class_bytes(class_));
	return request.object;
}

/*
 * Opens those of the groups with slots in `slots` whose units are free, with their slots in `used`
 * owned by the caller. Returns the slots of the groups; 0: none was free.
 */
static inline uint64_t motion_open_some(struct okit *kit, uint32_t class_, uint32_t word,
					uint64_t slots, uint64_t used)
{
	uint32_t block = mam_metadata_unit(class_, word) / MAM_BLOCK_UNITS;
	uint64_t taken = mam_bitmap_load(mam_pages_bits(kit->heap->units), block);
	struct mam_kgroups groups = motion_space(kit, class_, word, slots, taken);

	if (!groups.slots)
		return 0;
	motion_publish(kit, class_, word, groups.units, groups.slots & ~used);
	motion_own(kit, class_, word, groups.slots & used);
	return groups.slots;
}

/* The same with all groups of the slab; returns whether one was free. */
static inline bool motion_open(struct okit *kit, uint32_t class_, uint32_t word, uint64_t used)
{
	return motion_open_some(kit, class_, word, okit_all_slots(class_), used);
}

/* Closes what it can of a slab; returns the slots of the closed groups. */
static inline uint64_t motion_close(struct okit *kit, uint32_t class_, uint32_t word)
{
	uint64_t closed = 0;
	uint32_t group;

	for (group = 0; group < okit_groups(class_); group++)
		if (mam_slab_close(kit->heap, class_, word, group))
			closed |= okit_group_slots(class_, group);
	return closed;
}

/* ---- before a run --------------------------------------------------------------------------- */

/* Opens all groups of the slab, with the slots of `used` allocated. */
static inline void motion_slab(struct okit *kit, uint32_t class_, uint32_t word, uint64_t used)
{
	uint64_t all = okit_all_slots(class_);

	ck_assert(motion_open_some(kit, class_, word, all, used) == all);
}

/* Allocates `n` consecutive units of one block, 1 to 63; up to 8 have the largest such object. */
static inline void motion_run(struct okit *kit, uint32_t unit, uint32_t n)
{
	size_t bytes = (size_t)n << MAM_UNIT_SHIFT;

	if (n <= MAM_FEW_UNITS)
		bytes = mam_class_bytes(mam_class_of(bytes) - 1);
	mam_pages_bits(kit->heap->units)[unit / 64] |= mam_bits_span(unit % 64, n);
	mam_spans_own(kit->heap, unit, n);
	okit_own(kit, kit->space + ((size_t)unit << MAM_UNIT_SHIFT), bytes);
}

/* Explores `kernel` on the heap that `begin` lays out before each run. */
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
		.config = { .race = KIT_RACE,
			    .stale = KIT_RACE && !kit->fresh,
			    .strict = true,
			    .steps_max = kit->steps_max },
	};

	simt_must_pass(&test);
}

#endif
