/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotas: total memory of several pools, on sources of one kind or several; which pools release
 * memory for others; and the count when pools are destroyed or abandoned.
 */
#include <pthread.h>
#include <string.h>

#include <mam/pools.h>
#include <mam/source.h>
#include <mam/stats.h>

#include "stub.h"
#include "suite.h"

#define MIB ((size_t)1 << 20)
#define POOLS 3

static struct mam_quota *quota;

static struct mam_pool *join(struct mam_source *source)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool = NULL;

	attr.source = "host";
	attr.growth_bytes = MIB;
	attr.quota = quota;
	attr.cache = MAM_CACHE_OFF;
	ck_assert_int_eq(source ? mam_pool_create_on(source, &attr, &pool)
				: mam_pool_create(&attr, &pool),
			 MAM_OK);
	return pool;
}

static size_t held(void)
{
	size_t bytes = SIZE_MAX;

	ck_assert_int_eq(mam_quota_held(quota, &bytes), MAM_OK);
	return bytes;
}

static size_t reserved(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats.reserved_bytes;
}

START_TEST(total_of_pools_never_exceeds_quota)
{
	struct mam_pool *pools[POOLS];
	void *blocks[64];
	size_t count = 0, sum = 0;

	ck_assert_int_eq(mam_quota_create(10 * MIB, &quota), MAM_OK);
	for (int i = 0; i < POOLS; i++)
		pools[i] = join(NULL);
	ck_assert_uint_eq(held(), 0);
	while (count < 64 && mam_malloc(pools[count % POOLS], MIB, &blocks[count]) == MAM_OK) {
		count++;
		ck_assert_uint_eq(held(), count * MIB);
	}
	ck_assert_uint_eq(count, 10);
	for (int i = 0; i < POOLS; i++)
		sum += reserved(pools[i]);
	ck_assert_uint_eq(sum, 10 * MIB);
}
END_TEST

