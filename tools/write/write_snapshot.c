/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_snapshot.c - write a replay as a memory snapshot like that of PyTorch's allocator.
 *
 * 1. `segments`: the state after the last event (snapshot_segments.c).
 * 2. `device_traces`: each event, with the address that its block had in the replay. A
 *    segment_alloc precedes the first block of a chunk, and an allocation that failed is an oom.
 *    Both halves of a free, requested and completed, are written together: the replay decided which
 *    block could reuse the memory next.
 * 3. Settings, and the origin of the file.
 *
 * Blocks of size 0 have no address and are omitted. Times are microseconds.
 */
#include "write/snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit/format.h"

static void put_entry(struct snapshot *snapshot, const char *action, uint64_t address,
		      uint64_t bytes, uint64_t stream, uint32_t event)
{
	pickle_put_open_dict(&snapshot->put);
	snapshot_put_word(snapshot, "action", action);
	snapshot_put_number(snapshot, strcmp(action, "oom") == 0 ? "device_free" : "addr",
			    snapshot_number(address));
	snapshot_put_number(snapshot, "size", snapshot_number(bytes));
	snapshot_put_number(snapshot, "stream", (int64_t)stream);
	snapshot_put_number(snapshot, "time_us",
			    snapshot_number(export_ns(snapshot->job->trace, event) / 1000));
}

static void end_entry(struct snapshot *snapshot, uint32_t block)
{
	snapshot_put_frames(snapshot, block);
	pickle_put_close_dict(&snapshot->put);
	pickle_put_item(&snapshot->put);
}

/* Write the text that the viewer shows for a block: its id in the trace, and its place. */
static void put_label(struct snapshot *snapshot, uint32_t number)
{
	const struct replay_trace *trace = snapshot->job->trace;
	const struct replay_block *block = &trace->blocks[number];
	char text[120];
	int length;

	length = snprintf(text, sizeof(text), "block %" PRIu64 ", %s %" PRIu32, block->id,
			  trace->place, trace->lines[block->birth]);
	if (trace->has_threads && length < (int)sizeof(text))
		snprintf(text + length, sizeof(text) - (size_t)length, ", thread %" PRIu64,
			 trace->origins[number].thread);
	pickle_put_word(&snapshot->put, "user_metadata");
	pickle_put_text(&snapshot->put, text);
}

static void put_event(struct snapshot *snapshot, uint32_t event)
{
	static const char *const halves[] = { "free_requested", "free_completed" };
	const struct export_job *job = snapshot->job;
	const struct map *map = job->map;
	uint32_t what = job->trace->events[event], number = what >> 1;
	const struct replay_block *block = &job->trace->blocks[number];
	const struct map_chunk *chunk;
	uint64_t address;

	if (map->places[number] == MAP_NOWHERE) {
		if (!(what & 1) && block->bytes > 0) {
			put_entry(snapshot, "oom", 0, block->bytes, block->stream, event);
			end_entry(snapshot, number);
		}
		return;
	}
	address = export_address(map, number);
	if (what & 1) {
		uint64_t stream =
			job->trace->free_streams ? job->trace->free_streams[number] : block->stream;

		for (int i = 0; i < 2; i++) {
			put_entry(snapshot, halves[i], address, block->bytes, stream, event);
			end_entry(snapshot, number);
		}
		return;
	}
	chunk = map_chunk_of(map, map->places[number]);
	if (!snapshot->is_open[chunk - map->chunks]) {
		snapshot->is_open[chunk - map->chunks] = true;
		put_entry(snapshot, "segment_alloc", chunk->base, chunk->used, 0, event);
		end_entry(snapshot, SNAPSHOT_NOBODY);
	}
	put_entry(snapshot, "alloc", address, block->bytes, block->stream, event);
	put_label(snapshot, number);
	end_entry(snapshot, number);
}

static void put_traces(struct snapshot *snapshot)
{
	pickle_put_word(&snapshot->put, "device_traces");
	pickle_put_open_list(&snapshot->put);
	pickle_put_open_list(&snapshot->put);
	for (uint32_t event = 0; event < snapshot->job->trace->event_count; event++) {
		export_progress(snapshot->job, event);
		put_event(snapshot, event);
	}
	pickle_put_item(&snapshot->put);
}

/* Write those of PyTorch's settings that apply here, and the origin of the file. */
static void put_settings(struct snapshot *snapshot)
{
	const struct export_job *job = snapshot->job;

	pickle_put_word(&snapshot->put, "allocator_settings");
	pickle_put_open_dict(&snapshot->put);
	snapshot_put_word(snapshot, "PYTORCH_CUDA_ALLOC_CONF", "");
	snapshot_put_bool(snapshot, "expandable_segments",
			  strcmp(job->settings->source, "vmm") == 0);
	snapshot_put_word(snapshot, "mam", mam_version());
	snapshot_put_word(snapshot, "mam_trace", replay_trace_title(job->trace, 39).text);
	snapshot_put_word(snapshot, "mam_source", job->settings->source);
	pickle_put_close_dict(&snapshot->put);
	pickle_put_word(&snapshot->put, "external_annotations");
	pickle_put_open_list(&snapshot->put);
}

bool write_snapshot(const struct export_job *job)
{
	struct snapshot snapshot = { .job = job };
	bool good = false;

	snapshot.spelt = calloc((size_t)job->trace->name_count + 1, sizeof(*snapshot.spelt));
	snapshot.is_open = calloc(job->map->chunk_count + 1, sizeof(bool));
	if (snapshot.spelt && snapshot.is_open && pickle_put_begin(&snapshot.put, job->file)) {
		pickle_put_open_dict(&snapshot.put);
		good = snapshot_put_segments(&snapshot);
		put_traces(&snapshot);
		put_settings(&snapshot);
		pickle_put_close_dict(&snapshot.put);
		good = pickle_put_end(&snapshot.put) && good;
	}
	free(snapshot.spelt);
	free(snapshot.is_open);
	return good;
}
