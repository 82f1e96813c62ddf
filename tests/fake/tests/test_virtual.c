/* SPDX-License-Identifier: Apache-2.0 */
/* test_virtual.c - virtual memory management: addresses, physical memory, mappings and access. */
#include "fake/load.h"

#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static struct cuda cuda;
static const struct cu_memory_properties on_device = { .type = 1, .location = { 1, 0 } };
static const struct cu_access read_write = { { 1, 0 }, 3 }, none = { { 1, 0 }, 0 };

static size_t used(void)
{
	size_t free_bytes = 0, total = 0;

	cuda.cuMemGetInfo_v2(&free_bytes, &total);
	return total - free_bytes;
}

/* A reservation of twice the bytes, with a mapping at its start. */
static unsigned long long map(size_t bytes, unsigned long long *handle)
{
	unsigned long long address;

	ck_assert_int_eq(cuda.cuMemAddressReserve(&address, 2 * bytes, 0, 0, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemCreate(handle, bytes, &on_device, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemMap(address, bytes, 0, *handle, 0), CUDA_SUCCESS);
	return address;
}

START_TEST(mapped_memory_works_after_set_access)
{
	unsigned long long address, handle;
	unsigned char byte = 7;

	cuda = load();
	address = map(4 * MIB, &handle);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(address, 9, 512), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemSetAccess(address, 4 * MIB, &read_write, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(address, 9, 4 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(&byte, address + 4 * MIB - 1, 1), CUDA_SUCCESS);
	ck_assert_uint_eq(byte, 9);
	/* The unmapped part of the reservation is not host memory either. */
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(&byte, address + 4 * MIB, 1),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemcpy((uintptr_t)&byte, address + 4 * MIB, 1),
			 CUDA_ERROR_INVALID_VALUE);
	cuda.cuMemSetAccess(address, 4 * MIB, &none, 1);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(&byte, address, 1), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(bytes_live_until_handle_and_mappings_end)
{
	unsigned long long address, handle;
	unsigned char byte = 7;

	cuda = load();
	address = map(2 * MIB, &handle);
	ck_assert_int_eq(cuda.cuMemMap(address + 2 * MIB, 2 * MIB, 0, handle, 0), CUDA_SUCCESS);
	ck_assert_uint_eq(used(), 2 * MIB);
	ck_assert_int_eq(cuda.cuMemSetAccess(address, 4 * MIB, &read_write, 1), CUDA_SUCCESS);
	cuda.cuMemsetD8_v2(address + 100, 9, 1);
	cuda.cuMemcpyDtoH_v2(&byte, address + 2 * MIB + 100, 1);
	ck_assert_uint_eq(byte, 9); /* both map the same bytes */
	ck_assert_int_eq(cuda.cuMemRelease(handle), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemUnmap(address, 2 * MIB), CUDA_SUCCESS);
	ck_assert_uint_eq(used(), 2 * MIB);
	ck_assert_int_eq(cuda.cuMemAddressFree(address, 4 * MIB), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemUnmap(address + 2 * MIB, 2 * MIB), CUDA_SUCCESS);
	ck_assert_uint_eq(used(), 0);
	ck_assert_int_eq(cuda.cuMemUnmap(address, 2 * MIB), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemAddressFree(address, 4 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemAddressFree(address, 4 * MIB), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(remapped_bytes_keep_their_contents)
{
	unsigned long long address, handle;
	unsigned char byte = 7;

	cuda = load();
	address = map(2 * MIB, &handle);
	cuda.cuMemSetAccess(address, 2 * MIB, &read_write, 1);
	cuda.cuMemsetD8_v2(address + 5, 9, 1);
	cuda.cuCtxSynchronize();
	ck_assert_int_eq(cuda.cuMemUnmap(address, 2 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemMap(address + 2 * MIB, 2 * MIB, 0, handle, 0), CUDA_SUCCESS);
	cuda.cuMemSetAccess(address + 2 * MIB, 2 * MIB, &read_write, 1);
	cuda.cuMemcpyDtoH_v2(&byte, address + 2 * MIB + 5, 1);
	ck_assert_uint_eq(byte, 9);
}
END_TEST

/* Adjacent in addresses, in another order in memory. */
START_TEST(copies_and_fills_may_span_mappings)
{
	unsigned char bytes[4], twos[] = { 2, 2, 2, 2 };
	unsigned long long address, low, high;

	cuda = load();
	address = map(2 * MIB, &high);
	ck_assert_int_eq(cuda.cuMemCreate(&low, 2 * MIB, &on_device, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemUnmap(address, 2 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemMap(address, 2 * MIB, 0, low, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemMap(address + 2 * MIB, 2 * MIB, 0, high, 0), CUDA_SUCCESS);
	cuda.cuMemSetAccess(address, 2 * MIB, &read_write, 1);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(address, 1, 4 * MIB), CUDA_ERROR_INVALID_VALUE);
	cuda.cuMemSetAccess(address + 2 * MIB, 2 * MIB, &read_write, 1);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(address, 1, 4 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemcpyHtoD_v2(address + 2 * MIB - 1, twos, 2), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(bytes, address + 2 * MIB - 2, 4), CUDA_SUCCESS);
	ck_assert_uint_eq(bytes[0], 1);
	ck_assert_uint_eq(bytes[1], 2);
	ck_assert_uint_eq(bytes[2], 2);
	ck_assert_uint_eq(bytes[3], 1);
	ck_assert_int_eq(cuda.cuMemcpy(address, address + 2 * MIB - 2, 4), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(bytes, address, 4), CUDA_SUCCESS);
	ck_assert_uint_eq(bytes[2], 2);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(address + 1, 1, 4 * MIB), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(mapping_has_all_bytes_of_its_handle)
{
	unsigned long long address, handle;

	cuda = load();
	address = map(4 * MIB, &handle);
	ck_assert_int_eq(cuda.cuMemMap(address + 4 * MIB, 2 * MIB, 2 * MIB, handle, 0),
			 CUDA_ERROR_NOT_SUPPORTED);
	ck_assert_int_eq(cuda.cuMemMap(address + 4 * MIB, 2 * MIB, 0, handle, 0),
			 CUDA_ERROR_NOT_SUPPORTED);
	ck_assert_int_eq(cuda.cuMemMap(address + 4 * MIB, 4 * MIB, 0, handle, 0), CUDA_SUCCESS);
}
END_TEST

START_TEST(unmapping_memory_in_use_breaks_the_context)
{
	const int one_by_one[] = { CUDA_SUCCESS, CUDA_ERROR_ILLEGAL_ADDRESS };
	struct CUstream_st *stream;

	setenv("FAKE_CUDA_LAG_US", "40000", 1);
	for (int uses = 0; uses < 2; uses++) {
		unsigned long long address, handle;

		cuda = load();
		address = map(4 * MIB, &handle);
		cuda.cuMemSetAccess(address, 4 * MIB, &read_write, 1);
		ck_assert_int_eq(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuMemsetD8Async(address, 9, 512, stream), CUDA_SUCCESS);
		if (uses == 0)
			ck_assert_int_eq(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuMemUnmap(address, 4 * MIB), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuStreamSynchronize(stream), one_by_one[uses]);
	}
}
END_TEST

START_TEST(retained_handle_is_released_twice)
{
	unsigned long long address, handle, again = 0;
	size_t before, during, after, total;

	cuda = load();
	cuda.cuMemGetInfo_v2(&before, &total);
	address = map(2 * MIB, &handle);
	ck_assert_int_eq(cuda.cuMemRetainAllocationHandle(&again, (void *)(address + MIB)),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(again, handle);
	cuda.cuMemUnmap(address, 2 * MIB);
	ck_assert_int_eq(cuda.cuMemRetainAllocationHandle(&again, (void *)address),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemRelease(handle), CUDA_SUCCESS);
	cuda.cuMemGetInfo_v2(&during, &total);
	ck_assert_uint_eq(during, before - 2 * MIB);
	ck_assert_int_eq(cuda.cuMemRelease(handle), CUDA_SUCCESS);
	cuda.cuMemGetInfo_v2(&after, &total);
	ck_assert_uint_eq(after, before);
	ck_assert_int_eq(cuda.cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(released_handle_can_be_retained)
{
	unsigned long long address, handle, again = 0;

	cuda = load();
	address = map(2 * MIB, &handle);
	ck_assert_int_eq(cuda.cuMemRelease(handle), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemRetainAllocationHandle(&again, (void *)address), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemRelease(again), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemRelease(again), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(pointers_to_mapped_memory_have_own_attributes)
{
	struct CUctx_st *context = (struct CUctx_st *)7;
	struct cu_ipc_handle ipc;
	unsigned long long address, handle, types = 7;
	unsigned int on = 1, capable = 7;
	int device = 7;

	cuda = load();
	address = map(2 * MIB, &handle);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuIpcGetMemHandle(&ipc, address), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, address),
			 CUDA_ERROR_NOT_SUPPORTED);
	cuda.cuPointerGetAttribute(&context, POINTER_CONTEXT, address);
	ck_assert_ptr_null(context);
	cuda.cuPointerGetAttribute(&device, POINTER_DEVICE_ORDINAL, address);
	ck_assert_int_eq(device, 0);
	cuda.cuPointerGetAttribute(&capable, POINTER_IPC_CAPABLE, address);
	ck_assert_uint_eq(capable, 0);
	cuda.cuPointerGetAttribute(&types, POINTER_HANDLE_TYPES, address);
	ck_assert_uint_eq(types, 0);
	ck_assert_int_eq(cuda.cuMemExportToShareableHandle(&on, handle, 1, 0),
			 CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

START_TEST(exported_memory_is_imported_by_its_descriptor)
{
	const struct cu_memory_properties exportable = { .type = 1,
							 .handle_types = 1,
							 .location = { 1, 0 } };
	struct cu_memory_properties properties = { 0 };
	unsigned long long address, handle, imported, types = 7;
	unsigned char byte = 7;
	int file = -1;

	cuda = load();
	ck_assert_int_eq(cuda.cuMemAddressReserve(&address, 4 * MIB, 0, 0, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemCreate(&handle, 2 * MIB, &exportable, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemMap(address, 2 * MIB, 0, handle, 0), CUDA_SUCCESS);
	cuda.cuPointerGetAttribute(&types, POINTER_HANDLE_TYPES, address);
	ck_assert_uint_eq(types, 1);
	ck_assert_int_eq(cuda.cuMemSetAccess(address, 2 * MIB, &read_write, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(address, 9, 2 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemExportToShareableHandle(&file, handle, 2, 0),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemExportToShareableHandle(&file, handle, 1, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)file, 1),
			 CUDA_SUCCESS);
	close(file);
	ck_assert_int_eq(cuda.cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)file, 1),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemGetAllocationPropertiesFromHandle(&properties, imported),
			 CUDA_SUCCESS);
	ck_assert_int_eq(properties.location.id, 0);
	ck_assert_int_eq(properties.handle_types, 1);
	ck_assert_int_eq(cuda.cuMemMap(address + 2 * MIB, 2 * MIB, 0, imported, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemSetAccess(address + 2 * MIB, 2 * MIB, &read_write, 1),
			 CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(&byte, address + 3 * MIB, 1), CUDA_SUCCESS);
	ck_assert_uint_eq(byte, 9);
	ck_assert_int_eq(cuda.cuMemRelease(imported), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemUnmap(address + 2 * MIB, 2 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemGetAllocationPropertiesFromHandle(&properties, imported),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(used(), 2 * MIB);
}
END_TEST

START_TEST(sizes_have_a_unit_and_addresses_a_limit)
{
	unsigned long long address, handle;
	size_t unit = 0;

	setenv("FAKE_CUDA_MEMORY", "16M", 1);
	cuda = load();
	ck_assert_int_eq(cuda.cuMemGetAllocationGranularity(&unit, &on_device, 0), CUDA_SUCCESS);
	ck_assert_uint_eq(unit, 2 * MIB);
	ck_assert_int_eq(cuda.cuMemCreate(&handle, MIB, &on_device, 0), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemCreate(&handle, 18 * MIB, &on_device, 0),
			 CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(cuda.cuMemAddressReserve(&address, MIB, 0, 0, 0),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemAddressReserve(&address, (size_t)96 << 40, 0, 0, 0),
			 CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(cuda.cuMemAddressReserve(&address, (size_t)1 << 40, 64 * MIB, 0, 0),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(address % (64 * MIB), 0);
	cuda.cuMemCreate(&handle, 2 * MIB, &on_device, 0);
	ck_assert_int_eq(cuda.cuMemMap(address, 4 * MIB, 0, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
	ck_assert_int_eq(cuda.cuMemMap(address + MIB, 2 * MIB, 0, handle, 0),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemMap(address, 2 * MIB, 0, handle + 1, 0),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemMap(address, 2 * MIB, 0, handle, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemMap(address, 2 * MIB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemSetAccess(address, 4 * MIB, &read_write, 1),
			 CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(setting_allows_host_access_to_mapped_memory)
{
	unsigned long long plain, address, handle;
	unsigned char byte = 7;

	setenv("FAKE_CUDA_HOST_ACCESS", "1", 1);
	cuda = load();
	cuda.cuMemAlloc_v2(&plain, 2 * MIB);
	address = map(2 * MIB, &handle);
	cuda.cuMemSetAccess(address, 2 * MIB, &read_write, 1);
	memset((void *)plain, 1, 2 * MIB);
	memset((void *)(address + 1000), 9, 10);
	cuda.cuMemcpyDtoH_v2(&byte, address + 1009, 1);
	ck_assert_uint_eq(byte, 9);
}
END_TEST

START_TEST(setting_takes_virtual_memory_from_later_devices)
{
	struct cu_memory_properties there = on_device;
	unsigned long long handle;
	size_t bytes;
	int value = 7;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	setenv("FAKE_CUDA_VMM", "1", 1);
	cuda = load();
	ck_assert_int_eq(cuda.cuDeviceGetAttribute(&value, DEVICE_VMM, 0), CUDA_SUCCESS);
	ck_assert_int_eq(value, 1);
	ck_assert_int_eq(cuda.cuDeviceGetAttribute(&value, DEVICE_VMM, 1), CUDA_SUCCESS);
	ck_assert_int_eq(value, 0);
	ck_assert_int_eq(cuda.cuMemCreate(&handle, 2 * MIB, &there, 0), CUDA_SUCCESS);
	there.location.id = 1;
	ck_assert_int_eq(cuda.cuMemCreate(&handle, 2 * MIB, &there, 0), CUDA_ERROR_NOT_SUPPORTED);
	ck_assert_int_eq(cuda.cuMemGetAllocationGranularity(&bytes, &there, 0),
			 CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, mapped_memory_works_after_set_access);
	tcase_add_test(tests, bytes_live_until_handle_and_mappings_end);
	tcase_add_test(tests, remapped_bytes_keep_their_contents);
	tcase_add_test(tests, copies_and_fills_may_span_mappings);
	tcase_add_test(tests, mapping_has_all_bytes_of_its_handle);
	tcase_add_test(tests, unmapping_memory_in_use_breaks_the_context);
	tcase_add_test(tests, retained_handle_is_released_twice);
	tcase_add_test(tests, released_handle_can_be_retained);
	tcase_add_test(tests, pointers_to_mapped_memory_have_own_attributes);
	tcase_add_test(tests, exported_memory_is_imported_by_its_descriptor);
	tcase_add_test(tests, sizes_have_a_unit_and_addresses_a_limit);
	tcase_add_test(tests, setting_allows_host_access_to_mapped_memory);
	tcase_add_test(tests, setting_takes_virtual_memory_from_later_devices);
}

int main(void)
{
	return run_suite("fake/virtual", add);
}
