/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large.h - objects that are too large for a grant: each is a block of the host's pool, requested
 * and freed by messages through the slots of the mailbox (mail.h). A live object has a record in a
 * table in device memory, and no slot.
 *
 * To allocate, by a single lane:
 * 1. Claim a slot: clear a bit of `large_free`, starting at a random place. If no bit is set, look
 *    again, as long as the lane may wait. If the last message in the slot was a FREE or a CANCEL,
 *    wait for its reply.
 * 2. Post ALLOC with the next generation, and wait for the reply, with growing pauses.
 * 3. GIVEN: write length and address to the record that the host chose. Set the bit again.
 *    Refused: set the bit. No reply in time: post CANCEL, never read that reply, and set the bit.
 *
 * To free:
 * 1. Look up the record: in the row of each table that the address selects (growth.h).
 * 2. Change its address to 0 by compare-and-swap: the lane that succeeds frees.
 * 3. Claim a slot, as above; post FREE, set the bit, and do not wait for the reply. If no slot was
 *    available in time, mark the record as UNSENT instead: the next lane that allocates a large
 *    object sends the message first, and a reset frees the object, too.
 *
 * An address inside of a large object is searched for in all rows that have records of objects with
 * parts.
 *
 * Why a slot has one owner at a time: the atomic that clears its bit identifies the winner, and
 * the bit is set again only by that lane. A lane that stops in between keeps the slot and nothing
 * else.
 *
 * Why a record has one owner at a time: the host gives it away with an object, and again only after
 * the FREE of that object, which the lane posts that has erased the address. An address is in one
 * record at a time, as a block of the pool has one owner. So of concurrent frees of an object one
 * succeeds.
 *
 * Why memory has one owner at a time: FREE is posted with a system-scope release, so all accesses
 * before the free precede the host's acquire of it; and the next owner of the memory acquires the
 * host's reply.
 *
 * Why a lookup sees each table that it needs: a lane stores the addresses of all tables before that
 * of its object, and the lane that looks up has got the object from it.
 *
 * After a timeout no lane waits for the host again until its beat changes: `silent` has the beat of
 * the timeout, plus 1.
 *
 * No lane waits for another one, except for a slot, and for the host's reply to its last message.
 *
 * Bound: to allocate, three round trips to device memory and two times the host's time, at most
 * wait_ns; to free, five round trips and three writes to host memory. A lookup costs a load for
 * each table and MAM_LARGE_ROW loads at a time in each, also for an address outside of all objects;
 * the number of tables is the logarithm of the number of objects.
 */
#ifndef MAM_HEAP_GROWTH_LARGE_H
#define MAM_HEAP_GROWTH_LARGE_H

#include "heap/growth/growth.h"
#include "heap/pages/scan.h"

enum mam_large_answer { MAM_LARGE_UNKNOWN, MAM_LARGE_GIVEN };

#define MAM_LARGE_WORDS (MAM_MAIL_SLOTS / 64)
#define MAM_LARGE_NO_SLOT 0xffffffffu
#define MAM_LARGE_GOLDEN 0x9e3779b97f4a7c15u

/* The low bits of stamps; the rest is the generation, which is incremented in place. */
#define MAM_LARGE_LOW ((uint64_t)255)
#define MAM_LARGE_NEXT ((uint64_t)256)

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
	       : cause == MAM_GROWTH_BUSY   ? MAM_OBJECT_NO_SLOT
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

/* Returns whether a lane that began to wait then must not wait any longer. */
MAM_KFN bool mam_large_late(const struct mam_growth *growth, uint64_t begun)
{
	return mam_timer() - begun >= mam_constant64(&growth->wait_ns);
}

