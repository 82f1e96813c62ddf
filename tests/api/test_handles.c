/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of reused storage: every public call on a pool works with them, every call on the handle
 * of an earlier pool returns DESTROYED, and nothing of the earlier pool is left.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include <mam/heap.h>
#include <mam/plug.h>
#include <mam/pools.h>
#include <mam/source.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include "api/slots.h"
#include "fake/load.h"
#include "suite.h"

#define MIB ((size_t)1 << 20)

static struct mam_pool *new_pool(const char *source)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = source;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	return pool;
}

/* A pool in storage that earlier pools used. */
static struct mam_pool *late_pool(const char *source)
{
	struct mam_pool *pool = new_pool(source);

	for (int i = 0; mam_handle_generation(pool) == 0; i++) {
		ck_assert_int_lt(i, 1000);
		ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
		pool = new_pool(source);
	}
	return pool;
}

/* The handle of the earlier pool in this storage. */
static struct mam_pool *before(struct mam_pool *pool)
{
	return (struct mam_pool *)((uintptr_t)pool - ((uintptr_t)1 << MAM_HANDLE_SHIFT));
}

static bool count(const struct mam_segment_info *segment, void *user)
{
	*(size_t *)user += segment->live;
	return true;
}

static bool find(const struct mam_pool_info *info, void *user)
{
	if (info->pool == *(struct mam_pool **)user)
		*(struct mam_pool **)user = NULL;
	return true;
}

static struct mam_pool *asked;

static bool no_help(struct mam_pool *pool, size_t bytes, void *user)
{
	(void)bytes;
	(void)user;
	asked = pool;
	return false;
}

static const char *const sources[] = { "host", "cudamalloc", "vmm" };

static void set_up(void)
{
	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	setenv("MAM_LOG", "error", 1);
	load();
}

START_TEST(calls_work_on_pool_in_reused_storage)
{
	struct mam_pool *pool = late_pool(sources[_i]), *owner = NULL, *sought = pool;
	struct mam_stats stats = { .size = sizeof(stats) };
	size_t bytes = 0, live = 0;
	void *block, *other;
	uint64_t ticket;
	char text[64];

	ck_assert_int_eq(mam_pool_set_limit(pool, 64 * MIB), MAM_OK);
	ck_assert_int_eq(mam_pool_limit(pool, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, 64 * MIB);
	ck_assert_int_eq(mam_pool_reserve(pool, 8 * MIB), MAM_OK);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, MIB, 0, &block), MAM_OK);
	ck_assert_int_eq(mam_pool_retire(pool, block, &ticket, &bytes), MAM_OK);
	ck_assert_int_eq(mam_pool_reclaim(pool, ticket, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, MIB);
	ck_assert_int_eq(mam_stats_push(pool), MAM_OK);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(mam_malloc(pool, 5000, &block), MAM_OK);
		ck_assert_int_eq(mam_malloc_aligned(pool, 3 * MIB, 4096, &other), MAM_OK);
		ck_assert_int_eq(mam_usable_size(pool, block, &bytes), MAM_OK);
		ck_assert_uint_eq(bytes, 5120);
		ck_assert_int_eq(mam_usable_size(NULL, other, &bytes), MAM_OK);
		ck_assert_int_eq(mam_owner(block, &owner, NULL), MAM_OK);
		ck_assert_ptr_eq(owner, pool);
		ck_assert_int_eq(mam_free(i % 2 ? pool : NULL, block), MAM_OK);
		ck_assert_int_eq(mam_free(i % 2 ? NULL : pool, other), MAM_OK);
	}
	ck_assert_int_eq(mam_malloc_async(pool, MIB, NULL, &block), MAM_OK);
	ck_assert_int_eq(mam_pool_walk(pool, count, &live), MAM_OK);
	ck_assert_uint_eq(live, 1);
	ck_assert_int_eq(mam_free_async(pool, block, NULL), MAM_OK);
	ck_assert_int_eq(mam_stream_release(pool, NULL), MAM_OK);
	block = mam_rmm_alloc(MIB, NULL, pool);
	ck_assert_ptr_nonnull(block);
	mam_rmm_free(block, MIB, NULL, pool);
	ck_assert_int_eq(mam_stats_pop(pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.allocs, 8);
	ck_assert_int_eq(mam_pool_on_oom(pool, no_help, NULL), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 100 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(asked, pool);
	ck_assert_int_eq(mam_pool_off_oom(pool, no_help, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_int_eq(mam_pool_name(pool, text, sizeof(text)), MAM_OK);
	ck_assert_int_eq(mam_pool_each(find, &sought), MAM_OK);
	ck_assert_ptr_null(sought);
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(pool, 0, &bytes), MAM_OK);
	if (_i % 2)
		ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	else
		ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_DESTROYED);
}
END_TEST

START_TEST(heap_works_on_pool_in_reused_storage)
{
	struct mam_heap_info info = { .size = sizeof(info) };
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_pool *pool = late_pool(sources[_i]), *other;
	struct mam_heap *heap;
	size_t bytes;

	attr.bytes = 4 * MIB;
	attr.max_bytes = 64 * MIB;
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_OK);
	ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_OK);
	ck_assert_int_eq(mam_heap_trim(heap, NULL, &bytes), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_LIVE_BLOCKS);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	/* The heap still has its pool, and accepts no later pool in its place. */
	for (int i = 0; i < 4 * MAM_SLOTS_RETIRED; i++) {
		other = new_pool("host");
		ck_assert_ptr_ne(mam_handle_storage(other), mam_handle_storage(pool));
		ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_ERROR_DESTROYED);
		ck_assert_int_eq(mam_pool_destroy(other), MAM_OK);
	}
	ck_assert_int_eq(mam_heap_destroy(heap), MAM_OK);
	for (int i = 0; i < 4 * MAM_SLOTS_RETIRED; i++) {
		other = new_pool("host");
		if (mam_handle_storage(other) == mam_handle_storage(pool))
			return;
		ck_assert_int_eq(mam_pool_destroy(other), MAM_OK);
	}
	ck_abort_msg("the storage is not reused");
}
END_TEST

