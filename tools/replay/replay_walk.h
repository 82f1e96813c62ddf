/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_walk.h - one walk through a trace: what a pool is asked, event after event.
 *
 * A trace tells when a program freed a block and not when the GPU was done with it. A walk reckons
 * that in events: what is freed at event e has been used for the last time when event e + lag
 * begins.
 *
 *   at once   a free is a free: one stream, whose own order says when a block is used again.
 *   plan      several streams: a freed block stays with the stream it was freed on for `lag`
 *             events. Which later block of that stream takes its memory over was planned before
 *             (replay_streams_plan), so that a walk decides nothing while the clock runs. What
 *             nobody took goes to the pool, and so to all.
 *   deferred  a freed block is retired, and reclaimed for all `lag` events later.
 *
 * Where the pool has no memory left, a program would wait until the GPU is done: all that was freed
 * goes to all, and the pool is asked once more. Such waits are counted.
 */
#ifndef TOOLS_REPLAY_WALK_H
#define TOOLS_REPLAY_WALK_H

#include "replay/replay.h"

/* Several streams: which block takes over which one's memory. */
struct replay_plan {
	uint32_t *from; /* of each block: the one it follows, or REPLAY_NOBODY */
	uint64_t *room; /* of each block: bytes to ask of the pool, where it cannot follow */
};

/*
 * replay_streams_plan - plan the streams of a trace. A block is followed by the next one of its
 * stream that it fits, a 32nd too large at most. `granule`: what sizes are rounded up to. False:
 * no memory, nothing to give back.
 */
bool replay_streams_plan(const struct replay_trace *trace, uint32_t lag, uint64_t granule,
			 struct replay_plan *plan);
void replay_streams_fini(struct replay_plan *plan);

/* replay_streams_freed_on - the stream that a block was freed on. */
static inline uint64_t replay_streams_freed_on(const struct replay_trace *trace, uint32_t block)
{
	return trace->free_streams ? trace->free_streams[block] : trace->blocks[block].stream;
}

struct replay_walk {
	const struct replay_trace *trace;
	const struct replay_plan *plan; /* NULL: at once, or deferred */
	struct mam_pool *pool;
	void **addresses; /* of each block; NULL: no memory. Deferred: a retired one's ticket */
	bool deferred;
	uint32_t lag;           /* events; 0: at once */
	uint32_t done;          /* events so far */
	uint32_t first_failure; /* number of the event; meaningless without failures */
	uint64_t failures;      /* count */
	uint64_t waits;         /* count */
	enum mam_status status; /* MAM_OK, or why the walk ended; after event done - 1 */
};

/* replay_walk_init - no walk yet; false: no memory, which was said. */
bool replay_walk_init(struct replay_walk *walk, const struct replay_trace *trace,
		      const struct replay_plan *plan, const struct replay_settings *settings);
void replay_walk_fini(struct replay_walk *walk);

/* replay_walk_step - the next event. False: the walk is over, see `status`. */
bool replay_walk_step(struct replay_walk *walk);

/* replay_walk_all - all events that are left. */
void replay_walk_all(struct replay_walk *walk);

/* replay_walk_settle - the GPU is done with all that was freed: it is everybody's. */
void replay_walk_settle(struct replay_walk *walk);

/* replay_walk_free_rest - give back what the trace never freed, so that the pool can go. */
void replay_walk_free_rest(struct replay_walk *walk);

#endif
