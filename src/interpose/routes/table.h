/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - the functions libmam-preload.so stands in for, one row each. Nothing else lists them.
 *
 * A program reaches a CUDA function by one of two roads, and a row says what waits on each:
 *   symbol   The dynamic linker binds the ELF name: a shared libcudart, a program linked with
 *            -lcuda. The function of that name which this object exports. dlsym() and dlvsym()
 *            with a real handle lead to the same function.
 *   lookup   cuGetProcAddress() and its kin, by base name and version: how every libcudart,
 *            static or shared, finds the driver. A function of its own where calls are counted by
 *            road, otherwise the same one.
 * A base name may have several rows; the one with the highest version not above the asked one is
 * meant. Where the default stream matters there are two kinds of each: LEGACY, and PER_THREAD for
 * those who ask for per-thread default streams, answered by a function of its own. ANY serves both.
 *
 * What is absent on purpose: cuMemAlloc and cuMemFree without _v2. Their pointers have 32 bits,
 * so no block of a pool fits and none can come back; they go to the driver unseen.
 * cuGetExportTable is never touched: libcudart checks it.
 *
 * To catch one more function: a row here, its prototype in hooks.h, its body in the file of its
 * kind.
 */
#ifndef MAM_INTERPOSE_TABLE_H
#define MAM_INTERPOSE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * RUNTIME(ELF name)                                      a function of libcudart
 * DRIVER(ELF name, base name, since, kind, by lookup)    a function of libcuda
 */
#define MAM_TABLE_ROWS(RUNTIME, DRIVER) \
	RUNTIME(cudaMalloc) \
	RUNTIME(cudaFree) \
	RUNTIME(cudaMemGetInfo) \
	RUNTIME(cudaDeviceReset) \
	RUNTIME(cudaGetDriverEntryPoint) \
	RUNTIME(cudaGetDriverEntryPoint_ptsz) \
	RUNTIME(cudaGetDriverEntryPointByVersion) \
	RUNTIME(cudaGetDriverEntryPointByVersion_ptsz) \
	DRIVER(cuMemAlloc_v2, cuMemAlloc, 3020, ANY, mam_by_lookup_cuMemAlloc_v2) \
	DRIVER(cuMemFree_v2, cuMemFree, 3020, ANY, mam_by_lookup_cuMemFree_v2) \
	DRIVER(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, ANY, mam_by_lookup_cuMemAllocPitch_v2) \
	DRIVER(cuMemGetInfo_v2, cuMemGetInfo, 3020, ANY, mam_by_lookup_cuMemGetInfo_v2) \
	DRIVER(cuMemAllocAsync, cuMemAllocAsync, 11020, LEGACY, mam_by_lookup_cuMemAllocAsync) \
	DRIVER(cuMemAllocAsync_ptsz, cuMemAllocAsync, 11020, PER_THREAD, \
	       mam_by_lookup_cuMemAllocAsync_ptsz) \
	DRIVER(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, LEGACY, \
	       mam_by_lookup_cuMemAllocFromPoolAsync) \
	DRIVER(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync, 11020, PER_THREAD, \
	       mam_by_lookup_cuMemAllocFromPoolAsync_ptsz) \
	DRIVER(cuMemFreeAsync, cuMemFreeAsync, 11020, LEGACY, mam_by_lookup_cuMemFreeAsync) \
	DRIVER(cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020, PER_THREAD, \
	       mam_by_lookup_cuMemFreeAsync_ptsz) \
	DRIVER(cuMemAllocManaged, cuMemAllocManaged, 6000, ANY, mam_by_lookup_cuMemAllocManaged) \
	DRIVER(cuMemHostAlloc, cuMemHostAlloc, 2020, ANY, mam_by_lookup_cuMemHostAlloc) \
	DRIVER(cuMemAllocHost_v2, cuMemAllocHost, 3020, ANY, mam_by_lookup_cuMemAllocHost_v2) \
	DRIVER(cuMemFreeHost, cuMemFreeHost, 2000, ANY, mam_by_lookup_cuMemFreeHost) \
	DRIVER(cuArrayCreate_v2, cuArrayCreate, 3020, ANY, mam_by_lookup_cuArrayCreate_v2) \
	DRIVER(cuArray3DCreate_v2, cuArray3DCreate, 3020, ANY, mam_by_lookup_cuArray3DCreate_v2) \
	DRIVER(cuArrayDestroy, cuArrayDestroy, 2000, ANY, mam_by_lookup_cuArrayDestroy) \
	DRIVER(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000, ANY, \
	       mam_by_lookup_cuMipmappedArrayCreate) \
	DRIVER(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, 5000, ANY, \
	       mam_by_lookup_cuMipmappedArrayDestroy) \
	DRIVER(cuMemCreate, cuMemCreate, 10020, ANY, mam_by_lookup_cuMemCreate) \
	DRIVER(cuMemRelease, cuMemRelease, 10020, ANY, mam_by_lookup_cuMemRelease) \
	DRIVER(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000, ANY, \
	       cuMemRetainAllocationHandle) \
	DRIVER(cuMemMap, cuMemMap, 10020, ANY, cuMemMap) \
	DRIVER(cuMemUnmap, cuMemUnmap, 10020, ANY, cuMemUnmap) \
	DRIVER(cuPointerGetAttribute, cuPointerGetAttribute, 4000, ANY, \
	       mam_by_lookup_cuPointerGetAttribute) \
	DRIVER(cuPointerGetAttributes, cuPointerGetAttributes, 7000, ANY, \
	       mam_by_lookup_cuPointerGetAttributes) \
	DRIVER(cuPointerSetAttribute, cuPointerSetAttribute, 6000, ANY, \
	       mam_by_lookup_cuPointerSetAttribute) \
	DRIVER(cuMemGetAddressRange_v2, cuMemGetAddressRange, 3020, ANY, \
	       mam_by_lookup_cuMemGetAddressRange_v2) \
	DRIVER(cuMemGetHandleForAddressRange, cuMemGetHandleForAddressRange, 11070, ANY, \
	       mam_by_lookup_cuMemGetHandleForAddressRange) \
	DRIVER(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, ANY, mam_by_lookup_cuIpcGetMemHandle) \
	DRIVER(cuIpcOpenMemHandle, cuIpcOpenMemHandle, 4010, ANY, \
	       mam_by_lookup_cuIpcOpenMemHandle) \
	DRIVER(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, 11000, ANY, \
	       mam_by_lookup_cuIpcOpenMemHandle_v2) \
	DRIVER(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, ANY, \
	       mam_by_lookup_cuIpcCloseMemHandle) \
	DRIVER(cuStreamBeginCapture, cuStreamBeginCapture, 10000, LEGACY, cuStreamBeginCapture) \
	DRIVER(cuStreamBeginCapture_ptsz, cuStreamBeginCapture, 10000, PER_THREAD, \
	       cuStreamBeginCapture_ptsz) \
	DRIVER(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010, LEGACY, \
	       cuStreamBeginCapture_v2) \
	DRIVER(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture, 10010, PER_THREAD, \
	       cuStreamBeginCapture_v2_ptsz) \
	DRIVER(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030, LEGACY, \
	       cuStreamBeginCaptureToGraph) \
	DRIVER(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph, 12030, PER_THREAD, \
	       cuStreamBeginCaptureToGraph_ptsz) \
	DRIVER(cuStreamEndCapture, cuStreamEndCapture, 10000, LEGACY, cuStreamEndCapture) \
	DRIVER(cuStreamEndCapture_ptsz, cuStreamEndCapture, 10000, PER_THREAD, \
	       cuStreamEndCapture_ptsz) \
	DRIVER(cuStreamDestroy, cuStreamDestroy, 2000, ANY, cuStreamDestroy) \
	DRIVER(cuStreamDestroy_v2, cuStreamDestroy, 4000, ANY, cuStreamDestroy_v2) \
	DRIVER(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, 11040, ANY, \
	       mam_by_lookup_cuGraphAddMemAllocNode) \
	DRIVER(cuGraphAddNode, cuGraphAddNode, 12020, ANY, mam_by_lookup_cuGraphAddNode) \
	DRIVER(cuGraphAddNode_v2, cuGraphAddNode, 12030, ANY, mam_by_lookup_cuGraphAddNode_v2) \
	DRIVER(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, ANY, cuCtxEnablePeerAccess) \
	DRIVER(cuGetProcAddress, cuGetProcAddress, 11030, ANY, cuGetProcAddress) \
	DRIVER(cuGetProcAddress_v2, cuGetProcAddress, 12000, ANY, cuGetProcAddress_v2) \
	DRIVER(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, ANY, \
	       cuDevicePrimaryCtxReset) \
	DRIVER(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, ANY, \
	       cuDevicePrimaryCtxReset_v2) \
	DRIVER(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, ANY, \
	       cuDevicePrimaryCtxRelease) \
	DRIVER(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, ANY, \
	       cuDevicePrimaryCtxRelease_v2) \
	DRIVER(cuCtxDetach, cuCtxDetach, 2000, ANY, cuCtxDetach) \
	DRIVER(cuCtxDestroy, cuCtxDestroy, 2000, ANY, cuCtxDestroy) \
	DRIVER(cuCtxDestroy_v2, cuCtxDestroy, 4000, ANY, cuCtxDestroy_v2) \
	DRIVER(cuGreenCtxDestroy, cuGreenCtxDestroy, 12040, ANY, cuGreenCtxDestroy)

