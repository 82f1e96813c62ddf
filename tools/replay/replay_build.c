/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_build.c - build a trace as a compact array and resolve its ids.
 *
 * 1. An allocation makes a new block; the id table maps its id to that block.
 * 2. A free looks its block up and sets its death. A free of an id that is not alive and an
 *    allocation of an id that is alive are errors of the trace. The block is freed on the stream
 *    that allocated it, unless the free specifies another.
 * 3. Columns that not every file has (streams of frees, times, origins) are allocated at the first
 *    event that needs them.
 *
 * Times never decrease: events of several threads may arrive slightly out of order, and a late one
 * gets the time of the previous event. Playing needs no ids, hashes or texts: 8 bytes per event and
 * 32 per block.
 */
#include "replay/replay_build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit/format.h"
#include "kit/message.h"

#define EVENTS_MAX ((uint32_t)INT32_MAX)

static bool no_memory(const char *path)
{
	message_error("%s: out of memory", path);
	return false;
}

void replay_build_init(struct replay_build *build, struct replay_trace *trace, const char *path,
		       const char *place)
{
	memset(build, 0, sizeof(*build));
	memset(trace, 0, sizeof(*trace));
	trace->path = path;
	trace->place = place;
	build->trace = trace;
}

static bool widen(void **array, uint32_t room, size_t each)
{
	void *wider = realloc(*array, room * each);

	if (wider)
		*array = wider;
	return wider != NULL;
}

/* The same for a column that may not exist. */
static bool widen_column(void **array, uint32_t room, size_t each)
{
	return !*array || widen(array, room, each);
}

static bool widen_events(struct replay_build *build)
{
	struct replay_trace *trace = build->trace;
	uint32_t room = build->event_room ? 2 * build->event_room : 4096;

	if (!widen((void **)&trace->events, room, sizeof(*trace->events)) ||
	    !widen((void **)&trace->lines, room, sizeof(*trace->lines)) ||
	    !widen_column((void **)&trace->times, room, sizeof(*trace->times)))
		return no_memory(trace->path);
	build->event_room = room;
	return true;
}

static bool widen_blocks(struct replay_build *build)
{
	struct replay_trace *trace = build->trace;
	uint32_t room = build->block_room ? 2 * build->block_room : 4096;

	if (!widen((void **)&trace->blocks, room, sizeof(*trace->blocks)) ||
	    !widen_column((void **)&trace->free_streams, room, sizeof(*trace->free_streams)) ||
	    !widen_column((void **)&trace->origins, room, sizeof(*trace->origins)) ||
	    !widen_column((void **)&build->devices.of_block, room,
			  sizeof(*build->devices.of_block)))
		return no_memory(trace->path);
	build->block_room = room;
	return true;
}

/* Make room for one more event and one more block. */
static bool make_room(struct replay_build *build)
{
	struct replay_trace *trace = build->trace;

	if (trace->event_count == EVENTS_MAX) {
		message_error("%s: %s %" PRIu32 ": a replay supports at most %s events",
			      trace->path, trace->place, trace->lines[trace->event_count - 1],
			      format_count(EVENTS_MAX).text);
		return false;
	}
	if (trace->event_count == build->event_room && !widen_events(build))
		return false;
	return trace->block_count < build->block_room || widen_blocks(build);
}

/*
 * Set the time of an event. The first event with a time creates the column, with 0 for those
 * before.
 */
static bool note_time(struct replay_build *build, const struct replay_told *told)
{
	struct replay_trace *trace = build->trace;

	if (told->has_time && !build->has_time) {
		trace->times = calloc(build->event_room, sizeof(*trace->times));
		if (!trace->times)
			return no_memory(trace->path);
		build->has_time = true;
		build->first_time = told->time;
	}
	if (told->has_time && told->time > build->first_time &&
	    told->time - build->first_time > build->last_time)
		build->last_time = told->time - build->first_time;
	if (trace->times)
		trace->times[trace->event_count] = build->last_time;
	return true;
}

/* Set the call site and thread of a block. */
static bool note_origin(struct replay_build *build, const struct replay_told *told)
{
	struct replay_trace *trace = build->trace;
	struct replay_origin *origin;

	if (!told->has_thread && told->who_bytes == 0 && !trace->origins)
		return true;
	if (!trace->origins) {
		trace->origins = calloc(build->block_room, sizeof(*trace->origins));
		if (!trace->origins || !names_init(&build->names))
			return no_memory(trace->path);
	}
	origin = &trace->origins[trace->block_count];
	*origin = (struct replay_origin){ .thread = told->has_thread ? told->thread : 0 };
	trace->has_threads |= told->has_thread;
	if (told->who_bytes == 0)
		return true;
	return names_number(&build->names, told->who, told->who_bytes, &origin->who) ||
	       no_memory(trace->path);
}

