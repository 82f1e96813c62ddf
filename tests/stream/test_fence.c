/* SPDX-License-Identifier: Apache-2.0 */
/* Events: how many are created and recorded, and what happens when the driver refuses one call. */
#include "scene.h"

#define BLOCKS 64

START_TEST(many_frees_share_an_event)
{
	struct scene *s = scene_new(0);
	void *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		dealloc(s, alloc(s, MIB, s->one), s->one);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = alloc(s, MIB, s->one);
	finish(s, s->one);
	ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK);
	calls_forget();
	for (int i = 0; i < BLOCKS; i++) {
		work(s, blocks[i], MIB, s->one);
		dealloc(s, blocks[i], s->one);
	}
	ck_assert_uint_le(calls("cuEventRecord"), BLOCKS / 8);
	ck_assert_uint_ge(calls("cuEventRecord"), 1);
	scene_end(s);
}
END_TEST

START_TEST(alternating_free_and_alloc_needs_no_event)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, 40 * MIB, s->one);

	for (int i = 0; i < 20; i++) {
		dealloc(s, a, s->one);
		a = alloc(s, 40 * MIB, s->one);
	}
	calls_forget();
	for (int i = 0; i < 1000; i++) {
		dealloc(s, a, s->one);
		a = alloc(s, 40 * MIB, s->one);
	}
	ck_assert_uint_eq(calls("cuEventRecord"), 0);
	dealloc(s, a, s->one);
	scene_end(s);
}
END_TEST

START_TEST(first_free_of_stream_is_fenced_at_once)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one);

	dealloc(s, a, s->one);
	ck_assert_uint_eq(calls("cuEventRecord"), 1);
	scene_end(s);
}
END_TEST

START_TEST(large_freed_blocks_are_fenced_early)
{
	struct scene *s = scene_new(0);
	void *a, *b;

	for (int i = 0; i < 100; i++)
		dealloc(s, alloc(s, MIB, s->one), s->one);
	a = alloc(s, 40 * MIB, s->one);
	b = alloc(s, 40 * MIB, s->one);
	calls_forget();
	dealloc(s, a, s->one);
	ck_assert_uint_eq(calls("cuEventRecord"), 1);
	a = alloc(s, 40 * MIB, s->one);
	dealloc(s, a, s->one);
	ck_assert_uint_eq(calls("cuEventRecord"), 1); /* free and allocate again */
	dealloc(s, b, s->one);
	ck_assert_uint_eq(calls("cuEventRecord"), 2);
	scene_end(s);
}
END_TEST

/*
 * A thread may report its frees before another thread reports the allocations: then the live bytes
 * are negative.
 */
START_TEST(large_free_is_fenced_early_with_negative_live_bytes)
{
	struct scene *s = scene_new(0);
	void *a;

	for (int i = 0; i < 100; i++)
		dealloc(s, alloc(s, MIB, s->one), s->one);
	a = alloc(s, 40 * MIB, s->one);
	calls_forget();
	s->pool->counts.live_rounded_bytes -= 64 * MIB;
	dealloc(s, a, s->one);
	s->pool->counts.live_rounded_bytes += 64 * MIB;
	ck_assert_uint_eq(calls("cuEventRecord"), 1);
	scene_end(s);
}
END_TEST

static unsigned all_calls(void)
{
	/* clang-format off */
	static const char *const names[] = {
		"cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuStreamGetId",
		"cuStreamGetCtx", "cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode",
		"cuEventCreate", "cuEventRecord", "cuEventQuery", "cuStreamGetCaptureInfo",
	};
	/* clang-format on */
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		count += calls(names[i]);
	return count;
}

static void turns(struct scene *s, size_t bytes, int count, int max, struct CUstream_st *stream)
{
	void *blocks[64];

	for (int i = 0; i < count; i++)
		blocks[i] = alloc(s, bytes, stream);
	for (int turn = 0; turn < max; turn++) {
		for (int i = 0; i < count; i++)
			dealloc(s, blocks[i], stream);
		for (int i = 0; i < count; i++)
			blocks[i] = alloc(s, bytes, stream);
	}
	for (int i = 0; i < count; i++)
		dealloc(s, blocks[i], stream);
}

/*
 * A burst of frees followed by a burst of allocations: small blocks, medium ones, and most of the
 * device.
 */
