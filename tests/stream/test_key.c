/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a handle identifies a stream: default streams of contexts and threads, streams of other
 * contexts, invalid handles, and drivers without stream ids.
 */
#include "scene.h"

#include <pthread.h>

START_TEST(null_and_legacy_handle_are_same_stream)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, NULL);

	work(s, a, MIB, NULL);
	dealloc(s, a, NULL);
	ck_assert_ptr_eq(alloc(s, MIB, MAM_STREAM_LEGACY), a);
	dealloc(s, a, MAM_STREAM_LEGACY);
	scene_end(s);
}
END_TEST

START_TEST(legacy_stream_needs_no_driver_call)
{
	struct scene *s = scene_new(0);
	void *a;

	for (int i = 0; i < 40; i++)
		dealloc(s, alloc(s, MIB, NULL), NULL);
	calls_forget();
	a = alloc(s, MIB, NULL);
	dealloc(s, a, NULL);
	ck_assert_uint_eq(calls("cuStreamIsCapturing") + calls("cuStreamGetId") +
				  calls("cuEventRecord") + calls("cuCtxGetCurrent"),
			  0);
	scene_end(s);
}
END_TEST

START_TEST(free_makes_one_query_and_alloc_makes_two)
{
	struct scene *s = scene_new(0);
	void *a;

	for (int i = 0; i < 40; i++)
		dealloc(s, alloc(s, MIB, s->one), s->one);
	calls_forget();
	a = alloc(s, MIB, s->one);
	ck_assert_uint_eq(calls("cuStreamIsCapturing"), 1);
	ck_assert_uint_eq(calls("cuStreamGetId"), 1);
	dealloc(s, a, s->one);
	ck_assert_uint_eq(calls("cuStreamIsCapturing"), 2);
	ck_assert_uint_eq(calls("cuStreamGetId"), 1);
	ck_assert_uint_eq(calls("cuEventRecord") + calls("cuEventQuery") +
				  calls("cuThreadExchangeStreamCaptureMode") +
				  calls("cuCtxGetCurrent"),
			  0);
	scene_end(s);
}
END_TEST

struct other_thread {
	struct scene *s;
	struct CUctx_st *context;
	void *block;
	void *got;
};

static void *in_another_thread(void *argument)
{
	struct other_thread *other = argument;

	other->s->cuda.cuCtxSetCurrent(other->context);
	other->got = alloc(other->s, MIB, MAM_STREAM_PER_THREAD);
	return NULL;
}

