/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread caches of blocks that were freed on streams (cache/async.c): which later requests may use
 * these blocks, and what finds them in the caches.
 */
#include "scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/cache.h"
#include "pool/handle.h"
#include "stress/scale.h"

#define LONG_LIVED 100 /* frees on a stream after which a thread has bins for it */

static struct scene *cached_scene(const char *source, size_t limit_bytes)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	attr.source = source;
	attr.growth_bytes = 8 * MIB;
	attr.limit_bytes = limit_bytes;
	attr.cache = MAM_CACHE_ON;
	return scene_with(&attr);
}

/* Make the thread's bins of a stream: it has freed on it before. */
static void warm_up(struct scene *s, struct CUstream_st *stream)
{
	for (int i = 0; i < LONG_LIVED; i++)
		dealloc(s, alloc(s, 64 * KIB, stream), stream);
}

static struct mam_streams *streams_of(struct scene *s)
{
	return mam_handle_storage(s->pool)->stream;
}

static struct CUctx_st *context_of(struct scene *s)
{
	struct CUctx_st *context;

	ck_assert_int_eq(s->cuda.cuCtxGetCurrent(&context), CUDA_SUCCESS);
	return context;
}

START_TEST(stream_gets_its_block_back_without_lock_and_event)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	struct mam_stats before, after;
	void *a;

	warm_up(s, s->one);
	before = stats_of(s);
	calls_forget();
	a = alloc(s, 64 * KIB, s->one);
	work(s, a, 64 * KIB, s->one);
	dealloc(s, a, s->one);
	ck_assert_ptr_eq(alloc(s, 64 * KIB, s->one), a);
	ck_assert_int_eq(pending(s, a, 64 * KIB), 1);
	dealloc(s, a, s->one);
	ck_assert_uint_eq(calls("cuStreamIsCapturing"), 4);
	ck_assert_uint_eq(calls("cuStreamGetId"), 2);
	ck_assert_uint_eq(calls("cuEventRecord") + calls("cuEventQuery"), 0);
	after = stats_of(s);
	ck_assert_uint_eq(after.allocs - before.allocs, 2);
	ck_assert_uint_eq(after.frees - before.frees, 2);
	ck_assert_uint_eq(after.live_blocks, 0);
	ck_assert_uint_eq(after.cached_blocks, 1);
	ck_assert_uint_eq(after.cached_bytes, 64 * KIB);
	ck_assert_uint_eq(after.retired_bytes, before.retired_bytes);
	scene_end(s);
}
END_TEST

/* Also if the bins have no block, or the block is too large for them. */
START_TEST(each_call_queries_its_stream_once)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	void *small, *large;

	warm_up(s, s->one);
	warm_up(s, NULL);
	warm_up(s, MAM_STREAM_PER_THREAD);
	calls_forget();
	small = alloc(s, 192 * KIB, s->one);
	large = alloc(s, 3 * MIB, s->one);
	ck_assert_uint_eq(calls("cuStreamIsCapturing"), 2);
	ck_assert_uint_eq(calls("cuStreamGetId"), 2);
	dealloc(s, small, s->one);
	ck_assert_uint_eq(calls("cuStreamIsCapturing"), 3);
	ck_assert_uint_eq(calls("cuStreamGetId"), 2);
	dealloc(s, large, s->one);
	ck_assert_uint_eq(calls("cuStreamIsCapturing"), 4);
	calls_forget();
	for (size_t kib = 64; kib <= 192; kib += 128)
		dealloc(s, alloc(s, kib * KIB, MAM_STREAM_PER_THREAD), MAM_STREAM_PER_THREAD);
	ck_assert_uint_eq(calls("cuStreamIsCapturing"), 4);
	ck_assert_uint_eq(calls("cuCtxGetCurrent"), 4);
	ck_assert_uint_eq(calls("cuStreamGetId"), 0);
	calls_forget();
	dealloc(s, alloc(s, 64 * KIB, NULL), MAM_STREAM_LEGACY);
	ck_assert_uint_eq(calls("cuStreamIsCapturing") + calls("cuCtxGetCurrent"), 0);
	scene_end(s);
}
END_TEST

