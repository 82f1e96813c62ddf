/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paper's five calls: its three ways of use, and the cases in which its own code failed.
 *
 * Everything runs on host addresses (MAM_SOURCE=host), of which there are 80 GiB.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <mam/paper.h>
#include <mam/stats.h>

#include "../api/suite.h"

#define MIB ((size_t)1 << 20)
#define THREADS 8

enum { SUCCESS = 0, INVALID = 1, NO_MEMORY = 2, STATE = 401 };

static void on_host(void)
{
	setenv("MAM_SOURCE", "host", 1);
	setenv("MAM_LOG_FILE", "/dev/null", 1);
}

static void *alloc(size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(MAM_CudaMalloc(&block, bytes), SUCCESS);
	ck_assert_ptr_nonnull(block);
	return block;
}

static struct mam_stats stats_at(const void *block)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	struct mam_pool *pool;

	ck_assert_int_eq(mam_owner(block, &pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats;
}

START_TEST(explicit_creation_uses_given_size)
{
	void *first, *second;

	ck_assert_int_eq(MAM_Create(16 * MIB), SUCCESS);
	first = alloc(MIB);
	second = alloc(15 * MIB);
	ck_assert_uint_eq(stats_at(first).reserved_bytes, 16 * MIB);
	ck_assert_int_eq(MAM_CudaFree(first), SUCCESS);
	ck_assert_int_eq(MAM_CudaFree(second), SUCCESS);
	/* Created explicitly, so it outlives its last block. */
	first = alloc(16 * MIB);
	ck_assert_int_eq(MAM_CudaFree(first), SUCCESS);
	ck_assert_int_eq(MAM_Destroy(), SUCCESS);
	ck_assert_int_eq(MAM_Destroy(), STATE);
}
END_TEST

START_TEST(automatic_creation_takes_largest_chunk)
{
	void *block;

	ck_assert_int_eq(MAM_Create_auto(), SUCCESS);
	block = alloc(1);
	ck_assert_uint_ge(stats_at(block).reserved_bytes, (size_t)75 << 30);
	ck_assert_int_eq(MAM_CudaFree(block), SUCCESS);
	ck_assert_int_eq(MAM_Destroy(), SUCCESS);
}
END_TEST

START_TEST(lazy_environment_ends_with_last_block)
{
	struct mam_pool *pool;
	void *first, *second;

	for (int round = 0; round < 3; round++) {
		first = alloc(MIB);
		second = alloc(MIB);
		ck_assert_uint_ge(stats_at(first).reserved_bytes, (size_t)75 << 30);
		ck_assert_int_eq(MAM_CudaFree(first), SUCCESS);
		ck_assert_int_eq(mam_owner(second, &pool, NULL), MAM_OK);
		ck_assert_int_eq(MAM_CudaFree(second), SUCCESS);
		ck_assert_int_eq(mam_owner(second, NULL, NULL), MAM_ERROR_NOT_OWNED);
		ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_DESTROYED);
		ck_assert_int_eq(MAM_Destroy(), STATE);
	}
}
END_TEST

START_TEST(second_creation_is_refused_and_keeps_first)
{
	void *block;

	ck_assert_int_eq(MAM_Create(MIB), SUCCESS);
	ck_assert_int_eq(MAM_Create(2 * MIB), STATE);
	ck_assert_int_eq(MAM_Create_auto(), STATE);
	block = alloc(MIB);
	ck_assert_uint_eq(stats_at(block).reserved_bytes, MIB);
	ck_assert_int_eq(MAM_CudaFree(block), SUCCESS);
	ck_assert_int_eq(MAM_Destroy(), SUCCESS);

	block = alloc(1); /* a lazily created one counts too */
	ck_assert_int_eq(MAM_Create(MIB), STATE);
	ck_assert_int_eq(MAM_CudaFree(block), SUCCESS);
	ck_assert_int_eq(MAM_Create(MIB), SUCCESS);
}
END_TEST

START_TEST(destroy_without_creation_is_refused)
{
	ck_assert_int_eq(MAM_Destroy(), STATE);
	ck_assert_int_eq(MAM_Create(MIB), SUCCESS);
	ck_assert_int_eq(MAM_Destroy(), SUCCESS);
	ck_assert_int_eq(MAM_Destroy(), STATE);
}
END_TEST

