/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches emptied by other threads: trim, growth, lack of memory, age, the thread's end, the pool's
 * end.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cached.h"

/* A thread that fills its cache, and waits for a signal to continue or to end. */
struct helper {
	struct mam_pool *pool;
	pthread_t thread;
	pthread_barrier_t barrier;
	size_t blocks, bytes;
};

static void fill(struct mam_pool *pool, size_t blocks, size_t bytes)
{
	void *held[256];

	for (size_t i = 0; i < blocks; i++)
		held[i] = pool_alloc(pool, bytes);
	for (size_t i = 0; i < blocks; i++)
		pool_free(pool, held[i]);
}

static void *help(void *argument)
{
	struct helper *helper = argument;
	void *block;

	fill(helper->pool, helper->blocks, helper->bytes);
	pthread_barrier_wait(&helper->barrier);
	pthread_barrier_wait(&helper->barrier);
	/* The pool may be destroyed by now. */
	if (mam_malloc(helper->pool, 512, &block) == MAM_OK)
		mam_free(helper->pool, block);
	return NULL;
}

/* Afterwards its cache is full, and it sleeps. */
static void helper_start(struct helper *helper, struct mam_pool *pool, size_t blocks, size_t bytes)
{
	helper->pool = pool;
	helper->blocks = blocks;
	helper->bytes = bytes;
	pthread_barrier_init(&helper->barrier, NULL, 2);
	ck_assert_int_eq(pthread_create(&helper->thread, NULL, help, helper), 0);
	pthread_barrier_wait(&helper->barrier);
}

static void helper_end(struct helper *helper)
{
	pthread_barrier_wait(&helper->barrier);
	pthread_join(helper->thread, NULL);
}

START_TEST(trim_empties_caches_of_all_threads)
{
	struct mam_pool *pool = cached_pool(0);
	struct helper helper;
	size_t released;

	helper_start(&helper, pool, 100, 8192);
	fill(pool, 50, 4096);
	ck_assert_uint_ge(numbers(pool).cached_blocks, 150);
	ck_assert_int_eq(mam_pool_trim(pool, 0, &released), MAM_OK);
	ck_assert_uint_ge(released, 64 * MIB);
	ck_assert_uint_eq(numbers(pool).cached_blocks, 0);
	ck_assert_uint_eq(numbers(pool).reserved_bytes, 0);
	helper_end(&helper);
	done_with(pool);
}
END_TEST

/*
 * Cached memory is reused by other threads before the source is called, and before a request fails.
 */
START_TEST(pool_empties_caches_before_growth)
{
	struct mam_pool *pool = cached_pool(4 * MIB);
	struct mam_stats stats;
	struct helper helper;
	void *block;

	helper_start(&helper, pool, 128, 8192); /* the lowest MiB */
	ck_assert_uint_ge(numbers(pool).cached_bytes, MIB / 2);
	block = pool_alloc(pool, 4 * MIB - 64 * KIB);
	stats = numbers(pool);
	ck_assert_uint_eq(stats.cached_blocks, 0);
	ck_assert_uint_eq(stats.grows, 1);
	pool_free(pool, block);
	helper_end(&helper);
	done_with(pool);
}
END_TEST

START_TEST(ended_thread_leaves_no_cached_blocks)
{
	struct mam_pool *pool = cached_pool(MIB), *second = cached_pool(MIB);
	struct helper helper;

	helper_start(&helper, pool, 10, 2048);
	helper_end(&helper);
	ck_assert_uint_eq(numbers(pool).cached_blocks, 0);
	ck_assert_uint_eq(numbers(pool).allocs, 11);
	ck_assert_uint_eq(numbers(pool).segments, 1);
	done_with(pool);
	done_with(second);
}
END_TEST

START_TEST(cache_of_idle_thread_expires)
{
	struct mam_pool *pool = cached_pool(64 * MIB);
	uint64_t second = 1000000000;
	struct helper helper;
	size_t cached;

	helper_start(&helper, pool, 100, 4096);
	cached = numbers(pool).cached_blocks;
	ck_assert_uint_ge(cached, 100);
	mam_cache_age(pool, 10 * second);
	/* It was in use since the last check. */
	ck_assert_uint_eq(numbers(pool).cached_blocks, cached);
	mam_cache_age(pool, 10 * second + second / 2);
	ck_assert_uint_eq(numbers(pool).cached_blocks, cached); /* too early */
	fill(pool, 20, 512);
	mam_cache_age(pool, 11 * second);
	ck_assert_uint_lt(numbers(pool).cached_blocks, 60); /* the cache of this thread is left */
	ck_assert_uint_ge(numbers(pool).cached_blocks, 20);
	helper_end(&helper);
	done_with(pool);
}
END_TEST

START_TEST(pool_with_cached_blocks_can_be_destroyed)
{
	struct mam_pool *pool = cached_pool(64 * MIB);
	struct helper helper;
	void *block = pool_alloc(pool, 100), *none = pool;

	helper_start(&helper, pool, 100, 4096);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_LIVE_BLOCKS);
	pool_free(pool, block);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 100, &none), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_malloc(pool, 4096, &none), MAM_ERROR_DESTROYED);
	ck_assert_ptr_eq(none, pool);
	ck_assert_int_eq(mam_free(pool, block), MAM_ERROR_DESTROYED);
	helper_end(&helper);
}
END_TEST

