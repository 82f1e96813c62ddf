/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls for a thread that a running kernel waits for (pool/prompt.c), on a source that maps
 * memory in pieces. They map new pieces, and none is moved, unmapped or waited for.
 */
#include "mapped.h"

#include <pthread.h>

#define PATIENCE_NS UINT64_C(3000000)

static enum mam_status try_alloc_new(size_t bytes, size_t alignment, void **block)
{
	return mam_pool_alloc_new(pool, bytes, alignment, PATIENCE_NS, block);
}

static void *alloc_new(size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(try_alloc_new(bytes, 0, &block), MAM_OK);
	ck_assert_ptr_nonnull(block);
	prove();
	return block;
}

static void alloc_new_fails(size_t bytes, enum mam_status status)
{
	uint64_t failures = stats().failures;
	void *untouched = &pool, *block = untouched;

	ck_assert_int_eq(try_alloc_new(bytes, 0, &block), status);
	ck_assert_ptr_eq(block, untouched);
	ck_assert_uint_eq(stats().failures, failures + 1);
	prove();
}

static void free_now(void *block)
{
	ck_assert_int_eq(mam_pool_free_now(pool, block), MAM_OK);
}

/* Since `made` was last cleared, memory was mapped this many times, and no other call was made. */
static void only_mapped(unsigned times)
{
	ck_assert_uint_eq(made[MAP], times);
	ck_assert_uint_eq(made[GROW] + made[SHRINK] + made[UNMAP] + made[MOVE] + made[QUIESCE], 0);
	memset(made, 0, sizeof(made));
}

static void watch(void)
{
	memset(made, 0, sizeof(made));
}

START_TEST(mapped_memory_is_used_without_source_call)
{
	void *free_block = alloc(16 * MIB);

	alloc(MIB);
	dealloc(free_block);
	watch();
	ck_assert_ptr_eq(alloc_new(16 * MIB), free_block);
	only_mapped(0);
}
END_TEST

START_TEST(missing_memory_is_mapped_in_one_piece)
{
	watch();
	alloc_new(64 * MIB);
	only_mapped(1);
	ck_assert_uint_eq(stats().physical_bytes, 64 * MIB);
	alloc_new((size_t)2 << 30); /* the largest piece is 1 GiB */
	only_mapped(2);
	alloc((size_t)1 << 30); /* an ordinary request maps pieces that can be moved */
	ck_assert_uint_gt(made[MAP], 1);
}
END_TEST

START_TEST(free_block_beside_unmapped_addresses_grows)
{
	void *low = alloc(32 * MIB);

	alloc(MIB * 2);
	dealloc(alloc(8 * MIB)); /* free, with unmapped addresses above */
	dealloc(low);            /* and a larger free block, without */
	watch();
	alloc_new(40 * MIB);
	only_mapped(1);
	ck_assert_uint_eq(stats().physical_bytes, 32 * MIB + 2 * MIB + 40 * MIB);
}
END_TEST

START_TEST(free_pieces_elsewhere_are_not_moved_or_released)
{
	void *low = alloc(64 * MIB), *block;

	alloc(2 * MIB);
	dealloc(low);
	watch();
	alloc_new(66 * MIB);
	only_mapped(1);
	ck_assert_uint_eq(stats().physical_bytes, (64 + 2 + 66) * MIB);
	ck_assert_int_eq(mam_pool_alloc(pool, 96 * MIB, 0, &block), MAM_OK);
	/* An ordinary request would have used them. */
	ck_assert_uint_gt(made[MOVE] + made[UNMAP], 0);
	prove();
}
END_TEST

START_TEST(limit_is_kept_although_a_move_would_help)
{
	struct mam_pool_config config = config_of(0, 0, 96 * MIB);
	void *low, *block = NULL;

	fresh_pool((size_t)8 << 30, 0, &config);
	low = alloc(64 * MIB);
	alloc(2 * MIB);
	dealloc(low);
	watch();
	alloc_new_fails(66 * MIB, MAM_ERROR_OUT_OF_MEMORY);
	only_mapped(0);
	alloc_new(64 * MIB);
	alloc_new(30 * MIB);
	only_mapped(1);
	ck_assert_uint_eq(stats().physical_bytes, 96 * MIB);
	alloc_new_fails(512, MAM_ERROR_OUT_OF_MEMORY);
	limit_to(98 * MIB);
	ck_assert_int_eq(try_alloc_new(64 << 10, 64 << 10, &block), MAM_OK);
	ck_assert_uint_eq((uintptr_t)block % (64 << 10), 0);
	prove();
}
END_TEST

