/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_caches.c - threads that cache, and free each other's blocks: rings, producers and consumers,
 * an exchange between all, while one more thread trims, counts and checks.
 *
 *   1. A thread that gets a block claims each of its granules, in the granule itself: a granule
 *      that is already claimed belongs to two blocks. (A table of owners by address would have to
 *      know where chunks are: they come and go between the stacks and heaps of threads, and two of
 *      them a table's length apart would collide.)
 *   2. It writes a stamp with plain stores, and the thread that frees the block reads it. A cache
 *      that passes a block on without ordering the two is a data race to ThreadSanitizer.
 *   3. At the end the pool's statistics match the counts of this test, and all memory can be
 *      allocated as one block again.
 */
#include <mam/mam.h>
#include <mam/source.h>
#include <mam/stats.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "api/suite.h"
#include "scale.h"

#define GRANULE ((size_t)512)
#define OWNER 8 /* offset in a granule: the stamp is before it */
#define ARENA (32 * MIB)
#define THREADS 6
#define QUEUE 64 /* blocks on their way to one thread */
#define OPERATIONS (60000 / STRESS_SHARE)

struct block {
	unsigned char *at;
	size_t bytes;
	uint64_t stamp;
};

/* One or more writers, one or more readers; a slot is empty, or has a block. */
struct queue {
	_Atomic(struct block *) slots[QUEUE];
};

struct scene {
	struct mam_source *source;
	struct mam_pool *pool;
	struct queue queues[THREADS];
	unsigned to[THREADS]; /* whose queue a thread's blocks go to; THREADS: any */
	bool makes[THREADS], frees[THREADS];
	_Atomic unsigned working;
};

struct worker {
	struct scene *scene;
	unsigned number;
	uint64_t state;
	uint64_t allocs, frees, failures;
	pthread_t thread;
};

static uint64_t draw(struct worker *worker)
{
	worker->state ^= worker->state << 13;
	worker->state ^= worker->state >> 7;
	worker->state ^= worker->state << 17;
	return worker->state >> 11;
}

static void claim(const struct block *block, uint32_t from, uint32_t to)
{
	size_t count = (block->bytes + GRANULE - 1) / GRANULE;

	for (size_t i = 0; i < count; i++) {
		_Atomic uint32_t *owner = (void *)(block->at + i * GRANULE + OWNER);
		uint32_t was = atomic_exchange_explicit(owner, to, memory_order_relaxed);

		if (was != from)
			ck_abort_msg("granule %zu of a block of %zu bytes belongs to %u, not to %u",
				     i, block->bytes, was, from);
	}
}

static void dispose(struct worker *worker, struct block *block)
{
	struct scene *scene = worker->scene;
	uint64_t found;
	enum mam_status status;

	if (!block)
		return;
	for (size_t at = 0; at + 8 <= block->bytes; at += 4096) {
		memcpy(&found, block->at + at, 8);
		if (found != block->stamp)
			ck_abort_msg("a block of %zu bytes was overwritten at %zu", block->bytes,
				     at);
	}
	claim(block, (uint32_t)block->stamp | 1, 0);
	status = mam_free(draw(worker) % 4 ? scene->pool : NULL, block->at);
	if (status != MAM_OK)
		ck_abort_msg("a free returns %s", mam_status_name(status));
	worker->frees++;
	free(block);
}

static struct block *obtain(struct worker *worker)
{
	struct scene *scene = worker->scene;
	struct block *block = malloc(sizeof(*block));
	size_t max = (size_t)512 << draw(worker) % (draw(worker) % 16 ? 6 : 10);
	enum mam_status status;
	void *at;

	if (!block)
		ck_abort_msg("the test is out of host memory");
	block->bytes = 8 + draw(worker) % max;
	status = mam_malloc(scene->pool, block->bytes, &at);
	if (status != MAM_OK) {
		if (status != MAM_ERROR_OUT_OF_MEMORY)
			ck_abort_msg("a request returns %s", mam_status_name(status));
		worker->failures++;
		free(block);
		return NULL;
	}
	worker->allocs++;
	block->at = at;
	block->stamp = (worker->allocs * THREADS + worker->number) * 0x9e3779b97f4a7c15u;
	claim(block, 0, (uint32_t)block->stamp | 1);
	for (size_t i = 0; i + 8 <= block->bytes; i += 4096)
		memcpy(block->at + i, &block->stamp, 8);
	return block;
}

static struct queue *queue_of(struct worker *worker, unsigned to)
{
	return &worker->scene->queues[to == THREADS ? draw(worker) % THREADS : to];
}

static void *work(void *user)
{
	struct worker *worker = user;
	struct scene *scene = worker->scene;
	unsigned to = scene->to[worker->number];

	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct block *block = NULL;

		if (scene->makes[worker->number]) {
			block = obtain(worker);
			if (block)
				block = atomic_exchange(
					&queue_of(worker, to)->slots[draw(worker) % QUEUE], block);
			dispose(worker, block); /* no thread fetched it in time */
		}
		if (scene->frees[worker->number])
			dispose(worker,
				atomic_exchange(
					&queue_of(worker, scene->to[worker->number] == THREADS
								  ? THREADS
								  : worker->number)
						 ->slots[draw(worker) % QUEUE],
					NULL));
	}
	atomic_fetch_sub(&scene->working, 1);
	return NULL;
}

