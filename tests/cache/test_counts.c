/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of several threads: one allocates a block from its cache, and another one frees it and
 * reports to the pool first. Such intermediate reports must not stay in the peaks, and statistics
 * are from one moment.
 */
#include <pthread.h>

#include "cached.h"

#define BLOCKS 40

struct giver {
	struct mam_pool *pool;
	pthread_barrier_t given, seen;
	void *blocks[BLOCKS];
};

/* The second round comes from the cache, and the pool does not count it yet. */
static void *give_away(void *argument)
{
	struct giver *giver = argument;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < BLOCKS; i++)
			giver->blocks[i] = get(giver->pool, 2048);
		for (size_t i = 0; round == 0 && i < BLOCKS; i++)
			put(giver->pool, giver->blocks[i]);
		if (round == 0)
			(void)numbers(giver->pool);
	}
	pthread_barrier_wait(&giver->given);
	pthread_barrier_wait(&giver->seen);
	return NULL;
}

START_TEST(free_reported_before_its_alloc_makes_no_peak)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	struct giver giver = { .pool = cached_pool(4 * MIB) };
	pthread_t thread;
	void *block;

	pthread_barrier_init(&giver.given, NULL, 2);
	pthread_barrier_init(&giver.seen, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, give_away, &giver), 0);
	pthread_barrier_wait(&giver.given);
	for (size_t i = 0; i < BLOCKS; i++)
		put(giver.pool, giver.blocks[i]);
	block = get(giver.pool, 512 * KIB); /* from the pool: this reports the frees */
	/* Otherwise this test proves nothing. */
	ck_assert_int_lt((int64_t)giver.pool->counts.live_blocks, 0);
	mam_lock_take(&giver.pool->lock);
	ck_assert_ptr_null(mam_pool_fault_locked(giver.pool));
	mam_lock_release(&giver.pool->lock);
	put(giver.pool, get(giver.pool, 768 * KIB));
	stats = numbers(giver.pool);
	ck_assert_uint_eq(stats.live_blocks, 1);
	ck_assert_uint_eq(stats.live_rounded_bytes, 512 * KIB);
	ck_assert_uint_le(stats.peak_live_blocks, 2 * BLOCKS);
	ck_assert_uint_le(stats.peak_live_bytes, 4 * MIB);
	ck_assert_uint_le(stats.peak_live_rounded_bytes, 4 * MIB);
	put(giver.pool, block);
	pthread_barrier_wait(&giver.seen);
	pthread_join(thread, NULL);
	done_with(giver.pool);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/counts");

	tcase_add_test(tcase, free_reported_before_its_alloc_makes_no_peak);
	return suite_end();
}