/* Step 1: looks at all slots until it claims one, or time is up. */
MAM_KFN uint32_t mam_large_claim(struct mam_growth *growth, uint64_t begun)
{
	uint32_t random =
		mam_walk_mix((mam_block() * mam_block_threads() + mam_thread()) * MAM_WALK_GOLDEN +
			     (uint32_t)mam_clock());
	uint32_t looks, i, slot;
	uint64_t any;

	MAM_ROLLED
	for (looks = 0;; looks++) {
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
		if (mam_large_late(growth, begun))
			return MAM_LARGE_NO_SLOT;
		mam_scan_pause(looks);
	}
}

/* Marks the slot unused. */
MAM_KFN void mam_large_leave(struct mam_growth *growth, uint32_t slot)
{
	(void)mam_global_or64(&growth->large_free[slot / 64], (uint64_t)1 << slot % 64, MAM_RELEASE,
			      MAM_AT_DEVICE);
}

/* Posts a message in a slot of the caller's, and changes the knock. Returns its stamp. */
MAM_KFN uint64_t mam_large_send(struct mam_growth *growth, uint32_t slot, enum mam_mail_kind kind,
				uint64_t detail)
{
	struct mam_mail *mail = mam_large_mail(growth);
	uint64_t *sent = &growth->large_sent[slot], stamp;

	stamp = mam_global_load64(sent, MAM_RELAXED, MAM_AT_DEVICE);
	stamp = ((stamp & ~MAM_LARGE_LOW) + MAM_LARGE_NEXT) | (uint64_t)kind;
	mam_atomic_store64(sent, stamp, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&mail->ask[slot].detail, detail, MAM_RELAXED, MAM_AT_SYSTEM);
	mam_atomic_store64(&mail->ask[slot].stamp, stamp, MAM_RELEASE, MAM_AT_SYSTEM);
	mam_atomic_store64(&mail->knock,
			   (stamp * MAM_MAIL_SLOTS + slot) * MAM_LARGE_GOLDEN + mam_timer(),
			   MAM_RELEASE, MAM_AT_SYSTEM);
	return stamp;
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
		if (mam_large_late(growth, begun))
			return MAM_GROWTH_SILENT;
		mam_scan_pause(looks);
	}
}

/* Step 1: returns a slot whose last message has its reply, or NO_SLOT and `cause`. */
MAM_KFN uint32_t mam_large_enter(struct mam_growth *growth, uint64_t begun, uint32_t *cause)
{
	uint32_t slot = mam_large_claim(growth, begun);
	uint64_t stamp;

	*cause = MAM_GROWTH_BUSY;
	if (slot == MAM_LARGE_NO_SLOT)
		return slot;
	*cause = MAM_MAIL_GIVEN;
	stamp = mam_global_load64(&growth->large_sent[slot], MAM_RELAXED, MAM_AT_DEVICE);
	if ((stamp & MAM_LARGE_LOW) >= MAM_MAIL_FREE)
		*cause = mam_large_wait(growth, slot, stamp, begun);
	if (*cause != MAM_GROWTH_SILENT)
		return slot;
	mam_large_leave(growth, slot);
	mam_large_note_silence(growth);
	return MAM_LARGE_NO_SLOT;
}

/* Table number `table` of records, or NULL. */
MAM_KFN struct mam_large *mam_large_table(struct mam_growth *growth, uint32_t table)
{
	if (!table)
		return growth->large;
	return (struct mam_large *)(uintptr_t)mam_global_load64(&growth->large_table[table - 1],
								MAM_RELAXED, MAM_AT_DEVICE);
}

/* Step 3 on success: publishes the object for lookups, and all tables before it. */
MAM_KFN void mam_large_keep(struct mam_growth *growth, uint32_t slot, uint64_t address,
			    uint64_t bytes)
{
	struct mam_mail *mail = mam_large_mail(growth);
	struct mam_mail_answer *answer = &mail->answer[slot];
	struct mam_large *record;
	uint64_t tables, i;

	record = (struct mam_large *)(uintptr_t)mam_global_load64(&answer->record, MAM_RELAXED,
								  MAM_AT_SYSTEM);
	tables = mam_global_load64(&answer->tables, MAM_RELAXED, MAM_AT_SYSTEM);
	MAM_ROLLED
	for (i = 0; i < tables; i++)
		if (!mam_global_load64(&growth->large_table[i], MAM_RELAXED, MAM_AT_DEVICE))
			mam_atomic_store64(&growth->large_table[i],
					   mam_global_load64(&mail->large_table[i], MAM_RELAXED,
							     MAM_AT_SYSTEM),
					   MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&record->bytes, bytes, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&record->address, address, MAM_RELEASE, MAM_AT_DEVICE);
}

