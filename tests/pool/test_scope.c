/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics since a push: counters and peaks of that period alone, nested and concurrent, compared
 * with a model that reads the counters after each request. The pool's own totals lose nothing.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "pool/scope.h"

static void push(struct fixture *f)
{
	ck_assert_int_eq(mam_scope_push(f->pool), MAM_OK);
	intact(f);
}

static struct mam_stats pop(struct fixture *f)
{
	struct mam_stats stats;

	memset(&stats, 0xee, sizeof(stats));
	ck_assert_int_eq(mam_scope_pop(f->pool, &stats), MAM_OK);
	intact(f);
	return stats;
}

static struct fixture *pool_of(size_t chunk)
{
	return fixture_new(
		&(struct mam_pool_config){ .chunk_bytes = chunk, .growth_bytes = chunk });
}

START_TEST(counters_start_at_push)
{
	struct fixture *f = pool_of(64 * KIB);
	void *block = alloc(f, 1000), *other;
	struct mam_stats stats;

	dealloc(f, alloc(f, 100));
	push(f);
	other = alloc(f, 60 * KIB); /* the first chunk */
	alloc(f, 60 * KIB);         /* another */
	dealloc(f, other);
	dealloc(f, block);
	space_refuse(&f->space, SPACE_GROW, 1, 100, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_alloc(f->pool, 80 * KIB, 0, &block), MAM_ERROR_OUT_OF_MEMORY);
	stats = pop(f);
	ck_assert_uint_eq(stats.allocs, 2);
	ck_assert_uint_eq(stats.frees, 2);
	ck_assert_uint_eq(stats.failures, 1);
	ck_assert_uint_eq(stats.grows, 1);
	ck_assert_uint_eq(stats.shrinks, 1); /* before the request failed */
	/* Current values, unchanged. */
	ck_assert_uint_eq(stats.live_blocks, 1);
	ck_assert_uint_eq(stats.live_bytes, 60 * KIB);
	ck_assert_uint_eq(stats.reserved_bytes, 64 * KIB);
	ck_assert_uint_eq(stats.peak_reserved_bytes, 128 * KIB);
	/* And the totals. */
	stats = stats_of(f);
	ck_assert_uint_eq(stats.allocs, 4);
	ck_assert_uint_eq(stats.frees, 3);
	fixture_end(f);
}
END_TEST

START_TEST(peak_starts_at_value_of_push)
{
	struct fixture *f = pool_of(64 * KIB);
	void *kept = alloc(f, 4 * KIB);
	struct mam_stats stats;

	dealloc(f, alloc(f, 40 * KIB));
	push(f);
	stats = pop(f);
	ck_assert_uint_eq(stats.peak_live_bytes, 4 * KIB);
	ck_assert_uint_eq(stats.peak_live_blocks, 1);
	ck_assert_uint_eq(stats_of(f).peak_live_bytes, 44 * KIB);
	push(f);
	dealloc(f, kept);
	stats = pop(f);
	ck_assert_uint_eq(stats.peak_live_bytes, 4 * KIB);
	ck_assert_uint_eq(stats.live_bytes, 0);
	fixture_end(f);
}
END_TEST

START_TEST(peaks_nest)
{
	struct fixture *f = pool_of(256 * KIB);
	struct mam_stats stats;

	dealloc(f, alloc(f, 100 * KIB));
	push(f);
	dealloc(f, alloc(f, 10 * KIB));
	push(f);
	dealloc(f, alloc(f, 30 * KIB));
	push(f);
	dealloc(f, alloc(f, 20 * KIB));
	ck_assert_uint_eq(stats_of(f).peak_live_bytes, 100 * KIB);
	ck_assert_uint_eq(pop(f).peak_live_bytes, 20 * KIB);
	ck_assert_uint_eq(stats_of(f).peak_live_bytes, 100 * KIB);
	ck_assert_uint_eq(pop(f).peak_live_bytes, 30 * KIB);
	dealloc(f, alloc(f, 5 * KIB));
	stats = pop(f);
	ck_assert_uint_eq(stats.peak_live_bytes, 30 * KIB);
	ck_assert_uint_eq(stats.allocs, 4);
	ck_assert_uint_eq(stats_of(f).peak_live_bytes, 100 * KIB);
	ck_assert_ptr_null(f->pool->scopes);
	fixture_end(f);
}
END_TEST

