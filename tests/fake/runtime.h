/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - declarations shared by the files of the fake runtime: the driver's functions. */
#ifndef MAM_TESTS_RUNTIME_H
#define MAM_TESTS_RUNTIME_H

#include "driver_api.h"
#include "runtime_api.h"

/* Every driver function that the runtime uses: base name, requested version, declared name. */
/* clang-format off */
#define RUNTIME_DRIVER(X)                                               \
	X(cuInit, 2000, cuInit)                                         \
	X(cuDriverGetVersion, 2020, cuDriverGetVersion)                 \
	X(cuDeviceGetCount, 2000, cuDeviceGetCount)                     \
	X(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute)             \
	X(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain)     \
	X(cuDevicePrimaryCtxReset, 7000, cuDevicePrimaryCtxReset)       \
	X(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState) \
	X(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer)           \
	X(cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess)           \
	X(cuCtxDisablePeerAccess, 4000, cuCtxDisablePeerAccess)         \
	X(cuCtxGetCurrent, 4000, cuCtxGetCurrent)                       \
	X(cuCtxSetCurrent, 4000, cuCtxSetCurrent)                       \
	X(cuCtxGetDevice, 2000, cuCtxGetDevice)                         \
	X(cuCtxSynchronize, 2000, cuCtxSynchronize)                     \
	X(cuMemAlloc, 3020, cuMemAlloc_v2)                              \
	X(cuMemFree, 3020, cuMemFree_v2)                                \
	X(cuMemAllocPitch, 3020, cuMemAllocPitch_v2)                    \
	X(cuMemAllocManaged, 6000, cuMemAllocManaged)                   \
	X(cuMemHostAlloc, 2020, cuMemHostAlloc)                         \
	X(cuMemFreeHost, 2000, cuMemFreeHost)                           \
	X(cuMemAllocAsync, 11020, cuMemAllocAsync)                      \
	X(cuMemFreeAsync, 11020, cuMemFreeAsync)                        \
	X(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync)      \
	X(cuDeviceGetDefaultMemPool, 11020, cuDeviceGetDefaultMemPool)  \
	X(cuMemHostRegister, 6050, cuMemHostRegister_v2)                \
	X(cuMemHostUnregister, 4000, cuMemHostUnregister)               \
	X(cuArray3DCreate, 3020, cuArray3DCreate_v2)                    \
	X(cuArrayDestroy, 2000, cuArrayDestroy)                         \
	X(cuPointerGetAttributes, 7000, cuPointerGetAttributes)         \
	X(cuIpcGetMemHandle, 4010, cuIpcGetMemHandle)                   \
	X(cuIpcOpenMemHandle, 11000, cuIpcOpenMemHandle_v2)             \
	X(cuIpcCloseMemHandle, 4010, cuIpcCloseMemHandle)               \
	X(cuMemGetInfo, 3020, cuMemGetInfo_v2)                          \
	X(cuMemcpy, 4000, cuMemcpy)                                     \
	X(cuMemcpyAsync, 4000, cuMemcpyAsync)                           \
	X(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2)                          \
	X(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2)                          \
	X(cuMemcpyDtoD, 3020, cuMemcpyDtoD_v2)                          \
	X(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2)                \
	X(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2)                \
	X(cuMemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2)                \
	X(cuMemsetD8, 3020, cuMemsetD8_v2)                              \
	X(cuMemsetD8Async, 3020, cuMemsetD8Async)                       \
	X(cuStreamCreate, 2000, cuStreamCreate)                         \
	X(cuStreamDestroy, 4000, cuStreamDestroy_v2)                    \
	X(cuStreamSynchronize, 2000, cuStreamSynchronize)               \
	X(cuStreamQuery, 2000, cuStreamQuery)                           \
	X(cuStreamWaitEvent, 3020, cuStreamWaitEvent)                   \
	X(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2)         \
	X(cuStreamEndCapture, 10000, cuStreamEndCapture)                \
	X(cuStreamIsCapturing, 10000, cuStreamIsCapturing)              \
	X(cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode) \
	X(cuGraphDestroy, 10000, cuGraphDestroy)                        \
	X(cuEventCreate, 2000, cuEventCreate)                           \
	X(cuEventDestroy, 4000, cuEventDestroy_v2)                      \
	X(cuEventRecord, 2000, cuEventRecord)                           \
	X(cuEventQuery, 2000, cuEventQuery)                             \
	X(cuEventSynchronize, 2000, cuEventSynchronize)                 \
	X(cuEventElapsedTime, 2000, cuEventElapsedTime)
/* clang-format on */

/* The versions for per-thread default streams, requested by flag 2. */
#define RUNTIME_DRIVER_PER_THREAD(X)                               \
	X(cuMemAllocAsync, 11020, cuMemAllocAsync)                 \
	X(cuMemFreeAsync, 11020, cuMemFreeAsync)                   \
	X(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync) \
	X(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2)    \
	X(cuStreamEndCapture, 10000, cuStreamEndCapture)

struct runtime_driver {
#define FIELD(name, version, declared) __typeof__(declared) *name;
#define FIELD_PER_THREAD(name, version, declared) __typeof__(declared) *name##_ptsz;
	RUNTIME_DRIVER(FIELD)
	RUNTIME_DRIVER_PER_THREAD(FIELD_PER_THREAD)
#undef FIELD
#undef FIELD_PER_THREAD
};

extern struct runtime_driver runtime_driver;

int runtime_load(void);  /* finds and initializes the driver */
int runtime_ready(void); /* and the calling thread has a current context */
int runtime_primary(int device, struct CUctx_st **context); /* active, but not made current */
int runtime_remember(int result); /* makes an error the thread's last error; returns its argument */

#endif
