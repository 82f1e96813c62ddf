/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - `mam replay`: parse the command line and process one file after another.
 */
#include "replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "compare/compare.h"
#include "write/export.h"
#include "kit/format.h"
#include "map/map.h"
#include "map/map_view.h"
#include "kit/message.h"
#include "kit/progress.h"
#include "read/read.h"

static const struct args_word chunk_words[] = {
	{ "largest", REPLAY_LARGEST },
	{ NULL, 0 },
};

static const struct args_word growth_words[] = {
	{ "none", REPLAY_LARGEST },
	{ "auto", 0 },
	{ NULL, 0 },
};

static const struct args_word cache_words[] = {
	{ "on", REPLAY_CACHE_ON },
	{ "off", REPLAY_CACHE_OFF },
	{ NULL, 0 },
};

static const struct args_word free_words[] = {
	{ "stream", REPLAY_FREE_STREAM },
	{ "strict", REPLAY_FREE_STRICT },
	{ "deferred", REPLAY_FREE_DEFERRED },
	{ NULL, 0 },
};

static const struct args_word streams_words[] = {
	{ "honor", REPLAY_STREAMS_HONOR },
	{ "ignore", REPLAY_STREAMS_IGNORE },
	{ NULL, 0 },
};

static const struct args_word format_words[] = {
	{ "auto", READ_AUTO },   { "mam", READ_MAM }, { "rmm", READ_RMM },
	{ "torch", READ_TORCH }, { NULL, 0 },
};

/* Options that accept 0, which a count does not. */
static const struct args_word zero_words[] = {
	{ "0", 0 },
	{ NULL, 0 },
};

#define FIELD(name) offsetof(struct replay_settings, name)

