/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_api.h - the part of the CUDA driver API that the fake driver has, in plain C types.
 *
 * The fake is compiled against it, and so are the clients and tests, which therefore need no CUDA
 * toolkit. The declarations agree with the real driver's binary interface: what is built with them
 * runs on a real libcuda.so.1 too. An int result is a CUresult, an unsigned long long address a
 * CUdeviceptr, and a device is its ordinal.
 */
#ifndef MAM_TESTS_DRIVER_API_H
#define MAM_TESTS_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUmod_st;
struct CUfunc_st;
struct CUuuid_st;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	CUDA_ERROR_UNKNOWN = 999
};

/* What cuGetProcAddress says about a name, and its flags. */
enum { PROC_FOUND = 0, PROC_UNKNOWN = 1, PROC_TOO_NEW = 2 };
enum { PROC_DEFAULT = 0, PROC_LEGACY_STREAM = 1, PROC_PER_THREAD_STREAM = 2 };

/* The two stream handles that are always there. NULL is the first in a plain call. */
#define STREAM_LEGACY ((struct CUstream_st *)1)
#define STREAM_PER_THREAD ((struct CUstream_st *)2)
#define STREAM_NON_BLOCKING 1u

enum { CAPTURE_GLOBAL = 0, CAPTURE_THREAD_LOCAL = 1, CAPTURE_RELAXED = 2 };

/* Pointer and device attributes the fake answers. */
enum {
	POINTER_CONTEXT = 1,
	POINTER_MEMORY_TYPE = 2, /* 1 host, 2 device */
	POINTER_DEVICE_POINTER = 3,
	POINTER_HOST_POINTER = 4,
	POINTER_SYNC_MEMOPS = 6,
	POINTER_BUFFER_ID = 7,
	POINTER_IS_MANAGED = 8,
	POINTER_DEVICE_ORDINAL = 9,
	POINTER_RANGE_START = 11,
	POINTER_RANGE_SIZE = 12,
	POINTER_MAPPED = 13
};
enum {
	DEVICE_MULTIPROCESSORS = 16,
	DEVICE_INTEGRATED = 18,
	DEVICE_UNIFIED_ADDRESSING = 41,
	DEVICE_MAJOR = 75,
	DEVICE_MINOR = 76,
	DEVICE_MANAGED = 83,
	DEVICE_VMM = 102,
	DEVICE_POOLS = 115
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

int cuInit(unsigned int flags);
int cuDriverGetVersion(int *version);
int cuGetErrorName(int error, const char **name);
int cuGetErrorString(int error, const char **text);
int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			int *status);
int cuGetExportTable(const void **table, const struct CUuuid_st *id);

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetCount(int *count);
int cuDeviceGetName(char *name, int length, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetUuid_v2(void *uuid, int device);

int cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device);
int cuDevicePrimaryCtxRelease(int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxReset(int device);
int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxGetState(int device, unsigned int *flags, int *active);
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned int flags);
int cuCtxCreate_v2(struct CUctx_st **context, unsigned int flags, int device);
int cuCtxCreate_v4(struct CUctx_st **context, void *parameters, unsigned int flags, int device);
int cuCtxDestroy_v2(struct CUctx_st *context);
int cuCtxGetCurrent(struct CUctx_st **context);
int cuCtxSetCurrent(struct CUctx_st *context);
int cuCtxPushCurrent_v2(struct CUctx_st *context);
int cuCtxPopCurrent_v2(struct CUctx_st **context);
int cuCtxGetDevice(int *device);
int cuCtxGetDevice_v2(int *device, struct CUctx_st *context);
int cuCtxGetId(struct CUctx_st *context, unsigned long long *id);
int cuCtxSynchronize(void);
int cuCtxSynchronize_v2(struct CUctx_st *context);

int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemFree_v2(unsigned long long address);
int cuMemAllocPitch_v2(unsigned long long *address, size_t *pitch, size_t width, size_t height,
		       unsigned int element);
int cuMemAllocManaged(unsigned long long *address, size_t bytes, unsigned int flags);
int cuMemHostAlloc(void **address, size_t bytes, unsigned int flags);
int cuMemAllocHost_v2(void **address, size_t bytes);
int cuMemFreeHost(void *address);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
int cuMemGetAddressRange_v2(unsigned long long *base, size_t *bytes, unsigned long long address);
int cuPointerGetAttribute(void *data, int attribute, unsigned long long address);
int cuMemAllocAsync(unsigned long long *address, size_t bytes, struct CUstream_st *stream);
int cuMemFreeAsync(unsigned long long address, struct CUstream_st *stream);

int cuMemcpy(unsigned long long to, unsigned long long from, size_t bytes);
int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t bytes,
		  struct CUstream_st *stream);
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes);
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t bytes);
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
			 struct CUstream_st *stream);
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes,
			 struct CUstream_st *stream);
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
			 struct CUstream_st *stream);
int cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t bytes);
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes,
		    struct CUstream_st *stream);

int cuStreamCreate(struct CUstream_st **stream, unsigned int flags);
int cuStreamCreateWithPriority(struct CUstream_st **stream, unsigned int flags, int priority);
int cuStreamDestroy_v2(struct CUstream_st *stream);
int cuStreamSynchronize(struct CUstream_st *stream);
int cuStreamQuery(struct CUstream_st *stream);
int cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags);
int cuStreamGetId(struct CUstream_st *stream, unsigned long long *id);
int cuEventCreate(struct CUevent_st **event, unsigned int flags);
int cuEventDestroy_v2(struct CUevent_st *event);
int cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream);
int cuEventQuery(struct CUevent_st *event);
int cuEventSynchronize(struct CUevent_st *event);
int cuEventElapsedTime(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end);
int cuCtxRecordEvent(struct CUctx_st *context, struct CUevent_st *event);

int cuThreadExchangeStreamCaptureMode(int *mode);
int cuStreamBeginCapture_v2(struct CUstream_st *stream, int mode);
int cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph);
int cuStreamIsCapturing(struct CUstream_st *stream, int *status);
int cuGraphDestroy(struct CUgraph_st *graph);

int cuModuleLoadData(struct CUmod_st **module, const void *image);
int cuModuleUnload(struct CUmod_st *module);
int cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name);
int cuLaunchKernel(struct CUfunc_st *function, unsigned int grid_x, unsigned int grid_y,
		   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
		   unsigned int block_z, unsigned int shared_bytes, struct CUstream_st *stream,
		   void **arguments, void **extra);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
