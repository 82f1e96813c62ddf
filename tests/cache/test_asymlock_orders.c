/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The asymmetric lock in all schedules of a few threads that deviate at up to four points, and in
 * random ones, where loads may return older values: as if a store were still in a store buffer. Two
 * plain counters are equal whenever no thread is inside; the race checker observes them too.
 *
 * Each rule of asymlock.h is broken once: the search must find it.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/barrier.h"
#include "base/lock.h"
#include "cache/asymlock.h"
#include "device/port.h"
#include "simt/explore.h"
#include "simt/host.h"
#include "simt/suite.h"

#define TURNS 2
#define OWNERS_MAX 2

enum fault {
	NONE,
	NO_BARRIER,       /* the stopper calls no membarrier */
	BARRIER_TOO_LATE, /* it waits for the owner first */
	NO_WAIT,          /* it does not wait for the owner */
	NO_REQUEST,       /* it does not store its request */
	NO_LOCK,          /* two stop one owner at a time */
	GO_RELAXED,       /* its last store does not release */
	NO_CHECK,         /* the owner does not read the request */
	CHECK_TOO_EARLY,  /* it reads the request before it stores `busy` */
	LEAVE_RELAXED,    /* its last store does not release */
	LEAVE_TOO_EARLY,  /* it leaves before its last access */
	NO_EXCHANGE,      /* it uses a plain store where the system has no membarrier */
};

struct owner {
	struct mam_asymlock hand;
	uint64_t left, right;
};

static struct state {
	struct owner owners[OWNERS_MAX];
	struct mam_lock lock;
	unsigned owner_count, stopper_count;
	enum fault fault;
	bool fences;
	unsigned started; /* owners */
} state;

static bool enter(struct mam_asymlock *hand, enum fault fault)
{
	uint32_t request;

	if (fault == NO_CHECK) {
		atomic_store_explicit(&hand->busy, 1, memory_order_relaxed);
		return true;
	}
	if (fault != CHECK_TOO_EARLY)
		return mam_asymlock_enter(hand);
	request = atomic_load(&hand->request);
	atomic_store_explicit(&hand->busy, 1, memory_order_relaxed);
	if (request == 0)
		return true;
	atomic_store_explicit(&hand->busy, 0, memory_order_release);
	return false;
}

static void leave(struct mam_asymlock *hand, enum fault fault)
{
	if (fault == LEAVE_RELAXED)
		atomic_store_explicit(&hand->busy, 0, memory_order_relaxed);
	else
		mam_asymlock_leave(hand);
}

static void own(void *argument)
{
	const enum fault fault = state.fault;
	struct owner *owner = argument;

	for (unsigned turn = 0; turn < TURNS;) {
		if (enter(&owner->hand, fault)) {
			owner->left++;
			if (fault == LEAVE_TOO_EARLY)
				leave(&owner->hand, fault);
			owner->right++;
			if (fault != LEAVE_TOO_EARLY)
				leave(&owner->hand, fault);
			turn++;
		} else { /* as mam_cache_enter() */
			mam_lock_take(&state.lock);
			mam_lock_release(&state.lock);
		}
	}
}

static void stop_all(unsigned count, enum fault fault)
{
	for (unsigned i = 0; i < count; i++)
		if (fault != NO_REQUEST)
			mam_asymlock_stop_begin(&state.owners[i].hand);
	if (fault != NO_BARRIER && fault != BARRIER_TOO_LATE)
		mam_asymlock_fence();
	for (unsigned i = 0; i < count; i++)
		if (fault != NO_WAIT)
			mam_asymlock_stop_end(&state.owners[i].hand);
	if (fault == BARRIER_TOO_LATE)
		mam_asymlock_fence();
}

static void let_all_go(unsigned count, enum fault fault)
{
	for (unsigned i = 0; i < count; i++) {
		struct mam_asymlock *hand = &state.owners[i].hand;

		if (fault == GO_RELAXED)
			atomic_store_explicit(&hand->request, 0, memory_order_relaxed);
		else
			mam_asymlock_go(hand);
	}
}

