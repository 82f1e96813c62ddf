/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_walk.c - play a trace once (replay_walk.h).
 *
 * The blocks that wait for their lag need no list: they are those that the trace freed in the last
 * `lag` events and that still have an address. Event e checks event e - lag: if that was a free,
 * and no block reused the freed one, it becomes available to all streams.
 *
 * An allocation that fails for lack of memory is counted, and its free is skipped. Any other
 * failure ends the replay.
 *
 * Bound: O(1) per event besides the pool's own work, 2 ns without and 4 ns with a lag on a Xeon at
 * 2 GHz; a wait costs O(lag).
 */
#include "replay/replay_walk.h"

#include <stdlib.h>
#include <string.h>

#include <mam/stream.h>

#include "kit/format.h"
#include "kit/message.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

#define HANDLE_BIT ((uint64_t)1 << 63) /* so that no handle is that of a default stream */

enum way { AT_ONCE, PLANNED, DEFERRED, IN_STREAMS };

static inline enum way way_of(const struct replay_walk *walk)
{
	if (walk->streams)
		return IN_STREAMS;
	return walk->plan ? PLANNED : walk->deferred ? DEFERRED : AT_ONCE;
}

bool replay_walk_init(struct replay_walk *walk, const struct replay_trace *trace,
		      const struct replay_plan *plan, const struct replay_settings *settings)
{
	memset(walk, 0, sizeof(*walk));
	walk->trace = trace;
	walk->plan = plan;
	walk->deferred = !plan && settings->free == REPLAY_FREE_DEFERRED;
	walk->streams = settings->lags;
	walk->one_stream = settings->streams == REPLAY_STREAMS_IGNORE;
	walk->lag = plan || walk->deferred ? (uint32_t)settings->lag : 0;
	walk->addresses = calloc((size_t)trace->block_count + 1, sizeof(*walk->addresses));
	if (!walk->addresses)
		message_error("out of memory for %s",
			      format_counted(trace->block_count, "block").text);
	return walk->addresses != NULL;
}

void replay_walk_fini(struct replay_walk *walk)
{
	free(walk->addresses);
	walk->addresses = NULL;
}

/* Return the block that `event` freed, if it was a free, to the pool. */
static inline enum mam_status give(struct replay_walk *walk, uint32_t event, bool deferred)
{
	uint32_t what = walk->trace->events[event];
	void **address = &walk->addresses[what >> 1];
	enum mam_status status;

	if (!(what & 1) || !*address)
		return MAM_OK;
	if (deferred)
		status = mam_pool_reclaim(walk->pool, (uintptr_t)*address, NULL);
	else
		status = mam_free(walk->pool, *address);
	*address = NULL;
	return status;
}

/* Return all waiting blocks to the pool. False: there were none. */
static bool give_all(struct replay_walk *walk)
{
	uint32_t event = walk->done > walk->lag ? walk->done - walk->lag : 0;
	bool any = false;

	for (; event < walk->done; event++) {
		uint32_t what = walk->trace->events[event];

		any |= (what & 1) && walk->addresses[what >> 1];
		give(walk, event, walk->deferred);
	}
	return any;
}

static enum mam_status fail(struct replay_walk *walk, uint32_t event)
{
	if (walk->failures++ == 0)
		walk->first_failure = event;
	return MAM_OK;
}

static inline enum mam_status step_at_once(struct replay_walk *walk, uint32_t event)
{
	uint32_t what = walk->trace->events[event];
	void **address = &walk->addresses[what >> 1];
	enum mam_status status;

	if (what & 1) {
		if (!*address)
			return MAM_OK;
		status = mam_free(walk->pool, *address);
		*address = NULL;
		return status;
	}
	status = mam_malloc(walk->pool, walk->trace->blocks[what >> 1].bytes, address);
	return status == MAM_ERROR_OUT_OF_MEMORY ? fail(walk, event) : status;
}

/* Allocate from the pool, after a wait if necessary. */
static enum mam_status take(struct replay_walk *walk, uint32_t event, uint64_t bytes,
			    void **address)
{
	enum mam_status status = mam_malloc(walk->pool, bytes, address);

	if (status == MAM_ERROR_OUT_OF_MEMORY && give_all(walk)) {
		walk->waits++;
		status = mam_malloc(walk->pool, bytes, address);
	}
	return status == MAM_ERROR_OUT_OF_MEMORY ? fail(walk, event) : status;
}

