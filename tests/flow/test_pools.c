/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several pools in one program, as a program would use them: a result cache that frees results in
 * an out-of-memory callback, parts that share a quota, phases with their own statistics, and memory
 * reserved before it is needed. Only the public headers and the shared library, with thread caches
 * as by default and off.
 */
#include <pthread.h>
#include <string.h>

#include <mam/pools.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include "../api/suite.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define KEPT 64

static const enum mam_cache_mode modes[] = { MAM_CACHE_DEFAULT, MAM_CACHE_OFF };

static struct mam_pool *named(const char *name, struct mam_quota *quota, size_t limit, int mode)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = "host";
	attr.growth_bytes = MIB;
	attr.limit_bytes = limit;
	attr.quota = quota;
	attr.cache = modes[mode];
	ck_assert_int_eq(mam_pool_named(name, 0, &attr, &pool), MAM_OK);
	return pool;
}

static struct mam_stats stats_of(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	char why[200] = "";

	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats;
}

/* A program's own cache of results that it could compute again: the oldest is freed first. */
struct store {
	void *kept[KEPT];
	size_t first, count;
	size_t dropped;
};

static bool drop_oldest(struct mam_pool *pool, size_t bytes, void *user)
{
	struct store *store = user;

	(void)bytes;
	if (store->count == 0)
		return false;
	ck_assert_int_eq(mam_free(pool, store->kept[store->first]), MAM_OK);
	store->first = (store->first + 1) % KEPT;
	store->count--;
	store->dropped++;
	return true;
}

static void keep(struct store *store, void *block)
{
	store->kept[(store->first + store->count++) % KEPT] = block;
}

START_TEST(callback_frees_results_on_out_of_memory)
{
	struct mam_pool *pool = named("results", NULL, 8 * MIB, _i);
	struct store store = { .count = 0 };
	struct mam_stats stats;
	void *block;

	ck_assert_int_eq(mam_pool_on_oom(pool, drop_oldest, &store), MAM_OK);
	for (int i = 0; i < 300; i++) {
		if (store.count == KEPT)
			ck_assert(drop_oldest(pool, 0, &store));
		ck_assert_int_eq(mam_malloc(pool, (size_t)(i % 7 + 1) * 100 * KIB, &block), MAM_OK);
		keep(&store, block);
	}
	ck_assert_uint_gt(store.dropped, 200);
	ck_assert_int_eq(mam_malloc_async(pool, 7 * MIB, NULL, &block), MAM_OK);
	ck_assert_int_eq(mam_free_async(pool, block, NULL), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 9 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	stats = stats_of(pool);
	ck_assert_uint_eq(store.count, 0);
	ck_assert_uint_eq(stats.live_blocks, 0);
	ck_assert_uint_eq(stats.failures, 1);
	ck_assert_uint_le(stats.peak_reserved_bytes, 8 * MIB);
	ck_assert_int_eq(mam_pool_off_oom(pool, drop_oldest, &store), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(pools_share_quota)
{
	struct mam_quota *quota;
	struct mam_pool *parts[3];
	size_t held = 0;
	void *block;

	ck_assert_int_eq(mam_quota_create(12 * MIB, &quota), MAM_OK);
	parts[0] = named("weights", quota, 0, _i);
	parts[1] = named("activations", quota, 0, _i);
	parts[2] = named("workspace", quota, 0, _i);
	/*
	 * each one in turn allocates nearly all of it, and so gets the memory that the one before
	 * left idle
	 */
	for (int round = 0; round < 12; round++) {
		struct mam_pool *part = parts[round % 3];

		ck_assert_int_eq(mam_malloc(part, 10 * MIB, &block), MAM_OK);
		ck_assert_int_eq(mam_quota_held(quota, &held), MAM_OK);
		ck_assert_uint_le(held, 12 * MIB);
		ck_assert_int_eq(mam_malloc(parts[(round + 1) % 3], 5 * MIB, &(void *){ NULL }),
				 MAM_ERROR_OUT_OF_MEMORY);
		ck_assert_int_eq(mam_free(part, block), MAM_OK);
	}
	mam_quota_destroy(quota);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(stats_of(parts[i]).live_blocks, 0);
		ck_assert_int_eq(mam_pool_destroy(parts[i]), MAM_OK);
	}
}
END_TEST

/* Small blocks, as in thread caches. */
static void phase(struct mam_pool *pool, size_t blocks, size_t bytes)
{
	void *held[256];

	ck_assert_uint_le(blocks, 256);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < blocks; i++)
			ck_assert_int_eq(mam_malloc(pool, bytes, &held[i]), MAM_OK);
		for (size_t i = 0; i < blocks; i++)
			ck_assert_int_eq(mam_free(pool, held[i]), MAM_OK);
	}
}

static struct mam_stats pop(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_stats_pop(pool, &stats), MAM_OK);
	return stats;
}

