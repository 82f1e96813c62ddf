/* SPDX-License-Identifier: Apache-2.0 */
/* test_peer.c - access from one device to another. */
#include "fake/load.h"

#include <signal.h>

static struct cuda load_two(struct CUctx_st **first, struct CUctx_st **second)
{
	struct cuda cuda;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	cuda = load();
	cuda.cuCtxGetCurrent(first);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(second, 1), CUDA_SUCCESS);
	return cuda;
}

START_TEST(devices_can_access_each_other)
{
	struct CUctx_st *first, *second;
	struct cuda cuda = load_two(&first, &second);
	int can = 7;

	ck_assert_int_eq(cuda.cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS);
	ck_assert_int_eq(can, 1);
	ck_assert_int_eq(cuda.cuDeviceCanAccessPeer(&can, 1, 1), CUDA_SUCCESS);
	ck_assert_int_eq(can, 0);
	ck_assert_int_eq(cuda.cuDeviceCanAccessPeer(&can, 0, 2), CUDA_ERROR_INVALID_DEVICE);
}
END_TEST

START_TEST(peer_access_is_enabled_once_and_one_way)
{
	struct CUctx_st *first, *second;
	struct cuda cuda = load_two(&first, &second);

	ck_assert_int_eq(cuda.cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(second, 1), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(second, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(second, 0),
			 CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	cuda.cuCtxSetCurrent(second);
	ck_assert_int_eq(cuda.cuCtxDisablePeerAccess(first), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(first, 0), CUDA_SUCCESS);
	cuda.cuCtxSetCurrent(first);
	ck_assert_int_eq(cuda.cuCtxDisablePeerAccess(second), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}
END_TEST

START_TEST(context_is_not_a_peer_of_its_own_device)
{
	struct CUctx_st *first, *second, *own;
	struct cuda cuda = load_two(&first, &second);

	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_INVALID_CONTEXT);
	cuda.cuCtxCreate_v2(&own, 0, 0);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_INVALID_DEVICE);
	cuda.cuCtxSetCurrent(first);
	ck_assert_int_eq(cuda.cuCtxDestroy(own), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(own, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}
END_TEST

START_TEST(peer_access_ends_with_either_context)
{
	struct CUctx_st *first, *second;
	struct cuda cuda = load_two(&first, &second);

	cuda.cuCtxEnablePeerAccess(second, 0);
	cuda.cuDevicePrimaryCtxReset_v2(1);
	cuda.cuDevicePrimaryCtxRetain(&second, 1);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(second, 0), CUDA_SUCCESS);
}
END_TEST

/* 4 MiB of the first device, mapped, with access for that device alone. */
static unsigned long long map_for_first(const struct cuda *cuda)
{
	const struct cu_memory_properties on_first = { .type = 1, .location = { 1, 0 } };
	const struct cu_access first = { { 1, 0 }, 3 };
	unsigned long long address, handle;

	ck_assert_int_eq(cuda->cuMemAddressReserve(&address, 4 << 20, 0, 0, 0), CUDA_SUCCESS);
	for (unsigned long long at = address; at < address + (4 << 20); at += 2 << 20) {
		ck_assert_int_eq(cuda->cuMemCreate(&handle, 2 << 20, &on_first, 0), CUDA_SUCCESS);
		ck_assert_int_eq(cuda->cuMemMap(at, 2 << 20, 0, handle, 0), CUDA_SUCCESS);
	}
	ck_assert_int_eq(cuda->cuMemSetAccess(address, 4 << 20, &first, 1), CUDA_SUCCESS);
	return address;
}

static unsigned long long access_of(const struct cuda *cuda, int device, unsigned long long address)
{
	const struct cu_location location = { 1, device };
	unsigned long long flags = 7;

	ck_assert_int_eq(cuda->cuMemGetAccess(&flags, &location, address), CUDA_SUCCESS);
	return flags;
}

/* As measured on two H200s, where enabling peer access of the contexts changed nothing. */
START_TEST(mapped_memory_needs_access_for_each_device)
{
	const struct cu_access second_too = { { 1, 1 }, 3 };
	struct CUctx_st *first, *second;
	struct cuda cuda = load_two(&first, &second);
	unsigned long long from = map_for_first(&cuda), to, id;
	unsigned char bytes[4] = { 0 };
	uint64_t due_ns;

	ck_assert_uint_eq(access_of(&cuda, 0, from), 3);
	ck_assert_uint_eq(access_of(&cuda, 1, from), 0);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(from, 5, 2 << 20), CUDA_SUCCESS);
	cuda.cuCtxSetCurrent(second);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(first, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&to, 4096), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemsetD8_v2(from, 6, 4096), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemcpyAsync(to, from, 4096, NULL), CUDA_ERROR_INVALID_VALUE);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(i ? cuda.cuMemcpyPeerAsync(to, second, from, first, 4096, NULL)
				   : cuda.cuMemcpyPeer(to, second, from, first, 4096),
				 CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(bytes, to + 7, sizeof(bytes)), CUDA_SUCCESS);
		ck_assert_uint_ne(bytes[0], 5);
	}
	ck_assert_int_eq(cuda.cuMemSetAccess(from, 2 << 20, &second_too, 1), CUDA_SUCCESS);
	ck_assert_uint_eq(access_of(&cuda, 0, from), 3);
	ck_assert_uint_eq(access_of(&cuda, 1, from), 3);
	ck_assert_uint_eq(access_of(&cuda, 1, from + (2 << 20)), 0);
	ck_assert_int_eq(cuda.cuMemcpyPeer(to, second, from, first, 4096), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(bytes, to + 7, sizeof(bytes)), CUDA_SUCCESS);
	ck_assert_uint_eq(bytes[0], 5);
	ck_assert_int_eq(cuda.cuMemcpyAsync(to, from, 4096, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.fake_use(from, 2 << 20, NULL, &id, &due_ns), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	/* A kernel that accesses bytes past the end of the accessible range. */
	ck_assert_int_eq(cuda.fake_use(from, 4 << 20, NULL, &id, &due_ns), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST

START_TEST(access_is_reported_for_mapped_memory_only)
{
	struct CUctx_st *first, *second;
	struct cuda cuda = load_two(&first, &second);
	unsigned long long mapped = map_for_first(&cuda), plain, flags;
	struct cu_location location = { 1, 2 };

	ck_assert_int_eq(cuda.cuMemGetAccess(&flags, &location, mapped), CUDA_ERROR_INVALID_DEVICE);
	location.id = 1;
	ck_assert_int_eq(cuda.cuMemGetAccess(NULL, &location, mapped), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemGetAccess(&flags, NULL, mapped), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&plain, 4096), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemGetAccess(&flags, &location, plain), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(copies_of_plain_memory_need_no_access)
{
	struct CUctx_st *first, *second, *gone;
	struct cuda cuda = load_two(&first, &second);
	unsigned long long from, to;
	unsigned char byte = 0;

	cuda.cuMemAlloc_v2(&from, 4096);
	cuda.cuMemsetD8_v2(from, 5, 4096);
	cuda.cuCtxCreate_v2(&gone, 0, 1);
	ck_assert_int_eq(cuda.cuCtxDestroy(gone), CUDA_SUCCESS);
	cuda.cuCtxSetCurrent(second);
	cuda.cuMemAlloc_v2(&to, 4096);
	ck_assert_int_eq(cuda.cuMemcpyPeer(to, gone, from, first, 4096),
			 CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_assert_int_eq(cuda.cuMemcpyPeer(to, second, from, first, 4097),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemcpyPeer(to, second, from, first, 4096), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(&byte, to + 4095, 1), CUDA_SUCCESS);
	ck_assert_uint_eq(byte, 5);
}
END_TEST

static int p2p(const struct cuda *cuda, int attribute, int device, int peer)
{
	int value = 7;

	ck_assert_int_eq(cuda->cuDeviceGetP2PAttribute(&value, attribute, device, peer),
			 CUDA_SUCCESS);
	return value;
}

/* Rank, access and atomic operations of each pair, in both directions. */
START_TEST(links_differ)
{
	static const int expected[3][3] = { { -1, 11, 110 }, { 11, -1, 100 }, { 110, 100, -1 } };
	struct CUctx_st *first, *third;
	struct cuda cuda;
	int can, value;

	setenv("FAKE_CUDA_DEVICES", "3", 1);
	setenv("FAKE_CUDA_LINKS", "0-1:nvlink,2-0:pcie", 1);
	cuda = load();
	for (int one = 0; one < 3; one++)
		for (int other = 0; other < 3; other++) {
			ck_assert_int_eq(cuda.cuDeviceCanAccessPeer(&can, one, other),
					 CUDA_SUCCESS);
			ck_assert_int_eq(can, one != other && one + other != 3);
			if (one != other)
				ck_assert_int_eq(p2p(&cuda, 1, one, other) * 100 +
							 p2p(&cuda, 2, one, other) * 10 +
							 p2p(&cuda, 3, one, other),
						 expected[one][other]);
		}
	ck_assert_int_eq(cuda.cuDeviceGetP2PAttribute(&value, 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuDeviceGetP2PAttribute(&value, 2, 0, 3), CUDA_ERROR_INVALID_DEVICE);
	ck_assert_int_eq(cuda.cuDeviceGetP2PAttribute(&value, 5, 0, 1), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&third, 2), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(third, 0), CUDA_SUCCESS);
}
END_TEST

START_TEST(no_access_without_link)
{
	const struct cu_access second_too = { { 1, 1 }, 3 }, second_not = { { 1, 1 }, 0 };
	struct CUctx_st *first, *second;
	unsigned long long mapped, from, to;
	struct cuda cuda;

	setenv("FAKE_CUDA_LINKS", "none", 1);
	cuda = load_two(&first, &second);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	mapped = map_for_first(&cuda);
	ck_assert_int_eq(cuda.cuMemSetAccess(mapped, 4 << 20, &second_too, 1),
			 CUDA_ERROR_INVALID_DEVICE);
	ck_assert_int_eq(cuda.cuMemSetAccess(mapped, 4 << 20, &second_not, 1), CUDA_SUCCESS);
	ck_assert_uint_eq(access_of(&cuda, 1, mapped), 0);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&from, 4096), CUDA_SUCCESS);
	cuda.cuCtxSetCurrent(second);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&to, 4096), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemcpyPeer(to, second, from, first, 4096), CUDA_SUCCESS);
}
END_TEST

/* The microseconds until the work in a stream is done, on the fake's own clock. */
static uint64_t time_of(const struct cuda *cuda, struct CUstream_st *stream)
{
	uint64_t began = cuda->fake_clock();

	ck_assert_int_eq(cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	return (cuda->fake_clock() - began + 500) / 1000; /* a call takes 1 ns */
}

/* Work of device 1 in the null stream: 100 us, and 300 more for each end on device 0. */
START_TEST(links_delay_work)
{
	struct CUctx_st *first, *second;
	unsigned long long far, near;
	unsigned long long stream_id;
	uint64_t due_ns;
	struct cuda cuda;

	setenv("FAKE_CUDA_LAG_US", "100", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "1", 1);
	setenv("FAKE_CUDA_LINKS", _i == 0 ? "0-1:pcie:300" : "1-0:none:300", 1);
	cuda = load_two(&first, &second);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&far, 4096), CUDA_SUCCESS);
	cuda.cuCtxSetCurrent(second);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&near, 4096), CUDA_SUCCESS);
	cuda.cuMemsetD8_v2(near, 1, 4096);
	ck_assert_uint_eq(time_of(&cuda, NULL), 100);
	cuda.cuMemsetD8_v2(far, 1, 4096);
	ck_assert_uint_eq(time_of(&cuda, NULL), 400);
	cuda.cuMemcpyAsync(near, far, 4096, NULL);
	ck_assert_uint_eq(time_of(&cuda, NULL), 400);
	cuda.cuMemcpyAsync(far + 2048, far, 2048, NULL);
	ck_assert_uint_eq(time_of(&cuda, NULL), 700);
	cuda.cuMemcpyPeer(near, second, far, first, 4096);
	ck_assert_uint_eq(time_of(&cuda, NULL), 400);
	ck_assert_int_eq(cuda.fake_use(far, 4096, NULL, &stream_id, &due_ns), CUDA_SUCCESS);
	ck_assert_uint_eq(time_of(&cuda, NULL), 400);
	cuda.cuMemsetD8_v2(far, 1, 4096); /* work that follows waits for it */
	cuda.cuMemsetD8_v2(near, 1, 4096);
	ck_assert_uint_eq(time_of(&cuda, NULL), 500);
}
END_TEST

