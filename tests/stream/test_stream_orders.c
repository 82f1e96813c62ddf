/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams in all schedules of two or three threads that deviate at one or two points, and in random
 * ones: threads allocate and free on streams, while another thread trims the pool, uses memory of
 * another stream, destroys a stream, or ends the pool, and the GPU completes its work.
 *
 * Faults of wrong.tab are active in some rows: the search must find each.
 */
#include "orders.h"

static void use_stream(unsigned stream)
{
	void *first = get(BLOCK, stream), *second = get(BLOCK, stream);

	put(first, BLOCK, stream);
	put(second, BLOCK, stream);
	put(get(2 * BLOCK, stream), 2 * BLOCK, stream);
}

static void use_0(void *argument)
{
	(void)argument;
	use_stream(0);
}

static void use_1(void *argument)
{
	(void)argument;
	use_stream(1);
}

/* Another thread frees on the same stream. */
static void pass_0(void *argument)
{
	void *block = get(BLOCK, 0), *none = NULL;

	(void)argument;
	if (!atomic_compare_exchange_strong(&orders.passed, &none, block))
		put(block, BLOCK, 0);
	put(get(BLOCK, 0), BLOCK, 0);
}

static void receive_0(void *argument)
{
	void *block = atomic_exchange(&orders.passed, &orders);

	(void)argument;
	if (block)
		put(block, BLOCK, 0);
	put(get(BLOCK, 0), BLOCK, 0);
}

/* NULL: other threads hold too much. */
static void *try_get(size_t bytes, unsigned stream)
{
	void *block = NULL;
	enum mam_status status =
		mam_stream_alloc(orders.pool, bytes, orders.stream[stream], &block);

	MAM_KASSERT(status == MAM_OK || status == MAM_ERROR_OUT_OF_MEMORY);
	if (status != MAM_OK)
		return NULL;
	gpu_got(block, bytes, orders.stream[stream]);
	return block;
}

static void fill(size_t bytes, unsigned stream)
{
	void *block = try_get(bytes, stream);

	if (block)
		put(block, bytes, stream);
}

static void fill_1(void *argument)
{
	(void)argument;
	fill(3 * BLOCK, 1);
}

static void fill_less_1(void *argument)
{
	(void)argument;
	fill(2 * BLOCK, 1);
}

static void fill_twice_1(void *argument)
{
	void *first = try_get(BLOCK, 1), *second = try_get(BLOCK, 1);

	(void)argument;
	if (first)
		put(first, BLOCK, 1);
	if (second)
		put(second, BLOCK, 1);
}

static void put_0(void *argument)
{
	(void)argument;
	put(get(BLOCK, 0), BLOCK, 0);
}

static void put_1(void *argument)
{
	(void)argument;
	put(get(BLOCK, 1), BLOCK, 1);
}

/* More frees than a stream has batches, then a request that needs their memory. */
static void put_more_0(void *argument)
{
	void *block[6];

	(void)argument;
	for (unsigned i = 0; i < 6; i++)
		block[i] = get(BLOCK, 0);
	for (unsigned i = 0; i < 6; i++)
		put(block[i], BLOCK, 0);
	put(get(4 * BLOCK, 0), 4 * BLOCK, 0);
}

static void put_first_0(void *argument)
{
	(void)argument;
	put_held(0, 0);
}

static void put_second_0(void *argument)
{
	(void)argument;
	put_held(1, 0);
}

static void reuse_0(void *argument)
{
	(void)argument;
	put_held(0, 0);
	put_held(1, 0);
	put(get(BLOCK, 0), BLOCK, 0);
}

static void leave_1(void *argument)
{
	(void)argument;
	put_held(2, 1);
	put_held(3, 1);
}

/* A request that needs new memory, while other threads use the list that it was offered. */
static void grow_0(void *argument)
{
	(void)argument;
	put_held(0, 0);
	put(get(2 * BLOCK, 0), 2 * BLOCK, 0);
}

static void grow_1(void *argument)
{
	(void)argument;
	put(get(BLOCK, 1), BLOCK, 1);
	put_held(2, 1);
	put_held(3, 1);
}

static void trim(void *argument)
{
	(void)argument;
	(void)mam_grow_trim(orders.pool, 0, NULL);
}

static void let_go_0(void *argument)
{
	(void)argument;
	MAM_KASSERT(mam_stream_let_go(orders.pool, orders.stream[0]) == MAM_OK);
}

/* The stream is destroyed after a free, and the next one gets its handle. */
static void renew_0(void *argument)
{
	void *block = get(BLOCK, 0);

	(void)argument;
	put(get(BLOCK, 0), BLOCK, 0);
	put(block, BLOCK, 0);
	gpu_stream_end(orders.stream[0]);
	MAM_KASSERT(gpu_stream_new() == orders.stream[0]);
	block = get(BLOCK, 0);
	put(get(BLOCK, 0), BLOCK, 0);
	put(block, BLOCK, 0);
	put(get(2 * BLOCK, 0), 2 * BLOCK, 0);
}

