/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that allocate, pass blocks to each other and free blocks of other threads, while one more
 * trims, checks, walks and counts. A shadow map records the owner of every granule: no two live
 * blocks overlap. At the end nothing is left, and the statistics are correct. To be run under
 * ThreadSanitizer too.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "cached.h"

#define THREADS 6
#define SLOTS 64
#define CHUNK (256 * MIB)
#define STEPS (TESTS_TSAN ? 20000 : 100000)

struct block {
	void *base;
	size_t bytes;
};

static struct mam_pool *pool;
static pthread_mutex_t slot_lock[SLOTS];
static struct block slots[SLOTS]; /* lock: that of the slot */
static _Atomic unsigned char held[CHUNK / 512];
static uintptr_t space;
static _Atomic uint64_t allocs;
static _Atomic bool stop;

static void claim(const struct block *block, unsigned char expected, unsigned char value)
{
	size_t first = ((uintptr_t)block->base - space) / 512, count = (block->bytes + 511) / 512;

	for (size_t i = first; i < first + count; i++) {
		unsigned char was = atomic_exchange_explicit(&held[i], value, memory_order_relaxed);

		if (was != expected) /* from any thread, so no assertion of Check */
			abort();
	}
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void *work(void *argument)
{
	uint64_t state = (uintptr_t)argument;

	for (size_t step = 0; step < STEPS; step++) {
		size_t slot = next(&state) % SLOTS;
		struct block fresh = {
			NULL, (size_t)next(&state) % ((size_t)512 << next(&state) % 12) + 1
		};
		struct block old;

		if (mam_malloc(pool, fresh.bytes, &fresh.base) != MAM_OK)
			abort();
		atomic_fetch_add_explicit(&allocs, 1, memory_order_relaxed);
		claim(&fresh, 0, 1);
		pthread_mutex_lock(&slot_lock[slot]);
		old = slots[slot];
		slots[slot] = fresh;
		pthread_mutex_unlock(&slot_lock[slot]);
		if (!old.base)
			continue;
		claim(&old, 1, 0);
		if (mam_free(step % 2 ? pool : NULL, old.base) != MAM_OK)
			abort();
	}
	return NULL;
}

static bool look(const struct mam_segment_info *segment, void *user)
{
	*(size_t *)user += segment->bytes;
	return true;
}

static void *disturb(void *unused)
{
	(void)unused;
	for (unsigned turn = 0; !atomic_load(&stop); turn++) {
		struct mam_stats stats = { .size = sizeof(stats) };
		size_t sum = 0;

		if (mam_pool_stats(pool, &stats) != MAM_OK ||
		    stats.allocs - stats.frees != stats.live_blocks || stats.live_blocks > 1000 ||
		    stats.cached_bytes + stats.live_rounded_bytes > CHUNK)
			abort();
		if (turn % 4 == 0 && mam_pool_trim(pool, SIZE_MAX, NULL) != MAM_OK)
			abort();
		if (turn % 4 == 1 && mam_pool_check(pool, NULL, 0) != MAM_OK)
			abort();
		if (turn % 4 == 2 && (mam_pool_walk(pool, look, &sum) != MAM_OK || sum != CHUNK))
			abort();
		if (turn % 4 == 3)
			mam_cache_age(pool, (uint64_t)turn * 1000000000);
		sched_yield();
	}
	return NULL;
}

static bool note_space(const struct mam_segment_info *segment, void *user)
{
	(void)user;
	space = (uintptr_t)segment->chunk_base;
	return false;
}

START_TEST(no_two_threads_own_same_byte)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	pthread_t threads[THREADS], other;
	struct mam_stats stats;

	mam_asymlock_use_fences(_i == 1);
	attr.source = "host";
	attr.chunk_bytes = CHUNK;
	attr.growth_bytes = MAM_GROWTH_NONE;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_pool_walk(pool, note_space, NULL), MAM_OK);
	for (size_t i = 0; i < SLOTS; i++)
		pthread_mutex_init(&slot_lock[i], NULL);
	ck_assert_int_eq(pthread_create(&other, NULL, disturb, NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&stop, true);
	pthread_join(other, NULL);
	stats = numbers(pool);
	ck_assert_uint_eq(stats.allocs, atomic_load(&allocs));
	ck_assert_uint_eq(stats.allocs, (uint64_t)THREADS * STEPS);
	ck_assert_uint_eq(stats.live_blocks, SLOTS);
	for (size_t i = 0; i < SLOTS; i++) {
		stats.live_bytes -= slots[i].bytes;
		pool_free(pool, slots[i].base);
	}
	ck_assert_uint_eq(stats.live_bytes, 0);
	ck_assert_uint_eq(numbers(pool).frees, (uint64_t)THREADS * STEPS);
	ck_assert_int_eq(mam_pool_trim(pool, SIZE_MAX, NULL), MAM_OK);
	ck_assert_uint_eq(numbers(pool).segments, 1);
	done_with(pool);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/threads");

	tcase_set_timeout(tcase, 240);
	tcase_add_loop_test(tcase, no_two_threads_own_same_byte, 0, 2);
	return suite_end();
}
