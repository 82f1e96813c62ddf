/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - the fake driver in a test program: first the settings, then dlopen.
 *
 * The fake reads its environment once per process. Check runs each test in a child process, so each
 * test sets what it needs and then loads the driver:
 *
 *    setenv("FAKE_CUDA_MEMORY", "64M", 1);
 *    struct cuda cuda = load();
 */
#ifndef MAM_TESTS_FAKE_LOAD_H
#define MAM_TESTS_FAKE_LOAD_H

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver_api.h"

/* clang-format off */
#define CUDA_FUNCTIONS(X) \
	X(cuInit) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceTotalMem_v2) \
	X(cuDeviceGetAttribute) \
	X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2) \
	X(cuDevicePrimaryCtxReset_v2) X(cuDevicePrimaryCtxGetState) X(cuCtxCreate_v2) \
	X(cuCtxDestroy_v2) X(cuCtxGetCurrent) X(cuCtxSetCurrent) X(cuCtxPushCurrent_v2) \
	X(cuCtxPopCurrent_v2) X(cuCtxGetDevice) X(cuCtxSynchronize) X(cuCtxRecordEvent) \
	X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemAllocPitch_v2) X(cuMemAllocManaged) \
	X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemGetInfo_v2) \
	X(cuMemGetAddressRange_v2) X(cuPointerGetAttribute) X(cuMemAllocAsync) \
	X(cuMemFreeAsync) X(cuMemcpyHtoD_v2) X(cuMemcpyDtoH_v2) X(cuMemcpyHtoDAsync_v2) \
	X(cuMemcpyDtoHAsync_v2) X(cuMemcpyDtoDAsync_v2) X(cuMemcpy) \
	X(cuMemsetD8_v2) X(cuMemsetD8Async) X(cuStreamCreate) \
	X(cuStreamDestroy_v2) X(cuStreamSynchronize) X(cuStreamQuery) \
	X(cuStreamWaitEvent) X(cuEventCreate) X(cuEventDestroy_v2) X(cuEventRecord) \
	X(cuEventQuery) X(cuEventSynchronize) X(cuEventElapsedTime) \
	X(cuThreadExchangeStreamCaptureMode) X(cuStreamBeginCapture_v2) \
	X(cuStreamEndCapture) X(cuStreamIsCapturing) X(cuGraphDestroy) \
	X(cuModuleLoadData) X(cuGetProcAddress) X(cuGetProcAddress_v2) \
	X(cuPointerGetAttributes) X(cuPointerSetAttribute) X(cuMemGetHandleForAddressRange) \
	X(cuDeviceGetDefaultMemPool) X(cuMemPoolCreate) X(cuMemPoolDestroy) \
	X(cuMemAllocFromPoolAsync) X(cuMemHostRegister_v2) X(cuMemHostUnregister) \
	X(cuArrayCreate_v2) X(cuArray3DCreate_v2) X(cuArrayDestroy) X(cuMipmappedArrayCreate) \
	X(cuMipmappedArrayDestroy) X(cuDeviceCanAccessPeer) X(cuDeviceGetP2PAttribute) X(cuCtxEnablePeerAccess) \
	X(cuCtxDisablePeerAccess) X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle) \
	X(cuIpcOpenMemHandle_v2) X(cuIpcCloseMemHandle) X(cuMemGetAllocationGranularity) \
	X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate) X(cuMemRelease) X(cuMemMap) \
	X(cuMemRetainAllocationHandle) \
	X(cuMemUnmap) X(cuMemSetAccess) X(cuMemGetAccess) X(cuMemcpyPeer) \
	X(cuMemcpyPeerAsync) X(cuMemcpyAsync) X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle) \
	X(cuMemGetAllocationPropertiesFromHandle) X(cuGreenCtxCreate) \
	X(cuGreenCtxDestroy) X(cuCtxFromGreenCtx) X(cuGreenCtxRecordEvent) \
	X(cuGreenCtxStreamCreate) X(cuCtxGetStreamPriorityRange) X(cuStreamBeginCapture) \
	X(cuStreamBeginCaptureToGraph) X(cuGraphCreate) X(cuCtxDestroy) X(cuCtxGetId) \
	X(fake_pending) X(fake_clock) X(fake_use) X(fake_disturbed) X(fake_enable_peer) \
	X(fake_waited) X(fake_begin) X(fake_crossed) X(fake_holds) X(fake_fail) X(fake_failed) X(cuStreamGetId) \
	X(cuStreamDestroy) X(cuCtxAttach) X(cuCtxDetach) \
	X(cuMemPoolSetAttribute) X(cuMemPoolGetAttribute) X(cuMemPoolTrimTo) X(cuDeviceSetMemPool) \
	X(cuDeviceGetMemPool) \
	X(cuGraphAddMemAllocNode) X(cuGraphInstantiateWithFlags) X(cuGraphExecDestroy) \
	X(cuGraphLaunch) X(cuDeviceGraphMemTrim) X(cuDeviceGetGraphMemAttribute)
/* clang-format on */

struct cuda {
#define FIELD(name) __typeof__(name) *name;
	CUDA_FUNCTIONS(FIELD)
#undef FIELD
	void *library;
};

/* Looks up every function by its name; initializes nothing. */
static inline struct cuda load_only(void)
{
	const char *build = getenv("MAM_BUILDDIR");
	char path[4096];
	struct cuda cuda;

	snprintf(path, sizeof(path), "%s/tests/fake/lib/libcuda.so.1", build ? build : ".");
	cuda.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(cuda.library != NULL, "%s", dlerror());
#define FIND(name)                                                     \
	cuda.name = (__typeof__(cuda.name))dlsym(cuda.library, #name); \
	ck_assert_msg(cuda.name != NULL, "the fake has no %s", #name);
	CUDA_FUNCTIONS(FIND)
#undef FIND
	return cuda;
}

/* Initialized, with the first device's primary context current. */
static inline struct cuda load(void)
{
	struct cuda cuda = load_only();
	struct CUctx_st *context;

	ck_assert_int_eq(cuda.cuInit(0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
	return cuda;
}

/* Runs one suite of the tests that `add` adds; returns the program's exit status. */
static inline int run_suite(const char *name, void (*add)(TCase *tests))
{
	Suite *suite = suite_create(name);
	TCase *tests = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 60);
	add(tests);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
