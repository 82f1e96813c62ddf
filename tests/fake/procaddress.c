/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procaddress.c - cuGetProcAddress: maps a base name, a CUDA version and flags to a function.
 *
 * Each row is one binary version of a function and the CUDA version that introduced it; the result
 * is the newest one that is not newer than requested. Names with a suffix such as _v2 are unknown
 * here, as in the real driver: those are for dlsym. With the flag for per-thread default streams,
 * functions with a stream argument return a version that interprets the null stream as the calling
 * thread's own. Rows newer than the fake's driver version are ignored.
 */
#include "fake.h"

#include <string.h>

/*
 * The per-thread versions: the same calls with another meaning of NULL. Exported under the real
 * names.
 */
#pragma GCC visibility push(default)
#define PER_THREAD(name, declared, ...)             \
	int name##_ptsz declared;                   \
	int name##_ptsz declared                    \
	{                                           \
		if (!stream)                        \
			stream = STREAM_PER_THREAD; \
		return name(__VA_ARGS__);           \
	}

PER_THREAD(cuMemAllocAsync, (unsigned long long *address, size_t bytes, struct CUstream_st *stream),
	   address, bytes, stream)
PER_THREAD(cuMemAllocFromPoolAsync,
	   (unsigned long long *address, size_t bytes, struct CUmemPoolHandle_st *pool,
	    struct CUstream_st *stream),
	   address, bytes, pool, stream)
PER_THREAD(cuMemFreeAsync, (unsigned long long address, struct CUstream_st *stream), address,
	   stream)
PER_THREAD(cuMemcpyAsync,
	   (unsigned long long to, unsigned long long from, size_t bytes,
	    struct CUstream_st *stream),
	   to, from, bytes, stream)
PER_THREAD(cuMemcpyPeerAsync,
	   (unsigned long long to, struct CUctx_st *to_context, unsigned long long from,
	    struct CUctx_st *from_context, size_t bytes, struct CUstream_st *stream),
	   to, to_context, from, from_context, bytes, stream)
PER_THREAD(cuMemcpyHtoDAsync_v2,
	   (unsigned long long to, const void *from, size_t bytes, struct CUstream_st *stream), to,
	   from, bytes, stream)
PER_THREAD(cuMemcpyDtoHAsync_v2,
	   (void *to, unsigned long long from, size_t bytes, struct CUstream_st *stream), to, from,
	   bytes, stream)
PER_THREAD(cuMemcpyDtoDAsync_v2,
	   (unsigned long long to, unsigned long long from, size_t bytes,
	    struct CUstream_st *stream),
	   to, from, bytes, stream)
PER_THREAD(cuMemsetD8Async,
	   (unsigned long long to, unsigned char value, size_t bytes, struct CUstream_st *stream),
	   to, value, bytes, stream)
PER_THREAD(cuStreamSynchronize, (struct CUstream_st * stream), stream)
PER_THREAD(cuStreamQuery, (struct CUstream_st * stream), stream)
PER_THREAD(cuStreamWaitEvent,
	   (struct CUstream_st * stream, struct CUevent_st *event, unsigned int flags), stream,
	   event, flags)
PER_THREAD(cuEventRecord, (struct CUevent_st * event, struct CUstream_st *stream), event, stream)
PER_THREAD(cuStreamGetId, (struct CUstream_st * stream, unsigned long long *id), stream, id)
PER_THREAD(cuStreamBeginCapture, (struct CUstream_st * stream), stream)
PER_THREAD(cuStreamBeginCapture_v2, (struct CUstream_st * stream, int mode), stream, mode)
PER_THREAD(cuStreamBeginCaptureToGraph,
	   (struct CUstream_st * stream, struct CUgraph_st *graph, const void *dependencies,
	    const void *edges, size_t count, int mode),
	   stream, graph, dependencies, edges, count, mode)
PER_THREAD(cuStreamEndCapture, (struct CUstream_st * stream, struct CUgraph_st **graph), stream,
	   graph)
