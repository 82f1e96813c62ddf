/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_replay.c - programs' own allocations, from recorded traces: workload "replay".
 *
 * A case is a file that mam replay reads, named without folder and extensions. Its allocations and
 * frees are run, on one stream, as in play.c: on a heap that begins empty, once cold and then warm.
 * Failed allocations are counted and do not end it; the frees of their blocks are skipped.
 *
 * The files are those named with --trace, otherwise the traces of the tests if the current folder
 * is a checkout of mam, otherwise none.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit/message.h"
#include "play.h"
#include "replay/replay.h"

#define TRACES_MAX 16
#define NAME_BYTES 48

static const char *const own_traces[] = { "tests/data/resnet50-train.trace.gz" };

static struct bench_case replay_cases[TRACES_MAX];
static struct training scripts[TRACES_MAX];
static char names[TRACES_MAX][NAME_BYTES];
static size_t trace_count;
static bool given;

/* Blocks are slots. */
static bool convert(const struct replay_trace *trace, struct training *script)
{
	size_t live = 0, at;

	*script = (struct training){ .count = trace->event_count, .slots = trace->block_count };
	script->events = calloc(script->count + 1, sizeof(*script->events));
	if (script->events == NULL)
		return false;
	for (at = 0; at < script->count; at++) {
		uint32_t slot = trace->events[at] >> 1;
		size_t bytes = trace->blocks[slot].bytes;

		if (trace->events[at] & 1) {
			live -= bytes;
			script->events[at] = (struct training_event){ 0, slot };
			continue;
		}
		live += bytes;
		if (live > script->peak_bytes)
			script->peak_bytes = live;
		/* 0 bytes would be a free */
		script->events[at] = (struct training_event){ bytes > 0 ? bytes : 1, slot };
	}
	return true;
}

/* "/traces/gpt2.trace.gz" is gpt2. A CSV file of results must not have quotes and commas in it. */
static void name_of(const char *path, char *name)
{
	static const char *const endings[] = { ".gz", ".trace", ".csv", ".pickle" };
	const char *slash = strrchr(path, '/');
	size_t i, length;
	char *at;

	snprintf(name, NAME_BYTES, "%.*s", NAME_BYTES - 1, slash != NULL ? slash + 1 : path);
	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		length = strlen(endings[i]);
		if (strlen(name) > length && strcmp(name + strlen(name) - length, endings[i]) == 0)
			name[strlen(name) - length] = '\0';
	}
	for (at = name; *at != '\0'; at++) {
		if ((unsigned char)*at <= ' ' || *at == '"' || *at == ',')
			*at = '_';
	}
}

bool bench_replay_add(const char *path)
{
	struct replay_settings settings;
	struct replay_trace trace;
	bool good;

	given = true;
	replay_settings_begin(&settings);
	if (trace_count == TRACES_MAX) {
		message_error("--trace accepts at most %d files", TRACES_MAX);
		return false;
	}
	if (!replay_trace_load(path, &settings, &trace))
		return false;
	good = trace.event_count > 0;
	if (!good)
		message_error("%s: has no events to replay", path);
	else if (!convert(&trace, &scripts[trace_count])) {
		message_error("%s: out of memory", path);
		good = false;
	}
	replay_trace_fini(&trace);
	if (!good)
		return false;
	name_of(path, names[trace_count]);
	replay_cases[trace_count] =
		(struct bench_case){ names[trace_count], trace_count, 0, false, 0 };
	trace_count++;
	return true;
}

void bench_replay_fini(void)
{
	while (trace_count > 0)
		training_fini(&scripts[--trace_count]);
	given = false;
}

static size_t find_cases(const struct bench_case **cases)
{
	size_t i;

	for (i = 0; !given && i < sizeof(own_traces) / sizeof(own_traces[0]); i++) {
		if (access(own_traces[i], R_OK) == 0)
			bench_replay_add(own_traces[i]);
	}
	*cases = replay_cases;
	return trace_count;
}

static const char *run_replay(struct bench_peer *peer, const struct bench_case *one,
			      const struct bench_effort *effort, struct bench_random *random,
			      struct bench_sample *sample)
{
	(void)random;
	return play_script(peer, &scripts[one->a], false, true, effort, sample);
}

static bool suits(const struct bench_peer *peer, const struct bench_case *one)
{
	(void)one;
	return peer->max_bytes == 0;
}

const struct bench_workload bench_work_replay = {
	.name = "replay",
	.title = "ns an event of a program's trace/the most reserved over the most live",
	.metrics = { "event_ns", "reserved_ratio" },
	.find_cases = find_cases,
	.repeats = 3,
	.grows = true,
	.suits = suits,
	.run = run_replay,
};
