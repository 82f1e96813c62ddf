/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ends.c - threads, pools, processes and libraries that end while memory is cached.
 *
 * A thread's cache must end with the thread, and must not outlive its pool, a fork or the library.
 * Each test is a process of its own. A test of a process's end runs in a child process, which must
 * exit in time with its own status.
 */
#include <mam/mam.h>
#include <mam/source.h>
#include <mam/stats.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/suite.h"
#include "scale.h"

#define THREADS 4
#define SIZES 8 /* 512 B to 64 KiB */

static struct mam_pool *new_pool(void)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = "host";
	attr.cache = MAM_CACHE_ON;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	return pool;
}

static struct mam_stats stats_of(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats;
}

/* Enough blocks of each size to fill a cache. False: the pool was destroyed. */
static bool fill_cache(struct mam_pool *pool)
{
	void *blocks[SIZES][16];
	enum mam_status status = MAM_OK;

	memset(blocks, 0, sizeof(blocks));
	for (unsigned i = 0; i < SIZES * 16 && status == MAM_OK; i++)
		status = mam_malloc(pool, (size_t)512 << i / 16, &blocks[i / 16][i % 16]);
	for (unsigned i = 0; i < SIZES * 16 && status == MAM_OK; i++)
		status = mam_free(pool, blocks[i / 16][i % 16]);
	if (status != MAM_OK && status != MAM_ERROR_DESTROYED)
		ck_abort_msg("filling a cache: %s", mam_status_name(status));
	return status == MAM_OK;
}

static void *fill_and_leave(void *pool)
{
	fill_cache(pool);
	return NULL;
}

static void in_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, body, argument), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void is_empty(struct mam_pool *pool)
{
	struct mam_stats stats = stats_of(pool);

	ck_assert_uint_eq(stats.live_blocks + stats.live_bytes + stats.live_rounded_bytes, 0);
	ck_assert_uint_eq(stats.allocs, stats.frees);
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
}

START_TEST(ended_thread_empties_its_cache)
{
	struct mam_pool *pool = new_pool();

	in_thread(fill_and_leave, pool);
	is_empty(pool);
	ck_assert_uint_eq(stats_of(pool).cached_blocks, 0);
	ck_assert_uint_eq(stats_of(pool).cached_bytes, 0);
	ck_assert_uint_eq(stats_of(pool).segments, stats_of(pool).chunks);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

static long resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long all, resident = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%ld %ld", &all, &resident), 2);
	fclose(file);
	return resident;
}

START_TEST(ten_thousand_threads_leak_nothing)
{
	struct mam_pool *pool = new_pool();
	unsigned rounds = 10000 / STRESS_SHARE;
	uint64_t metadata = 0;
	long pages = 0;

	for (unsigned i = 0; i < rounds; i++) {
		if (i == rounds / 10) {
			pages = resident_pages();
			metadata = stats_of(pool).host_bytes;
		}
		in_thread(fill_and_leave, pool);
	}
	is_empty(pool);
	ck_assert_uint_eq(stats_of(pool).cached_bytes, 0);
	ck_assert_uint_le(stats_of(pool).host_bytes, metadata);
#if STRESS_SHARE == 1 /* sanitizers keep records of threads */
	ck_assert_msg(resident_pages() - pages < 256, "%ld more pages after %u threads",
		      resident_pages() - pages, rounds);
#else
	(void)pages;
#endif
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

/* A thread that follows commands, and keeps its cache between them. */
struct helper {
	pthread_t thread;
	pthread_barrier_t begin, end;
	struct mam_pool *pool; /* NULL: exit */
	bool fine;
};

static void *help(void *user)
{
	struct helper *helper = user;

	for (;;) {
		pthread_barrier_wait(&helper->begin);
		if (!helper->pool)
			return NULL;
		helper->fine = fill_cache(helper->pool);
		pthread_barrier_wait(&helper->end);
	}
}

static void helper_start(struct helper *helper)
{
	pthread_barrier_init(&helper->begin, NULL, 2);
	pthread_barrier_init(&helper->end, NULL, 2);
	ck_assert_int_eq(pthread_create(&helper->thread, NULL, help, helper), 0);
}

static bool helper_fills(struct helper *helper, struct mam_pool *pool)
{
	helper->pool = pool;
	pthread_barrier_wait(&helper->begin);
	pthread_barrier_wait(&helper->end);
	return helper->fine;
}

static void helper_leave(struct helper *helper)
{
	helper->pool = NULL;
	pthread_barrier_wait(&helper->begin);
	pthread_join(helper->thread, NULL);
	pthread_barrier_destroy(&helper->begin);
	pthread_barrier_destroy(&helper->end);
}

START_TEST(pool_can_end_before_thread_cache)
{
	struct mam_pool *last = NULL;
	struct helper helper;

	helper_start(&helper);
	for (unsigned round = 0; round < 600 / STRESS_SHARE; round++) {
		struct mam_pool *pool = new_pool();

		ck_assert(helper_fills(&helper, pool));
		ck_assert(fill_cache(pool));
		if (last)
			ck_assert(!helper_fills(&helper, last));
		is_empty(pool);
		ck_assert_int_eq(round % 2 ? mam_pool_destroy(pool) : mam_pool_abandon(pool),
				 MAM_OK);
		ck_assert(!fill_cache(pool));
		ck_assert(!helper_fills(&helper, pool));
		last = pool;
	}
	helper_leave(&helper);
	ck_assert_int_eq(mam_pool_destroy(last), MAM_ERROR_DESTROYED);
}
END_TEST

/* Blocks of many pools in one thread's caches: none goes to another pool. */
START_TEST(thread_with_many_pools_mixes_no_blocks)
{
	struct mam_pool *pools[40], *owner;
	void *block;

	for (unsigned i = 0; i < COUNT_OF(pools); i++)
		pools[i] = new_pool();
	for (unsigned round = 0; round < 50; round++)
		for (unsigned i = 0; i < COUNT_OF(pools); i++) {
			struct mam_pool *pool = pools[(i * 7 + round) % COUNT_OF(pools)];

			ck_assert_int_eq(mam_malloc(pool, 1024, &block), MAM_OK);
			ck_assert_int_eq(mam_owner(block, &owner, NULL), MAM_OK);
			ck_assert_ptr_eq(owner, pool);
			ck_assert_int_eq(mam_free(round % 2 ? pool : NULL, block), MAM_OK);
		}
	for (unsigned i = 0; i < COUNT_OF(pools); i++) {
		is_empty(pools[i]);
		ck_assert_uint_eq(stats_of(pools[i]).allocs, 50);
		ck_assert_int_eq(mam_pool_destroy(pools[i]), MAM_OK);
	}
}
END_TEST

static void *fill_for_ever(void *pool)
{
	while (fill_cache(pool))
		;
	return NULL;
}

/* The child runs `play`, and must exit by itself with status 7. */
static void in_child(void (*play)(void *), void *argument)
{
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		alarm(60);
		play(argument);
		exit(7);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 7,
		      "a child exited with status %#x", status);
}