PER_THREAD(cuStreamIsCapturing, (struct CUstream_st * stream, int *status), stream, status)
#pragma GCC visibility pop

struct row {
	const char *name;
	int since; /* 1000 * major + 10 * minor */
	void *function;
	void *per_thread; /* or NULL */
};

#define PLAIN(name, since)                       \
	{                                        \
#name, since, (void *)name, NULL \
	}
#define FORM(name, since, form)                  \
	{                                        \
#name, since, (void *)form, NULL \
	}
#define BOTH(name, since, form)                                 \
	{                                                       \
#name, since, (void *)form, (void *)form##_ptsz \
	}

static const struct row rows[] = {
	PLAIN(cuInit, 2000),
	PLAIN(cuDriverGetVersion, 2020),
	PLAIN(cuGetErrorName, 6000),
	PLAIN(cuGetErrorString, 6000),
	FORM(cuGetProcAddress, 11030, cuGetProcAddress),
	FORM(cuGetProcAddress, 12000, cuGetProcAddress_v2),
	PLAIN(cuGetExportTable, 3000),
	PLAIN(cuCheckpointProcessGetState, 12080),
	PLAIN(cuCheckpointProcessLock, 12080),
	PLAIN(cuCheckpointProcessCheckpoint, 12080),
	PLAIN(cuCheckpointProcessRestore, 12080),
	PLAIN(cuCheckpointProcessUnlock, 12080),
	PLAIN(cuDeviceGet, 2000),
	PLAIN(cuDeviceGetCount, 2000),
	PLAIN(cuDeviceGetName, 2000),
	FORM(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2),
	PLAIN(cuDeviceGetAttribute, 2000),
	FORM(cuDeviceGetUuid, 9020, cuDeviceGetUuid_v2),
	PLAIN(cuDevicePrimaryCtxRetain, 7000),
	FORM(cuDevicePrimaryCtxRelease, 7000, cuDevicePrimaryCtxRelease),
	FORM(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2),
	FORM(cuDevicePrimaryCtxReset, 7000, cuDevicePrimaryCtxReset),
	FORM(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2),
	PLAIN(cuDevicePrimaryCtxGetState, 7000),
	FORM(cuDevicePrimaryCtxSetFlags, 11000, cuDevicePrimaryCtxSetFlags_v2),
	FORM(cuCtxCreate, 3020, cuCtxCreate_v2),
	FORM(cuCtxCreate, 12050, cuCtxCreate_v4),
	PLAIN(cuCtxAttach, 2000),
	PLAIN(cuCtxDetach, 2000),
	PLAIN(cuCtxDestroy, 2000),
	FORM(cuCtxDestroy, 4000, cuCtxDestroy_v2),
	PLAIN(cuCtxGetCurrent, 4000),
	PLAIN(cuCtxSetCurrent, 4000),
	FORM(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2),
	FORM(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2),
	PLAIN(cuCtxGetDevice, 2000),
	FORM(cuCtxGetDevice, 13000, cuCtxGetDevice_v2),
	PLAIN(cuCtxGetStreamPriorityRange, 5050),
	PLAIN(cuCtxGetId, 12000),
	PLAIN(cuCtxSynchronize, 2000),
	FORM(cuCtxSynchronize, 13000, cuCtxSynchronize_v2),
	PLAIN(cuCtxRecordEvent, 12050),
	PLAIN(cuGreenCtxCreate, 12040),
	PLAIN(cuGreenCtxDestroy, 12040),
	PLAIN(cuCtxFromGreenCtx, 12040),
	PLAIN(cuGreenCtxRecordEvent, 12040),
	PLAIN(cuGreenCtxStreamCreate, 12050),
	PLAIN(cuDeviceCanAccessPeer, 4000),
	PLAIN(cuDeviceGetP2PAttribute, 8000),
	PLAIN(cuDeviceGetPCIBusId, 4010),
	PLAIN(cuCtxEnablePeerAccess, 4000),
	PLAIN(cuCtxDisablePeerAccess, 4000),
	FORM(cuMemAlloc, 3020, cuMemAlloc_v2),
	FORM(cuMemFree, 3020, cuMemFree_v2),
	FORM(cuMemAllocPitch, 3020, cuMemAllocPitch_v2),
	PLAIN(cuMemAllocManaged, 6000),
	PLAIN(cuMemHostAlloc, 2020),
	FORM(cuMemAllocHost, 3020, cuMemAllocHost_v2),
	PLAIN(cuMemFreeHost, 2000),
	FORM(cuMemHostRegister, 6050, cuMemHostRegister_v2),
	PLAIN(cuMemHostUnregister, 4000),
	FORM(cuMemGetInfo, 3020, cuMemGetInfo_v2),
	FORM(cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2),
	PLAIN(cuMemGetHandleForAddressRange, 11070),
	PLAIN(cuPointerGetAttribute, 4000),
	PLAIN(cuPointerGetAttributes, 7000),
	PLAIN(cuPointerSetAttribute, 6000),
	FORM(cuArrayCreate, 3020, cuArrayCreate_v2),
	FORM(cuArray3DCreate, 3020, cuArray3DCreate_v2),
	PLAIN(cuArrayDestroy, 2000),
	PLAIN(cuMipmappedArrayCreate, 5000),
	PLAIN(cuMipmappedArrayDestroy, 5000),
	PLAIN(cuIpcGetMemHandle, 4010),
	PLAIN(cuIpcOpenMemHandle, 4010),
	FORM(cuIpcOpenMemHandle, 11000, cuIpcOpenMemHandle_v2),
	PLAIN(cuIpcCloseMemHandle, 4010),
	PLAIN(cuMemGetAllocationGranularity, 10020),
	PLAIN(cuMemAddressReserve, 10020),
	PLAIN(cuMemAddressFree, 10020),
	PLAIN(cuMemCreate, 10020),
	PLAIN(cuMemRelease, 10020),
	PLAIN(cuMemRetainAllocationHandle, 11000),
	PLAIN(cuMemMap, 10020),
	PLAIN(cuMemUnmap, 10020),
	PLAIN(cuMemSetAccess, 10020),
	PLAIN(cuMemGetAccess, 10020),
	PLAIN(cuMemExportToShareableHandle, 10020),
	PLAIN(cuMemImportFromShareableHandle, 10020),
	PLAIN(cuMemGetAllocationPropertiesFromHandle, 10020),
	PLAIN(cuDeviceGetDefaultMemPool, 11020),
	PLAIN(cuDeviceGetMemPool, 11020),
	PLAIN(cuDeviceSetMemPool, 11020),
	PLAIN(cuMemPoolCreate, 11020),
	PLAIN(cuMemPoolDestroy, 11020),
	PLAIN(cuMemPoolSetAttribute, 11020),
	PLAIN(cuMemPoolGetAttribute, 11020),
	PLAIN(cuMemPoolTrimTo, 11020),
	BOTH(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync),
	BOTH(cuMemAllocAsync, 11020, cuMemAllocAsync),
	BOTH(cuMemFreeAsync, 11020, cuMemFreeAsync),
	PLAIN(cuMemcpy, 4000),
	BOTH(cuMemcpyAsync, 4000, cuMemcpyAsync),
	PLAIN(cuMemcpyPeer, 4000),
	BOTH(cuMemcpyPeerAsync, 4000, cuMemcpyPeerAsync),
	FORM(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2),
	FORM(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2),
	FORM(cuMemcpyDtoD, 3020, cuMemcpyDtoD_v2),
	BOTH(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2),
	BOTH(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2),
	BOTH(cuMemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2),
	FORM(cuMemsetD8, 3020, cuMemsetD8_v2),
	BOTH(cuMemsetD8Async, 3020, cuMemsetD8Async),
	PLAIN(cuStreamCreate, 2000),
	PLAIN(cuStreamCreateWithPriority, 5050),
	PLAIN(cuStreamDestroy, 2000),
	FORM(cuStreamDestroy, 4000, cuStreamDestroy_v2),
	BOTH(cuStreamSynchronize, 2000, cuStreamSynchronize),
	BOTH(cuStreamQuery, 2000, cuStreamQuery),
	BOTH(cuStreamWaitEvent, 3020, cuStreamWaitEvent),
	BOTH(cuStreamGetId, 12000, cuStreamGetId),
	PLAIN(cuEventCreate, 2000),
	FORM(cuEventDestroy, 4000, cuEventDestroy_v2),
	BOTH(cuEventRecord, 2000, cuEventRecord),
	PLAIN(cuEventQuery, 2000),
	PLAIN(cuEventSynchronize, 2000),
	PLAIN(cuEventElapsedTime, 2000),
	PLAIN(cuThreadExchangeStreamCaptureMode, 10010),
	BOTH(cuStreamBeginCapture, 10000, cuStreamBeginCapture),
	BOTH(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2),
	BOTH(cuStreamBeginCaptureToGraph, 12030, cuStreamBeginCaptureToGraph),
	BOTH(cuStreamEndCapture, 10000, cuStreamEndCapture),
	BOTH(cuStreamIsCapturing, 10000, cuStreamIsCapturing),
	PLAIN(cuGraphCreate, 10000),
	PLAIN(cuGraphDestroy, 10000),
	PLAIN(cuGraphAddMemAllocNode, 11040),
	PLAIN(cuGraphAddNode, 12020),
	FORM(cuGraphAddNode, 12030, cuGraphAddNode_v2),
	PLAIN(cuGraphInstantiateWithFlags, 11040),
	PLAIN(cuGraphExecDestroy, 10000),
	PLAIN(cuGraphLaunch, 10000),
	PLAIN(cuDeviceGraphMemTrim, 11040),
	PLAIN(cuDeviceGetGraphMemAttribute, 11040),
	PLAIN(cuModuleLoadData, 2000),
	PLAIN(cuModuleUnload, 2000),
	PLAIN(cuModuleGetFunction, 2000),
	PLAIN(cuLaunchKernel, 4000),
};

