/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the memory calls of a program, replayed: bytes become a trace, which is loaded,
 * replayed on a small pool under any policy with a check after each event, and drawn or exported.
 *
 *   numbers   the report matches the trace
 *   places    no two blocks overlap, and freed memory is not reused before the free's lag
 *   drawn     the page's data unpacks to the map; the page's text is no script; stills are XML
 *   exported  counters and slices are JSON; a snapshot is read back as the same history
 *
 * Input: three bytes of settings, then steps of two or three bytes each.
 */
#include <inttypes.h>

#include "command.h"
#include "write/export.h"
#include "map/map_data.h"
#include "map/map_view.h"
#include "read/read.h"
#include "well_formed.h"
#include "whole_trace.h"

#define BLOCKS 150u
#define MIB ((uint64_t)1 << 20)

enum then { NOTHING, DATA, JSON, SNAPSHOT, STILL, PAGE, THENS };

static struct replay_settings settings;
static struct replay_trace trace;
static struct replay_result result;

/* The settings of an input. False: they are incompatible, which was reported. */
static bool set(struct fuzz_bytes *from)
{
	static const uint64_t chunks[] = { REPLAY_DEFAULT, 2 * MIB, 16 * MIB, REPLAY_LARGEST };
	static const uint64_t growths[] = { REPLAY_DEFAULT, REPLAY_LARGEST, 2 * MIB, 0 };
	unsigned int a = fuzz_byte(from), b = fuzz_byte(from), c = fuzz_byte(from);

	replay_settings_begin(&settings);
	settings.simulate = b % 8 == 7; /* rarely: its range is large and often checked */
	settings.source = settings.simulate ? "vmm" : "host";
	settings.free = a / 2 % 4;
	settings.cache = a & 8 ? REPLAY_CACHE_ON : REPLAY_CACHE_OFF;
	settings.streams = a & 16 ? REPLAY_STREAMS_IGNORE : REPLAY_DEFAULT;
	settings.lag = a & 32 ? 1 + b / 4 % 16 : REPLAY_DEFAULT;
	settings.chunk_bytes = chunks[c % 4];
	settings.growth_bytes = growths[c / 4 % 4];
	settings.limit_bytes = c & 16 ? 16 * MIB : 0;
	settings.granule = c & 32 ? 4096 : c & 64 ? 64 : REPLAY_DEFAULT;
	/* A check visits each of some ten thousand simulated pieces. */
	settings.check = !settings.simulate || fuzz_left(from) < 24;
	settings.repeats = 1;
	settings.quiet = true;
	return replay_settings_end(&settings, 1);
}

/* 0 B to 14 MiB, mostly small. */
static uint64_t size_of(unsigned int drawn)
{
	return drawn == 0 ? 0 : (uint64_t)(1 + drawn % 8) * 100 << drawn / 16;
}

/* A line of a trace for each step. */
static void write_steps(struct fuzz_bytes *from, FILE *file)
{
	unsigned int live[BLOCKS], lives = 0, blocks = 0, ns = 0;

	fputs("# mam trace, version 1\n", file);
	while (fuzz_left(from) > 0 && blocks < BLOCKS) {
		unsigned int what = fuzz_byte(from), drawn = fuzz_byte(from);

		ns += what / 8 % 4 * 700;
		if (what % 8 < 5) {
			fprintf(file, "a %u %" PRIu64 " %u", blocks, size_of(drawn), what / 64);
			live[lives++] = blocks++;
			if (what & 32)
				fprintf(file, " t=%u thread=%u", ns, drawn % 3);
			if (what % 8 == 4)
				fprintf(file, " who=f.c:%u:%%3C/script%%3E%%%02X%c", drawn % 4,
					fuzz_byte(from), 'a' + (int)drawn % 26);
		} else if (lives > 0) {
			unsigned int at = drawn % lives;

			fprintf(file, "f %u", live[at]);
			live[at] = live[--lives];
			if (what & 32)
				fprintf(file, " stream=%u t=%u", what / 64, ns);
		} else {
			continue;
		}
		putc('\n', file);
	}
}

static bool load_text(const char *text, size_t bytes, enum read_kind kind,
		      struct replay_trace *loaded)
{
	static struct fuzz_file file;
	struct replay_settings plain;

	replay_settings_begin(&plain);
	plain.format = kind;
	fuzz_file_put(&file, text, bytes);
	return replay_trace_load(file.path, &plain, loaded);
}

