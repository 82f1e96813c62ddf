/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each source call fails in turn, and each growth of the pool's own records.
 *
 * The test runs one script of requests, frees and trims repeatedly. In the n-th round the n-th
 * source call fails, until a round has no refusal. A step that fails must return the reason, keep
 * all invariants and blocks, and succeed when it is retried.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fixture.h"

#define SLOTS 8

enum verb { ALLOC, DEALLOC, TRIM };

struct move {
	enum verb verb;
	unsigned slot;
	size_t bytes;
	size_t alignment;
};

/*
 * Chunks of 16 KiB under a limit of 96 KiB: grows, grows by more than the growth size, releases
 * chunks to make room.
 */
static const struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					       .growth_bytes = 16 * KIB,
					       .limit_bytes = 96 * KIB };
/* clang-format off */
static const struct move script[] = {
	{ ALLOC, 0, 10 * KIB, 0 }, { ALLOC, 1, 10 * KIB, 0 }, { ALLOC, 2, 14 * KIB, 0 },
	{ ALLOC, 3, 4 * KIB, 0 }, { DEALLOC, 1, 0, 0 }, { ALLOC, 4, 40 * KIB, 0 },
	{ TRIM, 0, 0, 0 }, { ALLOC, 1, 2 * KIB, 8 * KIB }, { DEALLOC, 2, 0, 0 },
	{ DEALLOC, 3, 0, 0 }, { DEALLOC, 0, 0, 0 }, { TRIM, 0, 40 * KIB, 0 },
	{ ALLOC, 5, 16 * KIB, 0 }, { ALLOC, 6, 16 * KIB, 0 }, { DEALLOC, 4, 0, 0 },
	{ DEALLOC, 5, 0, 0 }, { ALLOC, 7, 60 * KIB, 0 }, { DEALLOC, 6, 0, 0 },
	{ DEALLOC, 1, 0, 0 }, { TRIM, 0, 0, 0 }, { DEALLOC, 7, 0, 0 },
	{ TRIM, 0, 0, 0 }, { ALLOC, 0, 512, 0 }, { DEALLOC, 0, 0, 0 },
};
/* clang-format on */

#define MOVES (sizeof(script) / sizeof(script[0]))

static enum mam_status make_move(struct mam_pool *pool, const struct move *move, void **slot)
{
	enum mam_status status;
	void *block = slot;

	switch (move->verb) {
	case ALLOC:
		status = mam_pool_alloc(pool, move->bytes, move->alignment, &block);
		if (status == MAM_OK)
			slot[move->slot] = block;
		else
			ck_assert_ptr_eq(block, slot);
		return status;
	case DEALLOC:
		status = mam_pool_free(pool, slot[move->slot]);
		if (status == MAM_OK)
			slot[move->slot] = NULL;
		return status;
	default: return mam_pool_trim(pool, move->bytes, NULL);
	}
}

/*
 * Counters that must not change when a step fails. Idle chunks may be released, and a chunk may be
 * added.
 */
static void ck_assert_blocks_kept(const struct mam_stats *before, const struct mam_stats *after)
{
	ck_assert_uint_eq(before->live_blocks, after->live_blocks);
	ck_assert_uint_eq(before->live_bytes, after->live_bytes);
	ck_assert_uint_eq(before->live_rounded_bytes, after->live_rounded_bytes);
	ck_assert_uint_eq(before->allocs, after->allocs);
	ck_assert_uint_eq(before->frees, after->frees);
	ck_assert_uint_eq(after->chunks, after->grows - after->shrinks);
}

static struct mam_stats numbers(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	char why[256] = "";

	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats;
}

/*
 * Runs the script. Each step may fail with `expected` and then succeeds when retried. Returns the
 * number of failures.
 */
static unsigned play(struct mam_pool *pool, enum mam_status expected)
{
	void *slot[SLOTS] = { NULL };
	unsigned failed = 0;

	for (size_t i = 0; i < MOVES; i++) {
		struct mam_stats before = numbers(pool), after;
		enum mam_status status = make_move(pool, &script[i], slot);

		after = numbers(pool);
		if (status == MAM_OK)
			continue;
		failed++;
		/*
		 * A request that could not make room by releasing chunks returns out of memory,
		 * whatever the source returned.
		 */
		ck_assert_msg(status == expected || (script[i].verb == ALLOC &&
						     status == MAM_ERROR_OUT_OF_MEMORY),
			      "step %zu returns %d, the source returned %d", i, (int)status,
			      (int)expected);
		ck_assert_blocks_kept(&before, &after);
		ck_assert_uint_eq(after.failures, before.failures + (script[i].verb == ALLOC));
		for (unsigned s = 0; s < SLOTS; s++) {
			struct mam_segment_info info;

			if (slot[s] == NULL)
				continue;
			ck_assert_int_eq(mam_pool_find(pool, slot[s], &info), MAM_OK);
			ck_assert(info.live && info.base == slot[s]);
		}
		status = make_move(pool, &script[i], slot);
		ck_assert_msg(status == MAM_OK, "step %zu returns %d when retried", i, (int)status);
		numbers(pool);
	}
	return failed;
}

