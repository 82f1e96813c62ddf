/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry: pools are found while they exist, and default pools are created once, and again
 * after their end.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <mam/source.h>
#include <mam/stats.h>

#include "api/registry.h"
#include "api/slots.h"
#include "base/event.h"
#include "stub.h"
#include "suite.h"

#define POOLS 20
#define THREADS 8

static struct mam_pool *make_host_pool(const char *name)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = "host";
	attr.chunk_bytes = 1 << 20;
	attr.name = name;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	return pool;
}

START_TEST(address_is_found_in_its_pool)
{
	struct mam_pool *pools[POOLS], *owner;
	struct mam_segment_info segment;
	void *blocks[POOLS];

	for (int i = 0; i < POOLS; i++) {
		pools[i] = make_host_pool(NULL);
		ck_assert_int_eq(mam_malloc(pools[i], 100 + (size_t)i, &blocks[i]), MAM_OK);
	}
	for (int i = 0; i < POOLS; i++) {
		ck_assert_int_eq(mam_registry_find((char *)blocks[i] + 1, &owner, &segment),
				 MAM_OK);
		ck_assert_ptr_eq(owner, pools[i]);
		ck_assert_ptr_eq(segment.base, blocks[i]);
		ck_assert_uint_eq(segment.requested, 100 + (size_t)i);
	}
	ck_assert_int_eq(mam_registry_find(&owner, &owner, &segment), MAM_ERROR_NOT_OWNED);
}
END_TEST

START_TEST(other_pools_are_found_after_destruction_in_any_order)
{
	struct mam_pool *pools[POOLS], *owner;
	struct mam_segment_info segment;
	void *blocks[POOLS];

	for (int i = 0; i < POOLS; i++) {
		pools[i] = make_host_pool(NULL);
		ck_assert_int_eq(mam_malloc(pools[i], 512, &blocks[i]), MAM_OK);
	}
	for (int step = 0; step < POOLS; step++) {
		int ending = step * 7 % POOLS; /* 7 and 20 are coprime: each pool once */

		ck_assert_int_eq(mam_pool_abandon(pools[ending]), MAM_OK);
		pools[ending] = NULL;
		for (int i = 0; i < POOLS; i++) {
			if (pools[i]) {
				ck_assert_int_eq(mam_registry_find(blocks[i], &owner, &segment),
						 MAM_OK);
				ck_assert_ptr_eq(owner, pools[i]);
			}
		}
	}
	ck_assert_int_eq(mam_registry_find(blocks[0], &owner, &segment), MAM_ERROR_NOT_OWNED);
}
END_TEST

START_TEST(failed_creation_uses_no_handle)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *first = make_host_pool(NULL), *pool = first;
	static struct stub stub; /* still reachable at exit, for leak checkers */

	stub_init(&stub);
	stub.grow_status = MAM_ERROR_OUT_OF_MEMORY;
	attr.chunk_bytes = 1 << 20;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(mam_pool_create_on(&stub.source, &attr, &pool),
				 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(pool, first);
	ck_assert_uint_eq(stub.grows, 3);
	stub.grow_status = MAM_OK;
	ck_assert_int_eq(mam_pool_create_on(&stub.source, &attr, &pool), MAM_OK);
	ck_assert_uint_eq(mam_slots_number(pool), mam_slots_number(first) + 1);
}
END_TEST

START_TEST(caller_keeps_ownership_of_its_source)
{
	struct mam_pool *pool;
	static struct stub stub; /* still reachable at exit, for leak checkers */
	void *block;

	stub_init(&stub);
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, &pool), MAM_OK);
	ck_assert_uint_eq(stub.grows, 0);
	ck_assert_int_eq(mam_malloc(pool, 1, &block), MAM_OK);
	ck_assert_uint_eq(stub.grows, 1);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_uint_eq(stub.shrinks, 1);
	/* and another pool may use it */
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 1, &block), MAM_OK);
}
END_TEST

START_TEST(abandon_makes_no_source_call)
{
	struct mam_pool *pool;
	static struct stub stub; /* still reachable at exit, for leak checkers */
	void *block;

	stub_init(&stub);
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 1, &block), MAM_OK);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	ck_assert_uint_eq(stub.shrinks, 0);
	ck_assert_uint_eq(stub.waits, 0);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_DESTROYED);
}
END_TEST

