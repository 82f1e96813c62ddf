/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugs of PyTorch, CuPy and RMM on the fake driver: what they return, the stream order in
 * which blocks are allocated and freed, blocks that several streams use, and the effect of a
 * failing driver call.
 *
 * Work on a stream takes one millisecond of the fake's clock, which only waits advance.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "api/plug_join.h"
#include "plugs.h"

START_TEST(blocks_follow_order_of_their_stream)
{
	void *block, *again, *other;

	start();
	block = way_alloc(_i, MIB, 0, one);
	ck_assert_ptr_nonnull(block);
	ck_assert_uint_eq((uintptr_t)block % 512, 0);
	use(block, MIB, one);
	way_free(_i, block, MIB, 0, one);
	other = way_alloc(_i, MIB, 0, two);
	ck_assert_ptr_ne(other, block);
	again = way_alloc(_i, MIB, 0, one);
	ck_assert_ptr_eq(again, block);
	ck_assert_int_gt(cuda.fake_pending((uintptr_t)block, MIB), 0);
	way_free(_i, again, MIB, 0, one);
	way_free(_i, other, MIB, 0, two);
	ck_assert_uint_eq(stats().live_blocks, 0);
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(zero_size_and_null_are_no_ops)
{
	start();
	ck_assert_ptr_null(way_alloc(_i, 0, 0, one));
	way_free(_i, NULL, 0, 0, one);
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(out_of_memory_returns_null_and_logs_one_line)
{
	void *block;

	start();
	ck_assert_ptr_null(way_alloc(_i, 512 * MIB, 0, one));
	ck_assert_int_eq(lines(), 1);
	ck_assert_ptr_nonnull(strstr(text, ways[_i].name));
	ck_assert_ptr_nonnull(strstr(text, "536870912 bytes"));
	/* An invalid size, like a negative one from PyTorch. */
	ck_assert_ptr_null(way_alloc(_i, (size_t)-5, 0, one));
	ck_assert_int_eq(lines(), 2);
	block = way_alloc(_i, MIB, 0, one);
	ck_assert_ptr_nonnull(block);
	way_free(_i, block, MIB, 0, one);
	ck_assert_int_eq(lines(), 2);
}
END_TEST

START_TEST(missing_device_returns_null)
{
	start();
	ck_assert_ptr_null(way_alloc(_i, MIB, 1, one));
	ck_assert_ptr_null(way_alloc(_i, MIB, 300, one));
	ck_assert_ptr_null(way_alloc(_i, MIB, -7, one));
	logged();
	ck_assert_ptr_nonnull(strstr(text, ways[_i].name));
	ck_assert_int_eq(lines(), 4); /* three, and one that the driver has no such device */
}
END_TEST

/* Invalid frees change nothing and are logged. */
START_TEST(invalid_frees_are_logged)
{
	char here;
	void *block, *neighbour;

	start();
	block = way_alloc(_i, MIB, 0, one);
	neighbour = way_alloc(_i, MIB, 0, one);
	way_free(_i, &here, 1, 0, one);
	ck_assert_int_eq(lines(), 1);
	way_free(_i, (char *)block + 512, 1, 0, one);
	ck_assert_int_eq(lines(), 2);
	way_free(_i, block, MIB, 0, one);
	ck_assert_int_eq(lines(), 2);
	way_free(_i, block, MIB, 0, one);
	ck_assert_int_eq(lines(), 3);
	ck_assert_uint_eq(stats().live_blocks, 1);
	way_free(_i, neighbour, MIB, 0, one);
}
END_TEST

/* The last argument of the RMM functions selects the pool. */
START_TEST(rmm_functions_accept_pool)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_stats found = { .size = sizeof(found) };
	struct mam_pool *pool;
	void *block;

	start();
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	block = mam_rmm_alloc(MIB, one, pool);
	ck_assert_ptr_nonnull(block);
	ck_assert_int_eq(mam_pool_stats(pool, &found), MAM_OK);
	ck_assert_uint_eq(found.live_blocks, 1);
	mam_rmm_free(block, MIB, one, pool);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_ptr_null(mam_rmm_alloc(MIB, one, pool));
	ck_assert_int_eq(lines(), 1);
}
END_TEST

START_TEST(empty_cache_releases_free_memory)
{
	void *block;

	start();
	mam_torch_empty_cache(); /* no pool was used, so none is created */
	block = alloc(64 * MIB, one);
	dealloc(block, one);
	ck_assert_uint_ge(stats().physical_bytes, 64 * MIB);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	mam_torch_empty_cache();
	ck_assert_uint_lt(stats().physical_bytes, 64 * MIB);
}
END_TEST

START_TEST(recorded_stream_delays_reuse)
{
	uint64_t due;
	void *block, *other[8];

	start();
	block = alloc(MIB, one);
	due = use(block, MIB, two);
	mam_torch_record_stream(block, two);
	dealloc(block, one);
	ck_assert_uint_lt(cuda.fake_clock(), due); /* no thread waited */
	/* No stream gets the block now, neither its own nor the other one. */
	for (int i = 0; i < 6; i++) {
		other[i] = alloc(MIB, i % 3 == 0 ? one : i % 3 == 1 ? two : three);
		ck_assert_ptr_ne(other[i], block);
	}
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	other[6] = alloc(MIB, one);
	other[7] = alloc(MIB, one);
	ck_assert(other[6] == block || other[7] == block);
	for (int i = 0; i < 8; i++)
		dealloc(other[i], i == 6 || i == 7 || i % 3 == 0 ? one : i % 3 == 1 ? two : three);
	ck_assert_uint_eq(stats().live_blocks, 0);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/*
 * Work after the free, on any of the streams, is not waited for, and the streams do not wait
 * either.
 */
START_TEST(streams_do_not_wait_for_each_other)
{
	uint64_t due, later;
	void *block;

	start();
	block = alloc(MIB, one);
	due = use(block, MIB, two);
	mam_torch_record_stream(block, two);
	dealloc(block, one);
	/* One millisecond each from now, not after the other one's work. */
	later = use(alloc(MIB, one), MIB, one);
	ck_assert_uint_lt(later, due + 900000);
	later = use(alloc(MIB, three), MIB, three);
	ck_assert_uint_lt(later, due + 900000);
	/* The legacy default stream waits for all blocking streams: these are non-blocking. */
	later = use(alloc(MIB, NULL), MIB, NULL);
	ck_assert_uint_lt(later, due + 900000);
}
END_TEST

START_TEST(each_recorded_stream_delays_reuse)
{
	void *block, *other;

	start();
	for (int last = 0; last < 3; last++) {
		struct CUstream_st *const streams[] = { one, two, three };

		block = alloc(MIB, one);
		/* Recording twice has no further effect. */
		for (int i = 0; i < 3; i++) {
			mam_torch_record_stream(block, streams[i]);
			mam_torch_record_stream(block, streams[i]);
		}
		use(block, MIB, streams[last]);
		dealloc(block, one);
		for (int i = 0; i < 4; i++) {
			other = alloc(MIB, three);
			ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, MIB), 0);
			dealloc(other, three);
		}
		ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	}
	ck_assert_uint_eq(stats().live_blocks, 0);
}
END_TEST

