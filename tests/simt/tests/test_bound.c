/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search over deviations from a fixed schedule: it runs all orders, finds an error with as few
 * deviations as it needs, and a failure's seed reproduces it.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/port.h"
#include "simt/explore.h"
#include "simt/suite.h"

#define ORDERS 64

static struct state {
	uint32_t count, ready, done;
	uint32_t order; /* one bit per atomic: which thread made it */
	uint32_t atomics;
	bool seen[ORDERS];
	uint32_t distinct; /* of seen[] */
	uint32_t x, y, saw_x, saw_y;
} state;

static void begin(void *argument)
{
	(void)argument;
	state.count = state.ready = state.done = state.order = state.atomics = 0;
	state.x = state.y = state.saw_x = state.saw_y = 0;
}

static struct simt_case case_of(const char *name, unsigned int deviations,
				bool (*build)(struct simt_world *, void *))
{
	struct simt_case test = {
		.name = name,
		.begin = begin,
		.build = build,
		.deviations = deviations,
		.config = { .steps_max = 1000 },
	};

	return test;
}

static void two_atomics(void *argument)
{
	uint32_t mine = argument != NULL;

	for (int i = 0; i < 2; i++) {
		mam_atomic_add32(&state.count, 1, MAM_RELAXED, MAM_AT_SYSTEM);
		state.order |= mine << state.atomics++;
	}
}

static bool two_threads(struct simt_world *world, void *argument)
{
	(void)argument;
	return simt_world_host(world, two_atomics, NULL) &&
	       simt_world_host(world, two_atomics, &state);
}

static const char *note_order(void *argument)
{
	(void)argument;
	state.distinct += !state.seen[state.order];
	state.seen[state.order] = true;
	return state.count == 4 ? NULL : "an atomic is missing";
}

/*
 * Two threads with two atomics each have six orders. The fixed schedule has three points: the start,
 * and the first thread's atomics. A deviation there is followed by two points of the other thread.
 * Schedules with fewer deviations are run again, for the number of their points.
 */
START_TEST(orders_are_all_run)
{
	static const uint32_t distinct[] = { 0, 3, 5, 6 }, schedules[] = { 0, 5, 15, 31 };
	struct simt_case test = case_of("orders", (unsigned int)_i, two_threads);
	struct simt_search search;

	test.check = note_order;
	ck_assert(simt_explore_fully(&test, &search));
	ck_assert_uint_eq(state.distinct, distinct[_i]);
	ck_assert_uint_eq(search.schedules, schedules[_i]);
}
END_TEST

static void adds_in_two_steps(void *argument)
{
	uint32_t count = mam_atomic_load32(&state.count, MAM_RELAXED, MAM_AT_SYSTEM);

	(void)argument;
	mam_atomic_store32(&state.count, count + 1, MAM_RELAXED, MAM_AT_SYSTEM);
}

static bool two_adders(struct simt_world *world, void *argument)
{
	return simt_world_host(world, adds_in_two_steps, argument) &&
	       simt_world_host(world, adds_in_two_steps, argument);
}

static const char *is_two(void *argument)
{
	(void)argument;
	return state.count == 2 ? NULL : "an update was lost";
}

START_TEST(failure_has_one_deviation_and_can_be_repeated)
{
	struct simt_case test = case_of("lost update", 3, two_adders);
	struct simt_search search, again;
	char seed[32];

	test.check = is_two;
	ck_assert(!simt_explore(&test, &search));
	ck_assert_int_eq(search.policy, SIMT_BY_BOUND);
	ck_assert_uint_lt(search.seed, 1 << 16);
	ck_assert_uint_ne(search.seed, 0);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)search.seed);
	setenv("SIMT_SEED", seed, 1);
	setenv("SIMT_POLICY", "bound", 1);
	ck_assert(!simt_explore(&test, &again));
	ck_assert_uint_eq(again.schedules, 1);
	ck_assert_uint_eq(again.result.hash, search.result.hash);
	setenv("SIMT_SEED", "0", 1);
	ck_assert(simt_explore(&test, &again));
}
END_TEST

/* The first one fails if the second one runs after its first atomic, and stops after its own. */
static void looks_twice(void *argument)
{
	uint32_t first = mam_atomic_load32(&state.x, MAM_RELAXED, MAM_AT_SYSTEM);
	uint32_t second = mam_atomic_load32(&state.x, MAM_RELAXED, MAM_AT_SYSTEM);

	(void)argument;
	MAM_KASSERT(first != 0 || second != 1);
}

