/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays random traces, and tracks for every granule of memory which event freed it, on which
 * stream, and when.
 *
 * A block may use memory that was never used, or was freed on its own stream, or at least `lag`
 * events ago, or before a wait for all streams. A GPU might still be writing to any other memory.
 */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mam/source.h>

#include "replay/replay_walk.h"

#define GRANULE 512
#define SPACE ((size_t)8 << 20)
#define PIECES (SPACE / GRANULE)
#define EVENTS 6000

struct piece {
	bool live;
	bool used;       /* ever */
	uint32_t freed;  /* the event that freed it */
	uint64_t stream; /* it was freed on */
	uint64_t waits;  /* number of waits by then */
};

struct scene {
	struct replay_trace trace;
	struct replay_settings settings;
	struct replay_plan plan;
	struct replay_walk walk;
	struct mam_source *source;
	struct mam_pool *pool;
	uint64_t random;
	struct piece pieces[PIECES];
	uint64_t seen_same;    /* count: memory of its own stream, before the lag */
	uint64_t seen_late;    /* count: memory of another stream, after the lag */
	uint64_t seen_exactly; /* count: the same, exactly at the lag */
};

static const struct kind {
	uint64_t free;
	uint64_t lag;
	uint32_t streams;   /* count */
	uint32_t foreign;   /* percentage of frees on a random stream */
	size_t chunk_bytes; /* the pool's only chunk */
} kinds[] = {
	{ REPLAY_FREE_STREAM, 64, 3, 0, SPACE },
	{ REPLAY_FREE_STREAM, 64, 3, 30, SPACE },
	{ REPLAY_FREE_STREAM, 1, 2, 10, SPACE },
	{ REPLAY_FREE_STREAM, 7, 5, 50, SPACE / 4 },
	{ REPLAY_FREE_STREAM, 1000, 2, 10, SPACE / 4 },
	{ REPLAY_FREE_STREAM, 65536, 4, 10, SPACE / 2 },
	{ REPLAY_FREE_DEFERRED, 64, 1, 0, SPACE },
	{ REPLAY_FREE_DEFERRED, 1, 2, 10, SPACE },
	{ REPLAY_FREE_DEFERRED, 500, 3, 10, SPACE / 4 },
};

#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

static uint32_t draw(struct scene *scene, uint32_t below)
{
	scene->random ^= scene->random << 13;
	scene->random ^= scene->random >> 7;
	scene->random ^= scene->random << 17;
	return (uint32_t)((scene->random >> 20) % below);
}

/* Sizes that recur, sizes that do not, and 0. */
static uint64_t draw_bytes(struct scene *scene)
{
	static const uint64_t often[] = { 512, 4096, 65536, 40000, 39990, 0, 200000 };

	if (draw(scene, 2))
		return often[draw(scene, sizeof(often) / sizeof(often[0]))];
	return 1 + draw(scene, 1u << (4 + draw(scene, 14)));
}

static void make_trace(struct scene *scene, const struct kind *kind)
{
	struct replay_trace *trace = &scene->trace;
	uint32_t live[200], count = 0, block;

	trace->path = "random";
	trace->events = calloc(EVENTS, sizeof(*trace->events));
	trace->blocks = calloc(EVENTS, sizeof(*trace->blocks));
	trace->free_streams = calloc(EVENTS, sizeof(*trace->free_streams));
	trace->event_count = EVENTS;
	trace->stream_count = kind->streams;
	for (uint32_t event = 0; event < EVENTS; event++) {
		if (count < 40 || (count < 200 && draw(scene, 2))) {
			block = trace->block_count++;
			trace->blocks[block] = (struct replay_block){
				.id = block,
				.bytes = draw_bytes(scene),
				.stream = draw(scene, kind->streams),
				.birth = event,
				.death = REPLAY_ALIVE,
			};
			trace->free_streams[block] = trace->blocks[block].stream;
			live[count++] = block;
			trace->events[event] = block << 1;
		} else {
			/* Often the newest block, as in real programs. */
			uint32_t at = draw(scene, 3) ? count - 1 : draw(scene, count);

			block = live[at];
			live[at] = live[--count];
			trace->blocks[block].death = event;
			if (draw(scene, 100) < kind->foreign)
				trace->free_streams[block] = draw(scene, kind->streams);
			trace->events[event] = block << 1 | 1;
		}
	}
}