static bool add_event(struct replay_build *build, const struct replay_told *told, uint32_t block,
		      bool frees)
{
	struct replay_trace *trace = build->trace;

	if (!note_time(build, told))
		return false;
	trace->events[trace->event_count] = block << 1 | frees;
	trace->lines[trace->event_count] = (uint32_t)told->place;
	trace->event_count++;
	return true;
}

/* Count the streams. */
static bool see_stream(struct replay_build *build, uint64_t stream)
{
	uint32_t *seen;

	/* Consecutive events mostly have the same stream. */
	if (build->trace->stream_count && stream == build->last_stream)
		return true;
	seen = idtable_at(&build->streams, stream);
	if (!seen)
		return no_memory(build->trace->path);
	if (*seen == IDTABLE_NONE)
		*seen = build->trace->stream_count++;
	build->last_stream = stream;
	return true;
}

/*
 * Record that a block was freed on another stream than its own; the first time creates the column.
 */
static bool note_free_stream(struct replay_build *build, uint32_t block, uint64_t stream)
{
	struct replay_trace *trace = build->trace;

	if (!trace->free_streams) {
		trace->free_streams = malloc(build->block_room * sizeof(*trace->free_streams));
		if (!trace->free_streams)
			return no_memory(trace->path);
		for (uint32_t i = 0; i < trace->block_count; i++)
			trace->free_streams[i] = trace->blocks[i].stream;
	}
	trace->free_streams[block] = stream;
	return see_stream(build, stream);
}

static void note_peak(struct replay_build *build, uint64_t bytes)
{
	build->live += (double)bytes;
	if (build->live > build->peak) {
		build->peak = build->live;
		build->trace->peak_event = build->trace->event_count;
	}
}

bool replay_build_alloc(struct replay_build *build, const struct replay_told *told)
{
	struct replay_trace *trace = build->trace;
	uint32_t *now;

	if (build->sink)
		return build->sink->alloc(build->sink->user, told);
	if (!make_room(build))
		return false;
	now = idtable_at(&build->ids, told->id);
	if (!now)
		return no_memory(trace->path);
	if (*now != IDTABLE_NONE && trace->blocks[*now].death == REPLAY_ALIVE) {
		message_error("%s: %s %" PRIu64 ": block %" PRIu64
			      " is allocated again before it is freed, first on %s %" PRIu32,
			      trace->path, trace->place, told->place, told->id, trace->place,
			      trace->lines[trace->blocks[*now].birth]);
		return false;
	}
	*now = trace->block_count;
	trace->blocks[trace->block_count] = (struct replay_block){
		.id = told->id,
		.bytes = told->bytes,
		.stream = told->stream,
		.birth = trace->event_count,
		.death = REPLAY_ALIVE,
	};
	if (trace->free_streams)
		trace->free_streams[trace->block_count] = told->stream;
	if (!see_stream(build, told->stream) || !note_origin(build, told) ||
	    !replay_devices_note(build, told->has_device, told->device))
		return false;
	trace->has_stacks |= told->stack != 0;
	note_peak(build, told->bytes);
	return add_event(build, told, trace->block_count++, false);
}

bool replay_build_free(struct replay_build *build, const struct replay_told *told)
{
	struct replay_trace *trace = build->trace;
	uint32_t now = idtable_find(&build->ids, told->id);

	if (build->sink)
		return build->sink->free(build->sink->user, told);
	if (!make_room(build))
		return false;
	if (now == IDTABLE_NONE) {
		message_error("%s: %s %" PRIu64 ": invalid free: block %" PRIu64
			      " was never allocated",
			      trace->path, trace->place, told->place, told->id);
		return false;
	}
	if (trace->blocks[now].death != REPLAY_ALIVE) {
		message_error("%s: %s %" PRIu64 ": double free of block %" PRIu64
			      ", first freed on %s %" PRIu32,
			      trace->path, trace->place, told->place, told->id, trace->place,
			      trace->lines[trace->blocks[now].death]);
		return false;
	}
	trace->blocks[now].death = trace->event_count;
	build->live -= (double)trace->blocks[now].bytes;
	if (told->has_stream && told->stream != trace->blocks[now].stream &&
	    !note_free_stream(build, now, told->stream))
		return false;
	return add_event(build, told, now, true);
}

uint32_t replay_build_alive(const struct replay_build *build, uint64_t id)
{
	uint32_t now;

	if (build->sink)
		return build->sink->is_live(build->sink->user, id) ? 0 : REPLAY_NOBODY;
	now = idtable_find(&build->ids, id);
	return now != IDTABLE_NONE && build->trace->blocks[now].death == REPLAY_ALIVE
		       ? now
		       : REPLAY_NOBODY;
}

void replay_build_fini(struct replay_build *build)
{
	build->trace->names = build->names.texts;
	build->trace->name_count = build->names.count;
	build->names.texts = NULL;
	build->names.count = 0;
	names_fini(&build->names);
	idtable_fini(&build->ids);
	idtable_fini(&build->streams);
	idtable_fini(&build->devices.indices);
	free(build->devices.list);
	free(build->devices.of_block);
}