START_TEST(pool_peak_grows_inside_scope)
{
	struct fixture *f = pool_of(256 * KIB);

	push(f);
	dealloc(f, alloc(f, 50 * KIB));
	push(f);
	ck_assert_uint_eq(stats_of(f).peak_live_bytes, 50 * KIB);
	ck_assert_uint_eq(pop(f).peak_live_bytes, 0);
	ck_assert_uint_eq(stats_of(f).peak_live_bytes, 50 * KIB);
	ck_assert_uint_eq(pop(f).peak_live_bytes, 50 * KIB);
	ck_assert_uint_eq(stats_of(f).peak_live_bytes, 50 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(pop_without_push_fails)
{
	struct fixture *f = pool_of(64 * KIB);
	struct mam_stats stats;

	ck_assert_int_eq(mam_scope_pop(f->pool, &stats), MAM_ERROR_INVALID_VALUE);
	push(f);
	pop(f);
	ck_assert_int_eq(mam_scope_pop(f->pool, &stats), MAM_ERROR_INVALID_VALUE);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(open_scopes_end_with_pool)
{
	struct fixture *f = pool_of(64 * KIB);
	struct mam_stats stats;

	push(f);
	push(f);
	if (_i == 0) {
		ck_assert_int_eq(mam_pool_fini(f->pool), MAM_OK);
	} else {
		alloc(f, 1);
		ck_assert_int_eq(mam_pool_drop(f->pool), MAM_OK);
	}
	ck_assert_ptr_null(f->pool->scopes);
	ck_assert_int_eq(mam_scope_push(f->pool), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_scope_pop(f->pool, &stats), MAM_ERROR_DESTROYED);
	fixture_end(f);
}
END_TEST

START_TEST(retracted_failure_is_not_counted)
{
	struct fixture *f = pool_of(64 * KIB);
	void *block;

	space_refuse(&f->space, SPACE_GROW, 1, 100, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_alloc(f->pool, MIB, 0, &block), MAM_ERROR_OUT_OF_MEMORY);
	push(f);
	mam_scope_unfail(f->pool); /* the failure is older: the counter stays at 0 */
	ck_assert_uint_eq(pop(f).failures, 0);
	ck_assert_uint_eq(stats_of(f).failures, 0);
	mam_scope_unfail(f->pool);
	ck_assert_uint_eq(stats_of(f).failures, 0);
	fixture_end(f);
}
END_TEST

/* ---- random nests against a model ---- */

#define DEPTH 12
#define BLOCKS 64

/* The expected values of a scope, raised after each step. */
struct model {
	struct mam_stats start, peak;
};

static void raise(uint64_t *peak, uint64_t value)
{
	if (value > *peak)
		*peak = value;
}

static void observe(struct model *model, size_t depth, const struct mam_stats *now, uint64_t high)
{
	for (size_t i = 0; i < depth; i++) {
		raise(&model[i].peak.peak_live_blocks, now->live_blocks);
		raise(&model[i].peak.peak_live_bytes, now->live_bytes);
		raise(&model[i].peak.peak_live_rounded_bytes, now->live_rounded_bytes);
		raise(&model[i].peak.peak_reserved_bytes, now->reserved_bytes);
		raise(&model[i].peak.peak_retired_bytes, now->retired_bytes);
		raise(&model[i].peak.high_water_bytes, high);
	}
}

static void ck_assert_scope(const struct mam_stats *got, const struct model *model,
			    const struct mam_stats *now)
{
	ck_assert_uint_eq(got->peak_live_blocks, model->peak.peak_live_blocks);
	ck_assert_uint_eq(got->peak_live_bytes, model->peak.peak_live_bytes);
	ck_assert_uint_eq(got->peak_live_rounded_bytes, model->peak.peak_live_rounded_bytes);
	ck_assert_uint_eq(got->peak_retired_bytes, model->peak.peak_retired_bytes);
	ck_assert_uint_eq(got->high_water_bytes, model->peak.high_water_bytes);
	/* Chunks are added and released inside a request. */
	ck_assert_uint_ge(got->peak_reserved_bytes, model->peak.peak_reserved_bytes);
	ck_assert_uint_eq(got->allocs, now->allocs - model->start.allocs);
	ck_assert_uint_eq(got->frees, now->frees - model->start.frees);
	ck_assert_uint_eq(got->grows, now->grows - model->start.grows);
	ck_assert_uint_eq(got->shrinks, now->shrinks - model->start.shrinks);
	ck_assert_uint_eq(got->live_bytes, now->live_bytes);
	ck_assert_uint_eq(got->free_block_bytes, now->free_block_bytes);
}

START_TEST(random_nested_scopes_match_model)
{
	struct fixture *f = pool_of(64 * KIB);
	struct model model[DEPTH + 1]; /* the first: the pool's lifetime */
	void *blocks[BLOCKS] = { 0 };
	size_t depth = 1;

	memset(model, 0, sizeof(model));
	srand((unsigned int)_i);
	for (int step = 0; step < 4000; step++) {
		size_t place = (size_t)rand() % BLOCKS;
		struct mam_stats now = stats_of(f), got;

		observe(model, depth, &now, f->pool->high_bytes);
		switch (rand() % 16) {
		case 0:
			if (depth <= DEPTH) {
				push(f);
				memset(&model[depth], 0, sizeof(model[depth]));
				model[depth].start = now;
				depth++;
				observe(model, depth, &now, f->pool->high_bytes);
			}
			break;
		case 1:
			if (depth > 1) {
				got = pop(f);
				ck_assert_scope(&got, &model[--depth], &now);
			}
			break;
		case 2: (void)mam_pool_trim(f->pool, 0, NULL); break;
		default:
			if (!blocks[place]) {
				blocks[place] = alloc(f, 1 + (size_t)rand() % (20 * KIB));
			} else if (rand() % 8 == 0) {
				ck_assert_int_eq(
					mam_pool_retire(f->pool, blocks[place], NULL, NULL),
					MAM_OK);
				now = stats_of(f);
				observe(model, depth, &now, f->pool->high_bytes);
				ck_assert_int_eq(mam_pool_reclaim(f->pool, UINT64_MAX, NULL),
						 MAM_OK);
				blocks[place] = NULL;
			} else {
				dealloc(f, blocks[place]);
				blocks[place] = NULL;
			}
		}
		now = stats_of(f);
		observe(model, depth, &now, f->pool->high_bytes);
		ck_assert_uint_eq(now.peak_live_bytes, model[0].peak.peak_live_bytes);
		ck_assert_uint_eq(now.peak_live_blocks, model[0].peak.peak_live_blocks);
		ck_assert_uint_eq(now.high_water_bytes, model[0].peak.high_water_bytes);
	}
	fixture_end(f);
}
END_TEST

/* ---- concurrent ---- */

static pthread_barrier_t both;

static void *second_thread(void *user)
{
	struct fixture *f = user;
	struct mam_stats stats;

	ck_assert_int_eq(mam_scope_pop(f->pool, &stats), MAM_ERROR_INVALID_VALUE); /* not its own */
	push(f);
	pthread_barrier_wait(&both); /* 1: both are open */
	pthread_barrier_wait(&both); /* 2: the first has allocated 8 KiB and is closed */
	stats = pop(f);
	ck_assert_uint_eq(stats.peak_live_bytes, 8 * KIB);
	ck_assert_uint_eq(stats.allocs, 1);
	return NULL;
}

START_TEST(threads_close_their_own_scopes)
{
	struct fixture *f = pool_of(64 * KIB);
	struct mam_stats stats;
	pthread_t second;
	void *block;

	pthread_barrier_init(&both, NULL, 2);
	push(f);
	dealloc(f, alloc(f, 16 * KIB));
	ck_assert_int_eq(pthread_create(&second, NULL, second_thread, f), 0);
	pthread_barrier_wait(&both);
	block = alloc(f, 8 * KIB);
	stats = pop(f); /* opened first, closed first */
	ck_assert_uint_eq(stats.peak_live_bytes, 16 * KIB);
	ck_assert_uint_eq(stats.allocs, 2);
	dealloc(f, block);
	pthread_barrier_wait(&both);
	pthread_join(second, NULL);
	ck_assert_ptr_null(f->pool->scopes);
	ck_assert_uint_eq(stats_of(f).peak_live_bytes, 16 * KIB);
	fixture_end(f);
}
END_TEST

static void *nest_and_allocate(void *user)
{
	struct fixture *f = user;

	for (int i = 0; i < 1500; i++) {
		struct mam_stats outer, inner;
		void *block;

		ck_assert_int_eq(mam_scope_push(f->pool), MAM_OK);
		ck_assert_int_eq(mam_scope_push(f->pool), MAM_OK);
		ck_assert_int_eq(mam_pool_alloc(f->pool, KIB, 0, &block), MAM_OK);
		ck_assert_int_eq(mam_scope_pop(f->pool, &inner), MAM_OK);
		ck_assert_int_eq(mam_pool_free(f->pool, block), MAM_OK);
		ck_assert_int_eq(mam_scope_pop(f->pool, &outer), MAM_OK);
		ck_assert_uint_ge(inner.peak_live_bytes, KIB);
		ck_assert_uint_ge(outer.peak_live_bytes, inner.peak_live_bytes);
		ck_assert_uint_ge(inner.allocs, 1);
		ck_assert_uint_ge(outer.frees, 1);
		ck_assert_uint_le(outer.peak_live_bytes, 4 * KIB);
	}
	return NULL;
}

START_TEST(threads_use_scopes_concurrently)
{
	struct fixture *f = pool_of(64 * KIB);
	pthread_t threads[4];
	struct mam_stats stats;

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, nest_and_allocate, f), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.allocs, 4 * 1500);
	ck_assert_uint_ge(stats.peak_live_bytes, KIB);
	ck_assert_uint_le(stats.peak_live_bytes, 4 * KIB);
	ck_assert_ptr_null(f->pool->scopes);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tests = suite_begin("pool/scope");

	tcase_add_test(tests, counters_start_at_push);
	tcase_add_test(tests, peak_starts_at_value_of_push);
	tcase_add_test(tests, peaks_nest);
	tcase_add_test(tests, pool_peak_grows_inside_scope);
	tcase_add_test(tests, pop_without_push_fails);
	tcase_add_loop_test(tests, open_scopes_end_with_pool, 0, 2);
	tcase_add_test(tests, retracted_failure_is_not_counted);
	tcase_add_loop_test(tests, random_nested_scopes_match_model, 0, 4);
	tcase_add_test(tests, threads_close_their_own_scopes);
	tcase_add_test(tests, threads_use_scopes_concurrently);
	return suite_end();
}