static struct scene *begin(const struct kind *kind)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct scene *scene = calloc(1, sizeof(*scene));

	ck_assert_ptr_nonnull(scene);
	scene->random = UINT64_C(0x9E3779B97F4A7C15);
	make_trace(scene, kind);
	scene->settings.free = kind->free;
	scene->settings.lag = kind->lag;
	if (kind->free == REPLAY_FREE_STREAM)
		ck_assert(replay_streams_plan(&scene->trace, (uint32_t)kind->lag, GRANULE,
					      &scene->plan));
	ck_assert(replay_walk_init(&scene->walk, &scene->trace,
				   kind->free == REPLAY_FREE_STREAM ? &scene->plan : NULL,
				   &scene->settings));
	attr.chunk_bytes = kind->chunk_bytes;
	attr.growth_bytes = MAM_GROWTH_NONE;
	attr.cache = MAM_CACHE_OFF;
	ck_assert_int_eq(mam_source_host(SPACE, false, &scene->source), MAM_OK);
	ck_assert_int_eq(mam_pool_create_on(scene->source, &attr, &scene->pool), MAM_OK);
	scene->walk.pool = scene->pool;
	return scene;
}

static void end(struct scene *scene)
{
	ck_assert_int_eq(mam_pool_destroy(scene->pool), MAM_OK);
	mam_source_destroy(scene->source);
	replay_walk_fini(&scene->walk);
	replay_streams_fini(&scene->plan);
	free(scene->trace.events);
	free(scene->trace.blocks);
	free(scene->trace.free_streams);
	free(scene);
}

/* The memory of a live block. */
static struct piece *space_at(struct scene *scene, uint32_t block, size_t *count)
{
	uint64_t bytes = scene->trace.blocks[block].bytes;
	struct mam_segment_info segment = { .size = sizeof(segment) };
	const void *address = scene->walk.addresses[block];

	ck_assert_int_eq(mam_owner(address, NULL, &segment), MAM_OK);
	ck_assert_uint_le(bytes, segment.bytes);
	ck_assert_ptr_eq(segment.base, address);
	if (scene->walk.plan)
		ck_assert_uint_eq(segment.bytes, scene->plan.room[block]);
	*count = segment.bytes / GRANULE;
	return &scene->pieces[((uintptr_t)address - (uintptr_t)segment.chunk_base) / GRANULE];
}

static void see_alloc(struct scene *scene, uint32_t event, uint32_t block)
{
	uint64_t stream = scene->trace.blocks[block].stream, lag = scene->settings.lag;
	bool own = scene->settings.free == REPLAY_FREE_STREAM;
	size_t count;
	struct piece *piece = space_at(scene, block, &count);

	for (; count > 0; count--, piece++) {
		if (piece->live) /* a passed assertion is logged: too slow for each piece */
			ck_abort_msg("event %u: two blocks overlap", event);
		if (piece->used && piece->waits == scene->walk.waits) {
			uint64_t ago = event - piece->freed;

			if (ago < lag && !(own && piece->stream == stream))
				ck_abort_msg(
					"event %u: memory freed %u events ago on another stream",
					event, (unsigned int)ago);
			scene->seen_same += ago < lag;
			scene->seen_late += ago >= lag && piece->stream != stream;
			scene->seen_exactly += ago == lag && piece->stream != stream;
		}
		piece->live = true;
	}
}

static void see_free(struct scene *scene, uint32_t event, struct piece *piece, size_t count)
{
	uint32_t block = scene->trace.events[event] >> 1;

	for (; count > 0; count--, piece++) {
		if (!piece->live)
			ck_abort_msg("event %u: a block is freed that was not live", event);
		*piece = (struct piece){
			.used = true,
			.freed = event,
			.stream = scene->trace.free_streams[block],
			.waits = scene->walk.waits,
		};
	}
}