/* Concurrent operations of other threads. */
static void *look_on(void *user)
{
	struct scene *scene = user;

	for (unsigned round = 0; atomic_load(&scene->working); round++) {
		struct mam_stats stats = { .size = sizeof(stats) };
		char why[256] = "";

		if (mam_pool_stats(scene->pool, &stats) != MAM_OK || stats.allocs < stats.frees ||
		    stats.allocs - stats.frees != stats.live_blocks ||
		    stats.live_bytes > stats.live_rounded_bytes ||
		    stats.live_rounded_bytes + stats.cached_bytes + stats.free_block_bytes >
			    stats.reserved_bytes)
			ck_abort_msg(
				"round %u: the statistics are inconsistent: %llu allocs, "
				"%llu frees, %llu live; "
				"%llu live, %llu cached, %llu free blocks, %llu reserved bytes",
				round, (unsigned long long)stats.allocs,
				(unsigned long long)stats.frees,
				(unsigned long long)stats.live_blocks,
				(unsigned long long)stats.live_rounded_bytes,
				(unsigned long long)stats.cached_bytes,
				(unsigned long long)stats.free_block_bytes,
				(unsigned long long)stats.reserved_bytes);
		if (round % 4 == 1 &&
		    mam_pool_trim(scene->pool, round % 3 * 8 * MIB, NULL) != MAM_OK)
			ck_abort_msg("a trim failed");
		if (round % 4 == 3 && mam_pool_check(scene->pool, why, sizeof(why)) != MAM_OK)
			ck_abort_msg("%s", why);
	}
	return NULL;
}

static struct scene *open_scene(size_t limit)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	ck_assert_ptr_nonnull(scene);
	ck_assert_int_eq(mam_source_host(ARENA, true, &scene->source), MAM_OK);
	attr.growth_bytes = MIB;
	attr.limit_bytes = limit;
	attr.cache = MAM_CACHE_ON;
	ck_assert_int_eq(mam_pool_create_on(scene->source, &attr, &scene->pool), MAM_OK);
	return scene;
}

static void close_scene(struct scene *scene)
{
	ck_assert_int_eq(mam_pool_destroy(scene->pool), MAM_OK);
	mam_source_destroy(scene->source);
	free(scene);
}

