/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default pool, which programs use without naming it: created on demand by whichever thread
 * comes first, as the environment specifies.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include <mam/mam.h>
#include <mam/stats.h>

#include "../api/suite.h"

#define MIB ((size_t)1 << 20)
#define THREADS 8
#define HELD 50
#define TURNS 20000

static void on_host(void)
{
	setenv("MAM_SOURCE", "host", 1);
	setenv("MAM_LOG_FILE", "/dev/null", 1);
}

static struct mam_stats default_stats(void)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	struct mam_pool *pool;
	char why[200] = "";

	ck_assert_int_eq(mam_pool_default(MAM_DEVICE_CURRENT, &pool), MAM_OK);
	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats;
}

START_TEST(requests_without_pool_use_default)
{
	void *block, *aligned;
	size_t bytes;

	ck_assert_int_eq(mam_malloc(NULL, 1000, &block), MAM_OK);
	ck_assert_int_eq(mam_malloc_aligned(NULL, 1000, 4 * MIB, &aligned), MAM_OK);
	ck_assert_uint_eq((uintptr_t)aligned % (4 * MIB), 0);
	ck_assert_int_eq(mam_usable_size(NULL, block, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, 1024);
	ck_assert_uint_eq(default_stats().live_blocks, 2);
	ck_assert_int_eq(mam_free(NULL, block), MAM_OK);
	ck_assert_int_eq(mam_free(NULL, aligned), MAM_OK);
	ck_assert_uint_eq(default_stats().live_blocks, 0);
}
END_TEST

START_TEST(environment_configures_default_pool)
{
	void *block;

	setenv("MAM_CHUNK", "4M", 1);
	setenv("MAM_GROWTH", "none", 1);
	setenv("MAM_GRANULE", "4K", 1);
	ck_assert_uint_eq(default_stats().reserved_bytes, 4 * MIB);
	ck_assert_int_eq(mam_malloc(NULL, 1, &block), MAM_OK);
	ck_assert_uint_eq(default_stats().live_rounded_bytes, 4096);
	ck_assert_int_eq(mam_malloc(NULL, 4 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
}
END_TEST

START_TEST(environment_limits_default_pool)
{
	void *block;

	setenv("MAM_LIMIT", "64M", 1);
	ck_assert_int_eq(mam_malloc(NULL, 65 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_malloc(NULL, 60 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_malloc(NULL, 60 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_le(default_stats().reserved_bytes, 64 * MIB);
}
END_TEST

static pthread_barrier_t start;

/* Random sizes in random order, without a pool argument. Returns the error, or NULL. */
static void *use_default(void *seed)
{
	unsigned int random = *(unsigned int *)seed;
	void *held[HELD] = { NULL };

	pthread_barrier_wait(&start);
	for (int turn = 0; turn < TURNS; turn++) {
		size_t at = (size_t)rand_r(&random) % HELD;

		if (held[at]) {
			if (mam_free(NULL, held[at]) != MAM_OK)
				return "a block was not freed";
			held[at] = NULL;
		} else if (mam_malloc(NULL, 1 + (size_t)rand_r(&random) % 100000, &held[at]) !=
			   MAM_OK) {
			return "a block was refused";
		}
	}
	for (size_t at = 0; at < HELD; at++)
		if (mam_free(NULL, held[at]) != MAM_OK)
			return "a block was not freed at the end";
	return NULL;
}

START_TEST(threads_share_default_pool_from_first_use)
{
	pthread_t threads[THREADS];
	unsigned int seeds[THREADS];
	struct mam_stats stats;
	struct mam_pool *pool;
	void *wrong;

	pthread_barrier_init(&start, NULL, THREADS);
	for (unsigned int i = 0; i < THREADS; i++) {
		seeds[i] = i + 1;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use_default, &seeds[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		ck_assert_msg(!wrong, "%s", (const char *)wrong);
	}
	/*
	 * Overflow of one thread's bins is available to any other thread: trim takes it from there.
	 */
	ck_assert_int_eq(mam_pool_default(MAM_DEVICE_CURRENT, &pool), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(pool, SIZE_MAX, NULL), MAM_OK);
	stats = default_stats();
	ck_assert_uint_eq(stats.live_blocks, 0);
	ck_assert_uint_eq(stats.segments, stats.chunks);
	ck_assert_uint_gt(stats.allocs, (uint64_t)THREADS * TURNS / 3);
	ck_assert_uint_eq(stats.allocs, stats.frees);
	ck_assert_uint_eq(stats.failures, 0);
}
END_TEST

static _Atomic bool stop;

static void *end_default(void *count)
{
	while (!atomic_load(&stop)) {
		struct mam_pool *pool;
		enum mam_status status;

		if (mam_pool_default(MAM_DEVICE_CURRENT, &pool) != MAM_OK)
			return "there was no default pool";
		status = mam_pool_destroy(pool);
		if (status != MAM_OK && status != MAM_ERROR_LIVE_BLOCKS &&
		    status != MAM_ERROR_DESTROYED)
			return "destroy returned another status";
		*(unsigned int *)count += status == MAM_OK;
	}
	return NULL;
}

START_TEST(default_pool_can_be_destroyed_at_any_time)
{
	unsigned int ended = 0;
	pthread_t ender;
	void *wrong;

	ck_assert_int_eq(pthread_create(&ender, NULL, end_default, &ended), 0);
	for (int turn = 0; turn < TURNS; turn++) {
		void *block;

		ck_assert_int_eq(mam_malloc(NULL, 4096, &block), MAM_OK);
		ck_assert_int_eq(mam_free(NULL, block), MAM_OK);
	}
	atomic_store(&stop, true);
	pthread_join(ender, &wrong);
	ck_assert_msg(!wrong, "%s", (const char *)wrong);
	ck_assert_uint_gt(ended, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flow/default");
	TCase *tests = suite_case(suite, "default");

	tcase_add_checked_fixture(tests, on_host, NULL);
	tcase_add_test(tests, requests_without_pool_use_default);
	tcase_add_test(tests, environment_configures_default_pool);
	tcase_add_test(tests, environment_limits_default_pool);
	tcase_add_test(tests, threads_share_default_pool_from_first_use);
	tcase_add_test(tests, default_pool_can_be_destroyed_at_any_time);
	return suite_run(suite);
}