/* Step 2 in a slot of the caller's, then 3: returns the address, or 0 and `cause`. */
MAM_KFN uint64_t mam_large_ask(struct mam_growth *growth, uint32_t slot, uint64_t bytes,
			       uint64_t begun, uint32_t *cause)
{
	uint64_t stamp = mam_large_send(growth, slot, MAM_MAIL_ALLOC, bytes), address = 0;

	*cause = mam_large_wait(growth, slot, stamp, begun);
	if (*cause == MAM_MAIL_GIVEN)
		address = mam_global_load64(&mam_large_mail(growth)->answer[slot].address,
					    MAM_RELAXED, MAM_AT_SYSTEM);
	if (address)
		mam_large_keep(growth, slot, address, bytes);
	else if (*cause == MAM_GROWTH_SILENT)
		(void)mam_large_send(growth, slot, MAM_MAIL_CANCEL, 0);
	return address;
}

/*
 * Sends the messages of all records that are UNSENT, and waits for the replies, in a slot of the
 * caller's. Returns the last cause.
 */
MAM_KSLOW uint32_t mam_large_resend(struct mam_growth *growth, uint32_t slot, uint64_t begun)
{
	uint32_t table, i, cause = MAM_MAIL_GIVEN;
	struct mam_large *record;
	uint64_t address, stamp;

	/* One lane at a time. */
	if (!mam_atomic_xchg64(&growth->large_unsent, 0, MAM_ACQUIRE, MAM_AT_DEVICE))
		return cause;
	MAM_ROLLED
	for (table = 0; table <= MAM_LARGE_TABLES; table++) {
		record = mam_large_table(growth, table);
		if (!record)
			break;
		MAM_ROLLED
		for (i = 0; i < mam_large_rows(table) * MAM_LARGE_ROW; i++, record++) {
			address = mam_global_load64(&record->address, MAM_RELAXED, MAM_AT_DEVICE);
			/* Acquires, as the mark may be newer than the one of `large_unsent`. */
			if (!(address & MAM_LARGE_UNSENT) ||
			    mam_global_cas64(&record->address, address, 0, MAM_ACQUIRE,
					     MAM_AT_DEVICE) != address)
				continue;
			stamp = mam_large_send(growth, slot, MAM_MAIL_FREE,
					       address & ~MAM_LARGE_UNSENT);
			cause = mam_large_wait(growth, slot, stamp, begun);
			if (cause != MAM_GROWTH_SILENT)
				continue;
			mam_atomic_store64(&growth->large_unsent, 1, MAM_RELAXED, MAM_AT_DEVICE);
			return cause;
		}
	}
	return cause;
}

/* Steps 1 to 3: returns the address, or 0 and `cause`. */
MAM_KFN uint64_t mam_large_request(struct mam_growth *growth, uint64_t bytes, uint64_t begun,
				   uint32_t *cause)
{
	uint32_t slot = mam_large_enter(growth, begun, cause);
	uint64_t address = 0;

	if (slot == MAM_LARGE_NO_SLOT)
		return 0;
	if (mam_global_load64(&growth->large_unsent, MAM_RELAXED, MAM_AT_DEVICE))
		*cause = mam_large_resend(growth, slot, begun);
	if (*cause != MAM_GROWTH_SILENT)
		address = mam_large_ask(growth, slot, bytes, begun, cause);
	mam_large_leave(growth, slot);
	if (!address && *cause == MAM_GROWTH_SILENT)
		mam_large_note_silence(growth);
	return address;
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
	enum mam_object_tally why;
	uint32_t cause;

	if (!wanted) {
		/* Also if rounding up overflows. */
		why = MAM_OBJECT_TOO_LARGE;
	} else if (mam_large_silent(growth)) {
		why = MAM_OBJECT_SILENT;
	} else {
		address = mam_large_request(growth, wanted, begun, &cause);
		why = mam_large_why(cause);
	}
	if (!address)
		(void)mam_atomic_add64(&heap->tallies->of[why].value, 1, MAM_RELAXED,
				       MAM_AT_DEVICE);
	return (void *)(uintptr_t)address;
}