START_TEST(abandoned_pool_allocates_nothing)
{
	struct mam_pool *pool = cached_pool(64 * MIB), *next;
	void *block;

	fill(pool, 10, 4096);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 4096, &block), MAM_ERROR_DESTROYED);
	next = cached_pool(64 * MIB); /* which reuses the idle thread cache and the idle cache */
	fill(next, 10, 4096);
	ck_assert_int_eq(mam_malloc(pool, 4096, &block), MAM_ERROR_DESTROYED);
	done_with(next);
}
END_TEST

START_TEST(child_of_fork_has_all_blocks)
{
	struct mam_pool *pool = cached_pool(64 * MIB);
	struct helper helper;
	pid_t child;
	int status;

	helper_start(&helper, pool, 100, 4096);
	fill(pool, 10, 8192);
	child = fork();
	if (child == 0) {
		struct mam_stats stats = { .size = sizeof(stats) };
		bool good = mam_pool_check(pool, NULL, 0) == MAM_OK &&
			    mam_pool_stats(pool, &stats) == MAM_OK && stats.live_blocks == 0 &&
			    stats.cached_blocks < 100;
		void *block;

		for (int i = 0; i < 1000 && good; i++)
			good = mam_malloc(pool, 8192, &block) == MAM_OK &&
			       mam_free(NULL, block) == MAM_OK;
		good = good && mam_pool_destroy(pool) == MAM_OK;
		_exit(good ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_uint_ge(numbers(pool).cached_blocks, 110);
	helper_end(&helper);
	done_with(pool);
}
END_TEST

/*
 * Cached blocks separate free blocks that a large request could use: caches are emptied before it
 * uses fresh memory.
 */
START_TEST(fresh_space_is_used_only_after_caches_are_empty)
{
	struct mam_pool *pool = cached_pool(GIB);
	uint64_t high;
	void *blocks[64];

	for (size_t i = 0; i < 64; i++)
		blocks[i] = pool_alloc(pool, MIB);
	high = numbers(pool).high_water_bytes;
	for (size_t i = 0; i < 64; i++)
		pool_free(pool,
			  blocks[i]); /* some to the pool; the last ones stay cached between them */
	ck_assert_uint_gt(numbers(pool).cached_blocks, 0);
	blocks[0] = pool_alloc(pool, 60 * MIB);
	ck_assert_uint_eq(numbers(pool).high_water_bytes, high);
	ck_assert_uint_eq(numbers(pool).cached_blocks, 0);
	pool_free(pool, blocks[0]);
	done_with(pool);
}
END_TEST

/*
 * Two threads free one block concurrently: the second one reads the tag before the first one writes
 * it. Here the test restores the tag between the two frees. The block is freed once, and nothing
 * else is corrupted.
 */
static void *free_it(void *pair)
{
	ck_assert_int_eq(mam_free(((void **)pair)[0], ((void **)pair)[1]), MAM_OK);
	return NULL;
}

START_TEST(race_of_two_frees_corrupts_no_metadata)
{
	struct mam_pool *pool = cached_pool(64 * MIB);
	void *blocks[20], *kept = pool_alloc(pool, 3000);
	struct mam_stats stats;

	setenv("MAM_LOG_FILE", "/dev/null", 1);
	for (size_t i = 0; i < 20; i++)
		blocks[i] = pool_alloc(pool, 40 * KIB * (i % 2) + 512);
	for (size_t i = 0; i < 20; i++) {
		void *pair[] = { pool, blocks[i] };
		mam_blocktag_word *tag;
		pthread_t thread;
		uint64_t value;

		tag = mam_blocktag_live_at((uintptr_t)blocks[i], mam_tcache_find(pool)->live_key,
					   &value);
		ck_assert_ptr_nonnull(tag);
		pool_free(pool, blocks[i]);
		if (i != 4 && i != 15)
			continue;
		mam_blocktag_write(tag, value);
		ck_assert_int_eq(pthread_create(&thread, NULL, free_it, pair), 0);
		pthread_join(thread, NULL);
	}
	ck_assert_int_eq(mam_pool_trim(pool, SIZE_MAX, NULL), MAM_OK);
	stats = numbers(pool);
	ck_assert_uint_eq(stats.cached_blocks, 0);
	ck_assert_uint_eq(stats.live_blocks, 1);
	ck_assert_uint_eq(stats.live_bytes, 3000);
	ck_assert_uint_eq(stats.segments, 2); /* all others are merged */
	pool_free(pool, kept);
	done_with(pool);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/drain");

	tcase_add_test(tcase, trim_empties_caches_of_all_threads);
	tcase_add_test(tcase, pool_empties_caches_before_growth);
	tcase_add_test(tcase, ended_thread_leaves_no_cached_blocks);
	tcase_add_test(tcase, cache_of_idle_thread_expires);
	tcase_add_test(tcase, pool_with_cached_blocks_can_be_destroyed);
	tcase_add_test(tcase, abandoned_pool_allocates_nothing);
	tcase_add_test(tcase, child_of_fork_has_all_blocks);
	tcase_add_test(tcase, race_of_two_frees_corrupts_no_metadata);
	tcase_add_test(tcase, fresh_space_is_used_only_after_caches_are_empty);
	return suite_end();
}
