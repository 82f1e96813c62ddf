/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugs of PyTorch, CuPy and RMM on the fake driver: what they answer, in whose order their
 * blocks come and go, blocks that several streams use, and what a failing driver call does to them.
 *
 * Work on a stream takes a millisecond of the fake's own clock, which only waits move on.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "api/plug_join.h"
#include "plugs.h"

START_TEST(blocks_come_and_go_in_the_order_of_their_stream)
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

START_TEST(nothing_is_nothing)
{
	start();
	ck_assert_ptr_null(way_alloc(_i, 0, 0, one));
	way_free(_i, NULL, 0, 0, one);
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(no_memory_is_null_and_one_line)
{
	void *block;

	start();
	ck_assert_ptr_null(way_alloc(_i, 512 * MIB, 0, one));
	ck_assert_int_eq(lines(), 1);
	ck_assert_ptr_nonnull(strstr(text, ways[_i].name));
	ck_assert_ptr_nonnull(strstr(text, "536870912 bytes"));
	/* A size that is none, as a negative one of PyTorch's. */
	ck_assert_ptr_null(way_alloc(_i, (size_t)-5, 0, one));
	ck_assert_int_eq(lines(), 2);
	block = way_alloc(_i, MIB, 0, one);
	ck_assert_ptr_nonnull(block);
	way_free(_i, block, MIB, 0, one);
	ck_assert_int_eq(lines(), 2);
}
END_TEST

START_TEST(no_such_device_is_null)
{
	start();
	ck_assert_ptr_null(way_alloc(_i, MIB, 1, one));
	ck_assert_ptr_null(way_alloc(_i, MIB, 300, one));
	ck_assert_ptr_null(way_alloc(_i, MIB, -7, one));
	logged();
	ck_assert_ptr_nonnull(strstr(text, ways[_i].name));
	ck_assert_int_eq(lines(), 4); /* three, and once that the driver has no such device */
}
END_TEST

/* What is not theirs is left alone, and said. */
START_TEST(blocks_that_are_none)
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

/* Where there is a pool, RMM's last argument names it. */
START_TEST(rmm_may_name_a_pool)
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

START_TEST(free_memory_goes_back_when_asked)
{
	void *block;

	start();
	mam_torch_empty_cache(); /* nothing was used: no pool is made */
	block = take(64 * MIB, one);
	give(block, one);
	ck_assert_uint_ge(stats().physical_bytes, 64 * MIB);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	mam_torch_empty_cache();
	ck_assert_uint_lt(stats().physical_bytes, 64 * MIB);
}
END_TEST

START_TEST(a_recorded_stream_is_waited_for)
{
	uint64_t due;
	void *block, *other[8];

	start();
	block = take(MIB, one);
	due = use(block, MIB, two);
	mam_torch_record_stream(block, two);
	give(block, one);
	ck_assert_uint_lt(cuda.fake_clock(), due); /* nobody waited */
	/* Neither its own stream gets it now, nor the other one, nor any. */
	for (int i = 0; i < 6; i++) {
		other[i] = take(MIB, i % 3 == 0 ? one : i % 3 == 1 ? two : three);
		ck_assert_ptr_ne(other[i], block);
	}
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	other[6] = take(MIB, one);
	other[7] = take(MIB, one);
	ck_assert(other[6] == block || other[7] == block);
	for (int i = 0; i < 8; i++)
		give(other[i], i == 6 || i == 7 || i % 3 == 0 ? one : i % 3 == 1 ? two : three);
	ck_assert_uint_eq(stats().live_blocks, 0);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/* What came after the free, on any of the streams, is not waited for: nor do they wait themselves. */
START_TEST(no_stream_waits_for_another)
{
	uint64_t due, later;
	void *block;

	start();
	block = take(MIB, one);
	due = use(block, MIB, two);
	mam_torch_record_stream(block, two);
	give(block, one);
	/* A millisecond each from now, not behind the other's. */
	later = use(take(MIB, one), MIB, one);
	ck_assert_uint_lt(later, due + 900000);
	later = use(take(MIB, three), MIB, three);
	ck_assert_uint_lt(later, due + 900000);
	/* The legacy default stream waits for all that are not of their own: none of these. */
	later = use(take(MIB, NULL), MIB, NULL);
	ck_assert_uint_lt(later, due + 900000);
}
END_TEST

START_TEST(each_of_many_streams_counts)
{
	void *block, *other;

	start();
	for (int last = 0; last < 3; last++) {
		struct CUstream_st *const streams[] = { one, two, three };

		block = take(MIB, one);
		/* Twice is once. */
		for (int i = 0; i < 3; i++) {
			mam_torch_record_stream(block, streams[i]);
			mam_torch_record_stream(block, streams[i]);
		}
		use(block, MIB, streams[last]);
		give(block, one);
		for (int i = 0; i < 4; i++) {
			other = take(MIB, three);
			ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, MIB), 0);
			give(other, three);
		}
		ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	}
	ck_assert_uint_eq(stats().live_blocks, 0);
}
END_TEST