START_TEST(other_streams_and_plain_requests_do_not_get_it)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	void *a, *b = NULL;

	warm_up(s, s->one);
	warm_up(s, s->two);
	a = alloc(s, 64 * KIB, s->one);
	work(s, a, 64 * KIB, s->one);
	dealloc(s, a, s->one);
	ck_assert_ptr_ne(alloc(s, 64 * KIB, s->two), a);
	ck_assert_ptr_ne(alloc(s, 64 * KIB, NULL), a);
	ck_assert_ptr_ne(alloc(s, 64 * KIB, MAM_STREAM_PER_THREAD), a);
	ck_assert_int_eq(mam_malloc(s->pool, 64 * KIB, &b), MAM_OK);
	ck_assert_ptr_ne(a, b);
	ck_assert_int_eq(mam_pool_abandon(s->pool), MAM_OK);
	free(s);
}
END_TEST

START_TEST(block_goes_to_the_stream_of_its_free)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	void *a, *b = NULL;

	warm_up(s, s->one);
	warm_up(s, s->two);
	a = alloc(s, 64 * KIB, s->one);
	dealloc(s, a, s->two);
	ck_assert_ptr_ne(alloc(s, 64 * KIB, s->one), a);
	ck_assert_ptr_eq(alloc(s, 64 * KIB, s->two), a);
	/* A plain free gives it to all. */
	ck_assert_int_eq(mam_free(s->pool, a), MAM_OK);
	ck_assert_int_eq(mam_malloc(s->pool, 64 * KIB, &b), MAM_OK);
	ck_assert_ptr_eq(b, a);
	dealloc(s, b, s->one);
	ck_assert_ptr_eq(alloc(s, 64 * KIB, s->one), a);
	ck_assert_int_eq(mam_pool_abandon(s->pool), MAM_OK);
	free(s);
}
END_TEST

START_TEST(reused_handle_does_not_get_blocks_of_former_stream)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	struct CUstream_st *former = stream_new(s);
	void *a, *b;

	warm_up(s, former);
	a = alloc(s, 64 * KIB, former);
	work(s, a, 64 * KIB, former);
	dealloc(s, a, former);
	stream_end(s, former);
	ck_assert_ptr_eq(stream_new(s), former);
	if (_i == 1) { /* a free on the new stream goes where the former stream's blocks are */
		b = alloc(s, 128 * KIB, s->one);
		work(s, b, 128 * KIB, former);
		dealloc(s, b, former);
	}
	b = alloc(s, 64 * KIB, former);
	ck_assert_ptr_ne(b, a);
	ck_assert_int_eq(pending(s, b, 64 * KIB), 0);
	dealloc(s, b, former);
	/* The former stream's memory becomes available by a wait for all. */
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 0);
	ck_assert_uint_eq(stats_of(s).cached_bytes, 0);
	scene_end(s);
}
END_TEST

struct other_thread {
	struct scene *s;
	struct CUctx_st *context;
	struct CUstream_st *stream;
	void *block;
};

static void *alloc_in_thread(void *argument)
{
	struct other_thread *other = argument;

	other->s->cuda.cuCtxSetCurrent(other->context);
	other->block = alloc(other->s, 64 * KIB, other->stream);
	return NULL;
}

static void *free_in_thread(void *argument)
{
	struct other_thread *other = argument;

	other->s->cuda.cuCtxSetCurrent(other->context);
	warm_up(other->s, other->stream);
	dealloc(other->s, other->block, other->stream);
	return NULL;
}

static void in_thread(struct other_thread *other, void *(*body)(void *))
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, body, other), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* Another thread notices first that the handle was reused; this one only frees. */
START_TEST(frees_follow_the_handle_to_its_new_stream)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	struct other_thread other = { .s = s, .context = context_of(s), .stream = stream_new(s) };
	const struct mam_stream_key key = { .stream = other.stream };
	void *blocks[300];

	warm_up(s, other.stream);
	for (int i = 0; i < 300; i++)
		ck_assert_int_eq(mam_malloc(s->pool, 64 * KIB, &blocks[i]), MAM_OK);
	stream_end(s, other.stream);
	ck_assert_ptr_eq(stream_new(s), other.stream);
	in_thread(&other, alloc_in_thread);
	for (int i = 0; i < 300; i++)
		dealloc(s, blocks[i], other.stream);
	/* They do not all join the memory of the former stream, which waits for the context. */
	ck_assert_uint_ne(mam_stream_find_locked(streams_of(s), &key), 0);
	dealloc(s, other.block, other.stream);
	scene_end(s);
}
END_TEST

