/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that streams return when the pool is short. The pool first takes the memory whose fence
 * has passed, then waits for the rest. It does not block streams that continue.
 */
#include "scene.h"

#include <pthread.h>
#include <unistd.h>

START_TEST(growth_first_queries_all_streams)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, 4 * MIB, s->one), *b = alloc(s, 4 * MIB, s->two), *c = NULL;

	work(s, a, 4 * MIB, s->one);
	work(s, b, 4 * MIB, s->two);
	dealloc(s, a, s->one);
	dealloc(s, b, s->two);
	finish(s, s->one);
	finish(s, s->two);
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &c), MAM_OK); /* merged */
	ck_assert_ptr_eq(c, a);
	ck_assert_uint_eq(stats_of(s).grows, 1);
	ck_assert_int_eq(mam_free(s->pool, c), MAM_OK);
	scene_end(s);
}
END_TEST

START_TEST(growth_does_not_wait)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, 8 * MIB, s->one), *b = NULL;

	work(s, a, 8 * MIB, s->one);
	dealloc(s, a, s->one);
	calls_forget();
	ck_assert_int_eq(mam_malloc_async(s->pool, 8 * MIB, s->two, &b), MAM_OK);
	ck_assert_uint_eq(calls("cuEventSynchronize") + calls("cuCtxSynchronize") +
				  calls("cuStreamSynchronize") + calls("cuCtxRecordEvent"),
			  0);
	dealloc(s, b, s->two);
	scene_end(s);
}
END_TEST

/* No event covers the open memory of a stream: one wait for the context serves all of it. */
START_TEST(one_context_wait_serves_all_open_memory)
{
	struct scene *s = scene_new(16 * MIB);
	struct CUstream_st *streams[4];
	void *blocks[4], *all = NULL;

	for (int i = 0; i < 4; i++) {
		streams[i] = stream_new(s);
		blocks[i] = alloc(s, 4 * MIB, streams[i]);
		for (int k = 0; k < 40; k++) {
			dealloc(s, blocks[i], streams[i]);
			blocks[i] = alloc(s, 4 * MIB, streams[i]);
		}
	}
	for (int i = 0; i < 4; i++) {
		work(s, blocks[i], 4 * MIB, streams[i]);
		dealloc(s, blocks[i], streams[i]);
		stream_end(s, streams[i]);
	}
	calls_forget();
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &all), MAM_OK);
	ck_assert_int_eq(pending(s, all, 8 * MIB), 0);
	ck_assert_uint_eq(calls("cuMemAlloc"), 1);
	ck_assert_uint_eq(calls("cuMemFree"), 1);
	ck_assert_uint_eq(calls("cuCtxRecordEvent") + calls("cuCtxSynchronize"), 0);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 0);
	ck_assert_int_eq(mam_free(s->pool, all), MAM_OK);
	scene_end(s);
}
END_TEST

/* No memory is allocated for a wait that is not needed. */
START_TEST(fenced_memory_needs_no_context_wait)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 8 * MIB, s->one), *b = NULL;

	work(s, a, 8 * MIB, s->one);
	dealloc(s, a, s->one); /* the first free leaves its stream at once */
	ck_assert_uint_eq(calls("cuEventRecord"), 1);
	calls_forget();
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_OK);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	ck_assert_uint_eq(calls("cuMemAlloc") + calls("cuMemFree"), 0);
	ck_assert_int_eq(mam_free(s->pool, b), MAM_OK);
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

/* _i == 1: an old driver, without cuCtxRecordEvent of CUDA 12.5. */
START_TEST(wait_falls_back_if_its_memory_is_refused)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 8 * MIB, s->one), *b = NULL;
	struct mam_driver without;
	struct mam_streams *streams = s->pool->stream;

	for (int k = 0; k < 40; k++) {
		dealloc(s, a, s->one);
		a = alloc(s, 8 * MIB, s->one);
	}
	without = *streams->fences.device.driver;
	without.own_mem_alloc = nothing_left;
	without.mem_host_alloc = no_host_memory;
	if (_i == 1)
		without.ctx_record_event = NULL;
	streams->fences.device.driver = &without;
	work(s, a, 8 * MIB, s->one);
	dealloc(s, a, s->one);
	stream_end(s, s->one);
	calls_forget();
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_OK);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	ck_assert_uint_eq(calls("cuCtxRecordEvent"), _i == 0);
	ck_assert_uint_eq(calls("cuCtxSynchronize"), _i == 1);
	ck_assert_int_eq(mam_free(s->pool, b), MAM_OK);
	scene_end(s);
}
END_TEST