START_TEST(pool_without_growth_maps_nothing)
{
	struct mam_pool_config config = config_of(MAM_GROWTH_NONE, 16 * MIB, 0);

	fresh_pool((size_t)8 << 30, 0, &config);
	watch();
	alloc_new(16 * MIB);
	alloc_new_fails(512, MAM_ERROR_OUT_OF_MEMORY);
	only_mapped(0);
}
END_TEST

START_TEST(growth_step_is_mapped_if_it_fits)
{
	struct mam_pool_config config = config_of(32 * MIB, 0, 40 * MIB);

	fresh_pool((size_t)8 << 30, 0, &config);
	watch();
	alloc_new(2 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 32 * MIB);
	alloc_new(30 * MIB);
	only_mapped(1);
	alloc_new(2 * MIB); /* 8 MiB are left of the limit, and are mapped */
	only_mapped(1);
	ck_assert_uint_eq(stats().physical_bytes, 40 * MIB);
}
END_TEST

START_TEST(refused_step_falls_back_to_missing_bytes)
{
	struct mam_pool_config config = config_of(32 * MIB, 0, 0);

	fresh_pool((size_t)8 << 30, 0, &config);
	watch();
	refuse_at[MAP] = 1;
	alloc_new(2 * MIB);
	only_mapped(2);
	ck_assert_uint_eq(stats().physical_bytes, 2 * MIB);
	refuse_at[MAP] = 1;
	refuse_times = 100;
	alloc_new_fails(4 * MIB, MAM_ERROR_OUT_OF_MEMORY);
	only_mapped(2);
	refuse_at[MAP] = 1;
	alloc_new_fails(64 * MIB, MAM_ERROR_OUT_OF_MEMORY); /* more than a step */
	only_mapped(1);
}
END_TEST

START_TEST(full_device_is_not_called)
{
	fresh_pool(64 * MIB, 0, NULL);
	watch();
	alloc_new_fails(66 * MIB, MAM_ERROR_OUT_OF_MEMORY);
	only_mapped(0);
	alloc_new(62 * MIB);
	alloc_new(512);
	only_mapped(2);
	alloc_new_fails(2 * MIB, MAM_ERROR_OUT_OF_MEMORY);
}
END_TEST

/* Each of the calls for 3 GiB fails in turn, with each status. */
START_TEST(pool_stays_intact_after_each_refusal)
{
	const enum mam_status statuses[] = { MAM_ERROR_OUT_OF_MEMORY, MAM_ERROR_DRIVER,
					     MAM_ERROR_NO_DEVICE };
	const unsigned nth = 1 + (unsigned)_i % 3;
	void *block = NULL;

	refusal = statuses[_i / 3];
	watch();
	refuse_at[MAP] = nth;
	refuse_times = 100;
	alloc_new_fails((size_t)3 << 30, refusal);
	refuse_at[MAP] = 0;
	ck_assert_uint_eq(made[UNMAP] + made[MOVE] + made[QUIESCE], 0);
	/* The memory already mapped is free for the next request. */
	ck_assert_uint_ge(stats().physical_bytes, (nth - 1) * ((size_t)1 << 30));
	ck_assert_int_eq(try_alloc_new((size_t)3 << 30, 0, &block), MAM_OK);
	prove();
	ck_assert_uint_eq(made[UNMAP] + made[MOVE] + made[QUIESCE], 0);
}
END_TEST

START_TEST(metadata_failure_makes_no_extra_call)
{
	unsigned failed = 0;

	if (!MAM_DEBUG)
		return;
	watch();
	for (int i = 0; i < 200; i++) {
		void *block = NULL;
		enum mam_status status;

		mam_records_refuse_at(1);
		status = try_alloc_new(2 * MIB, 64 << 10, &block);
		mam_records_refuse_at(0);
		prove();
		if (status == MAM_OK)
			continue;
		ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
		failed++;
		alloc_new(2 * MIB);
	}
	ck_assert_uint_gt(failed, 0);
	ck_assert_uint_eq(made[UNMAP] + made[MOVE] + made[QUIESCE], 0);
}
END_TEST