/* The record of the large object that starts at an address, or NULL. */
MAM_KFN struct mam_large *mam_large_find(struct mam_growth *growth, uint64_t address)
{
	uint32_t table, i, found = MAM_LARGE_ROW;
	struct mam_large *row;
	uint64_t seen[MAM_LARGE_ROW];

	if (!address || address & ((1u << MAM_UNIT_SHIFT) - 1))
		return NULL;
	MAM_ROLLED
	for (table = 0; table <= MAM_LARGE_TABLES; table++) {
		row = mam_large_table(growth, table);
		if (!row)
			break;
		row += mam_large_row(address, table);
		for (i = 0; i < MAM_LARGE_ROW; i++)
			seen[i] = mam_global_load64(&row[i].address, MAM_RELAXED, MAM_AT_DEVICE);
		for (i = 0; i < MAM_LARGE_ROW; i++)
			found = seen[i] == address ? i : found;
		if (found < MAM_LARGE_ROW)
			return &row[found];
	}
	return NULL;
}

/*
 * mam_large_free - frees the object. Returns UNKNOWN if no large object of this heap starts there
 * (any more); nothing has changed then. By any single lane. pre: the heap grows.
 */
MAM_KSLOW enum mam_large_answer mam_large_free(const struct mam_kheap *heap, const void *object)
{
	const uint64_t address = (uint64_t)(uintptr_t)object;
	struct mam_growth *growth = mam_large_growth(heap);
	struct mam_large *record = mam_large_find(growth, address);
	uint64_t begun = mam_timer();
	uint32_t slot, cause;

	if (!record ||
	    mam_global_cas64(&record->address, address, 0, MAM_RELAXED, MAM_AT_DEVICE) != address)
		return MAM_LARGE_UNKNOWN;
	/* No lane waits for a host that was silent before. */
	if (mam_large_silent(growth))
		begun -= mam_constant64(&growth->wait_ns);
	slot = mam_large_enter(growth, begun, &cause);
	if (slot != MAM_LARGE_NO_SLOT) {
		(void)mam_large_send(growth, slot, MAM_MAIL_FREE, address);
		mam_large_leave(growth, slot);
	} else {
		mam_atomic_store64(&record->address, address | MAM_LARGE_UNSENT, MAM_RELEASE,
				   MAM_AT_DEVICE);
		mam_atomic_store64(&growth->large_unsent, 1, MAM_RELEASE, MAM_AT_DEVICE);
	}
	return MAM_LARGE_GIVEN;
}

/*
 * mam_large_usable - returns the usable bytes at `object`; 0 if no large object of this heap starts
 * there.
 */
MAM_KSLOW size_t mam_large_usable(const struct mam_kheap *heap, const void *object)
{
	const uint64_t address = (uint64_t)(uintptr_t)object;
	struct mam_large *record = mam_large_find(mam_large_growth(heap), address);

	if (!record || mam_global_load64(&record->address, MAM_ACQUIRE, MAM_AT_DEVICE) != address)
		return 0;
	return (size_t)(mam_global_load64(&record->bytes, MAM_RELAXED, MAM_AT_DEVICE) &
			~MAM_LARGE_MARKED);
}