/* The next stream with the handle frees first. */
static void renew_and_free_0(void *argument)
{
	(void)argument;
	put_held(0, 0);
	gpu_stream_end(orders.stream[0]);
	MAM_KASSERT(gpu_stream_new() == orders.stream[0]);
	gpu_run(orders.stream[1]);
	put_held(2, 0);
}

static void end(void *argument)
{
	enum mam_status status;

	(void)argument;
	put(get(BLOCK, 0), BLOCK, 0);
	status = mam_pool_fini(orders.pool);
	MAM_KASSERT(status == MAM_OK);
	orders.ended = true;
}

static void begin(void *argument)
{
	orders_begin(argument);
}

static const char *check(void *argument)
{
	(void)argument;
	return orders_end();
}

static const struct row rows[] = {
	{ "one stream", { use_0, use_0 }, 1, 1, NOTHING, 4, false, EARLY },
	{ "two streams", { use_0, use_1 }, 3, 1, NOTHING, 4, false, EARLY },
	{ "pass", { pass_0, receive_0 }, 1, 1, NOTHING, 4, false, EARLY },
	{ "trim", { use_0, trim }, 1, 1, NOTHING, 4, false, EARLY },
	{ "pass and trim", { pass_0, receive_0, trim }, 1, 1, NOTHING, 4, false, EARLY },
	{ "loose and trim", { use_0, use_1, trim }, 1, 1, NOTHING, 4, false, LATE },
	{ "fences", { put_first_0, put_second_0, fill_less_1 }, 1, 2, NOTHING, 1, true, EARLY },
	{ "lists", { reuse_0, leave_1 }, 1, 2, NOTHING, 2, true, EARLY },
	{ "offers", { grow_0, grow_1 }, 1, 2, NOTHING, 4, true, SECOND },
	{ "borrow", { use_0, fill_1 }, 1, 1, NOTHING, 2, false, EARLY },
	{ "borrow and trim", { put_0, fill_1, trim }, 1, 1, NOTHING, 1, false, EARLY },
	{ "batches", { put_more_0, put_1 }, 1, 1, NOTHING, 2, false, EARLY },
	{ "let go", { use_0, let_go_0, trim }, 1, 1, NOTHING, 4, false, LATE },
	{ "renewed", { renew_0, trim }, 1, 1, NOTHING, 4, false, EARLY },
	{ "renewed, open", { renew_0, trim }, 1, 1, NOTHING, 4, false, LATE },
	{ "renewed and used", { renew_0, use_1, trim }, 1, 1, NOTHING, 4, false, LATE },
	{ "renewed and freed", { renew_and_free_0, fill_twice_1 }, 1, 2, NOTHING, 2, true, SECOND },
	{ "end", { end, trim }, 1, 2, NOTHING, 4, false, EARLY },
};

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

START_TEST(no_block_serves_twice_and_all_memory_comes_back)
{
	orders_explore(rows[_i], 300, begin, check);
}
END_TEST

static const struct row faults[] = {
	{ "pending passes", { use_0, use_1 }, 0, 1, PENDING_PASSES, 4, false, EARLY },
	{ "fence first",
	  { put_first_0, put_second_0, fill_less_1 },
	  1,
	  1,
	  FENCE_FIRST,
	  1,
	  true,
	  EARLY },
	{ "handle only", { renew_and_free_0, fill_twice_1 }, 0, 1, HANDLE_ONLY, 1, true, SECOND },
	{ "open unlocked", { use_0, use_0 }, 1, 1, OPEN_UNLOCKED, 4, false, EARLY },
	{ "stream unlocked", { use_0, use_0 }, 1, 1, STREAM_UNLOCKED, 4, false, EARLY },
	{ "owner by handle", { renew_0, trim }, 0, 1, OWNER_BY_HANDLE, 4, false, LATE },
	{ "no order", { reuse_0, fill_less_1 }, 0, 1, NO_ORDER, 1, true, EARLY },
	{ "sweep late", { use_0, use_1, trim }, 0, 1, SWEEP_LATE, 4, false, LATE },
	{ "no wait", { use_0, trim }, 0, 1, NO_WAIT, 4, false, LATE },
	{ "ends early", { end, trim }, 0, 1, ENDS_EARLY, 4, false, EARLY },
	{ "offer ended", { grow_0, grow_1 }, 1, 2, OFFER_ENDED, 4, true, SECOND },
	{ "draws all", { use_0, use_1 }, 0, 1, DRAWS_ALL, 4, false, EARLY },
};

#define FAULTS ((int)(sizeof(faults) / sizeof(faults[0])))

START_TEST(fault_is_found)
{
	orders_explore(faults[_i], 300, begin, check);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("orders");

	simt_host_init();
	tcase_add_loop_test(tests, no_block_serves_twice_and_all_memory_comes_back, 0, ROWS);
	tcase_add_loop_test(tests, fault_is_found, 0, FAULTS);
	return simt_run_case(tests, "stream/stream_orders");
}
