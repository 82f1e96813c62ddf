/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls for a thread that a running kernel waits for (pool/prompt.c), on a source that maps memory in pieces: new
 * pieces come, and none is moved, unmapped or waited for.
 */
#include "mapped.h"

#include <pthread.h>

#define PATIENCE_NS UINT64_C(3000000)

static enum mam_status take_new(size_t bytes, size_t alignment, void **block)
{
	return mam_pool_alloc_new(pool, bytes, alignment, PATIENCE_NS, block);
}

static void *got_new(size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(take_new(bytes, 0, &block), MAM_OK);
	ck_assert_ptr_nonnull(block);
	prove();
	return block;
}

static void not_got(size_t bytes, enum mam_status status)
{
	uint64_t failures = stats().failures;
	void *untouched = &pool, *block = untouched;

	ck_assert_int_eq(take_new(bytes, 0, &block), status);
	ck_assert_ptr_eq(block, untouched);
	ck_assert_uint_eq(stats().failures, failures + 1);
	prove();
}

static void free_now(void *block)
{
	ck_assert_int_eq(mam_pool_free_now(pool, block), MAM_OK);
}

/* Since `made` was last emptied memory was mapped so many times, and nothing else was called. */
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

START_TEST(what_is_mapped_is_taken_without_a_call)
{
	void *hole = take(16 * MIB);

	take(MIB);
	give(hole);
	watch();
	ck_assert_ptr_eq(got_new(16 * MIB), hole);
	only_mapped(0);
}
END_TEST

START_TEST(what_is_lacking_comes_in_one_piece)
{
	watch();
	got_new(64 * MIB);
	only_mapped(1);
	ck_assert_uint_eq(stats().physical_bytes, 64 * MIB);
	got_new((size_t)2 << 30); /* the largest is 1 GiB */
	only_mapped(2);
	take((size_t)1 << 30); /* an ordinary one is in pieces that can be moved */
	ck_assert_uint_gt(made[MAP], 1);
}
END_TEST

START_TEST(a_hole_with_void_beside_it_is_made_larger)
{
	void *low = take(32 * MIB);

	take(MIB * 2);
	give(take(8 * MIB)); /* free, with void above */
	give(low);           /* and a larger hole, with none */
	watch();
	got_new(40 * MIB);
	only_mapped(1);
	ck_assert_uint_eq(stats().physical_bytes, 32 * MIB + 2 * MIB + 40 * MIB);
}
END_TEST

START_TEST(free_pieces_elsewhere_neither_move_nor_go)
{
	void *low = take(64 * MIB), *block;

	take(2 * MIB);
	give(low);
	watch();
	got_new(66 * MIB);
	only_mapped(1);
	ck_assert_uint_eq(stats().physical_bytes, (64 + 2 + 66) * MIB);
	ck_assert_int_eq(mam_pool_alloc(pool, 96 * MIB, 0, &block), MAM_OK);
	ck_assert_uint_gt(made[MOVE] + made[UNMAP], 0); /* an ordinary one would have used them */
	prove();
}
END_TEST

START_TEST(the_limit_is_kept_though_moving_would_help)
{
	struct mam_pool_config config = config_of(0, 0, 96 * MIB);
	void *low, *block = NULL;

	fresh_pool((size_t)8 << 30, 0, &config);
	low = take(64 * MIB);
	take(2 * MIB);
	give(low);
	watch();
	not_got(66 * MIB, MAM_ERROR_OUT_OF_MEMORY);
	only_mapped(0);
	got_new(64 * MIB);
	got_new(30 * MIB);
	only_mapped(1);
	ck_assert_uint_eq(stats().physical_bytes, 96 * MIB);
	not_got(512, MAM_ERROR_OUT_OF_MEMORY);
	limit_to(98 * MIB);
	ck_assert_int_eq(take_new(64 << 10, 64 << 10, &block), MAM_OK);
	ck_assert_uint_eq((uintptr_t)block % (64 << 10), 0);
	prove();
}
END_TEST

START_TEST(a_pool_that_does_not_grow_does_not)
{
	struct mam_pool_config config = config_of(MAM_GROWTH_NONE, 16 * MIB, 0);

	fresh_pool((size_t)8 << 30, 0, &config);
	watch();
	got_new(16 * MIB);
	not_got(512, MAM_ERROR_OUT_OF_MEMORY);
	only_mapped(0);
}
END_TEST

START_TEST(a_step_of_growth_comes_with_it_and_is_left_away_where_it_does_not_fit)
{
	struct mam_pool_config config = config_of(32 * MIB, 0, 40 * MIB);

	fresh_pool((size_t)8 << 30, 0, &config);
	watch();
	got_new(2 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 32 * MIB);
	got_new(30 * MIB);
	only_mapped(1);
	got_new(2 * MIB); /* 8 MiB are left of the limit, which is what comes */
	only_mapped(1);
	ck_assert_uint_eq(stats().physical_bytes, 40 * MIB);
}
END_TEST

START_TEST(a_source_that_refuses_the_step_is_asked_for_what_is_lacking)
{
	struct mam_pool_config config = config_of(32 * MIB, 0, 0);

	fresh_pool((size_t)8 << 30, 0, &config);
	watch();
	refuse_at[MAP] = 1;
	got_new(2 * MIB);
	only_mapped(2);
	ck_assert_uint_eq(stats().physical_bytes, 2 * MIB);
	refuse_at[MAP] = 1;
	refuse_times = 100;
	not_got(4 * MIB, MAM_ERROR_OUT_OF_MEMORY);
	only_mapped(2);
	refuse_at[MAP] = 1;
	not_got(64 * MIB, MAM_ERROR_OUT_OF_MEMORY); /* more than a step */
	only_mapped(1);
}
END_TEST

