/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the functions of table.h under CUDA's names and with CUDA's binary interface, which has
 * not changed for these since they appeared. The types are spelled out, so that this object builds
 * without a CUDA toolkit:
 *   cudaError_t, CUresult  int                CUcontext    void *
 *   CUdevice               int                CUdeviceptr  unsigned long long
 */
#ifndef MAM_INTERPOSE_HOOKS_H
#define MAM_INTERPOSE_HOOKS_H

#include <stddef.h>
#include <stdint.h>

#define MAM_HOOK __attribute__((visibility("default")))

/* The codes that mam itself returns or checks; the driver and the runtime use the same values. */
enum mam_cuda_code {
	MAM_CUDA_SUCCESS = 0,
	MAM_CUDA_INVALID_VALUE = 1,
	MAM_CUDA_NOT_INITIALIZED = 3,
	MAM_CUDA_DEINITIALIZED = 4, /* the runtime: cudaErrorCudartUnloading */
	MAM_CUDA_OUT_OF_MEMORY = 2,
	MAM_CUDA_INSUFFICIENT_DRIVER = 35, /* runtime only */
	MAM_CUDA_INVALID_CONTEXT = 201,
	MAM_CUDA_INVALID_HANDLE = 400,
	MAM_CUDA_NOT_READY = 600,
	MAM_CUDA_CONTEXT_IS_DESTROYED = 709,
	MAM_CUDA_NOT_SUPPORTED = 801,
	MAM_CUDA_STREAM_DETACHED = 917 /* its green context is destroyed */
};

/* A CUipcMemHandle: 64 opaque bytes, passed by value. */
struct mam_ipc_handle {
	unsigned char bytes[64];
};

/* alloc.c, free.c, query.c */
MAM_HOOK int cudaMalloc(void **block, size_t bytes);
MAM_HOOK int cudaFree(void *block);
MAM_HOOK int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
MAM_HOOK int cuMemAlloc_v2(unsigned long long *block, size_t bytes);
MAM_HOOK int cuMemFree_v2(unsigned long long block);
MAM_HOOK int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);

/* pitch.c */
MAM_HOOK int cuMemAllocPitch_v2(unsigned long long *block, size_t *pitch, size_t width,
				size_t height, unsigned int element);

/* async.c */
MAM_HOOK int cuMemAllocAsync(unsigned long long *block, size_t bytes, void *stream);
MAM_HOOK int cuMemAllocAsync_ptsz(unsigned long long *block, size_t bytes, void *stream);
MAM_HOOK int cuMemAllocFromPoolAsync(unsigned long long *block, size_t bytes, void *pool,
				     void *stream);
MAM_HOOK int cuMemAllocFromPoolAsync_ptsz(unsigned long long *block, size_t bytes, void *pool,
					  void *stream);
MAM_HOOK int cuMemFreeAsync(unsigned long long block, void *stream);
MAM_HOOK int cuMemFreeAsync_ptsz(unsigned long long block, void *stream);

/* managed.c, array.c, physical.c */
MAM_HOOK int cuMemAllocManaged(unsigned long long *block, size_t bytes, unsigned int flags);
MAM_HOOK int cuMemHostAlloc(void **block, size_t bytes, unsigned int flags);
MAM_HOOK int cuMemAllocHost_v2(void **block, size_t bytes);
MAM_HOOK int cuMemFreeHost(void *block);
MAM_HOOK int cuArrayCreate_v2(void **array, const void *descriptor);
MAM_HOOK int cuArray3DCreate_v2(void **array, const void *descriptor);
MAM_HOOK int cuArrayDestroy(void *array);
MAM_HOOK int cuMipmappedArrayCreate(void **array, const void *descriptor, unsigned int levels);
MAM_HOOK int cuMipmappedArrayDestroy(void *array);
MAM_HOOK int cuMemCreate(unsigned long long *handle, size_t bytes, const void *properties,
			 unsigned long long flags);
