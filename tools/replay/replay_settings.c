/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_settings.c - the settings of a replay: defaults, and checks for contradictions.
 *
 * 1. replay_settings_begin() marks everything as not given.
 * 2. The command line (args.h, with the table replay_options) sets the given values; a setting of
 *    --compare overrides them.
 * 3. replay_settings_end() sets the defaults and rejects contradictions.
 */
#include "replay/replay.h"

#include <string.h>

#include "write/export.h"
#include "map/map.h"
#include "map/map_view.h"
#include "kit/message.h"

#define REPEATS_DEFAULT 5
#define REPEATS_COMPARED 15 /* enough that the fastest one ran undisturbed */
#define GRANULE_DEFAULT 512
#define FOOTPRINT_MAX 1000
#define HOST_CHUNK ((uint64_t)80 << 30) /* the capacity of the largest common GPU */

void replay_settings_begin(struct replay_settings *settings)
{
	*settings = (struct replay_settings){
		.chunk_bytes = REPLAY_DEFAULT,
		.growth_bytes = REPLAY_DEFAULT,
		.granule = REPLAY_DEFAULT,
		.repeats = REPLAY_DEFAULT,
		.threads = 1,
		.streams = REPLAY_DEFAULT,
		.lag = REPLAY_DEFAULT,
		.device = REPLAY_DEFAULT,
	};
}

/* Set the defaults that depend on no other setting. */
static void fill(struct replay_settings *settings)
{
	if (!settings->source)
		settings->source = "host";
	if (settings->granule == REPLAY_DEFAULT)
		settings->granule = GRANULE_DEFAULT;
	if (settings->repeats == REPLAY_DEFAULT)
		settings->repeats = settings->compare ? REPEATS_COMPARED : REPEATS_DEFAULT;
	if (!settings->cache)
		settings->cache = REPLAY_CACHE_OFF;
	if (!settings->free)
		settings->free = REPLAY_FREE_STREAM;
}

/*
 * Whether the pool's own streams play the trace. Of the source vmm alone: the others do not map
 * memory while the GPU uses it.
 */
static bool has_streams(const struct replay_settings *settings)
{
	return settings->free == REPLAY_FREE_STREAM && strcmp(settings->source, "vmm") == 0;
}

/* Whether a freed block may have to wait. */
static bool lag_counts(const struct replay_settings *settings)
{
	if (has_streams(settings))
		return true;
	if (settings->free == REPLAY_FREE_STREAM)
		return settings->streams != REPLAY_STREAMS_IGNORE;
	return settings->free == REPLAY_FREE_DEFERRED;
}

/* Check the combination of settings. */
static bool are_good(const struct replay_settings *settings, int files)
{
	uint64_t granule = settings->granule;

	if (files < 1)
		message_error("no trace given; see 'mam replay --help'");
	else if (granule < 16 || granule > ((uint64_t)2 << 20) || (granule & (granule - 1)))
		message_error("--align expects a power of two from 16 to 2M");
	else if (settings->chunk_bytes == 0)
		message_error("--chunk must be greater than 0");
	else if (settings->limit_bytes && settings->chunk_bytes < REPLAY_DEFAULT &&
		 settings->chunk_bytes > settings->limit_bytes)
		message_error("--chunk exceeds --limit");
	else if (settings->threads > REPLAY_THREADS)
		message_error("--threads must be at most %d", (int)REPLAY_THREADS);
	else if (settings->repeats > 1000000)
		message_error("--repeat must be at most 1000000");
	else if (settings->map && files > 1)
		message_error("--map accepts one trace, but %d were given", files);
	else if (settings->device == REPLAY_ALL && (settings->compare || settings->export))
		message_error("--%s requires one device; use --device N",
			      settings->compare ? "compare" : "export");
	else if (settings->export && settings->compare)
		message_error("--export cannot be combined with --compare");
	else if (settings->export && files > 1)
		message_error("--export accepts one trace, but %d were given", files);
	else if (settings->lag != REPLAY_DEFAULT && settings->lag > REPLAY_LAG_MAX)
		message_error("--lag must be at most %d", (int)REPLAY_LAG_MAX);
	else if (settings->lag == 0 && !has_streams(settings))
		message_error("--lag 0 requires --source vmm and --free stream");
	else if (settings->lag != REPLAY_DEFAULT && !lag_counts(settings))
		message_error("--lag has no effect with --%s: no block waits",
			      settings->free == REPLAY_FREE_STRICT ? "free strict"
								   : "streams ignore");
	else if (settings->footprint && !has_streams(settings))
		message_error("--footprint requires --source vmm and --free stream");
	else if (settings->footprint > FOOTPRINT_MAX)
		message_error("--footprint must be at most %d", FOOTPRINT_MAX);
	else if (settings->streams != REPLAY_DEFAULT && settings->free != REPLAY_FREE_STREAM)
		message_error("--streams requires --free stream");
	else
		return replay_source_known(settings) &&
		       (!settings->map || map_kind_known(settings->map)) &&
		       map_view_good(settings) &&
		       (!settings->export || export_known(settings->export));
	return false;
}

/* Set the other defaults. One chunk and no growth, unless chunks are added on demand. */
static void complete(struct replay_settings *settings)
{
	bool as_needed =
		settings->chunk_bytes == REPLAY_DEFAULT && strcmp(settings->source, "host") != 0;

	if (as_needed) {
		settings->chunk_bytes = 0;
	} else if (settings->chunk_bytes == REPLAY_DEFAULT) {
		settings->chunk_bytes = HOST_CHUNK * settings->threads;
		if (settings->limit_bytes && settings->limit_bytes < settings->chunk_bytes)
			settings->chunk_bytes = settings->limit_bytes;
	}
	if (settings->growth_bytes == REPLAY_DEFAULT)
		settings->growth_bytes = as_needed ? 0 : REPLAY_LARGEST;
	settings->lags = has_streams(settings);
	if (settings->lag == REPLAY_DEFAULT)
		settings->lag = REPLAY_LAG;
	if (settings->streams == REPLAY_DEFAULT)
		settings->streams = REPLAY_STREAMS_HONOR;
}

bool replay_settings_end(struct replay_settings *settings, int files)
{
	fill(settings);
	if (!are_good(settings, files))
		return false;
	complete(settings);
	replay_source_choose(settings);
	return true;
}