START_TEST(prompt_free_is_fenced_before_unmap)
{
	struct mam_pool_config config = config_of(0, 0, 0);
	void *block;

	config.free_policy = MAM_FREE_STRICT;
	fresh_pool((size_t)8 << 30, 0, &config);
	alloc(2 * MIB);
	block = alloc_new(64 * MIB);
	watch();
	free_now(block);
	only_mapped(0);
	trim_all();
	ck_assert_uint_gt(made[UNMAP], 0);
	ck_assert_uint_eq(made[QUIESCE], 1);
	block = alloc_new(64 * MIB);
	watch();
	dealloc(block); /* its caller waited (mam_pool_quiesce) */
	trim_all();
	ck_assert_uint_eq(made[QUIESCE], 0);
}
END_TEST

/*
 * Another thread is in the middle of an unmap, which may wait for the device because of the fence
 * before it.
 */
static enum mam_status other_status;
static void *served;
static pthread_t server;

static void *alloc_meanwhile(void *unused)
{
	(void)unused;
	other_status = try_alloc_new(64 * MIB, 0, &served);
	return NULL;
}

static void meet_unmap(enum call call)
{
	if (call != UNMAP)
		return;
	meanwhile = NULL;
	ck_assert_int_eq(pthread_create(&server, NULL, alloc_meanwhile, NULL), 0);
	pthread_join(server, NULL); /* does not wait for this call to end */
}

START_TEST(prompt_alloc_does_not_wait_for_unmapping_thread)
{
	dealloc(alloc(64 * MIB));
	alloc(2 * MIB);
	meanwhile = meet_unmap;
	trim_all();
	ck_assert_int_eq(other_status, MAM_ERROR_WOULD_WAIT);
	ck_assert_ptr_null(served);
	alloc_new(64 * MIB);
}
END_TEST

#define TURNS 200

static void *serve(void *unused)
{
	void *block[8] = { NULL };

	(void)unused;
	for (int i = 0; i < TURNS; i++) {
		void **place = &block[i % 8];

		if (*place)
			free_now(*place);
		*place = NULL;
		(void)try_alloc_new((size_t)(1 + i % 5) * 3 * MIB, i % 3 == 0 ? 64 << 10 : 0,
				    place);
	}
	for (int i = 0; i < 8; i++)
		if (block[i])
			free_now(block[i]);
	return NULL;
}

static void *work(void *unused)
{
	(void)unused;
	for (int i = 0; i < TURNS; i++) {
		void *block = NULL;

		if (mam_pool_alloc(pool, (size_t)(1 + i % 7) * 2 * MIB, 0, &block) == MAM_OK)
			dealloc(block);
		if (i % 16 == 0)
			trim_all();
	}
	return NULL;
}

START_TEST(prompt_calls_work_beside_other_threads)
{
	struct mam_pool_config config = config_of(0, 0, 128 * MIB);
	pthread_t thread[4];

	fresh_pool((size_t)8 << 30, 0, &config);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, i < 2 ? serve : work, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	prove();
	ck_assert_uint_eq(stats().live_blocks, 0);
	ck_assert_uint_le(stats().peak_physical_bytes, 128 * MIB);
}
END_TEST

int main(void)
{
	TCase *tcase = mapped_begin("pool/prompt_mapped");

	tcase_add_test(tcase, mapped_memory_is_used_without_source_call);
	tcase_add_test(tcase, missing_memory_is_mapped_in_one_piece);
	tcase_add_test(tcase, free_block_beside_unmapped_addresses_grows);
	tcase_add_test(tcase, free_pieces_elsewhere_are_not_moved_or_released);
	tcase_add_test(tcase, limit_is_kept_although_a_move_would_help);
	tcase_add_test(tcase, pool_without_growth_maps_nothing);
	tcase_add_test(tcase, growth_step_is_mapped_if_it_fits);
	tcase_add_test(tcase, refused_step_falls_back_to_missing_bytes);
	tcase_add_test(tcase, full_device_is_not_called);
	tcase_add_loop_test(tcase, pool_stays_intact_after_each_refusal, 0, 9);
	tcase_add_test(tcase, metadata_failure_makes_no_extra_call);
	tcase_add_test(tcase, prompt_free_is_fenced_before_unmap);
	tcase_add_test(tcase, prompt_alloc_does_not_wait_for_unmapping_thread);
	tcase_add_test(tcase, prompt_calls_work_beside_other_threads);
	return mapped_end();
}
