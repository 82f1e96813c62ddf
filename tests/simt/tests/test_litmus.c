/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Litmus kernels in the simulator, with plain accesses checked: a race is found in few
 * interleavings, or in none of ten thousand. Every run computes right values, since interleavings
 * are sequentially consistent: only the checker distinguishes the wrong kernels. Kernels with atomics
 * alone never race: there, loads may return older values, and a wrong kernel sees a wrong value.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "device/port.h"
#include "simt/explore.h"

/*
 * Orders and scopes come from the table below: the simulator, unlike nvcc, accepts variable ones.
 */
struct side {
	enum simt_order order;
	enum simt_scope scope;
	enum simt_order
		fence; /* before the write of a flag, after its read; MAM_RELAXED: no fence */
	enum simt_scope fence_scope;
};

struct how {
	struct side write, read;
	int what; /* meaning depends on the kernel */
};

struct space {
	const struct how *how;
	uint64_t data[64];
	uint64_t flag;
	uint64_t count;
	uint32_t lock;
};

static void raise_flag(struct space *space, uint64_t value)
{
	const struct side *side = &space->how->write;

	if (side->fence != MAM_RELAXED)
		mam_fence(side->fence, side->fence_scope);
	mam_atomic_store64(&space->flag, value, side->order, side->scope);
}

static void await_flag(struct space *space, uint64_t value)
{
	const struct side *side = &space->how->read;

	while (mam_atomic_load64(&space->flag, side->order, side->scope) != value)
		;
	if (side->fence != MAM_RELAXED)
		mam_fence(side->fence, side->fence_scope);
}

/* The first lane sends a message to the last. */
MAM_KERNEL(message)
{
	struct space *space = argument;

	if (mam_block() == 0 && simt_thread() == 0) {
		space->data[0] = 7;
		raise_flag(space, 1);
	} else if (mam_block() == mam_grid_blocks() - 1 &&
		   simt_thread() == simt_block_threads() - 1) {
		await_flag(space, 1);
		MAM_KASSERT(space->data[0] == 7);
	}
}

/*
 * The second of three blocks passes the flag on: by a read-modify-write, or by a store if `what`.
 */
MAM_KERNEL(chain)
{
	struct space *space = argument;

	if (mam_block() == 0) {
		space->data[0] = 7;
		raise_flag(space, 1);
	} else if (mam_block() == 1) {
		while (mam_atomic_load64(&space->flag, MAM_RELAXED, MAM_AT_DEVICE) != 1)
			;
		if (space->how->what)
			mam_atomic_store64(&space->flag, 2, MAM_RELAXED, MAM_AT_DEVICE);
		else
			mam_atomic_add64(&space->flag, 1, MAM_RELAXED, MAM_AT_DEVICE);
	} else {
		await_flag(space, 2);
		MAM_KASSERT(space->data[0] == 7);
	}
}

/* Each lane increments a plain counter protected by a lock. */
MAM_KERNEL(locked)
{
	struct space *space = argument;
	const struct how *how = space->how;

	while (mam_atomic_cas32(&space->lock, 0, 1, how->read.order, how->read.scope))
		mam_nanosleep(1);
	space->count++;
	mam_atomic_store32(&space->lock, 0, how->write.order, how->write.scope);
}

/*
 * A lane writes, its neighbor reads; `what` is between them: 0 mam_warp_sync, 1 a shuffle, 2
 * mam_syncthreads, 3 nothing.
 */
MAM_KERNEL(neighbours)
{
	struct space *space = argument;
	uint32_t lane = simt_thread(), next = (lane + 1) % simt_block_threads();
	uint32_t all = (uint32_t)((UINT64_C(1) << simt_block_threads()) - 1);

	space->data[lane] = lane;
	switch (space->how->what) {
	case 0: mam_warp_sync(all); break;
	case 1: (void)mam_warp_shuffle32(all, lane, next); break;
	case 2: mam_syncthreads(); break;
	default: break;
	}
	MAM_KASSERT(space->how->what == 3 || space->data[next] == next);
	if (space->how->what == 3)
		space->data[next]++;
}

struct slots {
	uint32_t value[4];
};

/*
 * The same in shared memory; without the second barrier (`what`) the next round overwrites values
 * that others read.
 */
