/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_trace.c - a trace as a compact array, its ids resolved.
 *
 * 1. Read event after event (mam/trace.h judges the syntax).
 * 2. An allocation makes a new block; the id table remembers that its id names that block now.
 * 3. A free looks its block up and writes down when it died. An id that is not alive, or is alive
 *    already, is an error of the trace. The stream it died on is its own, unless a field
 *    stream=NUMBER says another.
 * Playing then needs no id, no hash and no text: 8 bytes an event and 32 a block.
 */
#include "replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mam/trace.h>

#include "format.h"
#include "idtable.h"
#include "input.h"
#include "message.h"
#include "progress.h"

#define EVENTS_MAX ((uint32_t)INT32_MAX)
#define PROGRESS_STEP 65536

/* A trace in the making. */
struct loader {
	struct replay_trace *trace;
	struct idtable ids;
	struct idtable streams; /* those seen; what stands there means nothing */
	uint32_t event_room;    /* events and lines that fit */
	uint32_t block_room;
	double live; /* bytes; a double because a trace may ask for 2^64 - 1 again and again */
	double peak;
	uint64_t last_stream;
};

static bool no_memory(const char *path)
{
	message_error("%s: no memory left to hold the trace", path);
	return false;
}

static bool widen(void **array, uint32_t room, size_t each)
{
	void *wider = realloc(*array, room * each);

	if (wider)
		*array = wider;
	return wider != NULL;
}

/* Room for one more event and one more block. */
static bool make_room(struct loader *loader)
{
	struct replay_trace *trace = loader->trace;

	if (trace->event_count == EVENTS_MAX) {
		message_error("%s: line %" PRIu32 ": a replay ends at %s events", trace->path,
			      trace->lines[trace->event_count - 1], format_count(EVENTS_MAX).text);
		return false;
	}
	if (trace->event_count == loader->event_room) {
		uint32_t room = loader->event_room ? 2 * loader->event_room : 4096;

		if (!widen((void **)&trace->events, room, sizeof(*trace->events)) ||
		    !widen((void **)&trace->lines, room, sizeof(*trace->lines)))
			return no_memory(trace->path);
		loader->event_room = room;
	}
	if (trace->block_count == loader->block_room) {
		uint32_t room = loader->block_room ? 2 * loader->block_room : 4096;

		if (!widen((void **)&trace->blocks, room, sizeof(*trace->blocks)))
			return no_memory(trace->path);
		if (trace->free_streams &&
		    !widen((void **)&trace->free_streams, room, sizeof(*trace->free_streams)))
			return no_memory(trace->path);
		loader->block_room = room;
	}
	return true;
}

static void add_event(struct loader *loader, uint32_t block, bool frees, uint64_t line)
{
	struct replay_trace *trace = loader->trace;

	trace->events[trace->event_count] = block << 1 | frees;
	trace->lines[trace->event_count] = (uint32_t)line;
	trace->event_count++;
}

/* Count the streams. */
static bool see_stream(struct loader *loader, uint64_t stream)
{
	uint32_t *seen;

	/* Programs stay on a stream: mostly it is the last one's. */
	if (loader->trace->stream_count && stream == loader->last_stream)
		return true;
	seen = idtable_at(&loader->streams, stream);
	if (!seen)
		return no_memory(loader->trace->path);
	if (*seen == IDTABLE_NONE)
		*seen = loader->trace->stream_count++;
	loader->last_stream = stream;
	return true;
}

/* The stream that a free was ordered behind; false: it does not say. */
static bool read_stream(const struct mam_trace_event *event, uint64_t *stream)
{
	const char *text;
	size_t bytes;
	uint64_t number = 0;

	if (!mam_trace_field(event, "stream", &text, &bytes) || bytes == 0)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';

		if (digit > 9 || number > (UINT64_MAX - digit) / 10)
			return false;
		number = 10 * number + digit;
	}
	*stream = number;
	return true;
}

/* A block was freed on a stream that it was not for: from now on there is a list of that. */
static bool note_free_stream(struct loader *loader, uint32_t block, uint64_t stream)
{
	struct replay_trace *trace = loader->trace;

	if (!trace->free_streams) {
		trace->free_streams = malloc(loader->block_room * sizeof(*trace->free_streams));
		if (!trace->free_streams)
			return no_memory(trace->path);
		for (uint32_t i = 0; i < trace->block_count; i++)
			trace->free_streams[i] = trace->blocks[i].stream;
	}
	trace->free_streams[block] = stream;
	return see_stream(loader, stream);
}

