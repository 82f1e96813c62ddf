/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_trace.c - read a file of any known format as a struct replay_trace.
 *
 * 1. Detect the format by the first bytes, uncompressed (read.h).
 * 2. Its reader passes event after event; replay_build.c builds the trace from them.
 * 3. Of several devices, keep one (replay_devices.c).
 */
#include "replay/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/format.h"
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
	trace->next_device = REPLAY_DEFAULT;
	build.device = settings->device == REPLAY_DEFAULT ? 0
		       : settings->device == REPLAY_ALL   ? REPLAY_DEVICES_FIRST
							  : settings->device + 1;
	good = format->read(input, &build, settings->salvage) && replay_devices_reduce(&build);
	if (strcmp(format->name, "torch") == 0)
		trace->has_stacks = true; /* its entries may have some */
	progress_end();
	replay_build_fini(&build);
	input_close(input);
	if (!good)
		replay_trace_fini(trace);
	return good;
}

struct format_text replay_trace_title(const struct replay_trace *trace, int columns)
{
	struct format_text title, device = { "" };

	if (trace->device_count > 1)
		snprintf(device.text, sizeof(device.text), ", device %" PRIu64, trace->device);
	title = format_name(trace->path, columns - (int)strlen(device.text));
	strcat(title.text, device.text);
	return title;
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