/* Without stream ids a handle identifies no stream across calls. */
START_TEST(driver_without_stream_ids_fences_each_free)
{
	struct scene *s = scene_new(0);
	void *first = alloc(s, MIB, NULL), *a, *b;
	struct mam_streams *streams = s->pool->stream;
	struct mam_driver without;

	dealloc(s, first, NULL); /* binds the pool to its context */
	without = *streams->fences.device.driver;
	without.stream_get_id = NULL;
	streams->fences.device.driver = &without;
	a = alloc(s, 8 * MIB, s->one);
	for (int i = 0; i < 12; i++) {
		work(s, a, 8 * MIB, s->one);
		calls_forget();
		dealloc(s, a, s->one);
		if (i < MAM_BATCHES)
			ck_assert_uint_eq(calls("cuEventRecord"), 1);
		b = alloc(s, 8 * MIB, s->one);
		ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
		a = b;
	}
	ck_assert_int_eq(mam_free(s->pool, a), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 0);
	scene_end(s);
}
END_TEST

/*
 * Two streams have the same handle, one after the other. The second one frees a neighbor of a block
 * that the first one freed, and that waits for an event of the first one. An event of the second
 * stream does not cover it. With _i == 1 the driver has no stream ids.
 */
START_TEST(new_stream_with_old_handle_releases_nothing_early)
{
	struct scene *s = scene_new(0);
	struct CUstream_st *old = stream_new(s), *fresh;
	void *first = alloc(s, MIB, NULL), *a, *b, *wall, *c;
	struct mam_streams *streams = s->pool->stream;
	struct mam_driver without;

	dealloc(s, first, NULL); /* binds the pool to its context */
	without = *streams->fences.device.driver;
	if (_i == 1)
		without.stream_get_id = NULL;
	streams->fences.device.driver = &without;
	a = alloc(s, 2 * MIB, old);
	b = alloc(s, 2 * MIB, old);
	wall = alloc(s, MIB, s->two);
	work(s, a, 2 * MIB, old);
	dealloc(s, a, old); /* leaves the stream at once */
	ck_assert_uint_ge(calls("cuEventRecord"), 1);
	stream_end(s, old);
	fresh = stream_new(s);
	ck_assert_ptr_eq(fresh, old);
	dealloc(s, b, fresh);
	ck_assert_int_eq(mam_stream_release(s->pool, fresh), MAM_OK);
	c = alloc(s, 4 * MIB, s->two); /* as large as both, so that the pool queries all events */
	ck_assert_int_eq(pending(s, a, 2 * MIB), 1);
	ck_assert_int_eq(pending(s, c, 4 * MIB), 0);
	dealloc(s, c, s->two);
	dealloc(s, wall, s->two);
	scene_end(s);
}
END_TEST

START_TEST(driver_without_capture_ids_keeps_frees_separate)
{
	struct scene *s = scene_new(0);
	void *first = alloc(s, MIB, NULL), *a = alloc(s, MIB, s->one), *b;
	struct mam_streams *streams = s->pool->stream;
	struct mam_driver without;

	dealloc(s, first, NULL);
	without = *streams->fences.device.driver;
	without.stream_get_capture_info = NULL;
	streams->fences.device.driver = &without;
	capture_begin(s, s->one, 0);
	dealloc(s, a, s->one);
	b = alloc(s, MIB, s->one);
	ck_assert_ptr_ne(a, b);
	dealloc(s, b, s->one);
	capture_end(s, s->one, true);
	ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 0);
	scene_end(s);
}
END_TEST

START_TEST(released_stream_memory_is_shared_when_work_ends)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, 8 * MIB, s->one), *b;

	for (int k = 0; k < 40; k++) {
		dealloc(s, a, s->one);
		a = alloc(s, 8 * MIB, s->one);
	}
	work(s, a, 8 * MIB, s->one);
	dealloc(s, a, s->one);
	calls_forget();
	ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK);
	ck_assert_uint_eq(calls("cuEventRecord"), 1);
	ck_assert_uint_eq(calls("cuEventSynchronize"), 0);
	finish(s, s->one);
	b = alloc(s, 8 * MIB, s->two);
	ck_assert_ptr_eq(b, a);
	dealloc(s, b, s->two);
	scene_end(s);
}
END_TEST