START_TEST(other_pools_release_idle_memory)
{
	struct mam_pool *first, *second, *stranger;
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	void *block, *kept, *foreign;

	ck_assert_int_eq(mam_quota_create(8 * MIB, &quota), MAM_OK);
	first = join(NULL);
	second = join(NULL);
	attr.source = "host";
	attr.growth_bytes = MIB;
	ck_assert_int_eq(mam_pool_create(&attr, &stranger), MAM_OK);
	ck_assert_int_eq(mam_malloc(stranger, MIB, &foreign), MAM_OK);
	ck_assert_int_eq(mam_free(stranger, foreign), MAM_OK);
	ck_assert_int_eq(mam_malloc(first, 2 * MIB, &kept), MAM_OK);
	ck_assert_int_eq(mam_malloc(first, 5 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(first, block), MAM_OK);
	ck_assert_uint_eq(held(), 7 * MIB);
	ck_assert_int_eq(mam_malloc(second, 6 * MIB, &block), MAM_OK);
	ck_assert_uint_eq(held(), 8 * MIB);
	ck_assert_uint_eq(reserved(first), 2 * MIB);
	ck_assert_uint_eq(reserved(stranger), MIB); /* it has no quota */
	ck_assert_int_eq(mam_malloc(second, MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
}
END_TEST

START_TEST(quota_spans_sources)
{
	static struct stub stub; /* still reachable at exit, for leak checkers */
	struct mam_pool *host, *device;
	void *block;

	stub_init(&stub);
	ck_assert_int_eq(mam_quota_create(4 * MIB, &quota), MAM_OK);
	host = join(NULL);
	device = join(&stub.source);
	ck_assert_int_eq(mam_malloc(host, 3 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_malloc(device, 2 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stub.grows, 0);
	ck_assert_int_eq(mam_malloc(device, MIB, &block), MAM_OK);
	ck_assert_uint_eq(held(), 4 * MIB);
	/* a free of device memory still waits for the device */
	ck_assert_int_eq(mam_free(device, block), MAM_OK);
	ck_assert_uint_eq(stub.waits, 1);
}
END_TEST

START_TEST(ended_pool_does_not_count)
{
	static struct stub stub; /* still reachable at exit, for leak checkers */
	struct mam_pool *destroyed, *abandoned;
	void *block;

	stub_init(&stub);
	ck_assert_int_eq(mam_quota_create(8 * MIB, &quota), MAM_OK);
	destroyed = join(NULL);
	abandoned = join(&stub.source);
	ck_assert_int_eq(mam_malloc(destroyed, 2 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_malloc(abandoned, 3 * MIB, &block), MAM_OK);
	ck_assert_uint_eq(held(), 5 * MIB);
	ck_assert_int_eq(mam_pool_abandon(abandoned), MAM_OK);
	ck_assert_uint_eq(stub.shrinks, 0);
	ck_assert_uint_eq(held(), 2 * MIB);
	ck_assert_int_eq(mam_free(NULL, block), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_pool_abandon(destroyed), MAM_OK);
	ck_assert_uint_eq(held(), 0);
	destroyed = join(&stub.source);
	ck_assert_int_eq(mam_malloc(destroyed, 3 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(destroyed, block), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(destroyed), MAM_OK);
	ck_assert_uint_eq(held(), 0);
	ck_assert_uint_eq(stub.shrinks, 1);
}
END_TEST

/* Without a quota: two pools on one device whose memory the first pool has entirely. */
START_TEST(pools_of_same_device_release_idle_memory)
{
	static struct stub stub; /* still reachable at exit, for leak checkers */
	struct mam_pool *idle, *busy, *bounded;
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_source *device;
	void *block;

	stub_init(&stub);
	ck_assert_int_eq(mam_source_limit(&stub.source, 4 * MIB, 0, 0, &device), MAM_OK);
	quota = NULL;
	idle = join(device);
	busy = join(device);
	attr.growth_bytes = MIB;
	attr.limit_bytes = MIB;
	ck_assert_int_eq(mam_pool_create_on(device, &attr, &bounded), MAM_OK);
	ck_assert_int_eq(mam_malloc(idle, 3 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(idle, block), MAM_OK);
	/* Its own limit is the obstacle: no other pool releases memory for it. */
	ck_assert_int_eq(mam_malloc(bounded, 2 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(reserved(idle), 3 * MIB);
	ck_assert_int_eq(mam_malloc(busy, 4 * MIB, &block), MAM_OK);
	ck_assert_uint_eq(reserved(idle), 0);
	ck_assert_int_eq(mam_malloc(idle, MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_check(busy, NULL, 0), MAM_OK);
}
END_TEST

/* Pools of another device release memory if the quota refused, not if the device did. */
START_TEST(pools_of_other_device_release_only_for_quota)
{
	static struct stub stubs[2]; /* still reachable at exit, for leak checkers */
	struct mam_source *limited;
	struct mam_pool *full, *elsewhere;
	void *block;

	stub_init(&stubs[0]);
	stub_init(&stubs[1]);
	stubs[1].source.properties.device = 1;
	ck_assert_int_eq(mam_source_limit(&stubs[0].source, 4 * MIB, 0, 0, &limited), MAM_OK);
	ck_assert_int_eq(mam_quota_create(16 * MIB, &quota), MAM_OK);
	full = join(limited);
	elsewhere = join(&stubs[1].source);
	ck_assert_int_eq(mam_malloc(elsewhere, 8 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(elsewhere, block), MAM_OK);
	ck_assert_int_eq(mam_malloc(full, 5 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(reserved(elsewhere), 8 * MIB);
	ck_assert_uint_eq(stubs[1].shrinks, 0);
	ck_assert_int_eq(mam_quota_set(quota, 10 * MIB), MAM_OK);
	ck_assert_int_eq(mam_malloc(full, 4 * MIB, &block), MAM_OK);
	ck_assert_uint_eq(reserved(elsewhere), 0);
}
END_TEST

START_TEST(quota_can_be_changed)
{
	struct mam_pool *pool;
	void *blocks[3];

	ck_assert_int_eq(mam_quota_create(2 * MIB, &quota), MAM_OK);
	pool = join(NULL);
	ck_assert_int_eq(mam_malloc(pool, 2 * MIB, &blocks[0]), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, MIB, &blocks[1]), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_quota_set(quota, 3 * MIB), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, MIB, &blocks[1]), MAM_OK);
	ck_assert_int_eq(mam_quota_set(quota, MIB), MAM_OK);
	ck_assert_uint_eq(held(), 3 * MIB);
	ck_assert_int_eq(mam_malloc(pool, MIB, &blocks[2]), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_quota_set(quota, 0), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 1024 * MIB, &blocks[2]), MAM_OK);
	ck_assert_uint_eq(held(), 1027 * MIB);
}
END_TEST

START_TEST(quota_can_be_destroyed_before_its_pools)
{
	struct mam_pool *pool;
	void *block;

	ck_assert_int_eq(mam_quota_create(2 * MIB, &quota), MAM_OK);
	pool = join(NULL);
	mam_quota_destroy(quota);
	ck_assert_int_eq(mam_malloc(pool, 3 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_malloc(pool, 2 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	/* And the quota with it, as a leak checker verifies. */
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	mam_quota_destroy(NULL);
}
END_TEST

START_TEST(invalid_arguments_are_rejected)
{
	size_t bytes;

	ck_assert_int_eq(mam_quota_create(MIB, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_quota_set(NULL, MIB), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_quota_held(NULL, &bytes), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_quota_create(MIB, &quota), MAM_OK);
	ck_assert_int_eq(mam_quota_held(quota, NULL), MAM_ERROR_INVALID_VALUE);
	mam_quota_destroy(quota);
}
END_TEST

START_TEST(failed_pool_creation_uses_no_quota)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool = NULL;

	ck_assert_int_eq(mam_quota_create(2 * MIB, &quota), MAM_OK);
	attr.source = "host";
	attr.quota = quota;
	attr.chunk_bytes = 3 * MIB;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(pool);
	ck_assert_uint_eq(held(), 0);
	attr.chunk_bytes = MAM_CHUNK_LARGEST;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_uint_eq(held(), 2 * MIB);
}
END_TEST

#define THREADS 4
#define ROUNDS 400

static _Atomic int over;

static void *grow_and_trim(void *user)
{
	struct mam_pool *pool = user;

	for (int i = 0; i < ROUNDS; i++) {
		void *block;

		if (mam_malloc(pool, 2 * MIB, &block) == MAM_OK) {
			if (held() > 4 * MIB)
				atomic_store(&over, 1);
			(void)mam_free(pool, block);
		}
		(void)mam_pool_trim(pool, 0, NULL);
	}
	return NULL;
}

START_TEST(threads_never_exceed_quota_together)
{
	pthread_t threads[THREADS];
	struct mam_pool *pools[THREADS];

	ck_assert_int_eq(mam_quota_create(4 * MIB, &quota), MAM_OK);
	for (int i = 0; i < THREADS; i++) {
		pools[i] = join(NULL);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, grow_and_trim, pools[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(over, 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(mam_pool_destroy(pools[i]), MAM_OK);
	ck_assert_uint_eq(held(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/quota");
	TCase *tests = suite_case(suite, "quota");

	tcase_add_test(tests, total_of_pools_never_exceeds_quota);
	tcase_add_test(tests, other_pools_release_idle_memory);
	tcase_add_test(tests, quota_spans_sources);
	tcase_add_test(tests, ended_pool_does_not_count);
	tcase_add_test(tests, pools_of_same_device_release_idle_memory);
	tcase_add_test(tests, pools_of_other_device_release_only_for_quota);
	tcase_add_test(tests, quota_can_be_changed);
	tcase_add_test(tests, quota_can_be_destroyed_before_its_pools);
	tcase_add_test(tests, invalid_arguments_are_rejected);
	tcase_add_test(tests, failed_pool_creation_uses_no_quota);
	tcase_add_test(tests, threads_never_exceed_quota_together);
	return suite_run(suite);
}
