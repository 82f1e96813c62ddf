/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reports.h - the errors that kernels find in a debugged heap, reported to the host: a ring in
 * pinned host memory, which can be read at any time, also while a kernel runs or after it has died.
 *
 * As in mail.h no word is written by both sides:
 * 1. A lane with a report takes a number by a compare-and-swap of `told`, in device memory
 *    (growth.h), if that is less than MAM_REPORTS above `taken`, which the host stores. Otherwise
 *    the ring is full: the lane counts the report in `untold`, in device memory, and stores that
 *    count in `lost`.
 * 2. It writes the report at its number % MAM_REPORTS, and then `stamp`, its number plus 1, with a
 *    system-scope release.
 * 3. The host reads the reports whose stamp matches their number, and stores `taken` with a
 *    system-scope release: all below it were read (reader.c).
 *
 * In the end `lost` has the last value of `untold`: a lane that stores it reads `untold` again
 * afterwards, and stores again if it has grown. With a fence before and after the store, a lane that
 * replaces a larger count sees it.
 *
 * A thread's identity takes two words: x and y of the block in one, and z and all three of the
 * thread in the other. 0 in both: unknown.
 */
#ifndef MAM_HEAP_DEBUG_REPORTS_H
#define MAM_HEAP_DEBUG_REPORTS_H

#include <mam/heap.h>

#include "heap/pages/layout.h"

#ifndef MAM_REPORTS /* smaller in tests */
#define MAM_REPORTS 1024u
#endif

struct mam_who {
	uint64_t word[2];
};

/* Written by the device. */
struct mam_report {
	uint64_t stamp;
	uint64_t kind;    /* enum mam_heap_mistake */
	uint64_t address; /* as in struct mam_heap_report */
	uint64_t bytes;
	uint64_t offset; /* in two's complement */
	struct mam_who finder;
	struct mam_who holder;
	struct mam_who giver;
	uint64_t pad[MAM_PAGES_LINE / 8 - 11];
};

struct mam_reports {
	uint64_t lost; /* total count; written by the device */
	uint64_t pad0[MAM_PAGES_LINE / 8 - 1];
	uint64_t taken; /* total count; written by the host */
	uint64_t pad1[MAM_PAGES_LINE / 8 - 1];
	struct mam_report report[MAM_REPORTS];
};

#define MAM_WHO_KNOWN 0x80000000u

MAM_KBOTH struct mam_who mam_who_of(const uint32_t *block, const uint32_t *thread)
{
	struct mam_who who;

	who.word[0] = block[0] | (uint64_t)block[1] << 32;
	who.word[1] =
		block[2] | (uint64_t)(MAM_WHO_KNOWN | thread[0] | thread[1] << 10 | thread[2] << 20)
				   << 32;
	return who;
}

/* Returns false if the thread is unknown. */
MAM_KBOTH bool mam_who_read(struct mam_who who, uint32_t *block, uint32_t *thread)
{
	uint32_t threads = (uint32_t)(who.word[1] >> 32);

	block[0] = (uint32_t)who.word[0];
	block[1] = (uint32_t)(who.word[0] >> 32);
	block[2] = (uint32_t)who.word[1];
	thread[0] = threads & 1023;
	thread[1] = threads >> 10 & 1023;
	thread[2] = threads >> 20 & 63;
	return (threads & MAM_WHO_KNOWN) != 0;
}

#endif
