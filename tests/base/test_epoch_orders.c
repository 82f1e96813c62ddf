/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epochs in all schedules of a few threads that deviate at a few points, and in random ones, where
 * loads may return older values. Readers find an object in a section; another thread replaces it,
 * and reuses it as soon as mam_epoch_oldest() permits. A reader that still reads it finds the wrong
 * content, or the race checker finds the reader.
 *
 * Each rule of epoch.h is broken once: the search must find it.
 */
#include <check.h>
#include <stdlib.h>

#include "base/barrier.h"
#include "base/epoch.h"
#include "device/port.h"
#include "simt/explore.h"
#include "simt/host.h"
#include "simt/suite.h"

#define SECTIONS 2
#define READERS_MAX 2
#define USED 7
#define REUSED 9

enum fault {
	NONE,
	NO_BARRIER,      /* no thread executes a fence for the readers */
	NO_EXCHANGE,     /* nor do they, where the system has no membarrier */
	NO_SECTION,      /* a reader enters none */
	FOUND_TOO_EARLY, /* it finds the object before it enters one */
	LEFT_TOO_EARLY,  /* it leaves before it reads the object */
	LEAVE_RELAXED,   /* its last store does not release */
	RETIRED_EARLY,   /* the object is retired while it is still reachable */
	REUSED_AT_ONCE,  /* mam_epoch_oldest() is not called */
};

static struct state {
	uint64_t content[2];
	_Atomic uint32_t current; /* the reachable object */
	unsigned readers;
	bool fences;
	enum fault fault;
} state;

static void leave(struct mam_section section, enum fault fault)
{
	if (fault == LEAVE_RELAXED)
		atomic_store_explicit(&section.record->since, 0, memory_order_relaxed);
	else
		mam_epoch_leave(section);
}

static void look(enum fault fault)
{
	struct mam_section section = { NULL };
	uint32_t at = 0;

	if (fault == FOUND_TOO_EARLY)
		at = atomic_load_explicit(&state.current, memory_order_acquire);
	if (fault == NO_EXCHANGE)
		mam_epoch_mine->fences = false;
	if (fault != NO_SECTION)
		section = mam_epoch_enter();
	if (fault != FOUND_TOO_EARLY)
		at = atomic_load_explicit(&state.current, memory_order_acquire);
	if (fault == LEFT_TOO_EARLY)
		leave(section, fault);
	MAM_KASSERT(state.content[at] == USED);
	if (fault != LEFT_TOO_EARLY)
		leave(section, fault);
}

static void read_objects(void *argument)
{
	const enum fault fault = state.fault;

	(void)argument;
	(void)mam_epoch_join();
	for (unsigned i = 0; i < SECTIONS; i++)
		look(fault);
}

static void replace_object(void *argument)
{
	const enum fault fault = state.fault;
	uint64_t number = 0;

	(void)argument;
	if (fault == RETIRED_EARLY)
		number = mam_epoch_retire();
	while (fault == RETIRED_EARLY && number >= mam_epoch_oldest())
		simt_host_yield("wait for readers");
	atomic_store_explicit(&state.current, 1, memory_order_release);
	if (fault != RETIRED_EARLY)
		number = mam_epoch_retire();
	while (fault != RETIRED_EARLY && fault != REUSED_AT_ONCE && number >= mam_epoch_oldest())
		simt_host_yield("wait for readers");
	state.content[0] = REUSED;
}

/* No thread has a record yet. */
static void begin(void *argument)
{
	(void)argument;
	simt_host_lacks_membarrier = state.fences || state.fault == NO_BARRIER;
	mam_barrier_refuse(state.fences);
	mam_epoch_leave(mam_epoch_enter()); /* makes the key that all threads share */
	mam_epoch_mine = NULL;
	mam_epoch_fork_child();
	atomic_store(&mam_epoch_now, 1);
	state.content[0] = state.content[1] = USED;
	atomic_store(&state.current, 0);
}

static bool build(struct simt_world *world, void *argument)
{
	for (unsigned i = 0; i < state.readers; i++)
		if (!simt_world_host(world, read_objects, argument))
			return false;
	return simt_world_host(world, replace_object, argument);
}

static const char *check(void *argument)
{
	(void)argument;
	return state.content[0] == REUSED ? NULL : "the object was not reused";
}

static const struct row {
	const char *name;
	unsigned readers, deviations;
	bool fences;
	enum fault fault;
	enum simt_verdict verdict; /* of a fault; SIMT_FINE: any */
} rows[] = {
	{ "one reader", 1, 3, false, NONE, SIMT_FINE },
	{ "one reader, fences", 1, 3, true, NONE, SIMT_FINE },
	{ "two readers", 2, 2, false, NONE, SIMT_FINE },
	{ "two readers, fences", 2, 2, true, NONE, SIMT_FINE },
	{ "no barrier", 1, 2, false, NO_BARRIER, SIMT_FINE },
	{ "no exchange", 1, 2, true, NO_EXCHANGE, SIMT_FINE },
	{ "no section", 1, 2, false, NO_SECTION, SIMT_FINE },
	{ "found too early", 1, 2, false, FOUND_TOO_EARLY, SIMT_FINE },
	{ "left too early", 1, 2, false, LEFT_TOO_EARLY, SIMT_FINE },
	{ "leave relaxed", 1, 2, false, LEAVE_RELAXED, SIMT_RACE },
	{ "retired early", 1, 2, false, RETIRED_EARLY, SIMT_FINE },
	{ "reused at once", 1, 2, false, REUSED_AT_ONCE, SIMT_FINE },
};

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

START_TEST(no_reader_finds_reused_object)
{
	const struct row *row = &rows[_i];
	struct simt_case test = { .name = row->name,
				  .build = build,
				  .begin = begin,
				  .check = check,
				  .deviations = row->deviations,
				  .seeds = 500,
				  .config = { .race = true, .stale = true, .steps_max = 5000 } };

	state.readers = row->readers;
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
	tcase_add_loop_test(tests, no_reader_finds_reused_object, 0, ROWS);
	return simt_run_case(tests, "base/epoch_orders");
}
