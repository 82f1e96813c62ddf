/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - `mam replay`: parse the command line and process one file after another.
 */
#include "replay/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "compare/compare.h"
#include "write/export.h"
#include "kit/format.h"
#include "map/map.h"
#include "map/map_view.h"
#include "replay/replay_stacks.h"
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

static const struct args_word device_words[] = {
	{ "0", 0 },
	{ "all", REPLAY_ALL },
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
	{ "device", 0, ARGS_COUNT, FIELD(device), "N", device_words,
	  "the GPU to replay if a file has several, or 'all' of\n"
	  "them; default: the one with the most events" },
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
		 "  mam replay --device all --map heap.svg train.trace.gz    heap.0.svg, "
		 "heap.1.svg\n"
		 "  mam replay --compare train.trace.gz            which settings are best?\n"
		 "  mam replay -p a.trace b.trace | grep high_water_ratio\n"
		 "\nThe trace format is in man 5 mam-trace.\n",
	.options = replay_options,
};

/* The replays of a command line: one per file or, of all devices, one per device. */
struct plays {
	struct replay_result *results;
	struct replay_trace **traces;
	int count;
};

/* Another one, with no contents yet. NULL: out of memory (reported). */
static struct replay_trace *add_play(struct plays *plays)
{
	size_t count = (size_t)plays->count + 1;
	struct replay_result *results = realloc(plays->results, count * sizeof(*results));
	struct replay_trace **traces =
				    realloc(plays->traces, count * sizeof(struct replay_trace *)),
			    *trace = calloc(1, sizeof(*trace));

	if (results)
		plays->results = results;
	if (traces)
		plays->traces = traces;
	if (!results || !traces || !trace) {
		message_error("out of memory for %s", format_counted(count, "replay").text);
		free(trace);
		return NULL;
	}
	memset(&results[plays->count], 0, sizeof(*results));
	traces[plays->count++] = trace;
	return trace;
}

static void drop_plays(struct plays *plays)
{
	for (int i = 0; i < plays->count; i++) {
		replay_trace_fini(plays->traces[i]);
		free(plays->traces[i]);
	}
	free(plays->traces);
	free(plays->results);
}

/* The map of one of several devices: "heap.1.html" for "heap.html". NULL: out of memory (reported). */
static char *map_path_of(const char *path, uint64_t device)
{
	const char *suffix = strrchr(path, '.');
	size_t bytes = strlen(path) + 24;
	char *text = malloc(bytes);

	if (text)
		snprintf(text, bytes, "%.*s.%" PRIu64 "%s", (int)(suffix - path), path, device,
			 suffix);
	else
		message_error("out of memory");
	return text;
}

static int draw(const struct replay_settings *settings, const struct replay_result *result,
		const struct map *map, bool all)
{
	const struct replay_trace *trace = result->trace;
	char *of_device = NULL;
	bool good = true;

	if (settings->map && all && trace->device_count > 1) {
		of_device = map_path_of(settings->map, trace->device);
		good = of_device && map_write(map, settings, result, of_device);
		free(of_device);
	} else if (settings->map) {
		good = map_write(map, settings, result, settings->map);
	}
	return good && (!settings->export || export_write(map, settings, settings->export))
		       ? STATUS_GOOD
		       : STATUS_BAD;
}

/* Load, play and draw one device of a file. `all`: the other devices are drawn as well. */
static int replay_device(const struct replay_settings *settings, const char *path, bool all,
			 struct replay_trace *trace, struct replay_result *result)
{
	struct map *map = NULL;
	int status;
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
	if (status == STATUS_GOOD && map) {
		map_finish(map);
		if (settings->map)
			map->stacks = replay_stacks_create(trace);
		status = draw(settings, result, map, all);
	}
	map_destroy(map);
	return status;
}

/* Each device of a file is read by itself. False: that is impossible (reported). */
static bool can_read_again(const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
		return true;
	message_error("%s: cannot be read once per device for --device all: not a regular file",
		      path);
	return false;
}

static int replay_file(const struct replay_settings *settings, const char *path,
		       struct plays *plays)
{
	struct replay_settings one = *settings;
	const bool all = settings->device == REPLAY_ALL;

	for (;;) {
		struct replay_trace *trace = add_play(plays);
		int status;

		if (!trace)
			return STATUS_BAD;
		status = replay_device(&one, path, all, trace, &plays->results[plays->count - 1]);
		one.device = trace->next_device;
		if (status != STATUS_GOOD || !all || one.device == REPLAY_DEFAULT)
			return status;
		if (!can_read_again(path))
			return STATUS_BAD;
	}
}

int replay_main(int argc, char **argv)
{
	struct replay_settings settings;
	struct plays plays = { .count = 0 };
	int first, status;

	replay_settings_begin(&settings);
	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (settings.compare)
		return compare_main(&settings, argv + first, argc - first);
	if (!replay_settings_end(&settings, argc - first))
		return STATUS_BAD;
	status = STATUS_GOOD;
	for (int i = first; i < argc && status == STATUS_GOOD; i++)
		status = replay_file(&settings, argv[i], &plays);
	/* All or nothing: a reader could take a partial table for a complete one. */
	if (status == STATUS_GOOD)
		replay_report(&settings, plays.results, plays.count);
	drop_plays(&plays);
	return status;
}
