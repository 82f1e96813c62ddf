/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture: memory that is freed during a capture stays in it, and no call of mam invalidates
 * a capture. Each test runs in all three capture modes.
 */
#include "scene.h"

#include <pthread.h>

START_TEST(memory_freed_in_capture_is_reused_in_it)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one), *b;

	capture_begin(s, s->one, _i);
	dealloc(s, a, s->one);
	b = alloc(s, MIB, s->one);
	ck_assert_ptr_eq(b, a);
	dealloc(s, b, s->one);
	capture_end(s, s->one, true);
	scene_end(s);
}
END_TEST

START_TEST(memory_freed_in_capture_is_not_reused_outside)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 8 * MIB, s->one), *b = NULL;

	capture_begin(s, s->one, _i);
	dealloc(s, a, s->one);
	capture_end(s, s->one, true);
	ck_assert_int_eq(mam_malloc_async(s->pool, MIB, s->one, &b), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_malloc_async(s->pool, MIB, s->two, &b), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_malloc(s->pool, MIB, &b), MAM_ERROR_OUT_OF_MEMORY);
	/* Not in a later capture of the same stream either. */
	capture_begin(s, s->one, _i);
	ck_assert_int_eq(mam_malloc_async(s->pool, MIB, s->one, &b), MAM_ERROR_OUT_OF_MEMORY);
	capture_end(s, s->one, true);
	scene_end(s);
}
END_TEST

START_TEST(memory_freed_in_capture_is_reusable_after_release)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 8 * MIB, s->one), *b = NULL;

	capture_begin(s, s->one, _i);
	for (int i = 0; i < 3; i++) {
		dealloc(s, a, s->one);
		ck_assert_ptr_eq(alloc(s, 8 * MIB, s->one), a);
	}
	dealloc(s, a, s->one);
	ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK); /* too early: no effect */
	capture_end(s, s->one, true);
	/* Another stream: no effect. */
	ck_assert_int_eq(mam_stream_release(s->pool, s->two), MAM_OK);
	ck_assert_int_eq(mam_malloc_async(s->pool, MIB, s->two, &b), MAM_ERROR_OUT_OF_MEMORY);
	work(s, a, MIB, s->one); /* for example the graph */
	ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK);
	b = alloc(s, 8 * MIB, s->two);
	ck_assert_ptr_eq(b, a);
	work(s, b, MIB, s->two);
	dealloc(s, b, s->two);
	scene_end(s);
}
END_TEST

static void *release_own(void *pool)
{
	ck_assert_int_eq(mam_stream_release(pool, MAM_STREAM_PER_THREAD), MAM_OK);
	return NULL;
}

START_TEST(other_threads_release_has_no_effect)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 8 * MIB, MAM_STREAM_PER_THREAD), *b = NULL;
	pthread_t thread;

	capture_begin(s, MAM_STREAM_PER_THREAD, _i);
	dealloc(s, a, MAM_STREAM_PER_THREAD);
	capture_end(s, MAM_STREAM_PER_THREAD, true);
	ck_assert_int_eq(pthread_create(&thread, NULL, release_own, s->pool), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(mam_malloc(s->pool, MIB, &b), MAM_ERROR_OUT_OF_MEMORY);
	release_own(s->pool);
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_OK);
	ck_assert_int_eq(mam_free(s->pool, b), MAM_OK);
	scene_end(s);
}
END_TEST

/*
 * A stream that got the handle of a destroyed stream with a capture cannot release the memory of
 * that capture.
 */
