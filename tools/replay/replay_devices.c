/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_devices.c - see replay_devices.h.
 *
 * 1. While a trace is built, each block gets the index of its device. This column, like others,
 *    begins to exist with the first block that has a device.
 * 2. When all events are there, one device is picked. Its events and blocks move together in their
 *    arrays, in order, so blocks still have the numbers of their births.
 * 3. Streams, the peak and the time of the first event are computed again.
 *
 * O(events). Files without devices pay for one comparison per block.
 */
#include "replay/replay_devices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kit/format.h"
#include "kit/message.h"
#include "replay/replay_build.h"

#define LISTED_MAX 16 /* devices that a message names */

static bool no_memory(const struct replay_build *build)
{
	message_error("%s: out of memory", build->trace->path);
	return false;
}

/* "0, 1 and 3", of those that are known. */
static void list(const struct replay_device *devices, size_t count, char *text, size_t bytes)
{
	size_t used = 0, left = 0, listed = 0;

	for (size_t i = 0; i < count; i++)
		left += devices[i].is_known;
	text[0] = '\0';
	for (size_t i = 0; i < count && used < bytes; i++) {
		if (!devices[i].is_known)
			continue;
		if (listed == LISTED_MAX) {
			snprintf(text + used, bytes - used, " and %zu more", left);
			return;
		}
		used += (size_t)snprintf(text + used, bytes - used, "%s%" PRIu64,
					 listed == 0 ? ""
					 : left == 1 ? " and "
						     : ", ",
					 devices[i].number);
		listed++;
		left--;
	}
}

static void report_pick(const char *path, const struct replay_device *devices, size_t count,
			size_t picked)
{
	uint64_t others = 0;

	for (size_t i = 0; i < count; i++)
		others += i == picked ? 0 : devices[i].events;
	message_note(
		"%s: device %" PRIu64 " is replayed, with %s; %s %s %s (use --device N to choose)",
		path, devices[picked].number, format_counted(devices[picked].events, "event").text,
		format_counted(count - 1, "other device").text, count == 2 ? "has" : "have",
		format_counted(others, "event").text);
}

static bool is_better(const struct replay_device *one, const struct replay_device *other)
{
	if (one->is_known != other->is_known)
		return one->is_known;
	return one->events != other->events ? one->events > other->events
					    : one->number < other->number;
}

/* The device with the lowest number. Reports events that no replay of a device plays. */
static void pick_first(const char *path, const struct replay_device *devices, size_t count,
		       size_t *picked)
{
	for (size_t i = 0; i < count; i++) {
		if (!devices[i].is_known)
			message_note("%s: %s of unknown devices %s not replayed", path,
				     format_counted(devices[i].events, "event").text,
				     devices[i].events == 1 ? "is" : "are");
		else if (!devices[*picked].is_known || devices[i].number < devices[*picked].number)
			*picked = i;
	}
}

uint64_t replay_devices_after(const struct replay_device *devices, size_t count, size_t picked)
{
	uint64_t next = REPLAY_DEFAULT;

	for (size_t i = 0; i < count; i++)
		if (devices[i].is_known && devices[i].number > devices[picked].number &&
		    devices[i].number < next)
			next = devices[i].number;
	return next;
}

bool replay_devices_pick(const char *path, const struct replay_device *devices, size_t count,
			 uint64_t wanted, size_t *picked)
{
	char known[512];

	*picked = 0;
	if (wanted == REPLAY_DEVICES_FIRST) {
		pick_first(path, devices, count, picked);
		return true;
	}
	for (size_t i = 0; i < count; i++) {
		if (wanted && devices[i].is_known && devices[i].number == wanted - 1) {
			*picked = i;
			return true;
		}
		if (is_better(&devices[i], &devices[*picked]))
			*picked = i;
	}
	if (wanted) {
		list(devices, count, known, sizeof(known));
		message_error("%s: --device %" PRIu64 ": the file has events of device%s %s only",
			      path, wanted - 1, count == 1 ? "" : "s", known);
		return false;
	}
	if (count > 1)
		report_pick(path, devices, count, *picked);
	return true;
}

/* The index of a device, which is new or not; IDTABLE_NONE: no memory. */
static uint32_t index_of(struct replay_devices *devices, bool is_known, uint64_t number)
{
	uint32_t *index = &devices->unknown;
	struct replay_device *wider;

	if (is_known && devices->count && devices->list[devices->last].is_known &&
	    devices->list[devices->last].number == number)
		return devices->last;
	if (is_known)
		index = idtable_at(&devices->indices, number);
	if (!index)
		return IDTABLE_NONE;
	if (*index == IDTABLE_NONE) {
		if (devices->count == devices->room) {
			uint32_t room = devices->room ? 2 * devices->room : 8;

			wider = realloc(devices->list, room * sizeof(*wider));
			if (!wider)
				return IDTABLE_NONE;
			devices->list = wider;
			devices->room = room;
		}
		*index = devices->count++;
		devices->list[*index] = (struct replay_device){ number, 0, is_known };
	}
	devices->last = *index;
	return *index;
}

