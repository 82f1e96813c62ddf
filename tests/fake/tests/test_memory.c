/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - the fake driver's memory behaves as measured on an H100. */
#include "fake/load.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

START_TEST(zero_bytes_are_an_invalid_value)
{
	struct cuda cuda = load();
	unsigned long long address = 7;

	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(address, 7);
}
END_TEST

START_TEST(excessive_size_is_out_of_memory)
{
	struct cuda cuda;
	unsigned long long address = 7;

	setenv("FAKE_CUDA_MEMORY", "64M", 1);
	cuda = load();
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 65 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(address, 7);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 64 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
}
END_TEST

START_TEST(memory_info_counts_allocated_bytes)
{
	struct cuda cuda;
	unsigned long long small, large;
	size_t free_bytes, total;

	setenv("FAKE_CUDA_MEMORY", "64M", 1);
	cuda = load();
	cuda.cuMemAlloc_v2(&small, 1);
	cuda.cuMemAlloc_v2(&large, 3 * MIB);
	ck_assert_int_eq(cuda.cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
	ck_assert_uint_eq(total, 64 * MIB);
	ck_assert_uint_eq(free_bytes, 64 * MIB - 512 - 4 * MIB);
	cuda.cuMemFree_v2(small);
	cuda.cuMemFree_v2(large);
	cuda.cuMemGetInfo_v2(&free_bytes, &total);
	ck_assert_uint_eq(free_bytes, 64 * MIB);
}
END_TEST

START_TEST(blocks_are_aligned_to_512_bytes_or_2_mib)
{
	struct cuda cuda = load();
	unsigned long long a, b, c, large;

	cuda.cuMemAlloc_v2(&a, 257);
	cuda.cuMemAlloc_v2(&b, 513);
	cuda.cuMemAlloc_v2(&c, 1);
	cuda.cuMemAlloc_v2(&large, MIB + 1);
	ck_assert_uint_eq(a % 512, 0);
	ck_assert_uint_eq(b - a, 512);
	ck_assert_uint_eq(c - b, 1024);
	ck_assert_uint_eq(large % (2 * MIB), 0);
}
END_TEST

START_TEST(only_start_of_live_block_can_be_freed)
{
	struct cuda cuda = load();
	unsigned long long address;
	int local;

	cuda.cuMemAlloc_v2(&address, 4096);
	ck_assert_int_eq(cuda.cuMemFree_v2(address + 512), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemFree_v2((uintptr_t)&local), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(freed_block_is_allocated_next)
{
	struct cuda cuda = load();
	unsigned long long first, second, again;

	cuda.cuMemAlloc_v2(&first, 4096);
	cuda.cuMemAlloc_v2(&second, 4096);
	cuda.cuMemFree_v2(first);
	cuda.cuMemAlloc_v2(&again, 4096);
	ck_assert_uint_eq(again, first);
}
END_TEST

START_TEST(small_block_keeps_bytes_large_one_reads_zero)
{
	static const struct {
		size_t bytes;
		unsigned char left;
	} rows[] = { { 256, 0xab }, { 2 * MIB, 0 } };
	struct cuda cuda = load();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned long long address;
		unsigned char byte = 1;

		cuda.cuMemAlloc_v2(&address, rows[i].bytes);
		cuda.cuMemsetD8_v2(address, 0xab, rows[i].bytes);
		cuda.cuMemFree_v2(address);
		cuda.cuMemAlloc_v2(&address, rows[i].bytes);
		ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(&byte, address + 100, 1), CUDA_SUCCESS);
		ck_assert_uint_eq(byte, rows[i].left);
	}
}
END_TEST

START_TEST(bytes_survive_copies_to_device_and_back)
{
	struct cuda cuda = load();
	unsigned long long address;
	char text[] = "what goes up", back[sizeof(text)] = "";

	cuda.cuMemAlloc_v2(&address, 4096);
	ck_assert_int_eq(cuda.cuMemcpyHtoD_v2(address + 5, text, sizeof(text)), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(back, address + 5, sizeof(text)), CUDA_SUCCESS);
	ck_assert_str_eq(back, text);
}
END_TEST

START_TEST(copy_past_end_of_block_is_refused)
{
	struct cuda cuda = load();
	unsigned long long address, next;
	char bytes[600];

	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuMemAlloc_v2(&next, 512);
	ck_assert_uint_eq(next, address + 512);
	ck_assert_int_eq(cuda.cuMemcpyHtoD_v2(address, bytes, 513), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(address, 0, 513), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemcpyHtoD_v2(address, bytes, 512), CUDA_SUCCESS);
}
END_TEST

START_TEST(host_access_to_device_memory_faults)
{
	struct cuda cuda = load();
	unsigned long long address;

	cuda.cuMemAlloc_v2(&address, 4096);
	signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would turn it into an exit */
	*(volatile char *)(uintptr_t)address = 1;
}
END_TEST

START_TEST(setting_allows_host_access)
{
	struct cuda cuda;
	unsigned long long address;
	char byte = 0;

	setenv("FAKE_CUDA_HOST_ACCESS", "1", 1);
	cuda = load();
	cuda.cuMemAlloc_v2(&address, 4096);
	*(volatile char *)(uintptr_t)address = 42;
	cuda.cuMemcpyDtoH_v2(&byte, address, 1);
	ck_assert_int_eq(byte, 42);
}
END_TEST

START_TEST(managed_and_pinned_memory_are_host_accessible)
{
	struct cuda cuda = load();
	unsigned long long managed;
	void *pinned;

	ck_assert_int_eq(cuda.cuMemAllocManaged(&managed, 5000, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemHostAlloc(&pinned, 5000, 0), CUDA_SUCCESS);
	memset((void *)(uintptr_t)managed, 1, 5000);
	memset(pinned, 2, 5000);
	ck_assert_int_eq(cuda.cuMemFree_v2((uintptr_t)pinned), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemFreeHost((void *)(uintptr_t)managed), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemFree_v2(managed), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFreeHost(pinned), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(interior_address_identifies_its_block)
{
	struct cuda cuda = load();
	unsigned long long address, base = 0, id, other_id;
	size_t bytes = 0;
	int device = 7;

	cuda.cuMemAlloc_v2(&address, 257);
	ck_assert_int_eq(cuda.cuMemGetAddressRange_v2(&base, &bytes, address + 200), CUDA_SUCCESS);
	ck_assert_uint_eq(base, address);
	ck_assert_uint_eq(bytes, 257);
	ck_assert_int_eq(cuda.cuMemGetAddressRange_v2(&base, &bytes, address + 300),
			 CUDA_ERROR_INVALID_VALUE);
	cuda.cuPointerGetAttribute(&device, POINTER_DEVICE_ORDINAL, address + 200);
	ck_assert_int_eq(device, 0);
	cuda.cuPointerGetAttribute(&id, POINTER_BUFFER_ID, address);
	cuda.cuMemFree_v2(address);
	cuda.cuMemAlloc_v2(&address, 257);
	cuda.cuPointerGetAttribute(&other_id, POINTER_BUFFER_ID, address);
	ck_assert_uint_ne(id, other_id);
}
END_TEST

START_TEST(pitch_is_a_multiple_of_512)
{
	struct cuda cuda = load();
	unsigned long long address;
	size_t pitch, bytes;

	ck_assert_int_eq(cuda.cuMemAllocPitch_v2(&address, &pitch, 700, 10, 4), CUDA_SUCCESS);
	ck_assert_uint_eq(pitch, 1024);
	cuda.cuMemGetAddressRange_v2(NULL, &bytes, address);
	ck_assert_uint_eq(bytes, 10240);
	ck_assert_int_eq(cuda.cuMemAllocPitch_v2(&address, &pitch, 512, SIZE_MAX / 512 + 2, 4),
			 CUDA_ERROR_OUT_OF_MEMORY);
}
END_TEST

START_TEST(random_blocks_never_overlap)
{
	enum { COUNT = 500 };
	struct cuda cuda = load();
	unsigned long long addresses[COUNT] = { 0 };
	unsigned int state = 1;

	for (int step = 0; step < 5000; step++) {
		int at = (state = state * 1103515245 + 12345) / 65536 % COUNT;
		size_t bytes = 1 + (state >> 8) % 3000;
		unsigned int stamp = at, seen = ~0u;

		if (addresses[at]) {
			cuda.cuMemcpyDtoH_v2(&seen, addresses[at], sizeof(seen));
			ck_assert_uint_eq(seen, stamp);
			ck_assert_int_eq(cuda.cuMemFree_v2(addresses[at]), CUDA_SUCCESS);
			addresses[at] = 0;
		} else {
			bytes += sizeof(stamp);
			ck_assert_int_eq(cuda.cuMemAlloc_v2(&addresses[at], bytes), CUDA_SUCCESS);
			cuda.cuMemsetD8_v2(addresses[at], 0xee, bytes);
			cuda.cuMemcpyHtoD_v2(addresses[at], &stamp, sizeof(stamp));
		}
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, zero_bytes_are_an_invalid_value);
	tcase_add_test(tests, excessive_size_is_out_of_memory);
	tcase_add_test(tests, memory_info_counts_allocated_bytes);
	tcase_add_test(tests, blocks_are_aligned_to_512_bytes_or_2_mib);
	tcase_add_test(tests, only_start_of_live_block_can_be_freed);
	tcase_add_test(tests, freed_block_is_allocated_next);
	tcase_add_test(tests, small_block_keeps_bytes_large_one_reads_zero);
	tcase_add_test(tests, bytes_survive_copies_to_device_and_back);
	tcase_add_test(tests, copy_past_end_of_block_is_refused);
	tcase_add_test_raise_signal(tests, host_access_to_device_memory_faults, SIGSEGV);
	tcase_add_test(tests, setting_allows_host_access);
	tcase_add_test(tests, managed_and_pinned_memory_are_host_accessible);
	tcase_add_test(tests, interior_address_identifies_its_block);
	tcase_add_test(tests, pitch_is_a_multiple_of_512);
	tcase_add_test(tests, random_blocks_never_overlap);
}

int main(void)
{
	return run_suite("fake/memory", add);
}
