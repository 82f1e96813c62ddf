/* SPDX-License-Identifier: Apache-2.0 */
/* When freed memory is reusable: in its own stream at once, elsewhere after a fence. */
#include "scene.h"

START_TEST(same_stream_reuses_memory_at_once)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one), *b;

	work(s, a, MIB, s->one);
	dealloc(s, a, s->one);
	b = alloc(s, MIB, s->one);
	ck_assert_ptr_eq(b, a);
	ck_assert_int_eq(pending(s, b, MIB), 1);
	dealloc(s, b, s->one);
	scene_end(s);
}
END_TEST

START_TEST(other_stream_reuses_memory_after_work)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 8 * MIB, s->one), *b = NULL;

	work(s, a, 8 * MIB, s->one);
	dealloc(s, a, s->one);
	/* The pool is full: it has to wait, as it does not know the stream. */
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_OK);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	ck_assert_int_eq(mam_free(s->pool, b), MAM_OK);
	scene_end(s);
}
END_TEST

START_TEST(other_stream_does_not_wait_if_pool_can_grow)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, 8 * MIB, s->one), *b;

	work(s, a, 8 * MIB, s->one);
	dealloc(s, a, s->one);
	b = alloc(s, 8 * MIB, s->two);
	ck_assert_ptr_ne(b, a);
	ck_assert_int_eq(pending(s, a, 8 * MIB), 1);
	dealloc(s, b, s->two);
	scene_end(s);
}
END_TEST

START_TEST(memory_with_passed_fence_is_used_before_growth)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, 8 * MIB, s->one), *b;

	work(s, a, 8 * MIB, s->one);
	dealloc(s, a, s->one);
	finish(s, s->one);
	b = alloc(s, 8 * MIB, s->two);
	ck_assert_ptr_eq(b, a);
	ck_assert_uint_eq(stats_of(s).grows, 1);
	dealloc(s, b, s->two);
	scene_end(s);
}
END_TEST

START_TEST(plain_malloc_reuses_memory_after_fence)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 8 * MIB, s->one), *b = NULL;

	work(s, a, 8 * MIB, s->one);
	dealloc(s, a, s->one);
	ck_assert_int_eq(mam_pool_alloc_nowait(s->pool, MIB, 0, &b), MAM_ERROR_WOULD_WAIT);
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_OK);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	ck_assert_int_eq(mam_free(s->pool, b), MAM_OK);
	scene_end(s);
}
END_TEST

/*
 * Memory of a stream is divided like free memory: neighbors merge, and a request may use part of a
 * block.
 */
START_TEST(stream_splits_and_merges_its_memory)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 4 * MIB, s->one), *b = alloc(s, 4 * MIB, s->one), *c;

	work(s, a, 8 * MIB, s->one);
	dealloc(s, a, s->one);
	dealloc(s, b, s->one);
	intact(s);
	c = alloc(s, 8 * MIB, s->one);
	ck_assert_ptr_eq(c, a);
	ck_assert_int_eq(pending(s, c, 8 * MIB), 1);
	dealloc(s, c, s->one);
	b = alloc(s, MIB, s->one);
	ck_assert_ptr_eq(b, a);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 7 * MIB);
	dealloc(s, b, s->one);
	scene_end(s);
}
END_TEST

/* A single stream needs no more memory than if its frees took effect at once. */
START_TEST(free_space_beside_stream_memory_serves_stream)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = alloc(s, 2 * MIB, s->one), *b = alloc(s, 3 * MIB, s->one), *c, *d;

	work(s, a, 5 * MIB, s->one);
	dealloc(s, b, s->one);
	calls_forget();
	c = alloc(s, 6 * MIB, s->one); /* 3 MiB are in the stream's list, 3 MiB were never used */
	ck_assert_ptr_eq(c, b);
	ck_assert_int_eq(pending(s, c, 6 * MIB), 1);
	ck_assert_uint_eq(calls("cuEventSynchronize"), 0);
	dealloc(s, c, s->one);
	dealloc(s, a, s->one);
	d = alloc(s, 8 * MIB, s->one);
	ck_assert_ptr_eq(d, a);
	ck_assert_int_eq(pending(s, d, 8 * MIB), 1);
	dealloc(s, d, s->one);
	scene_end(s);
}
END_TEST

