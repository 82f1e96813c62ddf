/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kreport.h - error reports of a kernel to the host (reports.h): the lane that finds an error writes
 * it.
 *
 * No lane waits for another: a compare-and-swap for a number fails only because another lane got
 * that number. Bound: a round trip to device memory, one to host memory, and the stores of a report
 * to host memory.
 */
#ifndef MAM_HEAP_DEBUG_KREPORT_H
#define MAM_HEAP_DEBUG_KREPORT_H

#include "heap/growth/growth.h"
#include "heap/debug/guard.h"

MAM_KFN struct mam_who mam_kdebug_me(void)
{
	uint32_t block[3], thread[3];

	block[0] = mam_block_x();
	block[1] = mam_block_y();
	block[2] = mam_block_z();
	thread[0] = mam_thread_x();
	thread[1] = mam_thread_y();
	thread[2] = mam_thread_z();
	return mam_who_of(block, thread);
}

/* Counts a report that finds no space. */
MAM_KFN void mam_kdebug_lose(struct mam_growth *growth)
{
	uint64_t count = mam_atomic_add64(&growth->untold.value, 1, MAM_RELAXED, MAM_AT_DEVICE) + 1;
	uint64_t stored;

	/* So that a lane whose store comes after this one's sees this count, too. */
	mam_fence(MAM_SEQ_CST, MAM_AT_SYSTEM);
	do {
		stored = count;
		mam_atomic_store64(&growth->reports->lost, stored, MAM_RELAXED, MAM_AT_SYSTEM);
		mam_fence(MAM_SEQ_CST, MAM_AT_SYSTEM);
		count = mam_atomic_load64(&growth->untold.value, MAM_RELAXED, MAM_AT_DEVICE);
	} while (count != stored);
}

/* Takes a number; returns false if MAM_REPORTS numbers are taken that the host has not read. */
MAM_KFN bool mam_kdebug_number(struct mam_growth *growth, uint64_t *number)
{
	uint64_t seen = mam_atomic_load64(&growth->told.value, MAM_RELAXED, MAM_AT_DEVICE), taken;

	for (;;) {
		taken = mam_atomic_load64(&growth->reports->taken, MAM_ACQUIRE, MAM_AT_SYSTEM);
		/* Below 0: `seen` is stale, and the compare-and-swap fails. */
		if ((int64_t)(seen - taken) >= (int64_t)MAM_REPORTS)
			return false;
		*number = seen;
		seen = mam_atomic_cas64(&growth->told.value, seen, seen + 1, MAM_RELAXED,
					MAM_AT_DEVICE);
		if (seen == *number)
			return true;
	}
}

MAM_KFN void mam_kdebug_who(struct mam_who *to, struct mam_who who)
{
	mam_atomic_store64(&to->word[0], who.word[0], MAM_RELAXED, MAM_AT_SYSTEM);
	mam_atomic_store64(&to->word[1], who.word[1], MAM_RELAXED, MAM_AT_SYSTEM);
}

/* Reports an error that the caller found. `guard`: of the object in question; NULL: unknown. */
MAM_KSLOW void mam_kdebug_report(const struct mam_kheap *heap, uint32_t kind, const void *address,
				 int64_t offset, const struct mam_guard *guard)
{
	struct mam_growth *growth = heap->growth;
	struct mam_report *report;
	uint64_t number;
	struct mam_who nobody;

	if (!growth || !growth->reports)
		return;
	if (!mam_kdebug_number(growth, &number)) {
		mam_kdebug_lose(growth);
		return;
	}
	nobody.word[0] = 0;
	nobody.word[1] = 0;
	report = &growth->reports->report[number % MAM_REPORTS];
	mam_atomic_store64(&report->kind, kind, MAM_RELAXED, MAM_AT_SYSTEM);
	mam_atomic_store64(&report->address, (uint64_t)(uintptr_t)address, MAM_RELAXED,
			   MAM_AT_SYSTEM);
	mam_atomic_store64(&report->bytes, guard ? guard->bytes : 0, MAM_RELAXED, MAM_AT_SYSTEM);
	mam_atomic_store64(&report->offset, (uint64_t)offset, MAM_RELAXED, MAM_AT_SYSTEM);
	mam_kdebug_who(&report->finder, mam_kdebug_me());
	mam_kdebug_who(&report->holder, guard ? guard->holder : nobody);
	mam_kdebug_who(&report->giver, guard ? guard->giver : nobody);
	mam_atomic_store64(&report->stamp, number + 1, MAM_RELEASE, MAM_AT_SYSTEM);
}

#endif
