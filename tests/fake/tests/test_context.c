/* SPDX-License-Identifier: Apache-2.0 */
/* test_context.c - the fake driver's contexts and devices. */
#include "fake/load.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(calls_before_cuInit_fail)
{
	struct cuda cuda = load_only();
	int count, version = 0;

	ck_assert_int_eq(cuda.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
	ck_assert_int_eq(cuda.cuDriverGetVersion(&version), CUDA_SUCCESS);
	ck_assert_int_eq(version, 13000);
}
END_TEST

START_TEST(allocation_without_context_fails)
{
	struct cuda cuda = load_only();
	unsigned long long address;

	cuda.cuInit(0);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

START_TEST(devices_have_their_own_sizes)
{
	struct cuda cuda;
	size_t first, second;
	int count;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	setenv("FAKE_CUDA_MEMORY", "64M,128M", 1);
	cuda = load();
	cuda.cuDeviceGetCount(&count);
	ck_assert_int_eq(count, 2);
	cuda.cuDeviceTotalMem_v2(&first, 0);
	cuda.cuDeviceTotalMem_v2(&second, 1);
	ck_assert_uint_eq(first, 64 << 20);
	ck_assert_uint_eq(second, 128 << 20);
}
END_TEST

START_TEST(memory_belongs_to_current_contexts_device)
{
	struct cuda cuda;
	struct CUctx_st *second;
	unsigned long long address;
	int device = 7;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	cuda = load();
	cuda.cuDevicePrimaryCtxRetain(&second, 1);
	cuda.cuCtxPushCurrent_v2(second);
	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuPointerGetAttribute(&device, POINTER_DEVICE_ORDINAL, address);
	ck_assert_int_eq(device, 1);
	ck_assert_int_eq(cuda.cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
	cuda.cuCtxGetDevice(&device);
	ck_assert_int_eq(device, 0);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
}
END_TEST

START_TEST(cuInit_reports_no_device)
{
	struct cuda cuda;

	setenv("FAKE_CUDA_DEVICES", "0", 1);
	cuda = load_only();
	ck_assert_int_eq(cuda.cuInit(0), CUDA_ERROR_NO_DEVICE);
}
END_TEST

START_TEST(reset_frees_all_memory_of_device)
{
	struct cuda cuda = load();
	struct CUctx_st *context;
	unsigned long long address, other;
	size_t free_bytes, total;
	unsigned int flags;
	int active;

	cuda.cuMemAlloc_v2(&address, 512);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	cuda.cuDevicePrimaryCtxGetState(0, &flags, &active);
	ck_assert_int_eq(active, 0);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&other, 512), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	cuda.cuDevicePrimaryCtxRetain(&context, 0);
	cuda.cuCtxSetCurrent(context);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
	cuda.cuMemGetInfo_v2(&free_bytes, &total);
	ck_assert_uint_eq(free_bytes, total);
}
END_TEST

START_TEST(last_release_ends_primary_context)
{
	struct cuda cuda = load();
	struct CUctx_st *context;
	unsigned int flags;
	int active;

	cuda.cuDevicePrimaryCtxRetain(&context, 0);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	cuda.cuDevicePrimaryCtxGetState(0, &flags, &active);
	ck_assert_int_eq(active, 1);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	cuda.cuDevicePrimaryCtxGetState(0, &flags, &active);
	ck_assert_int_eq(active, 0);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

START_TEST(destroyed_context_stays_destroyed)
{
	struct cuda cuda = load();
	struct CUctx_st *own;
	unsigned long long address;

	cuda.cuCtxCreate_v2(&own, 0, 0);
	cuda.cuMemAlloc_v2(&address, 512);
	ck_assert_int_eq(cuda.cuCtxDestroy_v2(own), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(own), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

static void *current_of_thread(void *argument)
{
	struct cuda *cuda = argument;
	struct CUctx_st *context = NULL;

	cuda->cuCtxGetCurrent(&context);
	return context;
}

START_TEST(each_thread_has_its_own_current_context)
{
	struct cuda cuda = load();
	pthread_t thread;
	void *context = &thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, current_of_thread, &cuda), 0);
	pthread_join(thread, &context);
	ck_assert_ptr_null(context);
}
END_TEST

START_TEST(set_current_replaces_current_context)
{
	struct cuda cuda = load();
	struct CUctx_st *own, *popped = NULL;

	cuda.cuCtxCreate_v2(&own, 0, 0);
	cuda.cuCtxPopCurrent_v2(NULL);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(own), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
	ck_assert_ptr_eq(popped, own);
	ck_assert_int_eq(cuda.cuCtxPopCurrent_v2(&popped), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

START_TEST(forked_child_cannot_use_driver)
{
	struct cuda cuda = load();
	unsigned long long address;
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(cuda.cuMemAlloc_v2(&address, 1));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), CUDA_ERROR_NOT_INITIALIZED);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_SUCCESS);
}
END_TEST

START_TEST(kernels_are_not_supported)
{
	struct cuda cuda = load();
	struct CUmod_st *module;

	ck_assert_int_eq(cuda.cuModuleLoadData(&module, ""), CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

START_TEST(last_detach_ends_context)
{
	struct cuda cuda = load();
	struct CUctx_st *primary, *own, *attached;
	unsigned long long address;

	cuda.cuCtxGetCurrent(&primary);
	ck_assert_int_eq(cuda.cuCtxDetach(primary), CUDA_ERROR_INVALID_CONTEXT);
	ck_assert_int_eq(cuda.cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxDetach(primary), CUDA_ERROR_INVALID_CONTEXT);
	ck_assert_int_eq(cuda.cuCtxAttach(&attached, 0), CUDA_SUCCESS);
	ck_assert_ptr_eq(attached, own);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 512), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxDetach(own), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxDetach(own), CUDA_SUCCESS);
	cuda.cuCtxGetCurrent(&attached);
	ck_assert_ptr_eq(attached, primary);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(own), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}
END_TEST

/* An event can only be recorded in streams of its context; any stream may wait for it. */
START_TEST(event_is_recorded_in_its_context_only)
{
	struct CUstream_st *here, *there;
	struct CUevent_st *event;
	struct CUctx_st *second;
	struct cuda cuda = load();

	ck_assert_int_eq(cuda.cuEventCreate(&event, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&here, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&there, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventRecord(event, there), CUDA_ERROR_INVALID_HANDLE);
	ck_assert_int_eq(cuda.cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
	ck_assert_int_eq(cuda.cuEventRecord(event, here), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamWaitEvent(there, event, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventQuery(event), CUDA_SUCCESS);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, event_is_recorded_in_its_context_only);
	tcase_add_test(tests, last_detach_ends_context);
	tcase_add_test(tests, calls_before_cuInit_fail);
	tcase_add_test(tests, allocation_without_context_fails);
	tcase_add_test(tests, devices_have_their_own_sizes);
	tcase_add_test(tests, memory_belongs_to_current_contexts_device);
	tcase_add_test(tests, cuInit_reports_no_device);
	tcase_add_test(tests, reset_frees_all_memory_of_device);
	tcase_add_test(tests, last_release_ends_primary_context);
	tcase_add_test(tests, destroyed_context_stays_destroyed);
	tcase_add_test(tests, each_thread_has_its_own_current_context);
	tcase_add_test(tests, set_current_replaces_current_context);
	tcase_add_test(tests, forked_child_cannot_use_driver);
	tcase_add_test(tests, kernels_are_not_supported);
}

int main(void)
{
	return run_suite("fake/context", add);
}
