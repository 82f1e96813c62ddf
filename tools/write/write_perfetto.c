/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_perfetto.c - write a replay as Chrome's trace JSON, which Perfetto opens.
 *
 * For each event:
 *   counters  those that it changed: live bytes, as requested; the pool's reserved bytes; its high
 *             water mark; the bytes allocated from the driver; and the bytes below the high water
 *             mark that are not live
 *   a slice   for a block that was born (perfetto_slices.c)
 *   a mark    for an allocation that failed
 *
 * Counters include all blocks, with or without a slice. Times are microseconds with a fraction. All
 * other facts are in otherData at the end.
 */
#include "write/perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "kit/format.h"
#include "kit/json_put.h"
#include "kit/message.h"

struct counters {
	uint64_t live;    /* bytes, as requested */
	uint64_t rounded; /* bytes, of the same blocks */
	size_t step;      /* index of the map's next step */
};

void perfetto_put_time(FILE *file, const char *key, uint64_t ns)
{
	fprintf(file, ",\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
}

void perfetto_put_name(FILE *file, const char *what, uint32_t process, uint32_t track,
		       const char *name, uint32_t order)
{
	fprintf(file,
		"{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
		",\"args\":{\"name\":",
		what, process, track);
	json_put_text(file, name);
	fprintf(file,
		"}},\n{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
		",\"args\":{\"sort_index\":%" PRIu32 "}},\n",
		what, process, track, order);
}

static void put_member(FILE *file, const char *key, uint64_t number)
{
	fprintf(file, ",\"%s\":", key);
	json_put_number(file, number);
}

void perfetto_put_block(const struct export_job *job, uint32_t number)
{
	const struct replay_trace *trace = job->trace;
	const struct replay_block *block = &trace->blocks[number];
	const char *who = export_who(trace, number);
	FILE *file = job->file;

	fprintf(file, ",\"args\":{\"born\":\"%s %" PRIu32 "\"", trace->place,
		trace->lines[block->birth]);
	put_member(file, "id", block->id);
	put_member(file, "bytes", block->bytes);
	if (job->map->places[number] != MAP_NOWHERE) {
		put_member(file, "takes", job->map->sizes[number]);
		fprintf(file, ",\"address\":\"0x%" PRIx64 "\"", export_address(job->map, number));
	}
	put_member(file, "stream", block->stream);
	if (trace->has_threads)
		put_member(file, "thread", trace->origins[number].thread);
	if (block->death == REPLAY_ALIVE)
		fputs(",\"freed\":\"never\"", file);
	if (*who) {
		fputs(",\"who\":", file);
		json_put_text(file, who);
	}
	fputs("}},\n", file);
}

static void put_counter(const struct export_job *job, const char *name, uint32_t event,
			uint64_t bytes)
{
	fprintf(job->file, "{\"ph\":\"C\",\"name\":\"%s\",\"pid\":%d", name, PERFETTO_PROCESS);
	perfetto_put_time(job->file, "ts", export_ns(job->trace, event));
	fprintf(job->file, ",\"args\":{\"bytes\":%" PRIu64 "}},\n", bytes);
}

/* Write the pool's own counters that changed. */
static bool put_step(const struct export_job *job, struct counters *counters, uint32_t event)
{
	static const struct map_step nothing = { .reserved_bytes = UINT64_MAX,
						 .high_water_bytes = UINT64_MAX,
						 .physical_bytes = UINT64_MAX };
	const struct map *map = job->map;
	const struct map_step *now = &map->steps[counters->step], *last;

	if (counters->step == map->step_count || now->event != event)
		return false;
	last = counters->step++ ? now - 1 : &nothing;
	if (now->reserved_bytes != last->reserved_bytes)
		put_counter(job, "reserved", event, now->reserved_bytes);
	if (now->physical_bytes != last->physical_bytes)
		put_counter(job, "physical", event, now->physical_bytes);
	if (now->high_water_bytes != last->high_water_bytes)
		put_counter(job, "high water", event, now->high_water_bytes);
	return true;
}

static void put_counters(const struct export_job *job, struct counters *counters, uint32_t event,
			 bool lives)
{
	bool stepped = put_step(job, counters, event);
	uint64_t high_water;

	if (lives)
		put_counter(job, "live", event, counters->live);
	if ((!lives && !stepped) || counters->step == 0)
		return;
	high_water = job->map->steps[counters->step - 1].high_water_bytes;
	if (high_water >= counters->rounded)
		put_counter(job, "free below high water", event, high_water - counters->rounded);
}

static void put_failure(const struct export_job *job, uint32_t number, uint32_t event)
{
	fprintf(job->file,
		"{\"ph\":\"i\",\"s\":\"p\",\"cat\":\"failure\",\"name\":\"allocation failed\","
		"\"pid\":%d,\"tid\":%d",
		PERFETTO_PROCESS, PERFETTO_PROCESS);
	perfetto_put_time(job->file, "ts", export_ns(job->trace, event));
	perfetto_put_block(job, number);
}

static void put_event(const struct export_job *job, struct perfetto_slices *slices,
		      struct counters *counters, uint32_t event)
{
	uint32_t what = job->trace->events[event], number = what >> 1;
	uint64_t bytes = job->trace->blocks[number].bytes;
	bool lives = job->map->places[number] != MAP_NOWHERE;

	if (lives && what & 1) {
		counters->live -= bytes;
		counters->rounded -= job->map->sizes[number];
		perfetto_slices_death(slices, number);
	} else if (lives) {
		counters->live += bytes;
		counters->rounded += job->map->sizes[number];
		perfetto_slices_birth(slices, number);
	} else if (!(what & 1) && bytes > 0) {
		put_failure(job, number, event);
	}
	put_counters(job, counters, event, lives);
}

/* Write the end of the list, and the facts about the whole replay. */
static void put_end(const struct export_job *job, const struct perfetto_slices *slices)
{
	FILE *file = job->file;

	/* A last event ends the list, so that each other event can be followed by a comma. */
	fprintf(file,
		"{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%d,\"tid\":0,\"args\":{"
		"\"labels\":",
		PERFETTO_PROCESS);
	json_put_text(file, job->settings->source);
	fprintf(file,
		"}}\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"producer\":\"mam %s\","
		"\n\"times\":\"%s\",\n\"slices\":\"%" PRIu32
		"\",\n\"blocks_without_slice\":\"%" PRIu32 "\"}}\n",
		mam_version(),
		job->trace->times ? "from the trace" : "not in the trace: 1 us an event",
		slices->count, slices->left_out);
}

static void put_all(const struct export_job *job, struct perfetto_slices *slices)
{
	const struct replay_trace *trace = job->trace;
	struct counters counters = { 0 };

	fputs("{\"traceEvents\":[\n", job->file);
	perfetto_put_name(job->file, "process", PERFETTO_PROCESS, 0,
			  replay_trace_title(trace, 39).text, 0);
	for (uint32_t event = 0; event < trace->event_count; event++) {
		export_progress(job, event);
		put_event(job, slices, &counters, event);
	}
	put_end(job, slices);
	if (slices->left_out && !job->settings->quiet)
		message_note("%s: has slices of %s of %s; its counters include all", job->path,
			     format_count(slices->count).text,
			     format_counted(slices->count + slices->left_out, "block").text);
}

bool write_perfetto(const struct export_job *job)
{
	struct perfetto_slices slices;

	if (!perfetto_slices_init(&slices, job)) {
		errno = ENOMEM;
		return false;
	}
	put_all(job, &slices);
	if (slices.no_memory)
		errno = ENOMEM;
	perfetto_slices_fini(&slices);
	return !slices.no_memory && !ferror(job->file);
}
