/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls for a thread that a running kernel waits for (pool/prompt.c), on a source of chunks.
 * They may get new memory, but release nothing, wait for nothing and block no other thread. For a
 * source of pieces, see test_prompt_mapped.c.
 *
 * The test counts the forbidden calls. Other threads block inside source calls, with the locks that
 * they take there.
 */
#include "fixture.h"

#include <mam/pools.h>

#include "base/clock.h"
#include "pool/drain.h"

#define PATIENCE_NS UINT64_C(3000000)
#define LONG_NS UINT64_C(2000000000) /* far above the patience, also on a busy machine */

static enum mam_status try_alloc_new(struct fixture *f, size_t bytes, size_t alignment,
				     void **block)
{
	return mam_pool_alloc_new(f->pool, bytes, alignment, PATIENCE_NS, block);
}

static void *alloc_new(struct fixture *f, size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(try_alloc_new(f, bytes, 0, &block), MAM_OK);
	ck_assert_ptr_nonnull(block);
	intact(f);
	return block;
}

/* Returns this status, leaves its output unchanged, and is counted. */
static void alloc_new_fails(struct fixture *f, size_t bytes, enum mam_status status)
{
	uint64_t failures = stats_of(f).failures;
	void *untouched = f, *block = untouched;

	ck_assert_int_eq(try_alloc_new(f, bytes, 0, &block), status);
	ck_assert_ptr_eq(block, untouched);
	ck_assert_uint_eq(stats_of(f).failures, failures + 1);
	intact(f);
}

/* Has neither waited nor released memory so far. */
static void only_grew(struct fixture *f)
{
	ck_assert_uint_eq(f->space.calls[SPACE_SHRINK], 0);
	ck_assert_uint_eq(f->space.calls[SPACE_QUIESCE], 0);
}

START_TEST(free_memory_is_used_without_source_call)
{
	struct mam_pool_config config = { .chunk_bytes = 64 * KIB, .free_policy = MAM_FREE_STRICT };
	struct fixture *f = fixture_new(&config);
	void *free_block = alloc(f, 1024), *block;

	alloc(f, 512);
	dealloc(f, free_block);
	atomic_store(&f->space.forbidden, true);
	ck_assert_ptr_eq(alloc_new(f, 1024), free_block);
	ck_assert_int_eq(try_alloc_new(f, 512, 4096, &block), MAM_OK);
	ck_assert_uint_eq((uintptr_t)block % 4096, 0);
	atomic_store(&f->space.forbidden, false);
	fixture_end(f);
}
END_TEST

START_TEST(alloc_here_makes_no_source_call_and_no_failure)
{
	struct mam_pool_config config = { .chunk_bytes = 64 * KIB, .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	void *untouched = f, *block = untouched;

	atomic_store(&f->space.forbidden, true);
	ck_assert_int_eq(mam_pool_alloc_here(f->pool, 65 * KIB, 0, &block), MAM_ERROR_WOULD_WAIT);
	ck_assert_ptr_eq(block, untouched);
	ck_assert_uint_eq(stats_of(f).failures, 0);
	ck_assert_int_eq(mam_pool_alloc_here(f->pool, SIZE_MAX, 0, &block),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats_of(f).failures, 1);
	ck_assert_int_eq(mam_pool_alloc_here(f->pool, 64 * KIB, 0, &block), MAM_OK);
	atomic_store(&f->space.forbidden, false);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(new_memory_is_one_call_of_growth_size)
{
	struct mam_pool_config config = { .free_policy = MAM_FREE_STRICT };
	struct fixture *f = fixture_new(&config);

	alloc_new(f, MIB);
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 1);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, MAM_POOL_GROWTH_MIN);
	ck_assert_uint_eq(stats_of(f).allocs, 1);
	ck_assert_uint_eq(stats_of(f).grows, 1);
	ck_assert_uint_eq(stats_of(f).driver_calls, 1);
	atomic_store(&f->space.forbidden, true);
	alloc_new(f, 63 * MIB); /* the rest of the new chunk */
	atomic_store(&f->space.forbidden, false);
	alloc_new(f, MAM_POOL_GROWTH_EXACT);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, MAM_POOL_GROWTH_MIN + MAM_POOL_GROWTH_EXACT);
	only_grew(f);
	fixture_end(f);
}
END_TEST

START_TEST(idle_chunks_stay_until_a_free_has_waited)
{
	struct mam_pool_config config = { .free_policy = MAM_FREE_STRICT };
	struct fixture *f = fixture_new(&config);

	dealloc(f, alloc(f, 64 * MIB));
	alloc_new(f, 65 * MIB);
	ck_assert_uint_eq(stats_of(f).chunks, 2);
	only_grew(f);
	ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_OK);
	ck_assert_uint_eq(f->space.calls[SPACE_SHRINK], 1);
	fixture_end(f);
}
END_TEST

