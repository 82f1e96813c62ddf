/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the functions of table.h under CUDA's names and with CUDA's binary interface, which
 * has not changed for these since they appeared. The types are spelled out, so that this object
 * builds without a CUDA toolkit:
 *   cudaError_t, CUresult  int                CUcontext    void *
 *   CUdevice               int                CUdeviceptr  unsigned long long
 */
#ifndef MAM_INTERPOSE_HOOKS_H
#define MAM_INTERPOSE_HOOKS_H

#include <stddef.h>
#include <stdint.h>

#define MAM_HOOK __attribute__((visibility("default")))

/* The codes that mam itself answers or asks about; the driver and the runtime agree on them. */
enum mam_cuda_code {
	MAM_CUDA_SUCCESS = 0,
	MAM_CUDA_NOT_INITIALIZED = 3,
	MAM_CUDA_DEINITIALIZED = 4,       /* the runtime: cudaErrorCudartUnloading */
	MAM_CUDA_INSUFFICIENT_DRIVER = 35 /* runtime only */
};

/* alloc.c, free.c, query.c */
MAM_HOOK int cudaMalloc(void **block, size_t bytes);
MAM_HOOK int cudaFree(void *block);
MAM_HOOK int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
MAM_HOOK int cuMemAlloc_v2(unsigned long long *block, size_t bytes);
MAM_HOOK int cuMemFree_v2(unsigned long long block);
MAM_HOOK int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
int mam_alloc_by_lookup(unsigned long long *block, size_t bytes);
int mam_free_by_lookup(unsigned long long block);
int mam_query_info_by_lookup(size_t *free_bytes, size_t *total_bytes);

/* reset.c */
MAM_HOOK int cudaDeviceReset(void);
MAM_HOOK int cuDevicePrimaryCtxReset(int device);
MAM_HOOK int cuDevicePrimaryCtxReset_v2(int device);
MAM_HOOK int cuDevicePrimaryCtxRelease(int device);
MAM_HOOK int cuDevicePrimaryCtxRelease_v2(int device);
MAM_HOOK int cuCtxDestroy(void *context);
MAM_HOOK int cuCtxDestroy_v2(void *context);

/* entry.c */
MAM_HOOK int cuGetProcAddress(const char *name, void **found, int version, uint64_t flags);
MAM_HOOK int cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags,
				 int *status);
MAM_HOOK int cudaGetDriverEntryPoint(const char *name, void **found, unsigned long long flags,
				     int *status);
MAM_HOOK int cudaGetDriverEntryPoint_ptsz(const char *name, void **found, unsigned long long flags,
					  int *status);
MAM_HOOK int cudaGetDriverEntryPointByVersion(const char *name, void **found, unsigned int version,
					      unsigned long long flags, int *status);
MAM_HOOK int cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **found,
						   unsigned int version, unsigned long long flags,
						   int *status);

#endif
