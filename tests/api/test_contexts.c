/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Default pools and contexts, on the fake driver: each context has its own pool, memory comes from
 * the thread's current context, and a pool ends with its context, whether that is destroyed or
 * reset. The same holds for pools by name.
 */
#include <pthread.h>
#include <string.h>

#include <mam/plug.h>
#include <mam/pools.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include "api/registry.h"
#include "fake/load.h"
#include "suite.h"

#define MIB ((size_t)1 << 20)
#define CONTEXTS 12 /* more than a thread caches */
#define CONTEXT_ATTRIBUTE 1

static const char *const sources[] = { "cudamalloc", "vmm", "managed", "pinned" };
static struct cuda cuda;
static struct CUctx_st *primary;

static void set_up(void)
{
	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	setenv("FAKE_CUDA_DEVICES", "2", 1);
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	unsetenv("MAM_SOURCE");
}

static void start(void)
{
	cuda = load();
	ck_assert_int_eq(cuda.cuCtxGetCurrent(&primary), CUDA_SUCCESS);
}

static void enter(struct CUctx_st *context)
{
	ck_assert_int_eq(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
}

/* It is on the thread's context stack afterwards. */
static struct CUctx_st *new_context(int device)
{
	struct CUctx_st *context;

	ck_assert_int_eq(cuda.cuCtxCreate_v2(&context, 0, device), CUDA_SUCCESS);
	return context;
}

static struct CUctx_st *context_of(const void *block)
{
	struct CUctx_st *context = NULL;

	ck_assert_int_eq(cuda.cuPointerGetAttribute(&context, CONTEXT_ATTRIBUTE, (uintptr_t)block),
			 CUDA_SUCCESS);
	return context;
}

static void *alloc(size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc(NULL, bytes, &block), MAM_OK);
	return block;
}

static struct mam_pool *default_of(int device)
{
	struct mam_pool *pool;

	ck_assert_int_eq(mam_pool_default(device, &pool), MAM_OK);
	return pool;
}

static struct mam_pool *owner_of(const void *block)
{
	struct mam_pool *pool = NULL;

	ck_assert_int_eq(mam_owner(block, &pool, NULL), MAM_OK);
	return pool;
}

static size_t pools(void)
{
	struct mam_registry_view view;
	size_t number = 0, count = 0;

	while (mam_registry_next(&number, &view))
		count++;
	return count;
}

START_TEST(memory_belongs_to_current_context)
{
	struct CUctx_st *contexts[CONTEXTS];
	struct mam_pool *of[CONTEXTS];
	void *block;

	start();
	for (int i = 0; i < CONTEXTS; i++) {
		contexts[i] = i == 0 ? primary : new_context(i % 2);
		of[i] = default_of(MAM_DEVICE_CURRENT);
		for (int j = 0; j < i; j++)
			ck_assert_ptr_ne(of[i], of[j]);
	}
	for (int turn = 0; turn < 3 * CONTEXTS; turn++) {
		int at = turn * 5 % CONTEXTS;

		enter(contexts[at]);
		ck_assert_ptr_eq(default_of(MAM_DEVICE_CURRENT), of[at]);
		block = alloc(turn % 2 ? MIB : 1000);
		ck_assert_ptr_eq(context_of(block), contexts[at]);
		ck_assert_ptr_eq(owner_of(block), of[at]);
		/* Another context may be current at the free. */
		enter(contexts[(at + 1) % CONTEXTS]);
		ck_assert_int_eq(mam_free(NULL, block), MAM_OK);
		ck_assert_int_eq(mam_malloc_async(NULL, MIB, NULL, &block), MAM_OK);
		ck_assert_ptr_eq(context_of(block), contexts[(at + 1) % CONTEXTS]);
		ck_assert_int_eq(mam_free_async(NULL, block, NULL), MAM_OK);
	}
	ck_assert_uint_eq(pools(), CONTEXTS);
}
END_TEST

