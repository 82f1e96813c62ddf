/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h - the CUDA driver API, loaded at run time.
 *
 * mam includes no CUDA header and links to no CUDA library. It opens the driver by name when it
 * first needs it, and calls the driver's functions through the table below. The prototypes are our
 * own: a CUresult and other enums are unsigned int, as compilers define them, a CUdevice is int, a
 * CUdeviceptr is unsigned long long, and handles point to the driver's own opaque structs. A test
 * compares each with the toolkit's.
 */
#ifndef MAM_SOURCE_DRIVER_H
#define MAM_SOURCE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUmemAllocationProp_st;
struct CUmemAccessDesc_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphEdgeData_st;

/* The results that mam distinguishes. */
#define MAM_DRIVER_SUCCESS 0u
#define MAM_DRIVER_INVALID_VALUE 1u
#define MAM_DRIVER_OUT_OF_MEMORY 2u
#define MAM_DRIVER_DEINITIALIZED 4u
#define MAM_DRIVER_CONTEXT_IS_DESTROYED 709u
#define MAM_DRIVER_NO_DEVICE 100u
#define MAM_DRIVER_INVALID_DEVICE 101u
#define MAM_DRIVER_INVALID_CONTEXT 201u
#define MAM_DRIVER_INVALID_HANDLE 400u
#define MAM_DRIVER_NOT_READY 600u
#define MAM_DRIVER_CAPTURE_IMPLICIT 906u

/* The capture mode in which this thread's calls do not invalidate stream captures. */
#define MAM_DRIVER_CAPTURE_RELAXED 2u

/* The status that cuStreamIsCapturing returns for a stream whose capture is still valid. */
#define MAM_DRIVER_CAPTURE_ACTIVE 1u

/*
 * One row per function: name in the table, symbol in the library, whether mam requires it (the
 * pointer of an optional function may be NULL), arguments.
 */
