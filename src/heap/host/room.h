/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.h - counts how much of the available units of a plot objects of each size can use, so that a
 * program can detect fragmentation (<mam/heap.h>: `reachable`).
 *
 * 1. Up to 8 KiB: runs of a power of two of units, aligned to their length, so all in one block, as
 *    the groups of such a class are (classes.h).
 * 2. Larger: a maximal run of available units, across blocks, is divided by the length of an
 *    object, as runs may start at any unit (spans.h).
 */
#ifndef MAM_HEAP_HOST_ROOM_H
#define MAM_HEAP_HOST_ROOM_H

#include <mam/heap.h>

struct mam_room {
	uint64_t run;                       /* available units just before the next block */
	uint64_t units[MAM_HEAP_REACHABLE]; /* for objects of so many units: 1 << index */
};

/* mam_room_add - adds the next block: a bit for each available unit. */
void mam_room_add(struct mam_room *room, uint64_t available);
/* mam_room_finish - after the last block: adds the bytes to `reachable` of `info`. */
void mam_room_finish(struct mam_room *room, struct mam_heap_info *info);

#endif
