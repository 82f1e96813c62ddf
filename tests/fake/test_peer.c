/* SPDX-License-Identifier: Apache-2.0 */
/* test_peer.c - access from one device to another. */
#include "load.h"

static struct cuda load_two(struct CUctx_st **first, struct CUctx_st **second)
{
	struct cuda cuda;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	cuda = load();
	cuda.cuCtxGetCurrent(first);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(second, 1), CUDA_SUCCESS);
	return cuda;
}

START_TEST(devices_can_reach_each_other_but_not_themselves)
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

START_TEST(access_is_enabled_once_and_one_way)
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

START_TEST(a_context_is_no_peer_of_itself_nor_of_its_device)
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

START_TEST(access_ends_with_either_context)
{
	struct CUctx_st *first, *second;
	struct cuda cuda = load_two(&first, &second);

	cuda.cuCtxEnablePeerAccess(second, 0);
	cuda.cuDevicePrimaryCtxReset_v2(1);
	cuda.cuDevicePrimaryCtxRetain(&second, 1);
	ck_assert_int_eq(cuda.cuCtxEnablePeerAccess(second, 0), CUDA_SUCCESS);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, devices_can_reach_each_other_but_not_themselves);
	tcase_add_test(tests, access_is_enabled_once_and_one_way);
	tcase_add_test(tests, a_context_is_no_peer_of_itself_nor_of_its_device);
	tcase_add_test(tests, access_ends_with_either_context);
}

int main(void)
{
	return run_suite("fake/peer", add);
}
