/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_trace.c - a file of any kind that is known as a struct replay_trace.
 *
 * 1. Look at how the file begins, inside of gzip, and so know its kind (read.h).
 * 2. Its reader tells event after event; replay_build.c makes the trace of it.
 */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "kit/progress.h"
#include "read/read.h"

bool replay_trace_load(const char *path, const struct replay_settings *settings,
		       struct replay_trace *trace)
{
	unsigned char head[INPUT_HEAD_BYTES];
	const struct read_format *format;
	struct replay_build build;
	struct input *input = input_open(path);
	bool good;

	memset(trace, 0, sizeof(*trace));
	if (!input)
		return false;
	if (settings->format == 0 || settings->format == READ_AUTO)
		format = read_format_of(head, input_head(input, head));
	else
		format = read_format_named((enum read_kind)settings->format);
	replay_build_init(&build, trace, path, format->place);
	build.device = settings->device == REPLAY_DEFAULT ? 0 : settings->device + 1;
	good = format->read(input, &build, settings->salvage);
	progress_end();
	replay_build_fini(&build);
	input_close(input);
	if (!good)
		replay_trace_fini(trace);
	return good;
}

void replay_trace_fini(struct replay_trace *trace)
{
	for (uint32_t i = 0; i < trace->name_count; i++)
		free(trace->names[i]);
	free(trace->names);
	free(trace->origins);
	free(trace->times);
	free(trace->events);
	free(trace->lines);
	free(trace->blocks);
	free(trace->free_streams);
	memset(trace, 0, sizeof(*trace));
}
