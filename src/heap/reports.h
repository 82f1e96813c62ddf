/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reports.h - what kernels tell the host about mistakes that they find in a heap that is debugged:
 * a ring in pinned host memory, which can be read at any time, also when a kernel runs or has died.
 *
 * As in mail.h no word is written by both sides:
 * 1. A lane that has a report takes its number by a compare-and-swap of `told`, in device memory
 *    (growth.h), if it is less than MAM_REPORTS above `taken`, which the host stores. Else there is
 *    no room: it is counted, in `untold` of device memory, and that number stored in `lost`.
 * 2. It writes the report at its number % MAM_REPORTS, and then, with a release of the whole
 *    system, `stamp`: its number and 1.
 * 3. The host reads those whose stamp is theirs, and stores `taken`, with a release: all below it
 *    were read (reader.c).
 *
 * `lost` in the end has the last value of `untold`: who stores it looks again afterwards, and
 * stores again if there were more meanwhile.
 *
 * Who somebody is takes two words: of the block x and y, and z, and of the thread all three. 0 in
 * both: not known.
 */
#ifndef MAM_HEAP_REPORTS_H
#define MAM_HEAP_REPORTS_H

#include <mam/heap.h>

#include "heap/layout.h"

#ifndef MAM_REPORTS /* tests have few */
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
	uint64_t offset;  /* of two's complement */
	struct mam_who finder;
	struct mam_who holder;
	struct mam_who giver;
	uint64_t pad[MAM_PAGES_LINE / 8 - 11];
};

struct mam_reports {
	uint64_t lost;  /* count, ever; written by the device */
	uint64_t pad0[MAM_PAGES_LINE / 8 - 1];
	uint64_t taken; /* count, ever; written by the host */
	uint64_t pad1[MAM_PAGES_LINE / 8 - 1];
	struct mam_report report[MAM_REPORTS];
};

#define MAM_WHO_KNOWN 0x80000000u

MAM_KBOTH struct mam_who mam_who_of(const uint32_t *block, const uint32_t *thread)
{
	struct mam_who who;

	who.word[0] = block[0] | (uint64_t)block[1] << 32;
	who.word[1] = block[2] | (uint64_t)(MAM_WHO_KNOWN | thread[0] | thread[1] << 10 |
					    thread[2] << 20)
					 << 32;
	return who;
}

/* False: nobody knows. */
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
