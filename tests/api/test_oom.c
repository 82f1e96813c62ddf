/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out-of-memory callbacks: they run in order, again while they help, not forever, and not
 * recursively. Also the counters and events at the end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/pools.h>
#include <mam/stream.h>
#include <mam/stats.h>

#include "base/event.h"
#include "suite.h"

#define BLOCK ((size_t)256 << 10)
#define ROOM 16 /* blocks */

static char order[256]; /* the order of calls: one letter each */
static struct mam_pool *pool;
static void *blocks[ROOM];
static int held; /* count of blocks */

static void note_call(char letter)
{
	size_t length = strlen(order);

	ck_assert_uint_lt(length, sizeof(order) - 1);
	order[length] = letter;
	order[length + 1] = '\0';
}

/* A pool of exactly ROOM blocks, all of them allocated. */
static void fill(void)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	attr.source = "host";
	attr.chunk_bytes = ROOM * BLOCK;
	attr.growth_bytes = MAM_GROWTH_NONE;
	attr.cache = MAM_CACHE_OFF;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	for (held = 0; held < ROOM; held++)
		ck_assert_int_eq(mam_malloc(pool, BLOCK, &blocks[held]), MAM_OK);
}

static struct mam_stats stats(void)
{
	struct mam_stats now = { .size = sizeof(now) };

	ck_assert_int_eq(mam_pool_stats(pool, &now), MAM_OK);
	return now;
}

static bool frees_one(struct mam_pool *of, size_t bytes, void *user)
{
	ck_assert_ptr_eq(of, pool);
	ck_assert_uint_gt(bytes, 0);
	note_call(*(const char *)user);
	if (held == 0)
		return false;
	return mam_free(pool, blocks[--held]) == MAM_OK;
}

static bool refuses(struct mam_pool *of, size_t bytes, void *user)
{
	(void)of;
	(void)bytes;
	note_call(*(const char *)user);
	return false;
}

static bool promises(struct mam_pool *of, size_t bytes, void *user)
{
	(void)refuses(of, bytes, user);
	return true;
}

static unsigned int failed_events;

static void count_failed(const struct mam_event *event, void *user)
{
	(void)user;
	failed_events += event->kind == MAM_EVENT_FAIL;
}

START_TEST(callback_runs_until_request_fits)
{
	void *block = NULL;

	fill();
	ck_assert(mam_event_subscribe(count_failed, NULL));
	ck_assert_int_eq(mam_pool_on_oom(pool, frees_one, "a"), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 3 * BLOCK, &block), MAM_OK);
	ck_assert_str_eq(order, "aaa");
	ck_assert_int_eq(held, ROOM - 3);
	ck_assert_uint_eq(stats().failures, 0);
	ck_assert_uint_eq(failed_events, 0);
	ck_assert_int_eq(mam_malloc_aligned(pool, BLOCK, 4096, &block), MAM_OK);
	ck_assert_str_eq(order, "aaaa");
	ck_assert_int_eq(mam_malloc_async(pool, 2 * BLOCK, NULL, &block), MAM_OK);
	ck_assert_str_eq(order, "aaaaaa");
	ck_assert_uint_eq(stats().failures, 0);
}
END_TEST

START_TEST(request_that_fits_calls_no_callback)
{
	void *block;

	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, frees_one, "a"), MAM_OK);
	ck_assert_int_eq(mam_free(pool, blocks[--held]), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 0, &block), MAM_OK);
	ck_assert_int_eq(mam_malloc_aligned(pool, 1, 3, &block), MAM_ERROR_INVALID_VALUE);
	ck_assert_str_eq(order, "");
}
END_TEST

START_TEST(failed_request_is_counted_once)
{
	void *block = NULL;

	fill();
	ck_assert(mam_event_subscribe(count_failed, NULL));
	ck_assert_int_eq(mam_pool_on_oom(pool, frees_one, "a"), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, (ROOM + 1) * BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(block);
	ck_assert_uint_eq(stats().failures, 1);
	ck_assert_uint_eq(failed_events, 1);
	ck_assert_int_eq(held, 0);
}
END_TEST

START_TEST(callbacks_run_in_order_with_bounded_retries)
{
	char want[3 * MAM_OOM_TRIES + 8] = "a";
	void *block;

	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, refuses, "a"), MAM_OK);
	ck_assert_int_eq(mam_pool_on_oom(pool, promises, "b"), MAM_OK);
	ck_assert_int_eq(mam_pool_on_oom(pool, frees_one, "c"), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 2 * BLOCK, &block), MAM_OK);
	memset(want + 1, 'b', MAM_OOM_TRIES);
	strcat(want, "cc");
	ck_assert_str_eq(order, want);
	ck_assert_uint_eq(stats().failures, 0);
}
END_TEST

START_TEST(callback_that_never_helps_runs_bounded_times)
{
	void *block;

	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, promises, "a"), MAM_OK);
	ck_assert_int_eq(mam_pool_on_oom(pool, promises, "b"), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(strlen(order), 2 * MAM_OOM_TRIES);
	ck_assert_uint_eq(stats().failures, 1);
}
END_TEST