/* In each mode; a stream with an id, and a default stream. */
START_TEST(captures_are_separate)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	struct CUstream_st *stream = _i < 3 ? s->one : MAM_STREAM_PER_THREAD;
	void *before, *inside;

	warm_up(s, stream);
	before = alloc(s, 64 * KIB, stream);
	inside = alloc(s, 64 * KIB, stream);
	dealloc(s, before, stream);
	capture_begin(s, stream, _i % 3);
	dealloc(s, inside, stream);
	ck_assert_uint_eq(stats_of(s).cached_blocks, 1);
	ck_assert_ptr_eq(alloc(s, 64 * KIB, stream), inside);
	ck_assert_ptr_ne(alloc(s, 64 * KIB, stream), before);
	dealloc(s, inside, stream);
	capture_end(s, stream, true);
	ck_assert_ptr_eq(alloc(s, 64 * KIB, stream), before);
	ck_assert(!mam_stream_captures(streams_of(s)));
	for (int i = 0; i < 100; i++)
		ck_assert_ptr_ne(alloc(s, 64 * KIB, stream), inside);
	ck_assert_int_eq(mam_stream_release(s->pool, stream), MAM_OK);
	ck_assert_ptr_eq(alloc(s, 64 * KIB, stream), inside);
	ck_assert_int_eq(mam_pool_abandon(s->pool), MAM_OK);
	free(s);
}
END_TEST

static const char *const sources[] = { "cudamalloc", "vmm" };

START_TEST(out_of_memory_finds_blocks_in_caches)
{
	struct scene *s = cached_scene(sources[_i], 8 * MIB);
	struct other_thread other = { .s = s, .context = context_of(s), .stream = s->two };
	void *blocks[128], *b = NULL;

	warm_up(s, s->one);
	other.block = alloc(s, 64 * KIB, s->two);
	in_thread(&other, free_in_thread);
	for (int i = 0; i < 127; i++)
		blocks[i] = alloc(s, 64 * KIB, s->one);
	for (int i = 0; i < 127; i++) {
		work(s, blocks[i], 64 * KIB, s->one);
		dealloc(s, blocks[i], s->one);
	}
	ck_assert_uint_gt(stats_of(s).cached_bytes, 0);
	/* The stream itself need not wait; other streams must. */
	b = alloc(s, 4 * MIB, s->one);
	dealloc(s, b, s->one);
	b = alloc(s, 8 * MIB, s->two);
	work(s, b, 8 * MIB, s->two);
	dealloc(s, b, s->two);
	ck_assert_int_eq(mam_malloc(s->pool, 8 * MIB, &b), MAM_OK);
	ck_assert_int_eq(pending(s, b, 8 * MIB), 0);
	ck_assert_int_eq(mam_free(s->pool, b), MAM_OK);
	scene_end(s);
}
END_TEST

START_TEST(trim_and_release_and_destroy_find_them)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	void *a;

	warm_up(s, s->one);
	a = alloc(s, 64 * KIB, s->one);
	work(s, a, 64 * KIB, s->one);
	dealloc(s, a, s->one);
	ck_assert_uint_eq(stats_of(s).cached_blocks, 1);
	ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK);
	ck_assert_uint_eq(stats_of(s).cached_blocks, 0);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 64 * KIB);
	ck_assert_int_gt(events(s), 0);
	warm_up(s, s->one);
	ck_assert_uint_eq(stats_of(s).cached_blocks, 1);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).cached_blocks, 0);
	ck_assert_uint_eq(stats_of(s).reserved_bytes, 0);
	warm_up(s, s->one);
	ck_assert_uint_eq(stats_of(s).cached_blocks, 1);
	scene_end(s);
}
END_TEST

START_TEST(thread_that_ends_returns_them_to_their_stream)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	struct other_thread other = { .s = s, .context = context_of(s), .stream = s->two };
	struct mam_stats stats;

	other.block = alloc(s, 64 * KIB, s->one);
	work(s, other.block, 64 * KIB, s->two);
	in_thread(&other, free_in_thread);
	stats = stats_of(s);
	ck_assert_uint_eq(stats.cached_blocks, 0);
	ck_assert_uint_eq(stats.live_blocks, 0);
	ck_assert_uint_eq(stats.retired_bytes, 128 * KIB);
	/* Both of its blocks, joined. */
	ck_assert_int_eq(pending(s, alloc(s, 128 * KIB, s->two), 128 * KIB), 1);
	ck_assert_int_eq(mam_pool_abandon(s->pool), MAM_OK);
	free(s);
}
END_TEST

START_TEST(invalid_frees_are_reported)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	char *a;

	warm_up(s, s->one);
	a = alloc(s, 64 * KIB, s->one);
	refused(s, a + 512, s->one, MAM_ERROR_INTERIOR);
	dealloc(s, a, s->one);
	refused(s, a, s->one, MAM_ERROR_DOUBLE_FREE);
	refused(s, a, s->two, MAM_ERROR_DOUBLE_FREE);
	refused(s, a + 512, s->one, MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_free(s->pool, a), MAM_ERROR_DOUBLE_FREE);
	refused(s, s, s->one, MAM_ERROR_NOT_OWNED);
	scene_end(s);
}
END_TEST