bool replay_devices_note(struct replay_build *build, bool is_known, uint64_t number)
{
	struct replay_devices *devices = &build->devices;
	uint32_t index, blocks = build->trace->block_count;

	if (!is_known && !devices->of_block)
		return true;
	if (!devices->of_block) {
		devices->unknown = IDTABLE_NONE;
		devices->of_block = malloc(build->block_room * sizeof(*devices->of_block));
		if (!devices->of_block)
			return no_memory(build);
		index = blocks ? index_of(devices, false, 0) : 0;
		if (index == IDTABLE_NONE)
			return no_memory(build);
		for (uint32_t i = 0; i < blocks; i++)
			devices->of_block[i] = index;
	}
	index = index_of(devices, is_known, number);
	if (index == IDTABLE_NONE)
		return no_memory(build);
	devices->of_block[blocks] = index;
	return true;
}

/* Copy one event if it is of the picked device. */
static void keep_event(struct replay_trace *trace, uint32_t *of_block, uint32_t event,
		       uint32_t kept, uint32_t block)
{
	bool frees = trace->events[event] & 1;

	if (frees) {
		block = of_block[block];
		trace->blocks[block].death = kept;
	} else {
		uint32_t to = trace->block_count++;

		trace->blocks[to] = trace->blocks[block];
		trace->blocks[to].birth = kept;
		if (trace->free_streams)
			trace->free_streams[to] = trace->free_streams[block];
		if (trace->origins)
			trace->origins[to] = trace->origins[block];
		of_block[block] = to;
		block = to;
	}
	trace->events[kept] = block << 1 | frees;
	trace->lines[kept] = trace->lines[event];
	if (trace->times)
		trace->times[kept] = trace->times[event];
}

static void keep_device(struct replay_build *build, uint32_t device)
{
	struct replay_trace *trace = build->trace;
	uint32_t *of_block = build->devices.of_block, kept = 0;

	/* No event precedes its block's allocation, so a free finds the new number of its block. */
	for (uint32_t i = 0; i < trace->block_count; i++)
		if (of_block[i] != device)
			of_block[i] = IDTABLE_NONE;
	trace->block_count = 0;
	for (uint32_t event = 0; event < trace->event_count; event++) {
		uint32_t block = trace->events[event] >> 1;

		if (of_block[block] != IDTABLE_NONE)
			keep_event(trace, of_block, event, kept++, block);
	}
	trace->event_count = kept;
	if (trace->times)
		for (uint32_t event = kept; event-- > 0;)
			trace->times[event] -= trace->times[0];
}

static bool count_streams(struct replay_build *build)
{
	struct replay_trace *trace = build->trace;
	struct idtable streams = { 0 };
	bool good = true;

	trace->stream_count = 0;
	for (uint32_t i = 0; i < trace->block_count && good; i++) {
		uint64_t both[] = { trace->blocks[i].stream, trace->free_streams
								     ? trace->free_streams[i]
								     : trace->blocks[i].stream };

		for (int j = 0; j < 2 && good; j++) {
			uint32_t *seen = idtable_at(&streams, both[j]);

			good = seen != NULL;
			if (good && *seen == IDTABLE_NONE)
				*seen = trace->stream_count++;
		}
	}
	idtable_fini(&streams);
	return good || no_memory(build);
}

static void find_peak(struct replay_trace *trace)
{
	double live = 0, peak = 0;

	trace->peak_event = 0;
	for (uint32_t event = 0; event < trace->event_count; event++) {
		double bytes = (double)trace->blocks[trace->events[event] >> 1].bytes;

		live += trace->events[event] & 1 ? -bytes : bytes;
		if (live > peak) {
			peak = live;
			trace->peak_event = event;
		}
	}
}

bool replay_devices_reduce(struct replay_build *build)
{
	struct replay_devices *devices = &build->devices;
	struct replay_trace *trace = build->trace;
	size_t picked;

	if (trace->device_count) /* the reader picked one itself */
		return true;
	if (devices->count == 0 && (!build->device || build->device == REPLAY_DEVICES_FIRST))
		return true;
	if (devices->count == 0) {
		message_error("%s: --device %" PRIu64 ": the file has no device numbers",
			      trace->path, build->device - 1);
		return false;
	}
	for (uint32_t event = 0; event < trace->event_count; event++)
		devices->list[devices->of_block[trace->events[event] >> 1]].events++;
	if (!replay_devices_pick(trace->path, devices->list, devices->count, build->device,
				 &picked))
		return false;
	trace->device = devices->list[picked].number;
	trace->device_count = devices->count;
	trace->next_device = replay_devices_after(devices->list, devices->count, picked);
	if (devices->count == 1)
		return true;
	keep_device(build, (uint32_t)picked);
	find_peak(trace);
	return count_streams(build);
}