MAM_HOOK int cuMemRelease(unsigned long long handle);
MAM_HOOK int cuMemRetainAllocationHandle(unsigned long long *handle, void *address);
MAM_HOOK int cuMemMap(unsigned long long address, size_t bytes, size_t offset,
		      unsigned long long handle, unsigned long long flags);
MAM_HOOK int cuMemUnmap(unsigned long long address, size_t bytes);
MAM_HOOK int cuMemSetAccess(unsigned long long address, size_t bytes, const void *access,
			    size_t count);
MAM_HOOK int cuMemGetAccess(unsigned long long *flags, const void *location,
			    unsigned long long address);

/* attribute.c */
MAM_HOOK int cuPointerGetAttribute(void *value, int attribute, unsigned long long address);
MAM_HOOK int cuPointerGetAttributes(unsigned int count, int *attributes, void **values,
				    unsigned long long address);
MAM_HOOK int cuPointerSetAttribute(const void *value, int attribute, unsigned long long address);
MAM_HOOK int cuMemGetAddressRange_v2(unsigned long long *base, size_t *bytes,
				     unsigned long long address);
MAM_HOOK int cuMemGetHandleForAddressRange(void *handle, unsigned long long address, size_t bytes,
					   int type, unsigned long long flags);

/* ipc.c */
MAM_HOOK int cuIpcGetMemHandle(struct mam_ipc_handle *handle, unsigned long long address);
MAM_HOOK int cuIpcOpenMemHandle(unsigned long long *address, struct mam_ipc_handle handle,
				unsigned int flags);
MAM_HOOK int cuIpcOpenMemHandle_v2(unsigned long long *address, struct mam_ipc_handle handle,
				   unsigned int flags);
MAM_HOOK int cuIpcCloseMemHandle(unsigned long long address);

/* capture.c */
MAM_HOOK int cuStreamBeginCapture(void *stream);
MAM_HOOK int cuStreamBeginCapture_ptsz(void *stream);
MAM_HOOK int cuStreamBeginCapture_v2(void *stream, int mode);
MAM_HOOK int cuStreamBeginCapture_v2_ptsz(void *stream, int mode);
MAM_HOOK int cuStreamBeginCaptureToGraph(void *stream, void *graph, const void *dependencies,
					 const void *data, size_t count, int mode);
MAM_HOOK int cuStreamBeginCaptureToGraph_ptsz(void *stream, void *graph, const void *dependencies,
					      const void *data, size_t count, int mode);
MAM_HOOK int cuStreamEndCapture(void *stream, void **graph);
MAM_HOOK int cuStreamEndCapture_ptsz(void *stream, void **graph);
MAM_HOOK int cuStreamDestroy(void *stream);
MAM_HOOK int cuStreamDestroy_v2(void *stream);

/* graph.c */
MAM_HOOK int cuGraphAddMemAllocNode(void **node, void *graph, const void *dependencies,
				    size_t count, void *wanted);
MAM_HOOK int cuGraphAddNode(void **node, void *graph, const void *dependencies, size_t count,
			    void *wanted);
MAM_HOOK int cuGraphAddNode_v2(void **node, void *graph, const void *dependencies,
			       const void *edges, size_t count, void *wanted);

/* peer.c */
MAM_HOOK int cuCtxEnablePeerAccess(void *context, unsigned int flags);

/* reset.c */
MAM_HOOK int cudaDeviceReset(void);
MAM_HOOK int cuDevicePrimaryCtxReset(int device);
MAM_HOOK int cuDevicePrimaryCtxReset_v2(int device);
MAM_HOOK int cuDevicePrimaryCtxRelease(int device);
MAM_HOOK int cuDevicePrimaryCtxRelease_v2(int device);
MAM_HOOK int cuCtxDetach(void *context);
MAM_HOOK int cuCtxDestroy(void *context);
MAM_HOOK int cuCtxDestroy_v2(void *context);
MAM_HOOK int cuGreenCtxDestroy(void *green);

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
