/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - looks at a block for some classes, and reports "no room" only if that is certain.
 *
 * For each block a lane does the following:
 * 1. It loads the block's number of closed groups, `closes`, with an acquire, then the units' word.
 * 2. It loads the owners of all units, and fences.
 * 3. It loads the word of each slab that owns a unit, several at once. If a slab of one of the classes
 *    has a free slot, there is room for that class. A group of any class with all slots free is
 *    closed, which frees units.
 * 4. It fences, and loads `closes` and the units' word again. If the units of a group of one of the
 *    classes are all free, there is room. The same holds if as many units are free as one object
 *    needs: the object becomes a run (spans.h).
 *
 * A look is for classes of two kinds. A slot or a group for one of `mine` is returned, and ends the
 * look. Room for one of `others`, and runs for any, are recorded for those that want them (scans.h),
 * and that there are free slots of larger classes than the lowest one.
 *
 * Units in transition prove nothing: a claimed unit whose owner is 0 or MOVING; a group of this
 * block that was closed since 1, as `closes` shows; a unit that was free in 1 and claimed in 4.
 * Then the lane is in doubt, and must look again. A scan is one look without doubt at each block. So
 * "no room" means: each slot of the class and each unit was seen claimed, by an actual owner, during
 * this one scan.
 *
 * Why that is enough: a slot's bit is 0 if the slot is allocated, and also while its group opens or
 * closes. A thread that opens a group clears MOVING after it has published the slots, as a release.
 * The fence of 2 makes the loads of owners an acquire. So under an owner without MOVING, a bit of 0
 * means that the slot is allocated, or that the group has closed since. A thread that closes a
 * group sets MOVING, then raises `closes` as a release, then clears the slots as a release. If 1
 * sees the increase, then 2 sees MOVING or a later owner. If 3 sees the cleared slots, then after
 * the fence 4 sees the increase. Reading the owner again would not suffice: the class may have
 * opened the group there again.
 *
 * One load of a slab's word serves all its units, because all owners are loaded before. For classes,
 * the units' word in 1 needs no order: a unit that 1 and 4 see as claimed was owned when 2 saw its
 * owner, and a unit that 4 sees as free is room.
 *
 * A thread that opens groups may claim units that it releases at once: it raises `closes` as a release
 * between the two, and they have no owner (slab.h). So if 1 sees the increase, then its load of the
 * units' word, which follows, sees the claim, and the lane is in doubt, or the end of it. If 1 sees
 * the end, then 4 sees the increase. That is for runs (spans.h): an attempt between two looks without
 * doubt and with the same `closes` met no such claim.
 *
 * Bound: two fences, the owners' eight words at once, and at most one load for each unit,
 * MAM_PASS_WIDTH of them at once. If all units belong to runs: two round trips.
 */
#ifndef MAM_HEAP_SLAB_PASS_H
#define MAM_HEAP_SLAB_PASS_H

#include "heap/slab/handle.h"
#include "heap/slab/slab.h"
#include "heap/pages/tour.h"

#define MAM_PASS_OWNERS 8u /* words of owners of a block */
#define MAM_PASS_WIDTH 8u  /* owners in a word; as many words of slabs are loaded at once */

#define MAM_PASS_SILENT 2u

/* The classes that a look at a block is for: `mine` and `others` are disjoint. */
struct mam_kwanted {
	struct mam_kset mine;
	struct mam_kset others;
	uint32_t turn; /* of the scan; MAM_PASS_SILENT: records nothing */
};

/* The result of a look at one block. */
struct mam_klook {
	uint32_t class_; /* of `mine`: that of `word` */
	uint32_t word;   /* where there is room; or MAM_NO_WORD */
	uint32_t unit;   /* else the first of a free run for an object of `mine`; or MAM_NO_PAGE */
	uint32_t doubt;  /* something was in transition */
	uint32_t closed; /* groups, by this check */
	uint32_t closes; /* count of closed groups, those included, and of undone claims */
};

MAM_KFN bool mam_set_has(const struct mam_kset *set, uint32_t class_)
{
	return set->has[class_ / 64] >> class_ % 64 & 1;
}

