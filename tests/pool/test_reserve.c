/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam_pool_reserve: afterwards a block of that size is allocated without a source call, on chunks
 * and on pieces. It stays within the limit, or fails.
 */
#include <mam/pools.h>

#include <stdlib.h>

#include "fixture.h"
#include "source/source.h"

static void reserve(struct fixture *f, size_t bytes)
{
	ck_assert_int_eq(mam_pool_reserve(f->pool, bytes), MAM_OK);
	intact(f);
}

/* Allocates a block from memory that the pool has; the source aborts the test at any call. */
static void *alloc_there(struct fixture *f, size_t bytes)
{
	void *block;

	atomic_store(&f->space.forbidden, true);
	block = alloc(f, bytes);
	atomic_store(&f->space.forbidden, false);
	return block;
}

static const size_t sizes[] = { 1, 512, 4000, 64 * KIB, 64 * KIB + 1, 200 * KIB, 3 * MIB };

START_TEST(reserved_memory_needs_no_source_call)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .growth_bytes = 64 * KIB });

	reserve(f, sizes[_i]);
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 1);
	alloc_there(f, sizes[_i]);
	fixture_end(f);
}
END_TEST

START_TEST(reserve_counts_only_growth)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .growth_bytes = 64 * KIB });
	struct mam_stats stats;

	reserve(f, 100 * KIB);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.allocs, 0);
	ck_assert_uint_eq(stats.frees, 0);
	ck_assert_uint_eq(stats.failures, 0);
	ck_assert_uint_eq(stats.peak_live_bytes, 0);
	ck_assert_uint_eq(stats.high_water_bytes, 0);
	ck_assert_uint_eq(stats.grows, 1);
	ck_assert_uint_eq(stats.reserved_bytes, 100 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(existing_free_space_is_sufficient)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = 64 * KIB });
	void *block = alloc(f, 16 * KIB);

	alloc(f, 16 * KIB);
	dealloc(f, block);
	atomic_store(&f->space.forbidden, true);
	reserve(f, 16 * KIB); /* a free block */
	reserve(f, 32 * KIB); /* the tail */
	reserve(f, 32 * KIB); /* it is still there */
	reserve(f, 0);
	atomic_store(&f->space.forbidden, false);
	reserve(f, 32 * KIB + 1);
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 2);
	fixture_end(f);
}
END_TEST

START_TEST(reserve_respects_limit)
{
	struct fixture *f = fixture_new(
		&(struct mam_pool_config){ .growth_bytes = 64 * KIB, .limit_bytes = 128 * KIB });
	struct mam_stats before, after;

	alloc(f, 64 * KIB);
	before = stats_of(f);
	ck_assert_int_eq(mam_pool_reserve(f->pool, 65 * KIB), MAM_ERROR_OUT_OF_MEMORY);
	after = stats_of(f);
	ck_assert_uint_eq(after.failures, 1);
	after.failures = 0;
	after.host_bytes = before.host_bytes;
	ck_assert_mem_eq(&before, &after, sizeof(before));
	reserve(f, 64 * KIB);
	alloc_there(f, 64 * KIB);
	ck_assert_int_eq(mam_pool_reserve(f->pool, 1), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_reserve(f->pool, SIZE_MAX), MAM_ERROR_OUT_OF_MEMORY);
	fixture_end(f);
}
END_TEST

START_TEST(reserve_fails_if_source_refuses)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .growth_bytes = 64 * KIB });

	space_refuse(&f->space, SPACE_GROW, 1, 100, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_reserve(f->pool, 1), MAM_ERROR_OUT_OF_MEMORY);
	space_refuse(&f->space, SPACE_GROW, 1, 100, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_reserve(f->pool, 1), MAM_ERROR_DRIVER);
	space_refuse_none(&f->space);
	reserve(f, 1);
	fixture_end(f);
}
END_TEST

START_TEST(invalid_arguments_are_rejected)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .growth_bytes = 64 * KIB });

	ck_assert_int_eq(mam_pool_reserve(NULL, 1), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_fini(f->pool), MAM_OK);
	ck_assert_int_eq(mam_pool_reserve(f->pool, 1), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_reserve(f->pool, 0), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_reserve(f->pool, SIZE_MAX), MAM_ERROR_DESTROYED);
	fixture_end(f);
}
END_TEST

static const size_t mapped_sizes[] = { 1, 64 * KIB, MIB, 2 * MIB + 1, 40 * MIB, 500 * MIB };

START_TEST(reserve_maps_pieces)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct mam_pool *pool = calloc(1, sizeof(*pool));
	struct mam_pool_config config = { .limit_bytes = 600 * MIB };
	struct mam_stats before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
	struct mam_source *source;
	void *block;

	attr.simulated = true;
	ck_assert_ptr_nonnull(pool);
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_OK);
	ck_assert_int_eq(mam_pool_init(pool, source, true, &config), MAM_OK);
	ck_assert_int_eq(mam_pool_reserve(pool, mapped_sizes[_i]), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(pool, &before), MAM_OK);
	ck_assert_uint_ge(before.physical_bytes, mapped_sizes[_i]);
	ck_assert_uint_eq(before.allocs, 0);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, mapped_sizes[_i], 0, &block), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(pool, &after), MAM_OK);
	ck_assert_uint_eq(after.driver_calls, before.driver_calls);
	ck_assert_uint_eq(after.physical_bytes, before.physical_bytes);
	ck_assert_int_eq(mam_pool_reserve(pool, 601 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_free(pool, block), MAM_OK);
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
	/* And a lowered limit unmaps free memory. */
	ck_assert_int_eq(mam_pool_set_limit(pool, 4 * MIB), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(pool, &after), MAM_OK);
	ck_assert_uint_le(after.physical_bytes, 4 * MIB);
	ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
	free(pool);
}
END_TEST

int main(void)
{
	TCase *tests = suite_begin("pool/reserve");

	tcase_add_loop_test(tests, reserved_memory_needs_no_source_call, 0,
			    sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_test(tests, reserve_counts_only_growth);
	tcase_add_test(tests, existing_free_space_is_sufficient);
	tcase_add_test(tests, reserve_respects_limit);
	tcase_add_test(tests, reserve_fails_if_source_refuses);
	tcase_add_test(tests, invalid_arguments_are_rejected);
	tcase_add_loop_test(tests, reserve_maps_pieces, 0,
			    sizeof(mapped_sizes) / sizeof(mapped_sizes[0]));
	return suite_end();
}