const struct args_option replay_options[] = {
	{ "source", 's', ARGS_TEXT, FIELD(source), "NAME", NULL,
	  "source of memory: host (default; addresses only, no GPU),\n"
	  "cudamalloc, vmm (mapped on demand; simulated if there is\n"
	  "no GPU), pinned or managed" },
	{ "simulate", 0, ARGS_FLAG, FIELD(simulate), NULL, NULL,
	  "simulate vmm even if there is a GPU" },
	{ "chunk", 'c', ARGS_BYTES, FIELD(chunk_bytes), "BYTES", chunk_words,
	  "size of the first chunk, or 'largest'; default: 80G on\n"
	  "host (for each thread), added on demand on others" },
	{ "growth", 'g', ARGS_BYTES, FIELD(growth_bytes), "BYTES", growth_words,
	  "minimum size of later chunks, 'auto', or 'none' (default,\n"
	  "unless chunks are added on demand)" },
	{ "limit", 'l', ARGS_BYTES, FIELD(limit_bytes), "BYTES", NULL, "maximum size of the pool" },
	{ "footprint", 0, ARGS_COUNT, FIELD(footprint), "PERCENT", NULL,
	  "above PERCENT over the live bytes, use memory that other\n"
	  "streams freed before the pool grows: the GPU waits for them" },
	{ "align", 'a', ARGS_BYTES, FIELD(granule), "BYTES", NULL,
	  "alignment of block sizes and addresses: a power of two\n"
	  "from 16 to 2M; default 512" },
	{ "free", 'f', ARGS_WORD, FIELD(free), "WHEN", free_words,
	  "when a freed block is reused: stream (default; by its\n"
	  "own stream at once, by others N events later), strict (at\n"
	  "once), deferred (N events later)" },
	{ "lag", 0, ARGS_COUNT, FIELD(lag), "N", zero_words,
	  "events until the GPU has finished with a freed block;\n"
	  "default 64; vmm also accepts 0" },
	{ "streams", 0, ARGS_WORD, FIELD(streams), "WHAT", streams_words,
	  "honor (default) or ignore the streams of the trace" },
	{ "cache", 0, ARGS_WORD, FIELD(cache), "WHAT", cache_words,
	  "thread caches of freed blocks: on, or off (default)" },
	{ "check", 'k', ARGS_FLAG, FIELD(check), NULL, NULL,
	  "check every invariant of the pool after each event" },
	{ "repeat", 'r', ARGS_COUNT, FIELD(repeats), "N", NULL,
	  "time N passes and report their median; default 5" },
	{ "threads", 't', ARGS_COUNT, FIELD(threads), "N", NULL,
	  "N threads play a copy each on one pool" },
	{ "map", 'm', ARGS_TEXT, FIELD(map), "FILE", NULL,
	  "draw the heap to FILE.html (interactive) or FILE.svg" },
	{ "view", 0, ARGS_TEXT, FIELD(view), "NAMES", NULL,
	  "what FILE.svg shows: blocks by size (default), stream,\n"
	  "thread or age, the strip of one event, the curves; a\n"
	  "comma-separated list, or all" },
	{ "at", 0, ARGS_TEXT, FIELD(at), "EVENT", NULL,
	  "the strip's event, from 0; default: peak, the event with\n"
	  "the most live bytes" },
	{ "time", 0, ARGS_FLAG, FIELD(time), NULL, NULL,
	  "use time as the x axis of FILE.svg, if the trace has it" },
	{ "export", 'e', ARGS_TEXT, FIELD(export), "FILES", NULL,
	  "write FILE.json (Perfetto), FILE.pickle (PyTorch's viewer)\n"
	  "or FILE.trace (mam-trace, from any kind of trace); a\n"
	  "comma-separated list; .json and .trace also with .gz" },
	{ "compare", 0, ARGS_OPTIONAL, FIELD(compare), "LIST", NULL,
	  "compare several settings: the default list, or\n"
	  "LIST, as in --compare='source=vmm;source=vmm,cache=on'" },
	{ "format", 0, ARGS_WORD, FIELD(format), "KIND", format_words,
	  "input format: auto (default), mam (man 5 mam-trace), rmm\n"
	  "(the CSV log of RMM), torch (PyTorch's memory snapshot)" },
	{ "device", 0, ARGS_COUNT, FIELD(device), "N", zero_words,
	  "the GPU to replay if a file has several; default: the\n"
	  "one with the most events" },
	{ "salvage", 0, ARGS_FLAG, FIELD(salvage), NULL, NULL,
	  "play the complete events of a truncated trace" },
	{ "plain", 'p', ARGS_FLAG, FIELD(plain), NULL, NULL,
	  "print key<TAB>value lines for scripts" },
	{ "quiet", 'q', ARGS_FLAG, FIELD(quiet), NULL, NULL,
	  "no table and no progress, only errors" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "mam replay",
	.use = "[OPTION]... FILE...",
	.intro = "Play allocation traces (plain or gzip; - is standard input) through a pool, and\n"
		 "print how much memory it needs and the time per event. No GPU needed.\n"
		 "Sizes may end in K, M, G, T.\n",
	.outro = "Examples:\n"
		 "  mam replay train.trace.gz\n"
		 "  mam replay --map heap.html train.trace.gz      draw the heap over time\n"
		 "  mam replay --map heap.svg --view strip,curves train.trace.gz\n"
		 "  mam replay --chunk 16G train.trace.gz          would 16 GiB have been enough?\n"
		 "  mam replay --chunk 2G --growth 1G train.trace.gz\n"
		 "  mam replay --source vmm train.trace.gz         memory mapped on demand\n"
		 "  mam replay --streams ignore train.trace.gz     as if it had one stream\n"
		 "  mam replay --compare train.trace.gz            which settings are best?\n"
		 "  mam replay -p a.trace b.trace | grep high_water_ratio\n"
		 "\nThe trace format is in man 5 mam-trace.\n",
	.options = replay_options,
};

/* Load, play and draw one file. */
static int replay_file(const struct replay_settings *settings, const char *path,
		       struct replay_trace *trace, struct replay_result *result)
{
	struct map *map = NULL;
	int status = STATUS_BAD;
	uint32_t event;

	progress_begin(settings->quiet);
	if (!replay_trace_load(path, settings, trace))
		return STATUS_BAD;
	if (settings->map && !map_view_fits(settings, trace, &event))
		return STATUS_BAD;
	if (settings->map || settings->export) {
		map = map_create(trace);
		if (!map)
			return STATUS_BAD;
	}
	status = replay_play(settings, trace, map, result);
	if (status == STATUS_GOOD && map)
		map_finish(map);
	if (status == STATUS_GOOD && settings->map &&
	    !map_write(map, settings, result, settings->map))
		status = STATUS_BAD;
	if (status == STATUS_GOOD && settings->export &&
	    !export_write(map, settings, settings->export))
		status = STATUS_BAD;
	map_destroy(map);
	return status;
}

int replay_main(int argc, char **argv)
{
	struct replay_settings settings;
	struct replay_result *results;
	struct replay_trace *traces;
	int first, status, files, played = 0;

	replay_settings_begin(&settings);
	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	files = argc - first;
	if (settings.compare)
		return compare_main(&settings, argv + first, files);
	if (!replay_settings_end(&settings, files))
		return STATUS_BAD;
	results = calloc((size_t)files, sizeof(*results));
	traces = calloc((size_t)files, sizeof(*traces));
	status = STATUS_BAD;
	if (!results || !traces) {
		message_error("out of memory for %s", format_counted((uint64_t)files, "file").text);
	} else {
		status = STATUS_GOOD;
		while (played < files && status == STATUS_GOOD) {
			status = replay_file(&settings, argv[first + played], &traces[played],
					     &results[played]);
			played++;
		}
	}
	/* All or nothing: a reader could take a partial table for a complete one. */
	if (status == STATUS_GOOD)
		replay_report(&settings, results, files);
	for (int i = 0; i < played; i++)
		replay_trace_fini(&traces[i]);
	free(traces);
	free(results);
	return status;
}
