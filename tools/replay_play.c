/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_play.c - a trace through a pool: once to count, then against the clock.
 *
 * 1. The counting pass plays the trace once on a fresh pool and looks at it in between: all
 *    invariants after each event (--check), the statistics at the peak, the map.
 * 2. The timed passes play it on a fresh pool each and do nothing else. Their median is reported.
 *    With threads, each plays its own copy of the trace on the one pool; the slowest counts, and
 *    the statistics are the last pass's.
 *
 * An allocation that fails for want of memory is counted, and its free is left out. Any other
 * failure ends the replay.
 */
#include "replay.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mam/source.h>

#include "command.h"
#include "format.h"
#include "map.h"
#include "message.h"
#include "progress.h"

#define PROGRESS_STEP 32768
#define CHECKED_STEP 128               /* the same with --check, where a step is slow */
#define HOST_MOST ((uint64_t)80 << 30) /* what a host source gives unless asked for more */

/* One walk through a trace. */
struct player {
	const struct replay_trace *trace;
	struct mam_pool *pool;
	void **addresses;       /* of each block; NULL: not alive, of size 0, or failed */
	uint64_t failures;      /* count */
	uint32_t first_failure; /* number of the event; meaningless without failures */
	uint32_t stopped_at;    /* number of the event at which `status` came */
	enum mam_status status; /* MAM_OK, or why the walk ended */
	double seconds;
	pthread_barrier_t *start; /* NULL: alone */
};

/* The pool of one pass and the source under it. */
struct ground {
	struct mam_source *source;
	struct mam_pool *pool;
};

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A source of the kind asked for. The host's gives as much as the settings mention. */
static enum mam_status make_source(const struct replay_settings *settings,
				   struct mam_source **source)
{
	uint64_t total = HOST_MOST;

	if (strcmp(settings->source, "host") != 0)
		return mam_source_create(settings->source, MAM_DEVICE_CURRENT, source);
	if (settings->chunk_bytes != REPLAY_LARGEST)
		total = at_least(total, settings->chunk_bytes);
	return mam_source_host(at_least(total, settings->limit_bytes), false, source);
}

static int say_no_pool(const struct replay_settings *settings, enum mam_status status)
{
	if (status == MAM_ERROR_OUT_OF_MEMORY && settings->chunk_bytes == REPLAY_LARGEST)
		message_error("the source '%s' has no memory left", settings->source);
	else if (status == MAM_ERROR_OUT_OF_MEMORY)
		message_error("the source '%s' has no chunk of %s; try a smaller --chunk",
			      settings->source, format_bytes(settings->chunk_bytes).text);
	else if (status == MAM_ERROR_NO_DEVICE)
		message_error("the source '%s' needs a GPU, and none was found; "
			      "--source host needs none",
			      settings->source);
	else
		message_error("no pool on the source '%s': %s", settings->source,
			      mam_strerror(status));
	return status == MAM_ERROR_NO_DEVICE ? STATUS_NO_GPU : STATUS_BAD;
}

static int make_ground(const struct replay_settings *settings, struct ground *ground)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	enum mam_status status;

	attr.chunk_bytes = settings->chunk_bytes;
	attr.growth_bytes = settings->growth_bytes;
	attr.limit_bytes = settings->limit_bytes;
	attr.granule = settings->granule;
	attr.name = "replay";
	status = make_source(settings, &ground->source);
	if (status)
		return say_no_pool(settings, status);
	status = mam_pool_create_on(ground->source, &attr, &ground->pool);
	if (status) {
		mam_source_destroy(ground->source);
		return say_no_pool(settings, status);
	}
	return STATUS_GOOD;
}

static void give_ground(struct ground *ground)
{
	if (mam_pool_destroy(ground->pool) != MAM_OK)
		mam_pool_abandon(ground->pool);
	mam_source_destroy(ground->source);
}

static void stop(struct player *player, uint32_t event, enum mam_status status)
{
	player->stopped_at = event;
	player->status = status;
}