/* clang-format off */
#define MAM_DRIVER_FUNCTIONS(row)                                                                  \
	row(init, cuInit, required, (unsigned int flags))                                          \
	row(driver_get_version, cuDriverGetVersion, required, (int *version))                      \
	row(get_error_name, cuGetErrorName, required, (unsigned int result, const char **name))    \
	row(device_get, cuDeviceGet, required, (int *device, int ordinal))                         \
	row(device_get_count, cuDeviceGetCount, required, (int *count))                            \
	row(device_get_name, cuDeviceGetName, optional, (char *name, int length, int device))      \
	row(device_can_access_peer, cuDeviceCanAccessPeer, optional,                               \
	    (int *can, int device, int peer))                                                      \
	row(device_total_mem, cuDeviceTotalMem_v2, required, (size_t *bytes, int device))          \
	row(device_primary_ctx_retain, cuDevicePrimaryCtxRetain, required,                         \
	    (struct CUctx_st **context, int device))                                               \
	row(device_primary_ctx_release, cuDevicePrimaryCtxRelease_v2, required, (int device))      \
	row(device_primary_ctx_get_state, cuDevicePrimaryCtxGetState, optional,                    \
	    (int device, unsigned int *flags, int *active))                                        \
	row(ctx_get_current, cuCtxGetCurrent, required, (struct CUctx_st **context))               \
	row(ctx_push_current, cuCtxPushCurrent_v2, required, (struct CUctx_st *context))           \
	row(ctx_pop_current, cuCtxPopCurrent_v2, required, (struct CUctx_st **context))            \
	row(ctx_get_device, cuCtxGetDevice, required, (int *device))                               \
	row(ctx_get_id, cuCtxGetId, optional, (struct CUctx_st *context, unsigned long long *id))  \
	row(ctx_synchronize, cuCtxSynchronize, required, (void))                                   \
	row(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode, required,      \
	    (unsigned int *mode))                                                                  \
	row(mem_alloc, cuMemAlloc_v2, required, (unsigned long long *address, size_t bytes))       \
	row(mem_free, cuMemFree_v2, required, (unsigned long long address))                        \
	row(mem_alloc_managed, cuMemAllocManaged, required,                                        \
	    (unsigned long long *address, size_t bytes, unsigned int flags))                       \
	row(mem_host_alloc, cuMemHostAlloc, required,                                              \
	    (void **address, size_t bytes, unsigned int flags))                                    \
	row(mem_free_host, cuMemFreeHost, required, (void *address))                               \
	row(mem_host_register, cuMemHostRegister_v2, optional,                                     \
	    (void *address, size_t bytes, unsigned int flags))                                     \
	row(mem_host_unregister, cuMemHostUnregister, optional, (void *address))                   \
	row(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2, optional,                   \
	    (unsigned long long *device, void *host, unsigned int flags))                          \
	row(mem_get_info, cuMemGetInfo_v2, required, (size_t *free_bytes, size_t *total_bytes))    \
	row(device_get_attribute, cuDeviceGetAttribute, optional,                                  \
	    (int *value, unsigned int attribute, int device))                                      \
	row(mem_address_reserve, cuMemAddressReserve, optional,                                    \
	    (unsigned long long *address, size_t bytes, size_t alignment,                          \
	     unsigned long long wish, unsigned long long flags))                                   \
	row(mem_address_free, cuMemAddressFree, optional,                                          \
	    (unsigned long long address, size_t bytes))                                            \
	row(mem_create, cuMemCreate, optional,                                                     \
	    (unsigned long long *handle, size_t bytes,                                             \
	     const struct CUmemAllocationProp_st *properties, unsigned long long flags))           \
	row(mem_release, cuMemRelease, optional, (unsigned long long handle))                      \
	row(mem_map, cuMemMap, optional,                                                           \
	    (unsigned long long address, size_t bytes, size_t offset, unsigned long long handle,   \
	     unsigned long long flags))                                                            \
	row(mem_unmap, cuMemUnmap, optional, (unsigned long long address, size_t bytes))           \
	row(mem_set_access, cuMemSetAccess, optional,                                              \
	    (unsigned long long address, size_t bytes, const struct CUmemAccessDesc_st *access,    \
	     size_t count))                                                                        \
	row(mem_get_allocation_granularity, cuMemGetAllocationGranularity, optional,               \
	    (size_t *bytes, const struct CUmemAllocationProp_st *properties,                       \
	     unsigned int option))                                                                 \
	row(memcpy_dtoh, cuMemcpyDtoH_v2, optional,                                                \
	    (void *host, unsigned long long device, size_t bytes))                                 \
	row(memcpy_htod, cuMemcpyHtoD_v2, optional,                                                \
	    (unsigned long long device, const void *host, size_t bytes))                           \
	row(memset_d8, cuMemsetD8_v2, optional,                                                    \
	    (unsigned long long device, unsigned char value, size_t bytes))                        \
	row(memset_d8_async, cuMemsetD8Async, optional,                                            \
	    (unsigned long long device, unsigned char value, size_t bytes,                         \
	     struct CUstream_st *stream))                                                          \
	row(memcpy_htod_async, cuMemcpyHtoDAsync_v2, optional,                                     \
	    (unsigned long long device, const void *host, size_t bytes,                            \
	     struct CUstream_st *stream))                                                          \
	row(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2, optional,                                     \
	    (void *host, unsigned long long device, size_t bytes, struct CUstream_st *stream))     \
	row(module_load_data, cuModuleLoadData, optional,                                          \
	    (struct CUmod_st **module, const void *image))                                         \
	row(module_unload, cuModuleUnload, optional, (struct CUmod_st *module))                    \
	row(module_get_function, cuModuleGetFunction, optional,                                    \
	    (struct CUfunc_st **function, struct CUmod_st *module, const char *name))              \
	row(module_get_global, cuModuleGetGlobal_v2, optional,                                     \
	    (unsigned long long *address, size_t *bytes, struct CUmod_st *module,                  \
	     const char *name))                                                                    \
	row(pointer_get_attribute, cuPointerGetAttribute, optional,                                \
	    (void *value, unsigned int attribute, unsigned long long address))                     \
	row(event_create, cuEventCreate, optional, (struct CUevent_st **event, unsigned int flags)) \
	row(event_destroy, cuEventDestroy_v2, optional, (struct CUevent_st *event))               \
	row(event_record, cuEventRecord, optional,                                                 \
	    (struct CUevent_st *event, struct CUstream_st *stream))                               \
	row(event_query, cuEventQuery, optional, (struct CUevent_st *event))                       \
	row(event_synchronize, cuEventSynchronize, optional, (struct CUevent_st *event))           \
	row(ctx_record_event, cuCtxRecordEvent, optional,                                          \
	    (struct CUctx_st *context, struct CUevent_st *event))                                 \
	row(stream_create, cuStreamCreate, optional,                                               \
	    (struct CUstream_st **stream, unsigned int flags))                                     \
	row(stream_destroy, cuStreamDestroy_v2, optional, (struct CUstream_st *stream))            \
	row(stream_synchronize, cuStreamSynchronize, optional, (struct CUstream_st *stream))       \
	row(stream_query, cuStreamQuery, optional, (struct CUstream_st *stream))                   \
	row(stream_wait_event, cuStreamWaitEvent, optional,                                        \
	    (struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags))            \
	row(stream_get_id, cuStreamGetId, optional,                                                \
	    (struct CUstream_st *stream, unsigned long long *id))                                 \
	row(stream_get_ctx, cuStreamGetCtx, optional,                                              \
	    (struct CUstream_st *stream, struct CUctx_st **context))                              \
	row(stream_is_capturing, cuStreamIsCapturing, optional,                                    \
	    (struct CUstream_st *stream, unsigned int *status))                                   \
	row(stream_get_capture_info, cuStreamGetCaptureInfo_v3, optional,                          \
	    (struct CUstream_st *stream, unsigned int *status, uint64_t *id,                 \
	     struct CUgraph_st **graph, struct CUgraphNode_st *const **dependencies,              \
	     const struct CUgraphEdgeData_st **edges, size_t *count))                             \
	row(launch_kernel, cuLaunchKernel, optional,                                               \
	    (struct CUfunc_st *function, unsigned int grid_x, unsigned int grid_y,                 \
	     unsigned int grid_z, unsigned int block_x, unsigned int block_y,                      \
	     unsigned int block_z, unsigned int shared_bytes, struct CUstream_st *stream,          \
	     void **arguments, void **extra))