enum mam_table_id {
#define MAM_TABLE_RUNTIME_ID(name) MAM_TABLE_##name,
#define MAM_TABLE_DRIVER_ID(name, base, since, kind, by_lookup) MAM_TABLE_##name,
	MAM_TABLE_ROWS(MAM_TABLE_RUNTIME_ID, MAM_TABLE_DRIVER_ID)
#undef MAM_TABLE_RUNTIME_ID
#undef MAM_TABLE_DRIVER_ID
	MAM_TABLE_COUNT,
	MAM_TABLE_NONE = MAM_TABLE_COUNT
};

/* The row of an ELF name, as dlsym() is asked for it; MAM_TABLE_NONE for every other name. */
enum mam_table_id mam_table_by_name(const char *name);

/* The row of a base name, a version and flags, as cuGetProcAddress() is asked for it. */
enum mam_table_id mam_table_by_base(const char *base, int version, uint64_t flags);

/* The ELF name of a row: "cuMemAlloc_v2". */
const char *mam_table_name(enum mam_table_id id);

/* The driver's row whose original is known to be `function`. */
enum mam_table_id mam_table_by_original(const void *function);

/*
 * mam_table_swap - what to answer in place of `found`, which a real lookup gave for the row.
 *
 * Remembers `found` as the original of the row. One original a row is all a replacement can know,
 * so a second, different function of the runtime (two libcudart in one process) is left as it is:
 * its driver calls are caught below.
 */
void *mam_table_swap(enum mam_table_id id, void *found, bool by_lookup);

/*
 * mam_table_original - the real function of a row: remembered, or the next one of that name
 * behind this object, or that of a loaded CUDA library. NULL: there is none in this process.
 */
void *mam_table_original(enum mam_table_id id);

/* The same with the type of our function of that name (hooks.h). */
#define MAM_TABLE_ORIGINAL(name) \
	((__typeof__(&(name)))(uintptr_t)mam_table_original(MAM_TABLE_##name))

#endif
