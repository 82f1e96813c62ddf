/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread caches with bins per stream in all schedules of two or three threads that deviate at one or
 * two points, and in random ones: owners allocate and free on streams and evict to them, while
 * another thread frees their blocks, drains the caches, reads their counts, trims the pool, or
 * releases or destroys a stream, the driver refuses events, and the GPU completes its work.
 *
 * Owners use their own fences: test_cache_orders runs the caches with membarrier.
 *
 * Faults of wrong.tab are active in some rows: the search must find each.
 */
#include "../stream/orders.h"

#include <string.h>

#include "cache/cache.h"

#define SMALL ((size_t)3 << 10) /* the bins of a thread have room for two, or for one */

static _Thread_local unsigned number; /* of the thread, from 1 */
static char selves[THREADS + 1];
static struct mam_tcache *made[THREADS + 1];
static atomic_uint turn;

const void *own_self(void)
{
	return &selves[number];
}

static void begin_thread(void *argument)
{
	number = (unsigned)(uintptr_t)argument;
}

static void end_thread(void)
{
	if (mam_tcache_find(orders.pool))
		made[number] = mam_tcache_last;
}

static void *get_small(unsigned stream)
{
	struct mam_stream_now now;
	void *block = mam_cache_alloc_async_own(orders.pool, SMALL, orders.stream[stream], &now);

	if (!block)
		MAM_KASSERT(mam_cache_alloc_async(orders.pool, SMALL, orders.stream[stream], &now,
						  &block) == MAM_OK);
	gpu_got(block, SMALL, orders.stream[stream]);
	return block;
}

static void put_small(void *block, unsigned stream)
{
	struct mam_stream_now now;

	gpu_use(block, SMALL, orders.stream[stream]);
	gpu_gone(block, SMALL);
	if (!mam_cache_free_async_own(orders.pool, block, orders.stream[stream], &now))
		MAM_KASSERT(mam_cache_free_async(orders.pool, block, orders.stream[stream], &now) ==
			    MAM_OK);
}

/* The bins evict a block. */
static void use_stream(unsigned stream)
{
	void *block[3];

	for (unsigned i = 0; i < 3; i++)
		block[i] = get_small(stream);
	for (unsigned i = 0; i < 3; i++)
		put_small(block[i], stream);
	put_small(get_small(stream), stream);
}

static void use_0(void *argument)
{
	begin_thread(argument);
	use_stream(0);
	end_thread();
}

static void use_1(void *argument)
{
	begin_thread(argument);
	use_stream(1);
	end_thread();
}

static void use_both(void *argument)
{
	void *block[2];

	begin_thread(argument);
	for (unsigned i = 0; i < 2; i++)
		block[i] = get_small(i);
	for (unsigned i = 0; i < 2; i++)
		put_small(block[i], i);
	for (unsigned i = 0; i < 2; i++)
		put_small(get_small(i), i);
	end_thread();
}

/* As when its thread ends. */
static void use_and_leave(void *argument)
{
	begin_thread(argument);
	use_stream(0);
	if (mam_tcache_find(orders.pool)) {
		made[number] = mam_tcache_last;
		mam_cache_leave_tcache(mam_tcache_last);
	}
}

/* Another thread frees the block, on the same stream, while the owner evicts. */
static void pass_0(void *argument)
{
	void *block, *none = NULL;

	begin_thread(argument);
	block = get_small(0);
	if (!atomic_compare_exchange_strong(&orders.passed, &none, block))
		put_small(block, 0);
	use_stream(0);
	end_thread();
}

static void receive_0(void *argument)
{
	void *block;

	begin_thread(argument);
	put_small(get_small(0), 0);
	block = atomic_exchange(&orders.passed, &orders);
	if (block)
		put_small(block, 0);
	put_small(get_small(0), 0);
	end_thread();
}

static void await(unsigned which)
{
	while (atomic_load(&turn) < which)
		simt_host_yield("turn");
}

/* The thread's bins keep blocks of a stream that the next function destroys. */
static void keep_0(void *argument)
{
	void *first, *second;

	begin_thread(argument);
	first = get_small(0);
	second = get_small(0);
	put_small(first, 0);
	put_small(second, 0);
	atomic_store(&turn, 1);
	await(2);
	put_small(get_small(0), 0);
	end_thread();
}

static void renew_0(void *argument)
{
	begin_thread(argument);
	await(1);
	gpu_stream_end(orders.stream[0]);
	MAM_KASSERT(gpu_stream_new() == orders.stream[0]);
	atomic_store(&turn, 2);
	put_small(get_small(0), 0);
	atomic_store(&turn, 3);
	end_thread();
}

static void drain(void *argument)
{
	begin_thread(argument);
	(void)mam_cache_drain(orders.pool);
}

static void trim(void *argument)
{
	begin_thread(argument);
	(void)mam_grow_trim(orders.pool, 0, NULL);
}

/* After the stream was destroyed. */
static void trim_late(void *argument)
{
	begin_thread(argument);
	await(3);
	(void)mam_grow_trim(orders.pool, 0, NULL);
}