START_TEST(better_fitting_free_block_is_used_first)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one), *wall = alloc(s, 512, s->one),
	     *big = alloc(s, 3 * MIB, s->one);
	void *b;

	ck_assert_int_eq(mam_free(s->pool, a), MAM_OK);
	dealloc(s, big, s->one);
	b = alloc(s, MIB, s->one);
	ck_assert_ptr_eq(b, a);
	ck_assert_ptr_eq(alloc(s, 3 * MIB, s->one), big);
	dealloc(s, b, s->one);
	dealloc(s, wall, s->one);
	dealloc(s, big, s->one);
	scene_end(s);
}
END_TEST

START_TEST(stream_memory_is_counted_as_retired)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, MIB, s->one);
	struct mam_segment_info info = { .size = sizeof(info) };
	struct mam_stats stats;

	dealloc(s, a, s->one);
	stats = stats_of(s);
	ck_assert_uint_eq(stats.live_blocks, 0);
	ck_assert_uint_eq(stats.retired_blocks, 1);
	ck_assert_uint_eq(stats.retired_bytes, MIB);
	ck_assert_uint_eq(stats.frees, 1);
	ck_assert_int_eq(mam_owner(a, NULL, &info), MAM_OK);
	ck_assert(info.retired && !info.live);
	scene_end(s);
}
END_TEST

/* The stream is destroyed, and a new one has its handle: they look like the same stream. */
static struct CUstream_st *replaced(struct scene *s, struct CUstream_st *old)
{
	struct CUstream_st *fresh;

	stream_end(s, old);
	fresh = stream_new(s);
	ck_assert_ptr_eq(fresh, old);
	return fresh;
}

static struct CUstream_st *idle_stream(struct scene *s)
{
	struct CUstream_st *stream = stream_new(s);

	for (int i = 0; i < 150; i++)
		dealloc(s, alloc(s, MIB, stream), stream);
	return stream;
}

/* A block that is requested again in its own size is neither split nor merged, wherever it is. */
START_TEST(stream_reuses_blocks_unsplit)
{
	struct scene *s = scene_new(0);
	struct CUstream_st *stream = idle_stream(s);
	void *blocks[100];
	struct mam_stats before;

	for (int i = 0; i < 100; i++) {
		blocks[i] = alloc(s, (size_t)(1 + i % 5) << 9, stream);
		work(s, blocks[i], 512, stream);
	}
	before = stats_of(s);
	for (int i = 0; i < 100; i++)
		dealloc(s, blocks[i], stream);
	ck_assert_uint_eq(stats_of(s).segments, before.segments);
	ck_assert_uint_eq(stats_of(s).retired_blocks, before.retired_blocks + 100);
	for (int i = 0; i < 100; i++) {
		void *b = alloc(s, (size_t)(1 + i % 5) << 9, stream);
		int k = i;

		while (k < 100 && (blocks[k] != b || (k - i) % 5 != 0))
			k++;
		ck_assert_int_lt(k, 100);
		blocks[k] = blocks[i];
		blocks[i] = b;
	}
	ck_assert_uint_eq(stats_of(s).segments, before.segments);
	ck_assert_uint_eq(stats_of(s).retired_bytes, before.retired_bytes);
	for (int i = 0; i < 100; i++)
		dealloc(s, blocks[i], stream);
	scene_end(s);
}
END_TEST

#define MANY (MAM_LOOSE_MAX + 70)

START_TEST(stream_reuses_more_blocks_than_loose_limit)
{
	struct scene *s = scene_new(0);
	void *blocks[MANY];
	char *low;

	for (int i = 0; i < MANY; i++)
		blocks[i] = alloc(s, 512, s->one);
	low = blocks[0];
	work(s, low, 512 * MANY, s->one);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			dealloc(s, blocks[i], s->one);
		intact(s);
		ck_assert_uint_le(stats_of(s).retired_blocks, MAM_LOOSE_MAX + 32);
		for (int i = 0; i < MANY; i++) {
			blocks[i] = alloc(s, 512, s->one);
			ck_assert((char *)blocks[i] >= low && (char *)blocks[i] < low + 512 * MANY);
		}
		intact(s);
	}
	for (int i = 0; i < MANY; i++)
		dealloc(s, blocks[i], s->one);
	scene_end(s);
}
END_TEST