/* A block that was freed and is another's now is not recorded any more. */
START_TEST(records_end_with_their_block)
{
	void *block, *again;

	start();
	block = take(MIB, one);
	mam_torch_record_stream(block, two);
	give(block, one);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	again = take(MIB, one);
	ck_assert_ptr_eq(again, block);
	use(again, MIB, two); /* a mistake of the program's: nobody was told */
	give(again, one);
	ck_assert_ptr_eq(take(MIB, one), block);
}
END_TEST

/* While a stream that used it is in capture, in each mode, nothing is recorded in it. */
START_TEST(a_capture_is_left_alone)
{
	struct CUgraph_st *graph;
	void *block, *other;
	int status = -1;

	start();
	block = take(MIB, one);
	mam_torch_record_stream(block, two);
	use(block, MIB, three); /* unfinished, so that the block would be pending */
	mam_torch_record_stream(block, three);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(two, _i), CUDA_SUCCESS);
	give(block, one);
	other = take(MIB, one);
	ck_assert_ptr_ne(other, block);
	give(other, one); /* tried again, in vain */
	ck_assert_uint_eq(stats().live_blocks, 1);
	ck_assert_int_eq(cuda.cuStreamIsCapturing(two, &status), CUDA_SUCCESS);
	ck_assert_int_eq(status, 1);
	ck_assert_int_eq(cuda.cuStreamEndCapture(two, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	give(take(MIB, one), one); /* tried again */
	ck_assert_uint_eq(stats().live_blocks, 0);
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(a_stream_that_is_gone_is_waited_for)
{
	void *block, *other;

	if (_i == 1)
		setenv("MAM_FREE", "stream", 1);
	start();
	block = take(MIB, one);
	use(block, MIB, two);
	mam_torch_record_stream(block, two);
	ck_assert_int_eq(cuda.cuStreamDestroy_v2(two), CUDA_SUCCESS);
	if (_i == 2) /* its handle is the next stream's */
		ck_assert_int_eq(cuda.cuStreamCreate(&two, 1), CUDA_SUCCESS);
	give(block, one);
	ck_assert_uint_eq(stats().live_blocks, 0);
	other = take(MIB, one);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, MIB), 0);
	give(other, one);
}
END_TEST

/* A stream of another device, with the block's device current or that one. */
START_TEST(a_stream_of_another_device_counts)
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
	block = take(MIB, one);
	use(block, MIB, far);
	mam_torch_record_stream(block, far);
	if (_i >= 2)
		ck_assert_int_eq(cuda.cuStreamDestroy_v2(far), CUDA_SUCCESS);
	give(block, one);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(cuda.fake_pending((uintptr_t)take(MIB, one), MIB), 0);
	ck_assert_uint_eq(stats().live_blocks, 8);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/* What a program frees while it exits is of no consequence, and nothing is said. */
START_TEST(the_end_of_the_driver_is_silent)
{
	void *block, *other, *third;

	setenv("FAKE_CUDA_FAIL_AT", "cuCtxGetCurrent:40+:4,cuStreamIsCapturing:40+:4", 1);
	start();
	block = take(MIB, one);
	other = take(MIB, one);
	third = take(MIB, NULL);
	mam_torch_record_stream(block, two);
	for (int i = 0; i < 40; i++) {
		struct CUctx_st *context;
		int status;

		cuda.cuCtxGetCurrent(&context);
		cuda.cuStreamIsCapturing(one, &status);
	}
	give(block, one);
	give(other, one);
	give(third, NULL);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/* Nobody knows later whose it was. */
START_TEST(a_thread_s_own_stream_is_waited_for)
{
	struct CUstream_st *own = (struct CUstream_st *)2;
	void *block;

	start();
	block = take(MIB, one);
	use(block, MIB, own);
	mam_torch_record_stream(block, own);
	give(block, one);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)block, MIB), 0);
	ck_assert_uint_eq(stats().live_blocks, 0);
}
END_TEST

