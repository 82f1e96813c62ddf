/* SPDX-License-Identifier: Apache-2.0 */
/* test_capture.c - which calls a stream capture refuses, by the modes of capture and thread. */
#include "fake/load.h"

#include <pthread.h>

static struct cuda cuda;
static struct CUstream_st *stream;

static void begin(int mode)
{
	cuda = load();
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(stream, mode), CUDA_SUCCESS);
}

static int end(void)
{
	struct CUgraph_st *graph;
	int result = cuda.cuStreamEndCapture(stream, &graph);

	if (result == CUDA_SUCCESS)
		cuda.cuGraphDestroy(graph);
	return result;
}

static int allocate(void)
{
	unsigned long long address;

	return cuda.cuMemAlloc_v2(&address, 512);
}

static void *allocate_elsewhere(void *argument)
{
	struct CUctx_st *context;

	cuda.cuDevicePrimaryCtxRetain(&context, 0);
	cuda.cuCtxSetCurrent(context);
	*(int *)argument = allocate();
	return NULL;
}

static int elsewhere(void)
{
	pthread_t thread;
	int result = -1;

	ck_assert_int_eq(pthread_create(&thread, NULL, allocate_elsewhere, &result), 0);
	pthread_join(thread, NULL);
	return result;
}

START_TEST(allocation_invalidates_global_capture)
{
	int status;

	begin(CAPTURE_GLOBAL);
	ck_assert_int_eq(allocate(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	cuda.cuStreamIsCapturing(stream, &status);
	ck_assert_int_eq(status, 2);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ck_assert_int_eq(allocate(), CUDA_SUCCESS);
}
END_TEST

START_TEST(any_thread_invalidates_global_capture)
{
	begin(CAPTURE_GLOBAL);
	ck_assert_int_eq(elsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(thread_local_capture_ignores_other_threads)
{
	begin(CAPTURE_THREAD_LOCAL);
	ck_assert_int_eq(elsewhere(), CUDA_SUCCESS);
	ck_assert_int_eq(allocate(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(relaxed_capture_allows_all_calls)
{
	begin(CAPTURE_RELAXED);
	ck_assert_int_eq(allocate(), CUDA_SUCCESS);
	ck_assert_int_eq(elsewhere(), CUDA_SUCCESS);
	ck_assert_int_eq(end(), CUDA_SUCCESS);
}
END_TEST

START_TEST(relaxed_thread_may_not_synchronize_context)
{
	unsigned long long address;
	struct CUevent_st *event;
	int mode = CAPTURE_RELAXED;

	begin(CAPTURE_GLOBAL);
	cuda.cuEventCreate(&event, 0);
	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	ck_assert_int_eq(mode, CAPTURE_GLOBAL);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 512), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventQuery(event), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(every_capture_refuses_context_events)
{
	struct CUctx_st *context;
	struct CUevent_st *event;

	begin(CAPTURE_RELAXED);
	cuda.cuEventCreate(&event, 0);
	cuda.cuCtxGetCurrent(&context);
	ck_assert_int_eq(cuda.cuCtxRecordEvent(context, event),
			 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(captured_work_is_not_executed)
{
	unsigned long long address;
	unsigned char byte = 7;

	begin(CAPTURE_RELAXED);
	cuda.cuMemAlloc_v2(&address, 4 << 20);
	ck_assert_int_eq(cuda.cuMemsetD8Async(address, 9, 512, stream), CUDA_SUCCESS);
	ck_assert_int_eq(end(), CUDA_SUCCESS);
	cuda.cuMemcpyDtoH_v2(&byte, address, 1);
	ck_assert_uint_eq(byte, 0);
}
END_TEST

START_TEST(first_begin_function_starts_global_capture)
{
	cuda = load();
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	ck_assert_int_eq(cuda.cuStreamBeginCapture(stream), CUDA_SUCCESS);
	ck_assert_int_eq(elsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(capture_to_graph_returns_that_graph)
{
	struct CUgraph_st *given, *got = NULL;

	cuda = load();
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	ck_assert_int_eq(cuda.cuGraphCreate(&given, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamBeginCaptureToGraph(stream, given, NULL, NULL, 0,
							  CAPTURE_THREAD_LOCAL),
			 CUDA_SUCCESS);
	ck_assert_int_eq(elsewhere(), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamEndCapture(stream, &got), CUDA_SUCCESS);
	ck_assert_ptr_eq(got, given);
	ck_assert_int_eq(cuda.cuGraphDestroy(got), CUDA_SUCCESS);
}
END_TEST

/* The legacy stream cannot be captured; a thread's own can, by either of its handles. */
START_TEST(per_thread_stream_can_be_captured)
{
	__typeof__(cuStreamBeginCapture_v2) *begin_own;
	__typeof__(cuStreamEndCapture) *end_own;
	struct CUgraph_st *graph;
	unsigned long long address;
	int status = -1;

	cuda = load();
	begin_own = (__typeof__(begin_own))dlsym(cuda.library, "cuStreamBeginCapture_v2_ptsz");
	end_own = (__typeof__(end_own))dlsym(cuda.library, "cuStreamEndCapture_ptsz");
	ck_assert(begin_own && end_own);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(NULL, CAPTURE_GLOBAL),
			 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(begin_own(NULL, CAPTURE_RELAXED), CUDA_SUCCESS);
	cuda.cuStreamIsCapturing(STREAM_PER_THREAD, &status);
	ck_assert_int_eq(status, 1);
	cuda.cuStreamIsCapturing(NULL, &status);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(cuda.cuMemAllocAsync(&address, 512, STREAM_PER_THREAD),
			 CUDA_ERROR_NOT_SUPPORTED);
	ck_assert_int_eq(end_own(NULL, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	cuda.cuStreamIsCapturing(STREAM_PER_THREAD, &status);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(cuda.cuMemAllocAsync(&address, 512, STREAM_PER_THREAD), CUDA_SUCCESS);
}
END_TEST

static void relax(void)
{
	int mode = CAPTURE_RELAXED;

	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
}

/* Captured work is not executed: no thread may ask whether it is done. */
START_TEST(captured_streams_and_events_cannot_be_waited_for)
{
	struct CUevent_st *event;

	begin(CAPTURE_RELAXED);
	relax();
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin(CAPTURE_RELAXED);
	ck_assert_int_eq(cuda.cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	for (int waits = 0; waits < 2; waits++) {
		begin(CAPTURE_RELAXED);
		ck_assert_int_eq(cuda.cuEventCreate(&event, 0), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuEventRecord(event, stream), CUDA_SUCCESS);
		ck_assert_int_eq(waits ? cuda.cuEventSynchronize(event) : cuda.cuEventQuery(event),
				 CUDA_ERROR_CAPTURED_EVENT);
		ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
		ck_assert_int_eq(cuda.cuEventQuery(event), CUDA_ERROR_INVALID_VALUE);
		ck_assert_int_eq(cuda.cuEventRecord(event, stream), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuEventQuery(event), CUDA_SUCCESS);
	}
}
END_TEST

START_TEST(capture_cannot_wait_for_other_work)
{
	struct CUevent_st *fresh, *event;

	begin(CAPTURE_RELAXED);
	ck_assert_int_eq(cuda.cuEventCreate(&fresh, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventCreate(&event, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamWaitEvent(stream, fresh, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventRecord(event, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamWaitEvent(stream, event, 0),
			 CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

/* The legacy stream waits for the blocking streams of its context. */
START_TEST(capture_of_blocking_stream_forbids_the_legacy_stream)
{
	unsigned long long address;
	struct CUevent_st *event;
	unsigned char byte = 7;
	struct CUstream_st *other;

	cuda = load();
	relax();
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 512), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventCreate(&event, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&other, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventRecord(event, other), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
	for (int call = 0; call < 6; call++) {
		int result = 0;

		ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED),
				 CUDA_SUCCESS);
		switch (call) {
		case 0: result = cuda.cuMemcpyDtoH_v2(&byte, address, 1); break;
		case 1: result = cuda.cuMemsetD8_v2(address, 1, 1); break;
		case 2: result = cuda.cuStreamSynchronize(NULL); break;
		case 3: result = cuda.cuStreamQuery(NULL); break;
		case 4: result = cuda.cuStreamWaitEvent(NULL, event, 0); break;
		case 5: result = cuda.cuMemcpyHtoDAsync_v2(address, &byte, 1, NULL); break;
		}
		ck_assert_int_eq(result, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
		ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	}
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(&byte, address, 1), CUDA_SUCCESS);
}
END_TEST

START_TEST(capture_refuses_to_register_memory)
{
	static char memory[8192];

	begin(CAPTURE_GLOBAL);
	ck_assert_int_eq(cuda.cuMemHostRegister_v2(memory, sizeof(memory), 0),
			 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin(CAPTURE_RELAXED);
	ck_assert_int_eq(cuda.cuMemHostRegister_v2(memory, sizeof(memory), 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemHostUnregister(memory), CUDA_SUCCESS);
	ck_assert_int_eq(end(), CUDA_SUCCESS);
}
END_TEST

/*
 * A stream of another context that waits for an event of the capture is part of it until it ends.
 */
START_TEST(streams_join_capture_by_events)
{
	struct CUctx_st *first, *second;
	struct CUstream_st *joined;
	struct CUgraph_st *graph;
	struct CUevent_st *event;
	int status = -1;

	begin(CAPTURE_RELAXED);
	cuda.cuCtxGetCurrent(&first);
	ck_assert_int_eq(cuda.cuEventCreate(&event, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventRecord(event, stream), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&joined, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamWaitEvent(joined, event, 0), CUDA_SUCCESS);
	cuda.cuStreamIsCapturing(joined, &status);
	ck_assert_int_eq(status, 1);
	ck_assert_int_eq(cuda.cuStreamEndCapture(joined, &graph),
			 CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	cuda.cuStreamIsCapturing(stream, &status);
	ck_assert_int_eq(status, 2);
	cuda.cuCtxSetCurrent(first);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	cuda.cuStreamIsCapturing(joined, &status);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(captures_cannot_be_merged)
{
	struct CUstream_st *other;
	struct CUgraph_st *graph;
	struct CUevent_st *event;

	begin(CAPTURE_RELAXED);
	cuda.cuEventCreate(&event, 0);
	cuda.cuEventRecord(event, stream);
	cuda.cuStreamCreate(&other, STREAM_NON_BLOCKING);
	cuda.cuStreamBeginCapture_v2(other, CAPTURE_RELAXED);
	ck_assert_int_eq(cuda.cuStreamWaitEvent(other, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
	ck_assert_int_eq(cuda.cuStreamEndCapture(other, &graph),
			 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ck_assert_int_eq(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

/* A graph can only free memory that it allocated. The capture continues. */
START_TEST(capture_refuses_free_of_foreign_memory)
{
	for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
		unsigned long long plain, ordered;

		cuda = load();
		ck_assert_int_eq(cuda.cuMemAlloc_v2(&plain, 512), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuMemAllocAsync(&ordered, 512, NULL), CUDA_SUCCESS);
		begin(mode);
		ck_assert_int_eq(cuda.cuMemFreeAsync(plain, stream), CUDA_ERROR_INVALID_VALUE);
		ck_assert_int_eq(cuda.cuMemFreeAsync(ordered, stream), CUDA_ERROR_NOT_SUPPORTED);
		ck_assert_int_eq(end(), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuMemFree_v2(plain), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuMemFree_v2(ordered), CUDA_SUCCESS);
	}
}
END_TEST

START_TEST(capture_ends_with_its_stream)
{
	int (*destroy[])(struct CUstream_st *) = { load().cuStreamDestroy,
						   load().cuStreamDestroy_v2 };

	for (size_t i = 0; i < sizeof(destroy) / sizeof(destroy[0]); i++) {
		begin(CAPTURE_GLOBAL);
		ck_assert_int_eq(destroy[i](stream), CUDA_SUCCESS);
		ck_assert_int_eq(allocate(), CUDA_SUCCESS);
		ck_assert_int_eq(end(), CUDA_ERROR_INVALID_HANDLE);
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, streams_join_capture_by_events);
	tcase_add_test(tests, captured_streams_and_events_cannot_be_waited_for);
	tcase_add_test(tests, capture_cannot_wait_for_other_work);
	tcase_add_test(tests, capture_of_blocking_stream_forbids_the_legacy_stream);
	tcase_add_test(tests, capture_refuses_to_register_memory);
	tcase_add_test(tests, captures_cannot_be_merged);
	tcase_add_test(tests, capture_refuses_free_of_foreign_memory);
	tcase_add_test(tests, capture_ends_with_its_stream);
	tcase_add_test(tests, first_begin_function_starts_global_capture);
	tcase_add_test(tests, capture_to_graph_returns_that_graph);
	tcase_add_test(tests, per_thread_stream_can_be_captured);
	tcase_add_test(tests, allocation_invalidates_global_capture);
	tcase_add_test(tests, any_thread_invalidates_global_capture);
	tcase_add_test(tests, thread_local_capture_ignores_other_threads);
	tcase_add_test(tests, relaxed_capture_allows_all_calls);
	tcase_add_test(tests, relaxed_thread_may_not_synchronize_context);
	tcase_add_test(tests, every_capture_refuses_context_events);
	tcase_add_test(tests, captured_work_is_not_executed);
}

int main(void)
{
	return run_suite("fake/capture", add);
}
