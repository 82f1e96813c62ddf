/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who gets freed memory, and when: its own stream at once, any other one behind a fence.
 */
#include "scene.h"

START_TEST(the_same_stream_has_it_at_once)
{
	struct scene *s = scene_new(0);
	void *a = get(s, MIB, s->one), *b;

	work(s, a, MIB, s->one);
	give(s, a, s->one);
	b = get(s, MIB, s->one);
	ck_assert_ptr_eq(b, a);
	ck_assert_int_eq(pending(s, b, MIB), 1);
	give(s, b, s->one);
	scene_end(s);
}
END_TEST

START_TEST(another_stream_has_it_only_when_the_work_is_done)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = get(s, 8 * MIB, s->one), *b = NULL;

	work(s, a, 8 * MIB, s->one);
	give(s, a, s->one);
	/* The pool is full: the only way is to wait. */
	ck_assert_int_eq(mam_malloc_async(s->pool, 8 * MIB, s->two, &b), MAM_OK);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	give(s, b, s->two);
	scene_end(s);
}
END_TEST

START_TEST(another_stream_does_not_wait_where_the_pool_may_grow)
{
	struct scene *s = scene_new(0);
	void *a = get(s, 8 * MIB, s->one), *b;

	work(s, a, 8 * MIB, s->one);
	give(s, a, s->one);
	b = get(s, 8 * MIB, s->two);
	ck_assert_ptr_ne(b, a);
	ck_assert_int_eq(pending(s, a, 8 * MIB), 1);
	give(s, b, s->two);
	scene_end(s);
}
END_TEST

START_TEST(what_has_passed_is_used_before_the_pool_grows)
{
	struct scene *s = scene_new(0);
	void *a = get(s, 8 * MIB, s->one), *b;

	work(s, a, 8 * MIB, s->one);
	give(s, a, s->one);
	finish(s, s->one);
	b = get(s, 8 * MIB, s->two);
	ck_assert_ptr_eq(b, a);
	ck_assert_uint_eq(stats_of(s).grows, 1);
	give(s, b, s->two);
	scene_end(s);
}
END_TEST

START_TEST(plain_malloc_gets_it_only_behind_the_fence_too)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = get(s, 8 * MIB, s->one), *b = NULL;

	work(s, a, 8 * MIB, s->one);
	give(s, a, s->one);
	ck_assert_int_eq(mam_pool_alloc_nowait(s->pool, MIB, 0, &b), MAM_ERROR_WOULD_WAIT);
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_OK);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	ck_assert_int_eq(mam_free(s->pool, b), MAM_OK);
	scene_end(s);
}
END_TEST

/* Ground of a stream is ground: pieces join, and a request takes part of one. */
START_TEST(a_stream_splits_and_joins_what_it_freed)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = get(s, 4 * MIB, s->one), *b = get(s, 4 * MIB, s->one), *c;

	work(s, a, 8 * MIB, s->one);
	give(s, a, s->one);
	give(s, b, s->one);
	intact(s);
	c = get(s, 8 * MIB, s->one);
	ck_assert_ptr_eq(c, a);
	ck_assert_int_eq(pending(s, c, 8 * MIB), 1);
	give(s, c, s->one);
	b = get(s, MIB, s->one);
	ck_assert_ptr_eq(b, a);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 7 * MIB);
	give(s, b, s->one);
	scene_end(s);
}
END_TEST