START_TEST(repeated_bursts_of_frees_and_allocs_need_no_event)
{
	static const struct {
		size_t bytes;
		int count;
	} of[] = { { 4096, 64 }, { 2 * MIB, 64 }, { 24 * MIB, 8 } };
	struct scene *s = scene_new(0);

	turns(s, of[_i].bytes, of[_i].count, 30, s->one);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	turns(s, of[_i].bytes, of[_i].count, 2, s->one);
	calls_forget();
	turns(s, of[_i].bytes, of[_i].count, 10, s->one);
	ck_assert_uint_eq(calls("cuEventRecord"), 0);
	ck_assert_uint_eq(calls("cuStreamIsCapturing"), 22 * (unsigned)of[_i].count);
	ck_assert_uint_eq(calls("cuStreamGetId"), 11 * (unsigned)of[_i].count);
	ck_assert_uint_eq(all_calls(), 33 * (unsigned)of[_i].count);
	scene_end(s);
}
END_TEST

START_TEST(legacy_stream_needs_no_driver_call)
{
	struct scene *s = scene_new(0);

	turns(s, 4096, 64, 30, NULL);
	calls_forget();
	turns(s, 4096, 64, 10, NULL);
	ck_assert_uint_eq(all_calls(), 0);
	scene_end(s);
}
END_TEST

/* Its context is current, so no call has to make it current, or to check that it has not ended. */
START_TEST(per_thread_stream_needs_few_driver_calls)
{
	struct scene *s = scene_new(0);

	turns(s, 4096, 64, 30, MAM_STREAM_PER_THREAD);
	calls_forget();
	turns(s, 4096, 64, 10, MAM_STREAM_PER_THREAD);
	ck_assert_uint_eq(calls("cuStreamIsCapturing"), 22 * 64);
	ck_assert_uint_eq(calls("cuCtxGetId"), 0);
	scene_end(s);
}
END_TEST

/* Small amounts leave their stream after many frees; large amounts leave early. */
START_TEST(small_freed_blocks_are_fenced_late)
{
	struct scene *s = scene_new(0);
	void *blocks[300];

	for (int i = 0; i < 200; i++)
		dealloc(s, alloc(s, 512, s->one), s->one);
	for (int i = 0; i < 300; i++)
		blocks[i] = alloc(s, 512, s->two);
	calls_forget();
	for (int i = 0; i < 250; i++)
		dealloc(s, blocks[i], s->one);
	ck_assert_uint_eq(calls("cuEventRecord"), 0);
	for (int i = 250; i < 300; i++)
		dealloc(s, blocks[i], s->one);
	ck_assert_uint_eq(calls("cuEventRecord"), 1);
	for (int i = 0; i < 16; i++)
		blocks[i] = alloc(s, 256 << 10, s->two);
	calls_forget();
	for (int i = 0; i < 16; i++)
		dealloc(s, blocks[i], s->one);
	ck_assert_uint_ge(calls("cuEventRecord"), 1);
	scene_end(s);
}
END_TEST

/*
 * A stream that reused a large amount once, and then no more, is not expected to reuse it forever.
 */
START_TEST(swing_decays)
{
	struct scene *s = scene_new(0);
	void *blocks[16], *room = alloc(s, 8 * MIB, s->two);

	turns(s, 8 * MIB, 16, 20, s->one);
	for (int i = 0; i < 16; i++)
		blocks[i] = alloc(s, 8 * MIB, s->one);
	ck_assert_int_eq(mam_free(s->pool, room), MAM_OK); /* no need to grow */
	for (int i = 0; i < 80; i++)
		dealloc(s, alloc(s, 512, s->one), s->one);
	calls_forget();
	/* With the one of 512 bytes these are as many as leave, and within the swing. */
	for (int i = 0; i < 15; i++)
		dealloc(s, blocks[i], s->one);
	ck_assert_uint_ge(calls("cuEventRecord"), 1);
	dealloc(s, blocks[15], s->one);
	scene_end(s);
}
END_TEST

