/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a thread that a running kernel waits for, on pools with and without caches: callers
 * see the same as with mam_malloc() and mam_free(), listeners get events, and the thread gets no
 * thread cache.
 */
#include <pthread.h>

#include <mam/stats.h>

#include "api/prompt.h"
#include "base/event.h"
#include "cache/cache.h"
#include "stub.h"
#include "suite.h"

#define MIB ((size_t)1 << 20)
#define PATIENCE_NS UINT64_C(3000000)

static struct mam_pool *pool;
static struct stub stub;

static void make_pool(enum mam_cache_mode cache)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	attr.source = "host";
	attr.chunk_bytes = 4 * MIB;
	attr.growth_bytes = MAM_GROWTH_NONE;
	attr.cache = cache;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert(!pool->cache == (cache == MAM_CACHE_OFF));
}

static void *prompt(size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(mam_prompt_alloc(pool, bytes, 0, PATIENCE_NS, &block), MAM_OK);
	return block;
}

static void *usual(size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc(pool, bytes, &block), MAM_OK);
	return block;
}

static struct mam_stats proven(void)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	char why[256] = "";

	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.allocs - stats.frees, stats.live_blocks);
	return stats;
}

START_TEST(each_free_function_frees_each_kind_of_block)
{
	const size_t sizes[] = { 1, 512, 5000, 64 << 10, MIB + 1 };

	make_pool(_i == 0 ? MAM_CACHE_ON : MAM_CACHE_OFF);
	for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
		void *ours = prompt(sizes[i]), *theirs = usual(sizes[i]);

		ck_assert_uint_eq(proven().live_bytes, 2 * sizes[i]);
		ck_assert_int_eq(mam_free(pool, ours), MAM_OK);
		ck_assert_int_eq(mam_prompt_free(pool, theirs), MAM_OK);
		ck_assert_uint_eq(proven().live_bytes, 0);
		ck_assert_int_eq(mam_prompt_free(pool, theirs), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_prompt_free(pool, ours), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_prompt_free(pool, prompt(sizes[i])), MAM_OK);
	}
	ck_assert_uint_eq(proven().frees, 3 * COUNT_OF(sizes));
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(invalid_frees_are_distinguished)
{
	char *cached, *live;

	make_pool(MAM_CACHE_ON);
	cached = usual(4096);
	live = usual(4096);
	ck_assert_int_eq(mam_free(pool, cached), MAM_OK); /* into the thread's bins */
	ck_assert_uint_ge(proven().cached_blocks, 1);
	ck_assert_int_eq(mam_prompt_free(pool, cached), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_prompt_free(pool, cached + 512), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_prompt_free(pool, live + 512), MAM_ERROR_INTERIOR);
	ck_assert_int_eq(mam_prompt_free(pool, &stub), MAM_ERROR_NOT_OWNED);
	ck_assert_uint_eq(proven().live_blocks, 1);
	ck_assert_int_eq(mam_prompt_free(pool, live), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(mam_prompt_free(pool, live), MAM_ERROR_DESTROYED);
}
END_TEST

static void *serve(void *unused)
{
	struct mam_cache *cache = pool->cache;
	uint32_t tcaches = atomic_load(&cache->tcache_count);

	(void)unused;
	for (int i = 0; i < 20; i++) {
		void *small = prompt(512), *large = prompt(2 * MIB), *theirs = NULL;

		ck_assert_int_eq(mam_prompt_alloc_here(pool, 512, 0, &theirs), MAM_OK);
		ck_assert_int_eq(mam_prompt_free(pool, theirs), MAM_OK);
		ck_assert_int_eq(mam_prompt_free(pool, small), MAM_OK);
		ck_assert_int_eq(mam_prompt_free(pool, large), MAM_OK);
		ck_assert_int_eq(mam_prompt_alloc(pool, 8 * MIB, 0, PATIENCE_NS, &theirs),
				 MAM_ERROR_OUT_OF_MEMORY);
	}
	ck_assert_uint_eq(atomic_load(&cache->tcache_count), tcaches);
	return NULL;
}

START_TEST(prompt_thread_gets_no_thread_cache)
{
	pthread_t thread;
	void *mine;

	make_pool(MAM_CACHE_ON);
	mine = usual(512);
	ck_assert_int_eq(pthread_create(&thread, NULL, serve, NULL), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(proven().failures, 20);
	ck_assert_int_eq(mam_free(pool, mine), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

/* No growth, and almost all memory is in a thread's bins. */
START_TEST(prompt_alloc_uses_memory_of_thread_caches)
{
	void *block[64], *all = NULL;

	make_pool(MAM_CACHE_ON);
	for (unsigned i = 0; i < COUNT_OF(block); i++)
		block[i] = usual(8192);
	for (unsigned i = 0; i < COUNT_OF(block); i++)
		ck_assert_int_eq(mam_free(pool, block[i]), MAM_OK);
	ck_assert_uint_gt(proven().cached_blocks, COUNT_OF(block) / 2);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, 4 * MIB, 0, &all), MAM_ERROR_WOULD_WAIT);
	all = prompt(4 * MIB);
	ck_assert_uint_eq(proven().cached_blocks, 0);
	ck_assert_int_eq(mam_prompt_free(pool, all), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

static struct mam_event events[8];
static unsigned event_count;

static void listen(const struct mam_event *event, void *user)
{
	(void)user;
	ck_assert_uint_lt(event_count, COUNT_OF(events));
	events[event_count++] = *event;
}

static void expect_event(enum mam_event_kind kind, const void *address, size_t bytes)
{
	ck_assert_uint_eq(event_count, 1);
	ck_assert_int_eq(events[0].kind, kind);
	ck_assert_ptr_eq(events[0].pool, pool);
	ck_assert_ptr_eq(events[0].address, address);
	ck_assert_uint_eq(events[0].bytes, bytes);
	event_count = 0;
}

START_TEST(prompt_calls_emit_events)
{
	void *block, *none;

	make_pool(_i == 0 ? MAM_CACHE_ON : MAM_CACHE_OFF);
	ck_assert(mam_event_subscribe(listen, NULL));
	block = prompt(5000);
	expect_event(MAM_EVENT_ALLOC, block, 5000);
	ck_assert_int_eq(mam_prompt_alloc(pool, 5 * MIB, 0, PATIENCE_NS, &none),
			 MAM_ERROR_OUT_OF_MEMORY);
	expect_event(MAM_EVENT_FAIL, NULL, 5 * MIB);
	ck_assert_int_eq(mam_prompt_free(pool, block), MAM_OK);
	expect_event(MAM_EVENT_FREE, block, 5000);
	ck_assert_int_eq(mam_prompt_alloc_here(pool, 5 * MIB, 0, &none), MAM_ERROR_WOULD_WAIT);
	ck_assert_uint_eq(event_count, 0);
	ck_assert_int_eq(mam_prompt_alloc_here(pool, 600, 0, &none), MAM_OK);
	expect_event(MAM_EVENT_ALLOC, none, 600);
	ck_assert_int_eq(mam_prompt_free(pool, none), MAM_OK);
	expect_event(MAM_EVENT_FREE, none, 600);
	ck_assert_int_eq(mam_prompt_free(pool, block), MAM_ERROR_DOUBLE_FREE);
	ck_assert_uint_eq(event_count, 0);
	ck_assert(mam_event_unsubscribe(listen, NULL));
}
END_TEST

START_TEST(prompt_free_does_not_wait_in_strict_pool)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	stub_init(&stub);
	attr.free_policy = MAM_FREE_STRICT;
	ck_assert_int_eq(mam_pool_create_on(&stub.source, &attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_prompt_free(pool, prompt(2 * MIB)), MAM_OK);
	ck_assert_int_eq(mam_prompt_free(pool, usual(2 * MIB)), MAM_OK);
	ck_assert_uint_eq(stub.waits, 0);
	ck_assert_uint_eq(stub.shrinks, 0);
	ck_assert_uint_eq(stub.grows, 1);
	ck_assert_int_eq(mam_free(pool, usual(2 * MIB)), MAM_OK);
	ck_assert_uint_eq(stub.waits, 1);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(next_ordinary_free_releases_above_spare)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	void *block[6], *theirs;

	stub_init(&stub);
	attr.growth_bytes = attr.spare_bytes = 2 * MIB;
	attr.cache = _i == 0 ? MAM_CACHE_ON : MAM_CACHE_OFF;
	ck_assert_int_eq(mam_pool_create_on(&stub.source, &attr, &pool), MAM_OK);
	theirs = usual(2 * MIB);
	for (unsigned i = 0; i < COUNT_OF(block); i++)
		block[i] = prompt(2 * MIB);
	for (unsigned i = 0; i < COUNT_OF(block); i++)
		ck_assert_int_eq(mam_prompt_free(pool, block[i]), MAM_OK);
	ck_assert_uint_eq(stub.shrinks, 0);
	ck_assert_uint_eq(proven().reserved_bytes, 14 * MIB);
	ck_assert_int_eq(mam_free(pool, theirs), MAM_OK);
	ck_assert_uint_eq(stub.shrinks, 6);
	ck_assert_uint_eq(proven().reserved_bytes, 2 * MIB);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/prompt");
	TCase *tests = suite_case(suite, "prompt");

	tcase_add_loop_test(tests, each_free_function_frees_each_kind_of_block, 0, 2);
	tcase_add_test(tests, invalid_frees_are_distinguished);
	tcase_add_test(tests, prompt_thread_gets_no_thread_cache);
	tcase_add_test(tests, prompt_alloc_uses_memory_of_thread_caches);
	tcase_add_loop_test(tests, prompt_calls_emit_events, 0, 2);
	tcase_add_test(tests, prompt_free_does_not_wait_in_strict_pool);
	tcase_add_loop_test(tests, next_ordinary_free_releases_above_spare, 0, 2);
	return suite_run(suite);
}