static void stores_twice(void *argument)
{
	(void)argument;
	mam_atomic_store32(&state.x, 1, MAM_RELAXED, MAM_AT_SYSTEM);
	mam_atomic_store32(&state.x, 2, MAM_RELAXED, MAM_AT_SYSTEM);
}

static bool reader_and_writer(struct simt_world *world, void *argument)
{
	return simt_world_host(world, looks_twice, argument) &&
	       simt_world_host(world, stores_twice, argument);
}

START_TEST(error_of_two_deviations_is_not_found_with_one)
{
	struct simt_case test = case_of("one", 1, reader_and_writer);

	simt_must_pass(&test);
	test = case_of("two", 2, reader_and_writer);
	simt_must_fail(&test, SIMT_FAILED);
}
END_TEST

static void waits(void *argument)
{
	(void)argument;
	while (!mam_atomic_load32(&state.ready, MAM_ACQUIRE, MAM_AT_SYSTEM))
		simt_host_yield("waits");
	mam_atomic_add32(&state.done, 1, MAM_RELAXED, MAM_AT_SYSTEM);
}

static void makes_ready(void *argument)
{
	(void)argument;
	mam_atomic_store32(&state.ready, 1, MAM_RELEASE, MAM_AT_SYSTEM);
}

static bool two_wait(struct simt_world *world, void *argument)
{
	return simt_world_host(world, waits, argument) && simt_world_host(world, waits, argument) &&
	       simt_world_host(world, makes_ready, argument);
}

static bool one_waits(struct simt_world *world, void *argument)
{
	return simt_world_host(world, waits, argument);
}

START_TEST(thread_that_yields_waits_for_others)
{
	struct simt_case test = case_of("two wait", 3, two_wait);

	simt_must_pass(&test);
	test = case_of("in vain", 1, one_waits);
	simt_must_fail(&test, SIMT_LIVELOCK);
}
END_TEST

static void stores_x(void *argument)
{
	mam_atomic_store32(&state.x, 1, MAM_RELAXED, MAM_AT_SYSTEM);
	if (argument)
		simt_host_barrier("barrier");
	state.saw_y = mam_atomic_load32(&state.y, MAM_RELAXED, MAM_AT_SYSTEM);
}

static void stores_y(void *argument)
{
	(void)argument;
	mam_atomic_store32(&state.y, 1, MAM_RELAXED, MAM_AT_SYSTEM);
	state.saw_x = mam_atomic_load32(&state.x, MAM_RELAXED, MAM_AT_SYSTEM);
}

static bool store_buffers(struct simt_world *world, void *argument)
{
	return simt_world_host(world, stores_x, argument) &&
	       simt_world_host(world, stores_y, argument);
}

static const char *one_was_seen(void *argument)
{
	(void)argument;
	return state.saw_x || state.saw_y ? NULL : "no store was seen";
}

START_TEST(older_value_is_a_deviation)
{
	struct simt_case test = case_of("store buffers", 4, store_buffers);

	test.check = one_was_seen;
	simt_must_pass(&test);
	test.config.race = test.config.stale = true;
	simt_must_fail(&test, SIMT_FAILED);
	test.argument = &state;
	simt_must_pass(&test);
}
END_TEST

START_TEST(share_of_the_last_deviations_is_run)
{
	struct simt_case test = case_of("share", 3, reader_and_writer);
	struct simt_search all, share;

	state.x = 0;
	test.build = two_threads;
	ck_assert(simt_explore_fully(&test, &all));
	setenv("TEST_SHARE", "2", 1);
	ck_assert(simt_explore(&test, &share));
	ck_assert_uint_lt(share.schedules, all.schedules);
	ck_assert_uint_gt(share.schedules, all.schedules / 3);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("bound");

	tcase_add_loop_test(tests, orders_are_all_run, 1, 4);
	tcase_add_test(tests, failure_has_one_deviation_and_can_be_repeated);
	tcase_add_test(tests, error_of_two_deviations_is_not_found_with_one);
	tcase_add_test(tests, thread_that_yields_waits_for_others);
	tcase_add_test(tests, older_value_is_a_deviation);
	tcase_add_test(tests, share_of_the_last_deviations_is_run);
	return simt_run_case(tests, "simt/bound");
}