START_TEST(pool_ends_when_its_context_is_destroyed)
{
	struct CUctx_st *context;
	struct mam_pool *pool;
	void *block, *small, *next;

	setenv("MAM_SOURCE", sources[_i], 1);
	start();
	context = new_context(0);
	block = alloc(MIB);
	small = alloc(100);
	pool = owner_of(block);
	ck_assert_int_eq(cuda.cuCtxDestroy_v2(context), CUDA_SUCCESS);
	enter(primary);
	ck_assert_int_eq(mam_owner(block, NULL, NULL), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_free(NULL, block), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_free_async(NULL, small, NULL), MAM_ERROR_NOT_OWNED);
	next = alloc(MIB);
	ck_assert_ptr_ne(owner_of(next), pool);
	ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)next, 1, MIB), CUDA_SUCCESS);
	ck_assert_int_eq(mam_malloc(pool, 512, &next), MAM_ERROR_DESTROYED);
	ck_assert_uint_eq(pools(), 1);
}
END_TEST

/* The context handle stays the same, but its id changes. */
START_TEST(pool_ends_when_its_device_is_reset)
{
	struct CUctx_st *again;
	struct mam_pool *pool;
	void *block, *next;

	setenv("MAM_SOURCE", sources[_i], 1);
	start();
	block = alloc(MIB);
	pool = owner_of(block);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
	ck_assert_ptr_eq(again, primary);
	enter(again);
	next = alloc(MIB);
	ck_assert_ptr_ne(owner_of(next), pool);
	ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)next, 1, MIB), CUDA_SUCCESS);
	ck_assert_int_eq(mam_malloc(pool, 512, &next), MAM_ERROR_DESTROYED);
	ck_assert_uint_eq(pools(), 1);
}
END_TEST

START_TEST(reset_primary_context_is_retained_again)
{
	void *block;

	start();
	alloc(MIB);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	block = alloc(MIB);
	ck_assert_ptr_eq(context_of(block), primary);
	ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)block, 1, MIB), CUDA_SUCCESS);
	ck_assert_ptr_eq(default_of(0), owner_of(block));
}
END_TEST

static void *destroy_context(void *context)
{
	return cuda.cuCtxDestroy_v2(context) == CUDA_SUCCESS ? NULL : context;
}

START_TEST(destroyed_current_context_has_no_pool)
{
	struct CUctx_st *context;
	pthread_t thread;
	void *block, *failed;

	start();
	context = new_context(0);
	alloc(MIB);
	pthread_create(&thread, NULL, destroy_context, context);
	pthread_join(thread, &failed);
	ck_assert_ptr_null(failed);
	ck_assert_int_eq(mam_malloc(NULL, MIB, &block), MAM_ERROR_DRIVER);
	enter(primary);
	ck_assert_ptr_eq(context_of(alloc(MIB)), primary);
}
END_TEST

START_TEST(device_means_current_or_primary_context)
{
	struct CUctx_st *second, *other;
	struct mam_pool *first_pool, *other_pool;

	start();
	first_pool = default_of(0);
	ck_assert_ptr_eq(default_of(MAM_DEVICE_CURRENT), first_pool);
	/* Device 1 has no context yet: its primary context is created, and stays. */
	other_pool = default_of(1);
	ck_assert_ptr_ne(other_pool, first_pool);
	ck_assert_ptr_eq(default_of(1), other_pool);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
	enter(second);
	ck_assert_ptr_eq(default_of(MAM_DEVICE_CURRENT), other_pool);
	ck_assert_ptr_eq(default_of(1), other_pool);
	ck_assert_ptr_eq(default_of(0), first_pool);
	other = new_context(1);
	ck_assert_ptr_ne(default_of(1), other_pool);
	ck_assert_ptr_eq(context_of(alloc(MIB)), other);
	ck_assert_ptr_eq(default_of(0), first_pool);
	/* Without a current context, the thread uses the first device. */
	enter(NULL);
	enter(NULL);
	ck_assert_ptr_eq(default_of(MAM_DEVICE_CURRENT), first_pool);
	ck_assert_ptr_eq(default_of(1), other_pool);
	ck_assert_uint_eq(pools(), 3);
}
END_TEST

/* The pool of the primary context keeps it alive only if the pool had to retain it. */
START_TEST(context_lookup_keeps_no_context_alive)
{
	unsigned int flags;
	int active = -1;

	start();
	alloc(MIB);
	new_context(0);
	alloc(MIB);
	enter(primary);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
	ck_assert_int_eq(active, 0);
}
END_TEST

START_TEST(short_lived_contexts_leave_nothing_behind)
{
	setenv("MAM_SOURCE", sources[_i], 1);
	start();
	alloc(MIB);
	for (int i = 0; i < 200; i++) {
		struct CUctx_st *context = new_context(i % 2);
		void *block = alloc(8 * MIB);

		if (_i == 0) /* the driver reports no context for memory of the other sources */
			ck_assert_ptr_eq(context_of(block), context);
		ck_assert_uint_le(pools(), 2);
		ck_assert_int_eq(cuda.cuCtxDestroy_v2(context), CUDA_SUCCESS);
	}
}
END_TEST

