/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam_pool_alloc_nowait() makes no source call, and does not wait for a thread that is in one.
 *
 * A forbidden source aborts the test at any call. In the second half, another thread blocks inside
 * grow, shrink or quiesce with the locks that it takes there. This thread must still be served; a
 * wait would exceed Check's time limit.
 */
#include "fixture.h"

START_TEST(nowait_uses_free_space_without_source_call)
{
	struct mam_pool_config config = { .chunk_bytes = 64 * KIB, .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	void *free_block = alloc(f, 1024), *block = NULL;

	alloc(f, 512);
	dealloc(f, free_block);
	atomic_store(&f->space.forbidden, true);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 1024, 0, &block), MAM_OK);
	ck_assert_ptr_eq(block, free_block);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 512, 4096, &block), MAM_OK);
	ck_assert_uint_eq((uintptr_t)block % 4096, 0);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 512, 0, &block), MAM_OK);
	atomic_store(&f->space.forbidden, false);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(nowait_returns_would_wait_instead_of_growing)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	void *untouched = f, *block = untouched;

	atomic_store(&f->space.forbidden, true);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 512, 0, &block), MAM_ERROR_WOULD_WAIT);
	ck_assert_ptr_eq(block, untouched);
	atomic_store(&f->space.forbidden, false);
	dealloc(f, alloc(f, 512));
	atomic_store(&f->space.forbidden, true);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 64 * KIB + 1, 0, &block),
			 MAM_ERROR_WOULD_WAIT);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 64 * KIB, 0, &block), MAM_OK);
	atomic_store(&f->space.forbidden, false);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(nowait_validates_arguments_like_alloc)
{
	struct mam_pool_config config = { .chunk_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	void *block = f;

	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 512, 3, &block), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, SIZE_MAX, 0, &block),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 512, (size_t)1 << 63, &block),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(block, f);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 0, 0, &block), MAM_OK);
	ck_assert_ptr_null(block);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 512, 0, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_alloc_nowait(NULL, 512, 0, &block), MAM_ERROR_INVALID_VALUE);
	fixture_end(f);
}
END_TEST

static void *grow(void *user)
{
	struct fixture *f = user;
	void *block = NULL;

	ck_assert_int_eq(mam_pool_alloc(f->pool, 48 * KIB, 0, &block), MAM_OK);
	return block;
}

static void *trim(void *user)
{
	struct fixture *f = user;

	ck_assert_int_eq(mam_pool_trim(f->pool, 0, NULL), MAM_OK);
	return NULL;
}

static void *trim_refused(void *user)
{
	struct fixture *f = user;

	ck_assert_int_eq(mam_pool_trim(f->pool, 0, NULL), MAM_ERROR_DRIVER);
	return NULL;
}

static void *quiesce(void *user)
{
	struct fixture *f = user;

	ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_OK);
	return NULL;
}

static const struct {
	enum space_call call;
	void *(*function)(void *user);
} calls[] = {
	{ SPACE_GROW, grow },
	{ SPACE_SHRINK, trim },
	{ SPACE_QUIESCE, quiesce },
};

START_TEST(nowait_does_not_wait_for_thread_in_source)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB,
					  .free_policy = MAM_FREE_STRICT };
	struct fixture *f = fixture_new(&config);
	void *low = alloc(f, 32 * KIB), *idle = alloc(f, 64 * KIB), *block[50], *past;
	struct mam_stats stats;
	pthread_t other;

	dealloc(f, idle); /* for trim; after that, 32 KiB of the first chunk are free */
	if (calls[_i].call == SPACE_GROW)
		alloc(f, 64 * KIB);
	space_stop(&f->space, calls[_i].call);
	ck_assert_int_eq(pthread_create(&other, NULL, calls[_i].function, f), 0);
	ck_assert(space_wait_inside(&f->space));

	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 512, 0, &block[i]), MAM_OK);
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 128 * KIB, 0, &past), MAM_ERROR_WOULD_WAIT);
	/* Nor do the calls that need no source. */
	ck_assert_int_eq(mam_pool_alloc(f->pool, 512, 0, &past), MAM_OK);
	ck_assert_int_eq(mam_pool_free(f->pool, past), MAM_OK);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(mam_pool_free(f->pool, block[i]), MAM_OK);
	stats.size = sizeof(stats);
	ck_assert_int_eq(mam_pool_stats(f->pool, &stats), MAM_OK);
	ck_assert_uint_eq(f->space.inside, 1);

	space_go(&f->space, calls[_i].call);
	pthread_join(other, NULL);
	intact(f);
	(void)low;
	fixture_end(f);
}
END_TEST

