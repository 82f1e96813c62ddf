/* SPDX-License-Identifier: Apache-2.0 */
/* test_attribute.c - the driver's attributes of addresses, and registered memory of the program. */
#include "fake/load.h"

#include <unistd.h>

#include <stdint.h>

#define MIB ((size_t)1 << 20)

START_TEST(list_of_attributes_is_returned_in_order)
{
	struct cuda cuda = load();
	struct CUctx_st *context = NULL, *current;
	unsigned long long address, start = 0, device_pointer = 0, host_pointer = 7;
	unsigned int type = 0, managed = 7;
	int device = 7;
	size_t bytes = 0;
	int wanted[] = { POINTER_RANGE_SIZE,     POINTER_CONTEXT,     POINTER_MEMORY_TYPE,
			 POINTER_RANGE_START,    POINTER_IS_MANAGED,  POINTER_DEVICE_ORDINAL,
			 POINTER_DEVICE_POINTER, POINTER_HOST_POINTER };
	void *values[] = { &bytes,   &context, &type,           &start,
			   &managed, &device,  &device_pointer, &host_pointer };

	cuda.cuCtxGetCurrent(&current);
	cuda.cuMemAlloc_v2(&address, 5000);
	ck_assert_int_eq(cuda.cuPointerGetAttributes(8, wanted, values, address + 100),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(bytes, 5000);
	ck_assert_ptr_eq(context, current);
	ck_assert_uint_eq(type, 2);
	ck_assert_uint_eq(start, address);
	ck_assert_uint_eq(managed, 0);
	ck_assert_int_eq(device, 0);
	ck_assert_uint_eq(device_pointer, address + 100);
	ck_assert_uint_eq(host_pointer, 0);
}
END_TEST

START_TEST(list_for_unknown_address_returns_nulls)
{
	struct cuda cuda = load();
	struct CUctx_st *context = (struct CUctx_st *)7;
	unsigned int type = 7;
	int device = 7, local;
	int wanted[] = { POINTER_CONTEXT, POINTER_MEMORY_TYPE, POINTER_DEVICE_ORDINAL };
	void *values[] = { &context, &type, &device };

	ck_assert_int_eq(cuda.cuPointerGetAttributes(3, wanted, values, (uintptr_t)&local),
			 CUDA_SUCCESS);
	ck_assert_ptr_null(context);
	ck_assert_uint_eq(type, 0);
	ck_assert_int_eq(device, -2);
	ck_assert_int_eq(cuda.cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, (uintptr_t)&local),
			 CUDA_ERROR_INVALID_VALUE);
	wanted[1] = 99;
	ck_assert_int_eq(cuda.cuPointerGetAttributes(3, wanted, values, (uintptr_t)&local),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuPointerGetAttributes(0, wanted, values, (uintptr_t)&local),
			 CUDA_ERROR_INVALID_VALUE);
}
END_TEST

static unsigned int sync_memops(const struct cuda *cuda, unsigned long long address)
{
	unsigned int value = 7;

	ck_assert_int_eq(cuda->cuPointerGetAttribute(&value, POINTER_SYNC_MEMOPS, address),
			 CUDA_SUCCESS);
	return value;
}