/* Play one event. False: the walk is over. */
static inline bool play_event(struct player *player, uint32_t event)
{
	uint32_t what = player->trace->events[event];
	void **address = &player->addresses[what >> 1];
	enum mam_status status;

	if (what & 1) {
		if (!*address)
			return true;
		status = mam_free(player->pool, *address);
		*address = NULL;
	} else {
		status = mam_malloc(player->pool, player->trace->blocks[what >> 1].bytes, address);
		if (status == MAM_ERROR_OUT_OF_MEMORY) {
			if (player->failures++ == 0)
				player->first_failure = event;
			return true;
		}
	}
	if (status)
		stop(player, event, status);
	return status == MAM_OK;
}

static void *play_timed(void *user)
{
	struct player *player = user;
	struct timespec begun, ended;

	if (player->start)
		pthread_barrier_wait(player->start);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (uint32_t event = 0; event < player->trace->event_count; event++)
		if (!play_event(player, event))
			break;
	clock_gettime(CLOCK_MONOTONIC, &ended);
	player->seconds = (double)(ended.tv_sec - begun.tv_sec) +
			  1e-9 * (double)(ended.tv_nsec - begun.tv_nsec);
	return NULL;
}

static bool make_player(const struct replay_trace *trace, struct player *player)
{
	memset(player, 0, sizeof(*player));
	player->trace = trace;
	player->addresses = calloc((size_t)trace->block_count + 1, sizeof(*player->addresses));
	if (!player->addresses)
		message_error("no memory left for %s blocks",
			      format_count(trace->block_count).text);
	return player->addresses != NULL;
}

/* Give back what the trace never freed, so that the pool can go. */
static void free_rest(struct player *player)
{
	for (uint32_t block = 0; block < player->trace->block_count; block++)
		if (player->addresses[block])
			mam_free(player->pool, player->addresses[block]);
}

static int say_stopped(const struct player *player)
{
	message_error("%s: line %" PRIu32 ": the pool answered %s: %s", player->trace->path,
		      player->trace->lines[player->stopped_at], mam_status_name(player->status),
		      mam_strerror(player->status));
	return STATUS_FAILED;
}

static bool pool_is_sound(const struct player *player, uint32_t event)
{
	char why[200];

	if (mam_pool_check(player->pool, why, sizeof(why)) == MAM_OK)
		return true;
	message_error("%s: line %" PRIu32 ": the pool is inconsistent after this event: %s",
		      player->trace->path, player->trace->lines[event], why);
	return false;
}

static void read_stats(struct mam_pool *pool, struct mam_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->size = sizeof(*stats);
	mam_pool_stats(pool, stats);
}

static int count_events(const struct replay_settings *settings, struct player *player,
			struct map *map, struct replay_result *result)
{
	const struct replay_trace *trace = player->trace;

	for (uint32_t event = 0; event < trace->event_count; event++) {
		uint32_t what = trace->events[event];

		if (!play_event(player, event))
			return say_stopped(player);
		if (map && !map_note(map, event, player->pool,
				     what & 1 ? NULL : player->addresses[what >> 1]))
			return STATUS_BAD;
		if (settings->check && !pool_is_sound(player, event))
			return STATUS_FAILED;
		if (event == trace->peak_event)
			read_stats(player->pool, &result->peak);
		if (event % (settings->check ? CHECKED_STEP : PROGRESS_STEP) == 0)
			progress_show(settings->check ? "checking" : "playing", event,
				      trace->event_count);
	}
	return STATUS_GOOD;
}

static int counting_pass(const struct replay_settings *settings, const struct replay_trace *trace,
			 struct map *map, struct replay_result *result)
{
	struct ground ground;
	struct player player;
	int status;

	if (!make_player(trace, &player))
		return STATUS_BAD;
	status = make_ground(settings, &ground);
	if (status == STATUS_GOOD) {
		player.pool = ground.pool;
		status = count_events(settings, &player, map, result);
		progress_end();
		read_stats(ground.pool, &result->end);
		result->failures = player.failures;
		if (player.failures)
			result->first_failure = trace->lines[player.first_failure];
		free_rest(&player);
		give_ground(&ground);
	}
	free(player.addresses);
	return status;
}