/* As when Python's garbage collector frees a tensor in a worker process. */
START_TEST(a_child_of_a_fork_gets_nothing_and_does_not_wait)
{
	void *block, *kept;
	pid_t child;
	int status;

	start();
	block = take(MIB, one);
	kept = take(MIB, one);
	mam_torch_record_stream(block, two);
	child = fork();
	if (child == 0) {
		alarm(20);
		give(block, one);
		give(kept, one);
		mam_torch_record_stream(kept, two);
		mam_torch_empty_cache();
		_exit(mam_torch_pool_alloc((ssize_t)MIB, 0, one) ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	give(block, one);
	give(kept, one);
	ck_assert_uint_eq(stats().live_blocks, 0);
}
END_TEST

#define CALLS 40

/* Whatever call fails: no block is handed out while it is used, and the thread is left as it was. */
START_TEST(any_one_call_may_fail)
{
	struct CUctx_st *before, *after;
	bool is_mode_lost;
	int mode = 1;
	void *block, *other;
	char name[64];

	start();
	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxGetCurrent(&before), CUDA_SUCCESS);
	block = take(MIB, one);
	use(block, MIB, two);
	mam_torch_record_stream(block, two);
	cuda.fake_fail((unsigned long)_i, 1);
	give(block, one);
	/* What could not give the mode back did not. */
	is_mode_lost = cuda.fake_failed(name, sizeof(name)) != 0 &&
		       strcmp(name, "cuThreadExchangeStreamCaptureMode") == 0;
	cuda.fake_fail(0, 0);
	for (int i = 0; i < 8; i++) {
		other = take(MIB, i % 2 ? one : three);
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

/* Who used a block of 1 MiB last, and until when; by its place in the device's memory. */
struct user {
	struct CUstream_st *stream;
	uint64_t due;
	bool joined; /* several streams used it: nobody may have it before that */
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
			give(held[slot].block, held[slot].stream);
			held[slot].block = NULL;
			continue;
		}
		held[slot].block = mam_torch_pool_alloc((ssize_t)MIB, 0, stream);
		held[slot].stream = stream;
		if (!held[slot].block)
			continue; /* the others have it all */
		pthread_mutex_lock(&users_lock);
		last = users[(uintptr_t)held[slot].block / MIB % 4096];
		for (int i = 0; i < 2; i++) {
			if (last[i].stream && (last[0].joined || last[i].stream != stream))
				ck_assert_uint_ge(cuda.fake_clock(), last[i].due);
		}
		memset(last, 0, sizeof(users[0]));
		pthread_mutex_unlock(&users_lock);
		if (rand_r(&seed) % 200 == 0)
			cuda.cuStreamSynchronize(other);
	}
	for (int slot = 0; slot < SLOTS; slot++)
		give(held[slot].block, held[slot].stream);
	return NULL;
}

START_TEST(many_blocks_of_many_streams)
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

int main(void)
{
	Suite *suite = suite_create("api/plug");
	TCase *each = suite_case(suite, "each");
	TCase *joined = suite_case(suite, "joined");

	tcase_add_checked_fixture(each, set_up, tear_down);
	tcase_add_loop_test(each, blocks_come_and_go_in_the_order_of_their_stream, 0, WAYS);
	tcase_add_loop_test(each, nothing_is_nothing, 0, WAYS);
	tcase_add_loop_test(each, no_memory_is_null_and_one_line, 0, WAYS);
	tcase_add_loop_test(each, no_such_device_is_null, 0, WAYS - 1);
	tcase_add_loop_test(each, blocks_that_are_none, 0, WAYS);
	tcase_add_test(each, rmm_may_name_a_pool);
	tcase_add_test(each, free_memory_goes_back_when_asked);
	tcase_add_checked_fixture(joined, set_up, tear_down);
	tcase_add_test(joined, a_recorded_stream_is_waited_for);
	tcase_add_test(joined, no_stream_waits_for_another);
	tcase_add_test(joined, each_of_many_streams_counts);
	tcase_add_test(joined, records_end_with_their_block);
	tcase_add_loop_test(joined, a_capture_is_left_alone, 0, 3);
	tcase_add_loop_test(joined, a_stream_that_is_gone_is_waited_for, 0, 3);
	tcase_add_loop_test(joined, a_stream_of_another_device_counts, 0, 4);
	tcase_add_test(joined, the_end_of_the_driver_is_silent);
	tcase_add_test(joined, a_thread_s_own_stream_is_waited_for);
	tcase_add_test(joined, a_child_of_a_fork_gets_nothing_and_does_not_wait);
	tcase_add_loop_test(joined, any_one_call_may_fail, 1, CALLS);
	tcase_add_test(joined, many_blocks_of_many_streams);
	return suite_run(suite);
}