/* A second free at the same moment makes a bin unreadable: what it held waits for the context. */
START_TEST(blocks_of_a_broken_bin_wait_for_the_context)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	void *a, *b, *c = NULL;
	uint64_t retired;

	warm_up(s, s->one);
	a = alloc(s, 64 * KIB, s->one);
	b = alloc(s, 64 * KIB, s->one);
	work(s, b, 64 * KIB, s->one);
	dealloc(s, b, s->one);
	dealloc(s, a, s->one);
	mam_blocktag_write(mam_blocktag_find((uintptr_t)a, 128),
			   mam_blocktag_cached(mam_blocktag_cached_key(1000), 128, 0));
	ck_assert_ptr_ne(alloc(s, 64 * KIB, s->one), a);
	retired = stats_of(s).retired_bytes;
	ck_assert(!mam_cache_drain(mam_handle_storage(s->pool)));
	ck_assert_uint_eq(stats_of(s).retired_bytes, retired + 128 * KIB);
	ck_assert_int_eq(mam_malloc(s->pool, 7 * MIB, &c), MAM_OK);
	ck_assert_int_eq(pending(s, c, 7 * MIB), 0);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).live_blocks, 2);
	ck_assert_uint_eq(stats_of(s).cached_blocks, 0);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 0);
	ck_assert_int_eq(mam_pool_abandon(s->pool), MAM_OK);
	free(s);
}
END_TEST

/* Records without memory are freed from time to time, but not this one. */
START_TEST(record_stays_while_a_thread_has_bins)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	const struct mam_stream_key key = { .stream = s->one };

	warm_up(s, s->one);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	dealloc(s, alloc(s, 64 * KIB, s->one), s->one);
	for (int i = 0; i < 200; i++)
		dealloc(s, alloc(s, 64 * KIB, s->two), stream_new(s));
	ck_assert_uint_ne(mam_stream_find_locked(streams_of(s), &key), 0);
	scene_end(s);
}
END_TEST

#define MANY 40

/* More than have a place: some share one in turn. */
START_TEST(thread_with_many_streams)
{
	struct scene *s = cached_scene("cudamalloc", 0);
	struct CUstream_st *streams[MANY];
	void *block[MANY];

	for (int i = 0; i < MANY; i++)
		streams[i] = stream_new(s);
	for (int turn = 0; turn < 100; turn++) {
		for (int i = 0; i < MANY; i++) {
			block[i] = alloc(s, 64 * KIB, streams[i]);
			work(s, block[i], 64 * KIB, streams[i]);
		}
		for (int i = 0; i < MANY; i++)
			dealloc(s, block[i], streams[i]);
		ck_assert_int_eq(s->cuda.cuCtxSynchronize(), CUDA_SUCCESS);
		intact(s);
	}
	scene_end(s);
}
END_TEST

#define STORM (STRESS_TSAN ? 5000 : 100000)

START_TEST(streams_that_come_and_go_leave_nothing)
{
	struct scene *s;
	struct mam_stats stats;

	unsetenv("FAKE_CUDA_LOG");
	setenv("FAKE_CUDA_LAG_US", "10", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "1000", 1);
	s = cached_scene("cudamalloc", 0);
	for (int i = 0; i < STORM; i++) {
		struct CUstream_st *stream = stream_new(s);
		void *a = NULL;

		for (int k = 0; k < (i % 100 == 0 ? LONG_LIVED : 4); k++) {
			a = alloc(s, 4 * KIB << i % 8, stream);
			ck_assert(k != 0 || pending(s, a, 4 * KIB << i % 8) == 0);
			work(s, a, 4 * KIB, stream);
			dealloc(s, a, stream);
		}
		stream_end(s, stream);
		if (i % 3 == 0) /* the next one gets another handle */
			stream_end(s, stream_new(s));
	}
	stats = stats_of(s);
	ck_assert_uint_eq(stats.allocs, 4 * STORM + (LONG_LIVED - 4) * STORM / 100);
	ck_assert_uint_eq(stats.live_blocks, 0);
	ck_assert_uint_le(stats.reserved_bytes, 128 * MIB);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_le(streams_of(s)->count, 128);
	scene_end(s);
}
END_TEST

static atomic_bool over;

