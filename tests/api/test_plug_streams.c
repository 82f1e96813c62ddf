/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Default streams under the plugs of PyTorch, CuPy and RMM: the handles 0 and 2, which may mean the
 * calling thread's own stream.
 *
 * Work on a stream takes a millisecond of the fake's own clock, which only waits move on.
 */
#include <pthread.h>

#include "plugs.h"

/* Calls of another thread, in the context of this one. */
struct helper {
	int way;
	struct CUstream_st *stream;
	struct CUctx_st *context;
	void *block; /* in: to be freed; NULL: nothing */
	void *got;   /* out: what it allocated then */
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

START_TEST(a_thread_does_not_get_what_another_thread_s_own_stream_uses)
{
	struct CUstream_st *own = own_streams[_i];
	void *block, *other;

	start();
	for (int i = 0; i < 40; i++) /* so that the stream is known to reuse its blocks */
		mam_rmm_free(mam_rmm_alloc(MIB, own, NULL), MIB, own, NULL);
	block = mam_rmm_alloc(MIB, own, NULL);
	ck_assert_ptr_nonnull(block);
	use(block, MIB, PER_THREAD);
	mam_rmm_free(block, MIB, own, NULL);
	other = in_another_thread(RMM, NULL, own);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, MIB), 0);
	ck_assert_ptr_ne(other, block);
	/* The thread itself does, at once. */
	ck_assert_ptr_eq(mam_rmm_alloc(MIB, own, NULL), block);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/* In other programs 0 is the legacy stream, whose work a thread's own stream waits for. */
START_TEST(work_on_the_legacy_stream_is_waited_for_under_rmm_s_0)
{
	void *block, *other;

	start();
	block = mam_rmm_alloc(200 * MIB, NULL, NULL);
	ck_assert_ptr_nonnull(block);
	use(block, 200 * MIB, LEGACY);
	mam_rmm_free(block, 200 * MIB, NULL, NULL);
	/* Of this size there is one block only. */
	other = mam_rmm_alloc(200 * MIB, one, NULL);
	ck_assert_ptr_nonnull(other);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, 200 * MIB), 0);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/*
 * PyTorch and CuPy name the stream that a block was allocated on, in whichever thread they free it:
 * 2 does not name one then.
 */
START_TEST(a_block_of_a_thread_s_own_stream_may_be_freed_by_any_thread)
{
	void *block, *other, *kept[40];

	start();
	block = way_alloc(_i, MIB, 0, PER_THREAD);
	ck_assert_ptr_nonnull(block);
	use(block, MIB, PER_THREAD);
	other = in_another_thread(_i, block, PER_THREAD);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)other, MIB), 0);
	/* Not this thread either: the other one may have used it last. */
	block = way_alloc(_i, MIB, 0, PER_THREAD);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)block, MIB), 0);
	way_free(_i, block, MIB, 0, PER_THREAD);
	way_free(_i, other, MIB, 0, PER_THREAD);
	/* And the memory is not lost: all of the device's can be allocated. */
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

START_TEST(what_a_capture_of_a_thread_s_own_stream_freed_stays_with_it)
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

/* CuPy's own setting makes its default stream, 0, the calling thread's. */
START_TEST(cupy_s_default_stream_is_what_cupy_was_told)
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
int main(void)
{
	Suite *suite = suite_create("api/plug_streams");
	TCase *each = suite_case(suite, "each");

	tcase_add_checked_fixture(each, set_up, tear_down);
	tcase_add_loop_test(each, a_thread_does_not_get_what_another_thread_s_own_stream_uses, 0,
			    (int)COUNT_OF(own_streams));
	tcase_add_test(each, work_on_the_legacy_stream_is_waited_for_under_rmm_s_0);
	tcase_add_loop_test(each, a_block_of_a_thread_s_own_stream_may_be_freed_by_any_thread, 0,
			    RMM);
	tcase_add_loop_test(each, what_a_capture_of_a_thread_s_own_stream_freed_stays_with_it, 0,
			    WAYS);
	tcase_add_loop_test(each, cupy_s_default_stream_is_what_cupy_was_told, 0, 2);
	return suite_run(suite);
}