START_TEST(scopes_measure_phases)
{
	struct mam_pool *pool = named("phases", NULL, 0, _i);
	struct mam_stats stats;
	void *kept;

	phase(pool, 200, 1000);
	ck_assert_int_eq(mam_malloc(pool, 300, &kept), MAM_OK);
	ck_assert_int_eq(mam_stats_push(pool), MAM_OK);
	phase(pool, 50, 1000);
	ck_assert_int_eq(mam_stats_push(pool), MAM_OK);
	phase(pool, 20, 2000);
	stats = pop(pool);
	ck_assert_uint_eq(stats.allocs, 3 * 20);
	ck_assert_uint_eq(stats.frees, 3 * 20);
	ck_assert_uint_eq(stats.peak_live_blocks, 1 + 20);
	ck_assert_uint_eq(stats.peak_live_bytes, 300 + 20 * 2000);
	ck_assert_uint_eq(stats.live_bytes, 300);
	ck_assert_uint_eq(stats_of(pool).peak_live_blocks, 200);
	stats = pop(pool);
	ck_assert_uint_eq(stats.allocs, 3 * 20 + 3 * 50);
	ck_assert_uint_eq(stats.peak_live_blocks, 1 + 50);
	ck_assert_uint_eq(stats.peak_live_bytes, 300 + 50 * 1000);
	stats = stats_of(pool);
	ck_assert_uint_eq(stats.peak_live_blocks, 200);
	ck_assert_uint_eq(stats.peak_live_bytes, 200 * 1000);
	ck_assert_uint_eq(stats.allocs, 1 + 3 * 20 + 3 * 50 + 3 * 200);
	ck_assert_int_eq(mam_stats_pop(pool, &stats), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_free(pool, kept), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(older_and_newer_callers_get_known_fields)
{
	struct mam_pool *pool = named("sizes", NULL, 0, _i);
	struct {
		struct mam_stats stats;
		uint64_t later;
	} newer = { .stats = { .size = sizeof(newer) }, .later = 7 };
	struct mam_stats older;

	memset(&older, 0xee, sizeof(older));
	older.size = offsetof(struct mam_stats, live_bytes);
	phase(pool, 10, 100);
	ck_assert_int_eq(mam_stats_push(pool), MAM_OK);
	ck_assert_int_eq(mam_stats_push(pool), MAM_OK);
	ck_assert_int_eq(mam_stats_push(pool), MAM_OK);
	ck_assert_int_eq(mam_stats_pop(pool, &older), MAM_OK);
	ck_assert_uint_eq(older.live_blocks, 0);
	ck_assert_uint_eq(older.live_bytes, 0xeeeeeeeeeeeeeeeeu);
	ck_assert_uint_eq(older.size, offsetof(struct mam_stats, live_bytes));
	ck_assert_int_eq(mam_stats_pop(pool, &newer.stats), MAM_OK);
	ck_assert_uint_eq(newer.later, 0);
	ck_assert_uint_eq(newer.stats.size, sizeof(newer));
	older.size = 3;
	ck_assert_int_eq(mam_stats_pop(pool, &older), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_stats_pop(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_stats_push(NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_stats_push((struct mam_pool *)&older), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(mam_stats_push(pool), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_stats_pop(pool, NULL), MAM_ERROR_DESTROYED);
}
END_TEST

START_TEST(reserved_memory_is_available)
{
	struct mam_pool *pool = named("sure", NULL, 64 * MIB, _i);
	uint64_t grows;
	void *block;

	phase(pool, 100, 1000);
	ck_assert_int_eq(mam_pool_reserve(pool, 40 * MIB), MAM_OK);
	grows = stats_of(pool).grows;
	ck_assert_int_eq(mam_malloc(pool, 40 * MIB, &block), MAM_OK);
	ck_assert_uint_eq(stats_of(pool).grows, grows);
	ck_assert_int_eq(mam_pool_reserve(pool, 40 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_set_limit(pool, 100 * MIB), MAM_OK);
	ck_assert_int_eq(mam_pool_reserve(pool, 40 * MIB), MAM_OK);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(mam_pool_set_limit(pool, MIB), MAM_OK);
	ck_assert_uint_le(stats_of(pool).reserved_bytes, MIB);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

#define THREADS 4

static void *work(void *user)
{
	struct mam_pool *pool = user;

	for (int i = 0; i < 40; i++) {
		struct mam_stats stats;

		ck_assert_int_eq(mam_stats_push(pool), MAM_OK);
		phase(pool, 40, 700);
		stats = pop(pool);
		ck_assert_uint_ge(stats.allocs, 3 * 40);
		ck_assert_uint_le(stats.peak_live_blocks, THREADS * 40);
	}
	return NULL;
}

START_TEST(threads_use_scopes_concurrently)
{
	struct mam_pool *pool = named("threads", NULL, 0, _i);
	pthread_t threads[THREADS];
	struct mam_stats stats;

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work, pool), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	stats = stats_of(pool);
	ck_assert_uint_eq(stats.allocs, THREADS * 40 * 3 * 40);
	ck_assert_uint_eq(stats.frees, stats.allocs);
	ck_assert_uint_eq(stats.live_blocks, 0);
	ck_assert_uint_ge(stats.peak_live_blocks, 40);
	ck_assert_uint_le(stats.peak_live_blocks, THREADS * 40);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flow/pools");
	TCase *tests = suite_case(suite, "pools");

	tcase_add_loop_test(tests, callback_frees_results_on_out_of_memory, 0, COUNT_OF(modes));
	tcase_add_loop_test(tests, pools_share_quota, 0, COUNT_OF(modes));
	tcase_add_loop_test(tests, scopes_measure_phases, 0, COUNT_OF(modes));
	tcase_add_loop_test(tests, older_and_newer_callers_get_known_fields, 0, COUNT_OF(modes));
	tcase_add_loop_test(tests, reserved_memory_is_available, 0, COUNT_OF(modes));
	tcase_add_loop_test(tests, threads_use_scopes_concurrently, 0, COUNT_OF(modes));
	return suite_run(suite);
}
