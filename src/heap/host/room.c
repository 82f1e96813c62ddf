/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.c - room.h: aligned runs within each block, and maximal runs across blocks.
 */
#include "heap/host/room.h"

#include "heap/slab/metadata.h"

/* Objects of more than 1 << this units are in runs that start at any unit. */
#define ALIGNED_MAX 3u

_Static_assert(MAM_CLASS_BYTES_MAX == 1u << (MAM_UNIT_SHIFT + ALIGNED_MAX), "the largest class");

/* The first unit of each 1, 2, 4 and 8 units. */
static const uint64_t aligned[ALIGNED_MAX + 1] = { UINT64_MAX, 0x5555555555555555,
						   0x1111111111111111, 0x0101010101010101 };

static void count_aligned(struct mam_room *room, uint64_t available)
{
	for (unsigned int i = 0; i <= ALIGNED_MAX; i++) {
		const uint64_t starts = available & aligned[i];

		room->units[i] += (uint64_t)__builtin_popcountll(starts) << i;
		/* Next: bits at which twice as many available units start. */
		available &= available >> (1u << i);
	}
}

/* A maximal run ends. */
static void end_run(struct mam_room *room)
{
	for (unsigned int i = ALIGNED_MAX + 1; i < MAM_HEAP_REACHABLE; i++)
		room->units[i] += room->run >> i << i;
	room->run = 0;
}

void mam_room_add(struct mam_room *room, uint64_t available)
{
	unsigned int at = 0, length;
	uint64_t rest;

	count_aligned(room, available);
	while (at < MAM_BLOCK_UNITS) {
		rest = available >> at;
		if (rest & 1) {
			length = rest == UINT64_MAX ? 64 : (unsigned int)__builtin_ctzll(~rest);
			room->run += length;
		} else {
			length = rest == 0 ? MAM_BLOCK_UNITS - at
					   : (unsigned int)__builtin_ctzll(rest);
			end_run(room);
		}
		at += length;
	}
}

void mam_room_finish(struct mam_room *room, struct mam_heap_info *info)
{
	end_run(room);
	for (unsigned int i = 0; i < MAM_HEAP_REACHABLE; i++)
		info->reachable[i] += room->units[i] << MAM_UNIT_SHIFT;
}