MAM_KERNEL(shared)
{
	struct space *space = argument;
	uint32_t lane = simt_thread(), next = (lane + 1) % simt_block_threads();
	MAM_SHARED(struct slots, slots);

	for (uint32_t round = 0; round < 2; round++) {
		slots->value[lane] = lane + round;
		mam_syncthreads();
		MAM_KASSERT(space->how->what || slots->value[next] == next + round);
		if (space->how->what)
			mam_clock();
		if (space->how->what)
			space->data[lane] = slots->value[next];
		else
			mam_syncthreads();
	}
}

/* Every lane copies, by the C library's call: the ranges overlap in one byte. */
MAM_KERNEL(copies)
{
	struct space *space = argument;
	char *bytes = (char *)space->data;
	char source[16];

	memset(source, (int)mam_block(), sizeof(source));
	memcpy(bytes + mam_block() * (sizeof(source) - (size_t)space->how->what), source,
	       sizeof(source));
}

#define ALL(order, scope)                               \
	{                                               \
		order, scope, MAM_RELAXED, MAM_AT_BLOCK \
	}
#define FENCED(fence, fence_scope, scope)              \
	{                                              \
		MAM_RELAXED, scope, fence, fence_scope \
	}
#define NONE                                                          \
	{                                                             \
		MAM_RELAXED, MAM_AT_DEVICE, MAM_RELAXED, MAM_AT_BLOCK \
	}
#define REL MAM_RELEASE
#define ACQ MAM_ACQUIRE
#define RLX MAM_RELAXED
#define BLOCK MAM_AT_BLOCK
#define DEVICE MAM_AT_DEVICE

/* clang-format off */
static const struct litmus {
	const char *name;
	bool races; /* or fails */
	simt_kernel *kernel;
	unsigned int grid, block;
	struct how how;
} kernels[] = {
	{ "message, release and acquire", false, message, 2, 1,
	  { ALL(REL, DEVICE), ALL(ACQ, DEVICE), 0 } },
	{ "message, relaxed write", true, message, 2, 1,
	  { ALL(RLX, DEVICE), ALL(ACQ, DEVICE), 0 } },
	{ "message, relaxed read", true, message, 2, 1, { ALL(REL, DEVICE), ALL(RLX, DEVICE), 0 } },
	{ "message, fences", false, message, 2, 1,
	  { FENCED(REL, DEVICE, DEVICE), FENCED(ACQ, DEVICE, DEVICE), 0 } },
	{ "message, block fence", true, message, 2, 1,
	  { FENCED(REL, BLOCK, DEVICE), FENCED(ACQ, DEVICE, DEVICE), 0 } },
	{ "message, block acquire fence", true, message, 2, 1,
	  { FENCED(REL, DEVICE, DEVICE), FENCED(ACQ, BLOCK, DEVICE), 0 } },
	{ "message, block scope", true, message, 2, 1, { ALL(REL, BLOCK), ALL(ACQ, BLOCK), 0 } },
	{ "message, block scope in a block", false, message, 1, 2,
	  { ALL(REL, BLOCK), ALL(ACQ, BLOCK), 0 } },
	{ "message, block fence in a block", false, message, 1, 2,
	  { FENCED(REL, BLOCK, DEVICE), FENCED(ACQ, BLOCK, DEVICE), 0 } },
	{ "chain of read-modify-writes", false, chain, 3, 1,
	  { ALL(REL, DEVICE), ALL(ACQ, DEVICE), 0 } },
	{ "chain broken by a store", true, chain, 3, 1, { ALL(REL, DEVICE), ALL(ACQ, DEVICE), 1 } },
	{ "lock", false, locked, 2, 2, { ALL(REL, DEVICE), ALL(ACQ, DEVICE), 0 } },
	{ "lock, relaxed unlock", true, locked, 2, 2, { ALL(RLX, DEVICE), ALL(ACQ, DEVICE), 0 } },
	{ "lock, relaxed lock", true, locked, 2, 2, { ALL(REL, DEVICE), ALL(RLX, DEVICE), 0 } },
	{ "lock at block scope", true, locked, 2, 2, { ALL(REL, BLOCK), ALL(ACQ, BLOCK), 0 } },
	{ "warp sync", false, neighbours, 1, 4, { NONE, NONE, 0 } },
	{ "a shuffle is not a barrier", true, neighbours, 1, 4, { NONE, NONE, 1 } },
	{ "syncthreads", false, neighbours, 1, 4, { NONE, NONE, 2 } },
	{ "no barrier", true, neighbours, 1, 4, { NONE, NONE, 3 } },
	{ "shared memory", false, shared, 2, 3, { NONE, NONE, 0 } },
	{ "shared memory, one barrier", true, shared, 2, 3, { NONE, NONE, 1 } },
	{ "adjacent copies", false, copies, 3, 1, { NONE, NONE, 0 } },
	{ "copies that overlap", true, copies, 3, 1, { NONE, NONE, 1 } },
};
/* clang-format on */

