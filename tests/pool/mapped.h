/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped.h - a pool on a source that maps memory in pieces, and helpers shared by its tests.
 *
 * The source wraps the simulated vmm in a table of functions that counts calls, refuses the ones
 * that a test selects, and lets a test run code in the middle of one. Check runs each test in its
 * own process, so all state is static.
 */
#ifndef TESTS_POOL_MAPPED_H
#define TESTS_POOL_MAPPED_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mam/pools.h>

#include "pool/growth_policy.h"
#include "pool/pool.h"
#include "pool/range.h"
#include "source/source.h"

#define MIB ((size_t)1 << 20)

enum call { GROW, SHRINK, MAP, UNMAP, MOVE, QUIESCE, CALLS };

static struct mam_source *inner;
static struct mam_source outer;
static struct mam_source_ops ops;
static unsigned int made[CALLS];
static unsigned int refuse_at[CALLS]; /* 0: none */
static unsigned int refuse_times;     /* number of calls from there on */
static enum mam_status refusal;
static uint64_t bad_from, bad_to;         /* addresses where mapping always fails */
static void (*meanwhile)(enum call call); /* what another thread does during a call, or NULL */
static bool loses;
static struct mam_pool *pool;

static inline bool refused(enum call call)
{
	made[call]++;
	if (meanwhile)
		meanwhile(call);
	return refuse_at[call] != 0 && made[call] >= refuse_at[call] &&
	       made[call] - refuse_at[call] < refuse_times;
}

static inline bool is_bad(const void *base, size_t bytes)
{
	return (uintptr_t)base < bad_to && bad_from < (uintptr_t)base + bytes;
}

static inline enum mam_status do_grow(struct mam_source *source, size_t bytes, void **base)
{
	(void)source;
	return refused(GROW) ? refusal : inner->ops->grow(inner, bytes, base);
}

static inline enum mam_status do_shrink(struct mam_source *source, void *base, size_t bytes)
{
	(void)source;
	return refused(SHRINK) ? refusal : inner->ops->shrink(inner, base, bytes);
}

static inline enum mam_status do_map(struct mam_source *source, void *base, size_t bytes)
{
	(void)source;
	if (is_bad(base, bytes))
		return MAM_ERROR_DRIVER;
	return refused(MAP) ? refusal : inner->ops->map(inner, base, bytes);
}

static inline enum mam_status do_unmap(struct mam_source *source, void *base, size_t bytes)
{
	(void)source;
	return refused(UNMAP) ? refusal : inner->ops->unmap(inner, base, bytes);
}

static inline enum mam_status do_move(struct mam_source *source, void *from, size_t bytes, void *to,
				      bool *lost)
{
	(void)source;
	*lost = false;
	if (is_bad(to, bytes))
		return MAM_ERROR_DRIVER;
	if (!refused(MOVE))
		return inner->ops->move(inner, from, bytes, to, lost);
	*lost = loses;
	if (loses)
		inner->ops->unmap(inner, from, bytes);
	return refusal;
}

static inline enum mam_status do_quiesce(struct mam_source *source)
{
	(void)source;
	return refused(QUIESCE) ? refusal : MAM_OK;
}

/* range_bytes 0: four times the total. */
static inline void make_source_of(size_t total, size_t range_bytes)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;

	attr.simulated = true;
	attr.total_bytes = total;
	attr.range_bytes = range_bytes;
	ck_assert_int_eq(mam_source_vmm(&attr, &inner), MAM_OK);
	outer.properties = inner->properties;
	ops = (struct mam_source_ops){ .size = sizeof(ops),
				       .grow = do_grow,
				       .shrink = do_shrink,
				       .quiesce = do_quiesce,
				       .map = do_map,
				       .unmap = do_unmap,
				       .move = do_move };
	outer.size = sizeof(outer);
	outer.ops = &ops;
	memset(made, 0, sizeof(made));
	memset(refuse_at, 0, sizeof(refuse_at));
	refusal = MAM_ERROR_OUT_OF_MEMORY;
	refuse_times = 1;
	loses = false;
	bad_from = bad_to = 0;
	meanwhile = NULL;
}

