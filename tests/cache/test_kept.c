/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that threads retire and keep: they share tickets, and wait for them wherever they are. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/pools.h>
#include <mam/stream.h>

#include "cached.h"

#define BLOCKS MAM_KEPT_BLOCKS
#define SIZE (48 * KIB)
#define SMALL 700 /* its tag is in a leaf */

static struct mam_pool *pool;
static void *blocks[(MAM_KEPT_GROUPS + 2) * BLOCKS];

static void begin(void)
{
	pool = cached_pool(64 * MIB);
}

static uint64_t retire(void *block)
{
	uint64_t ticket = UINT64_MAX;
	size_t bytes;

	ck_assert_int_eq(mam_pool_retire_shared(pool, block, &ticket, &bytes), MAM_OK);
	return ticket;
}

static void reclaim(uint64_t ticket)
{
	ck_assert_int_eq(mam_pool_reclaim(pool, ticket, NULL), MAM_OK);
}

static uint64_t last_ticket(void)
{
	uint64_t ticket;

	ck_assert_int_eq(mam_pool_retired(pool, &ticket), MAM_OK);
	return ticket;
}

static void alloc_blocks(size_t count, size_t bytes)
{
	for (size_t i = 0; i < count; i++)
		blocks[i] = pool_alloc(pool, i % 2 ? bytes : SMALL);
}

static bool is_among(const void *block, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (blocks[i] == block)
			return true;
	return false;
}

/* Allocates many blocks and checks whether a retired one is among them. */
static void reuse(size_t count, bool wanted)
{
	const size_t rounds = (wanted ? 6 : 2) * BLOCKS; /* more than the earlier calls freed */
	void *got[6 * BLOCKS];
	bool any = false;

	for (size_t i = 0; i < rounds; i++) {
		got[i] = pool_alloc(pool, i % 2 ? SIZE : SMALL);
		any = any || is_among(got[i], count);
	}
	for (size_t i = 0; i < rounds; i++)
		pool_free(pool, got[i]);
	ck_assert_int_eq(any, wanted);
}

static void done_with_retired(void)
{
	reclaim(last_ticket());
	ck_assert_int_eq(mam_pool_trim(pool, SIZE_MAX, NULL), MAM_OK);
	ck_assert_uint_eq(numbers(pool).retired_blocks, 0);
	ck_assert_uint_eq(numbers(pool).retired_bytes, 0);
	done_with(pool);
}

START_TEST(blocks_share_ticket_and_wait_for_it)
{
	uint64_t ticket = 0;
	size_t bytes = 0;

	alloc_blocks(BLOCKS, SIZE);
	for (size_t i = 0; i < BLOCKS; i++) {
		ck_assert_uint_eq(ticket, 0);
		ck_assert_int_eq(mam_pool_retire_shared(pool, blocks[i], &ticket, &bytes), MAM_OK);
		ck_assert_uint_eq(numbers(pool).retired_blocks, i + 1);
	}
	ck_assert_uint_eq(ticket, BLOCKS);
	ck_assert_uint_eq(bytes, BLOCKS / 2 * (SIZE + 1024));
	ck_assert_uint_eq(numbers(pool).live_blocks, 0);
	ck_assert_uint_eq(numbers(pool).retired_bytes, bytes);
	ck_assert_uint_eq(numbers(pool).peak_retired_bytes, bytes);
	reuse(BLOCKS, false);
	reclaim(ticket - 1);
	reuse(BLOCKS, false);
	reclaim(ticket);
	reuse(BLOCKS, true);
	ck_assert_uint_eq(numbers(pool).retired_blocks, 0);
	done_with_retired();
}
END_TEST

/* A group that has no ticket yet is not part of an earlier one. */
START_TEST(later_blocks_wait_for_later_ticket)
{
	uint64_t ticket = 0;

	alloc_blocks(BLOCKS + 2, SIZE);
	for (size_t i = 2; i < BLOCKS + 2; i++)
		ticket = retire(blocks[i]);
	ck_assert_uint_eq(retire(blocks[0]), 0);
	ck_assert_uint_eq(retire(blocks[1]), 0);
	reclaim(UINT64_MAX);
	for (size_t i = 2; i < BLOCKS + 2; i++)
		ck_assert(!is_among(pool_alloc(pool, i % 2 ? SIZE : SMALL), 2));
	ck_assert_uint_eq(numbers(pool).retired_blocks, 2);
	ck_assert_uint_gt(last_ticket(), ticket);
	reclaim(ticket);
	reuse(2, false);
	reclaim(last_ticket());
	ck_assert_uint_eq(numbers(pool).retired_blocks, 0);
	ck_assert_uint_eq(numbers(pool).live_blocks, BLOCKS);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
}
END_TEST

