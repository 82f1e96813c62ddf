/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_report.c - functions that only the fake has: its own clock, uses, disturbed memory,
 * resources in use, failures from now on.
 */
#include "fake/load.h"

#include <string.h>
#include <time.h>

#define SECOND 1000000000ull
#define SLAB ((size_t)2 << 20)

static struct cuda load_clocked(void)
{
	setenv("FAKE_CUDA_CLOCK_NS", "1000", 1);
	setenv("FAKE_CUDA_LAG_US", "5000000", 1);
	return load();
}

START_TEST(own_clock_waits_without_sleeping)
{
	struct cuda cuda = load_clocked();
	struct CUstream_st *stream;
	unsigned long long address, id, wanted;
	time_t began = time(NULL);
	uint64_t start, due;

	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	cuda.cuStreamGetId(stream, &wanted);
	start = cuda.fake_clock();
	ck_assert_int_eq(cuda.fake_use(address, 512, stream, &id, &due), CUDA_SUCCESS);
	ck_assert_uint_eq(id, wanted);
	ck_assert_uint_eq(due, start + 5 * SECOND);
	ck_assert_uint_eq(cuda.fake_clock(), start);
	ck_assert_int_eq(cuda.fake_pending(address, 1), 1);
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	ck_assert_uint_eq(cuda.fake_clock(), start + 1000);
	ck_assert_int_eq(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
	ck_assert_uint_eq(cuda.fake_clock(), due);
	ck_assert_int_eq(cuda.fake_pending(address, 1), 0);
	ck_assert_int_lt(time(NULL) - began, 4);
}
END_TEST

/* Uses of one stream, of other bytes, and those that wait for an event do not cross. */
START_TEST(uses_at_the_same_time_are_counted)
{
	struct cuda cuda = load_clocked();
	unsigned long long address, id;
	struct CUstream_st *one, *two;
	struct CUevent_st *event;
	uint64_t due, later;

	cuda.cuMemAlloc_v2(&address, 1024);
	cuda.cuStreamCreate(&one, STREAM_NON_BLOCKING);
	cuda.cuStreamCreate(&two, STREAM_NON_BLOCKING);
	cuda.cuEventCreate(&event, 2);
	cuda.fake_use(address, 512, one, &id, &due);
	cuda.fake_use(address, 512, one, &id, &due);
	cuda.fake_use(address + 512, 512, two, &id, &later);
	ck_assert_int_eq(cuda.fake_crossed(), 0);
	ck_assert_uint_eq(cuda.fake_begin(one), due);
	ck_assert_uint_eq(cuda.fake_begin(two), later);
	cuda.cuEventRecord(event, one);
	cuda.cuStreamWaitEvent(two, event, 0);
	ck_assert_uint_eq(cuda.fake_begin(two), due);
	cuda.fake_use(address, 512, two, &id, &later);
	ck_assert_int_eq(cuda.fake_crossed(), 0);
	cuda.fake_use(address, 512, one, &id, &due);
	ck_assert_int_eq(cuda.fake_crossed(), 1);
}
END_TEST

START_TEST(hasty_driver_reports_done_too_early)
{
	unsigned long long address, id, where = 0;
	struct CUstream_st *stream;
	struct CUevent_st *event;
	struct cuda cuda;
	size_t bytes = 0;
	uint64_t due;

	setenv("FAKE_CUDA_HASTY", "1", 1);
	cuda = load_clocked();
	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	cuda.cuEventCreate(&event, 2);
	cuda.fake_use(address, 512, stream, &id, &due);
	cuda.cuEventRecord(event, stream);
	ck_assert_int_eq(cuda.cuEventQuery(event), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.fake_pending(address, 512), 1);
	ck_assert_int_eq(cuda.fake_disturbed(&where, &bytes), 0);
	cuda.cuMemFree_v2(address);
	ck_assert_int_eq(cuda.fake_disturbed(&where, &bytes), 1);
	ck_assert_uint_eq(where, address);
	ck_assert_uint_eq(bytes, 512);
}
END_TEST

/* A range with one handle mapped at its start. */
static unsigned long long map_one(const struct cuda *cuda)
{
	struct cu_memory_properties wanted = { .type = 1, .location = { 1, 0 } };
	struct cu_access access = { { 1, 0 }, 3 };
	unsigned long long address, handle;

	ck_assert_int_eq(cuda->cuMemAddressReserve(&address, 4 * SLAB, 0, 0, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuMemCreate(&handle, SLAB, &wanted, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuMemMap(address, SLAB, 0, handle, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuMemSetAccess(address, SLAB, &access, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuMemRelease(handle), CUDA_SUCCESS);
	return address;
}

START_TEST(unmapping_memory_in_use_is_recorded)
{
	struct cuda cuda = load_clocked();
	unsigned long long address, id, where;
	size_t bytes;
	uint64_t due;

	address = map_one(&cuda);
	cuda.fake_use(address + 4096, 512, NULL, &id, &due);
	ck_assert_uint_eq(id, 1);
	ck_assert_int_eq(cuda.cuMemUnmap(address, SLAB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.fake_disturbed(&where, &bytes), 1);
	ck_assert_uint_eq(where, address);
	ck_assert_uint_eq(bytes, SLAB);
}
END_TEST

START_TEST(unmapping_idle_memory_is_not_recorded)
{
	struct cuda cuda = load_clocked();
	unsigned long long address, other, id, where;
	size_t bytes;
	uint64_t due;

	address = map_one(&cuda);
	cuda.cuMemAlloc_v2(&other, 512);
	cuda.fake_use(address, SLAB, NULL, &id, &due);
	cuda.fake_use(other, 512, NULL, &id, &due);
	cuda.cuMemFree_v2(other); /* waits */
	ck_assert_int_eq(cuda.cuMemUnmap(address, SLAB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.fake_disturbed(&where, &bytes), 0);
}
END_TEST

START_TEST(resources_in_use_are_counted)
{
	struct cuda cuda = load_clocked();
	struct CUevent_st *event;
	unsigned long long address, block;
	struct fake_held held;

	address = map_one(&cuda);
	cuda.cuMemAlloc_v2(&block, 1000);
	cuda.cuEventCreate(&event, 2);
	cuda.fake_holds(&held);
	ck_assert_uint_eq(held.device_bytes, SLAB + 1024);
	ck_assert_int_eq(held.blocks, 1);
	ck_assert_int_eq(held.handles, 1);
	ck_assert_int_eq(held.mappings, 1);
	ck_assert_int_eq(held.reservations, 1);
	ck_assert_int_eq(held.events, 1);
	cuda.cuMemFree_v2(block);
	cuda.cuEventDestroy_v2(event);
	cuda.cuMemUnmap(address, SLAB);
	cuda.cuMemAddressFree(address, 4 * SLAB);
	cuda.fake_holds(&held);
	ck_assert_uint_eq(held.device_bytes, 0);
	ck_assert_int_eq(
		held.blocks + held.handles + held.mappings + held.reservations + held.events, 0);
}
END_TEST

START_TEST(failures_are_counted_from_now)
{
	struct cuda cuda = load_clocked();
	unsigned long long address;
	char name[48] = "";

	ck_assert_int_eq(cuda.fake_failed(name, sizeof(name)), 0);
	cuda.fake_fail(2, 2);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 512), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.fake_failed(name, sizeof(name)), 0);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_ERROR_UNKNOWN);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 512), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.fake_failed(name, sizeof(name)), 2);
	ck_assert_str_eq(name, "cuMemFree");
	cuda.fake_fail(0, 0);
	ck_assert_int_eq(cuda.fake_failed(name, sizeof(name)), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, own_clock_waits_without_sleeping);
	tcase_add_test(tests, uses_at_the_same_time_are_counted);
	tcase_add_test(tests, hasty_driver_reports_done_too_early);
	tcase_add_test(tests, unmapping_memory_in_use_is_recorded);
	tcase_add_test(tests, unmapping_idle_memory_is_not_recorded);
	tcase_add_test(tests, resources_in_use_are_counted);
	tcase_add_test(tests, failures_are_counted_from_now);
}

int main(void)
{
	return run_suite("fake/tell", add);
}
