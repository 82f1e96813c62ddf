/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory refused to the cache, at each of its mappings in turn: a block without a tag, a
 * thread without a thread cache and a pool without a cache all work like a pool without caches.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "cached.h"

#if !TESTS_ASAN && !TESTS_TSAN /* sanitizers map memory of their own */
static void *hoard[100000];
static size_t hoarded;

/* No more memory can be mapped; existing mappings stay. release() ends this. */
static void use_up(size_t leave)
{
	struct rlimit limit;
	size_t bytes = GIB;

	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = (size_t)64 * GIB;
	setrlimit(RLIMIT_AS, &limit);
	while (bytes >= 4096 && hoarded < 100000) {
		void *area = mmap(NULL, bytes, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (area == MAP_FAILED)
			bytes /= 2;
		else
			hoard[hoarded++] = area;
	}
	if (leave != 0) {
		limit.rlim_cur += leave;
		setrlimit(RLIMIT_AS, &limit);
	}
}

static void release(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_AS, &limit);
}

/* From no memory at all to enough for everything, in steps that each permit one more mapping. */
START_TEST(cache_works_with_any_amount_of_host_memory)
{
	struct mam_pool *pool = cached_pool(64 * MIB);
	size_t leave = (size_t)_i * 8 * KIB + (size_t)(_i / 8) * MIB;
	void *block = NULL;

	use_up(leave);
	for (size_t i = 0; i < 200; i++) {
		size_t bytes = (i * 7919) % MIB + 1;
		enum mam_status status = mam_malloc(pool, bytes, &block);

		ck_assert_msg(status == MAM_OK || status == MAM_ERROR_OUT_OF_HOST_MEMORY,
			      "status %d", (int)status);
		if (status == MAM_OK) {
			ck_assert_int_eq(mam_free(i % 2 ? pool : NULL, block), MAM_OK);
			ck_assert_int_eq(mam_free(pool, block), MAM_ERROR_DOUBLE_FREE);
		}
	}
	release();
	ck_assert_uint_eq(numbers(pool).live_blocks, 0);
	block = pool_alloc(pool, 512);
	pool_free(pool, block);
	ck_assert_uint_ge(numbers(pool).cached_blocks, 1); /* memory is available again */
	done_with(pool);
}
END_TEST

START_TEST(pool_works_without_host_memory_for_cache)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = MIB });
	void *block;

	use_up(0);
	mam_cache_open(f->pool, 12345);
	release();
	ck_assert_ptr_null(f->pool->cache);
	ck_assert_int_eq(mam_cache_alloc(f->pool, 512, 0, &block), MAM_OK);
	ck_assert_int_eq(mam_cache_free(f->pool, block), MAM_OK);
	ck_assert_uint_eq(stats_of(f).segments, 1);
	fixture_end(f);
}
END_TEST
#endif

int main(void)
{
	TCase *tcase = suite_begin("cache/failure");

#if !TESTS_ASAN && !TESTS_TSAN
	tcase_add_loop_test(tcase, cache_works_with_any_amount_of_host_memory, 0, 100);
	tcase_add_test(tcase, pool_works_without_host_memory_for_cache);
#else
	(void)tcase;
	puts("skip - host memory refused to a cache: sanitizers map memory of their own");
#endif
	return suite_end();
}
