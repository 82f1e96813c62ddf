/* SPDX-License-Identifier: Apache-2.0 */
/* test_array.c - arrays use memory of the device and free it. */
#include "fake/load.h"

static size_t used(const struct cuda *cuda)
{
	size_t free_bytes = 0, total = 0;

	ck_assert_int_eq(cuda->cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
	return total - free_bytes;
}

START_TEST(array_uses_memory_for_its_elements)
{
	struct cuda cuda = load();
	struct cu_array_descriptor flat = { 100, 10, 0x20, 2 };            /* float2 */
	struct cu_array3d_descriptor deep = { 64, 64, 64, 0x01, 4, 0 };    /* uchar4 */
	struct cu_array3d_descriptor levels = { 256, 256, 0, 0x10, 1, 0 }; /* half */
	struct CUarray_st *a, *b;
	struct CUmipmappedArray_st *c;

	ck_assert_int_eq(cuda.cuArrayCreate_v2(&a, &flat), CUDA_SUCCESS);
	ck_assert_uint_eq(used(&cuda), 8192); /* 8000 in units of 512 */
	ck_assert_int_eq(cuda.cuArray3DCreate_v2(&b, &deep), CUDA_SUCCESS);
	ck_assert_uint_eq(used(&cuda), 8192 + (1 << 20));
	ck_assert_int_eq(cuda.cuMipmappedArrayCreate(&c, &levels, 2), CUDA_SUCCESS);
	ck_assert_uint_eq(used(&cuda), 8192 + (1 << 20) + (131072 + 32768));
	ck_assert_int_eq(cuda.cuArrayDestroy(a), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuArrayDestroy(b), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMipmappedArrayDestroy(c), CUDA_SUCCESS);
	ck_assert_uint_eq(used(&cuda), 0);
}
END_TEST

START_TEST(invalid_arrays_are_refused)
{
	struct cuda cuda;
	struct cu_array_descriptor wanted = { 1024, 1024, 0x03, 4 }, wrong = wanted;
	struct CUarray_st *array;

	setenv("FAKE_CUDA_MEMORY", "16M", 1);
	cuda = load();
	wrong.channels = 3;
	ck_assert_int_eq(cuda.cuArrayCreate_v2(&array, &wrong), CUDA_ERROR_INVALID_VALUE);
	wrong = wanted;
	wrong.format = 0x7f;
	ck_assert_int_eq(cuda.cuArrayCreate_v2(&array, &wrong), CUDA_ERROR_INVALID_VALUE);
	wrong = wanted;
	wrong.width = 0;
	ck_assert_int_eq(cuda.cuArrayCreate_v2(&array, &wrong), CUDA_ERROR_INVALID_VALUE);
	wrong = wanted;
	wrong.height = 1025;
	ck_assert_int_eq(cuda.cuArrayCreate_v2(&array, &wrong), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(used(&cuda), 0);
	ck_assert_int_eq(cuda.cuArrayCreate_v2(&array, &wanted), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMipmappedArrayDestroy((struct CUmipmappedArray_st *)array),
			 CUDA_ERROR_INVALID_HANDLE);
	ck_assert_int_eq(cuda.cuArrayDestroy(array), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

START_TEST(reset_frees_arrays)
{
	struct cuda cuda = load();
	struct cu_array_descriptor wanted = { 1024, 1024, 0x03, 4 };
	struct CUctx_st *context;
	struct CUarray_st *array;

	cuda.cuArrayCreate_v2(&array, &wanted);
	cuda.cuDevicePrimaryCtxReset_v2(0);
	cuda.cuDevicePrimaryCtxRetain(&context, 0);
	ck_assert_uint_eq(used(&cuda), 0);
	ck_assert_int_eq(cuda.cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, array_uses_memory_for_its_elements);
	tcase_add_test(tests, invalid_arrays_are_refused);
	tcase_add_test(tests, reset_frees_arrays);
}

int main(void)
{
	return run_suite("fake/array", add);
}
