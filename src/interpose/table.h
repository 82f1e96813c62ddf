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
 * meant.
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
 * RUNTIME(ELF name)                              a function of libcudart
 * DRIVER(ELF name, base name, since, by lookup)  a function of libcuda
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
	DRIVER(cuMemAlloc_v2, cuMemAlloc, 3020, mam_alloc_by_lookup) \
	DRIVER(cuMemFree_v2, cuMemFree, 3020, mam_free_by_lookup) \
	DRIVER(cuMemGetInfo_v2, cuMemGetInfo, 3020, mam_query_info_by_lookup) \
	DRIVER(cuGetProcAddress, cuGetProcAddress, 11030, cuGetProcAddress) \
	DRIVER(cuGetProcAddress_v2, cuGetProcAddress, 12000, cuGetProcAddress_v2) \
	DRIVER(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, cuDevicePrimaryCtxReset) \
	DRIVER(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, \
	       cuDevicePrimaryCtxReset_v2) \
	DRIVER(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, \
	       cuDevicePrimaryCtxRelease) \
	DRIVER(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, \
	       cuDevicePrimaryCtxRelease_v2) \
	DRIVER(cuCtxDestroy, cuCtxDestroy, 2000, cuCtxDestroy) \
	DRIVER(cuCtxDestroy_v2, cuCtxDestroy, 4000, cuCtxDestroy_v2)

enum mam_table_id {
#define MAM_TABLE_RUNTIME_ID(name) MAM_TABLE_##name,
#define MAM_TABLE_DRIVER_ID(name, base, since, by_lookup) MAM_TABLE_##name,
	MAM_TABLE_ROWS(MAM_TABLE_RUNTIME_ID, MAM_TABLE_DRIVER_ID)
#undef MAM_TABLE_RUNTIME_ID
#undef MAM_TABLE_DRIVER_ID
	MAM_TABLE_COUNT,
	MAM_TABLE_NONE = MAM_TABLE_COUNT
};

/* The row of an ELF name, as dlsym() is asked for it; MAM_TABLE_NONE for every other name. */
enum mam_table_id mam_table_by_name(const char *name);

/* The row of a base name and a version, as cuGetProcAddress() is asked for it. */
enum mam_table_id mam_table_by_base(const char *base, int version);

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