static struct space space;

static void begin(void *argument)
{
	const struct how *how = space.how;

	(void)argument;
	memset(&space, 0, sizeof(space));
	space.how = how;
}

START_TEST(litmus_kernel_has_expected_verdict)
{
	const struct litmus *litmus = &kernels[_i];
	struct simt_case test = { .name = litmus->name,
				  .kernel = litmus->kernel,
				  .grid = litmus->grid,
				  .block = litmus->block,
				  .argument = &space,
				  .begin = begin,
				  .seeds = litmus->races ? 100 : 3400,
				  .config = { .race = true } };

	space.how = &litmus->how;
	if (litmus->races)
		simt_must_fail(&test, SIMT_RACE);
	else
		simt_must_pass(&test);
}
END_TEST

/* Worlds: consecutive launches, concurrent launches, and host threads. */
MAM_KERNEL(write_data)
{
	struct space *here = argument;

	here->data[0]++;
}

static void host_reads(void *argument)
{
	struct space *here = argument;

	await_flag(here, 1);
	if (here->data[0] != 7)
		simt_fail("the message is wrong", SIMT_SITE);
}

static void host_waits(void *argument)
{
	struct space *here = argument;

	if (here->how->what != 5)
		simt_host_wait(0, SIMT_SITE);
	here->data[0]++;
}

static bool build(struct simt_world *world, void *argument)
{
	switch (space.how->what) {
	case 0:
	case 1:
		return simt_world_launch(world, 0, write_data, 1, 1, argument) &&
		       simt_world_launch(world, (unsigned int)space.how->what, write_data, 1, 1,
					 argument);
	case 2:
	case 3:
		return simt_world_launch(world, 0, message, 1, 1, argument) &&
		       simt_world_host(world, host_reads, argument);
	default:
		return simt_world_launch(world, 0, write_data, 1, 1, argument) &&
		       simt_world_host(world, host_waits, argument);
	}
}

#define SYSTEM MAM_AT_SYSTEM

/* ---- atomics alone: loads that return older values ------------------------------------------- */

static uint64_t load(uint64_t *where)
{
	return mam_atomic_load64(where, MAM_RELAXED, MAM_AT_DEVICE);
}

static void store(uint64_t *where, uint64_t value)
{
	mam_atomic_store64(where, value, MAM_RELAXED, MAM_AT_DEVICE);
}

/* The message is atomic, and the flag is raised once it is written. */
MAM_KERNEL(atomic_message)
{
	struct space *here = argument;

	if (!mam_block()) {
		store(&here->data[0], 6);
		store(&here->data[0], 7);
		raise_flag(here, 1);
	} else {
		await_flag(here, 1);
		MAM_KASSERT(load(&here->data[0]) == 7);
	}
}

/* The same, passed on as in chain(); the last block may also see that the middle one saw it. */
MAM_KERNEL(atomic_chain)
{
	struct space *here = argument;

	switch (mam_block()) {
	case 0:
		store(&here->data[0], 7);
		raise_flag(here, 1);
		return;
	case 1:
		while (load(&here->flag) != 1)
			;
		if (here->how->what == 1)
			store(&here->flag, 2);
		else
			mam_atomic_add64(&here->flag, 1, MAM_RELAXED, MAM_AT_DEVICE);
		return;
	default: await_flag(here, 2); MAM_KASSERT(load(&here->data[0]) == 7);
	}
}