/* Let `count` players walk at once; the slowest one's time. */
static int walk_together(struct player *players, uint32_t count)
{
	pthread_t threads[REPLAY_THREADS];
	pthread_barrier_t start;
	uint32_t begun = 0;

	if (pthread_barrier_init(&start, NULL, count) != 0)
		return STATUS_BAD;
	for (; begun < count; begun++) {
		players[begun].start = &start;
		if (pthread_create(&threads[begun], NULL, play_timed, &players[begun]) != 0)
			break;
	}
	if (begun < count) {
		/* Those that wait at the barrier would wait forever. */
		message_error("this system lets mam start only %" PRIu32 " threads", begun);
		exit(STATUS_BAD);
	}
	for (uint32_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
	return STATUS_GOOD;
}

/* What one timed pass found, and give back its blocks. */
static int settle(struct player *players, uint32_t count, struct mam_pool *pool, double *seconds,
		  struct replay_result *result)
{
	int status = STATUS_GOOD;
	uint64_t failures = 0;

	*seconds = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (players[i].seconds > *seconds)
			*seconds = players[i].seconds;
		if (players[i].status && status == STATUS_GOOD)
			status = say_stopped(&players[i]);
		failures += players[i].failures;
		if (players[i].failures && !result->first_failure)
			result->first_failure = players[i].trace->lines[players[i].first_failure];
	}
	if (count > 1) {
		read_stats(pool, &result->end);
		result->failures = failures;
	}
	for (uint32_t i = 0; i < count; i++)
		free_rest(&players[i]);
	return status;
}

static int timed_pass(const struct replay_settings *settings, const struct replay_trace *trace,
		      double *seconds, struct replay_result *result)
{
	uint32_t count = (uint32_t)settings->threads, made = 0;
	struct player players[REPLAY_THREADS];
	struct ground ground;
	int status = STATUS_BAD;

	while (made < count && make_player(trace, &players[made]))
		made++;
	if (made == count)
		status = make_ground(settings, &ground);
	if (status == STATUS_GOOD) {
		for (uint32_t i = 0; i < count; i++)
			players[i].pool = ground.pool;
		if (count == 1)
			play_timed(&players[0]);
		else
			status = walk_together(players, count);
		if (status == STATUS_GOOD)
			status = settle(players, count, ground.pool, seconds, result);
		give_ground(&ground);
	}
	for (uint32_t i = 0; i < made; i++)
		free(players[i].addresses);
	return status;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), compare_doubles);
	return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

static int timed_passes(const struct replay_settings *settings, const struct replay_trace *trace,
			struct replay_result *result)
{
	double *seconds = calloc(settings->repeats, sizeof(*seconds));
	int status = STATUS_GOOD;

	if (!seconds) {
		message_error("no memory left for %s repeats",
			      format_count(settings->repeats).text);
		return STATUS_BAD;
	}
	for (uint64_t i = 0; i < settings->repeats && status == STATUS_GOOD; i++) {
		progress_show("timing", i, settings->repeats);
		status = timed_pass(settings, trace, &seconds[i], result);
	}
	progress_end();
	if (trace->event_count)
		result->ns_per_event =
			1e9 * median(seconds, settings->repeats) / trace->event_count;
	free(seconds);
	return status;
}

int replay_play(const struct replay_settings *settings, const struct replay_trace *trace,
		struct map *map, struct replay_result *result)
{
	int status;

	memset(result, 0, sizeof(*result));
	result->trace = trace;
	result->allocs = trace->block_count * settings->threads;
	result->events = trace->event_count * settings->threads;
	result->frees = result->events - result->allocs;
	status = counting_pass(settings, trace, map, result);
	if (status == STATUS_GOOD && settings->threads > 1)
		result->first_failure = 0;
	if (status == STATUS_GOOD)
		status = timed_passes(settings, trace, result);
	result->high_water_ratio =
		format_quotient(result->end.high_water_bytes, result->end.peak_live_bytes);
	result->peak_reserved_ratio =
		format_quotient(result->end.peak_reserved_bytes, result->end.peak_live_bytes);
	result->waste_bytes = result->peak.live_rounded_bytes - result->peak.live_bytes;
	if (settings->threads > 1)
		result->peak.size = 0; /* the counting pass walked alone: not the same peak */
	return status;
}
