/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_world.c - streams keep their order and nothing else is ordered; host threads run
 * concurrently with kernels, wait for streams and launch; the race checker uses the same order.
 */
#include <stdlib.h>

#include "device/port.h"
#include "simt/explore.h"
#include "simt/hooks_core.h"
#include "simt/suite.h"

struct state {
	uint32_t ended[3]; /* lanes of launch 0, 1, 2 */
	uint32_t mail, reply;
	uint32_t overlapped, apart; /* over all runs */
	bool mixed;
	uint32_t plain;
	uint32_t hosts;
};

static struct state state;

static void begin(void *argument)
{
	uint32_t overlapped = state.overlapped, apart = state.apart;

	(void)argument;
	memset(&state, 0, sizeof(state));
	state.overlapped = overlapped;
	state.apart = apart;
}

static struct simt_case world_of(const char *name,
				 bool (*build)(struct simt_world *world, void *argument))
{
	return (struct simt_case){ .name = name,
				   .begin = begin,
				   .build = build,
				   .argument = &state,
				   .seeds = 40,
				   .config = { .steps_max = 50000, .race = true } };
}

static uint32_t load(uint32_t *where)
{
	return mam_atomic_load32(where, MAM_RELAXED, MAM_AT_SYSTEM);
}

static void end(unsigned int launch)
{
	mam_atomic_add32(&state.ended[launch], 1, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KERNEL(first)
{
	(void)argument;
	MAM_KASSERT(load(&state.ended[1]) == 0);
	mam_syncthreads();
	end(0);
}

MAM_KERNEL(second)
{
	(void)argument;
	MAM_KASSERT(load(&state.ended[0]) == 40);
	end(1);
}

/* The next launch of the stream reads a plain payload of the previous one: that is not a race. */
MAM_KERNEL(fills)
{
	(void)argument;
	if (simt_thread() == 0 && mam_block() == 0) {
		simt_plain(&state.plain, 4, true, "fills");
		state.plain = 99;
	}
	end(0);
}

MAM_KERNEL(reads)
{
	(void)argument;
	simt_plain(&state.plain, 4, false, "reads");
	MAM_KASSERT(state.plain == 99);
	end(1);
}

static bool one_after_the_other(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 3, first, 2, 20, argument) &&
	       simt_world_launch(world, 3, second, 3, 8, argument);
}

static bool payload(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, fills, 2, 4, argument) &&
	       simt_world_launch(world, 0, reads, 2, 4, argument);
}

static const char *both_ended(void *argument)
{
	const struct state *after = argument;

	return after->ended[0] && after->ended[1] ? NULL : "a launch did not run";
}

START_TEST(stream_keeps_its_order)
{
	struct simt_case test = world_of("stream", one_after_the_other);

	test.check = both_ended;
	simt_must_pass(&test);
	test = world_of("payload", payload);
	test.check = both_ended;
	simt_must_pass(&test);
}
END_TEST

MAM_KERNEL(looks_at_two)
{
	(void)argument;
	if (load(&state.ended[2]) && load(&state.ended[2]) < 8)
		state.mixed = true;
	end(1);
}

MAM_KERNEL(looks_at_one)
{
	(void)argument;
	if (load(&state.ended[1]) && load(&state.ended[1]) < 8)
		state.mixed = true;
	end(2);
}

static bool two_streams(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, looks_at_two, 1, 8, argument) &&
	       simt_world_launch(world, 1, looks_at_one, 1, 8, argument);
}

static const char *count_mixed(void *argument)
{
	struct state *after = argument;

	if (after->mixed)
		after->overlapped++;
	else
		after->apart++;
	return after->ended[1] == 8 && after->ended[2] == 8 ? NULL : "a launch did not run";
}

START_TEST(streams_overlap)
{
	struct simt_case test = world_of("streams", two_streams);

	test.check = count_mixed;
	unsetenv("TEST_SHARE"); /* the counts are those of all seeds */
	simt_must_pass(&test);
	ck_assert_uint_gt(state.overlapped, 20);
	ck_assert_uint_gt(state.apart, 5);
}
END_TEST

static bool payload_across(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, fills, 1, 1, argument) &&
	       simt_world_launch(world, 1, fills, 1, 1, argument);
}

START_TEST(streams_are_not_ordered)
{
	struct simt_case test = world_of("across streams", payload_across);

	simt_must_fail(&test, SIMT_RACE);
}
END_TEST

