/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing the limit: a raised limit permits growth. A lowered limit releases free memory and stops
 * growth, and never takes memory in use.
 */
#include <mam/pools.h>

#include <pthread.h>

#include "fixture.h"

static struct fixture *limited(size_t growth, size_t limit)
{
	return fixture_new(
		&(struct mam_pool_config){ .growth_bytes = growth, .limit_bytes = limit });
}

static void ck_assert_limit(struct fixture *f, size_t want)
{
	size_t limit = ~want;

	ck_assert_int_eq(mam_pool_limit(f->pool, &limit), MAM_OK);
	ck_assert_uint_eq(limit, want);
}

START_TEST(raised_limit_permits_growth)
{
	struct fixture *f = limited(64 * KIB, 64 * KIB);

	ck_assert_limit(f, 64 * KIB);
	alloc(f, 64 * KIB);
	refused(f, 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 128 * KIB), MAM_OK);
	ck_assert_limit(f, 128 * KIB);
	alloc(f, 64 * KIB);
	refused(f, 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 0), MAM_OK);
	ck_assert_limit(f, 0);
	alloc(f, 64 * MIB);
	fixture_end(f);
}
END_TEST

START_TEST(limit_can_be_set_on_unlimited_pool)
{
	struct fixture *f = limited(64 * KIB, 0);

	alloc(f, 64 * KIB);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 100 * KIB), MAM_OK);
	refused(f, 64 * KIB, 0, MAM_ERROR_OUT_OF_MEMORY);
	alloc(f, 36 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(lowered_limit_keeps_memory_in_use)
{
	struct fixture *f = limited(64 * KIB, 0);
	void *blocks[4];

	for (int i = 0; i < 4; i++)
		blocks[i] = alloc(f, 64 * KIB);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 128 * KIB), MAM_OK);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 256 * KIB);
	intact(f);
	refused(f, 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	dealloc(f, blocks[0]);
	alloc(f, 64 * KIB); /* free memory is still allocated */
	refused(f, 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	dealloc(f, blocks[1]);
	dealloc(f, blocks[2]);
	dealloc(f, blocks[3]);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 64 * KIB);
	alloc(f, 64 * KIB);
	refused(f, 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	fixture_end(f);
}
END_TEST

START_TEST(lowered_limit_releases_free_memory)
{
	struct fixture *f = limited(64 * KIB, 0);
	void *blocks[8];

	for (int i = 0; i < 8; i++)
		blocks[i] = alloc(f, 64 * KIB);
	for (int i = 0; i < 6; i++)
		dealloc(f, blocks[i]);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 256 * KIB), MAM_OK);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 256 * KIB); /* no more than necessary */
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 64 * KIB), MAM_OK);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 128 * KIB); /* the two in use */
	fixture_end(f);
}
END_TEST

START_TEST(limit_between_chunks_releases_whole_chunk)
{
	struct fixture *f = limited(64 * KIB, 0);
	void *kept = alloc(f, 64 * KIB), *freed = alloc(f, 64 * KIB);

	dealloc(f, freed);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 100 * KIB), MAM_OK);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 64 * KIB);
	dealloc(f, kept);
	fixture_end(f);
}
END_TEST

START_TEST(chunk_refused_by_source_stays_over_limit)
{
	struct fixture *f = limited(64 * KIB, 0);

	dealloc(f, alloc(f, 64 * KIB));
	space_refuse(&f->space, SPACE_SHRINK, 1, 100, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 4 * KIB), MAM_OK);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 64 * KIB);
	intact(f);
	alloc(f, 64 * KIB);
	refused(f, 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	space_refuse_none(&f->space);
	fixture_end(f);
}
END_TEST

START_TEST(invalid_arguments_are_rejected)
{
	struct fixture *f = limited(64 * KIB, 0);
	size_t bytes = 7;

	ck_assert_int_eq(mam_pool_set_limit(NULL, 1), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_limit(NULL, &bytes), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_limit(f->pool, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_fini(f->pool), MAM_OK);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 1), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_limit(f->pool, &bytes), MAM_ERROR_DESTROYED);
	ck_assert_uint_eq(bytes, 7);
	fixture_end(f);
}
END_TEST

static _Atomic bool over;

static void *churn(void *user)
{
	struct fixture *f = user;

	for (int i = 0; i < 3000; i++) {
		void *block;

		if (mam_pool_alloc(f->pool, 16 * KIB, 0, &block) == MAM_OK &&
		    mam_pool_free(f->pool, block) != MAM_OK)
			over = true;
	}
	return NULL;
}

static _Atomic bool changed; /* for the last time */

static void *prove(void *user)
{
	while (!changed)
		intact(user);
	return NULL;
}

/*
 * While other threads allocate and one checks the pool: it is intact at any time, and within its
 * limit at the end.
 */
START_TEST(limit_changes_while_other_threads_allocate)
{
	struct fixture *f = limited(16 * KIB, 0);
	pthread_t threads[3], looker;

	ck_assert_int_eq(pthread_create(&looker, NULL, prove, f), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, f), 0);
	for (int i = 0; i < 500; i++) {
		ck_assert_int_eq(mam_pool_set_limit(f->pool, (size_t)(i % 4) * 16 * KIB), MAM_OK);
		intact(f);
	}
	changed = true;
	pthread_join(looker, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert(!over);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 16 * KIB), MAM_OK);
	ck_assert_uint_le(stats_of(f).reserved_bytes, 16 * KIB);
	ck_assert(!f->pool->over_limit);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tests = suite_begin("pool/limit");

	tcase_add_test(tests, raised_limit_permits_growth);
	tcase_add_test(tests, limit_can_be_set_on_unlimited_pool);
	tcase_add_test(tests, lowered_limit_keeps_memory_in_use);
	tcase_add_test(tests, lowered_limit_releases_free_memory);
	tcase_add_test(tests, limit_between_chunks_releases_whole_chunk);
	tcase_add_test(tests, chunk_refused_by_source_stays_over_limit);
	tcase_add_test(tests, invalid_arguments_are_rejected);
	tcase_add_test(tests, limit_changes_while_other_threads_allocate);
	return suite_end();
}