START_TEST(new_stream_with_old_handle_is_other_stream)
{
	struct scene *s = scene_new(0);
	struct CUstream_st *old = idle_stream(s), *fresh;
	void *a = alloc(s, MIB, old), *b;

	work(s, a, MIB, old);
	dealloc(s, a, old);
	fresh = replaced(s, old);
	b = alloc(s, MIB, fresh);
	ck_assert_ptr_ne(b, a);
	ck_assert_int_eq(pending(s, b, MIB), 0);
	dealloc(s, b, fresh);
	scene_end(s);
}
END_TEST

/* Nor is an event in the new stream a fence for memory that the old one freed. */
START_TEST(fence_of_new_stream_does_not_cover_old_one)
{
	struct scene *s = scene_new(0);
	struct CUstream_st *old = idle_stream(s), *fresh;
	void *a = alloc(s, 4 * MIB, old), *blocks[40];
	enum mam_status status = MAM_OK;

	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(mam_malloc(s->pool, 512, &blocks[i]), MAM_OK);
	work(s, a, 4 * MIB, old);
	dealloc(s, a, old);
	fresh = replaced(s, old);
	calls_forget();
	for (int i = 0; i < 40; i++) /* enough to leave the stream */
		dealloc(s, blocks[i], fresh);
	ck_assert_uint_ge(calls("cuEventRecord"), 1);
	for (int i = 0; i < 40 && status == MAM_OK; i++) {
		void *b = NULL;

		status = mam_malloc_async(s->pool, 4 * MIB, s->two, &b);
		ck_assert(status != MAM_OK || pending(s, b, 4 * MIB) == 0);
		if (status == MAM_OK && i < 30)
			continue; /* everything is dropped with the pool */
		break;
	}
	ck_assert_int_eq(pending(s, a, 4 * MIB), 1);
	ck_assert_int_eq(mam_pool_abandon(s->pool), MAM_OK);
	free(s);
}
END_TEST

START_TEST(memory_of_destroyed_stream_is_reused)
{
	struct scene *s = scene_new(8 * MIB);
	struct CUstream_st *gone = stream_new(s);
	void *a = alloc(s, 8 * MIB, gone), *b;

	for (int i = 0; i < 40; i++) {
		dealloc(s, a, gone);
		a = alloc(s, 8 * MIB, gone);
	}
	work(s, a, 8 * MIB, gone);
	dealloc(s, a, gone);
	stream_end(s, gone);
	b = alloc(s, 8 * MIB, s->two);
	ck_assert_ptr_eq(b, a);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	dealloc(s, b, s->two);
	scene_end(s);
}
END_TEST

START_TEST(trim_releases_stream_memory)
{
	struct scene *s = scene_new(0);
	void *a = alloc(s, 8 * MIB, s->one);
	size_t released = 0;

	work(s, a, 8 * MIB, s->one);
	dealloc(s, a, s->one);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 8 * MIB);
	ck_assert_uint_eq(stats_of(s).reserved_bytes, 0);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, same_stream_reuses_memory_at_once);
	tcase_add_test(tests, other_stream_reuses_memory_after_work);
	tcase_add_test(tests, other_stream_does_not_wait_if_pool_can_grow);
	tcase_add_test(tests, memory_with_passed_fence_is_used_before_growth);
	tcase_add_test(tests, plain_malloc_reuses_memory_after_fence);
	tcase_add_test(tests, stream_splits_and_merges_its_memory);
	tcase_add_test(tests, free_space_beside_stream_memory_serves_stream);
	tcase_add_test(tests, stream_reuses_blocks_unsplit);
	tcase_add_test(tests, stream_reuses_more_blocks_than_loose_limit);
	tcase_add_test(tests, better_fitting_free_block_is_used_first);
	tcase_add_test(tests, stream_memory_is_counted_as_retired);
	tcase_add_test(tests, new_stream_with_old_handle_is_other_stream);
	tcase_add_test(tests, fence_of_new_stream_does_not_cover_old_one);
	tcase_add_test(tests, memory_of_destroyed_stream_is_reused);
	tcase_add_test(tests, trim_releases_stream_memory);
}

int main(void)
{
	return suite_run("stream/reuse", add);
}
