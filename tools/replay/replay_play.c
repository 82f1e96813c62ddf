/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_play.c - play a trace through a pool: one counting pass, then timed passes.
 *
 * 1. The counting pass plays the trace once on a fresh pool and inspects the pool meanwhile: all
 *    invariants after each event (--check), the statistics at the peak, the map.
 * 2. Each timed pass plays it on a fresh pool without inspection. Their median is reported. With
 *    threads, each thread plays its own copy of the trace on the same pool; the slowest thread
 *    counts, and the statistics are those of the last pass.
 *
 * With several streams, the pool counts freed blocks that wait for their lag as live. So the
 * counting pass itself counts the blocks that the program holds, and each thread holds one such
 * copy.
 */
#include "replay/replay_walk.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mam/source.h>

#include "command.h"
#include "kit/format.h"
#include "map/map.h"
#include "kit/message.h"
#include "kit/progress.h"

#define PROGRESS_STEP 32768
#define CHECKED_STEP 128 /* the same with --check, where a step is slow */

/* The pool of one pass and its source. */
struct space {
	struct mam_source *source;
	struct mam_pool *pool;
};

/* The state that all passes over a trace share. */
struct passes {
	const struct replay_settings *settings;
	const struct replay_trace *trace;
	const struct replay_plan *plan; /* NULL: not needed */
	struct replay_result *result;
};

/* Blocks that the program holds: the pool's live blocks less the freed ones that wait. */
struct held {
	uint64_t blocks; /* count */
	uint64_t bytes;
	uint64_t rounded;
	uint64_t peak_blocks; /* count */
	uint64_t peak_bytes;
	uint64_t peak_rounded;
};

/* One thread of a timed pass. */
struct player {
	struct replay_walk walk;
	double seconds;
	pthread_barrier_t *start; /* NULL: a single player */
};

static int say_no_pool(const struct replay_settings *settings, enum mam_status status)
{
	if (status == MAM_ERROR_OUT_OF_MEMORY && settings->chunk_bytes == REPLAY_LARGEST)
		message_error("the source '%s' has no memory for a chunk; use a smaller --chunk",
			      settings->source);
	else if (status == MAM_ERROR_OUT_OF_MEMORY)
		message_error("the source '%s' cannot allocate a chunk of %s; use a smaller "
			      "--chunk",
			      settings->source, format_bytes(settings->chunk_bytes).text);
	else if (status == MAM_ERROR_NO_DEVICE)
		message_error("the source '%s' needs a GPU, and none was found; "
			      "--source host needs none",
			      settings->source);
	else
		message_error("cannot create a pool on the source '%s': %s", settings->source,
			      mam_strerror(status));
	return status == MAM_ERROR_NO_DEVICE ? STATUS_NO_GPU : STATUS_BAD;
}

static int make_space(const struct replay_settings *settings, struct space *space)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	enum mam_status status;

	attr.chunk_bytes = settings->chunk_bytes;
	attr.growth_bytes = settings->growth_bytes;
	attr.limit_bytes = settings->limit_bytes;
	attr.granule = settings->granule;
	attr.footprint = settings->footprint;
	/* No kernels run, so only a strict free has to query the device. */
	attr.free_policy = settings->free == REPLAY_FREE_STRICT ? MAM_FREE_STRICT : MAM_FREE_STREAM;
	attr.cache = settings->cache == REPLAY_CACHE_ON ? MAM_CACHE_ON : MAM_CACHE_OFF;
	attr.name = "replay";
	status = replay_source_make(settings, &space->source);
	if (status)
		return say_no_pool(settings, status);
	status = mam_pool_create_on(space->source, &attr, &space->pool);
	if (status) {
		mam_source_destroy(space->source);
		return say_no_pool(settings, status);
	}
	return STATUS_GOOD;
}

static void give_space(struct space *space)
{
	if (mam_pool_destroy(space->pool) != MAM_OK)
		mam_pool_abandon(space->pool);
	mam_source_destroy(space->source);
}

static int say_stopped(const struct replay_walk *walk)
{
	message_error("%s: %s %" PRIu32 ": the pool returned %s: %s", walk->trace->path,
		      walk->trace->place, walk->trace->lines[walk->done - 1],
		      mam_status_name(walk->status), mam_strerror(walk->status));
	return STATUS_FAILED;
}

static bool pool_is_sound(const struct replay_walk *walk)
{
	char why[200];

	if (mam_pool_check(walk->pool, why, sizeof(why)) == MAM_OK)
		return true;
	message_error("%s: %s %" PRIu32 ": the pool is inconsistent after this event: %s",
		      walk->trace->path, walk->trace->place, walk->trace->lines[walk->done - 1],
		      why);
	return false;
}

static void read_stats(struct mam_pool *pool, struct mam_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->size = sizeof(*stats);
	mam_pool_stats(pool, stats);
}

static void grow_peak(uint64_t *peak, uint64_t now)
{
	if (now > *peak)
		*peak = now;
}

