/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host code with C11's atomics in host threads: its orders, a seq_cst store and a load after it,
 * membarrier, futex, and thread-local variables.
 */
#include <check.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "device/port.h"
#include "simt/explore.h"
#include "simt/host.h"
#include "simt/suite.h"

static struct state {
	_Atomic uint32_t x, y;
	_Atomic uint8_t byte;
	_Atomic uint64_t sum;
	uint32_t saw_x, saw_y;
	uint64_t data; /* plain */
} state;

static _Thread_local uint32_t own = 5;

static void begin(void *argument)
{
	(void)argument;
	state.x = state.y = 0;
	state.byte = 0;
	state.sum = 100;
	state.saw_x = state.saw_y = 9;
	state.data = 0;
}

/* Each thread stores one variable, and loads the other one. */
#define STORE_AND_LOAD(name, stored, between, loaded, result) \
	static void name(void *argument)                      \
	{                                                     \
		(void)argument;                               \
		stored;                                       \
		between;                                      \
		result = loaded;                              \
	}

#define STORE(what, order) atomic_store_explicit(&state.what, 1, order)
#define LOAD(what, order) atomic_load_explicit(&state.what, order)
#define BARRIER() syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)
#define SIGNAL() atomic_signal_fence(memory_order_seq_cst)
#define FENCE() atomic_thread_fence(memory_order_seq_cst)

STORE_AND_LOAD(relaxed_x, STORE(x, memory_order_relaxed), SIGNAL(), LOAD(y, memory_order_relaxed),
	       state.saw_y)
STORE_AND_LOAD(relaxed_y, STORE(y, memory_order_relaxed), SIGNAL(), LOAD(x, memory_order_relaxed),
	       state.saw_x)
STORE_AND_LOAD(seq_x, STORE(x, memory_order_seq_cst), (void)0, LOAD(y, memory_order_seq_cst),
	       state.saw_y)
STORE_AND_LOAD(seq_y, STORE(y, memory_order_seq_cst), (void)0, LOAD(x, memory_order_seq_cst),
	       state.saw_x)
STORE_AND_LOAD(half_y, STORE(y, memory_order_relaxed), SIGNAL(), LOAD(x, memory_order_seq_cst),
	       state.saw_x)
STORE_AND_LOAD(fence_x, STORE(x, memory_order_relaxed), FENCE(), LOAD(y, memory_order_relaxed),
	       state.saw_y)
STORE_AND_LOAD(fence_y, STORE(y, memory_order_relaxed), FENCE(), LOAD(x, memory_order_relaxed),
	       state.saw_x)
STORE_AND_LOAD(barrier_x, STORE(x, memory_order_relaxed), BARRIER(), LOAD(y, memory_order_relaxed),
	       state.saw_y)
STORE_AND_LOAD(exchange_y, (void)atomic_exchange(&state.y, 1), (void)0,
	       LOAD(x, memory_order_relaxed), state.saw_x)

static const char *one_was_seen(void *argument)
{
	(void)argument;
	return state.saw_x || state.saw_y ? NULL : "no store was seen";
}

static void sends(void *argument)
{
	(void)argument;
	state.data = 7;
	atomic_store_explicit(&state.x, 1, memory_order_release);
}

static void sends_relaxed(void *argument)
{
	(void)argument;
	state.data = 7;
	atomic_store_explicit(&state.x, 1, memory_order_relaxed);
}

static void receives(void *argument)
{
	(void)argument;
	if (atomic_load_explicit(&state.x, memory_order_acquire))
		MAM_KASSERT(state.data == 7);
}

/* A compare-and-swap that fails has the second order. */
static void fails(memory_order otherwise)
{
	uint32_t expected = 0;

	if (!atomic_compare_exchange_strong_explicit(&state.x, &expected, 2, memory_order_acquire,
						     otherwise))
		MAM_KASSERT(state.data == 7);
}

static void fails_acquire(void *argument)
{
	(void)argument;
	fails(memory_order_acquire);
}

static void fails_relaxed(void *argument)
{
	(void)argument;
	fails(memory_order_relaxed);
}

/* Sleeps until the other thread has stored 1, and woken it. */
static void sleeps(void *argument)
{
	(void)argument;
	while (atomic_load_explicit(&state.x, memory_order_acquire) == 0)
		syscall(SYS_futex, &state.x, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	MAM_KASSERT(state.data == 7);
}

static void wakes(void *argument)
{
	sends(argument);
	syscall(SYS_futex, &state.x, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void counts(void *argument)
{
	(void)argument;
	for (uint32_t i = 0; i < 2; i++) {
		MAM_KASSERT(own == 5 + i);
		own++;
		atomic_fetch_sub_explicit(&state.sum, 3, memory_order_relaxed);
		atomic_fetch_xor_explicit(&state.byte, (uint8_t)(1 + own), memory_order_relaxed);
	}
	MAM_KASSERT(own == 7);
}

static const char *counted(void *argument)
{
	(void)argument;
	return state.sum == 88 && state.byte == 0 ? NULL : "an atomic was lost";
}

static const struct row {
	const char *name;
	void (*one)(void *argument);
	void (*two)(void *argument);
	const char *(*check)(void *argument);
	enum simt_verdict verdict;
} rows[] = {
	{ "relaxed", relaxed_x, relaxed_y, one_was_seen, SIMT_FAILED },
	{ "seq_cst", seq_x, seq_y, one_was_seen, SIMT_FINE },
	{ "seq_cst load after a relaxed store", seq_x, half_y, one_was_seen, SIMT_FAILED },
	{ "fences", fence_x, fence_y, one_was_seen, SIMT_FINE },
	{ "one fence", fence_x, relaxed_y, one_was_seen, SIMT_FAILED },
	{ "membarrier", barrier_x, relaxed_y, one_was_seen, SIMT_FINE },
	{ "exchange", seq_x, exchange_y, one_was_seen, SIMT_FINE },
	{ "message", sends, receives, NULL, SIMT_FINE },
	{ "relaxed message", sends_relaxed, receives, NULL, SIMT_RACE },
	{ "compare-and-swap", sends, fails_acquire, NULL, SIMT_FINE },
	{ "relaxed compare-and-swap", sends, fails_relaxed, NULL, SIMT_RACE },
	{ "futex", sleeps, wakes, NULL, SIMT_FINE },
	{ "futex without wake", sleeps, sends, NULL, SIMT_LIVELOCK },
	{ "counts", counts, counts, counted, SIMT_FINE },
};

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

static bool build(struct simt_world *world, void *argument)
{
	const struct row *row = argument;

	return simt_world_host(world, row->one, NULL) && simt_world_host(world, row->two, NULL);
}

START_TEST(host_code_has_expected_verdict)
{
	struct row row = rows[_i];
	struct simt_case test = { .name = row.name,
				  .build = build,
				  .argument = &row,
				  .begin = begin,
				  .check = row.check,
				  .deviations = 4,
				  .seeds = 300,
				  .config = { .race = true, .stale = true, .steps_max = 1000 } };

	if (row.verdict == SIMT_FINE)
		simt_must_pass(&test);
	else
		simt_must_fail(&test, row.verdict);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("orders");

	tcase_add_loop_test(tests, host_code_has_expected_verdict, 0, ROWS);
	return simt_run_case(tests, "simt/host_orders");
}