static void exit_among_threads(void *own_pool)
{
	struct mam_pool *pool = own_pool ? new_pool() : NULL;
	pthread_t thread;

	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, fill_for_ever, pool);
	usleep(3000);
}

START_TEST(process_exits_while_threads_run)
{
	bool own = _i;

	setenv("MAM_SOURCE", "host", 1);
	for (unsigned i = 0; i < 20; i++)
		in_child(exit_among_threads, own ? &own : NULL);
}
END_TEST

static void *leave_the_process(void *unused)
{
	(void)unused;
	exit(7);
}

static void exit_by_another_thread(void *unused)
{
	(void)unused;
	fill_cache(new_pool());
	in_thread(leave_the_process, NULL);
}

START_TEST(other_thread_exits_process)
{
	in_child(exit_by_another_thread, NULL);
}
END_TEST

static void end_main_first(void *unused)
{
	struct mam_pool *pool = new_pool();
	pthread_t thread;

	(void)unused;
	fill_cache(pool);
	pthread_create(&thread, NULL, fill_and_leave, pool);
	pthread_join(thread, NULL);
	is_empty(pool);
}

START_TEST(thread_ends_before_process_exit)
{
	in_child(end_main_first, NULL);
}
END_TEST

/*
 * A pool of the parent in the child: its blocks stay live, and the child can use and empty its
 * caches.
 */
static void use_after_fork(void *user)
{
	struct mam_pool *pool = user;
	uint64_t live = stats_of(pool).live_blocks;
	void *blocks[300];
	uintptr_t low, high;

	if (mam_pool_check(pool, NULL, 0) != MAM_OK)
		exit(1);
	for (unsigned i = 0; i < COUNT_OF(blocks); i++)
		if (mam_malloc(pool, 700 + i * 31, &blocks[i]) != MAM_OK)
			exit(2);
	for (unsigned i = 0; i < COUNT_OF(blocks); i++)
		for (unsigned j = 0; j < i; j++) {
			low = (uintptr_t)blocks[i];
			high = low + 700 + i * 31;
			if ((uintptr_t)blocks[j] < high &&
			    (uintptr_t)blocks[j] + 700 + j * 31 > low)
				exit(3);
		}
	for (unsigned i = 0; i < COUNT_OF(blocks); i++)
		if (mam_free(i % 2 ? pool : NULL, blocks[i]) != MAM_OK)
			exit(4);
	if (stats_of(pool).live_blocks != live || mam_pool_check(pool, NULL, 0) != MAM_OK)
		exit(5);
	if (mam_pool_trim(pool, 0, NULL) != MAM_OK)
		exit(6);
	if (live == 0 && mam_pool_destroy(pool) != MAM_OK)
		exit(8);
#if defined(__SANITIZE_ADDRESS__) || STRESS_HAS(address_sanitizer)
	/*
	 * Its leak checker would stop threads that exist only in the parent, and may crash on that.
	 */
	_exit(7);
#endif
}