START_TEST(limit_bounds_request_and_growth)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB, .limit_bytes = 160 * KIB };
	struct fixture *f = fixture_new(&config);
	void *idle;

	alloc_new_fails(f, 160 * KIB + 1, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 0);
	idle = alloc_new(f, 64 * KIB);
	alloc_new(f, 64 * KIB);
	alloc_new(f, 16 * KIB); /* 32 KiB are left of the limit, not 64 */
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 160 * KIB);
	dealloc(f, idle);
	alloc_new_fails(f, 65 * KIB,
			MAM_ERROR_OUT_OF_MEMORY); /* only releasing memory would help */
	only_grew(f);
	ck_assert_ptr_eq(alloc_new(f, 64 * KIB), idle);
	fixture_end(f);
}
END_TEST

START_TEST(lowered_limit_is_kept)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);

	alloc_new(f, 64 * KIB);
	alloc_new(f, 64 * KIB);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 64 * KIB), MAM_OK);
	alloc_new_fails(f, 512, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_set_limit(f->pool, 192 * KIB), MAM_OK);
	alloc_new(f, 512);
	fixture_end(f);
}
END_TEST

START_TEST(pool_without_growth_makes_no_call)
{
	struct mam_pool_config config = { .chunk_bytes = 64 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);

	alloc_new_fails(f, 64 * KIB + 1, MAM_ERROR_OUT_OF_MEMORY);
	alloc_new(f, 64 * KIB);
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 1); /* the first one */
	fixture_end(f);
}
END_TEST

START_TEST(smaller_source_gives_less_without_release)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB,
					  .free_policy = MAM_FREE_STRICT };
	struct fixture *f = fixture_new(&config);

	dealloc(f, alloc(f, 64 * KIB));
	space_refuse(&f->space, SPACE_GROW, 1, 1, MAM_ERROR_OUT_OF_MEMORY);
	alloc(f, 40 * KIB); /* 24 KiB are left in the source */
	alloc_new(f, 30 * KIB);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 96 * KIB);
	space_refuse(&f->space, SPACE_GROW, 1, 100, MAM_ERROR_OUT_OF_MEMORY);
	alloc_new_fails(f, 25 * KIB, MAM_ERROR_OUT_OF_MEMORY);
	space_refuse(&f->space, SPACE_GROW, 1, 1, MAM_ERROR_DRIVER);
	alloc_new_fails(f, 25 * KIB, MAM_ERROR_DRIVER);
	only_grew(f);
	fixture_end(f);
}
END_TEST