START_TEST(script_without_failures_uses_every_call_kind)
{
	struct fixture *f = fixture_new(&config);

	ck_assert_uint_eq(play(f->pool, MAM_OK), 0);
	ck_assert_uint_gt(f->space.calls[SPACE_GROW], 5);
	ck_assert_uint_gt(f->space.calls[SPACE_SHRINK], 5);
	fixture_end(f);
}
END_TEST

static const enum mam_status statuses[] = { MAM_ERROR_OUT_OF_MEMORY, MAM_ERROR_DRIVER,
					    MAM_ERROR_NO_DEVICE };

START_TEST(pool_survives_failure_of_each_source_call)
{
	unsigned rounds_with_failure = 0;

	for (size_t n = 1;; n++) {
		struct fixture *f = fixture_new(&config);
		size_t calls;

		space_refuse_any(&f->space, n, statuses[_i]);
		rounds_with_failure += play(f->pool, statuses[_i]) > 0;
		calls = f->space.all_calls;
		fixture_end(f);
		if (calls < n + 1)
			break;
		ck_assert_uint_lt(n, 1000);
	}
	/*
	 * The pool often answers OUT_OF_MEMORY by a smaller request, and a chunk that stays need
	 * not fail a request.
	 */
	ck_assert_uint_gt(rounds_with_failure, 2);
}
END_TEST

START_TEST(pool_survives_three_failures_in_a_row)
{
	static const enum space_call kinds[] = { SPACE_GROW, SPACE_SHRINK };

	for (size_t n = 1; n < 40; n++) {
		struct fixture *f = fixture_new(&config);
		void *slot[SLOTS] = { NULL };

		space_refuse(&f->space, kinds[_i], n, 3, MAM_ERROR_DRIVER);
		for (size_t i = 0; i < MOVES; i++) {
			unsigned tries = 0;

			while (make_move(f->pool, &script[i], slot) != MAM_OK) {
				intact(f);
				ck_assert_uint_lt(++tries, 5);
			}
			intact(f);
		}
		fixture_end(f);
	}
}
END_TEST

START_TEST(init_fails_cleanly_if_first_chunk_is_refused)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		struct mam_pool *pool = calloc(1, sizeof(*pool));
		struct space space;

		space_init(&space, SPACE_UP, 512, 512);
		space_refuse_any(&space, 1, statuses[i]);
		ck_assert_int_eq(mam_pool_init(pool, &space.source, false, &config), statuses[i]);
		ck_assert_uint_eq(space.pieces, 0);
		/* Reusable storage. */
		ck_assert_int_eq(mam_pool_init(pool, &space.source, false, &config), MAM_OK);
		ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
		space_fini(&space);
		free(pool);
	}
}
END_TEST

START_TEST(pool_survives_each_refusal_of_quota)
{
	for (size_t n = 2; n < 20; n++) { /* the first call is for the first chunk */
		struct mam_source *host, *limit;
		struct mam_pool *pool = calloc(1, sizeof(*pool));

		ck_assert_int_eq(mam_source_host(0, false, &host), MAM_OK);
		ck_assert_int_eq(mam_source_limit(host, 0, n, 1, &limit), MAM_OK);
		ck_assert_int_eq(mam_pool_init(pool, limit, true, &config), MAM_OK);
		play(pool, MAM_ERROR_OUT_OF_MEMORY);
		ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
		mam_source_destroy(host);
		free(pool);
	}
}
END_TEST

/* Chunks of one or two blocks, so that both arrays of records grow. */
static const struct mam_pool_config small_chunks = { .growth_bytes = 1024 };

#define MANY 400

START_TEST(pool_survives_each_failed_growth_of_records)
{
	static void *block[MANY];
	unsigned refused_rounds = 0;

	for (unsigned n = 1; n < 60; n++) {
		struct fixture *f = fixture_new(&small_chunks);
		unsigned failed = 0;

		mam_records_refuse_at(n);
		for (int i = 0; i < MANY; i++) {
			struct mam_stats before = numbers(f->pool), after;
			void *untouched = f;
			enum mam_status status;

			block[i] = untouched;
			status = mam_pool_alloc(f->pool, i % 3 ? 512 : 1024, 0, &block[i]);
			after = numbers(f->pool);
			if (status == MAM_OK)
				continue;
			failed++;
			ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
			ck_assert_ptr_eq(block[i], untouched);
			ck_assert_blocks_kept(&before, &after);
			ck_assert_uint_eq(after.failures, before.failures + 1);
			ck_assert_uint_eq(f->space.held_bytes, after.reserved_bytes);
			i--; /* the next request works */
		}
		mam_records_refuse_at(0);
		ck_assert_uint_le(failed, 1);
		refused_rounds += failed;
		for (int i = 0; i < MANY; i++)
			ck_assert_int_eq(mam_pool_free(f->pool, block[i]), MAM_OK);
		fixture_end(f);
		if (failed == 0)
			break;
	}
	ck_assert_uint_ge(refused_rounds, 4); /* two arrays, starting at one page */
}
END_TEST