START_TEST(destroy_drops_live_blocks)
{
	struct mam_pool *pool;
	void *blocks[1000];

	ck_assert_int_eq(MAM_Create(64 * MIB), SUCCESS);
	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		blocks[i] = alloc(512 * (1 + i % 7));
	for (size_t i = 0; i < COUNT_OF(blocks); i += 3)
		ck_assert_int_eq(MAM_CudaFree(blocks[i]), SUCCESS);
	ck_assert_int_eq(mam_owner(blocks[1], &pool, NULL), MAM_OK);
	ck_assert_int_eq(MAM_Destroy(), SUCCESS);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(MAM_CudaFree(blocks[1]), INVALID);
	/* And so does a lazy one. */
	alloc(1);
	ck_assert_int_eq(MAM_Destroy(), SUCCESS);
	ck_assert_int_eq(MAM_Destroy(), STATE);
}
END_TEST

START_TEST(blocks_are_aligned)
{
	for (size_t bytes = 1; bytes < 20; bytes++)
		ck_assert_uint_eq((uintptr_t)alloc(bytes) % 512, 0);
}
END_TEST

START_TEST(zero_and_huge_sizes_are_handled)
{
	void *block = &block;

	ck_assert_int_eq(MAM_Create(0), INVALID);
	ck_assert_int_eq(MAM_Create(SIZE_MAX), NO_MEMORY);
	ck_assert_int_eq(MAM_Create(SIZE_MAX - 1), NO_MEMORY);
	ck_assert_int_eq(MAM_Create((size_t)1 << 50), NO_MEMORY);
	ck_assert_int_eq(MAM_CudaMalloc(&block, SIZE_MAX), NO_MEMORY);
	ck_assert_int_eq(MAM_CudaMalloc(&block, (size_t)100 << 30), NO_MEMORY);
	ck_assert_int_eq(MAM_CudaMalloc(NULL, 1), INVALID);
	ck_assert_int_eq(MAM_CudaMalloc(NULL, 0), INVALID);
	ck_assert_ptr_eq(block, &block);
	ck_assert_int_eq(MAM_CudaMalloc(&block, 0), SUCCESS);
	ck_assert_ptr_null(block);
	ck_assert_int_eq(MAM_CudaFree(NULL), SUCCESS);
	ck_assert_int_eq(MAM_Destroy(), STATE); /* a failed first request leaves no environment */
}
END_TEST

START_TEST(out_of_memory_leaves_environment_usable)
{
	void *block, *other;

	ck_assert_int_eq(MAM_Create(MIB), SUCCESS);
	block = alloc(MIB);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(MAM_CudaMalloc(&other, 1), NO_MEMORY);
	ck_assert_int_eq(MAM_CudaFree(block), SUCCESS);
	ck_assert_int_eq(MAM_CudaFree(alloc(MIB)), SUCCESS);
}
END_TEST

START_TEST(invalid_calls_are_reported_and_change_nothing)
{
	char *block;

	ck_assert_int_eq(MAM_CudaFree(&block), INVALID);
	ck_assert_int_eq(MAM_Create(MIB), SUCCESS);
	block = alloc(4096);
	ck_assert_int_eq(MAM_CudaFree(block + 512), INVALID);
	ck_assert_int_eq(MAM_CudaFree(block + 4096), INVALID);
	ck_assert_int_eq(MAM_CudaFree(&block), INVALID);
	ck_assert_uint_eq(stats_at(block).live_blocks, 1);
	ck_assert_int_eq(MAM_CudaFree(block), SUCCESS);
	ck_assert_int_eq(MAM_CudaFree(block), INVALID);
	ck_assert_uint_eq(stats_at(block).segments, 1);
}
END_TEST