static void stop(void *argument)
{
	const enum fault fault = state.fault;
	const unsigned count = state.owner_count;

	(void)argument;
	if (fault != NO_LOCK)
		mam_lock_take(&state.lock);
	stop_all(count, fault);
	for (unsigned i = 0; i < count; i++) {
		MAM_KASSERT(state.owners[i].left == state.owners[i].right);
		state.owners[i].left++;
		state.owners[i].right++;
	}
	let_all_go(count, fault);
	if (fault != NO_LOCK)
		mam_lock_release(&state.lock);
}

static void begin(void *argument)
{
	(void)argument;
	mam_asymlock_use_fences(state.fences);
	simt_host_lacks_membarrier = state.fences;
	memset(state.owners, 0, sizeof(state.owners));
	mam_lock_init(&state.lock, MAM_RANK_CACHE, "test");
	for (unsigned i = 0; i < state.owner_count; i++) {
		mam_asymlock_init(&state.owners[i].hand);
		if (state.fault == NO_EXCHANGE)
			state.owners[i].hand.fences = false;
	}
}

static bool build(struct simt_world *world, void *argument)
{
	(void)argument;
	for (unsigned i = 0; i < state.owner_count; i++)
		if (!simt_world_host(world, own, &state.owners[i]))
			return false;
	for (unsigned i = 0; i < state.stopper_count; i++)
		if (!simt_world_host(world, stop, NULL))
			return false;
	return true;
}

static const char *check(void *argument)
{
	(void)argument;
	for (unsigned i = 0; i < state.owner_count; i++) {
		const struct owner *owner = &state.owners[i];

		if (owner->left != TURNS + state.stopper_count || owner->left != owner->right)
			return "an update was lost";
		if (mam_asymlock_is_inside(&owner->hand))
			return "an owner did not leave";
	}
	return NULL;
}

static const struct row {
	const char *name;
	unsigned owners, stoppers, deviations;
	bool fences;
	enum fault fault;
	enum simt_verdict verdict; /* of a fault; SIMT_FINE: any */
} rows[] = {
	{ "one owner", 1, 1, 4, false, NONE, SIMT_FINE },
	{ "one owner, fences", 1, 1, 4, true, NONE, SIMT_FINE },
	{ "two owners", 2, 1, 3, false, NONE, SIMT_FINE },
	{ "two owners, fences", 2, 1, 2, true, NONE, SIMT_FINE },
	{ "two stoppers", 1, 2, 3, false, NONE, SIMT_FINE },
	{ "two stoppers, fences", 1, 2, 2, true, NONE, SIMT_FINE },
	{ "two of each", 2, 2, 2, false, NONE, SIMT_FINE },
	{ "two of each, fences", 2, 2, 2, true, NONE, SIMT_FINE },
	{ "no barrier", 1, 1, 2, false, NO_BARRIER, SIMT_FINE },
	{ "barrier too late", 1, 1, 2, false, BARRIER_TOO_LATE, SIMT_FINE },
	{ "no wait", 1, 1, 2, false, NO_WAIT, SIMT_FINE },
	{ "no request", 1, 1, 2, false, NO_REQUEST, SIMT_FINE },
	{ "no lock", 1, 2, 2, false, NO_LOCK, SIMT_FINE },
	{ "go relaxed", 1, 1, 2, false, GO_RELAXED, SIMT_RACE },
	{ "no check", 1, 1, 2, false, NO_CHECK, SIMT_FINE },
	{ "check too early", 1, 1, 2, false, CHECK_TOO_EARLY, SIMT_FINE },
	{ "leave relaxed", 1, 1, 2, false, LEAVE_RELAXED, SIMT_RACE },
	{ "leave too early", 1, 1, 2, false, LEAVE_TOO_EARLY, SIMT_FINE },
	{ "no exchange", 1, 1, 2, true, NO_EXCHANGE, SIMT_FINE },
};

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

START_TEST(owners_and_stoppers_exclude_each_other)
{
	const struct row *row = &rows[_i];
	struct simt_case test = { .name = row->name,
				  .build = build,
				  .begin = begin,
				  .check = check,
				  .deviations = row->deviations,
				  .seeds = 500,
				  .config = { .race = true, .stale = true, .steps_max = 5000 } };

	state.owner_count = row->owners;
	state.stopper_count = row->stoppers;
	state.fences = row->fences;
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
	tcase_add_loop_test(tests, owners_and_stoppers_exclude_each_other, 0, ROWS);
	return simt_run_case(tests, "cache/asymlock_orders");
}