/* clang-format on */

struct mam_driver {
#define MAM_DRIVER_FIELD(name, symbol, need, arguments) unsigned int(*name) arguments;
	MAM_DRIVER_FUNCTIONS(MAM_DRIVER_FIELD)
#undef MAM_DRIVER_FIELD
	/*
	 * The driver's own mem_alloc and mem_free. In a program under mam run, mem_alloc and
	 * mem_free above are mam run's functions, whose free may not wait for the device.
	 */
	unsigned int (*own_mem_alloc)(unsigned long long *address, size_t bytes);
	unsigned int (*own_mem_free)(unsigned long long address);
};

/*
 * mam_driver_get - get the table, once the library is open and cuInit has succeeded.
 *
 * The first call opens the library; a failure is final. NO_DEVICE: there is no usable driver, or
 * the process was forked after the driver was opened (CUDA does not survive a fork). Costs a few
 * loads.
 */
enum mam_status mam_driver_get(const struct mam_driver **driver);

/* The reason for NO_DEVICE, as the end of a sentence: "libcuda.so.1 was not found". */
const char *mam_driver_reason(void);

/*
 * mam_driver_status - translate a result of `function` to a status. A result without a status of
 * its own becomes MAM_ERROR_DRIVER, and one line in the log has the driver's name for it.
 */
enum mam_status mam_driver_status(const struct mam_driver *driver, const char *function,
				  unsigned int result);

#endif
