/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_trace.h - checks that hold for every struct replay_trace, from any file, and a comparison
 * of two traces.
 */
#ifndef TESTS_FUZZ_WHOLE_TRACE_H
#define TESTS_FUZZ_WHOLE_TRACE_H

#include "fuzz.h"
#include "replay/replay.h"
#include "replay/replay_walk.h"

/* Births and deaths match the events, in order, and there are no others. */
static inline void whole_trace_events(const struct replay_trace *trace)
{
	uint32_t born = 0, died = 0;

	for (uint32_t event = 0; event < trace->event_count; event++) {
		uint32_t block = trace->events[event] >> 1;

		require(block < trace->block_count, "an event without a block");
		if (trace->events[event] & 1) {
			require(trace->blocks[block].death == event, "a death at the wrong time");
			require(trace->blocks[block].birth < event, "a death before its birth");
			died++;
		} else {
			require(block == born++, "blocks are not in order");
			require(trace->blocks[block].birth == event, "a birth at the wrong time");
		}
		if (trace->times)
			require(event == 0 || trace->times[event] >= trace->times[event - 1],
				"times fall");
	}
	require(born == trace->block_count && born + died == trace->event_count,
		"events are miscounted");
	for (uint32_t block = 0; block < trace->block_count; block++)
		died -= trace->blocks[block].death != REPLAY_ALIVE;
	require(died == 0, "a block died without an event");
}

/* No two live blocks have the same id: O(n^2), for small traces. */
static inline void whole_trace_ids(const struct replay_trace *trace)
{
	for (uint32_t a = 0; a < trace->block_count; a++)
		for (uint32_t b = a + 1; b < trace->block_count; b++)
			require(trace->blocks[a].id != trace->blocks[b].id ||
					trace->blocks[a].death < trace->blocks[b].birth,
				"two live blocks have the same id");
}

static inline bool whole_trace_has_stream(const struct replay_trace *trace, uint32_t before,
					  uint64_t stream)
{
	for (uint32_t block = 0; block < before; block++)
		if (trace->blocks[block].stream == stream ||
		    replay_streams_freed_on(trace, block) == stream)
			return true;
	return false;
}

static inline void whole_trace_sums(const struct replay_trace *trace)
{
	double live = 0, peak = 0;
	uint32_t at = 0, streams = 0;

	for (uint32_t event = 0; event < trace->event_count; event++) {
		const struct replay_block *block = &trace->blocks[trace->events[event] >> 1];

		live += trace->events[event] & 1 ? -(double)block->bytes : (double)block->bytes;
		if (live > peak) {
			peak = live;
			at = event;
		}
	}
	require(at == trace->peak_event, "the peak is at the wrong event");
	for (uint32_t block = 0; block < trace->block_count; block++) {
		uint64_t stream = trace->blocks[block].stream;
		uint64_t freed_on = replay_streams_freed_on(trace, block);

		streams += !whole_trace_has_stream(trace, block, stream);
		streams += freed_on != stream && !whole_trace_has_stream(trace, block, freed_on);
	}
	require(streams == trace->stream_count, "streams are miscounted");
}

static inline const char *whole_trace_who(const struct replay_trace *trace, uint32_t block)
{
	return trace->origins && trace->name_count ? trace->names[trace->origins[block].who] : "";
}

static inline void whole_trace_check(const struct replay_trace *trace)
{
	whole_trace_events(trace);
	require(trace->name_count == 0 || (trace->names && trace->names[0][0] == '\0'),
		"the first name is not empty");
	for (uint32_t block = 0; trace->origins && block < trace->block_count; block++)
		require(trace->origins[block].who == 0 ||
				trace->origins[block].who < trace->name_count,
			"an origin has an invalid name");
	require(trace->origins || !trace->has_threads, "has_threads is set without origins");
	if (trace->block_count > 1000)
		return;
	whole_trace_ids(trace);
	whole_trace_sums(trace);
}

/*
 * Both contain the same events, although they were read from different files. Names up to `who_max`
 * bytes.
 */
static inline void whole_trace_same(const struct replay_trace *a, const struct replay_trace *b,
				    size_t who_max)
{
	require(a->event_count == b->event_count && a->block_count == b->block_count,
		"wrong number of events");
	require(memcmp(a->events, b->events, a->event_count * sizeof(*a->events)) == 0,
		"other events");
	require(a->stream_count == b->stream_count && a->peak_event == b->peak_event,
		"other streams or a different peak");
	require(a->has_threads == b->has_threads, "threads were added or lost");
	require(!a->times == !b->times, "times were added or lost");
	for (uint32_t event = 0; a->times && event < a->event_count; event++)
		require(a->times[event] - a->times[0] == b->times[event] - b->times[0],
			"another time");
	for (uint32_t block = 0; block < a->block_count; block++) {
		const char *who = whole_trace_who(a, block);

		require(memcmp(&a->blocks[block], &b->blocks[block], sizeof(*a->blocks)) == 0,
			"another block");
		require(replay_streams_freed_on(a, block) == replay_streams_freed_on(b, block),
			"freed on a different stream");
		require(!a->has_threads || a->origins[block].thread == b->origins[block].thread,
			"another thread");
		require(strlen(who) > who_max || strcmp(who, whole_trace_who(b, block)) == 0,
			"another asks");
	}
}

#endif