static void check_numbers(const struct map *map)
{
	uint64_t live = 0, blocks = 0, failed = 0;

	for (uint32_t i = 0; i < trace.block_count; i++) {
		const struct replay_block *block = &trace.blocks[i];
		bool has = map->places[i] != MAP_NOWHERE;

		require(!has || map->sizes[i] >= block->bytes, "a block is too small");
		require(!has || map->sizes[i] % settings.granule == 0,
			"a block is not a multiple of the granule");
		failed += !has && block->bytes > 0;
		if (has && block->death == REPLAY_ALIVE) {
			live += block->bytes;
			blocks++;
		}
	}
	require(result.failures == failed, "failures are miscounted");
	require(result.events == trace.event_count, "events are miscounted");
	require(result.end.live_bytes == live, "wrong number of live bytes at the end");
	require(settings.limit_bytes == 0 || result.end.peak_physical_bytes <= settings.limit_bytes,
		"the pool exceeds its limit");
	require(result.end.high_water_bytes <= result.end.peak_reserved_bytes,
		"a value exceeds its peak");
	require(result.peak.live_bytes >= live || failed > 0, "the peak is below the final value");
}

/* Whether a block that was freed before may have memory at this one's address. */
static bool may_follow(const struct replay_block *old, uint64_t freed_on,
		       const struct replay_block *young)
{
	if (old->death > young->birth)
		return false;
	/* The pool's own streams wait by themselves; tests/stream/test_lag.c checks them. */
	if (settings.lags || result.waits > 0 || settings.free == REPLAY_FREE_STRICT ||
	    young->birth - old->death >= settings.lag)
		return true;
	if (settings.free == REPLAY_FREE_DEFERRED)
		return false;
	return settings.streams == REPLAY_STREAMS_IGNORE || freed_on == young->stream;
}

static bool overlap(const struct map *map, uint32_t a, uint32_t b)
{
	return map->places[a] != MAP_NOWHERE && map->places[b] != MAP_NOWHERE &&
	       map->places[a] < map->places[b] + map->sizes[b] &&
	       map->places[b] < map->places[a] + map->sizes[a];
}

/*
 * Whether a third block was there between the two. Then each had to wait only for the one before
 * it.
 */
static bool has_between(const struct map *map, uint32_t old, uint32_t young)
{
	for (uint32_t i = old + 1; i < young; i++)
		if (trace.blocks[i].birth > trace.blocks[old].death &&
		    trace.blocks[i].death < trace.blocks[young].birth && overlap(map, i, old) &&
		    overlap(map, i, young))
			return true;
	return false;
}

static void check_places(const struct map *map)
{
	for (uint32_t old = 0; old < trace.block_count; old++) {
		uint64_t freed_on = replay_streams_freed_on(&trace, old);

		for (uint32_t young = old + 1; young < trace.block_count; young++)
			if (overlap(map, old, young) && !has_between(map, old, young))
				require(may_follow(&trace.blocks[old], freed_on,
						   &trace.blocks[young]),
					"two blocks overlap in time and space");
	}
}

/* base64 of numbers of seven bits per byte. */
struct packed {
	const char *at;
	unsigned int bits;
	int held;
};

static uint64_t unpack(struct packed *from)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint64_t number = 0;
	unsigned int byte;
	int shift = 0;

	do {
		while (from->held < 8) {
			const char *letter;

			from->at += *from->at == '\n';
			letter = *from->at ? strchr(letters, *from->at++) : NULL;
			require(letter != NULL, "the data ends too early");
			from->bits = from->bits << 6 | (unsigned int)(letter - letters);
			from->held += 6;
		}
		from->held -= 8;
		byte = from->bits >> from->held & 255;
		number |= (uint64_t)(byte & 127) << shift;
		shift += 7;
	} while (byte & 128);
	return number;
}

static void check_data(const struct map *map, const char *text)
{
	struct packed from = { .at = text };
	uint64_t unit = map_data_unit(map), birth = 0;

	for (uint32_t i = 0; i < trace.block_count; i++) {
		const struct replay_block *block = &trace.blocks[i];
		uint64_t life, size, rest, place;

		birth += unpack(&from);
		life = unpack(&from);
		size = unpack(&from) * unit;
		rest = unpack(&from);
		place = unpack(&from) * unit;
		require(birth == block->birth, "data: wrong birth");
		require(life ? birth + life == block->death : block->death == REPLAY_ALIVE,
			"data: wrong death");
		require(size == map->sizes[i] && (size ? size - rest : rest) == block->bytes,
			"data: wrong size");
		require(!size || place == map->places[i], "data: wrong address");
		require(unpack(&from) == block->id && unpack(&from) == block->stream,
			"data: wrong id or stream");
		require(!trace.has_threads || unpack(&from) == trace.origins[i].thread,
			"data: wrong thread");
		require(!trace.origins || unpack(&from) == trace.origins[i].who,
			"data: wrong call site");
		require(!trace.free_streams || unpack(&from) == trace.free_streams[i],
			"data: wrong stream of a free");
	}
	for (uint32_t i = 0; trace.times && i < trace.event_count; i++)
		require(unpack(&from) == trace.times[i] - (i ? trace.times[i - 1] : 0),
			"data: wrong time");
}

