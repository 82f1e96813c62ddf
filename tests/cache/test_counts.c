/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of several threads: one allocates a block from its cache, and another one frees it and
 * reports to the pool first. Such intermediate reports must not stay in the peaks, and statistics
 * are from one moment.
 */
#include <pthread.h>

#include "cached.h"

#define BLOCKS 40

struct sharer {
	struct mam_pool *pool;
	pthread_barrier_t handed, seen;
	void *blocks[BLOCKS];
};

/* The second round comes from the cache, and the pool does not count it yet. */
static void *share_blocks(void *argument)
{
	struct sharer *sharer = argument;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < BLOCKS; i++)
			sharer->blocks[i] = pool_alloc(sharer->pool, 2048);
		for (size_t i = 0; round == 0 && i < BLOCKS; i++)
			pool_free(sharer->pool, sharer->blocks[i]);
		if (round == 0)
			(void)numbers(sharer->pool);
	}
	pthread_barrier_wait(&sharer->handed);
	pthread_barrier_wait(&sharer->seen);
	return NULL;
}

START_TEST(free_reported_before_its_alloc_makes_no_peak)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	struct sharer sharer = { .pool = cached_pool(4 * MIB) };
	pthread_t thread;
	void *block;

	pthread_barrier_init(&sharer.handed, NULL, 2);
	pthread_barrier_init(&sharer.seen, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, share_blocks, &sharer), 0);
	pthread_barrier_wait(&sharer.handed);
	for (size_t i = 0; i < BLOCKS; i++)
		pool_free(sharer.pool, sharer.blocks[i]);
	block = pool_alloc(sharer.pool, 512 * KIB); /* from the pool: this reports the frees */
	/* Otherwise this test proves nothing. */
	ck_assert_int_lt((int64_t)sharer.pool->counts.live_blocks, 0);
	mam_lock_take(&sharer.pool->lock);
	ck_assert_ptr_null(mam_pool_fault_locked(sharer.pool));
	mam_lock_release(&sharer.pool->lock);
	pool_free(sharer.pool, pool_alloc(sharer.pool, 768 * KIB));
	stats = numbers(sharer.pool);
	ck_assert_uint_eq(stats.live_blocks, 1);
	ck_assert_uint_eq(stats.live_rounded_bytes, 512 * KIB);
	ck_assert_uint_le(stats.peak_live_blocks, 2 * BLOCKS);
	ck_assert_uint_le(stats.peak_live_bytes, 4 * MIB);
	ck_assert_uint_le(stats.peak_live_rounded_bytes, 4 * MIB);
	pool_free(sharer.pool, block);
	pthread_barrier_wait(&sharer.seen);
	pthread_join(thread, NULL);
	done_with(sharer.pool);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/counts");

	tcase_add_test(tcase, free_reported_before_its_alloc_makes_no_peak);
	return suite_end();
}