/* Allocations and frees on a stream of its own, until `over`. */
static void *churn(void *argument)
{
	struct other_thread *other = argument;
	struct CUstream_st *stream = other->stream;
	void *block[16] = { NULL };

	other->s->cuda.cuCtxSetCurrent(other->context);
	for (unsigned i = 0; !atomic_load(&over) || i < 1000; i++) {
		unsigned at = i * 7 % 16;

		if (block[at] != NULL)
			dealloc(other->s, block[at], stream);
		block[at] = alloc(other->s, 512 << i % 9, stream);
	}
	for (unsigned i = 0; i < 16; i++)
		if (block[i] != NULL)
			dealloc(other->s, block[i], stream);
	return NULL;
}

#define CHURNERS 2
#define FORKS 400

START_TEST(forks_while_threads_use_their_caches)
{
	struct other_thread others[CHURNERS];
	pthread_t threads[CHURNERS];
	struct scene *s;

	unsetenv("FAKE_CUDA_LOG");
	s = cached_scene("cudamalloc", 0);
	warm_up(s, s->one);
	for (int i = 0; i < CHURNERS; i++) {
		others[i] = (struct other_thread){ .s = s,
						   .context = context_of(s),
						   .stream = stream_new(s) };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, &others[i]), 0);
	}
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();
		void *block = NULL;
		int status = -1;

		/* No assertion in the child: another thread may have been in one. */
		if (child == 0)
			_exit(mam_malloc_async(s->pool, 64 * KIB, s->one, &block) !=
			      MAM_ERROR_DESTROYED);
		ck_assert_int_gt(child, 0);
		dealloc(s, alloc(s, 64 * KIB, s->one), s->one);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
	}
	atomic_store(&over, true);
	for (int i = 0; i < CHURNERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(stats_of(s).live_blocks, 0);
	scene_end(s);
}
END_TEST

/* What stops the owners of caches, while they come and go. */
static void stop_owners(struct scene *s, int turn)
{
	switch (turn % 4) {
	case 0: ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK); break;
	case 1: ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK); break;
	case 2: intact(s); break;
	default: (void)stats_of(s);
	}
}

START_TEST(threads_that_come_and_go_leave_nothing)
{
	struct scene *s;

	unsetenv("FAKE_CUDA_LOG");
	s = cached_scene("cudamalloc", 0);
	atomic_store(&over, true);
	for (int i = 0; i < 200; i++) {
		struct other_thread others[4];
		pthread_t threads[4];

		for (int k = 0; k < 4; k++) {
			others[k] = (struct other_thread){ .s = s, .context = context_of(s) };
			others[k].stream = k % 2 ? s->one : MAM_STREAM_PER_THREAD;
			ck_assert_int_eq(pthread_create(&threads[k], NULL, churn, &others[k]), 0);
		}
		for (int k = 0; k < 4; k++) {
			stop_owners(s, i + k);
			ck_assert_int_eq(pthread_join(threads[k], NULL), 0);
		}
	}
	ck_assert_uint_eq(stats_of(s).live_blocks, 0);
	ck_assert_uint_eq(stats_of(s).cached_blocks, 0);
	ck_assert_uint_eq(stats_of(s).allocs, 800 * 1000);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, stream_gets_its_block_back_without_lock_and_event);
	tcase_add_test(tests, each_call_queries_its_stream_once);
	tcase_add_test(tests, other_streams_and_plain_requests_do_not_get_it);
	tcase_add_test(tests, block_goes_to_the_stream_of_its_free);
	tcase_add_loop_test(tests, reused_handle_does_not_get_blocks_of_former_stream, 0, 2);
	tcase_add_test(tests, frees_follow_the_handle_to_its_new_stream);
	tcase_add_loop_test(tests, captures_are_separate, 0, 6);
	tcase_add_loop_test(tests, out_of_memory_finds_blocks_in_caches, 0, 2);
	tcase_add_test(tests, trim_and_release_and_destroy_find_them);
	tcase_add_test(tests, thread_that_ends_returns_them_to_their_stream);
	tcase_add_test(tests, invalid_frees_are_reported);
	tcase_add_test(tests, blocks_of_a_broken_bin_wait_for_the_context);
	tcase_add_test(tests, record_stays_while_a_thread_has_bins);
	tcase_add_test(tests, thread_with_many_streams);
	tcase_add_test(tests, streams_that_come_and_go_leave_nothing);
	tcase_add_test(tests, forks_while_threads_use_their_caches);
	tcase_add_test(tests, threads_that_come_and_go_leave_nothing);
}

int main(void)
{
	return suite_run("stream/cached", add);
}