START_TEST(a_device_without_room_is_not_asked)
{
	fresh_pool(64 * MIB, 0, NULL);
	watch();
	not_got(66 * MIB, MAM_ERROR_OUT_OF_MEMORY);
	only_mapped(0);
	got_new(62 * MIB);
	got_new(512);
	only_mapped(2);
	not_got(2 * MIB, MAM_ERROR_OUT_OF_MEMORY);
}
END_TEST

/* Of the calls for 3 GiB, each fails in turn, by each answer there is. */
START_TEST(every_refusal_leaves_the_pool_in_order)
{
	const enum mam_status answers[] = { MAM_ERROR_OUT_OF_MEMORY, MAM_ERROR_DRIVER,
					    MAM_ERROR_NO_DEVICE };
	const unsigned nth = 1 + (unsigned)_i % 3;
	void *block = NULL;

	refusal = answers[_i / 3];
	watch();
	refuse_at[MAP] = nth;
	refuse_times = 100;
	not_got((size_t)3 << 30, refusal);
	refuse_at[MAP] = 0;
	ck_assert_uint_eq(made[UNMAP] + made[MOVE] + made[QUIESCE], 0);
	/* What came is ground, of use to the next. */
	ck_assert_uint_ge(stats().physical_bytes, (nth - 1) * ((size_t)1 << 30));
	ck_assert_int_eq(take_new((size_t)3 << 30, 0, &block), MAM_OK);
	prove();
	ck_assert_uint_eq(made[UNMAP] + made[MOVE] + made[QUIESCE], 0);
}
END_TEST

START_TEST(no_failure_of_the_metadata_calls_for_more)
{
	unsigned failed = 0;

	if (!MAM_DEBUG)
		return;
	watch();
	for (int i = 0; i < 200; i++) {
		void *block = NULL;
		enum mam_status status;

		mam_records_refuse_at(1);
		status = take_new(2 * MIB, 64 << 10, &block);
		mam_records_refuse_at(0);
		prove();
		if (status == MAM_OK)
			continue;
		ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
		failed++;
		got_new(2 * MIB);
	}
	ck_assert_uint_gt(failed, 0);
	ck_assert_uint_eq(made[UNMAP] + made[MOVE] + made[QUIESCE], 0);
}
END_TEST

START_TEST(a_free_is_fenced_before_its_memory_moves_whatever_the_policy_is)
{
	struct mam_pool_config config = config_of(0, 0, 0);
	void *block;

	config.free_policy = MAM_FREE_STRICT;
	fresh_pool((size_t)8 << 30, 0, &config);
	take(2 * MIB);
	block = got_new(64 * MIB);
	watch();
	free_now(block);
	only_mapped(0);
	give_back_free();
	ck_assert_uint_gt(made[UNMAP], 0);
	ck_assert_uint_eq(made[QUIESCE], 1);
	block = got_new(64 * MIB);
	watch();
	give(block); /* its caller waited (mam_pool_quiesce) */
	give_back_free();
	ck_assert_uint_eq(made[QUIESCE], 0);
}
END_TEST

/* Another thread in the middle of an unmap, which may wait for the device by the fence before it. */
static enum mam_status met;
static void *served;
static pthread_t server;

static void *ask(void *unused)
{
	(void)unused;
	met = take_new(64 * MIB, 0, &served);
	return NULL;
}

static void meet_unmap(enum call call)
{
	if (call != UNMAP)
		return;
	meanwhile = NULL;
	ck_assert_int_eq(pthread_create(&server, NULL, ask, NULL), 0);
	pthread_join(server, NULL); /* it does not wait for this call to end */
}

START_TEST(a_thread_that_unmaps_is_not_waited_for)
{
	give(take(64 * MIB));
	take(2 * MIB);
	meanwhile = meet_unmap;
	give_back_free();
	ck_assert_int_eq(met, MAM_ERROR_WOULD_WAIT);
	ck_assert_ptr_null(served);
	got_new(64 * MIB);
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
		(void)take_new((size_t)(1 + i % 5) * 3 * MIB, i % 3 == 0 ? 64 << 10 : 0, place);
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
			give(block);
		if (i % 16 == 0)
			give_back_free();
	}
	return NULL;
}

START_TEST(among_others_that_allocate_free_and_trim)
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

	tcase_add_test(tcase, what_is_mapped_is_taken_without_a_call);
	tcase_add_test(tcase, what_is_lacking_comes_in_one_piece);
	tcase_add_test(tcase, a_hole_with_void_beside_it_is_made_larger);
	tcase_add_test(tcase, free_pieces_elsewhere_neither_move_nor_go);
	tcase_add_test(tcase, the_limit_is_kept_though_moving_would_help);
	tcase_add_test(tcase, a_pool_that_does_not_grow_does_not);
	tcase_add_test(tcase,
		       a_step_of_growth_comes_with_it_and_is_left_away_where_it_does_not_fit);
	tcase_add_test(tcase, a_source_that_refuses_the_step_is_asked_for_what_is_lacking);
	tcase_add_test(tcase, a_device_without_room_is_not_asked);
	tcase_add_loop_test(tcase, every_refusal_leaves_the_pool_in_order, 0, 9);
	tcase_add_test(tcase, no_failure_of_the_metadata_calls_for_more);
	tcase_add_test(tcase, a_free_is_fenced_before_its_memory_moves_whatever_the_policy_is);
	tcase_add_test(tcase, a_thread_that_unmaps_is_not_waited_for);
	tcase_add_test(tcase, among_others_that_allocate_free_and_trim);
	return mapped_end();
}