/* A kernel asks, and a host thread replies while the kernel runs. */
MAM_KERNEL(asks)
{
	(void)argument;
	if (simt_thread())
		return;
	mam_atomic_store32(&state.mail, 1, MAM_RELEASE, MAM_AT_SYSTEM);
	while (!mam_atomic_load32(&state.reply, MAM_ACQUIRE, MAM_AT_SYSTEM))
		mam_nanosleep(50);
	simt_plain(&state.plain, 4, false, "asks");
	MAM_KASSERT(state.plain == 7);
}

static void replies(void *argument)
{
	(void)argument;
	while (!mam_atomic_load32(&state.mail, MAM_ACQUIRE, MAM_AT_SYSTEM))
		simt_host_yield("answers");
	simt_plain(&state.plain, 4, true, "answers");
	state.plain = 7;
	mam_atomic_store32(&state.reply, 1, MAM_RELEASE, MAM_AT_SYSTEM);
}

static bool mailbox(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, asks, 2, 4, argument) &&
	       simt_world_host(world, replies, argument);
}

START_TEST(host_thread_replies_to_running_kernel)
{
	struct simt_case test = world_of("mailbox", mailbox);

	simt_must_pass(&test);
}
END_TEST

/* A wait returns after the launches have ended; it does not include launches of other threads. */
static void waits_and_launches(void *argument)
{
	simt_host_wait(0, "wait 1");
	MAM_KASSERT(state.ended[0] == 8);
	simt_plain(&state.plain, 4, false, "host reads");
	MAM_KASSERT(state.plain == 99);
	MAM_KASSERT(simt_host_launch(5, reads, 1, 4, argument));
	simt_host_wait(5, "wait 2");
	MAM_KASSERT(state.ended[1] == 4);
	simt_host_wait(77, "nothing is there");
	mam_atomic_add32(&state.hosts, 1, MAM_RELAXED, MAM_AT_SYSTEM);
}

static void only_watches(void *argument)
{
	(void)argument;
	simt_host_wait(5, "wait 3");
	mam_atomic_add32(&state.hosts, 1, MAM_RELAXED, MAM_AT_SYSTEM);
}

static bool waiting(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, fills, 2, 4, argument) &&
	       simt_world_host(world, waits_and_launches, argument) &&
	       simt_world_host(world, only_watches, argument);
}

static const char *hosts_done(void *argument)
{
	const struct state *after = argument;

	return after->hosts == 2 ? NULL : "a host thread did not end";
}

START_TEST(host_threads_wait_and_launch)
{
	struct simt_case test = world_of("waiting", waiting);

	test.check = hosts_done;
	simt_must_pass(&test);
}
END_TEST

/* A host thread makes more launches, one after the other, than fit initially. */
static void launches_many(void *argument)
{
	for (unsigned int i = 0; i < 20; i++)
		MAM_KASSERT(simt_host_launch(i % 3, fills, 2, 4, argument));
	for (unsigned int i = 0; i < 3; i++)
		simt_host_wait(i, "all");
	MAM_KASSERT(state.ended[0] == 20 * 8);
}

static bool many(struct simt_world *world, void *argument)
{
	return simt_world_host(world, launches_many, argument);
}

START_TEST(host_thread_makes_many_launches)
{
	struct simt_case test = world_of("many", many);

	test.config.race = false;
	test.seeds = 10;
	simt_must_pass(&test);
}
END_TEST

/*
 * A wait does not include the launches of another host thread, which may be waiting for this one.
 */
MAM_KERNEL(waits_for_mail)
{
	(void)argument;
	while (!mam_atomic_load32(&state.mail, MAM_ACQUIRE, MAM_AT_SYSTEM))
		mam_nanosleep(20);
	end(1);
}

static void launches_one(void *argument)
{
	MAM_KASSERT(simt_host_launch(5, waits_for_mail, 1, 4, argument));
	mam_atomic_store32(&state.reply, 1, MAM_RELEASE, MAM_AT_SYSTEM);
	simt_host_wait(5, "its own");
	MAM_KASSERT(state.ended[1] == 4);
}

static void passes_by(void *argument)
{
	(void)argument;
	while (!mam_atomic_load32(&state.reply, MAM_ACQUIRE, MAM_AT_SYSTEM))
		simt_host_yield("passes by");
	simt_host_wait(5, "another's");
	mam_atomic_store32(&state.mail, 1, MAM_RELEASE, MAM_AT_SYSTEM);
}