#define IS_GONE(call) ck_assert_int_eq(call, MAM_ERROR_DESTROYED)

START_TEST(calls_on_earlier_handle_return_destroyed)
{
	struct mam_pool *pool = late_pool("host"), *gone = before(pool);
	struct mam_stats stats = { .size = sizeof(stats) };
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap;
	size_t bytes, live = 0;
	uint64_t ticket;
	char text[64];
	void *block, *none;

	attr.bytes = MIB;
	ck_assert_int_eq(mam_malloc(pool, MIB, &block), MAM_OK);
	IS_GONE(mam_malloc(gone, 512, &none));
	IS_GONE(mam_malloc_aligned(gone, 512, 512, &none));
	IS_GONE(mam_malloc_async(gone, 512, NULL, &none));
	IS_GONE(mam_pool_alloc_nowait(gone, 512, 0, &none));
	IS_GONE(mam_free(gone, block));
	IS_GONE(mam_free_async(gone, block, NULL));
	IS_GONE(mam_pool_retire(gone, block, &ticket, &bytes));
	IS_GONE(mam_pool_reclaim(gone, 1, &bytes));
	IS_GONE(mam_usable_size(gone, block, &bytes));
	IS_GONE(mam_pool_stats(gone, &stats));
	IS_GONE(mam_stats_push(gone));
	IS_GONE(mam_stats_pop(gone, &stats));
	IS_GONE(mam_pool_walk(gone, count, &live));
	IS_GONE(mam_pool_check(gone, NULL, 0));
	IS_GONE(mam_pool_trim(gone, 0, &bytes));
	IS_GONE(mam_pool_limit(gone, &bytes));
	IS_GONE(mam_pool_set_limit(gone, MIB));
	IS_GONE(mam_pool_reserve(gone, MIB));
	IS_GONE(mam_pool_name(gone, text, sizeof(text)));
	IS_GONE(mam_pool_on_oom(gone, no_help, NULL));
	IS_GONE(mam_stream_release(gone, NULL));
	IS_GONE(mam_heap_create(gone, &attr, &heap));
	IS_GONE(mam_pool_abandon(gone));
	IS_GONE(mam_pool_destroy(gone));
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.live_blocks, 1);
	ck_assert_uint_eq(stats.allocs, 1);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
}
END_TEST

/* A source that returns the same addresses each time, as a device may after a reset. */
static enum mam_status grow_here(struct mam_source *source, size_t bytes, void **base)
{
	(void)source;
	if (bytes > 4 * MIB)
		return MAM_ERROR_OUT_OF_MEMORY;
	*base = (void *)((uintptr_t)1 << 40);
	return MAM_OK;
}

static enum mam_status shrink_here(struct mam_source *source, void *base, size_t bytes)
{
	(void)source;
	(void)base;
	(void)bytes;
	return MAM_OK;
}

static const struct mam_source_ops ops = {
	.size = sizeof(ops),
	.grow = grow_here,
	.shrink = shrink_here,
};