static inline void make_source(size_t total)
{
	make_source_of(total, 0);
}

/* By default frees have waited, because a piece can then move without another wait. */
static inline enum mam_status make_pool(const struct mam_pool_config *config)
{
	struct mam_pool_config defaults = { .free_policy = MAM_FREE_STRICT, .name = "range" };

	pool = calloc(1, sizeof(*pool));
	ck_assert_ptr_nonnull(pool);
	return mam_pool_init(pool, &outer, false, config ? config : &defaults);
}

static inline void set_up(void)
{
	make_source((size_t)8 << 30);
	ck_assert_int_eq(make_pool(NULL), MAM_OK);
}

/* A test may have destroyed its pool itself, or failed to create one. */
static inline void forget_pool(void)
{
	if (atomic_load(&pool->state) == MAM_POOL_READY)
		ck_assert_int_eq(mam_pool_drop(pool), MAM_OK);
	free(pool);
}

/* Frees do not wait. */
static inline void make_stream_pool(size_t limit_bytes)
{
	struct mam_pool_config config = { .free_policy = MAM_FREE_STREAM,
					  .limit_bytes = limit_bytes,
					  .name = "stream" };

	forget_pool();
	ck_assert_int_eq(make_pool(&config), MAM_OK);
}

static inline void tear_down(void)
{
	forget_pool();
	mam_source_destroy(inner);
}

static inline void *alloc(size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(mam_pool_alloc(pool, bytes, 0, &block), MAM_OK);
	return block;
}

static inline void dealloc(void *block)
{
	ck_assert_int_eq(mam_pool_free(pool, block), MAM_OK);
}

static inline struct mam_stats stats(void)
{
	struct mam_stats now = { .size = sizeof(now) };

	ck_assert_int_eq(mam_pool_stats(pool, &now), MAM_OK);
	return now;
}

static inline bool mapped_add_bytes(const struct mam_segment_info *segment, void *user)
{
	*(uint64_t *)user += segment->bytes;
	return true;
}

/* Between calls no memory is in transit: all of it is a live or a free block. */
static inline void prove(void)
{
	char why[200] = "";
	uint64_t bytes = 0;

	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_walk(pool, mapped_add_bytes, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, stats().physical_bytes);
}

static inline void fresh_pool(size_t total, size_t range_bytes,
			      const struct mam_pool_config *config)
{
	tear_down();
	make_source_of(total, range_bytes);
	ck_assert_int_eq(make_pool(config), MAM_OK);
}

static inline void trim_all(void)
{
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
}

static inline void limit_to(uint64_t bytes)
{
	ck_assert_int_eq(mam_pool_set_limit(pool, bytes), MAM_OK);
}

static inline enum mam_status try_alloc(size_t bytes)
{
	void *untouched = &pool, *block = untouched;
	enum mam_status status = mam_pool_alloc(pool, bytes, 0, &block);

	ck_assert(status == MAM_OK || block == untouched);
	prove();
	return status;
}

static inline struct mam_pool_config config_of(size_t growth, size_t chunk, size_t limit)
{
	return (struct mam_pool_config){ .growth_bytes = growth,
					 .chunk_bytes = chunk,
					 .limit_bytes = limit,
					 .free_policy = MAM_FREE_STRICT,
					 .name = "edges" };
}

/* main() of a suite with one test case. */
static Suite *mapped_suite;

static inline TCase *mapped_begin(const char *name)
{
	TCase *tcase = tcase_create(name);

	mapped_suite = suite_create(name);
	suite_add_tcase(mapped_suite, tcase);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 120);
	return tcase;
}

static inline int mapped_end(void)
{
	SRunner *runner = srunner_create(mapped_suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