START_TEST(new_stream_with_same_handle_cannot_release)
{
	struct scene *s = scene_new(8 * MIB);
	struct CUstream_st *old = stream_new(s);
	void *a = alloc(s, 4 * MIB, old), *b = alloc(s, 4 * MIB, old), *c = NULL;

	dealloc(s, a, old);
	capture_begin(s, old, _i);
	dealloc(s, b, old);
	capture_end(s, old, true);
	stream_end(s, old);
	ck_assert_ptr_eq(stream_new(s), old);
	ck_assert_int_eq(mam_stream_release(s->pool, old), MAM_OK);
	ck_assert_int_eq(mam_malloc_async(s->pool, 8 * MIB, old, &c), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(alloc(s, 4 * MIB, old), a);
	dealloc(s, a, old);
	scene_end(s);
}
END_TEST

/* The graph may run on another stream, before earlier work of this stream has finished. */
START_TEST(memory_freed_before_capture_is_not_used_in_it)
{
	struct scene *s = scene_new(0);
	void *a, *b;

	for (int i = 0; i < 40; i++)
		dealloc(s, alloc(s, MIB, s->one), s->one);
	a = alloc(s, MIB, s->one);
	work(s, a, MIB, s->one);
	dealloc(s, a, s->one);
	capture_begin(s, s->one, _i);
	b = alloc(s, MIB, s->one);
	ck_assert_ptr_ne(b, a);
	dealloc(s, b, s->one);
	capture_end(s, s->one, true);
	ck_assert_ptr_eq(alloc(s, MIB, s->one), a);
	dealloc(s, a, s->one);
	scene_end(s);
}
END_TEST

/* Everything else continues during a capture: frees, fences, growth, and queries of events. */
START_TEST(work_on_other_streams_invalidates_no_capture)
{
	struct scene *s = scene_new(0);
	void *blocks[60], *big;

	capture_begin(s, s->two, _i);
	dealloc(s, alloc(s, MIB, s->two), s->two);
	for (int i = 0; i < 60; i++) {
		blocks[i] = alloc(s, MIB, s->one);
		work(s, blocks[i], MIB, s->one);
	}
	for (int i = 0; i < 60; i++)
		dealloc(s, blocks[i], s->one);
	ck_assert_uint_gt(calls("cuEventRecord"), 0);
	big = alloc(s, 80 * MIB, s->one); /* makes the pool query its events, and grow */
	ck_assert_uint_gt(calls("cuEventQuery"), 0);
	dealloc(s, big, s->one);
	dealloc(s, alloc(s, MIB, NULL), NULL);
	dealloc(s, alloc(s, MIB, MAM_STREAM_PER_THREAD), MAM_STREAM_PER_THREAD);
	capture_end(s, s->two, true);
	scene_end(s);
}
END_TEST

/* Recording in the legacy stream would invalidate the capture of a blocking stream. */
START_TEST(legacy_stream_records_no_event_in_blocking_capture)
{
	struct scene *s = scene_new(0);
	struct CUstream_st *blocking;
	void *a = alloc(s, MIB, NULL);

	ck_assert_int_eq(s->cuda.cuStreamCreate(&blocking, 0), CUDA_SUCCESS);
	capture_begin(s, blocking, _i);
	for (int i = 0; i < 40; i++) {
		void *more = alloc(s, MIB, NULL);

		dealloc(s, a, NULL);
		a = more;
	}
	dealloc(s, a, NULL);
	ck_assert_int_eq(mam_stream_release(s->pool, NULL), MAM_OK);
	ck_assert_uint_eq(calls("cuEventRecord"), 0);
	capture_end(s, blocking, true);
	ck_assert_int_eq(mam_stream_release(s->pool, NULL), MAM_OK);
	ck_assert_uint_eq(calls("cuEventRecord"), 1);
	scene_end(s);
}
END_TEST

/* A stream that frees and allocates alternately, so that no event covers its last free. */
static void leave_open(struct scene *s, void *block, size_t bytes, struct CUstream_st *stream)
{
	for (int i = 0; i < 40; i++) {
		dealloc(s, block, stream);
		ck_assert_ptr_eq(alloc(s, bytes, stream), block);
	}
	work(s, block, bytes, stream);
	dealloc(s, block, stream);
}

/*
 * Before it returns OUT_OF_MEMORY, the pool waits for everything except the memory of the capture.
 */
START_TEST(out_of_memory_invalidates_no_capture)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 4 * MIB, s->one), *b = alloc(s, 4 * MIB, s->two), *c = NULL, *d = NULL;

	leave_open(s, a, 4 * MIB, s->one);
	capture_begin(s, s->two, _i);
	dealloc(s, b, s->two);
	ck_assert_int_eq(mam_malloc(s->pool, 4 * MIB, &c), MAM_OK);
	ck_assert_ptr_eq(c, a);
	ck_assert_int_eq(pending(s, c, 4 * MIB), 0);
	ck_assert_int_eq(mam_malloc(s->pool, MIB, &d), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	capture_end(s, s->two, true);
	ck_assert_int_eq(mam_free(s->pool, c), MAM_OK);
	scene_end(s);
}
END_TEST

/* mam does not know of a capture in a stream that it never sees. */
START_TEST(wait_invalidates_no_unknown_capture)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 8 * MIB, s->one), *b = NULL;
	struct CUstream_st *blocking;

	ck_assert_int_eq(s->cuda.cuStreamCreate(&blocking, 0), CUDA_SUCCESS);
	leave_open(s, a, 8 * MIB, s->one);
	capture_begin(s, s->two, _i);
	capture_begin(s, blocking, _i);
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_OK);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	work(s, b, 8 * MIB, s->one);
	dealloc(s, b, s->one);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).reserved_bytes, 0);
	capture_end(s, s->two, true);
	capture_end(s, blocking, true);
	scene_end(s);
}
END_TEST

