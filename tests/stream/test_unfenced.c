/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A free without a wait (MAM_FREE_STREAM) leaves work on the block unfinished. Memory of the source
 * vmm may lose its address only after a wait for that work, by whatever path the free reached the
 * pool. The fake driver counts memory that is unmapped under unfinished work; the end of a scene
 * asserts that there was none.
 */
#include "scene.h"

#include <pthread.h>

#define KIB ((size_t)1 << 10)
#define BLOCKS 64

static struct scene *scene_of(enum mam_cache_mode cache, size_t limit_bytes)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	attr.source = "vmm";
	attr.free_policy = MAM_FREE_STREAM;
	attr.cache = cache;
	attr.limit_bytes = limit_bytes;
	return scene_with(&attr);
}

static void alloc_and_use(struct scene *s, void *blocks[BLOCKS], size_t bytes)
{
	for (int i = 0; i < BLOCKS; i++) {
		ck_assert_int_eq(mam_malloc(s->pool, bytes, &blocks[i]), MAM_OK);
		work(s, blocks[i], bytes, s->one);
	}
}

static void free_all(struct scene *s, void *const blocks[BLOCKS])
{
	for (int i = 0; i < BLOCKS; i++)
		ck_assert_int_eq(mam_free(s->pool, blocks[i]), MAM_OK);
}

static const struct path {
	enum mam_cache_mode cache;
	size_t bytes;
} paths[] = {
	{ MAM_CACHE_OFF, 64 * KIB }, /* directly to the pool */
	{ MAM_CACHE_OFF, MIB },
	{ MAM_CACHE_ON, 64 * KIB }, /* through a thread cache, which the trim empties */
	{ MAM_CACHE_ON, MIB },
	{ MAM_CACHE_ON, 2 * MIB }, /* too large for a cache */
};

START_TEST(memory_is_not_unmapped_under_unfinished_work)
{
	struct scene *s = scene_of(paths[_i].cache, 0);
	void *blocks[BLOCKS];
	size_t released = 0;

	alloc_and_use(s, blocks, paths[_i].bytes);
	free_all(s, blocks);
	ck_assert_int_ge(pending(s, blocks[0], 1), 1);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, &released), MAM_OK);
	ck_assert_uint_ge(released, BLOCKS * paths[_i].bytes);
	ck_assert_int_eq(pending(s, blocks[0], 1), 0);
	scene_end(s);
}
END_TEST

/* Pieces that move to where a larger block needs them lose their address as well. */
START_TEST(memory_is_not_moved_under_unfinished_work)
{
	struct scene *s = scene_of(paths[_i].cache, 136 * MIB);
	void *blocks[BLOCKS], *large = NULL;

	alloc_and_use(s, blocks, paths[_i].bytes);
	free_all(s, blocks);
	ck_assert_int_eq(mam_malloc(s->pool, 130 * MIB, &large), MAM_OK);
	ck_assert_int_eq(mam_free(s->pool, large), MAM_OK);
	scene_end(s);
}
END_TEST

struct other {
	struct scene *s;
	struct CUctx_st *context;
	void *const *blocks;
};

static void *free_and_end(void *argument)
{
	struct other *other = argument;

	ck_assert_int_eq(other->s->cuda.cuCtxSetCurrent(other->context), CUDA_SUCCESS);
	free_all(other->s, other->blocks);
	return NULL;
}

/* A thread that ends empties its own cache. */
START_TEST(ended_thread_unmaps_nothing_under_unfinished_work)
{
	struct scene *s = scene_of(paths[_i].cache, 0);
	void *blocks[BLOCKS];
	struct other other = { .s = s, .blocks = blocks };
	pthread_t thread;

	ck_assert_int_eq(s->cuda.cuCtxGetCurrent(&other.context), CUDA_SUCCESS);
	alloc_and_use(s, blocks, paths[_i].bytes);
	ck_assert_int_eq(pthread_create(&thread, NULL, free_and_end, &other), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_ge(pending(s, blocks[0], 1), 1);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).physical_bytes, 0);
	scene_end(s);
}
END_TEST

START_TEST(destroyed_pool_unmaps_nothing_under_unfinished_work)
{
	struct scene *s = scene_of(paths[_i].cache, 0);
	void *blocks[BLOCKS];

	alloc_and_use(s, blocks, paths[_i].bytes);
	free_all(s, blocks);
	ck_assert_int_ge(pending(s, blocks[0], 1), 1);
	scene_end(s);
}
END_TEST

/* The driver refuses the wait: the pool is destroyed, and its memory stays mapped. */
START_TEST(destroyed_pool_leaves_memory_mapped_if_wait_fails)
{
	struct scene *s = scene_of(paths[_i].cache, 0);
	unsigned long long address;
	void *blocks[BLOCKS];
	size_t bytes;

	alloc_and_use(s, blocks, paths[_i].bytes);
	free_all(s, blocks);
	s->cuda.fake_fail(1, 1); /* the first call of the wait */
	ck_assert_int_eq(mam_pool_destroy(s->pool), MAM_OK);
	s->cuda.fake_fail(0, 0);
	ck_assert_int_ge(pending(s, blocks[0], 1), 1);
	ck_assert_int_eq(s->cuda.fake_disturbed(&address, &bytes), 0);
	free(s);
}
END_TEST

/* Each wait serves the frees before it, and no later ones. */
START_TEST(wait_does_not_cover_later_frees)
{
	struct scene *s = scene_of(paths[_i].cache, 0);
	void *blocks[BLOCKS];

	for (int round = 0; round < 3; round++) {
		alloc_and_use(s, blocks, paths[_i].bytes);
		free_all(s, blocks);
		ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	}
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	const int count = (int)(sizeof(paths) / sizeof(paths[0]));

	tcase_add_loop_test(tests, memory_is_not_unmapped_under_unfinished_work, 0, count);
	tcase_add_loop_test(tests, memory_is_not_moved_under_unfinished_work, 0, count);
	tcase_add_loop_test(tests, ended_thread_unmaps_nothing_under_unfinished_work, 0, count);
	tcase_add_loop_test(tests, destroyed_pool_unmaps_nothing_under_unfinished_work, 0, count);
	tcase_add_loop_test(tests, destroyed_pool_leaves_memory_mapped_if_wait_fails, 0, count);
	tcase_add_loop_test(tests, wait_does_not_cover_later_frees, 0, count);
}

int main(void)
{
	return suite_run("stream/unfenced", add);
}