/* A stream that is alone needs no more than if its frees took effect at once. */
START_TEST(what_lies_free_beside_a_streams_space_serves_it_too)
{
	struct scene *s = scene_new(8 * MIB);
	void *a = get(s, 2 * MIB, s->one), *b = get(s, 3 * MIB, s->one), *c, *d;

	work(s, a, 5 * MIB, s->one);
	give(s, b, s->one);
	calls_forget();
	c = get(s, 6 * MIB, s->one); /* 3 MiB are held, 3 MiB were never used */
	ck_assert_ptr_eq(c, b);
	ck_assert_int_eq(pending(s, c, 6 * MIB), 1);
	ck_assert_uint_eq(calls("cuEventSynchronize"), 0);
	give(s, c, s->one);
	give(s, a, s->one);
	d = get(s, 8 * MIB, s->one);
	ck_assert_ptr_eq(d, a);
	ck_assert_int_eq(pending(s, d, 8 * MIB), 1);
	give(s, d, s->one);
	scene_end(s);
}
END_TEST

START_TEST(a_hole_that_fits_better_is_taken_first)
{
	struct scene *s = scene_new(0);
	void *a = get(s, MIB, s->one), *wall = get(s, 512, s->one), *big = get(s, 3 * MIB, s->one);
	void *b;

	ck_assert_int_eq(mam_free(s->pool, a), MAM_OK);
	give(s, big, s->one);
	b = get(s, MIB, s->one);
	ck_assert_ptr_eq(b, a);
	ck_assert_ptr_eq(get(s, 3 * MIB, s->one), big);
	give(s, b, s->one);
	give(s, wall, s->one);
	give(s, big, s->one);
	scene_end(s);
}
END_TEST

START_TEST(held_memory_is_counted_as_retired)
{
	struct scene *s = scene_new(0);
	void *a = get(s, MIB, s->one);
	struct mam_segment_info info = { .size = sizeof(info) };
	struct mam_stats stats;

	give(s, a, s->one);
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

/* The stream goes, and a new one has its handle: the same stream to look at. */
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
		give(s, get(s, MIB, stream), stream);
	return stream;
}

/* Asked for again by its size a block is neither cut nor joined, wherever it lies. */
START_TEST(a_stream_has_its_blocks_back_as_they_were)
{
	struct scene *s = scene_new(0);
	struct CUstream_st *stream = idle_stream(s);
	void *blocks[100];
	struct mam_stats before;

	for (int i = 0; i < 100; i++) {
		blocks[i] = get(s, (size_t)(1 + i % 5) << 9, stream);
		work(s, blocks[i], 512, stream);
	}
	before = stats_of(s);
	for (int i = 0; i < 100; i++)
		give(s, blocks[i], stream);
	ck_assert_uint_eq(stats_of(s).segments, before.segments);
	ck_assert_uint_eq(stats_of(s).retired_blocks, before.retired_blocks + 100);
	for (int i = 0; i < 100; i++) {
		void *b = get(s, (size_t)(1 + i % 5) << 9, stream);
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
		give(s, blocks[i], stream);
	scene_end(s);
}
END_TEST

#define MANY (MAM_LOOSE_MAX + 70)

START_TEST(more_blocks_than_are_kept_apart_are_had_back_too)
{
	struct scene *s = scene_new(0);
	void *blocks[MANY];
	char *low;

	for (int i = 0; i < MANY; i++)
		blocks[i] = get(s, 512, s->one);
	low = blocks[0];
	work(s, low, 512 * MANY, s->one);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			give(s, blocks[i], s->one);
		intact(s);
		ck_assert_uint_le(stats_of(s).retired_blocks, MAM_LOOSE_MAX + 32);
		for (int i = 0; i < MANY; i++) {
			blocks[i] = get(s, 512, s->one);
			ck_assert((char *)blocks[i] >= low && (char *)blocks[i] < low + 512 * MANY);
		}
		intact(s);
	}
	for (int i = 0; i < MANY; i++)
		give(s, blocks[i], s->one);
	scene_end(s);
}
END_TEST

START_TEST(a_new_stream_of_an_old_handle_is_another_stream)
{
	struct scene *s = scene_new(0);
	struct CUstream_st *old = idle_stream(s), *fresh;
	void *a = get(s, MIB, old), *b;

	work(s, a, MIB, old);
	give(s, a, old);
	fresh = replaced(s, old);
	b = get(s, MIB, fresh);
	ck_assert_ptr_ne(b, a);
	ck_assert_int_eq(pending(s, b, MIB), 0);
	give(s, b, fresh);
	scene_end(s);
}
END_TEST

