/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file for mam replay: a trace, RMM's log, PyTorch's snapshot. The result is a valid
 * trace, or an error and nothing else. A trace that our own writer writes and that is read again is
 * the same.
 *
 * The first byte selects the declared kind of the file, and further settings of the reader.
 */
#include "write/export.h"
#include "fuzz.h"
#include "read/read.h"
#include "whole_trace.h"

#define WHO_MAX 1100 /* bytes of a name that surely fit into a line, at three characters each */

static bool load(const char *path, const struct replay_settings *settings,
		 struct replay_trace *trace)
{
	struct fuzz_heard heard;
	size_t sentences;
	bool good;

	fuzz_heard_begin(&heard);
	good = replay_trace_load(path, settings, trace);
	fuzz_heard_end(&heard);
	sentences = fuzz_sentences(&heard);
	require(good || sentences > 0, "a failure without a message");
	require(heard.printed_bytes == 0, "messages on stdout");
	fuzz_heard_free(&heard);
	require(good || (!trace->events && !trace->blocks && !trace->names && !trace->event_count),
		"half a trace remains");
	return good;
}

/* Written by our own writer, and read again. */
static void check_written(const struct replay_trace *trace)
{
	static struct fuzz_file file;
	struct map map = { .trace = trace };
	struct replay_settings settings;
	struct export_job job = { .map = &map, .trace = trace, .settings = &settings };
	struct replay_trace again;
	char *text = NULL;
	size_t bytes;

	replay_settings_begin(&settings);
	settings.format = READ_MAM;
	job.file = open_memstream(&text, &bytes);
	require(job.file != NULL && write_trace(&job), "cannot write a trace");
	fclose(job.file);
	fuzz_file_put(&file, text, bytes);
	require(load(file.path, &settings, &again), "the written text is not a trace");
	whole_trace_check(&again);
	whole_trace_same(trace, &again, WHO_MAX);
	replay_trace_fini(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct fuzz_file file;
	struct replay_settings settings;
	struct replay_trace trace;
	unsigned int how = bytes > 0 ? data[0] : 0;

	if (bytes == 0)
		return 0;
	replay_settings_begin(&settings);
	settings.format = how % 4 + READ_AUTO;
	settings.salvage = how & 4;
	if (how & 8)
		settings.device = how / 16 % 4;
	fuzz_file_put(&file, data + 1, bytes - 1);
	if (!load(file.path, &settings, &trace))
		return 0;
	whole_trace_check(&trace);
	if (trace.event_count > 0)
		check_written(&trace);
	replay_trace_fini(&trace);
	return 0;
}