static bool add_alloc(struct loader *loader, const struct mam_trace_event *event)
{
	struct replay_trace *trace = loader->trace;
	uint32_t *now = idtable_at(&loader->ids, event->id);

	if (!now)
		return no_memory(trace->path);
	if (*now != IDTABLE_NONE && trace->blocks[*now].death == REPLAY_ALIVE) {
		message_error("%s: line %" PRIu64 ": block %" PRIu64
			      " is allocated again while it is alive, since line %" PRIu32,
			      trace->path, event->line, event->id,
			      trace->lines[trace->blocks[*now].birth]);
		return false;
	}
	*now = trace->block_count;
	trace->blocks[trace->block_count] = (struct replay_block){
		.id = event->id,
		.bytes = event->bytes,
		.stream = event->stream,
		.birth = trace->event_count,
		.death = REPLAY_ALIVE,
	};
	if (trace->free_streams)
		trace->free_streams[trace->block_count] = event->stream;
	if (!see_stream(loader, event->stream))
		return false;
	loader->live += (double)event->bytes;
	if (loader->live > loader->peak) {
		loader->peak = loader->live;
		trace->peak_event = trace->event_count;
	}
	add_event(loader, trace->block_count++, false, event->line);
	return true;
}

static bool add_free(struct loader *loader, const struct mam_trace_event *event)
{
	struct replay_trace *trace = loader->trace;
	uint32_t now = idtable_find(&loader->ids, event->id);
	uint64_t stream;

	if (now == IDTABLE_NONE) {
		message_error("%s: line %" PRIu64 ": block %" PRIu64
			      " is freed but was never allocated",
			      trace->path, event->line, event->id);
		return false;
	}
	if (trace->blocks[now].death != REPLAY_ALIVE) {
		message_error("%s: line %" PRIu64 ": block %" PRIu64
			      " is freed twice, the first time on line %" PRIu32,
			      trace->path, event->line, event->id,
			      trace->lines[trace->blocks[now].death]);
		return false;
	}
	trace->blocks[now].death = trace->event_count;
	loader->live -= (double)trace->blocks[now].bytes;
	if (read_stream(event, &stream) && stream != trace->blocks[now].stream &&
	    !note_free_stream(loader, now, stream))
		return false;
	add_event(loader, now, true, event->line);
	return true;
}

/* The last event as the file has it, or what to say when there is none. */
static void describe_last(const struct replay_trace *trace, char *text, size_t bytes)
{
	uint32_t last = trace->event_count - 1;
	const struct replay_block *block;

	if (trace->event_count == 0) {
		snprintf(text, bytes, "no event came whole");
		return;
	}
	block = &trace->blocks[trace->events[last] >> 1];
	if (trace->events[last] & 1)
		snprintf(text, bytes, "the last whole event is 'f %" PRIu64 "' on line %" PRIu32,
			 block->id, trace->lines[last]);
	else
		snprintf(text, bytes,
			 "the last whole event is 'a %" PRIu64 " %" PRIu64 " %" PRIu64
			 "' on line %" PRIu32,
			 block->id, block->bytes, block->stream, trace->lines[last]);
}

/* The trace is no whole trace: say why. True: go on with what there is. */
static bool take_problem(const struct replay_trace *trace, const struct input *input,
			 const struct mam_trace_problem *problem, bool salvage)
{
	const char *trouble = input_trouble(input);
	char where[300], last[120];

	snprintf(where, sizeof(where), "%sline %" PRIu64 ": %s", trouble ? "after " : "",
		 problem->line, trouble ? trouble : problem->text);
	describe_last(trace, last, sizeof(last));
	if (!problem->cut)
		message_error("%s: %s", trace->path, where);
	else if (salvage)
		message_error("%s: %s, and the rest is lost; %s; events played: %s", trace->path,
			      where, last, format_count(trace->event_count).text);
	else
		message_error("%s: %s; %s; --salvage plays up to there", trace->path, where, last);
	return problem->cut && salvage;
}

static bool load_events(struct loader *loader, struct mam_trace_reader *reader, struct input *input,
			bool salvage)
{
	struct mam_trace_event event;
	uint64_t taken, in_all;

	while (mam_trace_next(reader, &event) == MAM_OK) {
		if (event.kind == MAM_TRACE_END)
			return true;
		if (!make_room(loader))
			return false;
		if (!(event.kind == MAM_TRACE_ALLOC ? add_alloc : add_free)(loader, &event))
			return false;
		if (loader->trace->event_count % PROGRESS_STEP == 0) {
			input_position(input, &taken, &in_all);
			progress_show("reading", taken, in_all);
		}
	}
	progress_end();
	return take_problem(loader->trace, input, mam_trace_problem_of(reader), salvage);
}

bool replay_trace_load(const char *path, bool salvage, struct replay_trace *trace)
{
	struct loader loader = { .trace = trace };
	struct mam_trace_reader *reader;
	struct input *input = input_open(path);
	bool good;

	memset(trace, 0, sizeof(*trace));
	trace->path = path;
	if (!input)
		return false;
	if (mam_trace_reader_create(input_read, input, &reader) == MAM_OK) {
		good = load_events(&loader, reader, input, salvage);
		mam_trace_reader_destroy(reader);
	} else {
		good = no_memory(path);
	}
	progress_end();
	idtable_fini(&loader.ids);
	idtable_fini(&loader.streams);
	input_close(input);
	if (!good)
		replay_trace_fini(trace);
	return good;
}

void replay_trace_fini(struct replay_trace *trace)
{
	free(trace->events);
	free(trace->lines);
	free(trace->blocks);
	free(trace->free_streams);
	memset(trace, 0, sizeof(*trace));
}