START_TEST(destroy_affects_default_pool_of_one_context)
{
	struct mam_pool *first, *second;

	start();
	first = default_of(MAM_DEVICE_CURRENT);
	new_context(0);
	second = default_of(MAM_DEVICE_CURRENT);
	ck_assert_int_eq(mam_pool_destroy(second), MAM_OK);
	ck_assert_ptr_ne(default_of(MAM_DEVICE_CURRENT), second);
	enter(primary);
	ck_assert_ptr_eq(default_of(MAM_DEVICE_CURRENT), first);
}
END_TEST

START_TEST(plugs_free_blocks_of_every_context)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	struct CUctx_st *context;
	struct CUstream_st *stream;
	struct mam_pool *pool;
	void *blocks[3];

	setenv("MAM_SOURCE", sources[_i], 1);
	start();
	context = new_context(0);
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, 1), CUDA_SUCCESS);
	blocks[0] = mam_torch_alloc((ssize_t)MIB, 0, stream);
	blocks[1] = mam_cupy_alloc(stream, MIB, 0);
	blocks[2] = mam_torch_alloc((ssize_t)MIB, 0, stream);
	mam_torch_record_stream(blocks[2], stream);
	pool = owner_of(blocks[0]);
	if (_i == 0) /* the driver reports no context for memory of the other sources */
		ck_assert_ptr_eq(context_of(blocks[0]), context);
	enter(primary);
	ck_assert_ptr_ne(default_of(MAM_DEVICE_CURRENT), pool);
	mam_torch_free(blocks[0], (ssize_t)MIB, 0, stream);
	mam_cupy_free(stream, blocks[1], 0);
	mam_torch_free(blocks[2], (ssize_t)MIB, 0, stream);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.live_blocks, 0);
}
END_TEST

static struct mam_pool *named(const char *source, int device)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool = NULL;

	attr.source = source;
	attr.growth_bytes = 2 * MIB;
	ck_assert_int_eq(mam_pool_named("shared", device, &attr, &pool), MAM_OK);
	return pool;
}

/* Mapped memory belongs to no context. */
static bool is_mapped(const char *source)
{
	return strcmp(source, "vmm") == 0;
}

static void *alloc_from(struct mam_pool *pool)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc(pool, MIB, &block), MAM_OK);
	return block;
}

START_TEST(name_is_one_pool_per_context)
{
	struct CUctx_st *contexts[CONTEXTS];
	struct mam_pool *of[CONTEXTS];
	void *block;

	start();
	for (int i = 0; i < CONTEXTS; i++) {
		contexts[i] = i == 0 ? primary : new_context(i % 2);
		of[i] = named(sources[_i], MAM_DEVICE_CURRENT);
		for (int j = 0; j < i; j++)
			ck_assert_ptr_ne(of[i], of[j]);
	}
	for (int i = 0; i < CONTEXTS; i++) {
		enter(contexts[i]);
		ck_assert_ptr_eq(named(sources[_i], MAM_DEVICE_CURRENT), of[i]);
		ck_assert_ptr_eq(named(sources[_i], i % 2), of[i]);
		block = alloc_from(of[i]);
		ck_assert_ptr_eq(context_of(block), is_mapped(sources[_i]) ? NULL : contexts[i]);
		/* On the other device: its primary context. */
		ck_assert_ptr_eq(named(sources[_i], 0), i % 2 ? of[0] : of[i]);
	}
	ck_assert_uint_eq(pools(), CONTEXTS);
}
END_TEST

START_TEST(named_pool_ends_with_its_context)
{
	struct CUctx_st *context;
	struct mam_pool *first, *pool, *next;
	void *block;

	start();
	first = named(sources[_i], 0);
	for (int i = 0; i < 100; i++) {
		context = new_context(0);
		pool = named(sources[_i], 0);
		ck_assert_ptr_ne(pool, first);
		block = alloc_from(pool);
		ck_assert_ptr_eq(context_of(block), is_mapped(sources[_i]) ? NULL : context);
		ck_assert_uint_eq(pools(), 2);
		ck_assert_int_eq(cuda.cuCtxDestroy_v2(context), CUDA_SUCCESS);
		ck_assert_int_eq(mam_owner(block, NULL, NULL), MAM_ERROR_NOT_OWNED);
		enter(primary);
		ck_assert_ptr_eq(named(sources[_i], 0), first);
	}
	alloc_from(first);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	enter(context);
	next = named(sources[_i], 0);
	ck_assert_ptr_ne(next, first);
	ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)alloc_from(next), 1, MIB), CUDA_SUCCESS);
	ck_assert_int_eq(mam_malloc(first, 512, &block), MAM_ERROR_DESTROYED);
	ck_assert_uint_eq(pools(), 1);
}
END_TEST