/* The record ends when the block is freed and allocated again. */
START_TEST(recorded_streams_end_with_their_block)
{
	void *block, *again;

	start();
	block = alloc(MIB, one);
	mam_torch_record_stream(block, two);
	dealloc(block, one);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	again = alloc(MIB, one);
	ck_assert_ptr_eq(again, block);
	use(again, MIB, two); /* an error of the program: it recorded no stream */
	dealloc(again, one);
	ck_assert_ptr_eq(alloc(MIB, one), block);
}
END_TEST

/* While a stream that used it is in capture, in each mode, no event is recorded in it. */
START_TEST(recorded_stream_in_capture_stays_valid)
{
	struct CUgraph_st *graph;
	void *block, *other;
	int status = -1;

	start();
	block = alloc(MIB, one);
	mam_torch_record_stream(block, two);
	use(block, MIB, three); /* unfinished, so that the block would be pending */
	mam_torch_record_stream(block, three);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(two, _i), CUDA_SUCCESS);
	dealloc(block, one);
	other = alloc(MIB, one);
	ck_assert_ptr_ne(other, block);
	dealloc(other, one); /* retried, without success */
	ck_assert_uint_eq(stats().live_blocks, 1);
	ck_assert_int_eq(cuda.cuStreamIsCapturing(two, &status), CUDA_SUCCESS);
	ck_assert_int_eq(status, 1);
	ck_assert_int_eq(cuda.cuStreamEndCapture(two, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	dealloc(alloc(MIB, one), one); /* retried */
	ck_assert_uint_eq(stats().live_blocks, 0);
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(destroyed_recorded_stream_is_waited_for)
{
	void *block, *other;

	if (_i == 1)
		setenv("MAM_FREE", "stream", 1);
	start();
	block = alloc(MIB, one);
	use(block, MIB, two);
	mam_torch_record_stream(block, two);
	ck_assert_int_eq(cuda.cuStreamDestroy_v2(two), CUDA_SUCCESS);
	if (_i == 2) /* the next stream gets its handle */
		ck_assert_int_eq(cuda.cuStreamCreate(&two, 1), CUDA_SUCCESS);
	dealloc(block, one);
	ck_assert_uint_eq(stats().live_blocks, 0);
	other = alloc(MIB, one);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, MIB), 0);
	dealloc(other, one);
}
END_TEST

