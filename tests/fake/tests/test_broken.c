/* SPDX-License-Identifier: Apache-2.0 */
/* test_broken.c - broken contexts, as after a kernel's invalid access: which calls report that. */
#include "fake/load.h"

static struct cuda load_broken(const char *rule)
{
	struct cuda cuda;

	setenv("FAKE_CUDA_STICKY_AFTER", rule, 1);
	cuda = load();
	return cuda;
}

START_TEST(calls_in_broken_context_return_its_code)
{
	struct cuda cuda = load_broken("cuMemsetD8:2");
	unsigned long long address, other = 7;
	struct CUevent_st *event;
	unsigned char byte = 7;
	size_t free_bytes, total;
	unsigned long long base = 0;

	cuda.cuEventCreate(&event, 0);
	cuda.cuMemAlloc_v2(&address, 512);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(address, 1, 512), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(&byte, address, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(address, 2, 512),
			 CUDA_SUCCESS); /* breaks the context */
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&other, 512), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_uint_eq(other, 7);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(&byte, address, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_uint_eq(byte, 1);
	ck_assert_int_eq(cuda.cuEventRecord(event, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(cuda.cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(cuda.cuMemGetInfo_v2(&free_bytes, &total), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(cuda.cuMemGetAddressRange_v2(&base, NULL, address), CUDA_SUCCESS);
	ck_assert_uint_eq(base, address);
}
END_TEST

/* Mapped memory belongs to no context, and can be unmapped after the context has ended. */
START_TEST(broken_context_ends_with_its_code)
{
	const struct cu_memory_properties on_device = { .type = 1, .location = { 1, 0 } };
	struct cuda cuda = load_broken("cuMemMap:1");
	const size_t bytes = (size_t)2 << 20;
	unsigned long long address, handle;

	ck_assert_int_eq(cuda.cuMemAddressReserve(&address, bytes, 0, 0, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemCreate(&handle, bytes, &on_device, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemMap(address, bytes, 0, handle, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemUnmap(address, bytes), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemUnmap(address, bytes), CUDA_SUCCESS);
}
END_TEST

START_TEST(lookups_work_in_broken_context)
{
	struct cuda cuda = load_broken("cuMemAlloc:1:719");
	struct CUctx_st *context, *current = NULL;
	unsigned long long address, id;
	size_t bytes = 0;
	int device, count = 0, mode = CAPTURE_RELAXED;

	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 512), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), 719);
	ck_assert_int_eq(cuda.cuCtxGetCurrent(&current), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxGetDevice(&device), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxGetId(current, &id), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDeviceGetCount(&count), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuPointerGetAttribute(&id, POINTER_BUFFER_ID, address), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxPushCurrent_v2(current), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
}
END_TEST

START_TEST(reset_repairs_context)
{
	struct cuda cuda = load_broken("cuMemAlloc:1");
	struct CUctx_st *context;
	unsigned long long address;

	cuda.cuMemAlloc_v2(&address, 512);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	cuda.cuDevicePrimaryCtxRetain(&context, 0);
	cuda.cuCtxSetCurrent(context);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 512), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
}
END_TEST

START_TEST(other_contexts_are_not_affected)
{
	struct cuda cuda = load_broken("cuMemAlloc:1");
	struct CUctx_st *own, *primary;
	struct CUstream_st *stream;
	unsigned long long address;

	cuda.cuCtxGetCurrent(&primary);
	cuda.cuCtxCreate_v2(&own, 0, 0);
	cuda.cuStreamCreate(&stream, 0);
	cuda.cuMemAlloc_v2(&address, 512);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	cuda.cuCtxSetCurrent(primary);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamQuery(NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(cuda.cuCtxDestroy_v2(own), CUDA_SUCCESS);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, calls_in_broken_context_return_its_code);
	tcase_add_test(tests, broken_context_ends_with_its_code);
	tcase_add_test(tests, lookups_work_in_broken_context);
	tcase_add_test(tests, reset_repairs_context);
	tcase_add_test(tests, other_contexts_are_not_affected);
}

int main(void)
{
	return run_suite("fake/broken", add);
}