static void run(struct scene *scene)
{
	static struct worker workers[THREADS];
	struct mam_stats stats = { .size = sizeof(stats) };
	uint64_t allocs = 0, frees = 0, failures = 0;
	pthread_t looker;
	char why[256] = "";

	atomic_store(&scene->working, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .scene = scene,
					      .number = i,
					      .state = 0x2545f4914f6cdd1du * (i + 3) };
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	ck_assert_int_eq(pthread_create(&looker, NULL, look_on, scene), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_join(looker, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned at = 0; at < QUEUE; at++)
			dispose(&workers[0], atomic_exchange(&scene->queues[i].slots[at], NULL));
	for (unsigned i = 0; i < THREADS; i++) {
		allocs += workers[i].allocs;
		frees += workers[i].frees;
		failures += workers[i].failures;
	}
	ck_assert_int_eq(mam_pool_stats(scene->pool, &stats), MAM_OK);
	ck_assert_uint_eq(allocs, frees);
	ck_assert_uint_gt(allocs, OPERATIONS / 2);
	ck_assert_uint_eq(stats.allocs, allocs);
	ck_assert_uint_eq(stats.frees, frees);
	ck_assert_uint_eq(stats.failures, failures);
	ck_assert_uint_eq(stats.live_blocks + stats.live_bytes + stats.live_rounded_bytes, 0);
	ck_assert_msg(mam_pool_check(scene->pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_trim(scene->pool, 0, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(scene->pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.cached_blocks + stats.cached_bytes, 0);
	ck_assert_uint_eq(stats.segments, stats.chunks);
}

/* A pool with free memory, and one that is often full. */
static const size_t limits[] = { 0, 4 * MIB };

static void every_thread(struct scene *scene, bool makes, bool frees)
{
	for (unsigned i = 0; i < THREADS; i++) {
		scene->makes[i] = makes;
		scene->frees[i] = frees;
		scene->to[i] = (i + 1) % THREADS;
	}
}

START_TEST(threads_pass_blocks_in_ring)
{
	struct scene *scene = open_scene(limits[_i]);

	every_thread(scene, true, true);
	run(scene);
	close_scene(scene);
}
END_TEST

START_TEST(threads_exchange_blocks_with_all)
{
	struct scene *scene = open_scene(limits[_i]);

	every_thread(scene, true, true);
	for (unsigned i = 0; i < THREADS; i++)
		scene->to[i] = THREADS;
	run(scene);
	close_scene(scene);
}
END_TEST

START_TEST(one_thread_allocates_and_others_free)
{
	struct scene *scene = open_scene(limits[_i]);

	every_thread(scene, false, true);
	scene->makes[0] = true;
	scene->to[0] = THREADS;
	for (unsigned i = 1; i < THREADS; i++)
		scene->to[i] = i;
	run(scene);
	close_scene(scene);
}
END_TEST

START_TEST(many_threads_allocate_and_one_frees)
{
	struct scene *scene = open_scene(limits[_i]);

	every_thread(scene, true, false);
	scene->frees[0] = true;
	scene->makes[0] = false;
	for (unsigned i = 0; i < THREADS; i++)
		scene->to[i] = 0;
	run(scene);
	close_scene(scene);
}
END_TEST

struct idler {
	struct mam_pool *pool;
	pthread_barrier_t *cached, *leave;
	pthread_t thread;
};

static void *cache_and_idle(void *user)
{
	struct idler *idler = user;
	void *blocks[200];
	unsigned count = 0;

	while (count < COUNT_OF(blocks) &&
	       mam_malloc(idler->pool, 512 + count % 16 * 2048, &blocks[count]) == MAM_OK)
		count++;
	while (count > 0)
		if (mam_free(idler->pool, blocks[--count]) != MAM_OK)
			ck_abort_msg("a free failed");
	pthread_barrier_wait(idler->cached);
	pthread_barrier_wait(idler->leave);
	return NULL;
}

/* Cached blocks of sleeping threads cause no OUT_OF_MEMORY, and trim releases them too. */
START_TEST(caches_of_idle_threads_are_reused)
{
	struct scene *scene = open_scene(8 * MIB);
	struct mam_stats stats = { .size = sizeof(stats) };
	struct idler idlers[THREADS];
	pthread_barrier_t cached, leave;
	size_t released = 0;
	void *block;

	pthread_barrier_init(&cached, NULL, THREADS + 1);
	pthread_barrier_init(&leave, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++) {
		idlers[i] = (struct idler){ scene->pool, &cached, &leave, 0 };
		ck_assert_int_eq(
			pthread_create(&idlers[i].thread, NULL, cache_and_idle, &idlers[i]), 0);
	}
	pthread_barrier_wait(&cached);
	ck_assert_int_eq(mam_pool_stats(scene->pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.live_blocks, 0);
	ck_assert_uint_gt(stats.cached_bytes, 0); /* otherwise this test proves nothing */
	if (_i) {
		ck_assert_int_eq(mam_pool_trim(scene->pool, 0, &released), MAM_OK);
		ck_assert_uint_eq(released, stats.reserved_bytes);
	}
	ck_assert_int_eq(mam_malloc(scene->pool, 8 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(scene->pool, block), MAM_OK);
	pthread_barrier_wait(&leave);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(idlers[i].thread, NULL);
	ck_assert_int_eq(mam_pool_check(scene->pool, NULL, 0), MAM_OK);
	close_scene(scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stress/caches");
	TCase *caches = suite_case(suite, "caches");

	tcase_set_timeout(caches, 300);
	tcase_add_loop_test(caches, threads_pass_blocks_in_ring, 0, COUNT_OF(limits));
	tcase_add_loop_test(caches, threads_exchange_blocks_with_all, 0, COUNT_OF(limits));
	tcase_add_loop_test(caches, one_thread_allocates_and_others_free, 0, COUNT_OF(limits));
	tcase_add_loop_test(caches, many_threads_allocate_and_one_frees, 0, COUNT_OF(limits));
	tcase_add_loop_test(caches, caches_of_idle_threads_are_reused, 0, 2);
	return suite_run(suite);
}