/* Each lane writes a word and then reads the other's: one of them sees the other's. */
MAM_KERNEL(each_other)
{
	struct space *here = argument;

	store(&here->data[mam_block()], 1);
	mam_fence(here->how->write.fence, here->how->write.fence_scope);
	if (!load(&here->data[1 - mam_block()]))
		MAM_KASSERT(!mam_atomic_add64(&here->count, 1, MAM_RELAXED, MAM_AT_DEVICE));
}

/*
 * One location: a lane never sees values in another order than they were written in (`what` 0); nor
 * does a lane that hears of a value (1). Read-modify-writes see the newest value (2).
 */
MAM_KERNEL(one_location)
{
	struct space *here = argument;
	uint64_t last = 0, now;

	if (here->how->what == 2) {
		mam_atomic_add64(&here->data[0], 1, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_add64(&here->count, 1, MAM_RELAXED, MAM_AT_DEVICE);
		while (load(&here->count) != 3)
			;
		now = mam_atomic_cas64(&here->data[0], 9, 9, MAM_RELAXED, MAM_AT_DEVICE);
		MAM_KASSERT(now == 3);
	} else if (!mam_block()) {
		for (now = 1; now < 5; now++)
			store(&here->data[0], now);
	} else if (mam_block() == 1) {
		for (uint32_t i = 0; i < 5; i++, last = now) {
			now = load(&here->data[0]);
			MAM_KASSERT(now >= last);
		}
		store(&here->data[1], last);
		raise_flag(here, 1);
	} else if (here->how->what) {
		await_flag(here, 1);
		MAM_KASSERT(load(&here->data[0]) >= load(&here->data[1]));
	}
}

/* A lane of a warp knows what another one knew before a barrier, but not before a shuffle. */
MAM_KERNEL(warp_knows)
{
	struct space *here = argument;

	if (mam_block()) {
		store(&here->data[0], 7);
		raise_flag(here, 1);
		return;
	}
	if (!simt_thread())
		await_flag(here, 1);
	if (here->how->what)
		(void)mam_warp_shuffle32(3, 0, 0);
	else
		mam_warp_sync(3);
	MAM_KASSERT(load(&here->data[0]) == 7);
}

/* clang-format off */
static const struct litmus atomics[] = {
	{ "atomics, release and acquire", false, atomic_message, 2, 1,
	  { ALL(REL, DEVICE), ALL(ACQ, DEVICE), 0 } },
	{ "atomics, relaxed write", true, atomic_message, 2, 1,
	  { ALL(RLX, DEVICE), ALL(ACQ, DEVICE), 0 } },
	{ "atomics, relaxed read", true, atomic_message, 2, 1,
	  { ALL(REL, DEVICE), ALL(RLX, DEVICE), 0 } },
	{ "atomics, fences", false, atomic_message, 2, 1,
	  { FENCED(REL, DEVICE, DEVICE), FENCED(ACQ, DEVICE, DEVICE), 0 } },
	{ "atomics, block fence", true, atomic_message, 2, 1,
	  { FENCED(REL, BLOCK, DEVICE), FENCED(ACQ, DEVICE, DEVICE), 0 } },
	{ "atomics, block acquire fence", true, atomic_message, 2, 1,
	  { FENCED(REL, DEVICE, DEVICE), FENCED(ACQ, BLOCK, DEVICE), 0 } },
	{ "atomics, chain of read-modify-writes", false, atomic_chain, 3, 1,
	  { ALL(REL, DEVICE), ALL(ACQ, DEVICE), 0 } },
	{ "atomics, chain broken by a store", true, atomic_chain, 3, 1,
	  { ALL(REL, DEVICE), ALL(ACQ, DEVICE), 1 } },
	{ "each other, seq_cst fences", false, each_other, 2, 1,
	  { FENCED(MAM_SEQ_CST, DEVICE, DEVICE), NONE, 0 } },
	{ "each other, other fences", true, each_other, 2, 1,
	  { FENCED(MAM_ACQ_REL, DEVICE, DEVICE), NONE, 0 } },
	{ "each other, seq_cst block fences", true, each_other, 2, 1,
	  { FENCED(MAM_SEQ_CST, BLOCK, DEVICE), NONE, 0 } },
	{ "one location, one lane", false, one_location, 3, 1, { NONE, NONE, 0 } },
	{ "one location, two lanes", false, one_location, 3, 1,
	  { ALL(REL, DEVICE), ALL(ACQ, DEVICE), 1 } },
	{ "one location, two lanes, relaxed", true, one_location, 3, 1,
	  { ALL(RLX, DEVICE), ALL(RLX, DEVICE), 1 } },
	{ "one location, read-modify-writes", false, one_location, 3, 1, { NONE, NONE, 2 } },
	{ "a warp, a barrier", false, warp_knows, 2, 2,
	  { ALL(REL, DEVICE), ALL(ACQ, DEVICE), 0 } },
	{ "a warp, a shuffle", true, warp_knows, 2, 2,
	  { ALL(REL, DEVICE), ALL(ACQ, DEVICE), 1 } },
};
/* clang-format on */

START_TEST(litmus_atomics_have_expected_verdict)
{
	const struct litmus *litmus = &atomics[_i];
	struct simt_case test = { .name = litmus->name,
				  .kernel = litmus->kernel,
				  .grid = litmus->grid,
				  .block = litmus->block,
				  .argument = &space,
				  .begin = begin,
				  .seeds = litmus->races ? 300 : 3400,
				  .config = { .race = true, .stale = true } };

	space.how = &litmus->how;
	if (litmus->races)
		simt_must_fail(&test, SIMT_FAILED);
	else
		simt_must_pass(&test);
}
END_TEST

/* ---- worlds ---------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool races;
	struct how how;
} worlds[] = {
	{ "two launches, one stream", false, { NONE, NONE, 0 } },
	{ "two launches, two streams", true, { NONE, NONE, 1 } },
	{ "host thread, system scope", false, { ALL(REL, SYSTEM), ALL(ACQ, SYSTEM), 2 } },
	{ "host thread, device scope", true, { ALL(REL, DEVICE), ALL(ACQ, SYSTEM), 3 } },
	{ "host thread that waits", false, { NONE, NONE, 4 } },
	{ "host thread that does not", true, { NONE, NONE, 5 } },
};

START_TEST(litmus_world_has_expected_verdict)
{
	struct simt_case test = { .name = worlds[_i].name,
				  .build = build,
				  .argument = &space,
				  .begin = begin,
				  .seeds = worlds[_i].races ? 100 : 3400,
				  .config = { .race = true } };

	space.how = &worlds[_i].how;
	if (worlds[_i].races)
		simt_must_fail(&test, SIMT_RACE);
	else
		simt_must_pass(&test);
}
END_TEST

/* The text names both places by file and line, and a remedy. */
START_TEST(race_text_names_places_and_remedy)
{
	static const struct how how = { ALL(RLX, DEVICE), ALL(ACQ, DEVICE), 0 };
	struct simt_case test = { .name = "text",
				  .kernel = message,
				  .grid = 2,
				  .block = 1,
				  .argument = &space,
				  .begin = begin,
				  .seeds = 100,
				  .config = { .race = true } };
	struct simt_search search;
	const char *text = search.result.text;

	space.how = &how;
	ck_assert(!simt_explore(&test, &search));
	ck_assert_msg(strstr(text, "a plain write of 8 bytes") &&
			      strstr(text, "a plain read of 8 bytes") &&
			      strstr(text, "the write is relaxed: release it"),
		      "%s", text);
	/* The first run has blocks of 48x4 threads, of which the kernel runs in thread 32. */
	ck_assert_msg(strstr(text, "by block 0 thread 32 at") &&
			      strstr(text, "tests/test_litmus.c:"),
		      "%s", text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("simt/litmus");
	TCase *tests = tcase_create("kernels");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 300);
	tcase_add_loop_test(tests, litmus_kernel_has_expected_verdict, 0,
			    sizeof(kernels) / sizeof(kernels[0]));
	tcase_add_loop_test(tests, litmus_atomics_have_expected_verdict, 0,
			    sizeof(atomics) / sizeof(atomics[0]));
	tcase_add_loop_test(tests, litmus_world_has_expected_verdict, 0,
			    sizeof(worlds) / sizeof(worlds[0]));
	tcase_add_test(tests, race_text_names_places_and_remedy);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
