/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large.h - objects that are too large for a grant: each is a block of the host's pool, requested
 * and freed through a mailbox slot (mail.h) that it owns meanwhile.
 *
 * To allocate, by a single lane:
 * 1. Claim a slot: clear a bit of `large_free`, starting at a random place. If several looks find
 *    no set bit: no slot.
 * 2. If the last message in the slot was a FREE or a CANCEL, wait for the reply.
 * 3. Post ALLOC with the next generation, and wait for the reply, with growing pauses.
 * 4. GIVEN: record address and length, set LIVE, and leave a hint where to find the object.
 *    Refused: set the bit again. No reply in time: post CANCEL, never read that reply, and set the
 *    bit again: the lane that claims the slot next waits for the end of the CANCEL first.
 *
 * To free:
 * 1. Look up the slot: where the hint points, otherwise all slots in use.
 * 2. Change its state from LIVE to LEAVING by compare-and-swap: the lane that succeeds frees.
 * 3. Post FREE, set the bit, and wait for nothing.
 *
 * An address inside of a large object is searched for in all slots, but only if lanes have parts of
 * it.
 *
 * Why a slot has one owner at a time: the atomic that clears its bit identifies the winner, and
 * the bit is set again only by that lane, or by the lane that frees the object. A lane that stops
 * in between keeps the slot and nothing else. The state changes from LIVE once, as its generation
 * never recurs. So of concurrent frees of an object one succeeds, and a lane with a stale address
 * finds the state of another generation, or another address.
 *
 * Why memory has one owner at a time: FREE is posted with a system-scope release, so all accesses
 * before the free precede the host's acquire of it; and the next owner of the memory acquires the
 * host's reply. The address is erased before FREE is posted, so it is in one slot at a time.
 *
 * After a timeout no lane waits for the host again until its beat changes: `silent` has the beat of
 * the timeout, plus 1.
 *
 * No lane waits for another one, except in step 2 for the host's reply to another lane's message.
 *
 * Bound: to allocate, three round trips to device memory and two times the host's time, at most
 * wait_ns; to free, four round trips and three writes to host memory. An address outside of all
 * objects costs a load for each slot in use, MAM_LARGE_LOOKS at a time. On an H100, with a host
 * that polls all the time: 8 us and 2.6 us for one lane, 15 us and 6 us for 132 concurrent lanes; a
 * lookup takes 1.1 us with few objects, 4 us with 512; a failed lookup 6 us with few, 50 us with
 * 512. An unordered knock would save half a microsecond.
 */
#ifndef MAM_HEAP_GROWTH_LARGE_H
#define MAM_HEAP_GROWTH_LARGE_H

#include "heap/growth/growth.h"
#include "heap/pages/scan.h"

enum mam_large_answer { MAM_LARGE_UNKNOWN, MAM_LARGE_GIVEN };

#define MAM_LARGE_WORDS (MAM_MAIL_SLOTS / 64)
#define MAM_LARGE_LOOKS 8
#define MAM_LARGE_PASSES 4
#define MAM_LARGE_NO_SLOT 0xffffffffu
#define MAM_LARGE_GOLDEN 0x9e3779b97f4a7c15u

/* The low bits of state and stamps; the rest is the generation, which is incremented in place. */
#define MAM_LARGE_LOW ((uint64_t)255)
#define MAM_LARGE_NEXT ((uint64_t)256)

/* A slot as it was at the lookup. */
struct mam_kplaced {
	uint64_t state;
	uint32_t slot; /* or MAM_LARGE_NO_SLOT */
};

MAM_KFN struct mam_growth *mam_large_growth(const struct mam_kheap *heap)
{
	return (struct mam_growth *)mam_constant_pointer(&heap->growth);
}

MAM_KFN struct mam_mail *mam_large_mail(const struct mam_growth *growth)
{
	return (struct mam_mail *)mam_constant_pointer(&growth->mail);
}

/* The counter for a failure cause of the host, or for its silence. */
MAM_KFN enum mam_object_tally mam_large_why(uint32_t cause)
{
	return cause == MAM_MAIL_LIMIT      ? MAM_OBJECT_AT_LIMIT
	       : cause == MAM_MAIL_FULL     ? MAM_OBJECT_POOL_FULL
	       : cause == MAM_MAIL_BAD      ? MAM_OBJECT_TOO_LARGE
	       : cause == MAM_GROWTH_SILENT ? MAM_OBJECT_SILENT
					    : MAM_OBJECT_REFUSED;
}