static int look_up(const char *symbol, int version, uint64_t flags, void **function)
{
	const struct row *best = NULL;
	bool known = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];

		if (row->since > fake_knobs.version || strcmp(row->name, symbol) != 0)
			continue;
		known = true;
		if (row->since <= version && (!best || row->since > best->since))
			best = row;
	}
	*function = NULL;
	if (!best)
		return known ? PROC_TOO_NEW : PROC_UNKNOWN;
	*function = flags & PROC_PER_THREAD_STREAM && best->per_thread ? best->per_thread
								       : best->function;
	return PROC_FOUND;
}

static int get(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
	int result = fake_enter_early("cuGetProcAddress");

	*status = PROC_UNKNOWN;
	if (result == CUDA_SUCCESS && (!symbol || !function || version > fake_knobs.version ||
				       flags > PROC_PER_THREAD_STREAM))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*status = look_up(symbol, version, flags, function);
	return result;
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			int *status)
{
	int found, result = get(symbol, function, version, flags, &found);

	if (result == CUDA_SUCCESS && status)
		*status = found;
	return fake_leave("cuGetProcAddress", result, "symbol=%s version=%d flags=%d status=%d",
			  symbol ? symbol : "(null)", version, (int)flags, found);
}

/* The first version has no status: an unknown name is an error. */
int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	int found, result = get(symbol, function, version, flags, &found);

	if (result == CUDA_SUCCESS && found != PROC_FOUND)
		result = CUDA_ERROR_NOT_FOUND;
	return fake_leave("cuGetProcAddress", result, "symbol=%s version=%d flags=%d status=%d",
			  symbol ? symbol : "(null)", version, (int)flags, found);
}