/* A stream of another device, with the block's device or that one current. */
START_TEST(recorded_stream_of_other_device_delays_reuse)
{
	struct CUctx_st *here, *there;
	struct CUstream_st *far;
	void *block;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	start();
	ck_assert_int_eq(cuda.cuCtxGetCurrent(&here), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&there, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(there), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&far, 1), CUDA_SUCCESS);
	if (_i % 2)
		ck_assert_int_eq(cuda.cuCtxSetCurrent(here), CUDA_SUCCESS);
	block = alloc(MIB, one);
	use(block, MIB, far);
	mam_torch_record_stream(block, far);
	if (_i >= 2)
		ck_assert_int_eq(cuda.cuStreamDestroy_v2(far), CUDA_SUCCESS);
	dealloc(block, one);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(cuda.fake_pending((uintptr_t)alloc(MIB, one), MIB), 0);
	ck_assert_uint_eq(stats().live_blocks, 8);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/* Frees while the program exits have no effect, and nothing is logged. */
START_TEST(exit_of_driver_logs_nothing)
{
	void *block, *other, *third;

	setenv("FAKE_CUDA_FAIL_AT", "cuCtxGetCurrent:40+:4,cuStreamIsCapturing:40+:4", 1);
	start();
	block = alloc(MIB, one);
	other = alloc(MIB, one);
	third = alloc(MIB, NULL);
	mam_torch_record_stream(block, two);
	for (int i = 0; i < 40; i++) {
		struct CUctx_st *context;
		int status;

		cuda.cuCtxGetCurrent(&context);
		cuda.cuStreamIsCapturing(one, &status);
	}
	dealloc(block, one);
	dealloc(other, one);
	dealloc(third, NULL);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/* Later the stream's thread is unknown. */
START_TEST(recorded_per_thread_stream_is_waited_for)
{
	struct CUstream_st *own = (struct CUstream_st *)2;
	void *block;

	start();
	block = alloc(MIB, one);
	use(block, MIB, own);
	mam_torch_record_stream(block, own);
	dealloc(block, one);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)block, MIB), 0);
	ck_assert_uint_eq(stats().live_blocks, 0);
}
END_TEST