/* The history of a snapshot matches that of the blocks that had memory, at their addresses. */
static void check_snapshot(const struct map *map, const char *text, size_t bytes)
{
	struct replay_trace again;
	uint32_t event = 0, mapped[BLOCKS], block = 0;
	bool any = false;

	for (uint32_t i = 0; i < trace.block_count; i++)
		any |= map->places[i] != MAP_NOWHERE;
	if (!any)
		return; /* nothing to read back */
	require(load_text(text, bytes, READ_TORCH, &again), "our own snapshot is refused");
	whole_trace_check(&again);
	for (uint32_t i = 0; i < trace.event_count; i++) {
		uint32_t number = trace.events[i] >> 1, frees = trace.events[i] & 1;

		if (map->places[number] == MAP_NOWHERE)
			continue;
		if (!frees)
			mapped[number] = block++;
		require(event < again.event_count &&
				again.events[event] == (mapped[number] << 1 | frees),
			"a snapshot has the wrong events");
		require(again.blocks[mapped[number]].bytes == trace.blocks[number].bytes &&
				again.blocks[mapped[number]].stream == trace.blocks[number].stream,
			"a snapshot has the wrong block");
		require(again.blocks[mapped[number]].id == export_address(map, number),
			"a snapshot has the wrong address");
		event++;
	}
	require(event == again.event_count, "a snapshot has too many events");
	replay_trace_fini(&again);
}

static size_t count_of(const char *text, const char *what)
{
	size_t count = 0;

	while ((text = strstr(text, what)) != NULL) {
		text += strlen(what);
		count++;
	}
	return count;
}

/* Text of the trace is data in the page and never markup. */
static void check_page(const char *text, size_t bytes)
{
	static size_t scripts; /* of the first page, with their end tags */
	const char *meta = strstr(text, "{\"events\":");
	size_t count = count_of(text, "<script") + count_of(text, "</script");

	require(strlen(text) == bytes && meta != NULL, "half a page");
	require(*json_blanks(json_value(meta, 0)) == '<',
		"the data of the scripts has the wrong end");
	scripts = scripts ? scripts : count;
	require(count == scripts, "a trace's text became a script");
}

static void check_outputs(const struct map *map, enum then then)
{
	/* With a sanitizer a map takes a thousand times longer than everything else here. */
	static const char *const views[] = {
		"strip", "curves", "strip,curves", "strip",  "curves", "strip",  "size",
		"strip", "curves", "curves,strip", "curves", "strip",  "curves",
	};
	struct export_job job = { .path = "x", .map = map, .trace = &trace, .settings = &settings };
	uint32_t event;
	char *text = NULL;
	size_t bytes;
	bool good = true;

	job.file = open_memstream(&text, &bytes);
	require(job.file != NULL, "no memory");
	settings.view = views[trace.event_count % (sizeof(views) / sizeof(views[0]))];
	if (then == STILL && !map_view_fits(&settings, &trace, &event))
		then = NOTHING;
	switch (then) {
	case DATA: map_data_put(job.file, map); break;
	case JSON: good = write_perfetto(&job); break;
	case SNAPSHOT: good = write_snapshot(&job); break;
	case STILL: good = map_svg(job.file, map, &settings, &result); break;
	case PAGE: good = map_html(job.file, map, &settings, &result); break;
	default: break;
	}
	require(good && fclose(job.file) == 0, "cannot write the output");
	if (then == DATA)
		check_data(map, text);
	if (then == JSON)
		well_formed_json(text, bytes);
	if (then == SNAPSHOT)
		check_snapshot(map, text, bytes);
	if (then == STILL)
		well_formed_xml(text, bytes);
	if (then == PAGE)
		check_page(text, bytes);
	free(text);
}

static void play(enum then then)
{
	struct map *map = map_create(&trace);

	require(map != NULL, "no memory");
	memset(&result, 0, sizeof(result));
	if (replay_play(&settings, &trace, map, &result) == STATUS_GOOD) {
		check_numbers(map);
		check_places(map);
		map_finish(map);
		check_places(map);
		check_outputs(map, then);
	} else {
		/* A chunk larger than the source, or none at all. */
		require(settings.chunk_bytes != 0 || settings.growth_bytes == REPLAY_LARGEST,
			"a trace is not replayed");
	}
	map_destroy(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_bytes from = { data, data + bytes };
	struct fuzz_heard heard;
	char *text = NULL;
	size_t text_bytes;
	FILE *file;

	if (bytes < 4)
		return 0;
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	fuzz_heard_begin(&heard);
	if (set(&from)) {
		file = open_memstream(&text, &text_bytes);
		require(file != NULL, "no memory");
		write_steps(&from, file);
		fclose(file);
		require(load_text(text, text_bytes, READ_MAM, &trace), "a valid trace is refused");
		whole_trace_check(&trace);
		play((enum then)(data[2] / 128 * 3 + data[1] / 64 % 3));
		replay_trace_fini(&trace);
		free(text);
	}
	fuzz_heard_end(&heard);
	fuzz_sentences(&heard);
	fuzz_heard_free(&heard);
	return 0;
}