/* Returns whether the host has shown no sign of life since the last timeout. */
MAM_KFN bool mam_large_silent(struct mam_growth *growth)
{
	uint64_t silent = mam_global_load64(&growth->silent, MAM_RELAXED, MAM_AT_DEVICE);

	return silent &&
	       mam_global_load64(&mam_large_mail(growth)->beat, MAM_RELAXED, MAM_AT_SYSTEM) + 1 ==
		       silent;
}

/* Records a timeout. */
MAM_KFN void mam_large_note_silence(struct mam_growth *growth)
{
	uint64_t beat =
		mam_global_load64(&mam_large_mail(growth)->beat, MAM_RELAXED, MAM_AT_SYSTEM);

	mam_atomic_store64(&growth->silent, beat + 1, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Step 1, if a bit is set in this word. */
MAM_KFN uint32_t mam_large_grab(struct mam_growth *growth, uint32_t word, uint32_t from)
{
	uint64_t left, bit, seen;

	left = mam_global_load64(&growth->large_free[word], MAM_RELAXED, MAM_AT_DEVICE);
	MAM_ROLLED
	while (left) {
		bit = mam_bits_pick(left, 1, from);
		seen = mam_global_and64(&growth->large_free[word], ~bit, MAM_ACQUIRE,
					MAM_AT_DEVICE);
		if (seen & bit)
			return word * 64 + mam_ffs64(bit) - 1;
		left &= seen;
	}
	return MAM_LARGE_NO_SLOT;
}

/* Step 1. Under contention one look at all slots may miss each of them, so it takes a few. */
MAM_KFN uint32_t mam_large_claim(struct mam_growth *growth)
{
	uint32_t random =
		mam_walk_mix((mam_block() * mam_block_threads() + mam_thread()) * MAM_WALK_GOLDEN +
			     (uint32_t)mam_clock());
	uint32_t passes, i, slot = MAM_LARGE_NO_SLOT;
	uint64_t any;

	MAM_ROLLED
	for (passes = 0; passes < MAM_LARGE_PASSES; passes++) {
		if (passes)
			mam_scan_pause(passes);
		any = 0;
		for (i = 0; i < MAM_LARGE_WORDS; i++)
			any |= mam_global_load64(&growth->large_free[i], MAM_RELAXED,
						 MAM_AT_DEVICE);
		MAM_ROLLED
		for (i = 0; any && i < MAM_LARGE_WORDS; i++) {
			slot = mam_large_grab(growth, (random / 64 + i) % MAM_LARGE_WORDS,
					      random % 64);
			if (slot != MAM_LARGE_NO_SLOT)
				return slot;
		}
	}
	return slot;
}

/* Marks the slot unused. */
MAM_KFN void mam_large_leave(struct mam_growth *growth, uint32_t slot)
{
	(void)mam_global_or64(&growth->large_free[slot / 64], (uint64_t)1 << slot % 64, MAM_RELEASE,
			      MAM_AT_DEVICE);
}

/* Posts a message whose detail, if any, is written, and changes the knock to a new value. */
MAM_KFN void mam_large_post(struct mam_mail *mail, uint32_t slot, uint64_t stamp)
{
	mam_atomic_store64(&mail->ask[slot].stamp, stamp, MAM_RELEASE, MAM_AT_SYSTEM);
	mam_atomic_store64(&mail->knock,
			   (stamp * MAM_MAIL_SLOTS + slot) * MAM_LARGE_GOLDEN + mam_timer(),
			   MAM_RELEASE, MAM_AT_SYSTEM);
}

/* Waits for the reply to the generation of `stamp`: returns its cause, or MAM_GROWTH_SILENT. */
MAM_KFN uint32_t mam_large_wait(const struct mam_growth *growth, uint32_t slot, uint64_t stamp,
				uint64_t begun)
{
	struct mam_mail *mail = mam_large_mail(growth);
	uint64_t answer;
	uint32_t looks;

	MAM_ROLLED
	for (looks = 0;; looks++) {
		answer = mam_global_load64(&mail->answer[slot].stamp, MAM_ACQUIRE, MAM_AT_SYSTEM);
		if ((answer ^ stamp) <= MAM_LARGE_LOW)
			return (uint32_t)(answer & MAM_LARGE_LOW);
		if (mam_timer() - begun >= mam_constant64(&growth->wait_ns))
			return MAM_GROWTH_SILENT;
		mam_scan_pause(looks);
	}
}

MAM_KFN uint32_t mam_large_hint(uint64_t address)
{
	return mam_walk_mix((uint32_t)(address >> 9)) % MAM_LARGE_HINTS;
}

/* Step 4 on success: publishes the object for lookups. */
MAM_KFN void mam_large_keep(struct mam_growth *growth, uint32_t slot, uint64_t stamp,
			    uint64_t address, uint64_t bytes)
{
	struct mam_large *large = &growth->large[slot];

	mam_atomic_store64(&large->address, address, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&large->bytes, bytes, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store32(&growth->large_hint[mam_large_hint(address)], slot, MAM_RELAXED,
			   MAM_AT_DEVICE);
	mam_atomic_store64(&large->state, stamp | MAM_LARGE_LIVE, MAM_RELEASE, MAM_AT_DEVICE);
}

/* Step 4 on failure; `stamp` is that of the slot's last message. */
MAM_KFN void mam_large_drop(struct mam_growth *growth, uint32_t slot, uint64_t stamp,
			    uint32_t cause)
{
	uint64_t *state = &growth->large[slot].state;

	if (cause == MAM_GROWTH_SILENT) {
		stamp += MAM_LARGE_NEXT;
		mam_atomic_store64(state, stamp | MAM_LARGE_LEAVING, MAM_RELAXED, MAM_AT_DEVICE);
		mam_large_post(mam_large_mail(growth), slot, stamp | MAM_MAIL_CANCEL);
	} else {
		mam_atomic_store64(state, stamp | MAM_LARGE_FREE, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

/* Steps 2 to 4 in a slot that the caller owns: returns the address, or 0 and `cause`. */
MAM_KFN uint64_t mam_large_ask(struct mam_growth *growth, uint32_t slot, uint64_t bytes,
			       uint64_t begun, uint32_t *cause)
{
	struct mam_mail *mail = mam_large_mail(growth);
	uint64_t *state = &growth->large[slot].state, address = 0, stamp;

	stamp = mam_global_load64(state, MAM_RELAXED, MAM_AT_DEVICE);
	*cause = MAM_MAIL_GIVEN;
	if ((stamp & MAM_LARGE_LOW) == MAM_LARGE_LEAVING)
		*cause = mam_large_wait(growth, slot, stamp, begun);
	if (*cause != MAM_GROWTH_SILENT) {
		stamp = (stamp & ~MAM_LARGE_LOW) + MAM_LARGE_NEXT;
		mam_atomic_store64(state, stamp | MAM_LARGE_ASKING, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_store64(&mail->ask[slot].detail, bytes, MAM_RELAXED, MAM_AT_SYSTEM);
		mam_large_post(mail, slot, stamp | MAM_MAIL_ALLOC);
		*cause = mam_large_wait(growth, slot, stamp, begun);
		if (*cause == MAM_MAIL_GIVEN)
			address = mam_global_load64(&mail->answer[slot].address, MAM_RELAXED,
						    MAM_AT_SYSTEM);
		if (address) {
			mam_large_keep(growth, slot, stamp, address, bytes);
			return address;
		}
		mam_large_drop(growth, slot, stamp, *cause);
	}
	mam_large_leave(growth, slot);
	if (*cause == MAM_GROWTH_SILENT)
		mam_large_note_silence(growth);
	return 0;
}

/*
 * mam_large_alloc - allocates a block of the pool, of `bytes` rounded up to whole units. Returns
 * NULL and counts an error if there is none, or if the host did not reply in time. By any single
 * lane. pre: the heap grows.
 */
MAM_KSLOW void *mam_large_alloc(const struct mam_kheap *heap, size_t bytes)
{
	const uint64_t unit = (uint64_t)1 << MAM_UNIT_SHIFT, begun = mam_timer();
	uint64_t wanted = ((uint64_t)bytes + unit - 1) & ~(unit - 1), address = 0;
	struct mam_growth *growth = mam_large_growth(heap);
	enum mam_object_tally why = MAM_OBJECT_NO_SLOT;
	uint32_t slot, cause;

	if (!wanted) {
		/* Also if rounding up overflows. */
		why = MAM_OBJECT_TOO_LARGE;
	} else if (mam_large_silent(growth)) {
		why = MAM_OBJECT_SILENT;
	} else {
		slot = mam_large_claim(growth);
		if (slot != MAM_LARGE_NO_SLOT) {
			address = mam_large_ask(growth, slot, wanted, begun, &cause);
			why = mam_large_why(cause);
		}
	}
	if (!address)
		(void)mam_atomic_add64(&heap->tallies->of[why].value, 1, MAM_RELAXED,
				       MAM_AT_DEVICE);
	return (void *)(uintptr_t)address;
}

/* The state of the slot if the object is there, otherwise 0. */
MAM_KFN uint64_t mam_large_look(struct mam_growth *growth, uint32_t slot, uint64_t address)
{
	struct mam_large *large = &growth->large[slot];
	uint64_t state = mam_global_load64(&large->state, MAM_ACQUIRE, MAM_AT_DEVICE);

	return (state & MAM_LARGE_LOW) == MAM_LARGE_LIVE &&
			       mam_global_load64(&large->address, MAM_RELAXED, MAM_AT_DEVICE) ==
				       address
		       ? state
		       : 0;
}

/* Without a hit by a hint: searches all slots in use. */
MAM_KSLOW struct mam_kplaced mam_large_search(struct mam_growth *growth, uint64_t address)
{
	uint64_t used, seen[MAM_LARGE_LOOKS];
	uint32_t word, slot[MAM_LARGE_LOOKS], last, i;
	struct mam_kplaced placed;

	placed.state = 0;
	last = 0;
	MAM_ROLLED
	for (word = 0; word < MAM_LARGE_WORDS; word++) {
		used = ~mam_global_load64(&growth->large_free[word], MAM_RELAXED, MAM_AT_DEVICE);
		MAM_ROLLED
		while (used) {
			/* Fill up with repeated slots. */
			for (i = 0; i < MAM_LARGE_LOOKS; i++) {
				last = used ? word * 64 + mam_ffs64(used) - 1 : last;
				slot[i] = last;
				used &= used - 1;
			}
			for (i = 0; i < MAM_LARGE_LOOKS; i++)
				seen[i] = mam_global_load64(&growth->large[slot[i]].address,
							    MAM_RELAXED, MAM_AT_DEVICE);
			placed.slot = MAM_LARGE_NO_SLOT;
			for (i = 0; i < MAM_LARGE_LOOKS; i++)
				placed.slot = seen[i] == address ? slot[i] : placed.slot;
			if (placed.slot == MAM_LARGE_NO_SLOT)
				continue;
			placed.state = mam_large_look(growth, placed.slot, address);
			if (placed.state)
				return placed;
		}
	}
	placed.slot = MAM_LARGE_NO_SLOT;
	return placed;
}

MAM_KFN struct mam_kplaced mam_large_find(struct mam_growth *growth, uint64_t address)
{
	struct mam_kplaced placed;

	placed.slot = mam_atomic_load32(&growth->large_hint[mam_large_hint(address)], MAM_RELAXED,
					MAM_AT_DEVICE) %
		      MAM_MAIL_SLOTS;
	placed.state = mam_large_look(growth, placed.slot, address);
	return placed.state ? placed : mam_large_search(growth, address);
}

/*
 * mam_large_free - frees the object. Returns UNKNOWN if no large object of this heap starts there
 * (any more); nothing has changed then. By any single lane. pre: the heap grows.
 */
MAM_KSLOW enum mam_large_answer mam_large_free(const struct mam_kheap *heap, const void *object)
{
	const uint64_t address = (uint64_t)(uintptr_t)object;
	struct mam_growth *growth = mam_large_growth(heap);
	struct mam_mail *mail = mam_large_mail(growth);
	struct mam_kplaced placed = mam_large_find(growth, address);
	struct mam_large *large;
	uint64_t stamp;

	if (placed.slot == MAM_LARGE_NO_SLOT)
		return MAM_LARGE_UNKNOWN;
	large = &growth->large[placed.slot];
	stamp = (placed.state & ~MAM_LARGE_LOW) + MAM_LARGE_NEXT;
	if (mam_global_cas64(&large->state, placed.state, stamp | MAM_LARGE_LEAVING, MAM_RELAXED,
			     MAM_AT_DEVICE) != placed.state)
		return MAM_LARGE_UNKNOWN;
	mam_atomic_store64(&large->address, 0, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&mail->ask[placed.slot].detail, address, MAM_RELAXED, MAM_AT_SYSTEM);
	mam_large_post(mail, placed.slot, stamp | MAM_MAIL_FREE);
	mam_large_leave(growth, placed.slot);
	return MAM_LARGE_GIVEN;
}

/*
 * mam_large_usable - returns the usable bytes at `object`; 0 if no large object of this heap starts
 * there.
 */
MAM_KSLOW size_t mam_large_usable(const struct mam_kheap *heap, const void *object)
{
	struct mam_growth *growth = mam_large_growth(heap);
	struct mam_kplaced placed = mam_large_find(growth, (uint64_t)(uintptr_t)object);

	if (placed.slot == MAM_LARGE_NO_SLOT)
		return 0;
	return (size_t)mam_global_load64(&growth->large[placed.slot].bytes, MAM_RELAXED,
					 MAM_AT_DEVICE);
}

/* The large object that contains an address. */
struct mam_klarge {
	uint64_t address, bytes; /* bytes of 0: none */
	uint64_t state;
	uint32_t slot;
	bool marked;
};

/*
 * mam_large_around - looks at all slots in use, two at a time. By any single lane. pre: the heap
 * grows.
 */
MAM_KSLOW struct mam_klarge mam_large_around(const struct mam_kheap *heap, const void *inside)
{
	struct mam_growth *growth = mam_large_growth(heap);
	uint64_t used, address[2], bytes[2];
	uint32_t word, first, i;
	struct mam_klarge large;

	MAM_ROLLED
	for (word = 0; word < MAM_LARGE_WORDS; word++) {
		used = ~mam_global_load64(&growth->large_free[word], MAM_RELAXED, MAM_AT_DEVICE);
		MAM_ROLLED
		for (; used; used &= ~((uint64_t)3 << first)) {
			first = (mam_ffs64(used) - 1) & ~1u;
			large.slot = word * 64 + first;
			for (i = 0; i < 2; i++) {
				address[i] =
					mam_global_load64(&growth->large[large.slot + i].address,
							  MAM_RELAXED, MAM_AT_DEVICE);
				bytes[i] = mam_global_load64(&growth->large[large.slot + i].bytes,
							     MAM_RELAXED, MAM_AT_DEVICE);
			}
			large.address = address[0];
			large.bytes = bytes[0];
			if ((uint64_t)(uintptr_t)inside - address[0] >= bytes[0]) {
				large.slot++;
				large.address = address[1];
				large.bytes = bytes[1];
			}
			if ((uint64_t)(uintptr_t)inside - large.address >= large.bytes)
				continue;
			large.state = mam_large_look(growth, large.slot, large.address);
			large.marked = large.state &&
				       mam_global_load64(&growth->large[large.slot].marked,
							 MAM_RELAXED, MAM_AT_DEVICE) == large.state;
			if (large.state)
				return large;
		}
	}
	large.bytes = 0;
	large.marked = false;
	return large;
}

/*
 * mam_large_mark - records that lanes have parts of the object that contains the address
 * (collective.h). Other objects' memory is never read, as it may be returning to the host.
 */
MAM_KSLOW void mam_large_mark(const struct mam_kheap *heap, const void *inside)
{
	struct mam_growth *growth = mam_large_growth(heap);
	struct mam_klarge large = mam_large_around(heap, inside);

	if (large.bytes)
		mam_atomic_store64(&growth->large[large.slot].marked, large.state, MAM_RELAXED,
				   MAM_AT_DEVICE);
}

#endif
