/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of pools in all schedules of a few threads that deviate at a few points, and in random
 * ones, where loads may return older values. Callers enter a pool by its handle, while another
 * thread ends the pool and makes one in the same storage. A call gets the handle's own pool, or
 * none.
 *
 * Each rule of slots.h is broken once: the search must find it.
 */
#include <check.h>
#include <stdlib.h>

#include "api/slots.h"
#include "base/barrier.h"
#include "device/port.h"
#include "simt/explore.h"
#include "simt/host.h"
#include "simt/suite.h"
#include "stream/stream.h"

/* Each slot that is taken makes a check of the retired ones due. */
#undef MAM_SLOTS_RETIRED
#define MAM_SLOTS_RETIRED 1
#include "api/slots.c"

#define CALLS 2
#define CALLERS_MAX 2
#define FIRST 100 /* content of the first pool; the next one has one more */

enum fault {
	NONE,
	NO_BARRIER,    /* the thread that reuses storage executes no fence for the callers */
	NO_SECTION,    /* a call is not a section */
	NO_GENERATION, /* a call does not compare generations */
	CHECK_FIRST,   /* it compares them before its section begins */
	NO_EPOCH,      /* the storage is reused as if every call had returned */
};

static struct state {
	struct mam_slot *slot;
	const struct mam_pool *handle;
	unsigned callers;
	bool fences;
	enum fault fault;
} state;

/* Storage has neither streams nor a source here. */
void mam_streams_detach(struct mam_pool *pool, struct mam_streams *streams)
{
	(void)pool, (void)streams;
}

void mam_source_abandon(struct mam_source *source)
{
	(void)source;
}

static struct mam_pool *enter(enum fault fault, struct mam_section *section)
{
	struct mam_pool *pool = mam_handle_storage(state.handle);

	*section = (struct mam_section){ NULL };
	if (fault == NO_SECTION || fault == CHECK_FIRST) {
		if (!mam_handle_is(state.handle, pool))
			return NULL;
		if (fault == CHECK_FIRST)
			*section = mam_epoch_enter();
		return pool;
	}
	if (fault != NO_GENERATION)
		return mam_handle_enter(state.handle, section);
	*section = mam_epoch_enter();
	return pool;
}

static void call(void *argument)
{
	const enum fault fault = state.fault;

	(void)argument;
	(void)mam_epoch_join();
	for (unsigned i = 0; i < CALLS; i++) {
		struct mam_section section;
		const struct mam_pool *pool = enter(fault, &section);

		if (pool) {
			MAM_KASSERT(pool->counts.allocs == FIRST);
			mam_epoch_leave(section);
		}
	}
}

/* Takes slots until the storage of the pool that ended is one of them. */
static void end_and_make(void *argument)
{
	struct mam_slot *slot = state.slot, *taken;

	(void)argument;
	mam_slots_retire(slot);
	if (state.fault == NO_EPOCH)
		slot->epoch = 0;
	while ((taken = mam_slots_take()) != slot) {
		MAM_KASSERT(taken != NULL);
		mam_slots_retire(taken);
		simt_host_yield("wait for callers");
	}
	slot->pool.counts.allocs = FIRST + 1;
}

static void begin(void *argument)
{
	(void)argument;
	simt_host_lacks_membarrier = state.fences || state.fault == NO_BARRIER;
	mam_barrier_refuse(state.fences);
	mam_epoch_leave(mam_epoch_enter()); /* makes the key that all threads share */
	mam_epoch_mine = NULL;
	mam_epoch_fork_child();
	state.slot = mam_slots_take();
	if (!state.slot)
		abort();
	state.slot->pool.counts.allocs = FIRST;
	state.handle = mam_handle_of(&state.slot->pool);
}

static bool build(struct simt_world *world, void *argument)
{
	for (unsigned i = 0; i < state.callers; i++)
		if (!simt_world_host(world, call, argument))
			return false;
	return simt_world_host(world, end_and_make, argument);
}

static const char *check(void *argument)
{
	(void)argument;
	if (mam_handle_is(state.handle, &state.slot->pool))
		return "two pools have the same handle";
	if (state.slot->pool.counts.allocs != FIRST + 1)
		return "the storage was not reused";
	mam_slots_put_back(state.slot);
	return NULL;
}

static const struct row {
	const char *name;
	unsigned callers, deviations;
	bool fences;
	enum fault fault;
} rows[] = {
	{ "one caller", 1, 2, false, NONE },
	{ "one caller, fences", 1, 2, true, NONE },
	{ "two callers", 2, 2, false, NONE },
	{ "no barrier", 1, 2, false, NO_BARRIER },
	{ "no section", 1, 2, false, NO_SECTION },
	{ "no generation", 1, 2, false, NO_GENERATION },
	{ "check first", 1, 2, false, CHECK_FIRST },
	{ "no epoch", 1, 2, false, NO_EPOCH },
};

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

START_TEST(call_gets_pool_of_its_handle_or_none)
{
	const struct row *row = &rows[_i];
	struct simt_case test = { .name = row->name,
				  .build = build,
				  .begin = begin,
				  .check = check,
				  .deviations = row->deviations,
				  .seeds = 300,
				  .config = { .race = true, .stale = true, .steps_max = 200000 } };

	state.callers = row->callers;
	state.fences = row->fences;
	state.fault = row->fault;
	if (row->fault == NONE)
		simt_must_pass(&test);
	else
		simt_must_fail(&test, SIMT_FINE);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("orders");

	simt_host_init();
	tcase_add_loop_test(tests, call_gets_pool_of_its_handle_or_none, 0, ROWS);
	return simt_run_case(tests, "api/slots_orders");
}