START_TEST(chunk_being_released_serves_no_request)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	void *block = alloc(f, 64 * KIB);
	pthread_t other;

	dealloc(f, block);
	space_stop(&f->space, SPACE_SHRINK);
	ck_assert_int_eq(pthread_create(&other, NULL, trim, f), 0);
	ck_assert(space_wait_inside(&f->space));
	ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 512, 0, &block), MAM_ERROR_WOULD_WAIT);
	ck_assert_int_eq(mam_pool_free(f->pool, (void *)f->space.piece[0].base),
			 MAM_ERROR_NOT_OWNED);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 0);
	space_go(&f->space, SPACE_SHRINK);
	pthread_join(other, NULL);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(refused_chunk_returns_to_changed_pool)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	void *low = alloc(f, 32 * KIB), *high = alloc(f, 64 * KIB), *block[40];
	pthread_t other;

	dealloc(f, high); /* the newest chunk is idle, the older one half full */
	space_refuse(&f->space, SPACE_SHRINK, 1, 1, MAM_ERROR_DRIVER);
	space_stop(&f->space, SPACE_SHRINK);
	ck_assert_int_eq(pthread_create(&other, NULL, trim_refused, f), 0);
	ck_assert(space_wait_inside(&f->space));
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(mam_pool_alloc_nowait(f->pool, 512, 0, &block[i]), MAM_OK);
	ck_assert_int_eq(mam_pool_free(f->pool, low), MAM_OK);
	space_go(&f->space, SPACE_SHRINK);
	pthread_join(other, NULL);
	intact(f);
	ck_assert_uint_eq(stats_of(f).chunks, 2);
	ck_assert_ptr_eq(alloc(f, 64 * KIB), high);
	fixture_end(f);
}
END_TEST

/* The freed block fits, and its chunk has another one, so that the chunk is not released. */
START_TEST(block_freed_during_refused_growth_serves_request)
{
	struct mam_pool_config config = { .chunk_bytes = 96 * KIB, .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	void *block = alloc(f, 48 * KIB), *got;
	pthread_t other;

	alloc(f, 48 * KIB);
	space_refuse(&f->space, SPACE_GROW, 1, 100, MAM_ERROR_OUT_OF_MEMORY);
	space_stop(&f->space, SPACE_GROW);
	ck_assert_int_eq(pthread_create(&other, NULL, grow, f), 0);
	ck_assert(space_wait_inside(&f->space));
	ck_assert_int_eq(mam_pool_free(f->pool, block), MAM_OK);
	space_go(&f->space, SPACE_GROW);
	pthread_join(other, &got);
	ck_assert_ptr_eq(got, block);
	intact(f);
	ck_assert_uint_eq(stats_of(f).failures, 0);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/nowait");

	tcase_add_test(tcase, nowait_uses_free_space_without_source_call);
	tcase_add_test(tcase, nowait_returns_would_wait_instead_of_growing);
	tcase_add_test(tcase, nowait_validates_arguments_like_alloc);
	tcase_add_loop_test(tcase, nowait_does_not_wait_for_thread_in_source, 0, 3);
	tcase_add_test(tcase, chunk_being_released_serves_no_request);
	tcase_add_test(tcase, refused_chunk_returns_to_changed_pool);
	tcase_add_test(tcase, block_freed_during_refused_growth_serves_request);
	return suite_end();
}
