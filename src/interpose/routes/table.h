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
 *            libcudart, static or shared, finds the driver. The replacement is a thunk (thunk.h) if
 *            calls are counted by interface, otherwise the same function.
 *
 * A base name may have several rows; the highest version that does not exceed the requested one is
 * selected. If the default stream matters, each has two kinds: LEGACY, and PER_THREAD for callers
 * that request per-thread default streams, with a separate function. ANY serves both.
 *
 * cuMemAlloc and cuMemFree without _v2 are absent on purpose. Their pointers have 32 bits, so they
 * can neither return nor free a block of a pool; they go directly to the driver. cuGetExportTable
 * is never replaced: libcudart checks it.
 *
 * To intercept one more function, add a row here, its prototype to hooks.h, its body to the file of
 * its kind, and after it MAM_THUNK() if the row is COUNTED.
 */
#ifndef MAM_INTERPOSE_TABLE_H
#define MAM_INTERPOSE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * RUNTIME(ELF name)                            a function of libcudart
 * DRIVER(ELF name, base name, since, kind)     a function of libcuda
 * COUNTED(ELF name, base name, since, kind)    the same, with calls counted by interface
 */
/* clang-format off */
#define MAM_TABLE_ROWS(RUNTIME, DRIVER, COUNTED) \
	RUNTIME(cudaMalloc) \
	RUNTIME(cudaFree) \
	RUNTIME(cudaMemGetInfo) \
	RUNTIME(cudaDeviceReset) \
	RUNTIME(cudaGetDriverEntryPoint) \
	RUNTIME(cudaGetDriverEntryPoint_ptsz) \
	RUNTIME(cudaGetDriverEntryPointByVersion) \
	RUNTIME(cudaGetDriverEntryPointByVersion_ptsz) \
	COUNTED(cuMemAlloc_v2, cuMemAlloc, 3020, ANY) \
	COUNTED(cuMemFree_v2, cuMemFree, 3020, ANY) \
	COUNTED(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, ANY) \
	COUNTED(cuMemGetInfo_v2, cuMemGetInfo, 3020, ANY) \
	COUNTED(cuMemAllocAsync, cuMemAllocAsync, 11020, LEGACY) \
	COUNTED(cuMemAllocAsync_ptsz, cuMemAllocAsync, 11020, PER_THREAD) \
	COUNTED(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, LEGACY) \
	COUNTED(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync, 11020, PER_THREAD) \
	COUNTED(cuMemFreeAsync, cuMemFreeAsync, 11020, LEGACY) \
	COUNTED(cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020, PER_THREAD) \
	COUNTED(cuMemAllocManaged, cuMemAllocManaged, 6000, ANY) \
	COUNTED(cuMemHostAlloc, cuMemHostAlloc, 2020, ANY) \
	COUNTED(cuMemAllocHost_v2, cuMemAllocHost, 3020, ANY) \
	COUNTED(cuMemFreeHost, cuMemFreeHost, 2000, ANY) \
	COUNTED(cuArrayCreate_v2, cuArrayCreate, 3020, ANY) \
	COUNTED(cuArray3DCreate_v2, cuArray3DCreate, 3020, ANY) \
	COUNTED(cuArrayDestroy, cuArrayDestroy, 2000, ANY) \
	COUNTED(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000, ANY) \
	COUNTED(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, 5000, ANY) \
	COUNTED(cuMemCreate, cuMemCreate, 10020, ANY) \
	COUNTED(cuMemRelease, cuMemRelease, 10020, ANY) \
	DRIVER(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000, ANY) \
	DRIVER(cuMemMap, cuMemMap, 10020, ANY) \
	DRIVER(cuMemUnmap, cuMemUnmap, 10020, ANY) \
	DRIVER(cuMemSetAccess, cuMemSetAccess, 10020, ANY) \
	DRIVER(cuMemGetAccess, cuMemGetAccess, 10020, ANY) \
	COUNTED(cuPointerGetAttribute, cuPointerGetAttribute, 4000, ANY) \
	COUNTED(cuPointerGetAttributes, cuPointerGetAttributes, 7000, ANY) \
	COUNTED(cuPointerSetAttribute, cuPointerSetAttribute, 6000, ANY) \
	COUNTED(cuMemGetAddressRange_v2, cuMemGetAddressRange, 3020, ANY) \
	COUNTED(cuMemGetHandleForAddressRange, cuMemGetHandleForAddressRange, 11070, ANY) \
	COUNTED(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, ANY) \
	COUNTED(cuIpcOpenMemHandle, cuIpcOpenMemHandle, 4010, ANY) \
	COUNTED(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, 11000, ANY) \
	COUNTED(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, ANY) \
	DRIVER(cuStreamBeginCapture, cuStreamBeginCapture, 10000, LEGACY) \
	DRIVER(cuStreamBeginCapture_ptsz, cuStreamBeginCapture, 10000, PER_THREAD) \
	DRIVER(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010, LEGACY) \
	DRIVER(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture, 10010, PER_THREAD) \
	DRIVER(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030, LEGACY) \
	DRIVER(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph, 12030, PER_THREAD) \
	DRIVER(cuStreamEndCapture, cuStreamEndCapture, 10000, LEGACY) \
	DRIVER(cuStreamEndCapture_ptsz, cuStreamEndCapture, 10000, PER_THREAD) \
	DRIVER(cuStreamDestroy, cuStreamDestroy, 2000, ANY) \
	DRIVER(cuStreamDestroy_v2, cuStreamDestroy, 4000, ANY) \
	COUNTED(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, 11040, ANY) \
	COUNTED(cuGraphAddNode, cuGraphAddNode, 12020, ANY) \
	COUNTED(cuGraphAddNode_v2, cuGraphAddNode, 12030, ANY) \
	DRIVER(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, ANY) \
	DRIVER(cuGetProcAddress, cuGetProcAddress, 11030, ANY) \
	DRIVER(cuGetProcAddress_v2, cuGetProcAddress, 12000, ANY) \
	DRIVER(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, ANY) \
	DRIVER(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, ANY) \
	DRIVER(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, ANY) \
	DRIVER(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, ANY) \
	DRIVER(cuCtxDetach, cuCtxDetach, 2000, ANY) \
	DRIVER(cuCtxDestroy, cuCtxDestroy, 2000, ANY) \
	DRIVER(cuCtxDestroy_v2, cuCtxDestroy, 4000, ANY) \
	DRIVER(cuGreenCtxDestroy, cuGreenCtxDestroy, 12040, ANY)
/* clang-format on */

enum mam_table_id {
#define MAM_TABLE_RUNTIME_ID(name) MAM_TABLE_##name,
#define MAM_TABLE_DRIVER_ID(name, base, since, kind) MAM_TABLE_##name,
	MAM_TABLE_ROWS(MAM_TABLE_RUNTIME_ID, MAM_TABLE_DRIVER_ID, MAM_TABLE_DRIVER_ID)
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
