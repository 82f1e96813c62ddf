/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cached.h - a pool of host addresses with a cache, made through the public interface, and its
 * statistics.
 */
#ifndef TESTS_CACHE_CACHED_H
#define TESTS_CACHE_CACHED_H

#include <check.h>

#include <mam/mam.h>
#include <mam/stats.h>

#include "../pool/fixture.h"
#include "cache/cache.h"
#include "pool/handle.h"

static inline struct mam_pool *cached_pool(size_t chunk_bytes)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool = NULL;

	attr.source = "host";
	attr.chunk_bytes = chunk_bytes;
	attr.cache = MAM_CACHE_ON;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_ptr_nonnull(mam_handle_storage(pool)->cache);
	return pool;
}

static inline struct mam_stats numbers(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	char why[256] = "";

	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.allocs - stats.frees, stats.live_blocks);
	return stats;
}

static inline void *pool_alloc(struct mam_pool *pool, size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc(pool, bytes, &block), MAM_OK);
	ck_assert_ptr_nonnull(block);
	return block;
}

static inline void pool_free(struct mam_pool *pool, void *block)
{
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
}

static inline void done_with(struct mam_pool *pool)
{
	ck_assert_uint_eq(numbers(pool).live_blocks, 0);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}

#endif
