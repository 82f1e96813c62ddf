/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated streams of a GPU that lags (source/lag.h): when memory that one stream freed is
 * available to another, how much a stream keeps from others, and that the pool waits only instead of
 * returning OUT_OF_MEMORY.
 */
#include <check.h>
#include <stdlib.h>

#include <mam/source.h>
#include <mam/stats.h>
#include <mam/stream.h>

#define MIB ((size_t)1 << 20)
#define KIB ((size_t)1 << 10)
#define TOTAL (64 * MIB)
#define BLOCK (24 * MIB)

static struct mam_source *source;
static struct mam_pool *pool;

static struct CUstream_st *stream(uintptr_t number)
{
	return (struct CUstream_st *)(0x1000 + number); /* any handle is a stream */
}

static void make_pool_of(size_t lag, size_t total)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct mam_pool_attr pool_attr = MAM_POOL_ATTR_INIT;

	attr.simulated = true;
	attr.total_bytes = total;
	attr.lag = 1 + lag;
	pool_attr.cache = MAM_CACHE_OFF;
	pool_attr.free_policy = MAM_FREE_STREAM;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_OK);
	ck_assert_int_eq(mam_pool_create_on(source, &pool_attr, &pool), MAM_OK);
}

static void make_pool(size_t lag)
{
	make_pool_of(lag, TOTAL);
}

static void end(void)
{
	char why[200] = "";

	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	mam_source_destroy(source);
}

static void *alloc(size_t bytes, uintptr_t number)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc_async(pool, bytes, stream(number), &block), MAM_OK);
	return block;
}

static void dealloc(void *block, uintptr_t number)
{
	ck_assert_int_eq(mam_free_async(pool, block, stream(number)), MAM_OK);
}

static uint64_t physical(void)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats.physical_bytes;
}

START_TEST(own_stream_reuses_memory_at_once)
{
	void *block;

	make_pool(1000);
	block = alloc(BLOCK, 1);
	dealloc(block, 1);
	ck_assert_ptr_eq(alloc(BLOCK, 1), block);
	dealloc(block, 1);
	end();
}
END_TEST

/* Calls on a third stream let time pass; each pair is two calls. */
START_TEST(other_streams_reuse_memory_after_lag)
{
	size_t lag = (size_t)_i;
	void *block, *other;

	make_pool(lag);
	block = alloc(BLOCK, 1);
	dealloc(block, 1);
	for (size_t calls = 1; calls + 2 < lag; calls += 2)
		dealloc(alloc(512, 3), 3);
	other = alloc(BLOCK, 2); /* call 2 after the free at the latest, or call lag - 1 */
	if (lag > 2)
		ck_assert_ptr_ne(other, block);
	else if (lag < 2)
		ck_assert_ptr_eq(other, block);
	dealloc(other, 2);
	end();
}
END_TEST

/* Two blocks fit into the memory, and the third one needs what stream 1 freed. */
START_TEST(pool_waits_instead_of_out_of_memory)
{
	void *a, *b, *c;

	make_pool(1000000);
	a = alloc(BLOCK, 1);
	b = alloc(BLOCK, 1);
	dealloc(a, 1);
	c = alloc(BLOCK, 2);
	ck_assert_uint_le(physical(), TOTAL);
	dealloc(b, 1);
	dealloc(c, 2);
	end();
}
END_TEST

/* Without `lag`, a simulated source has no streams: a free takes effect at once. */
START_TEST(without_lag_there_are_no_streams)
{
	void *block;

	make_pool((size_t)-1);
	block = alloc(BLOCK, 1);
	dealloc(block, 1);
	ck_assert_ptr_eq(alloc(BLOCK, 2), block);
	dealloc(block, 2);
	end();
}
END_TEST

#define SMALL 64

/*
 * Half of each piece has become free memory of the pool, and the stream still holds the other half, in
 * segments that are smaller than a piece.
 */
START_TEST(pieces_of_small_segments_are_mapped_elsewhere)
{
	void *blocks[SMALL], *large;
	uint64_t before;

	make_pool(200);
	for (int i = 0; i < SMALL; i++)
		blocks[i] = alloc(512 * KIB, 1);
	for (int i = 0; i < SMALL; i += 2)
		dealloc(blocks[i], 1);
	ck_assert_int_eq(mam_stream_release(pool, stream(1)), MAM_OK);
	for (int i = 0; i < 200; i++)
		dealloc(alloc(512, 3), 3);
	ck_assert_int_eq(mam_stream_release(pool, stream(1)), MAM_OK);
	for (int i = 1; i < SMALL; i += 2)
		dealloc(blocks[i], 1);
	before = physical();
	large = alloc(BLOCK, 1);
	ck_assert_uint_le(physical(), before + 2 * MIB);
	dealloc(large, 1);
	end();
}
END_TEST

#define LIVE 256
#define TASKS 200
#define ROUNDS 20

/* Each task has a stream of its own, which is not used again. */
START_TEST(ended_tasks_hold_little)
{
	static void *live[LIVE];
	void *block;
	uint64_t before;

	make_pool_of(1, (size_t)16 << 30);
	for (int i = 0; i < LIVE; i++)
		live[i] = alloc(4 * MIB, 1);
	before = physical();
	for (uintptr_t task = 0; task < TASKS; task++) {
		block = alloc(4 * MIB, 10 + task);
		for (int i = 0; i < ROUNDS; i++) {
			void *next = alloc((size_t)(3 + i % 3) * MIB, 10 + task);

			dealloc(block, 10 + task);
			block = next;
		}
		dealloc(block, 10 + task);
	}
	ck_assert_uint_le(physical(), before + 64 * MIB);
	for (int i = 0; i < LIVE; i++)
		dealloc(live[i], 1);
	end();
}
END_TEST

/* A stream that always reuses its memory still does not keep a large share of the pool's. */
START_TEST(large_share_leaves_stream_that_reuses_it)
{
	void *live[16], *block;
	uint64_t before;

	make_pool_of(1, (size_t)4 << 30);
	for (int i = 0; i < 16; i++)
		live[i] = alloc(64 * MIB, 1);
	dealloc(alloc(512, 3), 3); /* two streams that free */
	for (int i = 0; i < 200; i++)
		dealloc(alloc(64 * MIB, 2), 2);
	before = physical();
	dealloc(alloc(512, 3), 3); /* time passes */
	block = alloc(64 * MIB, 1);
	ck_assert_uint_eq(physical(), before);
	dealloc(block, 1);
	for (int i = 0; i < 16; i++)
		dealloc(live[i], 1);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream/lag");
	TCase *tests = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, own_stream_reuses_memory_at_once);
	tcase_add_loop_test(tests, other_streams_reuse_memory_after_lag, 0, 12);
	tcase_add_test(tests, pool_waits_instead_of_out_of_memory);
	tcase_add_test(tests, without_lag_there_are_no_streams);
	tcase_add_test(tests, pieces_of_small_segments_are_mapped_elsewhere);
	tcase_add_test(tests, ended_tasks_hold_little);
	tcase_add_test(tests, large_share_leaves_stream_that_reuses_it);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