START_TEST(source_without_room_is_not_called)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_on(&config, SPACE_UP, 0, 0, 40 * KIB);

	f->space.source.properties.total_bytes = 40 * KIB;
	alloc_new_fails(f, 40 * KIB + 1, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 0);
	alloc_new(f, 512);
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 1); /* for 40 KiB at once */
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 40 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(prompt_calls_validate_arguments_like_alloc)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	void *block = f;

	ck_assert_int_eq(try_alloc_new(f, 512, 3, &block), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(try_alloc_new(f, SIZE_MAX, 0, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(try_alloc_new(f, 512, (size_t)1 << 63, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(block, f);
	ck_assert_uint_eq(stats_of(f).failures, 2);
	ck_assert_int_eq(try_alloc_new(f, 64 * KIB, 64 * KIB, &block), MAM_OK);
	ck_assert_uint_eq((uintptr_t)block % (64 * KIB), 0);
	ck_assert_int_eq(mam_pool_drop(f->pool), MAM_OK);
	ck_assert_int_eq(try_alloc_new(f, 512, 0, &block), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(try_alloc_new(f, SIZE_MAX, 0, &block), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_free_now(f->pool, block), MAM_ERROR_DESTROYED);
	fixture_end(f);
}
END_TEST

/* Each growth of the metadata that a request may need fails in turn. */
START_TEST(metadata_failure_releases_no_chunk)
{
	unsigned failed = 0;

	if (!MAM_DEBUG)
		return;
	for (unsigned nth = 1; nth <= 3; nth++) {
		struct mam_pool_config config = { .growth_bytes = 64 * KIB };
		struct fixture *f = fixture_new(&config);
		void *block = NULL;

		/*
		 * Enough rounds for one more record to make an array grow; the array of chunks is
		 * full at another time.
		 */
		for (int i = 0; i < 200; i++) {
			enum mam_status status;

			mam_records_refuse_at(nth);
			status = try_alloc_new(f, 40 * KIB, 0, &block);
			mam_records_refuse_at(0);
			intact(f);
			if (status == MAM_OK)
				continue;
			ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
			failed++;
			alloc_new(f, 40 * KIB);
		}
		only_grew(f);
		fixture_end(f);
	}
	ck_assert_uint_gt(failed, 2);
}
END_TEST

static enum mam_drain_level levels[4];
static unsigned drains;

static bool stream_drain(struct mam_pool *pool, enum mam_drain_level level)
{
	(void)pool;
	ck_assert_msg(level == MAM_DRAIN_END, "the stream layer was drained");
	return false;
}

static void *cached;

static bool cache_drain(struct mam_pool *pool, enum mam_drain_level level)
{
	if (level == MAM_DRAIN_END)
		return false;
	ck_assert_uint_lt(drains, 4);
	levels[drains++] = level;
	if (!cached)
		return false;
	ck_assert_int_eq(mam_pool_free(pool, cached), MAM_OK);
	cached = NULL;
	return true;
}

START_TEST(caches_are_drained_before_source_call)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	void *was;

	was = cached = alloc(f, 64 * KIB);
	f->pool->drain[MAM_DRAIN_STREAM] = stream_drain;
	f->pool->drain[MAM_DRAIN_CACHE] = cache_drain;
	ck_assert_ptr_eq(alloc_new(f, 64 * KIB), was);
	ck_assert_uint_eq(drains, 1);
	ck_assert_int_eq(levels[0], MAM_DRAIN_PASSED);
	drains = 0;
	space_refuse(&f->space, SPACE_GROW, 1, 1, MAM_ERROR_OUT_OF_MEMORY);
	alloc_new_fails(f, 64 * KIB, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(drains, 2);
	ck_assert_int_eq(levels[1], MAM_DRAIN_ALL);
	fixture_end(f);
}
END_TEST

static void *grow(void *user)
{
	struct fixture *f = user;
	void *block = NULL;

	ck_assert_int_eq(mam_pool_alloc(f->pool, 64 * KIB, 0, &block), MAM_OK);
	return block;
}

static void *trim(void *user)
{
	struct fixture *f = user;

	ck_assert_int_eq(mam_pool_trim(f->pool, 0, NULL), MAM_OK);
	return NULL;
}

static const struct {
	enum space_call call;
	void *(*function)(void *user);
} calls[] = {
	{ SPACE_GROW, grow },
	{ SPACE_SHRINK, trim },
};

START_TEST(wait_for_thread_in_source_ends_with_patience)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB,
					  .free_policy = MAM_FREE_STRICT };
	struct fixture *f = fixture_new(&config);
	void *low = alloc(f, 32 * KIB), *idle = alloc(f, 64 * KIB), *block = f;
	uint64_t began;
	pthread_t other;

	if (calls[_i].call == SPACE_SHRINK)
		dealloc(f, idle);
	space_stop(&f->space, calls[_i].call);
	ck_assert_int_eq(pthread_create(&other, NULL, calls[_i].function, f), 0);
	ck_assert(space_wait_inside(&f->space));

	began = mam_clock_ns();
	ck_assert_int_eq(try_alloc_new(f, 64 * KIB, 0, &block), MAM_ERROR_WOULD_WAIT);
	ck_assert_uint_ge(mam_clock_ns() - began, PATIENCE_NS);
	ck_assert_uint_lt(mam_clock_ns() - began, LONG_NS);
	ck_assert_int_eq(mam_pool_alloc_new(f->pool, 64 * KIB, 0, 0, &block), MAM_ERROR_WOULD_WAIT);
	ck_assert_ptr_eq(block, f);
	/* Requests that need no source succeed, and so do frees. */
	ck_assert_int_eq(try_alloc_new(f, 32 * KIB, 0, &block), MAM_OK);
	ck_assert_int_eq(mam_pool_free_now(f->pool, block), MAM_OK);
	ck_assert_int_eq(mam_pool_free_now(f->pool, low), MAM_OK);
	ck_assert_uint_eq(f->space.inside, 1);

	space_go(&f->space, calls[_i].call);
	pthread_join(other, NULL);
	alloc_new(f, 64 * KIB);
	fixture_end(f);
}
END_TEST

static void *go_soon(void *user)
{
	struct fixture *f = user;

	ck_assert(space_wait_inside(&f->space));
	space_go(&f->space, SPACE_GROW);
	return NULL;
}

START_TEST(wait_succeeds_if_thread_leaves_source_in_time)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	pthread_t other, third;
	void *block;

	space_stop(&f->space, SPACE_GROW);
	ck_assert_int_eq(pthread_create(&other, NULL, grow, f), 0);
	ck_assert(space_wait_inside(&f->space));
	ck_assert_int_eq(pthread_create(&third, NULL, go_soon, f), 0);
	ck_assert_int_eq(mam_pool_alloc_new(f->pool, 64 * KIB, 0, 60 * LONG_NS, &block), MAM_OK);
	pthread_join(third, NULL);
	pthread_join(other, NULL);
	intact(f);
	ck_assert_uint_eq(stats_of(f).grows, 2);
	fixture_end(f);
}
END_TEST

START_TEST(prompt_free_releases_nothing_until_ordinary_free)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB,
					  .spare_bytes = 64 * KIB,
					  .free_policy = MAM_FREE_STRICT };
	struct fixture *f = fixture_new(&config);
	void *block[4], *last = alloc(f, 64 * KIB);

	for (int i = 0; i < 4; i++)
		block[i] = alloc(f, 64 * KIB);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(mam_pool_free_now(f->pool, block[i]), MAM_OK);
	intact(f);
	ck_assert_uint_eq(stats_of(f).live_blocks, 1);
	ck_assert_uint_eq(stats_of(f).frees, 4);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 320 * KIB);
	only_grew(f);
	dealloc(f, last);
	ck_assert_uint_eq(f->space.calls[SPACE_SHRINK], 4);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 64 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(prompt_free_reports_invalid_frees)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	char *block = alloc(f, 4096);

	ck_assert_int_eq(mam_pool_free_now(f->pool, block + 512), MAM_ERROR_INTERIOR);
	ck_assert_int_eq(mam_pool_free_now(f->pool, f), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_pool_free_now(f->pool, block), MAM_OK);
	ck_assert_int_eq(mam_pool_free_now(f->pool, block), MAM_ERROR_DOUBLE_FREE);
	ck_assert_uint_eq(stats_of(f).frees, 1);
	intact(f);
	fixture_end(f);
}
END_TEST