/* Nor is an event in the new one a fence for what the old one freed. */
START_TEST(a_fence_in_a_new_stream_is_none_for_the_old_one)
{
	struct scene *s = scene_new(0);
	struct CUstream_st *old = idle_stream(s), *fresh;
	void *a = get(s, 4 * MIB, old), *blocks[40];
	enum mam_status status = MAM_OK;

	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(mam_malloc(s->pool, 512, &blocks[i]), MAM_OK);
	work(s, a, 4 * MIB, old);
	give(s, a, old);
	fresh = replaced(s, old);
	calls_forget();
	for (int i = 0; i < 40; i++) /* enough to leave */
		give(s, blocks[i], fresh);
	ck_assert_uint_ge(calls("cuEventRecord"), 1);
	for (int i = 0; i < 40 && status == MAM_OK; i++) {
		void *b = NULL;

		status = mam_malloc_async(s->pool, 4 * MIB, s->two, &b);
		ck_assert(status != MAM_OK || pending(s, b, 4 * MIB) == 0);
		if (status == MAM_OK && i < 30)
			continue; /* all is dropped with the pool */
		break;
	}
	ck_assert_int_eq(pending(s, a, 4 * MIB), 1);
	ck_assert_int_eq(mam_pool_abandon(s->pool), MAM_OK);
	free(s);
}
END_TEST

START_TEST(what_a_destroyed_stream_freed_comes_back)
{
	struct scene *s = scene_new(8 * MIB);
	struct CUstream_st *gone = stream_new(s);
	void *a = get(s, 8 * MIB, gone), *b;

	for (int i = 0; i < 40; i++) {
		give(s, a, gone);
		a = get(s, 8 * MIB, gone);
	}
	work(s, a, 8 * MIB, gone);
	give(s, a, gone);
	stream_end(s, gone);
	b = get(s, 8 * MIB, s->two);
	ck_assert_ptr_eq(b, a);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	give(s, b, s->two);
	scene_end(s);
}
END_TEST

START_TEST(trim_gives_back_what_streams_hold)
{
	struct scene *s = scene_new(0);
	void *a = get(s, 8 * MIB, s->one);
	size_t released = 0;

	work(s, a, 8 * MIB, s->one);
	give(s, a, s->one);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 8 * MIB);
	ck_assert_uint_eq(stats_of(s).reserved_bytes, 0);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, the_same_stream_has_it_at_once);
	tcase_add_test(tests, another_stream_has_it_only_when_the_work_is_done);
	tcase_add_test(tests, another_stream_does_not_wait_where_the_pool_may_grow);
	tcase_add_test(tests, what_has_passed_is_used_before_the_pool_grows);
	tcase_add_test(tests, plain_malloc_gets_it_only_behind_the_fence_too);
	tcase_add_test(tests, a_stream_splits_and_joins_what_it_freed);
	tcase_add_test(tests, what_lies_free_beside_a_streams_space_serves_it_too);
	tcase_add_test(tests, a_stream_has_its_blocks_back_as_they_were);
	tcase_add_test(tests, more_blocks_than_are_kept_apart_are_had_back_too);
	tcase_add_test(tests, a_hole_that_fits_better_is_taken_first);
	tcase_add_test(tests, held_memory_is_counted_as_retired);
	tcase_add_test(tests, a_new_stream_of_an_old_handle_is_another_stream);
	tcase_add_test(tests, a_fence_in_a_new_stream_is_none_for_the_old_one);
	tcase_add_test(tests, what_a_destroyed_stream_freed_comes_back);
	tcase_add_test(tests, trim_gives_back_what_streams_hold);
}

int main(void)
{
	return suite_run("stream/reuse", add);
}
