/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three public calls: what they answer, whose pool they mean, and pools that know no streams.
 */
#include "scene.h"

#include <sys/wait.h>
#include <unistd.h>

START_TEST(zero_bytes_and_no_block_are_nothing)
{
	struct scene *s = scene_new(0);
	void *block = &s;

	ck_assert_int_eq(mam_malloc_async(s->pool, 0, s->one, &block), MAM_OK);
	ck_assert_ptr_null(block);
	ck_assert_int_eq(mam_free_async(s->pool, NULL, s->one), MAM_OK);
	ck_assert_int_eq(mam_malloc_async(s->pool, 1, s->one, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_malloc_async((void *)&block, 1, s->one, &block),
			 MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_free_async((void *)&block, s, s->one), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_stream_release((void *)&block, s->one), MAM_ERROR_INVALID_VALUE);
	scene_end(s);
}
END_TEST

START_TEST(what_is_no_block_is_said_to_be_none)
{
	struct scene *s = scene_new(0);
	char *a = get(s, MIB, s->one);

	refused(s, a + 512, s->one, MAM_ERROR_INTERIOR);
	refused(s, s, s->one, MAM_ERROR_NOT_OWNED);
	give(s, a, s->one);
	refused(s, a, s->one, MAM_ERROR_DOUBLE_FREE);
	refused(s, a, s->two, MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_free(s->pool, a), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_free_async(NULL, s, s->one), MAM_ERROR_NOT_OWNED);
	scene_end(s);
}
END_TEST

START_TEST(a_size_no_memory_has_is_out_of_memory)
{
	struct scene *s = scene_new(0);
	void *block = NULL;

	give(s, get(s, MIB, s->one), s->one);
	ck_assert_int_eq(mam_malloc_async(s->pool, SIZE_MAX, s->one, &block),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_malloc_async(s->pool, (size_t)1 << 40, s->one, &block),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(block);
	ck_assert_uint_eq(stats_of(s).failures, 2);
	scene_end(s);
}
END_TEST

START_TEST(plain_and_ordered_calls_mix)
{
	struct scene *s = scene_new(0);
	void *a = get(s, MIB, s->one), *b = NULL;

	ck_assert_int_eq(mam_free(s->pool, a), MAM_OK);
	ck_assert_int_eq(mam_malloc(s->pool, MIB, &b), MAM_OK);
	ck_assert_ptr_eq(a, b);
	give(s, b, s->one);
	ck_assert_ptr_eq(get(s, MIB, s->one), b);
	ck_assert_int_eq(mam_free_async(NULL, b, s->two), MAM_OK); /* whoever owns it */
	scene_end(s);
}
END_TEST

START_TEST(a_free_never_waits_even_in_a_strict_pool)
{
	struct scene *s = scene_new(0);
	void *a = get(s, MIB, s->one);

	work(s, a, MIB, s->one);
	calls_forget();
	give(s, a, s->one);
	ck_assert_uint_eq(calls("cuCtxSynchronize"), 0);
	ck_assert_uint_eq(calls("cuEventSynchronize"), 0);
	ck_assert_int_eq(pending(s, a, MIB), 1);
	scene_end(s);
}
END_TEST

START_TEST(no_pool_means_the_default_one)
{
	struct scene *s = scene_new(0);
	struct mam_pool *pool = NULL, *owner = NULL;
	void *a = NULL, *b = NULL;

	ck_assert_int_eq(mam_malloc_async(NULL, MIB, s->one, &a), MAM_OK);
	ck_assert_int_eq(mam_pool_default(MAM_DEVICE_CURRENT, &pool), MAM_OK);
	ck_assert_int_eq(mam_owner(a, &owner, NULL), MAM_OK);
	ck_assert_ptr_eq(owner, pool);
	work(s, a, MIB, s->one);
	ck_assert_int_eq(mam_free_async(NULL, a, s->one), MAM_OK);
	ck_assert_int_eq(mam_malloc_async(NULL, MIB, s->one, &b), MAM_OK);
	ck_assert_ptr_eq(a, b);
	ck_assert_int_eq(mam_free_async(NULL, b, s->one), MAM_OK);
	ck_assert_int_eq(mam_stream_release(NULL, s->one), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(mam_malloc_async(NULL, MIB, s->one, &a), MAM_OK); /* of a new one */
	ck_assert_int_eq(mam_pool_default(MAM_DEVICE_CURRENT, &pool), MAM_OK);
	ck_assert_int_eq(mam_free_async(NULL, a, s->one), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	scene_end(s);
}
END_TEST

START_TEST(a_pool_without_streams_has_it_back_at_once)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct CUstream_st *any = (struct CUstream_st *)0x1234;
	struct mam_stats stats = { .size = sizeof(stats) };
	struct mam_pool *pool;
	void *a = NULL, *b = NULL;

	attr.source = "host";
	attr.cache = MAM_CACHE_OFF;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc_async(pool, 1000, any, &a), MAM_OK);
	ck_assert_int_eq(mam_free_async(pool, a, any), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.retired_blocks, 0);
	ck_assert_int_eq(mam_malloc_async(pool, 1000, NULL, &b), MAM_OK);
	ck_assert_ptr_eq(a, b);
	ck_assert_int_eq(mam_free_async(pool, b, any), MAM_OK);
	ck_assert_int_eq(mam_free_async(pool, b, any), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_stream_release(pool, any), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(mam_malloc_async(pool, 1000, any, &b), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_free_async(pool, a, any), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_stream_release(pool, any), MAM_ERROR_DESTROYED);
}
END_TEST

START_TEST(a_pool_that_ended_says_so)
{
	struct scene *s = scene_new(0);
	struct mam_pool *pool = s->pool;
	void *a = get(s, MIB, s->one), *b = NULL;

	work(s, a, MIB, s->one);
	give(s, a, s->one);
	scene_end(s);
	ck_assert_int_eq(mam_malloc_async(pool, MIB, NULL, &b), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_free_async(pool, a, NULL), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_free_async(pool, a, MAM_STREAM_PER_THREAD), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_stream_release(pool, NULL), MAM_ERROR_DESTROYED);
}
END_TEST

START_TEST(live_blocks_keep_the_pool_and_what_streams_hold_does_not)
{
	struct scene *s = scene_new(0);
	void *a = get(s, MIB, s->one), *b = get(s, MIB, s->one);

	give(s, a, s->one);
	ck_assert_int_eq(mam_pool_destroy(s->pool), MAM_ERROR_LIVE_BLOCKS);
	give(s, b, s->one);
	scene_end(s);
}
END_TEST

START_TEST(abandoning_makes_no_driver_call)
{
	struct scene *s = scene_new(0);
	void *a = get(s, MIB, s->one);

	work(s, a, MIB, s->one);
	give(s, a, s->one);
	calls_forget();
	ck_assert_int_eq(mam_pool_abandon(s->pool), MAM_OK);
	ck_assert_int_eq(mam_free_async(s->pool, a, s->one), MAM_ERROR_DESTROYED);
	ck_assert_uint_eq(calls("cuEventDestroy") + calls("cuEventSynchronize") +
				  calls("cuEventQuery") + calls("cuMemFree"),
			  0);
	free(s);
}
END_TEST

START_TEST(the_child_of_a_fork_is_told_that_the_pool_is_gone)
{
	struct scene *s = scene_new(0);
	void *a = get(s, MIB, s->one), *b = get(s, MIB, s->one);
	int status = -1;
	pid_t child;

	give(s, a, s->one);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		void *c = NULL;
		size_t released;

		_exit(mam_malloc_async(s->pool, MIB, s->one, &c) != MAM_ERROR_DESTROYED ||
		      mam_free_async(s->pool, b, s->one) != MAM_ERROR_DESTROYED ||
		      mam_stream_release(s->pool, s->one) != MAM_ERROR_DESTROYED ||
		      mam_pool_trim(s->pool, 0, &released) != MAM_ERROR_DESTROYED);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_ptr_eq(get(s, MIB, s->one), a);
	give(s, a, s->one);
	give(s, b, s->one);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, zero_bytes_and_no_block_are_nothing);
	tcase_add_test(tests, what_is_no_block_is_said_to_be_none);
	tcase_add_test(tests, a_size_no_memory_has_is_out_of_memory);
	tcase_add_test(tests, plain_and_ordered_calls_mix);
	tcase_add_test(tests, a_free_never_waits_even_in_a_strict_pool);
	tcase_add_test(tests, no_pool_means_the_default_one);
	tcase_add_test(tests, a_pool_without_streams_has_it_back_at_once);
	tcase_add_test(tests, a_pool_that_ended_says_so);
	tcase_add_test(tests, live_blocks_keep_the_pool_and_what_streams_hold_does_not);
	tcase_add_test(tests, abandoning_makes_no_driver_call);
	tcase_add_test(tests, the_child_of_a_fork_is_told_that_the_pool_is_gone);
}

int main(void)
{
	return suite_run("stream/async", add);
}