START_TEST(pool_abandoned_directly_is_replaced)
{
	struct mam_pool *pool;
	void *block = alloc(1);

	ck_assert_int_eq(mam_owner(block, &pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	ck_assert_int_eq(MAM_CudaFree(block), INVALID);
	ck_assert_int_ne(MAM_CudaMalloc(&block, 1), SUCCESS);
	ck_assert_int_eq(MAM_CudaFree(alloc(1)), SUCCESS);
}
END_TEST

static pthread_barrier_t start;

/*
 * In each round every thread has at most one block: the environment is created and destroyed
 * between them all the time.
 */
static void *come_and_go(void *rounds)
{
	pthread_barrier_wait(&start);
	for (int i = 0; i < *(int *)rounds; i++) {
		void *block;

		/*
		 * A chunk allocated while the last one was being released would be too small for
		 * this.
		 */
		if (MAM_CudaMalloc(&block, (size_t)8 << 30) != SUCCESS ||
		    MAM_CudaFree(block) != SUCCESS)
			return "refused";
	}
	return NULL;
}

START_TEST(last_free_may_race_with_next_alloc)
{
	pthread_t threads[THREADS];
	int rounds = 3000;
	void *refused;

	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, &rounds), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &refused);
		ck_assert_ptr_null(refused);
	}
	ck_assert_int_eq(MAM_Destroy(), STATE); /* the last free destroyed it */
}
END_TEST

static void *first_block(void *block)
{
	pthread_barrier_wait(&start);
	return MAM_CudaMalloc(block, MIB) == SUCCESS ? NULL : "refused";
}

START_TEST(threads_that_race_to_create_share_one)
{
	pthread_t threads[THREADS];
	void *blocks[THREADS];
	void *refused;

	for (int round = 0; round < 50; round++) {
		pthread_barrier_init(&start, NULL, THREADS);
		for (int i = 0; i < THREADS; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, first_block, &blocks[i]),
					 0);
		for (int i = 0; i < THREADS; i++) {
			pthread_join(threads[i], &refused);
			ck_assert_ptr_null(refused);
		}
		pthread_barrier_destroy(&start);
		ck_assert_uint_eq(stats_at(blocks[0]).live_blocks, THREADS);
		for (int i = 0; i < THREADS; i++)
			ck_assert_int_eq(MAM_CudaFree(blocks[i]), SUCCESS);
		ck_assert_int_eq(MAM_Destroy(), STATE);
	}
}
END_TEST

static void *create_and_destroy(void *statuses)
{
	int *count = statuses;

	pthread_barrier_wait(&start);
	for (int i = 0; i < 500; i++) {
		int created = MAM_Create(MIB);
		int destroyed = MAM_Destroy();

		if ((created != SUCCESS && created != STATE) ||
		    (destroyed != SUCCESS && destroyed != STATE))
			return "unexpected status";
		*count += (created == SUCCESS) - (destroyed == SUCCESS);
	}
	return NULL;
}

START_TEST(creations_and_destructions_may_race)
{
	pthread_t threads[THREADS];
	int counts[THREADS] = { 0 }, left = 0;
	void *wrong;

	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, create_and_destroy, &counts[i]),
				 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		ck_assert_ptr_null(wrong);
		left += counts[i];
	}
	ck_assert_int_ge(left, 0);
	ck_assert_int_le(left, 1);
	ck_assert_int_eq(MAM_Destroy(), left ? SUCCESS : STATE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flow/paper");
	TCase *ways = suite_case(suite, "ways");
	TCase *defects = suite_case(suite, "defects");
	TCase *races = suite_case(suite, "races");

	tcase_add_checked_fixture(ways, on_host, NULL);
	tcase_add_checked_fixture(defects, on_host, NULL);
	tcase_add_checked_fixture(races, on_host, NULL);
	tcase_add_test(ways, explicit_creation_uses_given_size);
	tcase_add_test(ways, automatic_creation_takes_largest_chunk);
	tcase_add_test(ways, lazy_environment_ends_with_last_block);
	tcase_add_test(ways, second_creation_is_refused_and_keeps_first);
	tcase_add_test(ways, destroy_without_creation_is_refused);
	tcase_add_test(ways, destroy_drops_live_blocks);
	tcase_add_test(defects, blocks_are_aligned);
	tcase_add_test(defects, zero_and_huge_sizes_are_handled);
	tcase_add_test(defects, out_of_memory_leaves_environment_usable);
	tcase_add_test(defects, invalid_calls_are_reported_and_change_nothing);
	tcase_add_test(defects, pool_abandoned_directly_is_replaced);
	tcase_add_test(races, last_free_may_race_with_next_alloc);
	tcase_add_test(races, threads_that_race_to_create_share_one);
	tcase_add_test(races, creations_and_destructions_may_race);
	return suite_run(suite);
}