START_TEST(named_host_pool_is_shared_by_all_contexts)
{
	struct mam_pool *pool;
	struct CUctx_st *context;
	void *block;

	start();
	pool = named("host", 0);
	context = new_context(0);
	ck_assert_ptr_eq(named("host", 0), pool);
	ck_assert_ptr_eq(named("host", MAM_DEVICE_CURRENT), pool);
	block = alloc_from(pool);
	ck_assert_int_eq(cuda.cuCtxDestroy_v2(context), CUDA_SUCCESS);
	enter(primary);
	ck_assert_ptr_eq(named("host", 0), pool);
	ck_assert_ptr_eq(owner_of(block), pool);
	ck_assert_uint_eq(pools(), 1);
}
END_TEST

static _Atomic int wrong;

static void *play(void *number)
{
	struct CUctx_st *context, *of;
	void *block;

	for (int i = 0; i < 100; i++) {
		if (cuda.cuCtxCreate_v2(&context, 0, *(int *)number % 2) != CUDA_SUCCESS)
			wrong++;
		for (int j = 0; j < 20; j++) {
			if (mam_malloc(NULL, 1000 + (size_t)j * 1000, &block) != MAM_OK ||
			    cuda.cuPointerGetAttribute(&of, CONTEXT_ATTRIBUTE, (uintptr_t)block) !=
				    CUDA_SUCCESS ||
			    of != context || (j % 3 && mam_free(NULL, block) != MAM_OK))
				wrong++;
		}
		if (cuda.cuCtxDestroy_v2(context) != CUDA_SUCCESS)
			wrong++;
	}
	return NULL;
}

/*
 * The program's own pool remains after its context: its calls fail, or serve what the pool has. None
 * makes the context current, or uses its streams and events; the fake ends the program otherwise.
 */