/* A stream that allocates a large amount and frees it once has not reused it. */
START_TEST(one_time_alloc_does_not_raise_swing)
{
	struct scene *s = scene_new(0);
	void *blocks[16];

	for (int i = 0; i < 200; i++)
		dealloc(s, alloc(s, 512, s->one), s->one);
	for (int i = 0; i < 16; i++)
		ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &blocks[i]), MAM_OK);
	for (int i = 0; i < 16; i++)
		ck_assert_int_eq(mam_free(s->pool, blocks[i]), MAM_OK);
	for (int i = 0; i < 16; i++)
		blocks[i] = alloc(s, 8 * MIB, s->one);
	calls_forget();
	/* With the one of 512 bytes these are as many as leave, and within the swing. */
	for (int i = 0; i < 15; i++)
		dealloc(s, blocks[i], s->one);
	ck_assert_uint_ge(calls("cuEventRecord"), 1);
	dealloc(s, blocks[15], s->one);
	scene_end(s);
}
END_TEST

/* Nor while other streams need the memory. */
START_TEST(growth_makes_streams_release_memory)
{
	struct scene *s = scene_new(0);
	void *blocks[32], *other;

	turns(s, 2 * MIB, 32, 20, s->one);
	for (int i = 0; i < 32; i++)
		blocks[i] = alloc(s, 2 * MIB, s->one);
	calls_forget();
	for (int i = 0; i < 20; i++)
		dealloc(s, blocks[i], s->one);
	ck_assert_uint_eq(calls("cuEventRecord"), 0);
	other = alloc(s, 80 * MIB, s->two);
	for (int i = 20; i < 22; i++)
		dealloc(s, blocks[i], s->one);
	ck_assert_uint_ge(calls("cuEventRecord"), 1);
	for (int i = 22; i < 32; i++)
		dealloc(s, blocks[i], s->one);
	dealloc(s, other, s->two);
	scene_end(s);
}
END_TEST

START_TEST(pending_fence_is_not_queried_at_each_free)
{
	struct scene *s = scene_new(0);
	void *blocks[5];

	for (int i = 0; i < 200; i++)
		dealloc(s, alloc(s, 512, s->one), s->one);
	for (int i = 0; i < 5; i++) {
		blocks[i] = alloc(s, 40 * MIB, s->one);
		work(s, blocks[i], 40 * MIB, s->one);
	}
	ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK);
	calls_forget();
	for (int i = 0; i < 5; i++) /* each of them leaves its stream */
		dealloc(s, blocks[i], s->one);
	ck_assert_uint_ge(calls("cuEventRecord"), 3);
	ck_assert_uint_le(calls("cuEventQuery"), 2);
	scene_end(s);
}
END_TEST

START_TEST(events_are_reused)
{
	struct scene *s = scene_new(0);

	for (int round = 0; round < 50; round++) {
		void *blocks[20];

		for (int i = 0; i < 20; i++)
			blocks[i] = alloc(s, MIB, s->one);
		for (int i = 0; i < 20; i++) {
			work(s, blocks[i], MIB, s->one);
			dealloc(s, blocks[i], s->one);
		}
		ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK);
		finish(s, s->one);
	}
	ck_assert_uint_ge(calls("cuEventRecord"), 50);
	ck_assert_uint_le(calls("cuEventCreate"), MAM_BATCHES + 1);
	ck_assert_int_le(events(s), MAM_BATCHES + 1);
	scene_end(s);
}
END_TEST

START_TEST(frees_do_not_retry_fences_without_free_batch)
{
	struct scene *s = scene_new(0);
	void *blocks[200];

	for (int i = 0; i < 200; i++)
		blocks[i] = alloc(s, MIB, s->one);
	for (int i = 0; i < 200; i++)
		work(s, blocks[i], MIB, s->one);
	calls_forget();
	for (int i = 0; i < 200; i++)
		dealloc(s, blocks[i], s->one);
	/* All batches are soon in use, and none has passed. */
	ck_assert_uint_le(calls("cuEventRecord"), MAM_BATCHES);
	ck_assert_uint_le(calls("cuEventQuery"), 40);
	scene_end(s);
}
END_TEST

/* Frees in the order of its own stream only: any other order would be wrong. */
static void dealloc_any_way(struct scene *s, void *block, struct CUstream_st *stream)
{
	for (int i = 0; i < 8; i++)
		if (mam_free_async(s->pool, block, stream) == MAM_OK)
			return;
	ck_abort_msg("the block could not be freed");
}