START_TEST(removed_callback_is_not_called)
{
	void *block;

	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, refuses, "a"), MAM_OK);
	ck_assert_int_eq(mam_pool_on_oom(pool, refuses, "b"), MAM_OK);
	ck_assert_int_eq(mam_pool_on_oom(pool, refuses, "c"), MAM_OK);
	ck_assert_int_eq(mam_pool_off_oom(pool, refuses, "b"), MAM_OK);
	ck_assert_int_eq(mam_pool_off_oom(pool, refuses, "b"), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_str_eq(order, "ac");
	ck_assert_int_eq(mam_pool_on_oom(pool, refuses, "b"), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_str_eq(order, "acacb");
}
END_TEST

START_TEST(invalid_arguments_are_rejected)
{
	fill();
	ck_assert_int_eq(mam_pool_on_oom(NULL, refuses, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_on_oom(pool, NULL, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_on_oom((struct mam_pool *)order, refuses, NULL),
			 MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_on_oom(pool, refuses, "a"), MAM_OK);
	ck_assert_int_eq(mam_pool_on_oom(pool, refuses, "a"), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_off_oom(NULL, refuses, "a"), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_off_oom(pool, NULL, "a"), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_off_oom(pool, promises, "a"), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	ck_assert_int_eq(mam_pool_on_oom(pool, refuses, "b"), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_off_oom(pool, refuses, "a"), MAM_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(callbacks_belong_to_one_pool)
{
	struct mam_pool *first;
	void *block;

	fill();
	first = pool;
	ck_assert_int_eq(mam_pool_on_oom(first, promises, "a"), MAM_OK);
	fill();
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_str_eq(order, "");
}
END_TEST

static bool allocates_more(struct mam_pool *of, size_t bytes, void *user)
{
	void *block;

	note_call('a');
	ck_assert_int_eq(mam_malloc(of, bytes, &block), MAM_ERROR_OUT_OF_MEMORY);
	*(unsigned int *)user += 1;
	return false;
}

START_TEST(request_inside_callback_calls_no_callback)
{
	unsigned int calls = 0;
	void *block;

	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, allocates_more, &calls), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(calls, 1);
	ck_assert_uint_eq(stats().failures, 2); /* its own, and that of the outer request */
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(calls, 2);
}
END_TEST

static bool moves_to_another(struct mam_pool *of, size_t bytes, void *user)
{
	void *block;

	(void)of;
	(void)bytes;
	note_call('a');
	ck_assert_int_eq(mam_malloc(user, BLOCK, &block), MAM_OK);
	return mam_free(pool, blocks[--held]) == MAM_OK;
}

START_TEST(callback_can_allocate)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *other;
	struct mam_stats now = { .size = sizeof(now) };
	void *block;

	attr.source = "host";
	ck_assert_int_eq(mam_pool_create(&attr, &other), MAM_OK);
	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, moves_to_another, other), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 2 * BLOCK, &block), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(other, &now), MAM_OK);
	ck_assert_uint_eq(now.live_blocks, 2);
}
END_TEST

static bool removes_itself(struct mam_pool *of, size_t bytes, void *user)
{
	(void)bytes;
	note_call('a');
	ck_assert_int_eq(mam_pool_off_oom(of, removes_itself, user), MAM_OK);
	return true;
}

START_TEST(callback_can_remove_itself)
{
	void *block;

	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, removes_itself, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_on_oom(pool, refuses, "b"), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_str_eq(order, "ab");
}
END_TEST

static unsigned int children;

static bool registers_another(struct mam_pool *of, size_t bytes, void *user)
{
	(void)bytes;
	(void)user;
	ck_assert_uint_lt(children, 1000);
	ck_assert_int_eq(mam_pool_on_oom(of, registers_another, &order[children++]), MAM_OK);
	return false;
}

START_TEST(callback_added_meanwhile_starts_with_next_request)
{
	void *block;

	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, registers_another, NULL), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(children, 1);
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(children, 3);
}
END_TEST

static bool ends_the_pool(struct mam_pool *of, size_t bytes, void *user)
{
	(void)bytes;
	(void)user;
	note_call('a');
	ck_assert_int_eq(mam_pool_abandon(of), MAM_OK);
	return true;
}

START_TEST(callback_can_destroy_pool)
{
	void *block;

	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, ends_the_pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_DESTROYED);
	ck_assert_str_eq(order, "a");
}
END_TEST