static struct mam_source here = {
	.size = sizeof(here),
	.ops = &ops,
	.properties = {
		.name = "here",
		.granularity = 2 << 20,
		.alignment = 2 << 20,
		.device = -1,
		.survives_fork = true,
	},
};

#define BLOCKS 40

/* The next pool with this storage and these addresses does not own the earlier pool's blocks. */
START_TEST(abandoned_pool_leaves_no_tags)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *first, *next, *storage;
	struct mam_stats stats = { .size = sizeof(stats) };
	void *blocks[BLOCKS], *block;

	attr.growth_bytes = 2 * MIB;
	ck_assert_int_eq(mam_pool_create_on(&here, &attr, &first), MAM_OK);
	storage = mam_handle_storage(first);
	for (int i = 0; i < BLOCKS; i++)
		ck_assert_int_eq(mam_malloc(first, i % 2 ? 512 : 40000, &blocks[i]), MAM_OK);
	for (int i = 0; i < BLOCKS; i += 5) /* some are in the cache */
		ck_assert_int_eq(mam_free(first, blocks[i]), MAM_OK);
	ck_assert_int_eq(mam_pool_abandon(first), MAM_OK);
	for (;;) {
		ck_assert_int_eq(mam_pool_create_on(&here, &attr, &next), MAM_OK);
		if (mam_handle_storage(next) == storage)
			break;
		ck_assert_int_eq(mam_pool_destroy(next), MAM_OK);
	}
	ck_assert_int_eq(mam_malloc(next, MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(next, block), MAM_OK);
	for (int i = 0; i < BLOCKS; i++) {
		ck_assert_int_ne(mam_free(next, blocks[i]), MAM_OK);
		ck_assert_int_ne(mam_free(NULL, blocks[i]), MAM_OK);
		ck_assert_int_ne(mam_free_async(next, blocks[i], NULL), MAM_OK);
	}
	ck_assert_int_eq(mam_pool_check(next, NULL, 0), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(next, &stats), MAM_OK);
	ck_assert_uint_eq(stats.frees, 1);
	ck_assert_int_eq(mam_pool_destroy(next), MAM_OK);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static size_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

#define ROUNDS 2000

/*
 * The fake driver's record of an address range, and malloc's header. The two ranges of an abandoned
 * pool are never freed.
 */
#define ABANDONED_RANGES (2 * (size_t)32)

static void make_and_end(const char *source, bool abandon)
{
	struct mam_pool *pool = new_pool(source);
	void *block;

	if (!abandon) {
		ck_assert_int_eq(mam_malloc_async(pool, MIB, NULL, &block), MAM_OK);
		ck_assert_int_eq(mam_free_async(pool, block, NULL), MAM_OK);
	}
	ck_assert_uint_lt(mam_slots_number(mam_handle_storage(pool)), 2 * MAM_SLOTS_RETIRED);
	ck_assert_int_eq(abandon ? mam_pool_abandon(pool) : mam_pool_destroy(pool), MAM_OK);
}

/*
 * The peak, because the storage of up to MAM_SLOTS_RETIRED pools waits, and is then freed at once.
 */
static size_t peak_heap_bytes(const char *source, bool abandon)
{
	size_t peak = 0, bytes;

	for (int i = 0; i < ROUNDS; i++) {
		make_and_end(source, abandon);
		bytes = heap_bytes();
		peak = bytes > peak ? bytes : peak;
	}
	return peak;
}

/* The smallest leak would be 32 bytes per pool. */
START_TEST(ended_pool_leaves_no_host_memory)
{
	const char *source = sources[_i % COUNT_OF(sources)];
	bool abandon = _i >= (int)COUNT_OF(sources);
	size_t first = peak_heap_bytes(source, abandon);
	size_t second = peak_heap_bytes(source, abandon);

	if (abandon && strcmp(source, "vmm") == 0)
		second -= ROUNDS * ABANDONED_RANGES;
	ck_assert_uint_lt(second, first + ROUNDS * (size_t)32 / 2);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("api/handles");
	TCase *tests = suite_case(suite, "handles");

	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_loop_test(tests, calls_work_on_pool_in_reused_storage, 0, (int)COUNT_OF(sources));
	tcase_add_loop_test(tests, heap_works_on_pool_in_reused_storage, 1, (int)COUNT_OF(sources));
	tcase_add_test(tests, calls_on_earlier_handle_return_destroyed);
	tcase_add_test(tests, abandoned_pool_leaves_no_tags);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	tcase_add_loop_test(tests, ended_pool_leaves_no_host_memory, 0, 2 * (int)COUNT_OF(sources));
#endif
	return suite_run(suite);
}
