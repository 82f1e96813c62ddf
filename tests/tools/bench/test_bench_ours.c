/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_ours.c - mam's heaps as `mam bench device` and its sister commands create them, on the
 * fake driver: they use the given memory almost completely, report their address range, and leave
 * nothing allocated.
 */
#include <check.h>
#include <stdlib.h>

#include "bench/device/device_allocators.h"
#include "bench/harness/driver.h"
#include "bench/harness/gpu.h"
#include "fake/load.h"
#include "heap/slab/metadata.h"

#define PAGE 1024u

static char trouble[64];

const char *bench_gpu_trouble(void)
{
	return trouble;
}

void bench_gpu_fail(const char *sentence)
{
	snprintf(trouble, sizeof(trouble), "%s", sentence);
}

void *bench_driver_stream(size_t which)
{
	(void)which;
	return NULL;
}

static const char *make(bool pages, struct device_heap *heap, uint64_t bytes)
{
	return pages ? device_ours_make_pages(heap, bytes, PAGE) : device_ours_make(heap, bytes, 0);
}

static size_t free_bytes(const struct cuda *cuda)
{
	size_t free = 0, total;

	ck_assert_int_eq(cuda->cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
	return free;
}

START_TEST(heap_uses_the_given_memory)
{
	static const uint64_t sizes[] = { 300000, 4 * (uint64_t)BENCH_MIB,
					  96 * (uint64_t)BENCH_MIB };
	const bool pages = _i >= 3;
	const uint64_t bytes = sizes[_i % 3];
	struct device_heap heap = { .own_numbers = { 0 } };
	const struct mam_kheap *head;
	uint64_t objects;
	struct cuda cuda;
	size_t before;

	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	setenv("FAKE_CUDA_HOST_ACCESS", "1", 1);
	cuda = load();
	ck_assert_ptr_null(make(pages, &heap, bytes));
	before = free_bytes(&cuda);
	head = heap.heap;
	objects = heap.high - heap.low;
	ck_assert_uint_eq((uintptr_t)head->space, heap.low);
	ck_assert_uint_eq((uintptr_t)head, heap.high);
	ck_assert_uint_eq((uint64_t)head->pages * PAGE, pages ? objects : 0);
	ck_assert_uint_eq(head->shift, pages ? 10 : MAM_UNIT_SHIFT);
	/* Memory too small for more: one page and one word, or one block and its metadata. */
	ck_assert_uint_gt(heap.space_bytes, objects);
	ck_assert_uint_le(heap.space_bytes, bytes);
	ck_assert_uint_gt(heap.space_bytes + (pages ? PAGE + 8 : 70000), bytes);
	ck_assert(device_ours_reset(&heap));
	device_ours_end(&heap);
	ck_assert_ptr_null(heap.heap);
	ck_assert_uint_ge(free_bytes(&cuda), before + heap.space_bytes);
	ck_assert_str_eq(trouble, "");
}
END_TEST

START_TEST(heap_that_is_too_small_is_refused)
{
	struct device_heap heap = { .own_numbers = { 0 } };

	ck_assert_str_eq(make(_i == 1, &heap, 1024),
			 _i == 1 ? "so small a heap has no page" : "so small a heap has no block");
	ck_assert_ptr_null(heap.heap);
	device_ours_end(&heap);
}
END_TEST

START_TEST(heap_that_is_too_large_is_refused)
{
	struct device_heap heap = { .own_numbers = { 0 } };

	setenv("FAKE_CUDA_MEMORY", "64M", 1);
	(void)load();
	ck_assert_str_eq(make(_i == 1, &heap, UINT64_C(1) << 28),
			 "there is too little free memory on the device");
	ck_assert_ptr_null(heap.own[0]);
	ck_assert_ptr_null(heap.own[1]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("bench ours");
	TCase *tcase = tcase_create("heaps");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_loop_test(tcase, heap_uses_the_given_memory, 0, 6);
	tcase_add_loop_test(tcase, heap_that_is_too_small_is_refused, 0, 2);
	tcase_add_loop_test(tcase, heap_that_is_too_large_is_refused, 0, 2);
	suite_add_tcase(s, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