START_TEST(child_uses_host_pool_with_cached_blocks)
{
	struct mam_pool *pool = new_pool();
	struct helper helpers[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		helper_start(&helpers[i]);
		ck_assert(helper_fills(&helpers[i], pool));
	}
	ck_assert(fill_cache(pool));
	in_child(use_after_fork, pool);
	is_empty(pool);
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert(helper_fills(&helpers[i], pool));
	for (unsigned i = 0; i < THREADS; i++)
		helper_leave(&helpers[i]);
	is_empty(pool);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(forks_work_while_threads_run)
{
	struct mam_pool *pool = new_pool();
	pthread_t threads[THREADS];

	/* Its pthread_once(), unlike glibc's, does not survive a fork by another thread. */
	if (STRESS_TSAN)
		ck_assert(fill_cache(pool));
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, fill_for_ever, pool), 0);
	for (unsigned i = 0; i < (STRESS_TSAN ? 10 : STRESS_SHARE == 1 ? 400 : 60); i++)
		in_child(use_after_fork, pool);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

#ifdef STRESS_SHARED
/* The library itself, opened by a program that is not linked with it. */
struct library {
	void *handle;
	struct mam_pool *pool;
	enum mam_status (*malloc)(struct mam_pool *pool, size_t bytes, void **block);
	enum mam_status (*free)(struct mam_pool *pool, void *block);
	pthread_barrier_t cached, closed;
};

static void *cache_and_outlive(void *user)
{
	struct library *library = user;
	void *blocks[64];

	for (unsigned i = 0; i < 64; i++)
		if (library->malloc(library->pool, 512 + i % 8 * 512, &blocks[i]) != MAM_OK)
			exit(1);
	for (unsigned i = 0; i < 64; i++)
		if (library->free(library->pool, blocks[i]) != MAM_OK)
			exit(2);
	pthread_barrier_wait(&library->cached);
	pthread_barrier_wait(&library->closed);
	return NULL;
}

static void close_under_a_thread(void *path)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct library library;
	__typeof__(mam_pool_create) *create;
	pthread_t thread;

	memset(&library, 0, sizeof(library));
	library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library.handle)
		exit(3);
	create = (__typeof__(create))dlsym(library.handle, "mam_pool_create");
	library.malloc = (__typeof__(library.malloc))dlsym(library.handle, "mam_malloc");
	library.free = (__typeof__(library.free))dlsym(library.handle, "mam_free");
	attr.source = "host";
	if (!create || !library.malloc || !library.free || create(&attr, &library.pool) != MAM_OK)
		exit(4);
	pthread_barrier_init(&library.cached, NULL, 2);
	pthread_barrier_init(&library.closed, NULL, 2);
	if (pthread_create(&thread, NULL, cache_and_outlive, &library) != 0)
		exit(5);
	pthread_barrier_wait(&library.cached);
	dlclose(library.handle);
	pthread_barrier_wait(&library.closed);
	pthread_join(thread, NULL);
}

/* A copy, because the library that this test is linked with would stay loaded. */
START_TEST(thread_outlives_unloaded_library)
{
	const char *build = getenv("MAM_BUILDDIR");
	char command[4096], path[] = "/tmp/mam-ends.XXXXXX";
	int file = mkstemp(path);

	ck_assert_int_ge(file, 0);
	close(file);
	snprintf(command, sizeof(command), "cp '%s/.libs/libmam.so' %s", build ? build : ".", path);
	ck_assert_int_eq(system(command), 0);
	in_child(close_under_a_thread, path);
	unlink(path);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("stress/ends");
	TCase *ends = suite_case(suite, "ends");

	tcase_set_timeout(ends, 300);
	tcase_add_test(ends, ended_thread_empties_its_cache);
	tcase_add_test(ends, ten_thousand_threads_leak_nothing);
	tcase_add_test(ends, pool_can_end_before_thread_cache);
	tcase_add_test(ends, thread_with_many_pools_mixes_no_blocks);
	tcase_add_loop_test(ends, process_exits_while_threads_run, 0, 2);
	tcase_add_test(ends, other_thread_exits_process);
	tcase_add_test(ends, thread_ends_before_process_exit);
	tcase_add_test(ends, child_uses_host_pool_with_cached_blocks);
	tcase_add_test(ends, forks_work_while_threads_run);
#ifdef STRESS_SHARED
	tcase_add_test(ends, thread_outlives_unloaded_library);
#endif
	return suite_run(suite);
}