static void hold(struct held *held, const struct passes *passes, uint32_t block)
{
	held->blocks++;
	held->bytes += passes->trace->blocks[block].bytes;
	held->rounded += passes->plan->room[block];
	grow_peak(&held->peak_blocks, held->blocks);
	grow_peak(&held->peak_bytes, held->bytes);
	grow_peak(&held->peak_rounded, held->rounded);
}

static void let_go(struct held *held, const struct passes *passes, uint32_t block)
{
	held->blocks--;
	held->bytes -= passes->trace->blocks[block].bytes;
	held->rounded -= passes->plan->room[block];
}

/* The pool counts waiting blocks as live: replace its counts by the program's, times `copies`. */
static void put_held(const struct held *held, uint64_t copies, struct mam_stats *stats)
{
	stats->live_blocks = copies * held->blocks;
	stats->live_bytes = copies * held->bytes;
	stats->live_rounded_bytes = copies * held->rounded;
	stats->peak_live_blocks = copies * held->peak_blocks;
	stats->peak_live_bytes = copies * held->peak_bytes;
	stats->peak_live_rounded_bytes = copies * held->peak_rounded;
}

/* Play one event of the counting pass, and update the held blocks. */
static bool step_counted(const struct passes *passes, struct replay_walk *walk, struct held *held)
{
	uint32_t what = passes->trace->events[walk->done], block = what >> 1;
	bool had = walk->addresses[block];

	if (!replay_walk_step(walk))
		return false;
	if (!passes->plan)
		return true;
	if (what & 1 && had)
		let_go(held, passes, block);
	else if (!(what & 1) && walk->addresses[block])
		hold(held, passes, block);
	return true;
}

/* Inspect the pool after an event of the counting pass. */
static int look(const struct passes *passes, struct replay_walk *walk, struct map *map,
		const struct held *held)
{
	uint32_t event = walk->done - 1, what = passes->trace->events[event];
	struct replay_result *result = passes->result;
	struct mam_stats now;

	if (map && !map_note(map, event, walk->pool, what & 1 ? NULL : walk->addresses[what >> 1],
			     walk->waits))
		return STATUS_BAD;
	if (passes->settings->check && !pool_is_sound(walk))
		return STATUS_FAILED;
	if (passes->settings->cache == REPLAY_CACHE_ON) {
		read_stats(walk->pool, &now);
		grow_peak(&result->cached_peak_bytes, now.cached_bytes);
	}
	if (event == passes->trace->peak_event) {
		read_stats(walk->pool, &result->peak);
		if (passes->plan)
			put_held(held, 1, &result->peak);
	}
	return STATUS_GOOD;
}

static int count_events(const struct passes *passes, struct replay_walk *walk, struct map *map,
			struct held *held)
{
	bool check = passes->settings->check;
	int status = STATUS_GOOD;

	while (status == STATUS_GOOD && walk->done < passes->trace->event_count) {
		if (!step_counted(passes, walk, held))
			return say_stopped(walk);
		status = look(passes, walk, map, held);
		if (walk->done % (check ? CHECKED_STEP : PROGRESS_STEP) == 1)
			progress_show(check ? "checking" : "playing", walk->done,
				      passes->trace->event_count);
	}
	return status;
}

static int counting_pass(const struct passes *passes, struct map *map, struct held *held)
{
	struct replay_result *result = passes->result;
	struct space space;
	struct replay_walk walk;
	int status;

	if (!replay_walk_init(&walk, passes->trace, passes->plan, passes->settings))
		return STATUS_BAD;
	status = make_space(passes->settings, &space);
	if (status == STATUS_GOOD) {
		walk.pool = space.pool;
		status = count_events(passes, &walk, map, held);
		progress_end();
		replay_walk_finish(&walk);
		read_stats(space.pool, &result->end);
		if (passes->plan)
			put_held(held, 1, &result->end);
		result->failures = walk.failures;
		result->waits = walk.waits;
		if (walk.failures)
			result->first_failure = passes->trace->lines[walk.first_failure];
		replay_walk_free_rest(&walk);
		give_space(&space);
	}
	replay_walk_fini(&walk);
	return status;
}

static void *play_timed(void *user)
{
	struct player *player = user;
	struct timespec begun, ended;

	if (player->start)
		pthread_barrier_wait(player->start);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	replay_walk_all(&player->walk);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	player->seconds = (double)(ended.tv_sec - begun.tv_sec) +
			  1e-9 * (double)(ended.tv_nsec - begun.tv_nsec);
	return NULL;
}

/* Run `count` players concurrently; returns the slowest one's time. */
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
		/* Threads that wait at the barrier would wait forever. */
		message_error("the system allowed only %s", format_counted(begun, "thread").text);
		exit(STATUS_BAD);
	}
	for (uint32_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
	return STATUS_GOOD;
}

/* Set the counts of a timed pass of several threads. */
static void count_together(const struct passes *passes, const struct player *players,
			   struct mam_pool *pool, const struct held *held)
{
	struct replay_result *result = passes->result;
	uint64_t count = passes->settings->threads;