static inline enum mam_status step_planned(struct replay_walk *walk, uint32_t event)
{
	uint32_t what = walk->trace->events[event], block = what >> 1;
	uint32_t from;

	if (what & 1)
		return MAM_OK; /* its wait starts now */
	from = walk->plan->from[block];
	if (from == REPLAY_NOBODY || !walk->addresses[from])
		return take(walk, event, walk->plan->room[block], &walk->addresses[block]);
	walk->addresses[block] = walk->addresses[from];
	walk->addresses[from] = NULL;
	return MAM_OK;
}

static inline enum mam_status step_deferred(struct replay_walk *walk, uint32_t event)
{
	uint32_t what = walk->trace->events[event];
	void **address = &walk->addresses[what >> 1];
	enum mam_status status;
	uint64_t ticket;

	if (!(what & 1))
		return take(walk, event, walk->trace->blocks[what >> 1].bytes, address);
	if (!*address)
		return MAM_OK;
	status = mam_pool_retire(walk->pool, *address, &ticket, NULL);
	*address = status ? NULL : (void *)(uintptr_t)ticket;
	return status;
}

/* A stream of the trace as the pool sees it: a simulated GPU accepts any handle. */
static inline struct CUstream_st *handle_of(const struct replay_walk *walk, uint64_t stream)
{
	uint64_t number = (walk->one_stream ? 0 : stream) ^ (uint64_t)walk->copy << 48;

	return (struct CUstream_st *)(uintptr_t)(number ^ HANDLE_BIT);
}

static inline enum mam_status step_in_streams(struct replay_walk *walk, uint32_t event)
{
	uint32_t what = walk->trace->events[event], block = what >> 1;
	void **address = &walk->addresses[block];
	enum mam_status status;

	if (what & 1) {
		status = mam_free_async(
			walk->pool, *address,
			handle_of(walk, replay_streams_freed_on(walk->trace, block)));
		*address = NULL;
		return status;
	}
	status = mam_malloc_async(walk->pool, walk->trace->blocks[block].bytes,
				  handle_of(walk, walk->trace->blocks[block].stream), address);
	return status == MAM_ERROR_OUT_OF_MEMORY ? fail(walk, event) : status;
}

static ALWAYS_INLINE enum mam_status step(struct replay_walk *walk, uint32_t event, enum way way)
{
	enum mam_status status = MAM_OK;

	if (way == AT_ONCE)
		return step_at_once(walk, event);
	if (way == IN_STREAMS)
		return step_in_streams(walk, event);
	walk->done = event; /* a wait depends on it */
	if (event >= walk->lag)
		status = give(walk, event - walk->lag, way == DEFERRED);
	if (status)
		return status;
	return way == DEFERRED ? step_deferred(walk, event) : step_planned(walk, event);
}

bool replay_walk_step(struct replay_walk *walk)
{
	uint32_t event = walk->done;

	if (walk->status || event == walk->trace->event_count)
		return false;
	walk->status = step(walk, event, way_of(walk));
	walk->done = event + 1;
	return walk->status == MAM_OK;
}

/* No calls except into the pool: `way` is a constant. */
static ALWAYS_INLINE void go(struct replay_walk *walk, enum way way)
{
	uint32_t event = walk->done, count = walk->trace->event_count;
	enum mam_status status = walk->status;

	for (; event < count && !status; event++)
		status = step(walk, event, way);
	walk->status = status;
	walk->done = event;
}

void replay_walk_all(struct replay_walk *walk)
{
	switch (way_of(walk)) {
	case AT_ONCE: go(walk, AT_ONCE); break;
	case PLANNED: go(walk, PLANNED); break;
	case DEFERRED: go(walk, DEFERRED); break;
	case IN_STREAMS: go(walk, IN_STREAMS); break;
	}
}

void replay_walk_finish(struct replay_walk *walk)
{
	give_all(walk);
}

void replay_walk_free_rest(struct replay_walk *walk)
{
	give_all(walk);
	for (uint32_t block = 0; block < walk->trace->block_count; block++) {
		if (walk->addresses[block])
			mam_free(walk->pool, walk->addresses[block]);
		walk->addresses[block] = NULL;
	}
}