static bool own_launches(struct simt_world *world, void *argument)
{
	return simt_world_host(world, launches_one, argument) &&
	       simt_world_host(world, passes_by, argument);
}

START_TEST(wait_covers_only_own_launches)
{
	struct simt_case test = world_of("own launches", own_launches);

	simt_must_pass(&test);
}
END_TEST

/* A launch starts at once, not when the host thread stops for some reason. */
static void launches_and_spins(void *argument)
{
	MAM_KASSERT(simt_host_launch(5, fills, 1, 4, argument));
	while (load(&state.ended[0]) < 4)
		simt_host_yield("spins");
}

static bool spinning(struct simt_world *world, void *argument)
{
	return simt_world_host(world, launches_and_spins, argument);
}

START_TEST(launch_starts_at_once)
{
	struct simt_case test = world_of("spinning", spinning);

	test.seeds = 10;
	test.config.race = false; /* lanes count at device scope */
	simt_must_pass(&test);
}
END_TEST

static bool queued(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, waits_for_mail, 1, 2, argument) &&
	       simt_world_launch(world, 1, fills, 7, 2, argument);
}

START_TEST(queued_launch_has_no_blocks)
{
	struct simt_case test = world_of("queued", queued);
	struct simt_search search;

	test.config.steps_max = 1000;
	ck_assert(!simt_explore(&test, &search));
	ck_assert_int_eq(search.result.verdict, SIMT_LIVELOCK);
	ck_assert_ptr_null(strstr(search.result.text, "resident"));
}
END_TEST

static void ballots(void *argument)
{
	(void)argument;
	mam_warp_ballot(1, true);
}

static bool host_ballots(struct simt_world *world, void *argument)
{
	return simt_world_host(world, ballots, argument);
}

START_TEST(host_thread_has_no_lane_functions)
{
	struct simt_case test = world_of("host ballot", host_ballots);
	struct simt_search search;

	ck_assert(!simt_explore(&test, &search));
	ck_assert_int_eq(search.result.verdict, SIMT_FAILED);
	ck_assert_ptr_nonnull(strstr(search.result.text, "a host thread calls mam_warp_ballot()"));
}
END_TEST

MAM_KERNEL(never_ends)
{
	(void)argument;
	if (mam_lane())
		mam_warp_sync(~0u);
	else
		mam_syncthreads();
}

static void waits_for_it(void *argument)
{
	(void)argument;
	simt_host_wait(2, "the wait");
}

static bool stuck(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 2, first, 1, 40, argument) &&
	       simt_world_launch(world, 2, never_ends, 1, 32, argument) &&
	       simt_world_host(world, waits_for_it, argument);
}

START_TEST(deadlock_text_names_launch_and_host_thread)
{
	struct simt_case test = world_of("stuck", stuck);
	const char *warp = "launch 2 block 0 warp 1 lanes 0x1 wait at "; /* of 48x4 threads */
	struct simt_search search;

	ck_assert(!simt_explore(&test, &search));
	ck_assert_int_eq(search.result.verdict, SIMT_DEADLOCK);
	ck_assert_ptr_nonnull(
		strstr(search.result.text, "host thread 1: waits for a stream at the wait"));
	ck_assert_ptr_nonnull(strstr(search.result.text, warp));
}
END_TEST

START_TEST(two_worlds_coexist)
{
	struct simt_config config = { .seed = 1 };
	struct simt_world *one = simt_world_create(&config), *two = simt_world_create(&config);
	struct simt_result first_result, second_result;

	begin(NULL);
	ck_assert(payload(one, NULL) && payload(two, NULL));
	ck_assert_int_eq(simt_world_run(one, &first_result), SIMT_FINE);
	begin(NULL);
	ck_assert_int_eq(simt_world_run(two, &second_result), SIMT_FINE);
	ck_assert_uint_eq(first_result.hash, second_result.hash);
	simt_world_destroy(one);
	simt_world_destroy(two);
	simt_world_destroy(NULL);
}
END_TEST

SIMT_SUITE("simt/world", stream_keeps_its_order, streams_overlap, streams_are_not_ordered,
	   host_thread_replies_to_running_kernel, host_threads_wait_and_launch,
	   host_thread_makes_many_launches, wait_covers_only_own_launches, launch_starts_at_once,
	   queued_launch_has_no_blocks, host_thread_has_no_lane_functions,
	   deadlock_text_names_launch_and_host_thread, two_worlds_coexist)
