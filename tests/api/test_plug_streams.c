/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Default streams under the plugs of PyTorch, CuPy and RMM: the handles 0 and 2, which may mean the
 * calling thread's own stream.
 *
 * Work on a stream takes one millisecond of the fake's clock, which only waits advance.
 */
#include <pthread.h>

#include "plugs.h"

/* Calls of another thread, in this thread's context. */
struct helper {
	int way;
	struct CUstream_st *stream;
	struct CUctx_st *context;
	void *block; /* in: block to free; NULL: none */
	void *got;   /* out: the block that it allocated then */
};

static void *help(void *argument)
{
	struct helper *helper = argument;

	ck_assert_int_eq(cuda.cuCtxSetCurrent(helper->context), CUDA_SUCCESS);
	way_free(helper->way, helper->block, MIB, 0, helper->stream);
	helper->got = way_alloc(helper->way, MIB, 0, helper->stream);
	return NULL;
}

static void *in_another_thread(int way, void *block, struct CUstream_st *stream)
{
	struct helper helper = { .way = way, .stream = stream, .block = block };
	pthread_t thread;

	ck_assert_int_eq(cuda.cuCtxGetCurrent(&helper.context), CUDA_SUCCESS);
	ck_assert_int_eq(pthread_create(&thread, NULL, help, &helper), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_ptr_nonnull(helper.got);
	return helper.got;
}

/* RMM passes 2 for a thread's own stream, and 0 in programs compiled with per-thread streams. */
static struct CUstream_st *const own_streams[] = { NULL, PER_THREAD };

START_TEST(block_of_per_thread_stream_is_not_reused_elsewhere)
{
	struct CUstream_st *own = own_streams[_i];
	void *block, *other;

	start();
	for (int i = 0; i < 40; i++) /* so that the pool expects the stream to reuse its blocks */
		mam_rmm_free(mam_rmm_alloc(MIB, own, NULL), MIB, own, NULL);
	block = mam_rmm_alloc(MIB, own, NULL);
	ck_assert_ptr_nonnull(block);
	use(block, MIB, PER_THREAD);
	mam_rmm_free(block, MIB, own, NULL);
	other = in_another_thread(RMM, NULL, own);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, MIB), 0);
	ck_assert_ptr_ne(other, block);
	/* The thread itself reuses it at once. */
	ck_assert_ptr_eq(mam_rmm_alloc(MIB, own, NULL), block);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/* In other programs 0 is the legacy stream, and a thread's own stream waits for its work. */
START_TEST(rmm_handle_0_waits_for_legacy_stream)
{
	void *block, *other;
	uint64_t due;

	start();
	block = mam_rmm_alloc(200 * MIB, NULL, NULL);
	ck_assert_ptr_nonnull(block);
	due = use(block, 200 * MIB, LEGACY);
	mam_rmm_free(block, 200 * MIB, NULL, NULL);
	/* There is only one block of this size. */
	other = mam_rmm_alloc(200 * MIB, one, NULL);
	ck_assert_ptr_nonnull(other);
	ck_assert_uint_ge(cuda.fake_begin(one), due);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/*
 * PyTorch and CuPy pass the stream that a block was allocated on, in whichever thread they free it:
 * then 2 identifies no stream.
 */
START_TEST(block_of_per_thread_stream_can_be_freed_anywhere)
{
	void *block, *other, *kept[40];

	start();
	block = way_alloc(_i, MIB, 0, PER_THREAD);
	ck_assert_ptr_nonnull(block);
	use(block, MIB, PER_THREAD);
	other = in_another_thread(_i, block, PER_THREAD);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, MIB), 0);
	/* Nor does this thread get it: the other one may have used it last. */
	block = way_alloc(_i, MIB, 0, PER_THREAD);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)block, MIB), 0);
	way_free(_i, block, MIB, 0, PER_THREAD);
	way_free(_i, other, MIB, 0, PER_THREAD);
	/* And the memory is not lost: all memory of the device can be allocated. */
	for (int i = 0; i < 40; i++) {
		kept[i] = way_alloc(_i, 4 * MIB, 0, PER_THREAD);
		ck_assert_ptr_nonnull(kept[i]);
		ck_assert_int_eq(cuda.fake_pending((uintptr_t)kept[i], 4 * MIB), 0);
	}
	for (int i = 0; i < 40; i++)
		way_free(_i, kept[i], 4 * MIB, 0, PER_THREAD);
	ck_assert_uint_eq(stats().live_blocks, 0);
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(memory_freed_in_per_thread_capture_stays_in_it)
{
	struct CUgraph_st *graph;
	void *block;

	start();
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(PER_THREAD, 2), CUDA_SUCCESS);
	block = way_alloc(_i, MIB, 0, PER_THREAD);
	ck_assert_ptr_nonnull(block);
	way_free(_i, block, MIB, 0, PER_THREAD);
	ck_assert_int_eq(cuda.cuStreamEndCapture(PER_THREAD, &graph), CUDA_SUCCESS);
	for (int i = 0; i < 40; i++)
		ck_assert_ptr_ne(way_alloc(_i, 4 * MIB, 0, PER_THREAD), block);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/* A setting of CuPy makes its default stream, 0, that of the calling thread. */
START_TEST(cupy_default_stream_follows_cupy_setting)
{
	void *block, *other;

	setenv("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM", _i ? "1" : "0", 1);
	start();
	for (int i = 0; i < 40; i++)
		mam_cupy_free(NULL, mam_cupy_alloc(NULL, MIB, 0), 0);
	block = mam_cupy_alloc(NULL, MIB, 0);
	ck_assert_ptr_nonnull(block);
	use(block, MIB, _i ? PER_THREAD : LEGACY);
	other = in_another_thread(CUPY, block, NULL);
	if (_i)
		ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, MIB), 0);
	else
		ck_assert_ptr_eq(other, block);
	ck_assert_str_eq(logged(), "");
}
END_TEST
static void add(Suite *suite, SFun set_up_source)
{
	TCase *each = suite_case(suite, "each");

	tcase_add_checked_fixture(each, set_up_source, tear_down);
	tcase_add_loop_test(each, block_of_per_thread_stream_is_not_reused_elsewhere, 0,
			    (int)COUNT_OF(own_streams));
	tcase_add_test(each, rmm_handle_0_waits_for_legacy_stream);
	tcase_add_loop_test(each, block_of_per_thread_stream_can_be_freed_anywhere, 0, RMM);
	tcase_add_loop_test(each, memory_freed_in_per_thread_capture_stays_in_it, 0, WAYS);
	tcase_add_loop_test(each, cupy_default_stream_follows_cupy_setting, 0, 2);
}

int main(void)
{
	Suite *suite = suite_create("api/plug_streams");

	add(suite, set_up);
	add(suite, set_up_mapped);
	return suite_run(suite);
}
