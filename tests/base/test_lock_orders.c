/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mutex in all schedules of a few threads that deviate at a few points, and in random ones: it
 * excludes, each holder sees what the last one wrote, and no thread sleeps forever.
 *
 * Each rule of lock.c is broken once: the search must find it.
 */
#include <check.h>
#include <stdlib.h>

#include "base/lock.h"
#include "device/port.h"
#include "simt/explore.h"
#include "simt/host.h"
#include "simt/suite.h"
#include "wrong_lock.h"

#define TURNS 2
#define TIMEOUT_NS 6000000 /* six calls of the clock: some calls sleep, and some do not */

enum fault {
	NONE,
	NO_WAKE,         /* the release wakes no thread */
	WAIT_WITH_ONE,   /* a woken thread does not leave the word at 2 */
	ACQUIRE_RELAXED, /* taking the lock does not acquire */
	RELEASE_RELAXED, /* releasing it does not release */
	KEEP_WAKE,       /* a woken thread that does without the lock wakes no other */
};

enum way { TAKE, WITHIN, LOOK };

static struct state {
	struct mam_lock lock;
	uint64_t left, right; /* equal whenever no thread has the lock */
	unsigned threads;
	enum way way;
	enum fault fault;
	_Atomic unsigned without; /* turns of threads that did not need the lock after a wait */
} state;

static void take_wrongly(enum fault fault)
{
	uint32_t free = 0;

	if (atomic_compare_exchange_strong_explicit(&state.lock.word, &free, 1,
						    fault == ACQUIRE_RELAXED ? memory_order_relaxed
									     : memory_order_acquire,
						    memory_order_relaxed))
		return;
	if (fault == WAIT_WITH_ONE)
		wrong_lock_wait(&state.lock);
	else
		mam_lock_wait(&state.lock);
}

static void release_wrongly(enum fault fault)
{
	memory_order order = fault == RELEASE_RELAXED ? memory_order_relaxed : memory_order_release;

	if (atomic_exchange_explicit(&state.lock.word, 0, order) == 2 && fault != NO_WAKE)
		mam_lock_wake(&state.lock);
}

static bool take_or_look(enum fault fault)
{
	uint32_t free = 0;

	if (fault != KEEP_WAKE)
		return mam_lock_take_or_look(&state.lock);
	return atomic_compare_exchange_strong_explicit(
		       &state.lock.word, &free, 1, memory_order_acquire, memory_order_relaxed) ||
	       wrong_lock_wait_once(&state.lock);
}

static void work(void *argument)
{
	const enum fault fault = state.fault;
	const enum way way = state.way;

	(void)argument;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		if (way == LOOK && !take_or_look(fault)) {
			atomic_fetch_add(&state.without, 1);
			continue;
		}
		if (way == WITHIN)
			while (!mam_lock_take_within(&state.lock, TIMEOUT_NS))
				simt_host_yield("again");
		if (way == TAKE && fault != NONE)
			take_wrongly(fault);
		else if (way == TAKE)
			mam_lock_take(&state.lock);
		MAM_KASSERT(state.left == state.right);
		state.left++;
		state.right++;
		if (fault != NONE)
			release_wrongly(fault);
		else
			mam_lock_release(&state.lock);
	}
}

static void begin(void *argument)
{
	(void)argument;
	mam_lock_init(&state.lock, MAM_RANK_POOL, "test");
	state.left = state.right = 0;
	atomic_store(&state.without, 0);
}

static bool build(struct simt_world *world, void *argument)
{
	for (unsigned i = 0; i < state.threads; i++)
		if (!simt_world_host(world, work, argument))
			return false;
	return true;
}

static const char *check(void *argument)
{
	(void)argument;
	return state.left + atomic_load(&state.without) == TURNS * state.threads &&
			       state.right == state.left
		       ? NULL
		       : "an update was lost";
}

static const struct row {
	const char *name;
	unsigned threads, deviations;
	enum way way;
	enum fault fault;
	enum simt_verdict verdict; /* of a fault */
} rows[] = {
	{ "two threads", 2, 4, TAKE, NONE, SIMT_FINE },
	{ "three threads", 3, 3, TAKE, NONE, SIMT_FINE },
	{ "two threads with a timeout", 2, 4, WITHIN, NONE, SIMT_FINE },
	{ "three threads with a timeout", 3, 3, WITHIN, NONE, SIMT_FINE },
	{ "two threads that look", 2, 4, LOOK, NONE, SIMT_FINE },
	{ "three threads that look", 3, 3, LOOK, NONE, SIMT_FINE },
	{ "no wake", 2, 2, TAKE, NO_WAKE, SIMT_LIVELOCK },
	{ "wait with one", 3, 2, TAKE, WAIT_WITH_ONE, SIMT_LIVELOCK },
	{ "acquire relaxed", 2, 2, TAKE, ACQUIRE_RELAXED, SIMT_RACE },
	{ "release relaxed", 2, 2, TAKE, RELEASE_RELAXED, SIMT_RACE },
	{ "keep wake", 3, 3, LOOK, KEEP_WAKE, SIMT_LIVELOCK },
};

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

START_TEST(lock_excludes_and_wakes)
{
	const struct row *row = &rows[_i];
	struct simt_case test = {
		.name = row->name,
		.build = build,
		.begin = begin,
		.check = check,
		.deviations = row->deviations,
		.seeds = 500,
		.config = { .race = true, .stale = true, .atomics_only = true, .steps_max = 5000 }
	};

	state.threads = row->threads;
	state.way = row->way;
	state.fault = row->fault;
	if (row->fault == NONE)
		simt_must_pass(&test);
	else
		simt_must_fail(&test, row->verdict);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("orders");

	simt_host_init();
	tcase_add_loop_test(tests, lock_excludes_and_wakes, 0, ROWS);
	return simt_run_case(tests, "base/lock_orders");
}