/* The large object that contains an address. */
struct mam_klarge {
	struct mam_large *record;
	uint64_t address, bytes; /* bytes of 0: none */
	bool marked;
};

/*
 * mam_large_around - looks at the rows of `rows`, as in `large_marked`: the object that contains
 * the address starts closest before it. By any single lane. pre: the heap grows.
 */
MAM_KSLOW struct mam_klarge mam_large_around(const struct mam_kheap *heap, const void *inside,
					     uint64_t rows)
{
	const uint64_t last = (uint64_t)(uintptr_t)inside;
	struct mam_growth *growth = mam_large_growth(heap);
	struct mam_large *at;
	struct mam_klarge large;
	uint64_t seen[4]; /* more need registers that all frees would have */
	uint32_t table, left, i;

	large.record = NULL;
	large.address = 0;
	large.bytes = 0;
	large.marked = false;
	MAM_ROLLED
	for (table = 0; rows && table <= MAM_LARGE_TABLES; table++) {
		at = mam_large_table(growth, table);
		if (!at)
			break;
		MAM_ROLLED
		for (left = mam_large_rows(table) * MAM_LARGE_ROW; left; left -= 4, at += 4) {
			/* Tables end with row 63, modulo 64. */
			if (!(rows >> (63 - (left - 1) / MAM_LARGE_ROW % 64) & 1))
				continue;
			for (i = 0; i < 4; i++)
				seen[i] = mam_global_load64(&at[i].address, MAM_RELAXED,
							    MAM_AT_DEVICE);
			for (i = 0; i < 4; i++)
				if (seen[i] > large.address && seen[i] <= last &&
				    !(seen[i] & MAM_LARGE_UNSENT)) {
					large.address = seen[i];
					large.record = &at[i];
				}
		}
	}
	if (!large.record ||
	    mam_global_load64(&large.record->address, MAM_ACQUIRE, MAM_AT_DEVICE) != large.address)
		return large;
	seen[0] = mam_global_load64(&large.record->bytes, MAM_RELAXED, MAM_AT_DEVICE);
	if (last - large.address < (seen[0] & ~MAM_LARGE_MARKED)) {
		large.bytes = seen[0] & ~MAM_LARGE_MARKED;
		large.marked = seen[0] & MAM_LARGE_MARKED;
	}
	return large;
}

/* mam_large_parts - the same among objects with parts: `bytes` is 0 if none contains the address. */
MAM_KFN struct mam_klarge mam_large_parts(const struct mam_kheap *heap, const void *inside)
{
	struct mam_growth *growth = mam_large_growth(heap);
	struct mam_klarge large = mam_large_around(
		heap, inside, mam_global_load64(&growth->large_marked, MAM_RELAXED, MAM_AT_DEVICE));

	if (!large.marked)
		large.bytes = 0;
	return large;
}

/*
 * mam_large_mark - records that lanes have parts of the caller's object that contains the address
 * (collective.h). Other objects' memory is never read, as it may be returning to the host.
 */
MAM_KSLOW void mam_large_mark(const struct mam_kheap *heap, const void *inside)
{
	struct mam_growth *growth = mam_large_growth(heap);
	struct mam_large *record = mam_large_find(growth, (uint64_t)(uintptr_t)inside);
	struct mam_klarge large;
	uint64_t bytes;

	large.address = (uint64_t)(uintptr_t)inside;
	if (!record) {
		/* In a heap that is debugged the address is not the object's first byte. */
		large = mam_large_around(heap, inside, ~(uint64_t)0);
		record = large.bytes ? large.record : NULL;
	}
	if (!record)
		return;
	bytes = mam_global_load64(&record->bytes, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&record->bytes, bytes | MAM_LARGE_MARKED, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_global_or64(&growth->large_marked,
			      (uint64_t)1 << mam_large_row(large.address, 0) / MAM_LARGE_ROW,
			      MAM_RELAXED, MAM_AT_DEVICE);
}

#endif
