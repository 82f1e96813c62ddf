/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - the functions that libmam-preload.so replaces, one row each. There is no other list of
 * them.
 *
 * A program reaches a CUDA function through one of two interfaces. A row names the replacement in
 * each:
 *   symbol   The dynamic linker binds the ELF name: a shared libcudart, or a program linked with
 *            -lcuda. The replacement is the function of that name that this object exports. dlsym()
 *            and dlvsym() with a real handle return the same function.
 *   lookup   cuGetProcAddress() and related functions, by base name and version: how every
 *            libcudart, static or shared, finds the driver. The replacement is a separate function
 *            if calls are counted by interface, otherwise the same one.
 *
 * A base name may have several rows; the highest version that does not exceed the requested one is
 * selected. If the default stream matters, each has two kinds: LEGACY, and PER_THREAD for callers
 * that request per-thread default streams, with a separate function. ANY serves both.
 *
 * cuMemAlloc and cuMemFree without _v2 are absent on purpose. Their pointers have 32 bits, so they
 * can neither return nor free a block of a pool; they go directly to the driver. cuGetExportTable
 * is never replaced: libcudart checks it.
 *
 * To intercept one more function, add a row here, its prototype to hooks.h, and its body to the
 * file of its kind.
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

/* Returns the row of an ELF name, as passed to dlsym(); MAM_TABLE_NONE for every other name. */
enum mam_table_id mam_table_by_name(const char *name);

/* Returns the row of a base name, a version and flags, as passed to cuGetProcAddress(). */
enum mam_table_id mam_table_by_base(const char *base, int version, uint64_t flags);

/* The ELF name of a row: "cuMemAlloc_v2". */
const char *mam_table_name(enum mam_table_id id);

/* Returns the driver's row whose known original is `function`. */
enum mam_table_id mam_table_by_original(const void *function);

/*
 * mam_table_swap - return the replacement for `found`, which a real lookup returned for the row.
 *
 * Remembers `found` as the original of the row. A replacement can know only one original per row.
 * So a second, different function of the runtime (two libcudart in one process) is returned
 * unchanged: its driver calls are intercepted below it.
 */
void *mam_table_swap(enum mam_table_id id, void *found, bool by_lookup);

/*
 * mam_table_original - return the real function of a row: the remembered one, or the next one of
 * that name after this object, or that of a loaded CUDA library. NULL if this process has none.
 */
void *mam_table_original(enum mam_table_id id);

/* The same, with the type of our function of that name (hooks.h). */
#define MAM_TABLE_ORIGINAL(name) \
	((__typeof__(&(name)))(uintptr_t)mam_table_original(MAM_TABLE_##name))

#endif