START_TEST(bytes_seal_group)
{
	uint64_t ticket = 0;
	size_t count = 0;

	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = pool_alloc(pool, MIB - 512 * (i % 3));
	while (ticket == 0)
		ticket = retire(blocks[count++]);
	ck_assert_uint_ge(count, 2);
	ck_assert_uint_le(count, 9);
	ck_assert_uint_eq(ticket, count);
	while (count < BLOCKS)
		retire(blocks[count++]);
	done_with_retired();
}
END_TEST

START_TEST(retired_block_is_freed_for_caller)
{
	void *at[2] = { pool_alloc(pool, SIZE), pool_alloc(pool, SMALL) };
	struct mam_segment_info segment = { .size = sizeof(segment) };
	uint64_t ticket;
	size_t bytes;

	for (int i = 0; i < 2; i++) {
		char *block = at[i];

		retire(block);
		ck_assert_int_eq(mam_free(pool, block), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free(NULL, block), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free_async(pool, block, NULL), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_pool_retire(pool, block, NULL, NULL), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_pool_retire_shared(pool, block, &ticket, &bytes),
				 MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_pool_retire_shared(pool, block + 512, &ticket, &bytes),
				 MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_usable_size(pool, block, &bytes), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_owner(block, NULL, &segment), MAM_OK);
		ck_assert(!segment.live);
		ck_assert(segment.retired);
	}
	ck_assert_int_eq(mam_pool_retire_shared(pool, &bytes, &ticket, &bytes),
			 MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_pool_retire_shared(pool, at[0], NULL, &bytes),
			 MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_retired(pool, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(numbers(pool).frees, 2);
	done_with_retired();
}
END_TEST

/* Threads cache no large blocks, and none in a pool without caches. */
START_TEST(uncached_blocks_get_tickets_at_once)
{
	void *large = pool_alloc(pool, 2 * MIB), *block = pool_alloc(pool, SIZE);

	ck_assert_uint_eq(retire(block), 0);
	ck_assert_uint_eq(retire(large), 1);
	ck_assert_uint_eq(numbers(pool).retired_blocks, 2);
	reclaim(1);
	ck_assert_uint_eq(numbers(pool).retired_blocks, 1);
	done_with_retired();
}
END_TEST

/* More groups than a thread keeps, and caches that are drained: all blocks wait in the pool. */
START_TEST(blocks_wait_in_pool)
{
	const size_t count = (MAM_KEPT_GROUPS + 2) * BLOCKS;
	uint64_t ticket = 0, last = 0;

	alloc_blocks(count, 2048);
	for (size_t i = 0; i < count; i++) {
		ticket = retire(blocks[i]);
		last = ticket != 0 ? ticket : last;
	}
	ck_assert_uint_ge(last, count);
	ck_assert_uint_eq(numbers(pool).retired_blocks, count);
	ck_assert_int_eq(mam_pool_trim(pool, SIZE_MAX, NULL), MAM_OK);
	ck_assert_uint_eq(numbers(pool).retired_blocks, count);
	reuse(count, false);
	last = last_ticket();
	reclaim(last - 1);
	ck_assert_uint_eq(numbers(pool).retired_blocks, 1);
	reclaim(last);
	ck_assert_uint_eq(numbers(pool).retired_blocks, 0);
	done_with_retired();
}
END_TEST

/* Cached blocks may separate free memory that a request needs. */
START_TEST(cached_blocks_return_after_growth_is_refused)
{
	void *block = pool_alloc(pool, SIZE), *none;

	for (int refused = 0; refused < 2; refused++) {
		pool_free(pool, block);
		ck_assert_uint_ne(numbers(pool).cached_blocks, 0);
		last_ticket();
		ck_assert_int_eq(numbers(pool).cached_blocks == 0, refused);
		ck_assert_int_eq(mam_pool_set_limit(pool, 64 * MIB), MAM_OK);
		block = pool_alloc(pool, SIZE);
		ck_assert_int_eq(mam_malloc(pool, 64 * MIB, &none), MAM_ERROR_OUT_OF_MEMORY);
	}
	pool_free(pool, block);
	done_with_retired();
}
END_TEST

static pthread_barrier_t barrier;

static void *retire_some(void *stays)
{
	for (size_t i = 0; i < BLOCKS / 2; i++)
		retire(blocks[i]);
	pthread_barrier_wait(&barrier);
	if (stays)
		pthread_barrier_wait(&barrier);
	return NULL;
}

static void other_thread(void *stays)
{
	pthread_t thread;

	alloc_blocks(BLOCKS / 2, SIZE);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, retire_some, stays);
	pthread_barrier_wait(&barrier);
	if (!stays)
		pthread_join(thread, NULL);
	ck_assert_uint_eq(numbers(pool).retired_blocks, BLOCKS / 2);
	reclaim(UINT64_MAX);
	if (stays) /* they had no ticket */
		ck_assert_uint_eq(numbers(pool).retired_blocks, BLOCKS / 2);
	reclaim(last_ticket());
	ck_assert_uint_eq(numbers(pool).retired_blocks, 0);
	if (stays) {
		pthread_barrier_wait(&barrier);
		pthread_join(thread, NULL);
	}
	done_with_retired();
}

START_TEST(blocks_of_other_thread_get_tickets)
{
	other_thread(&barrier);
}
END_TEST

START_TEST(blocks_of_ended_thread_wait_in_pool)
{
	other_thread(NULL);
}
END_TEST

#define THREADS 3
#define STEPS 4000
#define HELD 16

static _Atomic unsigned char taken[64 * MIB / 512]; /* by granule of a live block */
static _Atomic unsigned working;
static char *lowest;

/* Blocks of further chunks are not tracked. */
static void mark(const void *block, unsigned char live)
{
	size_t granule = (size_t)((const char *)block - lowest) / 512;

	if (granule < sizeof(taken))
		ck_assert_uint_ne(atomic_exchange(&taken[granule], live), live);
}

static void *churn(void *number)
{
	void *held[HELD] = { NULL };

	for (size_t step = 0; step < STEPS + HELD; step++) {
		void **at = &held[step % HELD];

		if (*at) {
			mark(*at, 0);
			retire(*at);
			*at = NULL;
		}
		if (step >= STEPS)
			continue;
		*at = pool_alloc(pool,
				 (step % 7 + (size_t)number) * (step % 2 ? 512 : 20 * KIB) + 1);
		mark(*at, 1);
	}
	atomic_fetch_sub(&working, 1);
	return NULL;
}

START_TEST(threads_retire_while_another_reclaims)
{
	struct mam_segment_info segment = { .size = sizeof(segment) };
	pthread_t threads[THREADS];
	void *first = pool_alloc(pool, SIZE);

	ck_assert_int_eq(mam_owner(first, NULL, &segment), MAM_OK);
	lowest = segment.chunk_base;
	pool_free(pool, first);
	working = THREADS;
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, churn, (void *)i);
	while (atomic_load(&working) != 0) {
		reclaim(last_ticket());
		numbers(pool);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(numbers(pool).frees, THREADS * STEPS + 1);
	done_with_retired();
}
END_TEST

START_TEST(child_of_fork_has_retired_blocks)
{
	pid_t child;
	int status;

	alloc_blocks(BLOCKS / 2, SIZE);
	for (size_t i = 0; i < BLOCKS / 2; i++)
		retire(blocks[i]);
	child = fork();
	if (child == 0) {
		ck_assert_uint_eq(numbers(pool).retired_blocks, BLOCKS / 2);
		reuse(BLOCKS / 2, false);
		done_with_retired();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	done_with_retired();
}
END_TEST

/*
 * A second free at the same time as the first, by another thread, which got the block since: its
 * tag is no longer that of a kept block. The blocks below it are found again, and still wait.
 */
START_TEST(lost_blocks_wait_as_well)
{
	alloc_blocks(20, SIZE);
	for (size_t i = 0; i < 20; i++)
		retire(blocks[i]);
	mam_blocktag_write(mam_blocktag_find((uintptr_t)blocks[11], SIZE / 512), MAM_BLOCKTAG_NONE);
	ck_assert_int_eq(mam_pool_trim(pool, SIZE_MAX, NULL), MAM_OK);
	ck_assert_uint_eq(numbers(pool).retired_blocks, 19);
	ck_assert_uint_eq(numbers(pool).live_blocks, 1);
	reuse(20, false);
	pool_free(pool, blocks[11]);
	done_with_retired();
}
END_TEST

/* Tags of an abandoned pool's blocks mean nothing to the next pool at these addresses. */
START_TEST(abandoned_pool_leaves_no_tag)
{
	alloc_blocks(BLOCKS + 4, SIZE);
	for (size_t i = 0; i < BLOCKS + 4; i++)
		retire(blocks[i]);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	for (size_t i = 0; i < BLOCKS + 4; i++)
		ck_assert(mam_blocktag_is_none((uintptr_t)blocks[i]));
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/kept");

	tcase_add_checked_fixture(tcase, begin, NULL);
	tcase_add_test(tcase, blocks_share_ticket_and_wait_for_it);
	tcase_add_test(tcase, later_blocks_wait_for_later_ticket);
	tcase_add_test(tcase, bytes_seal_group);
	tcase_add_test(tcase, retired_block_is_freed_for_caller);
	tcase_add_test(tcase, uncached_blocks_get_tickets_at_once);
	tcase_add_test(tcase, blocks_wait_in_pool);
	tcase_add_test(tcase, cached_blocks_return_after_growth_is_refused);
	tcase_add_test(tcase, blocks_of_other_thread_get_tickets);
	tcase_add_test(tcase, blocks_of_ended_thread_wait_in_pool);
	tcase_add_test(tcase, threads_retire_while_another_reclaims);
	tcase_add_test(tcase, child_of_fork_has_retired_blocks);
	tcase_add_test(tcase, lost_blocks_wait_as_well);
	tcase_add_test(tcase, abandoned_pool_leaves_no_tag);
	return suite_end();
}