/* As code enables it that mam run does not intercept. */
START_TEST(peer_access_can_be_enabled_by_second_name)
{
	struct CUctx_st *first, *second;
	struct cuda cuda = load_two(&first, &second);

	ck_assert_int_eq(cuda.fake_enable_peer(second), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.fake_enable_peer(second), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(second, 0),
			 CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
}
END_TEST

/* The event of a second device, which was reset. */
static struct CUevent_st *ended_event(struct cuda *cuda)
{
	struct CUctx_st *first, *second, *again;
	struct CUevent_st *event, *here;
	struct fake_held held;

	*cuda = load_two(&first, &second);
	ck_assert_int_eq(cuda->cuEventCreate(&here, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuCtxSetCurrent(second), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuEventCreate(&event, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuCtxSetCurrent(first), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuCtxRecordEvent(second, here), CUDA_ERROR_INVALID_HANDLE);
	ck_assert_int_eq(cuda->cuCtxRecordEvent(second, event), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuDevicePrimaryCtxReset_v2(1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuDevicePrimaryCtxRetain(&again, 1), CUDA_SUCCESS);
	ck_assert_ptr_eq(again, second);
	cuda->fake_holds(&held);
	ck_assert_int_eq(held.events, 1);
	return event;
}

/* A primary context that becomes active again has the same handle, and none of its events. */
START_TEST(query_of_ended_event_ends_the_program)
{
	struct cuda cuda;
	struct CUevent_st *event = ended_event(&cuda);

	cuda.cuEventQuery(event);
}
END_TEST

START_TEST(destroy_of_ended_event_ends_the_program)
{
	struct cuda cuda;
	struct CUevent_st *event = ended_event(&cuda);

	cuda.cuEventDestroy_v2(event);
}
END_TEST

/* From any other context, too. */
START_TEST(events_of_broken_context_return_its_error)
{
	struct CUctx_st *first, *second;
	struct CUevent_st *event;
	unsigned long long block;
	struct cuda cuda;

	setenv("FAKE_CUDA_STICKY_AFTER", "cuMemAlloc:1:719", 1);
	cuda = load_two(&first, &second);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(second), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventCreate(&event, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&block, 512), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(first), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxRecordEvent(second, event), 719);
	ck_assert_int_eq(cuda.cuEventQuery(event), 719);
	ck_assert_int_eq(cuda.cuEventSynchronize(event), 719);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, devices_can_access_each_other);
	tcase_add_test(tests, links_differ);
	tcase_add_test(tests, no_access_without_link);
	tcase_add_loop_test(tests, links_delay_work, 0, 2);
	tcase_add_test(tests, peer_access_is_enabled_once_and_one_way);
	tcase_add_test(tests, context_is_not_a_peer_of_its_own_device);
	tcase_add_test(tests, peer_access_ends_with_either_context);
	tcase_add_test(tests, mapped_memory_needs_access_for_each_device);
	tcase_add_test(tests, access_is_reported_for_mapped_memory_only);
	tcase_add_test(tests, copies_of_plain_memory_need_no_access);
	tcase_add_test(tests, peer_access_can_be_enabled_by_second_name);
	tcase_add_test_raise_signal(tests, query_of_ended_event_ends_the_program, SIGABRT);
	tcase_add_test_raise_signal(tests, destroy_of_ended_event_ends_the_program, SIGABRT);
	tcase_add_test(tests, events_of_broken_context_return_its_error);
}

int main(void)
{
	return run_suite("fake/peer", add);
}