START_TEST(each_thread_has_its_own_default_stream)
{
	struct scene *s = scene_new(0);
	struct other_thread other = { .s = s };
	pthread_t thread;

	for (int i = 0; i < 40; i++)
		dealloc(s, alloc(s, MIB, MAM_STREAM_PER_THREAD), MAM_STREAM_PER_THREAD);
	other.block = alloc(s, MIB, MAM_STREAM_PER_THREAD);
	work(s, other.block, MIB, MAM_STREAM_PER_THREAD);
	dealloc(s, other.block, MAM_STREAM_PER_THREAD);
	ck_assert_int_eq(s->cuda.cuCtxGetCurrent(&other.context), CUDA_SUCCESS);
	ck_assert_int_eq(pthread_create(&thread, NULL, in_another_thread, &other), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_ptr_ne(other.got, other.block);
	ck_assert_ptr_eq(alloc(s, MIB, MAM_STREAM_PER_THREAD), other.block);
	dealloc(s, other.block, NULL);
	dealloc(s, other.got, NULL);
	scene_end(s);
}
END_TEST

/* The default streams are those of the pool's context, whatever context is current. */
START_TEST(default_streams_belong_to_pools_context)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, MAM_STREAM_PER_THREAD), *b = alloc(s, MIB, NULL);
	struct CUctx_st *context, *now;

	ck_assert_int_eq(s->cuda.cuCtxGetCurrent(&context), CUDA_SUCCESS);
	dealloc(s, a, MAM_STREAM_PER_THREAD);
	dealloc(s, b, NULL);
	ck_assert_int_eq(s->cuda.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	ck_assert_ptr_eq(alloc(s, MIB, MAM_STREAM_PER_THREAD), a);
	ck_assert_ptr_eq(alloc(s, MIB, NULL), b);
	dealloc(s, a, MAM_STREAM_PER_THREAD);
	dealloc(s, b, NULL);
	ck_assert_int_eq(s->cuda.cuCtxGetCurrent(&now), CUDA_SUCCESS);
	ck_assert_ptr_null(now);
	ck_assert_int_eq(s->cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
	scene_end(s);
}
END_TEST

START_TEST(stream_of_other_context_is_fenced_at_each_free)
{
	struct scene *s = scene_new(0);
	struct CUctx_st *context, *other;
	struct CUstream_st *foreign;
	void *a = alloc(s, MIB, s->one), *b;

	ck_assert_int_eq(s->cuda.cuCtxGetCurrent(&context), CUDA_SUCCESS);
	ck_assert_int_eq(s->cuda.cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
	foreign = stream_new(s);
	ck_assert_int_eq(s->cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
	for (int i = 0; i < 40; i++) {
		work(s, a, MIB, foreign);
		calls_forget();
		dealloc(s, a, foreign);
		ck_assert_uint_eq(calls("cuEventRecord"), 1);
		b = alloc(s, MIB, foreign);
		ck_assert_ptr_eq(b, a);
	}
	work(s, b, MIB, foreign);
	dealloc(s, b, foreign);
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_OK);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	ck_assert_int_eq(mam_free(s->pool, b), MAM_OK);
	scene_end(s);
}
END_TEST

START_TEST(invalid_stream_handle_is_rejected)
{
	struct scene *s = scene_new(0);
	struct CUstream_st *none = (struct CUstream_st *)0x1230;
	void *a = alloc(s, MIB, s->one), *b = NULL;

	refused(s, a, none, MAM_ERROR_INVALID_VALUE);
	dealloc(s, a, s->one);
	ck_assert_int_eq(mam_malloc_async(s->pool, MIB, none, &b), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_stream_release(s->pool, none), MAM_ERROR_INVALID_VALUE);
	scene_end(s);
}
END_TEST

/*
 * A hundred streams are created and destroyed, each with a block in use: none of it is reused too
 * early.
 */
START_TEST(short_lived_streams_leave_nothing_behind)
{
	struct scene *s = scene_new(64 * MIB);

	for (int i = 0; i < 300; i++) {
		struct CUstream_st *stream = stream_new(s);
		void *a = alloc(s, MIB, stream), *b = alloc(s, MIB, stream);

		work(s, a, MIB, stream);
		work(s, b, MIB, stream);
		dealloc(s, a, stream);
		dealloc(s, b, stream);
		stream_end(s, stream);
		if (i % 50 == 0)
			intact(s);
	}
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 0);
	/* Neither records nor stream free lists accumulate. */
	ck_assert_uint_le(((struct mam_streams *)s->pool->stream)->count, 130);
	ck_assert_uint_le(s->pool->holds.touched, 400);
	scene_end(s);
}
END_TEST

START_TEST(streams_without_memory_are_forgotten)
{
	struct scene *s = scene_new(0);
	const struct mam_streams *streams = s->pool->stream;

	for (int i = 0; i < 300; i++) {
		struct CUstream_st *stream = stream_new(s);

		dealloc(s, alloc(s, MIB, stream), stream);
		finish(s, stream);
		ck_assert_int_eq(mam_stream_release(s->pool, stream), MAM_OK);
	}
	ck_assert_uint_le(streams->count, 64);
	ck_assert_uint_le(s->pool->holds.touched, 64 * 4);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, null_and_legacy_handle_are_same_stream);
	tcase_add_test(tests, legacy_stream_needs_no_driver_call);
	tcase_add_test(tests, free_makes_one_query_and_alloc_makes_two);
	tcase_add_test(tests, each_thread_has_its_own_default_stream);
	tcase_add_test(tests, default_streams_belong_to_pools_context);
	tcase_add_test(tests, stream_of_other_context_is_fenced_at_each_free);
	tcase_add_test(tests, invalid_stream_handle_is_rejected);
	tcase_add_test(tests, short_lived_streams_leave_nothing_behind);
	tcase_add_test(tests, streams_without_memory_are_forgotten);
}

int main(void)
{
	return suite_run("stream/key", add);
}