static unsigned nothing_left(unsigned long long *address, size_t bytes)
{
	(void)address;
	(void)bytes;
	return MAM_DRIVER_OUT_OF_MEMORY;
}

static unsigned no_host_memory(void **block, size_t bytes, unsigned flags)
{
	(void)block;
	(void)bytes;
	(void)flags;
	return MAM_DRIVER_OUT_OF_MEMORY;
}

/*
 * The wait that invalidates no capture needs a little memory. Without it the pool does not wait,
 * and no memory changes its owner.
 */
START_TEST(capture_prevents_wait_without_memory)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 4 * MIB, s->one), *b = alloc(s, 4 * MIB, s->two), *c = NULL;
	struct mam_streams *streams = s->pool->stream;
	struct mam_driver without;

	leave_open(s, a, 4 * MIB, s->one);
	without = *streams->fences.device.driver;
	without.own_mem_alloc = nothing_left;
	without.mem_host_alloc = no_host_memory;
	streams->fences.device.driver = &without;
	capture_begin(s, s->two, _i);
	dealloc(s, b, s->two);
	ck_assert_int_eq(mam_malloc(s->pool, 4 * MIB, &c), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_ptr_eq(alloc(s, 4 * MIB, s->one), a);
	dealloc(s, a, s->one);
	capture_end(s, s->two, true);
	/* The pool sees the stream outside its capture: now it may wait for it. */
	ck_assert_int_eq(mam_stream_release(s->pool, s->two), MAM_OK);
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &c), MAM_OK);
	ck_assert_int_eq(mam_free(s->pool, c), MAM_OK);
	scene_end(s);
}
END_TEST

/* A blocking stream in capture is detectable, even if mam never sees it. */
START_TEST(blocking_capture_prevents_wait_without_memory)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 8 * MIB, s->one), *b = NULL;
	struct mam_streams *streams = s->pool->stream;
	struct CUstream_st *blocking;
	struct mam_driver without;

	ck_assert_int_eq(s->cuda.cuStreamCreate(&blocking, 0), CUDA_SUCCESS);
	leave_open(s, a, 8 * MIB, s->one);
	without = *streams->fences.device.driver;
	without.own_mem_alloc = nothing_left;
	without.mem_host_alloc = no_host_memory;
	streams->fences.device.driver = &without;
	capture_begin(s, blocking, _i);
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_ERROR_OUT_OF_MEMORY);
	capture_end(s, blocking, true);
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_OK);
	ck_assert_int_eq(mam_free(s->pool, b), MAM_OK);
	scene_end(s);
}
END_TEST

START_TEST(invalidated_capture_keeps_its_blocks)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one), *b;

	capture_begin(s, s->one, _i);
	(void)s->cuda.cuCtxSynchronize(); /* invalidates every capture */
	dealloc(s, a, s->one);
	b = alloc(s, MIB, s->one);
	ck_assert_ptr_ne(a, b);
	dealloc(s, b, s->one);
	capture_end(s, s->one, false);
	ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 0);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, memory_freed_in_capture_is_reused_in_it, 0, 3);
	tcase_add_loop_test(tests, memory_freed_in_capture_is_not_reused_outside, 0, 3);
	tcase_add_loop_test(tests, memory_freed_in_capture_is_reusable_after_release, 0, 3);
	tcase_add_loop_test(tests, other_threads_release_has_no_effect, 0, 3);
	tcase_add_loop_test(tests, new_stream_with_same_handle_cannot_release, 0, 3);
	tcase_add_loop_test(tests, memory_freed_before_capture_is_not_used_in_it, 0, 3);
	tcase_add_loop_test(tests, work_on_other_streams_invalidates_no_capture, 0, 3);
	tcase_add_loop_test(tests, legacy_stream_records_no_event_in_blocking_capture, 0, 3);
	tcase_add_loop_test(tests, out_of_memory_invalidates_no_capture, 0, 3);
	tcase_add_loop_test(tests, wait_invalidates_no_unknown_capture, 0, 3);
	tcase_add_loop_test(tests, capture_prevents_wait_without_memory, 0, 3);
	tcase_add_loop_test(tests, blocking_capture_prevents_wait_without_memory, 0, 3);
	tcase_add_loop_test(tests, invalidated_capture_keeps_its_blocks, 0, 3);
}

int main(void)
{
	return suite_run("stream/capture", add);
}