/* The driver refuses the context for the join stream once: that free waits, later ones do not. */
START_TEST(join_stream_is_tried_again)
{
	struct CUctx_st *here;
	uint64_t due;
	void *block;

	setenv("FAKE_CUDA_FAIL_AT", "cuDevicePrimaryCtxRetain:3", 1);
	start();
	ck_assert_int_eq(cuda.cuCtxGetCurrent(&here), CUDA_SUCCESS);
	for (int i = 0; i < 3; i++) {
		block = alloc(MIB, one);
		due = use(block, MIB, two);
		mam_torch_record_stream(block, two);
		if (i == 0)
			ck_assert_int_eq(cuda.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
		dealloc(block, one);
		if (i == 0)
			ck_assert_uint_ge(cuda.fake_clock(), due);
		else
			ck_assert_uint_lt(cuda.fake_clock(), due);
		ck_assert_int_eq(cuda.cuCtxSetCurrent(here), CUDA_SUCCESS);
	}
	ck_assert_int_eq(lines(), 1); /* cuDevicePrimaryCtxRetain */
}
END_TEST

/* For example when Python's garbage collector frees a tensor in a worker process. */
START_TEST(child_of_fork_gets_nothing_and_does_not_wait)
{
	void *block, *kept;
	pid_t child;
	int status;

	start();
	block = alloc(MIB, one);
	kept = alloc(MIB, one);
	mam_torch_record_stream(block, two);
	child = fork();
	if (child == 0) {
		alarm(20);
		dealloc(block, one);
		dealloc(kept, one);
		mam_torch_record_stream(kept, two);
		mam_torch_empty_cache();
		_exit(mam_torch_pool_alloc((ssize_t)MIB, 0, one) ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	dealloc(block, one);
	dealloc(kept, one);
	ck_assert_uint_eq(stats().live_blocks, 0);
}
END_TEST

#define CALLS 40

/*
 * Whichever call fails: no block is allocated while work uses it, and the thread's state is
 * restored.
 */
START_TEST(plugs_survive_failure_of_any_call)
{
	struct CUctx_st *before, *after;
	bool is_mode_lost;
	int mode = 1;
	void *block, *other;
	char name[64];

	start();
	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxGetCurrent(&before), CUDA_SUCCESS);
	block = alloc(MIB, one);
	use(block, MIB, two);
	mam_torch_record_stream(block, two);
	cuda.fake_fail((unsigned long)_i, 1);
	dealloc(block, one);
	/* Except if the call that restores the mode failed. */
	is_mode_lost = cuda.fake_failed(name, sizeof(name)) != 0 &&
		       strcmp(name, "cuThreadExchangeStreamCaptureMode") == 0;
	cuda.fake_fail(0, 0);
	for (int i = 0; i < 8; i++) {
		other = alloc(MIB, i % 2 ? one : three);
		ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, MIB), 0);
	}
	ck_assert_int_eq(cuda.cuCtxGetCurrent(&after), CUDA_SUCCESS);
	ck_assert_ptr_eq(before, after);
	mode = 2;
	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	if (!is_mode_lost)
		ck_assert_int_eq(mode, 1);
}
END_TEST

#define SLOTS 64
#define THREADS 3

/*
 * Which stream used a block of 1 MiB last, and until when; by its position in the device's memory.
 */
struct user {
	struct CUstream_st *stream;
	uint64_t due;
	bool joined; /* several streams used it: no stream may reuse it before that */
};

static struct user users[4096][4];
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;

static void *play(void *argument)
{
	unsigned int seed = (unsigned int)(uintptr_t)argument;
	struct CUstream_st *const streams[] = { one, two, three };
	struct {
		void *block;
		struct CUstream_st *stream;
	} held[SLOTS] = { { NULL, NULL } };
	struct CUctx_st *context;

	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
	for (int step = 0; step < 6000; step++) {
		unsigned int slot = (unsigned int)rand_r(&seed) % SLOTS;
		struct CUstream_st *stream = streams[rand_r(&seed) % 3];
		struct CUstream_st *other = streams[rand_r(&seed) % 3];
		struct user *last;

		if (held[slot].block) {
			last = users[(uintptr_t)held[slot].block / MIB % 4096];
			pthread_mutex_lock(&users_lock);
			memset(last, 0, sizeof(users[0]));
			last[0].stream = held[slot].stream;
			last[0].due = use(held[slot].block, MIB, held[slot].stream);
			if (rand_r(&seed) % 2 && other != held[slot].stream) {
				last[1].stream = other;
				last[1].due = use(held[slot].block, MIB, other);
				last[0].joined = true;
				mam_torch_record_stream(held[slot].block, other);
			}
			pthread_mutex_unlock(&users_lock);
			dealloc(held[slot].block, held[slot].stream);
			held[slot].block = NULL;
			continue;
		}
		held[slot].block = mam_torch_pool_alloc((ssize_t)MIB, 0, stream);
		held[slot].stream = stream;
		if (!held[slot].block)
			continue; /* the other slots have all of it */
		pthread_mutex_lock(&users_lock);
		last = users[(uintptr_t)held[slot].block / MIB % 4096];
		for (int i = 0; i < 2; i++) {
			if (last[i].stream && (last[0].joined || last[i].stream != stream))
				ck_assert_uint_ge(cuda.fake_begin(stream), last[i].due);
		}
		memset(last, 0, sizeof(users[0]));
		pthread_mutex_unlock(&users_lock);
		if (rand_r(&seed) % 200 == 0)
			cuda.cuStreamSynchronize(other);
	}
	for (int slot = 0; slot < SLOTS; slot++)
		dealloc(held[slot].block, held[slot].stream);
	return NULL;
}