static void walk(struct scene *scene)
{
	for (uint32_t event = 0; event < EVENTS; event++) {
		uint32_t what = scene->trace.events[event], block = what >> 1;
		struct piece *piece = NULL;
		size_t count = 0;

		/* Afterwards its memory may already be reused. */
		if (what & 1 && scene->walk.addresses[block])
			piece = space_at(scene, block, &count);
		ck_assert(replay_walk_step(&scene->walk));
		if (what & 1)
			see_free(scene, event, piece, count);
		else if (scene->walk.addresses[block])
			see_alloc(scene, event, block);
	}
	ck_assert(!replay_walk_step(&scene->walk));
	ck_assert_int_eq(scene->walk.status, MAM_OK);
	ck_assert_uint_eq(scene->walk.done, EVENTS);
}

START_TEST(memory_is_not_reused_too_early)
{
	const struct kind *kind = &kinds[_i];
	struct scene *scene = begin(kind);
	bool tight = kind->chunk_bytes < SPACE;
	struct mam_stats stats = { .size = sizeof(stats) };

	walk(scene);
	/* Forbidden reuse did not happen; allowed reuse did. */
	if (kind->free == REPLAY_FREE_STREAM && kind->lag > 1)
		ck_assert_uint_gt(scene->seen_same, 0);
	if (kind->streams > 1 && !tight)
		ck_assert_uint_gt(scene->seen_late, 0);
	if (kind->lag == 1 && kind->streams > 1)
		ck_assert_uint_gt(scene->seen_exactly, 0);
	if (tight)
		ck_assert_uint_gt(scene->walk.waits, 0);
	else
		ck_assert_uint_eq(scene->walk.failures, 0);
	replay_walk_finish(&scene->walk);
	ck_assert_int_eq(mam_pool_stats(scene->pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.retired_blocks, 0);
	replay_walk_free_rest(&scene->walk);
	ck_assert_int_eq(mam_pool_stats(scene->pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.live_blocks, 0);
	end(scene);
}
END_TEST

/* After the last event only blocks that the trace never freed remain. */
START_TEST(freed_memory_is_available_at_the_end)
{
	struct scene *scene = begin(&kinds[_i]);
	struct mam_stats stats = { .size = sizeof(stats) };
	uint64_t held = 0;

	replay_walk_all(&scene->walk);
	ck_assert_uint_eq(scene->walk.done, EVENTS);
	for (uint32_t block = 0; block < scene->trace.block_count; block++)
		held += scene->trace.blocks[block].death == REPLAY_ALIVE &&
			scene->walk.addresses[block];
	replay_walk_finish(&scene->walk);
	ck_assert_int_eq(mam_pool_stats(scene->pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.live_blocks, held);
	replay_walk_free_rest(&scene->walk);
	end(scene);
}
END_TEST

/*
 * Requests that can never succeed: no wait helps, and each counts as a failure without ending the
 * replay.
 */
START_TEST(request_that_never_fits_is_counted)
{
	struct scene *scene = begin(&kinds[_i]);

	for (uint32_t block = 0; block < scene->trace.block_count; block += 100)
		scene->trace.blocks[block].bytes = block % 200 ? UINT64_MAX : SPACE + 1;
	if (scene->walk.plan) {
		replay_streams_fini(&scene->plan);
		ck_assert(replay_streams_plan(&scene->trace, (uint32_t)kinds[_i].lag, GRANULE,
					      &scene->plan));
	}
	walk(scene);
	ck_assert_uint_ge(scene->walk.failures, scene->trace.block_count / 100);
	ck_assert_uint_eq(scene->walk.first_failure, 0);
	replay_walk_free_rest(&scene->walk);
	end(scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("replay walk");
	TCase *tests = tcase_create("replay walk");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, memory_is_not_reused_too_early, 0, KINDS);
	tcase_add_loop_test(tests, freed_memory_is_available_at_the_end, 0, KINDS);
	tcase_add_loop_test(tests, request_that_never_fits_is_counted, 0, KINDS);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