/* The lowest class, or 0. */
MAM_KFN uint32_t mam_set_first(const struct mam_kset *set)
{
	if (set->has[0])
		return mam_ffs64(set->has[0]) - 1;
	return set->has[1] ? 64 + mam_ffs64(set->has[1]) - 1 : 0;
}

/* Adds the class, or removes it. */
MAM_KFN void mam_set_flip(struct mam_kset *set, uint32_t class_)
{
	set->has[class_ / 64] ^= (uint64_t)1 << class_ % 64;
}

/* A word of the row of a class where scans found room. */
MAM_KFN uint32_t *mam_pass_row(const struct mam_kheap *heap, uint32_t class_, uint32_t at)
{
	uint32_t *rows = (uint32_t *)(mam_metadata_searches(heap) + 1);
	uint32_t width = mam_metadata_width(heap->blocks);

	return rows + ((MAM_CLASSES + class_ - 1) << width) + (at & ((1u << width) - 1));
}

/* Leaves a hint: a word of a class with room, or in a block with room for a run. */
MAM_KFN void mam_pass_hint(const struct mam_kheap *heap, uint32_t class_, uint32_t block,
			   uint32_t word)
{
	mam_atomic_store32(mam_pass_row(heap, class_, block), word + 1, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Records that a block has room for a class, in the list of this turn (scans.h). */
MAM_KSLOW void mam_pass_record(const struct mam_kheap *heap, uint32_t class_, uint32_t block,
			       uint32_t turn)
{
	struct mam_scan *scan = &mam_metadata_searches(heap)->scans[class_ - 1];
	uint32_t at = mam_atomic_load32(&scan->count[turn], MAM_RELAXED, MAM_AT_DEVICE);

	/* All lanes of a scan would add to one number, in turn. */
	if (at > MAM_SCAN_ROOMS)
		return;
	at = mam_atomic_add32(&scan->count[turn], 1, MAM_RELAXED, MAM_AT_DEVICE);
	if (at < MAM_SCAN_ROOMS)
		mam_atomic_store32(&scan->rooms[turn][at], block, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Records that there are free slots of these classes. */
MAM_KSLOW void mam_pass_larger(const struct mam_kheap *heap, const struct mam_kset *classes,
			       uint32_t turn)
{
	struct mam_kset *seen = &mam_metadata_searches(heap)->shared.larger[turn];
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (classes->has[i] & ~mam_atomic_load64(&seen->has[i], MAM_RELAXED, MAM_AT_DEVICE))
			(void)mam_atomic_or64(&seen->has[i], classes->has[i], MAM_RELAXED,
					      MAM_AT_DEVICE);
}

/* Units of an object of the class that is a run. */
MAM_KFN uint32_t mam_pass_units(uint64_t traits)
{
	return (mam_traits_quanta(traits) + MAM_BLOCK_UNITS - 1) / MAM_BLOCK_UNITS;
}

/*
 * Whether an object of the class may be a run. One of a power of two is aligned to its size: then a
 * group is such a run.
 */
MAM_KFN bool mam_pass_runs(uint64_t traits)
{
	return (mam_traits_quanta(traits) & (mam_traits_quanta(traits) - 1)) != 0;
}

/* Units of the run that starts at a unit with this owner; 0: none does, or a long one. */
MAM_KFN uint32_t mam_pass_run(uint32_t owner)
{
	if (owner > MAM_OWNER_FEW && owner <= MAM_OWNER_FEW + MAM_FEW_UNITS)
		return owner - MAM_OWNER_FEW;
	return owner > MAM_CLASSES && owner < MAM_OWNER_MOVING ? owner - MAM_OWNER_RUN : 0;
}

/*
 * Those of `starts` where so many units leave no free unit directly before or after them in the block.
 * Taken first, they leave longer stretches whole.
 */
MAM_KFN uint64_t mam_pass_exact(uint64_t starts, uint64_t taken, uint32_t units)
{
	return starts & ~(~taken << 1) & ~(~taken >> units);
}

/*
 * Step 4: a word in a block with a group whose units are all free in `taken`, its number in
 * `group`; or MAM_NO_WORD. The first group that starts at unit `from` or later, or else the first;
 * if possible, one that leaves no free unit beside it.
 */
MAM_KFN uint32_t mam_pass_open(uint64_t traits, uint32_t block, uint64_t taken, uint32_t from,
			       uint32_t *group)
{
	uint32_t each = mam_traits_group_units(traits), word, unit, number;
	uint32_t span = (1u << mam_traits_span_shift(traits)) - 1;
	uint64_t starts = mam_bits_stretches(~taken, each), left;

	/* The last group of a slab may have fewer units. */
	if (mam_traits_slots(traits) & ((1u << mam_traits_group_shift(traits)) - 1))
		starts |= ~taken;
	left = mam_bits_rotate_right(mam_pass_exact(starts, taken, each), from);
	starts = mam_bits_rotate_right(starts, from);
	MAM_ROLLED
	for (;; left &= left - 1) {
		if (!left) {
			left = starts;
			starts = 0;
		}
		if (!left)
			return MAM_NO_WORD;
		unit = (mam_ffs64(left) - 1 + from) % MAM_BLOCK_UNITS;
		number = (unit & span) / each;
		word = (block * MAM_BLOCK_UNITS + unit) >> mam_traits_span_shift(traits);
		if (number * each == (unit & span) && number < mam_slab_groups(traits) &&
		    !(taken & mam_slab_group_units(traits, word, number))) {
			*group = number;
			return word;
		}
	}
}

/* The highest bits of the bytes of a word, as eight bits. */
MAM_KFN uint32_t mam_pass_gather(uint64_t bytes)
{
	return (uint32_t)((bytes & 0x8080808080808080) * 0x0002040810204081 >> 56);
}

/* The owners that are 0, or a class and MOVING: eight bits for the eight owners in a word. */
MAM_KFN uint32_t mam_pass_moving(uint64_t owners)
{
	uint64_t low = owners & 0x7f7f7f7f7f7f7f7f, some = low + 0x7f7f7f7f7f7f7f7f;

	/* 55 = 127 - MAM_CLASSES. */
	return mam_pass_gather((some & ~(low + 0x3737373737373737) & owners) | ~(some | owners));
}

/*
 * Where slabs start or continue after other owners: eight bits for word `at` of a block's owners.
 * Each unit of a slab is such a unit, or follows one of the same slab. `before` has the owner of
 * the preceding unit in its highest byte.
 */
MAM_KFN uint32_t mam_pass_starts(uint64_t owners, uint64_t before, uint32_t at)
{
	uint64_t low = owners & 0x7f7f7f7f7f7f7f7f, other = owners ^ (owners << 8 | before >> 56);
	/*
	 * A unit with k trailing zeros in its number starts a slab of each class whose span shift is
	 * at most k: of those below 2, 4, 8, 12, 16 and 24; unit 0 of each class. Added to 128 minus
	 * that, a lower class does not reach 128.
	 */
	uint64_t least = 0x7e7c7e787e7c7e00 | (0x7470746874707400 >> 8 * at & 255);

	other = (((other & 0x7f7f7f7f7f7f7f7f) + 0x7f7f7f7f7f7f7f7f) | other) | ~(low + least);
	return mam_pass_gather(other & ((low + 0x7f7f7f7f7f7f7f7f) & ~(low + 0x3737373737373737)) &
			       ~owners);
}

/* The first units of those groups of a slab whose slots are all free in `seen`. */
MAM_KFN uint64_t mam_pass_idle(uint64_t traits, uint32_t word, uint64_t seen)
{
	uint32_t unit = mam_slab_unit(traits, word) % MAM_BLOCK_UNITS, group;
	uint64_t slots, units = 0;

	MAM_ROLLED
	for (; seen; seen &= ~slots) {
		group = (mam_ffs64(seen) - 1) >> mam_traits_group_shift(traits);
		slots = mam_slab_group_slots(traits, group);
		if (!(~seen & slots))
			units |= (uint64_t)1 << (unit + group * mam_traits_group_units(traits));
	}
	return units;
}

/* Closes the group of a unit of a block. Returns its units, or 0. */
MAM_KFN uint64_t mam_pass_close(const struct mam_kheap *heap, uint32_t block, uint32_t unit)
{
	uint32_t owner, word, group;
	uint64_t traits;

	unit += block * MAM_BLOCK_UNITS;
	owner = mam_owners_load(heap, unit);
	if (owner - 1 >= MAM_CLASSES)
		return 0;
	traits = mam_traits_of(owner);
	word = unit >> mam_traits_span_shift(traits);
	group = mam_slab_group(traits, word, unit);
	return mam_slab_close(heap, owner, word, group) ? mam_slab_group_units(traits, word, group)
							: 0;
}

/*
 * The end of step 4 for one class, in a block whose units were seen as `taken`. Returns a word with a
 * group, or MAM_NO_WORD: then sets `unit` if there is room for a run.
 */
MAM_KSLOW uint32_t mam_pass_room(uint32_t class_, uint32_t block, uint64_t taken, uint32_t *unit)
{
	uint64_t traits = mam_traits_of(class_), starts;
	uint32_t word, group;

	word = mam_pass_open(traits, block, taken, 0, &group);
	if (word != MAM_NO_WORD || !mam_pass_runs(traits))
		return word;
	starts = mam_bits_stretches(~taken, mam_pass_units(traits));
	if (starts)
		*unit = block * MAM_BLOCK_UNITS + mam_ffs64(starts) - 1;
	return word;
}

/*
 * The end of step 4 for all classes. `others`: those of `wanted` for which there is a slot; adds those
 * with room for a group or a run.
 */
MAM_KSLOW void mam_pass_rooms(const struct mam_kheap *heap, const struct mam_kwanted *wanted,
			      uint32_t block, uint64_t taken, struct mam_klook *look,
			      struct mam_kset *others)
{
	struct mam_kset left = wanted->mine;
	uint32_t class_, word, unit;

	MAM_ROLLED
	while ((class_ = mam_set_first(&left)) != 0) {
		mam_set_flip(&left, class_);
		unit = MAM_NO_PAGE;
		word = mam_pass_room(class_, block, taken, &unit);
		if (word != MAM_NO_WORD) {
			look->class_ = class_;
			look->word = word;
			look->unit = MAM_NO_PAGE;
			return;
		}
		if (unit != MAM_NO_PAGE) {
			look->unit = unit;
			mam_set_flip(others, class_);
			mam_pass_hint(heap, class_, block, unit >> mam_class_span_shift(class_));
		}
	}
	left.has[0] = wanted->others.has[0] & ~others->has[0];
	left.has[1] = wanted->others.has[1] & ~others->has[1];
	MAM_ROLLED
	while ((class_ = mam_set_first(&left)) != 0) {
		mam_set_flip(&left, class_);
		unit = MAM_NO_PAGE;
		word = mam_pass_room(class_, block, taken, &unit);
		if (word == MAM_NO_WORD && unit != MAM_NO_PAGE)
			word = unit >> mam_class_span_shift(class_);
		if (word == MAM_NO_WORD)
			continue;
		mam_set_flip(others, class_);
		mam_pass_hint(heap, class_, block, word);
	}
}

/*
 * Step 3 for the units of one word of owners, of which `starts` begin or continue a slab: returns room
 * for one of `mine`, or MAM_NO_WORD. Adds to `others` the classes with a free slot, from the
 * lowest one that is wanted, and to `idle` the first units of idle groups.
 */
MAM_KFN uint32_t mam_pass_slabs(const struct mam_kheap *heap, const struct mam_kwanted *wanted,
				uint32_t unit, uint64_t owners, uint32_t starts,
				struct mam_kset *others, uint64_t *idle, uint32_t *class_)
{
	/* Here: as a variable of the caller it takes five registers. */
	struct mam_kset any = { { wanted->mine.has[0] | wanted->others.has[0],
				  wanted->mine.has[1] | wanted->others.has[1] } };
	uint64_t seen[MAM_PASS_WIDTH], traits, one;
	uint32_t owner, word, least = mam_set_first(&any), i, n;

	for (i = 0; i < MAM_PASS_WIDTH; i++) {
		seen[i] = 0;
		if (!(starts >> i & 1))
			continue;
		traits = mam_traits_of((uint32_t)(owners >> 8 * i) & 127);
		seen[i] = mam_slots_load(mam_traits_words(heap, traits),
					 (unit + i) >> mam_traits_span_shift(traits));
	}
	MAM_ROLLED
	for (n = 0; n < MAM_PASS_WIDTH; n++) {
		one = seen[0];
		for (i = 1; i < MAM_PASS_WIDTH; i++)
			seen[i - 1] = seen[i];
		if (!one)
			continue;
		owner = (uint32_t)(owners >> 8 * n) & 127;
		traits = mam_traits_of(owner);
		word = (unit + n) >> mam_traits_span_shift(traits);
		if (mam_set_has(&wanted->mine, owner)) {
			*class_ = owner;
			return word;
		}
		if (owner >= least && !mam_set_has(others, owner)) {
			mam_set_flip(others, owner);
			if (mam_set_has(&wanted->others, owner))
				mam_pass_hint(heap, owner, unit / MAM_BLOCK_UNITS, word);
		}
		/* Slots of the last group, which may be smaller than the others. */
		i = mam_traits_slots(traits) & ((1u << mam_traits_group_shift(traits)) - 1);
		i = i ? i : 1u << mam_traits_group_shift(traits);
		if (mam_popc64(one) >= i)
			*idle |= mam_pass_idle(traits, word, one);
	}
	return MAM_NO_WORD;
}

/* Steps 1 to 4. Without classes: only closes idle groups. */
MAM_KSLOW struct mam_klook mam_pass_block(const struct mam_kheap *heap,
					  const struct mam_kwanted *wanted, uint32_t block)
{
	uint64_t *bits = mam_pages_bits(heap->units), taken, one, left, idle = 0, some = 0;
	uint64_t owners[MAM_PASS_OWNERS];
	struct mam_kset others = { { 0, 0 } }, larger;
	uint32_t at, starts;
	struct mam_klook look;

	look.class_ = 0;
	look.word = MAM_NO_WORD;
	look.unit = MAM_NO_PAGE;
	look.closed = 0;
	look.doubt = 0;
	look.closes = mam_atomic_load32(&heap->closes[block], MAM_ACQUIRE, MAM_AT_DEVICE);
	taken = mam_bitmap_load(bits, block);
	for (at = 0; at < MAM_PASS_OWNERS; at++)
		owners[at] = mam_global_load64(&heap->owners[block * MAM_PASS_OWNERS + at],
					       MAM_RELAXED, MAM_AT_DEVICE);
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	one = 0;
	MAM_ROLLED
	for (at = 0; at < MAM_PASS_OWNERS; at++) {
		look.doubt |= mam_pass_moving(owners[at]) & (uint32_t)(taken >> 8 * at);
		starts = mam_pass_starts(owners[at], one, at);
		one = owners[at];
		some |= starts;
		if (starts)
			look.word = mam_pass_slabs(heap, wanted, block * MAM_BLOCK_UNITS + 8 * at,
						   one, starts, &others, &idle, &look.class_);
		if (look.word != MAM_NO_WORD)
			return look;
	}
	look.doubt = (look.doubt & 255) != 0;
	if (!some && !~taken)
		return look;
	MAM_ROLLED
	for (; idle; idle &= idle - 1) {
		one = mam_pass_close(heap, block, mam_ffs64(idle) - 1);
		taken &= ~one;
		look.closes += one != 0;
		look.closed += one != 0;
		look.doubt |= !one;
	}
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	look.doubt |=
		mam_atomic_load32(&heap->closes[block], MAM_RELAXED, MAM_AT_DEVICE) != look.closes;
	if (!(wanted->mine.has[0] | wanted->mine.has[1] | wanted->others.has[0] |
	      wanted->others.has[1]))
		return look;
	left = mam_bitmap_load(bits, block);
	look.doubt |= (left & ~taken) != 0;
	larger = others;
	if (~left)
		mam_pass_rooms(heap, wanted, block, left, &look, &others);
	/* Not before the last look at a block: each is recorded once. */
	if (look.word != MAM_NO_WORD || wanted->turn == MAM_PASS_SILENT)
		return look;
	if (larger.has[0] | larger.has[1])
		mam_pass_larger(heap, &larger, wanted->turn);
	for (at = 0; at < 2; at++)
		others.has[at] &= wanted->mine.has[at] | wanted->others.has[at];
	MAM_ROLLED
	while ((at = mam_set_first(&others)) != 0) {
		mam_set_flip(&others, at);
		mam_pass_record(heap, at, block, wanted->turn);
	}
	return look;
}

#endif