START_TEST(own_pool_does_not_enter_its_context_after_the_end)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct CUctx_st *context;
	struct CUstream_st *stream;
	struct mam_pool *pool;
	void *blocks[100], *block;
	size_t released = 0;

	start();
	context = new_context(0);
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	attr.source = sources[_i];
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(mam_malloc_async(pool, MIB, stream, &blocks[i]), MAM_OK);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(mam_free_async(pool, blocks[i], stream), MAM_OK);
	if (strcmp(attr.source, "vmm") == 0) {
		ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	}
	ck_assert_int_eq(cuda.cuCtxDestroy_v2(context), CUDA_SUCCESS);
	enter(primary);
	for (int i = 50; i < 100; i++)
		ck_assert_int_eq(mam_free_async(pool, blocks[i], NULL), MAM_OK);
	ck_assert_int_ne(mam_malloc_async(pool, 200 * MIB, NULL, &block), MAM_OK);
	ck_assert_int_ne(mam_malloc_async(pool, MIB, STREAM_PER_THREAD, &block), MAM_OK);
	mam_pool_trim(pool, 0, &released);
	if (strcmp(attr.source, "vmm") == 0)
		ck_assert_int_ne(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_unpin(pool, &released), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

/* A pool's fence of a stream of another context ends with that context. */
START_TEST(fences_of_another_context_end_with_it)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct CUctx_st *context;
	struct CUstream_st *stream;
	struct mam_pool *pool;
	void *blocks[40], *block;
	size_t released;

	setenv("FAKE_CUDA_LAG_US", "1000", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "10", 1);
	start();
	attr.source = sources[_i];
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	context = new_context(0);
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(mam_malloc_async(pool, MIB, stream, &blocks[i]), MAM_OK);
	for (int i = 0; i < 40; i++) {
		if (_i < 2)
			cuda.cuMemsetD8Async((uintptr_t)blocks[i], 1, MIB, stream);
		ck_assert_int_eq(mam_free_async(pool, blocks[i], stream), MAM_OK);
	}
	ck_assert_int_eq(cuda.cuCtxDestroy_v2(context), CUDA_SUCCESS);
	enter(primary);
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(mam_malloc_async(pool, MIB, stream, &block), MAM_OK);
	ck_assert_int_eq(mam_free_async(pool, block, stream), MAM_OK);
	mam_pool_trim(pool, 0, &released);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

/*
 * The other context is destroyed while its work is pending: the pool releases that memory, and that
 * of its own streams. A thread whose current context was destroyed does not prevent it.
 */
START_TEST(fences_of_a_destroyed_context_have_passed)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_stats stats = { .size = sizeof(stats) };
	struct CUctx_st *context;
	struct CUstream_st *foreign, *stream;
	struct mam_pool *pool;
	pthread_t thread;
	void *blocks[40], *failed;

	setenv("FAKE_CUDA_LAG_US", "1000", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "10", 1);
	start();
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	attr.source = "cudamalloc";
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	context = new_context(0);
	ck_assert_int_eq(cuda.cuStreamCreate(&foreign, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(mam_malloc_async(pool, 5 * MIB, foreign, &blocks[i]), MAM_OK);
	for (int i = 0; i < 40; i++) {
		cuda.cuMemsetD8Async((uintptr_t)blocks[i], 1, 5 * MIB, foreign);
		ck_assert_int_eq(mam_free_async(pool, blocks[i], foreign), MAM_OK);
	}
	pthread_create(&thread, NULL, destroy_context, context);
	pthread_join(thread, &failed);
	ck_assert_ptr_null(failed);
	if (_i == 0)
		enter(primary);
	/* 200 MiB of 256 are in the pool. */
	ck_assert_int_eq(mam_malloc(pool, 190 * MIB, &blocks[0]), MAM_OK);
	enter(primary);
	ck_assert_int_eq(mam_free(pool, blocks[0]), MAM_OK);
	/* After a driver error the pool would keep what leaves a stream. */
	for (int i = 0; i < 40; i++) {
		ck_assert_int_eq(mam_malloc_async(pool, 4 * MIB, stream, &blocks[0]), MAM_OK);
		ck_assert_int_eq(mam_free_async(pool, blocks[0], stream), MAM_OK);
	}
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_uint_le(stats.reserved_bytes, 200 * MIB);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(threads_use_their_own_contexts)
{
	int numbers[4];
	pthread_t threads[4];

	setenv("MAM_GROWTH", "2M", 1);
	start();
	for (int i = 0; i < 4; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, play, &numbers[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(wrong, 0);
	alloc(MIB);
	ck_assert_uint_eq(pools(), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/contexts");
	TCase *tests = suite_case(suite, "contexts");

	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, memory_belongs_to_current_context);
	tcase_add_loop_test(tests, pool_ends_when_its_context_is_destroyed, 0,
			    (int)COUNT_OF(sources));
	tcase_add_loop_test(tests, pool_ends_when_its_device_is_reset, 0, (int)COUNT_OF(sources));
	tcase_add_test(tests, reset_primary_context_is_retained_again);
	tcase_add_test(tests, destroyed_current_context_has_no_pool);
	tcase_add_test(tests, device_means_current_or_primary_context);
	tcase_add_test(tests, context_lookup_keeps_no_context_alive);
	tcase_add_loop_test(tests, short_lived_contexts_leave_nothing_behind, 0, 2);
	tcase_add_test(tests, destroy_affects_default_pool_of_one_context);
	tcase_add_loop_test(tests, plugs_free_blocks_of_every_context, 0, (int)COUNT_OF(sources));
	tcase_add_loop_test(tests, name_is_one_pool_per_context, 0, (int)COUNT_OF(sources));
	tcase_add_loop_test(tests, named_pool_ends_with_its_context, 0, (int)COUNT_OF(sources));
	tcase_add_test(tests, named_host_pool_is_shared_by_all_contexts);
	tcase_add_loop_test(tests, own_pool_does_not_enter_its_context_after_the_end, 0,
			    (int)COUNT_OF(sources));
	tcase_add_loop_test(tests, fences_of_another_context_end_with_it, 0,
			    (int)COUNT_OF(sources));
	tcase_add_loop_test(tests, fences_of_a_destroyed_context_have_passed, 0, 2);
	tcase_add_test(tests, threads_use_their_own_contexts);
	return suite_run(suite);
}
