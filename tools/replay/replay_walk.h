/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_walk.h - play a trace once: pass its events to a pool, one after the other.
 *
 * A trace records when a program freed a block, but not when the GPU finished using it. A replay
 * measures that in events: the last use of a block that is freed at event e has finished when event
 * e + lag starts.
 *
 *   at once   a free is immediate: with one stream, stream order makes reuse safe.
 *   plan      several streams: a freed block stays with the stream that freed it for `lag` events.
 *             Which later block of that stream reuses it was planned before
 *             (replay_streams_plan), so the timed loop decides nothing. A block without reuse
 *             returns to the pool, and so becomes available to all streams.
 *   streams   the pool's own stream-ordered calls, on a source whose GPU lags by `lag` such calls
 *             (mam_source_vmm). The pool decides what is reused, as in the program.
 *   deferred  a freed block is retired, and reclaimed for all streams `lag` events later.
 *
 * If the pool is out of memory, a program would wait until the GPU is idle: all waiting blocks
 * return to the pool, and the allocation is retried. Such waits are counted, except those of the
 * pool's own streams, which the pool does by itself.
 */
#ifndef TOOLS_REPLAY_WALK_H
#define TOOLS_REPLAY_WALK_H

#include "replay/replay.h"

/* Several streams: which block reuses the memory of which other block. */
struct replay_plan {
	uint32_t *from; /* of each block: the one whose memory it reuses, or REPLAY_NOBODY */
	uint64_t *room; /* of each block: bytes to allocate if it cannot reuse a block */
};

/*
 * replay_streams_plan - plan reuse within the streams of a trace. A block is reused by the next one
 * of its stream that fits and for which it is at most a 32nd too large. `granule`: sizes are
 * rounded up to multiples of it. False: out of memory, and nothing needs to be freed.
 */
bool replay_streams_plan(const struct replay_trace *trace, uint32_t lag, uint64_t granule,
			 struct replay_plan *plan);
void replay_streams_fini(struct replay_plan *plan);

/* replay_streams_freed_on - the stream that freed a block. */
static inline uint64_t replay_streams_freed_on(const struct replay_trace *trace, uint32_t block)
{
	return trace->free_streams ? trace->free_streams[block] : trace->blocks[block].stream;
}

struct replay_walk {
	const struct replay_trace *trace;
	const struct replay_plan *plan; /* NULL: at once, or deferred */
	struct mam_pool *pool;
	void **addresses; /* of each block; NULL: not allocated. Deferred: a retired one's ticket */
	bool deferred;
	bool streams;           /* the pool's own streams */
	bool one_stream;        /* of the trace's, all are one */
	uint32_t copy;          /* of the trace; each has streams of its own */
	uint32_t lag;           /* events; 0: at once, or the pool's streams lag */
	uint32_t done;          /* events played so far */
	uint32_t first_failure; /* number of the event; undefined without failures */
	uint64_t failures;      /* count */
	uint64_t waits;         /* count */
	enum mam_status status; /* MAM_OK, or why the replay ended; after event done - 1 */
};

/* replay_walk_init - prepare to play a trace; false: out of memory (reported). */
bool replay_walk_init(struct replay_walk *walk, const struct replay_trace *trace,
		      const struct replay_plan *plan, const struct replay_settings *settings);
void replay_walk_fini(struct replay_walk *walk);

/* replay_walk_step - play the next event. False: the end, see `status`. */
bool replay_walk_step(struct replay_walk *walk);

/* replay_walk_all - play all remaining events. */
void replay_walk_all(struct replay_walk *walk);

/* replay_walk_finish - the GPU is idle: return all freed blocks to the pool. */
void replay_walk_finish(struct replay_walk *walk);

/*
 * replay_walk_free_rest - free the blocks that the trace never freed, so the pool can be destroyed.
 */
void replay_walk_free_rest(struct replay_walk *walk);

#endif
