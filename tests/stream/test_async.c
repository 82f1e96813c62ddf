/* SPDX-License-Identifier: Apache-2.0 */
/* The three public calls: what they return, which pool they use, and pools without streams. */
#include "scene.h"

#include <sys/wait.h>
#include <unistd.h>

START_TEST(zero_bytes_and_null_block_are_no_ops)
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

START_TEST(invalid_frees_are_reported)
{
	struct scene *s = scene_new(0);
	char *a = alloc(s, MIB, s->one);

	refused(s, a + 512, s->one, MAM_ERROR_INTERIOR);
	refused(s, s, s->one, MAM_ERROR_NOT_OWNED);
	dealloc(s, a, s->one);
	refused(s, a, s->one, MAM_ERROR_DOUBLE_FREE);
	refused(s, a, s->two, MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_free(s->pool, a), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_free_async(NULL, s, s->one), MAM_ERROR_NOT_OWNED);
	scene_end(s);
}
END_TEST

START_TEST(impossible_size_is_out_of_memory)
{
	struct scene *s = scene_new(0);
	void *block = NULL;

	dealloc(s, alloc(s, MIB, s->one), s->one);
	ck_assert_int_eq(mam_malloc_async(s->pool, SIZE_MAX, s->one, &block),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_malloc_async(s->pool, (size_t)1 << 40, s->one, &block),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(block);
	ck_assert_uint_eq(stats_of(s).failures, 2);
	scene_end(s);
}
END_TEST

START_TEST(plain_and_stream_ordered_calls_mix)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one), *b = NULL;

	ck_assert_int_eq(mam_free(s->pool, a), MAM_OK);
	ck_assert_int_eq(mam_malloc(s->pool, MIB, &b), MAM_OK);
	ck_assert_ptr_eq(a, b);
	dealloc(s, b, s->one);
	ck_assert_ptr_eq(alloc(s, MIB, s->one), b);
	ck_assert_int_eq(mam_free_async(NULL, b, s->two), MAM_OK); /* NULL: the pool that owns it */
	scene_end(s);
}
END_TEST

START_TEST(free_never_waits_even_in_strict_pool)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one);

	work(s, a, MIB, s->one);
	calls_forget();
	dealloc(s, a, s->one);
	ck_assert_uint_eq(calls("cuCtxSynchronize"), 0);
	ck_assert_uint_eq(calls("cuEventSynchronize"), 0);
	ck_assert_int_eq(pending(s, a, MIB), 1);
	scene_end(s);
}
END_TEST

START_TEST(null_pool_means_default_pool)
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
	/* From a new default pool. */
	ck_assert_int_eq(mam_malloc_async(NULL, MIB, s->one, &a), MAM_OK);
	ck_assert_int_eq(mam_pool_default(MAM_DEVICE_CURRENT, &pool), MAM_OK);
	ck_assert_int_eq(mam_free_async(NULL, a, s->one), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	scene_end(s);
}
END_TEST

START_TEST(pool_without_streams_reuses_memory_immediately)
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

START_TEST(calls_on_destroyed_pool_return_destroyed)
{
	struct scene *s = scene_new(0);
	struct mam_pool *pool = s->pool;
	void *a = alloc(s, MIB, s->one), *b = NULL;

	work(s, a, MIB, s->one);
	dealloc(s, a, s->one);
	scene_end(s);
	ck_assert_int_eq(mam_malloc_async(pool, MIB, NULL, &b), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_free_async(pool, a, NULL), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_free_async(pool, a, MAM_STREAM_PER_THREAD), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_stream_release(pool, NULL), MAM_ERROR_DESTROYED);
}
END_TEST

START_TEST(memory_in_stream_lists_does_not_block_destroy)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one), *b = alloc(s, MIB, s->one);

	dealloc(s, a, s->one);
	ck_assert_int_eq(mam_pool_destroy(s->pool), MAM_ERROR_LIVE_BLOCKS);
	dealloc(s, b, s->one);
	scene_end(s);
}
END_TEST

START_TEST(abandon_makes_no_driver_call)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one);

	work(s, a, MIB, s->one);
	dealloc(s, a, s->one);
	calls_forget();
	ck_assert_int_eq(mam_pool_abandon(s->pool), MAM_OK);
	ck_assert_int_eq(mam_free_async(s->pool, a, s->one), MAM_ERROR_DESTROYED);
	ck_assert_uint_eq(calls("cuEventDestroy") + calls("cuEventSynchronize") +
				  calls("cuEventQuery") + calls("cuMemFree"),
			  0);
	free(s);
}
END_TEST

START_TEST(child_of_fork_gets_destroyed_pool)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one), *b = alloc(s, MIB, s->one);
	int status = -1;
	pid_t child;

	dealloc(s, a, s->one);
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
	ck_assert_ptr_eq(alloc(s, MIB, s->one), a);
	dealloc(s, a, s->one);
	dealloc(s, b, s->one);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, zero_bytes_and_null_block_are_no_ops);
	tcase_add_test(tests, invalid_frees_are_reported);
	tcase_add_test(tests, impossible_size_is_out_of_memory);
	tcase_add_test(tests, plain_and_stream_ordered_calls_mix);
	tcase_add_test(tests, free_never_waits_even_in_strict_pool);
	tcase_add_test(tests, null_pool_means_default_pool);
	tcase_add_test(tests, pool_without_streams_reuses_memory_immediately);
	tcase_add_test(tests, calls_on_destroyed_pool_return_destroyed);
	tcase_add_test(tests, memory_in_stream_lists_does_not_block_destroy);
	tcase_add_test(tests, abandon_makes_no_driver_call);
	tcase_add_test(tests, child_of_fork_gets_destroyed_pool);
}

int main(void)
{
	return suite_run("stream/async", add);
}
