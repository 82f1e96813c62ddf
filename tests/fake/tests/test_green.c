/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_green.c - green contexts: their own handles and streams, and memory of the primary context.
 */
#include "fake/load.h"

static struct cuda cuda;
static struct CUctx_st *primary, *context;
static struct CUgreenCtx_st *green;

static void begin(void)
{
	cuda = load();
	cuda.cuCtxGetCurrent(&primary);
	ck_assert_int_eq(cuda.cuGreenCtxCreate(&green, NULL, 0, GREEN_DEFAULT_STREAM),
			 CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxFromGreenCtx(&context, green), CUDA_SUCCESS);
}

START_TEST(green_memory_belongs_to_primary_context)
{
	struct CUctx_st *owner = NULL;
	unsigned long long address;
	int device = 7;

	begin();
	ck_assert_ptr_ne(context, primary);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
	cuda.cuCtxGetDevice(&device);
	ck_assert_int_eq(device, 0);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 512), CUDA_SUCCESS);
	cuda.cuPointerGetAttribute(&owner, POINTER_CONTEXT, address);
	ck_assert_ptr_eq(owner, primary);
	ck_assert_int_eq(cuda.cuGreenCtxDestroy(green), CUDA_SUCCESS);
	cuda.cuCtxSetCurrent(primary);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
}
END_TEST

START_TEST(event_of_primary_context_covers_green_one)
{
	struct CUevent_st *all, *own;
	struct CUstream_st *stream;
	unsigned long long address;

	setenv("FAKE_CUDA_LAG_US", "200000", 1);
	begin();
	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuEventCreate(&all, 0);
	cuda.cuEventCreate(&own, 0);
	ck_assert_int_eq(cuda.cuGreenCtxStreamCreate(&stream, green, STREAM_NON_BLOCKING, 0),
			 CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemsetD8Async(address, 1, 512, stream), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxRecordEvent(primary, all), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventQuery(all), CUDA_ERROR_NOT_READY);
	ck_assert_int_eq(cuda.cuEventSynchronize(all), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_SUCCESS);
	cuda.cuMemsetD8Async(address, 1, 512, NULL);
	ck_assert_int_eq(cuda.cuGreenCtxRecordEvent(green, own), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventQuery(own), CUDA_SUCCESS);
}
END_TEST

START_TEST(capture_in_green_context_is_in_primary_one)
{
	struct CUevent_st *event;
	struct CUstream_st *stream;
	struct CUgraph_st *graph;

	begin();
	cuda.cuEventCreate(&event, 0);
	cuda.cuGreenCtxStreamCreate(&stream, green, STREAM_NON_BLOCKING, 0);
	cuda.cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED);
	ck_assert_int_eq(cuda.cuCtxRecordEvent(primary, event),
			 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(cuda.cuStreamEndCapture(stream, &graph),
			 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(green_context_keeps_primary_one_alive)
{
	unsigned int flags;
	int active = 7;

	begin();
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	cuda.cuDevicePrimaryCtxGetState(0, &flags, &active);
	ck_assert_int_eq(active, 1);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxDestroy_v2(context), CUDA_ERROR_INVALID_CONTEXT);
	ck_assert_int_eq(cuda.cuGreenCtxDestroy(green), CUDA_SUCCESS);
	cuda.cuDevicePrimaryCtxGetState(0, &flags, &active);
	ck_assert_int_eq(active, 0);
	ck_assert_int_eq(cuda.cuGreenCtxDestroy(green), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_assert_int_eq(cuda.cuGreenCtxCreate(&green, NULL, 0, GREEN_DEFAULT_STREAM),
			 CUDA_SUCCESS);
	cuda.cuCtxFromGreenCtx(&context, green);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}
END_TEST

START_TEST(invalid_green_contexts_are_refused)
{
	struct cuda plain = load();
	struct CUgreenCtx_st *made;

	ck_assert_int_eq(plain.cuGreenCtxCreate(&made, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(plain.cuGreenCtxCreate(&made, NULL, 1, GREEN_DEFAULT_STREAM),
			 CUDA_ERROR_INVALID_DEVICE);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, green_memory_belongs_to_primary_context);
	tcase_add_test(tests, event_of_primary_context_covers_green_one);
	tcase_add_test(tests, capture_in_green_context_is_in_primary_one);
	tcase_add_test(tests, green_context_keeps_primary_one_alive);
	tcase_add_test(tests, invalid_green_contexts_are_refused);
}

int main(void)
{
	return run_suite("fake/green", add);
}
