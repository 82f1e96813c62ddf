/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom_heap.h - the heap of a pool at this moment: its numbers, and a trace that reproduces it.
 *
 *   1. mam_oom_heap_read() visits the segments of the pool under its lock, for at most 40 ms. It
 *      keeps the first MAM_OOM_HEAP_MAX of them.
 *   2. mam_oom_heap_write() writes a trace (mam-trace.5) that allocates all segments in the order
 *      of their addresses, then frees the free ones, and then makes the request that failed. Played
 *      with the written settings, best fit places each where it was, chunk after chunk. Blocks of
 *      64 KiB, named "between-chunks", keep free blocks of two chunks apart. Blocks with tags
 *      (watch/tagged.h) have them in the trace, too.
 *
 * A free segment of 1 MiB or more is written in parts, because a pool aligns blocks of that size.
 * Threads: one at a time.
 */
#ifndef MAM_INTERPOSE_OOM_HEAP_H
#define MAM_INTERPOSE_OOM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

#include "interpose/process/file.h"
#include "interpose/report/oom_top.h"

#define MAM_OOM_HEAP_MAX 32768u

enum mam_oom_state { MAM_OOM_FREE, MAM_OOM_LIVE, MAM_OOM_WAITING };

struct mam_oom_segment {
	uint64_t base, bytes;
	uint64_t chunk;
	enum mam_oom_state state;
};

struct mam_oom_heap {
	struct mam_oom_segment *segments; /* in the order of addresses; NULL: no memory for them */
	size_t kept;
	uint64_t seen;                      /* segments */
	bool is_whole;                      /* all segments were visited */
	uint64_t whole_pieces, largest_run; /* oom_advice.h */
	/* of the segment before */
	uint64_t end, chunk, run;
	uint64_t until; /* ns; the visit ends then */
};

/*
 * Visits the pool, and adds the requested size of each live block to `sizes`. The heap is valid
 * even if the pool has ended: it is empty then. mam_oom_heap_free() releases its host memory.
 */
void mam_oom_heap_read(struct mam_pool *pool, struct mam_oom_heap *heap, struct mam_oom_top *sizes);
void mam_oom_heap_free(struct mam_oom_heap *heap);

/* How the trace is to be played. */
struct mam_oom_replay {
	uint64_t chunk;  /* bytes, for --chunk */
	uint64_t events; /* count */
};
void mam_oom_heap_write(const struct mam_oom_heap *heap, uint64_t requested,
			struct mam_file_text *text, struct mam_oom_replay *replay);

/* The monotonic clock, in ns. */
uint64_t mam_oom_now(void);

#endif
