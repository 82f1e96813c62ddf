/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pools.c - very many pools, one after another, and calls on handles of pools that are being
 * destroyed.
 *
 * A process may create any number of pools: their storage is reused and their memory freed. Yet no
 * handle is reused, and a call on the handle of a destroyed pool reaches no other pool, however
 * late it is.
 */
#include <mam/mam.h>
#include <mam/source.h>
#include <mam/stats.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/suite.h"
#include "scale.h"

/* More than can exist at a time. */
#define POOLS ((((size_t)1 << 20) + 5000) / STRESS_SHARE)

static struct mam_pool *handles[POOLS];

static size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long all, resident;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%lu %lu", &all, &resident), 2);
	fclose(file);
	return resident * 4096;
}

static int compare(const void *a, const void *b)
{
	uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;

	return (left > right) - (left < right);
}

START_TEST(more_pools_than_slots_can_be_created)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_source *source;
	size_t before = 0;

	attr.cache = MAM_CACHE_OFF;
	ck_assert_int_eq(mam_source_host(0, false, &source), MAM_OK);
	for (size_t i = 0; i < POOLS; i++)
		handles[i] = NULL; /* so that they are resident */
	for (size_t i = 0; i < POOLS; i++) {
		if (i == POOLS / 10)
			before = resident_bytes();
		ck_assert_int_eq(mam_pool_create_on(source, &attr, &handles[i]), MAM_OK);
		ck_assert_int_eq(mam_pool_destroy(handles[i]), MAM_OK);
	}
#if !defined(__SANITIZE_ADDRESS__) && !STRESS_TSAN
	ck_assert_uint_le(resident_bytes(), before + 8 * MIB);
#else
	(void)before;
#endif
	for (size_t i = 0; i < POOLS; i += 1000)
		ck_assert_int_eq(mam_pool_destroy(handles[i]), MAM_ERROR_DESTROYED);
	qsort(handles, POOLS, sizeof(handles[0]), compare);
	for (size_t i = 1; i < POOLS; i++)
		ck_assert_ptr_ne(handles[i - 1], handles[i]);
	mam_source_destroy(source);
}
END_TEST

#define THREADS 3
#define TURNS (20000 / STRESS_SHARE)

static _Atomic(struct mam_pool *) shown; /* the newest pool; it may be destroyed already */
static atomic_bool over;

/*
 * A block that a call returned belongs to the pool of the handle, which cannot be destroyed while
 * the block is live.
 */
static void *call_late(void *argument)
{
	uintptr_t way = (uintptr_t)argument;
	struct mam_stats stats = { .size = sizeof(stats) };

	while (!atomic_load(&over)) {
		struct mam_pool *pool = atomic_load(&shown);
		enum mam_status status;
		void *block;

		switch (way++ % 4) {
		case 0: status = mam_malloc(pool, 512, &block); break;
		case 1: status = mam_malloc(pool, 2 * MIB, &block); break;
		case 2: status = mam_pool_stats(pool, &stats); break;
		default: status = mam_pool_trim(pool, 0, NULL); break;
		}
		ck_assert(status == MAM_OK || status == MAM_ERROR_DESTROYED);
		if (status == MAM_OK && (way - 1) % 4 < 2) {
			struct mam_pool *owner;

			ck_assert_int_eq(mam_owner(block, &owner, NULL), MAM_OK);
			ck_assert_ptr_eq(owner, pool);
			ck_assert_int_eq(mam_free(way % 8 < 4 ? pool : NULL, block), MAM_OK);
		}
	}
	return NULL;
}

START_TEST(late_calls_reach_no_other_pool)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	pthread_t threads[THREADS];
	struct mam_source *source;
	struct mam_pool *pool;
	enum mam_status status;

	attr.cache = _i ? MAM_CACHE_ON : MAM_CACHE_OFF;
	attr.growth_bytes = 4 * MIB;
	ck_assert_int_eq(mam_source_host(0, false, &source), MAM_OK);
	ck_assert_int_eq(mam_pool_create_on(source, &attr, &pool), MAM_OK);
	atomic_store(&shown, pool);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, call_late, (void *)i), 0);
	for (int turn = 0; turn < TURNS; turn++) {
		do
			status = mam_pool_destroy(pool);
		while (status == MAM_ERROR_LIVE_BLOCKS);
		ck_assert_int_eq(status, MAM_OK);
		ck_assert_int_eq(mam_pool_create_on(source, &attr, &pool), MAM_OK);
		if (turn % 3 == 0)
			atomic_store(&shown, pool);
	}
	atomic_store(&over, true);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stress/pools");
	TCase *pools = suite_case(suite, "pools");

	tcase_set_timeout(pools, 900);
	tcase_add_test(pools, more_pools_than_slots_can_be_created);
	tcase_add_loop_test(pools, late_calls_reach_no_other_pool, 0, 2);
	return suite_run(suite);
}