/* One scenario for each kind of source that has a device. */
START_TEST(no_source_releases_memory_under_work)
{
	static const char *const sources[] = { "cudamalloc", "vmm", "pinned", "managed" };
	struct scene *s = scene_on(sources[_i], 0);
	void *a = alloc(s, 6 * MIB, s->one), *b = alloc(s, 2 * MIB, s->two), *c, *d;

	for (int i = 0; i < 3; i++)
		work(s, a, 6 * MIB, s->one);
	work(s, b, 2 * MIB, s->two);
	dealloc(s, a, s->one);
	dealloc(s, b, s->two);
	c = alloc(s, 16 * MIB, s->two);
	finish(s, s->two); /* its own work may still use memory that it freed before */
	ck_assert_int_ge(pending(s, a, 6 * MIB), 1);
	ck_assert_int_eq(pending(s, c, 16 * MIB), 0);
	work(s, c, 16 * MIB, s->two);
	dealloc(s, c, s->two);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 0);
	d = alloc(s, 4 * MIB, s->one);
	work(s, d, 4 * MIB, s->one);
	dealloc(s, d, s->one);
	scene_end(s); /* with unfinished work */
}
END_TEST

struct waiter {
	struct scene *s;
	struct CUctx_st *context;
	void *got;
};

static void *wait_for_memory(void *argument)
{
	struct waiter *waiter = argument;

	waiter->s->cuda.cuCtxSetCurrent(waiter->context);
	if (mam_malloc(waiter->s->pool, 8 * MIB, &waiter->got) != MAM_OK)
		waiter->got = NULL;
	return NULL;
}

/* The fake's clock is off here: the work takes a third of a second of real time. */
START_TEST(waiting_thread_does_not_block_other_frees)
{
	struct timespec began, ended;
	struct waiter waiter;
	pthread_t thread;
	void *a, *b;

	unsetenv("FAKE_CUDA_CLOCK_NS");
	setenv("FAKE_CUDA_LAG_US", "300000", 1);
	waiter.s = scene_new(16 * MIB);
	ck_assert_int_eq(waiter.s->cuda.cuCtxGetCurrent(&waiter.context), CUDA_SUCCESS);
	a = alloc(waiter.s, 8 * MIB, waiter.s->one);
	b = alloc(waiter.s, 4 * MIB, waiter.s->two);
	work(waiter.s, a, 8 * MIB, waiter.s->one);
	dealloc(waiter.s, a, waiter.s->one);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_memory, &waiter), 0);
	usleep(100000); /* the thread waits now */
	clock_gettime(CLOCK_MONOTONIC, &began);
	dealloc(waiter.s, b, waiter.s->two);
	b = alloc(waiter.s, 4 * MIB, waiter.s->two);
	dealloc(waiter.s, b, waiter.s->two);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	ck_assert_int_eq(pending(waiter.s, a, 8 * MIB), 1);
	ck_assert_int_lt((ended.tv_sec - began.tv_sec) * 1000 +
				 (ended.tv_nsec - began.tv_nsec) / 1000000,
			 100);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_ptr_nonnull(waiter.got);
	ck_assert_int_eq(mam_free(waiter.s->pool, waiter.got), MAM_OK);
	scene_end(waiter.s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, growth_first_queries_all_streams);
	tcase_add_test(tests, growth_does_not_wait);
	tcase_add_test(tests, one_context_wait_serves_all_open_memory);
	tcase_add_test(tests, fenced_memory_needs_no_context_wait);
	tcase_add_loop_test(tests, wait_falls_back_if_its_memory_is_refused, 0, 2);
	tcase_add_test(tests, driver_without_stream_ids_fences_each_free);
	tcase_add_loop_test(tests, new_stream_with_old_handle_releases_nothing_early, 0, 2);
	tcase_add_test(tests, driver_without_capture_ids_keeps_frees_separate);
	tcase_add_test(tests, released_stream_memory_is_shared_when_work_ends);
	tcase_add_loop_test(tests, no_source_releases_memory_under_work, 0, 4);
	tcase_add_test(tests, waiting_thread_does_not_block_other_frees);
}

int main(void)
{
	return suite_run("stream/drain", add);
}