START_TEST(default_pool_supports_callbacks)
{
	void *block;

	setenv("MAM_SOURCE", "host", 1);
	setenv("MAM_LIMIT", "64M", 1);
	setenv("MAM_GROWTH", "1M", 1);
	ck_assert_int_eq(mam_pool_default(MAM_DEVICE_CURRENT, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(NULL, 60 << 20, &blocks[held++]), MAM_OK);
	ck_assert_int_eq(mam_pool_on_oom(pool, frees_one, "a"), MAM_OK);
	ck_assert_int_eq(mam_malloc(NULL, 50 << 20, &block), MAM_OK);
	ck_assert_str_eq(order, "a");
}
END_TEST

static _Atomic int in_it, go_on, removed;

static bool lingers(struct mam_pool *of, size_t bytes, void *user)
{
	(void)of;
	(void)bytes;
	(void)user;
	atomic_store(&in_it, 1);
	while (!atomic_load(&go_on))
		usleep(1000);
	ck_assert_int_eq(atomic_load(&removed), 0);
	return false;
}

static void *request(void *unused)
{
	void *block;

	(void)unused;
	ck_assert_int_eq(mam_malloc(pool, BLOCK, &block), MAM_ERROR_OUT_OF_MEMORY);
	return NULL;
}

static void *remove_callback(void *unused)
{
	(void)unused;
	ck_assert_int_eq(mam_pool_off_oom(pool, lingers, NULL), MAM_OK);
	atomic_store(&removed, 1);
	return NULL;
}

START_TEST(removal_waits_for_running_callback)
{
	pthread_t requester, taker;

	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, lingers, NULL), MAM_OK);
	ck_assert_int_eq(pthread_create(&requester, NULL, request, NULL), 0);
	while (!atomic_load(&in_it))
		usleep(1000);
	ck_assert_int_eq(pthread_create(&taker, NULL, remove_callback, NULL), 0);
	usleep(50000);
	ck_assert_int_eq(atomic_load(&removed), 0);
	atomic_store(&go_on, 1);
	pthread_join(requester, NULL);
	pthread_join(taker, NULL);
	ck_assert_int_eq(atomic_load(&removed), 1);
}
END_TEST

START_TEST(fork_works_while_callback_runs)
{
	pthread_t requester;
	pid_t child;
	int status = 0;

	fill();
	ck_assert_int_eq(mam_pool_on_oom(pool, lingers, NULL), MAM_OK);
	ck_assert_int_eq(pthread_create(&requester, NULL, request, NULL), 0);
	while (!atomic_load(&in_it))
		usleep(1000);
	child = fork();
	if (child == 0) /* the thread does not exist here: the call must not wait */
		_exit(mam_pool_off_oom(pool, lingers, NULL) == MAM_OK ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	atomic_store(&go_on, 1);
	pthread_join(requester, NULL);
}
END_TEST

#define THREADS 4

static _Atomic int spare; /* blocks that the callback may free, by index in `blocks` */

static bool frees_a_spare(struct mam_pool *of, size_t bytes, void *user)
{
	int place = atomic_fetch_sub(&spare, 1) - 1;

	(void)bytes;
	(void)user;
	return place >= 0 && mam_free(of, blocks[place]) == MAM_OK;
}

static void *alloc_freed_blocks(void *count)
{
	for (int i = 0; i < ROOM; i++) {
		void *block;

		if (mam_malloc(pool, BLOCK, &block) == MAM_OK)
			atomic_fetch_add((_Atomic int *)count, 1);
	}
	return NULL;
}

/*
 * Each freed block is allocated by some thread, and each request that got none counts as one
 * failure.
 */
START_TEST(threads_run_callbacks_concurrently)
{
	pthread_t threads[THREADS];
	_Atomic int got = 0;

	fill();
	atomic_store(&spare, ROOM);
	ck_assert_int_eq(mam_pool_on_oom(pool, frees_a_spare, NULL), MAM_OK);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, alloc_freed_blocks, (void *)&got), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(got, ROOM);
	ck_assert_uint_eq(stats().failures, THREADS * ROOM - ROOM);
	ck_assert_uint_eq(stats().live_blocks, ROOM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/oom");
	TCase *asking = suite_case(suite, "asking");
	TCase *inside = suite_case(suite, "inside");
	TCase *threads = suite_case(suite, "threads");

	tcase_add_test(asking, callback_runs_until_request_fits);
	tcase_add_test(asking, request_that_fits_calls_no_callback);
	tcase_add_test(asking, failed_request_is_counted_once);
	tcase_add_test(asking, callbacks_run_in_order_with_bounded_retries);
	tcase_add_test(asking, callback_that_never_helps_runs_bounded_times);
	tcase_add_test(asking, removed_callback_is_not_called);
	tcase_add_test(asking, invalid_arguments_are_rejected);
	tcase_add_test(asking, callbacks_belong_to_one_pool);
	tcase_add_test(asking, default_pool_supports_callbacks);
	tcase_add_test(inside, request_inside_callback_calls_no_callback);
	tcase_add_test(inside, callback_can_allocate);
	tcase_add_test(inside, callback_can_remove_itself);
	tcase_add_test(inside, callback_added_meanwhile_starts_with_next_request);
	tcase_add_test(inside, callback_can_destroy_pool);
	tcase_add_test(threads, removal_waits_for_running_callback);
	tcase_add_test(threads, fork_works_while_callback_runs);
	tcase_add_test(threads, threads_run_callbacks_concurrently);
	return suite_run(suite);
}