/* A scenario with growth, streams, waits, trim and a capture; the pool survives any failed call. */
static void scenario(struct scene *s)
{
	struct CUgraph_st *graph = NULL;
	void *a[24] = { NULL }, *b = NULL;

	for (int round = 0; round < 3; round++) {
		struct CUstream_st *stream = round == 2 ? MAM_STREAM_PER_THREAD : s->one;

		for (int i = 0; i < 24; i++) {
			a[i] = NULL;
			(void)mam_malloc_async(s->pool, MIB, stream, &a[i]);
			if (a[i] == NULL)
				continue;
			ck_assert(round != 0 || pending(s, a[i], MIB) == 0);
			work(s, a[i], MIB, stream);
		}
		for (int i = 0; i < 24; i++)
			if (a[i] != NULL)
				dealloc_any_way(s, a[i], stream);
		b = NULL;
		for (int i = 0; i < 4; i++) /* its own earlier work may make a call fail */
			(void)s->cuda.cuStreamSynchronize(s->two);
		(void)mam_malloc_async(s->pool, 20 * MIB, s->two, &b);
		if (b != NULL) {
			ck_assert_int_eq(pending(s, b, 20 * MIB), 0);
			work(s, b, 20 * MIB, s->two);
			dealloc_any_way(s, b, s->two);
		}
		intact(s);
	}
	if (s->cuda.cuStreamBeginCapture_v2(s->one, 0) == CUDA_SUCCESS) {
		b = NULL;
		(void)mam_malloc_async(s->pool, MIB, s->one, &b);
		if (b != NULL)
			dealloc_any_way(s, b, s->one);
		if (s->cuda.cuStreamEndCapture(s->one, &graph) == CUDA_SUCCESS)
			while (s->cuda.cuGraphDestroy(graph) != CUDA_SUCCESS)
				continue; /* at most three calls in a row fail */
	}
	(void)mam_stream_release(s->pool, s->one);
	(void)mam_pool_trim(s->pool, 0, NULL);
	intact(s);
}

START_TEST(pool_survives_failure_of_each_driver_call)
{
	struct scene *s = scene_new(0);
	unsigned long at = 1 + (unsigned long)_i;
	unsigned long long address;
	char name[64] = "";
	size_t bytes;
	int failed;

	do { /* every sixth call of the scenario, until no call is left to fail */
		s->cuda.fake_fail(at, 1 + at % 3);
		scenario(s);
		failed = s->cuda.fake_failed(name, sizeof(name));
		s->cuda.fake_fail(0, 0);
		intact(s);
		ck_assert_msg(s->cuda.fake_disturbed(&address, &bytes) == 0,
			      "call %lu, %s: memory was released while work used it", at, name);
		ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK);
		ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
		at += 6;
	} while (failed != 0);
	ck_assert_uint_gt(at, 200);
	/* An event that the driver failed to destroy stays with the driver. */
	ck_assert_int_eq(mam_pool_destroy(s->pool), MAM_OK);
	ck_assert_int_eq(s->cuda.fake_disturbed(&address, &bytes), 0);
	free(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, many_frees_share_an_event);
	tcase_add_test(tests, alternating_free_and_alloc_needs_no_event);
	tcase_add_test(tests, first_free_of_stream_is_fenced_at_once);
	tcase_add_test(tests, large_freed_blocks_are_fenced_early);
	tcase_add_test(tests, large_free_is_fenced_early_with_negative_live_bytes);
	tcase_add_loop_test(tests, repeated_bursts_of_frees_and_allocs_need_no_event, 0, 3);
	tcase_add_test(tests, legacy_stream_needs_no_driver_call);
	tcase_add_test(tests, per_thread_stream_needs_few_driver_calls);
	tcase_add_test(tests, small_freed_blocks_are_fenced_late);
	tcase_add_test(tests, swing_decays);
	tcase_add_test(tests, one_time_alloc_does_not_raise_swing);
	tcase_add_test(tests, growth_makes_streams_release_memory);
	tcase_add_test(tests, pending_fence_is_not_queried_at_each_free);
	tcase_add_test(tests, events_are_reused);
	tcase_add_test(tests, frees_do_not_retry_fences_without_free_batch);
	tcase_add_loop_test(tests, pool_survives_failure_of_each_driver_call, 0, 6);
}

int main(void)
{
	return suite_run("stream/fence", add);
}