static void count(void *argument)
{
	struct mam_cache *held;

	begin_thread(argument);
	held = mam_cache_count_pending(orders.pool);
	MAM_KASSERT(mam_cache_check(held) == NULL);
	mam_cache_go(held);
}

static void release_0(void *argument)
{
	begin_thread(argument);
	mam_cache_release_async(orders.pool, orders.stream[0]);
	MAM_KASSERT(mam_stream_let_go(orders.pool, orders.stream[0]) == MAM_OK);
}

/* Fences cannot be recorded for a part of the schedule. */
static void refuse(void *argument)
{
	begin_thread(argument);
	gpu_refuse_events(true);
	simt_host_yield("events refused");
	gpu_refuse_events(false);
}

/* Work of two streams is in flight when the driver refuses events, and another thread trims. */
static void refuse_and_trim(void *argument)
{
	begin_thread(argument);
	gpu_refuse_events(true);
	(void)mam_grow_trim(orders.pool, 0, NULL);
	gpu_refuse_events(false);
}

static void begin(void *argument)
{
	mam_asymlock_use_fences(true);
	orders_begin(argument);
	mam_cache_open(orders.pool, 1);
	memset(made, 0, sizeof(made));
	turn = 0;
}

static const char *check(void *argument)
{
	const char *why;

	(void)argument;
	wrong_now = NOTHING;
	number = 0;
	why = mam_cache_check(mam_cache_count_pending(orders.pool));
	mam_cache_go(orders.pool->cache);
	if (why)
		return why;
	for (unsigned i = 1; i <= THREADS; i++) {
		if (made[i]) {
			mam_cache_leave_tcache(made[i]);
			mam_tcache_drop(made[i]);
		}
	}
	(void)mam_cache_drain(orders.pool);
	mam_cache_close(orders.pool);
	return orders_end();
}

static const struct row rows[] = {
	{ "drain", { use_0, drain }, 1, 1, NOTHING, 4, false, LATE },
	{ "trim", { use_0, use_1, trim }, 1, 1, NOTHING, 4, false, LATE },
	{ "two streams", { use_both, use_0 }, 3, 1, NOTHING, 4, false, LATE },
	{ "count", { use_both, count }, 0, 1, NOTHING, 4, false, LATE },
	{ "pass", { pass_0, receive_0 }, 1, 1, NOTHING, 4, false, LATE },
	{ "pass and drain", { pass_0, receive_0, drain }, 1, 1, NOTHING, 4, false, LATE },
	{ "leave", { use_and_leave, trim }, 1, 1, NOTHING, 4, false, LATE },
	{ "release", { use_0, release_0, trim }, 1, 1, NOTHING, 4, false, LATE },
	{ "renewed", { keep_0, renew_0 }, 1, 1, NOTHING, 4, false, LATE },
	{ "renewed and trim", { keep_0, renew_0, trim }, 1, 1, NOTHING, 4, false, LATE },
	{ "renewed, then trim", { renew_0, keep_0, trim_late }, 1, 1, NOTHING, 4, false, LATE },
	{ "refused", { refuse, use_0, trim }, 0, 2, NOTHING, 4, false, EARLY },
	{ "refused at each free", { refuse, use_0, use_1 }, 3, 1, NOTHING, 4, false, EARLY },
	{ "refused in a trim", { use_0, use_1, refuse_and_trim }, 1, 1, NOTHING, 4, false, LATE },
	{ "refused and renewed",
	  { keep_0, renew_0, refuse_and_trim },
	  1,
	  1,
	  NOTHING,
	  4,
	  false,
	  LATE },
};

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

START_TEST(no_block_serves_twice_and_all_memory_comes_back)
{
	orders_explore(rows[_i], 100, begin, check);
}
END_TEST

static const struct row faults[] = {
	{ "id unknown", { keep_0, renew_0 }, 0, 1, ID_UNKNOWN, 4, false, LATE },
	{ "not entered", { use_0, drain }, 0, 1, NOT_ENTERED, 4, false, LATE },
	{ "evicts less", { use_0, drain }, 0, 1, EVICTS_LESS, 4, false, LATE },
	{ "not counted", { use_0, drain }, 0, 1, NOT_COUNTED, 4, false, LATE },
	{ "not pinned", { keep_0, renew_0, trim }, 0, 1, NOT_PINNED, 4, false, LATE },
	{ "unpin unlocked", { keep_0, renew_0, trim }, 0, 1, UNPIN_UNLOCKED, 4, false, LATE },
	{ "put unlocked", { use_0, use_1 }, 0, 1, PUT_UNLOCKED, 4, false, LATE },
	{ "buried", { keep_0, renew_0, trim }, 0, 1, BURIED, 4, false, LATE },
	{ "refused passes", { refuse, use_0, trim }, 0, 2, REFUSED_PASSES, 4, false, EARLY },
};

#define FAULTS ((int)(sizeof(faults) / sizeof(faults[0])))

START_TEST(fault_is_found)
{
	orders_explore(faults[_i], 100, begin, check);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("orders");

	simt_host_init();
	tcase_add_loop_test(tests, no_block_serves_twice_and_all_memory_comes_back, 0, ROWS);
	tcase_add_loop_test(tests, fault_is_found, 0, FAULTS);
	return simt_run_case(tests, "cache/async_orders");
}