#define TURNS 300

/* A thread that serves kernels, beside others that allocate, free and trim. */
static void *serve(void *user)
{
	struct fixture *f = user;
	void *block[8] = { NULL };

	for (int i = 0; i < TURNS; i++) {
		void **place = &block[i % 8];
		enum mam_status status;

		if (*place)
			ck_assert_int_eq(mam_pool_free_now(f->pool, *place), MAM_OK);
		*place = NULL;
		status = try_alloc_new(f, (size_t)(1 + i % 5) * 16 * KIB, i % 3 == 0 ? 64 * KIB : 0,
				       place);
		ck_assert(status == MAM_OK || status == MAM_ERROR_WOULD_WAIT ||
			  status == MAM_ERROR_OUT_OF_MEMORY);
	}
	for (int i = 0; i < 8; i++)
		if (block[i])
			ck_assert_int_eq(mam_pool_free_now(f->pool, block[i]), MAM_OK);
	return NULL;
}

static void *work(void *user)
{
	struct fixture *f = user;

	for (int i = 0; i < TURNS; i++) {
		void *block = NULL;

		if (mam_pool_alloc(f->pool, (size_t)(1 + i % 7) * 8 * KIB, 0, &block) == MAM_OK)
			ck_assert_int_eq(mam_pool_free(f->pool, block), MAM_OK);
		if (i % 16 == 0)
			ck_assert_int_eq(mam_pool_trim(f->pool, 0, NULL), MAM_OK);
	}
	return NULL;
}

START_TEST(prompt_calls_work_beside_other_threads)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB, .limit_bytes = 2 * MIB };
	struct fixture *f = fixture_new(&config);
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, i < 2 ? serve : work, f), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	intact(f);
	ck_assert_uint_eq(stats_of(f).live_blocks, 0);
	ck_assert_uint_le(stats_of(f).peak_reserved_bytes, 2 * MIB);
	ck_assert_uint_eq(f->space.calls[SPACE_QUIESCE], 0);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/prompt");

	tcase_add_test(tcase, free_memory_is_used_without_source_call);
	tcase_add_test(tcase, alloc_here_makes_no_source_call_and_no_failure);
	tcase_add_test(tcase, new_memory_is_one_call_of_growth_size);
	tcase_add_test(tcase, idle_chunks_stay_until_a_free_has_waited);
	tcase_add_test(tcase, limit_bounds_request_and_growth);
	tcase_add_test(tcase, lowered_limit_is_kept);
	tcase_add_test(tcase, pool_without_growth_makes_no_call);
	tcase_add_test(tcase, smaller_source_gives_less_without_release);
	tcase_add_test(tcase, source_without_room_is_not_called);
	tcase_add_test(tcase, prompt_calls_validate_arguments_like_alloc);
	tcase_add_test(tcase, metadata_failure_releases_no_chunk);
	tcase_add_test(tcase, caches_are_drained_before_source_call);
	tcase_add_loop_test(tcase, wait_for_thread_in_source_ends_with_patience, 0, 2);
	tcase_add_test(tcase, wait_succeeds_if_thread_leaves_source_in_time);
	tcase_add_test(tcase, prompt_free_releases_nothing_until_ordinary_free);
	tcase_add_test(tcase, prompt_free_reports_invalid_frees);
	tcase_add_test(tcase, prompt_calls_work_beside_other_threads);
	return suite_end();
}