	read_stats(pool, &result->end);
	if (passes->plan)
		put_held(held, count, &result->end);
	result->failures = 0;
	result->first_failure = 0;
	result->waits = 0;
	for (uint64_t i = 0; i < count; i++) {
		const struct replay_walk *walk = &players[i].walk;

		result->failures += walk->failures;
		result->waits += walk->waits;
		if (walk->failures && !result->first_failure)
			result->first_failure = passes->trace->lines[walk->first_failure];
	}
}

/* Check all players, set the slowest one's time, and free all blocks. */
static int settle(const struct passes *passes, struct player *players, struct mam_pool *pool,
		  const struct held *held, double *seconds)
{
	uint32_t count = (uint32_t)passes->settings->threads;
	int status = STATUS_GOOD;

	*seconds = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (players[i].seconds > *seconds)
			*seconds = players[i].seconds;
		if (players[i].walk.status && status == STATUS_GOOD)
			status = say_stopped(&players[i].walk);
		replay_walk_finish(&players[i].walk);
	}
	if (count > 1)
		count_together(passes, players, pool, held);
	for (uint32_t i = 0; i < count; i++)
		replay_walk_free_rest(&players[i].walk);
	return status;
}

static int timed_pass(const struct passes *passes, const struct held *held, double *seconds)
{
	uint32_t count = (uint32_t)passes->settings->threads, made = 0;
	struct player players[REPLAY_THREADS];
	struct space space;
	int status = STATUS_BAD;

	for (; made < count; made++) {
		players[made].start = NULL;
		if (!replay_walk_init(&players[made].walk, passes->trace, passes->plan,
				      passes->settings))
			break;
		players[made].walk.copy = made;
	}
	if (made == count)
		status = make_space(passes->settings, &space);
	if (status == STATUS_GOOD) {
		for (uint32_t i = 0; i < count; i++)
			players[i].walk.pool = space.pool;
		if (count == 1)
			play_timed(&players[0]);
		else
			status = walk_together(players, count);
		if (status == STATUS_GOOD)
			status = settle(passes, players, space.pool, held, seconds);
		give_space(&space);
	}
	for (uint32_t i = 0; i < made; i++)
		replay_walk_fini(&players[i].walk);
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

static int timed_passes(const struct passes *passes, const struct held *held)
{
	uint64_t repeats = passes->settings->repeats;
	double *seconds = calloc(repeats, sizeof(*seconds));
	int status = STATUS_GOOD;

	if (!seconds) {
		message_error("out of memory for %s", format_counted(repeats, "repeat").text);
		return STATUS_BAD;
	}
	for (uint64_t i = 0; i < repeats && status == STATUS_GOOD; i++) {
		progress_show("timing", i, repeats);
		status = timed_pass(passes, held, &seconds[i]);
	}
	progress_end();
	if (passes->trace->event_count) {
		double each = 1e9 / passes->trace->event_count;

		passes->result->ns_per_event = each * median(seconds, repeats);
		passes->result->ns_per_event_best = each * seconds[0]; /* median() sorted them */
	}
	free(seconds);
	return status;
}

/* Compute the results that follow from the counts. */
static void derive(const struct replay_settings *settings, struct replay_result *result)
{
	const struct mam_stats *end = &result->end;

	result->high_water_ratio = format_quotient(end->high_water_bytes, end->peak_live_bytes);
	result->peak_reserved_ratio =
		format_quotient(end->peak_reserved_bytes, end->peak_live_bytes);
	result->physical_peak_ratio =
		format_quotient(end->peak_physical_bytes, end->peak_live_bytes);
	result->recorded_reserved_bytes = result->trace->recorded_reserved_peak;
	result->recorded_reserved_ratio =
		format_quotient(result->recorded_reserved_bytes, end->peak_live_bytes);
	result->driver_ms = 1e-6 * (double)end->driver_ns;
	result->waste_bytes = result->peak.live_rounded_bytes - result->peak.live_bytes;
	if (settings->threads > 1)
		result->peak.size = 0; /* the counting pass played one copy: another peak */
}

int replay_play(const struct replay_settings *settings, const struct replay_trace *trace,
		struct map *map, struct replay_result *result)
{
	struct passes passes = { .settings = settings, .trace = trace, .result = result };
	struct replay_plan plan = { NULL, NULL };
	struct held held = { 0 };
	int status;

	memset(result, 0, sizeof(*result));
	result->trace = trace;
	result->allocs = trace->block_count * settings->threads;
	result->events = trace->event_count * settings->threads;
	result->frees = result->events - result->allocs;
	result->streams = trace->stream_count;
	result->device = trace->device;
	result->devices = trace->device_count;
	if (settings->free == REPLAY_FREE_STREAM && !settings->lags &&
	    settings->streams == REPLAY_STREAMS_HONOR && trace->stream_count > 1) {
		if (!replay_streams_plan(trace, (uint32_t)settings->lag, settings->granule,
					 &plan)) {
			message_error("%s: out of memory", trace->path);
			return STATUS_BAD;
		}
		passes.plan = &plan;
	}
	status = counting_pass(&passes, map, &held);
	if (status == STATUS_GOOD)
		status = timed_passes(&passes, &held);
	derive(settings, result);
	replay_streams_fini(&plan);
	return status;
}
