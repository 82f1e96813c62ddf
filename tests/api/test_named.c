/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools by name: one per name and device, created once whichever thread is first. Also the
 * iteration over all pools, during which mam holds no lock.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/pools.h>
#include <mam/stats.h>

#include "base/event.h"
#include "suite.h"

#define THREADS 8
#define POOLS 12

static const struct mam_pool_attr host_attr = {
	.size = sizeof(struct mam_pool_attr),
	.source = "host",
	.device = MAM_DEVICE_CURRENT,
	.chunk_bytes = 1 << 20,
};

static struct mam_pool *named(const char *name, int device)
{
	struct mam_pool *pool = NULL;

	ck_assert_int_eq(mam_pool_named(name, device, &host_attr, &pool), MAM_OK);
	ck_assert_ptr_nonnull(pool);
	return pool;
}

START_TEST(name_is_one_pool_per_device)
{
	struct mam_pool *first = named("weights", 0);

	ck_assert_ptr_eq(named("weights", 0), first);
	ck_assert_ptr_ne(named("weights", 1), first);
	ck_assert_ptr_ne(named("weight", 0), first);
	ck_assert_ptr_eq(named("weights", 1), named("weights", 1));
}
END_TEST

START_TEST(attributes_apply_to_first_call_only)
{
	struct mam_pool_attr attr = host_attr;
	struct mam_pool *first, *second;
	size_t limit = 0;

	attr.limit_bytes = 4 << 20;
	attr.name = "another name";
	ck_assert_int_eq(mam_pool_named("x", 0, &attr, &first), MAM_OK);
	attr.limit_bytes = 8 << 20;
	attr.granule = 3; /* would be rejected if it was read */
	ck_assert_int_eq(mam_pool_named("x", 0, &attr, &second), MAM_OK);
	ck_assert_ptr_eq(first, second);
	ck_assert_int_eq(mam_pool_limit(first, &limit), MAM_OK);
	ck_assert_uint_eq(limit, 4 << 20);
	ck_assert_int_eq(mam_pool_named("y", 0, &attr, &second), MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_eq(first, second);
}
END_TEST

START_TEST(failed_creation_leaves_name_free)
{
	struct mam_pool_attr attr = host_attr;
	struct mam_pool *pool = NULL;

	attr.chunk_bytes = (size_t)1 << 50;
	ck_assert_int_eq(mam_pool_named("x", 0, &attr, &pool), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(pool);
	ck_assert_ptr_nonnull(named("x", 0));
}
END_TEST

START_TEST(destroyed_named_pool_is_created_again)
{
	struct mam_pool *first = named("x", 0), *second, *third;

	ck_assert_int_eq(mam_pool_destroy(first), MAM_OK);
	second = named("x", 0);
	ck_assert_ptr_ne(second, first);
	ck_assert_int_eq(mam_pool_abandon(second), MAM_OK);
	third = named("x", 0);
	ck_assert_ptr_ne(third, second);
	ck_assert_ptr_eq(named("x", 0), third);
}
END_TEST

START_TEST(names_in_attributes_are_not_registered)
{
	struct mam_pool_attr attr = host_attr;
	struct mam_pool *plain;

	attr.name = "x";
	ck_assert_int_eq(mam_pool_create(&attr, &plain), MAM_OK);
	ck_assert_ptr_ne(named("x", 0), plain);
}
END_TEST

START_TEST(no_device_is_a_separate_key)
{
	struct mam_pool *pool;

	setenv("MAM_LOG_FILE", "/dev/null", 1);
	pool = named("x", MAM_DEVICE_CURRENT);
	ck_assert_ptr_eq(named("x", MAM_DEVICE_CURRENT), pool);
}
END_TEST

START_TEST(invalid_arguments_are_rejected)
{
	struct mam_pool *pool = NULL;
	const char *max = "0123456789012345678901234567890";
	const char *too_long = "01234567890123456789012345678901";
	char text[8];

	ck_assert_int_eq(mam_pool_named(NULL, 0, &host_attr, &pool), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_named("", 0, &host_attr, &pool), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_named(too_long, 0, &host_attr, &pool), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_named("x", -2, &host_attr, &pool), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_named("x", 0, &host_attr, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_null(pool);
	ck_assert_int_eq(mam_pool_each(NULL, NULL), MAM_ERROR_INVALID_VALUE);
	pool = named(max, 0);
	ck_assert_int_eq(mam_pool_name(NULL, text, 8), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_name((struct mam_pool *)text, text, 8), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_name(pool, NULL, 8), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_name(pool, text, 0), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(mam_pool_name(pool, text, 8), MAM_ERROR_DESTROYED);
}
END_TEST

START_TEST(name_is_returned_and_truncated)
{
	struct mam_pool *pool = named("weights", 0);
	char text[32];

	memset(text, '#', sizeof(text));
	ck_assert_int_eq(mam_pool_name(pool, text, sizeof(text)), MAM_OK);
	ck_assert_str_eq(text, "weights");
	memset(text, '#', sizeof(text));
	ck_assert_int_eq(mam_pool_name(pool, text, 4), MAM_OK);
	ck_assert_str_eq(text, "wei");
	ck_assert_int_eq(text[4], '#');
	ck_assert_int_eq(mam_pool_name(pool, text, 1), MAM_OK);
	ck_assert_str_eq(text, "");
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

static void *create_named(void *result)
{
	pthread_barrier_wait(&start);
	if (mam_pool_named("raced for", 0, &host_attr, result) != MAM_OK)
		*(struct mam_pool **)result = NULL;
	return NULL;
}

START_TEST(threads_that_race_for_name_get_one_pool)
{
	pthread_t threads[THREADS];
	struct mam_pool *results[THREADS];

	ck_assert(mam_event_subscribe(count_created, NULL));
	for (unsigned int round = 1; round <= 50; round++) {
		pthread_barrier_init(&start, NULL, THREADS);
		for (int i = 0; i < THREADS; i++)
			ck_assert_int_eq(
				pthread_create(&threads[i], NULL, create_named, &results[i]), 0);
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

START_TEST(child_of_fork_finds_named_pools)
{
	struct mam_pool *pool = named("x", 0);
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(named("x", 0) == pool && named("y", 0) != pool ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_ptr_eq(named("x", 0), pool);
}
END_TEST

struct seen {
	unsigned int count;
	struct mam_pool *pools[POOLS + 2];
	unsigned int stop_after;
	bool ends_them;
};

static bool see(const struct mam_pool_info *info, void *user)
{
	struct seen *seen = user;
	char name[32];

	ck_assert_uint_lt(seen->count, POOLS + 2);
	seen->pools[seen->count++] = info->pool;
	ck_assert_str_eq(info->source, "host");
	ck_assert_int_eq(info->device, -1);
	/* No lock is held: the pool can be queried, and destroyed. */
	ck_assert_int_eq(mam_pool_name(info->pool, name, sizeof(name)), MAM_OK);
	ck_assert_str_eq(name, info->name);
	if (seen->ends_them)
		ck_assert_int_eq(mam_pool_destroy(info->pool), MAM_OK);
	return seen->count != seen->stop_after;
}

START_TEST(each_visits_every_pool_once)
{
	struct mam_pool *pools[POOLS];
	struct seen seen = { 0 };

	for (int i = 0; i < POOLS; i++) {
		char name[24];

		snprintf(name, sizeof(name), "pool no %d", i);
		pools[i] = named(name, 0);
	}
	ck_assert_int_eq(mam_pool_destroy(pools[3]), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pools[POOLS - 1]), MAM_OK);
	ck_assert_int_eq(mam_pool_each(see, &seen), MAM_OK);
	ck_assert_uint_eq(seen.count, POOLS - 2);
	for (int i = 0; i < POOLS; i++) {
		unsigned int times = 0;

		for (unsigned int j = 0; j < seen.count; j++)
			times += seen.pools[j] == pools[i];
		ck_assert_uint_eq(times, i == 3 || i == POOLS - 1 ? 0 : 1);
	}
}
END_TEST

START_TEST(each_stops_when_visitor_returns_false)
{
	struct seen seen = { .stop_after = 2 };

	for (int i = 0; i < 4; i++)
		named((char[]){ (char)('a' + i), 0 }, 0);
	ck_assert_int_eq(mam_pool_each(see, &seen), MAM_OK);
	ck_assert_uint_eq(seen.count, 2);
}
END_TEST

START_TEST(visitor_can_destroy_pools)
{
	struct seen seen = { .ends_them = true }, none = { 0 };

	for (int i = 0; i < 4; i++)
		named((char[]){ (char)('a' + i), 0 }, 0);
	ck_assert_int_eq(mam_pool_each(see, &seen), MAM_OK);
	ck_assert_uint_eq(seen.count, 4);
	ck_assert_int_eq(mam_pool_each(see, &none), MAM_OK);
	ck_assert_uint_eq(none.count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/named");
	TCase *tests = suite_case(suite, "named");
	TCase *each = suite_case(suite, "each");

	tcase_add_test(tests, name_is_one_pool_per_device);
	tcase_add_test(tests, attributes_apply_to_first_call_only);
	tcase_add_test(tests, failed_creation_leaves_name_free);
	tcase_add_test(tests, destroyed_named_pool_is_created_again);
	tcase_add_test(tests, names_in_attributes_are_not_registered);
	tcase_add_test(tests, no_device_is_a_separate_key);
	tcase_add_test(tests, invalid_arguments_are_rejected);
	tcase_add_test(tests, name_is_returned_and_truncated);
	tcase_add_test(tests, threads_that_race_for_name_get_one_pool);
	tcase_add_test(tests, child_of_fork_finds_named_pools);
	tcase_add_test(each, each_visits_every_pool_once);
	tcase_add_test(each, each_stops_when_visitor_returns_false);
	tcase_add_test(each, visitor_can_destroy_pools);
	return suite_run(suite);
}