START_TEST(random_blocks_of_many_streams)
{
	pthread_t threads[THREADS];

	start();
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, play, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	ck_assert_uint_eq(stats().live_blocks, 0);
	ck_assert_uint_gt(stats().allocs, 5000);
}
END_TEST

static void *alloc_in_thread(void *unused)
{
	(void)unused;
	return mam_torch_alloc(MIB, 0, one);
}

START_TEST(thread_allocates_from_its_pool)
{
	struct mam_stats found = { .size = sizeof(found) };
	struct mam_pool *pool, *owner = NULL;
	void *blocks[2], *other;
	pthread_t thread;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	start();
	ck_assert_int_eq(mam_pool_create(NULL, &pool), MAM_OK);
	mam_plug_pool(pool, 0);
	blocks[0] = mam_torch_alloc(MIB, 0, one);
	blocks[1] = mam_torch_pool_alloc(MIB, 0, one);
	ck_assert_int_eq(mam_pool_stats(pool, &found), MAM_OK);
	ck_assert_uint_eq(found.live_bytes, 2 * MIB);
	other = mam_torch_alloc(MIB, 1, NULL);
	ck_assert_int_eq(mam_owner(other, &owner, NULL), MAM_OK);
	ck_assert_ptr_ne(owner, pool);
	mam_torch_free(other, MIB, 1, NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, alloc_in_thread, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, &other), 0);
	ck_assert_uint_eq(stats().live_bytes, MIB);
	mam_torch_free(other, MIB, 0, one);
	ck_assert_str_eq(logged(), "");
	ck_assert_ptr_null(mam_torch_pool_alloc(512 * MIB, 0, one));
	ck_assert_ptr_nonnull(strstr(logged(), "mam_torch_pool_alloc: cannot allocate 536870912"));
	ck_assert_int_eq(lines(), 1);
	mam_plug_pool(NULL, 0);
	dealloc(alloc(MIB, one), one);
	for (int i = 0; i < 2; i++)
		mam_torch_free(blocks[i], MIB, 0, one);
	ck_assert_int_eq(mam_pool_stats(pool, &found), MAM_OK);
	ck_assert_uint_eq(found.live_bytes, 0);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(lines(), 1);
}
END_TEST

static void add(Suite *suite, SFun set_up_source)
{
	TCase *each = suite_case(suite, "each");
	TCase *joined = suite_case(suite, "joined");

	tcase_add_checked_fixture(each, set_up_source, tear_down);
	tcase_add_loop_test(each, blocks_follow_order_of_their_stream, 0, WAYS);
	tcase_add_loop_test(each, zero_size_and_null_are_no_ops, 0, WAYS);
	tcase_add_loop_test(each, out_of_memory_returns_null_and_logs_one_line, 0, WAYS);
	tcase_add_loop_test(each, missing_device_returns_null, 0, WAYS - 1);
	tcase_add_loop_test(each, invalid_frees_are_logged, 0, WAYS);
	tcase_add_test(each, rmm_functions_accept_pool);
	tcase_add_test(each, empty_cache_releases_free_memory);
	tcase_add_test(each, thread_allocates_from_its_pool);
	tcase_add_checked_fixture(joined, set_up_source, tear_down);
	tcase_add_test(joined, recorded_stream_delays_reuse);
	tcase_add_test(joined, streams_do_not_wait_for_each_other);
	tcase_add_test(joined, each_recorded_stream_delays_reuse);
	tcase_add_test(joined, recorded_streams_end_with_their_block);
	tcase_add_loop_test(joined, recorded_stream_in_capture_stays_valid, 0, 3);
	tcase_add_loop_test(joined, destroyed_recorded_stream_is_waited_for, 0, 3);
	tcase_add_loop_test(joined, recorded_stream_of_other_device_delays_reuse, 0, 4);
	tcase_add_test(joined, exit_of_driver_logs_nothing);
	tcase_add_test(joined, recorded_per_thread_stream_is_waited_for);
	tcase_add_test(joined, join_stream_is_tried_again);
	tcase_add_test(joined, child_of_fork_gets_nothing_and_does_not_wait);
	tcase_add_loop_test(joined, plugs_survive_failure_of_any_call, 1, CALLS);
	tcase_add_test(joined, random_blocks_of_many_streams);
}

int main(void)
{
	Suite *suite = suite_create("api/plug");

	add(suite, set_up);
	add(suite, set_up_mapped);
	return suite_run(suite);
}