START_TEST(invalid_sources_are_rejected)
{
	static struct stub stub; /* still reachable at exit, for leak checkers */
	struct mam_source_properties good;
	struct mam_source_ops ops;
	struct mam_pool *pool = NULL;

	stub_init(&stub);
	good = stub.source.properties;
	ops = *stub.source.ops;
	ck_assert_int_eq(mam_pool_create_on(NULL, NULL, &pool), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, NULL), MAM_ERROR_INVALID_VALUE);
	stub.source.properties.granularity = 3;
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, &pool), MAM_ERROR_INVALID_VALUE);
	stub.source.properties = good;
	stub.source.properties.alignment = 0;
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, &pool), MAM_ERROR_INVALID_VALUE);
	stub.source.properties = good;
	stub.source.ops = &(struct mam_source_ops){ .size = sizeof(ops), .shrink = ops.shrink };
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, &pool), MAM_ERROR_INVALID_VALUE);
	stub.source.ops = &(struct mam_source_ops){ .size = sizeof(ops), .grow = ops.grow };
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, &pool), MAM_ERROR_INVALID_VALUE);
	ops.map = ops.shrink; /* memory could be mapped, but not unmapped */
	stub.source.ops = &ops;
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, &pool), MAM_ERROR_INVALID_VALUE);
	ops.map = NULL;
	stub.source.ops = NULL;
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, &pool), MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_null(pool);
	stub.source.ops = &ops;
	ck_assert_int_eq(mam_pool_create_on(&stub.source, NULL, &pool), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(host_default_pool_serves_every_device)
{
	struct mam_pool *pool, *same;

	setenv("MAM_SOURCE", "host", 1);
	ck_assert_int_eq(mam_pool_default(MAM_DEVICE_CURRENT, &pool), MAM_OK);
	for (int device = 0; device < 3; device++) {
		ck_assert_int_eq(mam_pool_default(device, &same), MAM_OK);
		ck_assert_ptr_eq(same, pool);
	}
	ck_assert_int_eq(mam_pool_default(-2, &same), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_default(0, NULL), MAM_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(default_pool_is_created_again_after_destruction)
{
	struct mam_pool *first, *second;
	void *block;

	setenv("MAM_SOURCE", "host", 1);
	ck_assert_int_eq(mam_pool_default(0, &first), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(first), MAM_OK);
	ck_assert_int_eq(mam_malloc(NULL, 512, &block), MAM_OK);
	ck_assert_int_eq(mam_owner(block, &second, NULL), MAM_OK);
	ck_assert_ptr_ne(first, second);
	ck_assert_int_eq(mam_malloc(first, 512, &block), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_default(0, &first), MAM_OK);
	ck_assert_ptr_eq(first, second);
}
END_TEST

START_TEST(impossible_device_numbers_return_no_device)
{
	struct mam_pool *pool;

	setenv("MAM_SOURCE", "cudamalloc", 1);
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	ck_assert_int_eq(mam_pool_default(256, &pool), MAM_ERROR_NO_DEVICE);
	ck_assert_int_eq(mam_pool_default(INT32_MAX, &pool), MAM_ERROR_NO_DEVICE);
	ck_assert_int_eq(mam_pool_default(255, &pool), MAM_ERROR_NO_DEVICE);
	/* The result is repeatable. */
	ck_assert_int_eq(mam_pool_default(255, &pool), MAM_ERROR_NO_DEVICE);
}
END_TEST

static pthread_barrier_t start;
static _Atomic unsigned int created; /* count of POOL_CREATE events */

static void count_created(const struct mam_event *event, void *user)
{
	(void)user;
	if (event->kind == MAM_EVENT_POOL_CREATE)
		atomic_fetch_add(&created, 1);
}

static void *create_default(void *result)
{
	pthread_barrier_wait(&start);
	if (mam_pool_default(MAM_DEVICE_CURRENT, result) != MAM_OK)
		*(struct mam_pool **)result = NULL;
	return NULL;
}

START_TEST(threads_that_race_for_default_get_one_pool)
{
	pthread_t threads[THREADS];
	struct mam_pool *results[THREADS];

	setenv("MAM_SOURCE", "host", 1);
	ck_assert(mam_event_subscribe(count_created, NULL));
	for (unsigned int round = 1; round <= 50; round++) {
		pthread_barrier_init(&start, NULL, THREADS);
		for (int i = 0; i < THREADS; i++)
			ck_assert_int_eq(
				pthread_create(&threads[i], NULL, create_default, &results[i]), 0);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		pthread_barrier_destroy(&start);
		ck_assert_ptr_nonnull(results[0]);
		for (int i = 1; i < THREADS; i++)
			ck_assert_ptr_eq(results[i], results[0]);
		ck_assert_uint_eq(created, round);
		ck_assert_int_eq(mam_pool_destroy(results[0]), MAM_OK);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/registry");
	TCase *find = suite_case(suite, "find");
	TCase *make = suite_case(suite, "make");
	TCase *defaults = suite_case(suite, "defaults");

	tcase_add_test(find, address_is_found_in_its_pool);
	tcase_add_test(find, other_pools_are_found_after_destruction_in_any_order);
	tcase_add_test(make, failed_creation_uses_no_handle);
	tcase_add_test(make, caller_keeps_ownership_of_its_source);
	tcase_add_test(make, abandon_makes_no_source_call);
	tcase_add_test(make, invalid_sources_are_rejected);
	tcase_add_test(defaults, host_default_pool_serves_every_device);
	tcase_add_test(defaults, default_pool_is_created_again_after_destruction);
	tcase_add_test(defaults, impossible_device_numbers_return_no_device);
	tcase_add_test(defaults, threads_that_race_for_default_get_one_pool);
	return suite_run(suite);
}