START_TEST(sync_memops_applies_to_whole_allocation)
{
	struct cuda cuda = load();
	unsigned long long block, next;
	unsigned int on = 1, off = 0;
	int local;

	cuda.cuMemAlloc_v2(&block, 4096);
	cuda.cuMemAlloc_v2(&next, 4096);
	ck_assert_int_eq(cuda.cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, block + 1000),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(sync_memops(&cuda, block), 1);
	ck_assert_uint_eq(sync_memops(&cuda, block + 4095), 1);
	ck_assert_uint_eq(sync_memops(&cuda, next), 0);
	cuda.cuPointerSetAttribute(&off, POINTER_SYNC_MEMOPS, block);
	ck_assert_uint_eq(sync_memops(&cuda, block + 1000), 0);
	ck_assert_int_eq(cuda.cuPointerSetAttribute(&on, POINTER_BUFFER_ID, block),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, (uintptr_t)&local),
			 CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(small_blocks_share_a_mapping)
{
	struct cuda cuda = load();
	unsigned long long a, b, large, base_a = 0, base_b = 1, base_large = 0;
	size_t bytes = 0;

	cuda.cuMemAlloc_v2(&a, 512);
	cuda.cuMemAlloc_v2(&b, 512);
	cuda.cuMemAlloc_v2(&large, 3 * MIB);
	cuda.cuPointerGetAttribute(&base_a, POINTER_MAPPING_BASE, a);
	cuda.cuPointerGetAttribute(&base_b, POINTER_MAPPING_BASE, b);
	cuda.cuPointerGetAttribute(&base_large, POINTER_MAPPING_BASE, large + 100);
	ck_assert_uint_eq(base_a, base_b);
	ck_assert_uint_eq(base_large, large);
	cuda.cuPointerGetAttribute(&bytes, POINTER_MAPPING_SIZE, b);
	ck_assert_uint_eq(bytes, 2 * MIB);
	cuda.cuPointerGetAttribute(&bytes, POINTER_MAPPING_SIZE, large);
	ck_assert_uint_eq(bytes, 4 * MIB);
}
END_TEST

START_TEST(only_plain_device_memory_is_shareable)
{
	struct cuda cuda = load();
	unsigned long long plain, ordered, managed;
	unsigned int capable = 7;

	cuda.cuMemAlloc_v2(&plain, 512);
	cuda.cuMemAllocAsync(&ordered, 512, NULL);
	cuda.cuMemAllocManaged(&managed, 512, 1);
	cuda.cuPointerGetAttribute(&capable, POINTER_IPC_CAPABLE, plain);
	ck_assert_uint_eq(capable, 1);
	cuda.cuPointerGetAttribute(&capable, POINTER_IPC_CAPABLE, ordered);
	ck_assert_uint_eq(capable, 0);
	cuda.cuPointerGetAttribute(&capable, POINTER_IPC_CAPABLE, managed);
	ck_assert_uint_eq(capable, 0);
}
END_TEST

START_TEST(dma_buf_is_given_for_whole_pages_of_device_memory)
{
	struct cuda cuda = load();
	unsigned long long block, other;
	int file = -1;

	cuda.cuMemAlloc_v2(&block, 3 * MIB);
	cuda.cuMemAlloc_v2(&other, 3 * MIB);
	ck_assert_int_eq(cuda.cuMemGetHandleForAddressRange(&file, block, 3 * MIB, 1, 0),
			 CUDA_SUCCESS);
	ck_assert_int_eq(close(file), 0);
	ck_assert_int_eq(cuda.cuMemGetHandleForAddressRange(&file, block + MIB, 4096, 1, 0),
			 CUDA_SUCCESS);
	ck_assert_int_eq(close(file), 0);
	ck_assert_int_eq(cuda.cuMemGetHandleForAddressRange(&file, block, 512, 1, 0),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemGetHandleForAddressRange(&file, block + 512, 4096, 1, 0),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemGetHandleForAddressRange(&file, block, 4 * MIB, 1, 0),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemGetHandleForAddressRange(&file, block, 4096, 2, 0),
			 CUDA_ERROR_INVALID_VALUE);
	cuda.cuMemFree_v2(block);
	ck_assert_int_eq(cuda.cuMemGetHandleForAddressRange(&file, block, 4096, 1, 0),
			 CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(registered_memory_is_known_until_unregistered)
{
	static unsigned char own[8192] __attribute__((aligned(4096)));
	struct cuda cuda = load();
	unsigned long long address = (uintptr_t)own;
	unsigned int type = 7;

	ck_assert_int_eq(cuda.cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	ck_assert_int_eq(cuda.cuMemHostRegister_v2(own, 0, 0), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemHostRegister_v2(own, sizeof(own), 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemHostRegister_v2(own + 4096, 1, 0),
			 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	cuda.cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, address + 8191);
	ck_assert_uint_eq(type, 1);
	ck_assert_int_eq(cuda.cuMemFreeHost(own), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemHostUnregister(own + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	ck_assert_int_eq(cuda.cuMemHostUnregister(own), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, address),
			 CUDA_ERROR_INVALID_VALUE);
	own[0] = own[8191] = 1; /* still owned by the program */
	ck_assert_int_eq(cuda.cuMemHostRegister_v2(own, sizeof(own), 0), CUDA_SUCCESS);
	cuda.cuDevicePrimaryCtxReset_v2(0);
	own[0] = 2;
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, list_of_attributes_is_returned_in_order);
	tcase_add_test(tests, list_for_unknown_address_returns_nulls);
	tcase_add_test(tests, sync_memops_applies_to_whole_allocation);
	tcase_add_test(tests, small_blocks_share_a_mapping);
	tcase_add_test(tests, only_plain_device_memory_is_shareable);
	tcase_add_test(tests, dma_buf_is_given_for_whole_pages_of_device_memory);
	tcase_add_test(tests, registered_memory_is_known_until_unregistered);
}

int main(void)
{
	return run_suite("fake/attribute", add);
}