START_TEST(init_fails_without_records)
{
	for (unsigned n = 1; n <= 2; n++) {
		struct mam_pool *pool = calloc(1, sizeof(*pool));
		struct space space;

		space_init(&space, SPACE_UP, 512, 512);
		mam_records_refuse_at(n);
		ck_assert_int_eq(mam_pool_init(pool, &space.source, false, &config),
				 MAM_ERROR_OUT_OF_HOST_MEMORY);
		mam_records_refuse_at(0);
		ck_assert_uint_eq(space.pieces, 0);
		ck_assert_int_eq(mam_pool_init(pool, &space.source, false, &config), MAM_OK);
		ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
		space_fini(&space);
		free(pool);
	}
}
END_TEST

static uint32_t spare_records(const struct mam_pool *pool)
{
	return pool->segments.idle_count + pool->segments.capacity - pool->segments.touched;
}

static void *alloc_much(void *user)
{
	struct fixture *f = user;
	void *block = NULL;

	return (void *)(uintptr_t)mam_pool_alloc(f->pool, 256 * KIB, 0, &block);
}

/*
 * Other threads may use up the spare records while a thread is in the source. The records for its
 * chunk are reserved. For the block the array grows again; if that fails, the chunk stays as free
 * space.
 */
START_TEST(records_used_up_during_growth_are_replaced)
{
	struct mam_pool_config wide = { .chunk_bytes = 128 * KIB, .growth_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&wide);
	bool refuse = _i == 1;
	uint32_t last[4];
	unsigned lasts = 0;
	void *status, *block;
	pthread_t other;

	space_stop(&f->space, SPACE_GROW);
	ck_assert_int_eq(pthread_create(&other, NULL, alloc_much, f), 0);
	ck_assert(space_wait_inside(&f->space));
	while (spare_records(f->pool) > 4)
		ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 512, 0, &block), MAM_OK);
	/*
	 * A request takes the last four records only when it splits its free block, and groups of
	 * segments, twice.
	 */
	while (spare_records(f->pool) != 0)
		last[lasts++] = mam_records_take(&f->pool->segments);
	mam_records_refuse_at(refuse ? 1 : 0);
	space_go(&f->space, SPACE_GROW);
	pthread_join(other, &status);
	mam_records_refuse_at(0);
	while (lasts != 0)
		mam_records_put(&f->pool->segments, last[--lasts]);
	intact(f);
	ck_assert_int_eq((int)(uintptr_t)status, refuse ? MAM_ERROR_OUT_OF_HOST_MEMORY : MAM_OK);
	ck_assert_uint_eq(f->space.held_bytes, stats_of(f).reserved_bytes);
	ck_assert_uint_eq(stats_of(f).chunks, 2);
	ck_assert_uint_eq(stats_of(f).failures, refuse);
	alloc(f, 256 * KIB);
	fixture_end(f);
}
END_TEST

#if !TESTS_ASAN && !TESTS_TSAN /* sanitizers map memory of their own */
START_TEST(pool_stays_intact_without_address_space)
{
	struct mam_pool_config wide = { .chunk_bytes = 64 * MIB };
	struct fixture *f = fixture_new(&wide);
	static void *block[1 << 17];
	size_t count = 0;
	struct rlimit limit, none;
	enum mam_status status;

	getrlimit(RLIMIT_AS, &limit);
	none = limit;
	none.rlim_cur = 1 * MIB; /* below the current size: every mmap fails */
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	while (count < 1 << 17 && (status = mam_pool_alloc(f->pool, 1, 0, &block[count])) == MAM_OK)
		count++;
	setrlimit(RLIMIT_AS, &limit);
	ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
	intact(f);
	/* Address space is available again. */
	ck_assert_int_eq(mam_pool_alloc(f->pool, 1, 0, &block[count]), MAM_OK);
	for (size_t i = 0; i <= count; i++)
		ck_assert_int_eq(mam_pool_free(f->pool, block[i]), MAM_OK);
	fixture_end(f);
}
END_TEST
#endif

int main(void)
{
	TCase *tcase = suite_begin("pool/failure");

	tcase_add_test(tcase, script_without_failures_uses_every_call_kind);
	tcase_add_loop_test(tcase, pool_survives_failure_of_each_source_call, 0, 3);
	tcase_add_loop_test(tcase, pool_survives_three_failures_in_a_row, 0, 2);
	tcase_add_test(tcase, init_fails_cleanly_if_first_chunk_is_refused);
	tcase_add_test(tcase, pool_survives_each_refusal_of_quota);
	tcase_add_test(tcase, pool_survives_each_failed_growth_of_records);
	tcase_add_loop_test(tcase, records_used_up_during_growth_are_replaced, 0, 2);
	tcase_add_test(tcase, init_fails_without_records);
#if !TESTS_ASAN && !TESTS_TSAN /* sanitizers map memory of their own */
	tcase_add_test(tcase, pool_stays_intact_without_address_space);
#endif
	return suite_end();
}
