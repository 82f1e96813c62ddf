/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_api.h - the part of the CUDA driver API that the fake driver implements, in plain C types.
 *
 * The fake is compiled with it, and so are the clients and tests, which therefore need no CUDA
 * toolkit. The declarations match the real driver's binary interface: programs built with them also
 * run on a real libcuda.so.1. An int result is a CUresult, an unsigned long long address a
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
struct CUgraphExec_st;
struct CUgraphNode_st;
struct CUgreenCtx_st;
struct CUdevResourceDesc_st;
struct CUmemPoolHandle_st;
struct CUarray_st;
struct CUmipmappedArray_st;
struct CUmod_st;
struct CUfunc_st;
struct CUuuid_st;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_DEINITIALIZED = 4,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
	CUDA_ERROR_OPERATING_SYSTEM = 304,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_ILLEGAL_STATE = 401,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
	CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
	CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
	CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
	CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
	CUDA_ERROR_CAPTURED_EVENT = 907,
	CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
	CUDA_ERROR_UNKNOWN = 999
};

/* The status of a name in cuGetProcAddress, and its flags. */
enum { PROC_FOUND = 0, PROC_UNKNOWN = 1, PROC_TOO_NEW = 2 };
enum { PROC_DEFAULT = 0, PROC_LEGACY_STREAM = 1, PROC_PER_THREAD_STREAM = 2 };

/* The two predefined stream handles. NULL means the first one in a plain call. */
#define STREAM_LEGACY ((struct CUstream_st *)1)
#define STREAM_PER_THREAD ((struct CUstream_st *)2)
#define STREAM_NON_BLOCKING 1u

enum { CAPTURE_GLOBAL = 0, CAPTURE_THREAD_LOCAL = 1, CAPTURE_RELAXED = 2 };

/* Pointer and device attributes that the fake supports. */
enum {
	POINTER_CONTEXT = 1,
	POINTER_MEMORY_TYPE = 2, /* 1 host, 2 device */
	POINTER_DEVICE_POINTER = 3,
	POINTER_HOST_POINTER = 4,
	POINTER_SYNC_MEMOPS = 6,
	POINTER_BUFFER_ID = 7,
	POINTER_IS_MANAGED = 8,
	POINTER_DEVICE_ORDINAL = 9,
	POINTER_IPC_CAPABLE = 10,
	POINTER_RANGE_START = 11,
	POINTER_RANGE_SIZE = 12,
	POINTER_MAPPED = 13,
	POINTER_HANDLE_TYPES = 14,
	POINTER_MAPPING_SIZE = 18,
	POINTER_MAPPING_BASE = 19
};
enum {
	DEVICE_MULTIPROCESSORS = 16,
	DEVICE_INTEGRATED = 18,
	DEVICE_UNIFIED_ADDRESSING = 41,
	DEVICE_MAJOR = 75,
	DEVICE_MINOR = 76,
	DEVICE_MANAGED = 83,
	DEVICE_VMM = 102,
	DEVICE_EXPORTS_DESCRIPTORS = 103,
	DEVICE_POOLS = 115,
	DEVICE_IPC = 125,
	DEVICE_MULTICAST = 132
};

/* A location of memory: a device by its ordinal, or the host. */
struct cu_location {
	int type; /* 1: device */
	int id;
};

struct cu_pool_properties {
	int type; /* 1: pinned */
	int handle_types;
	struct cu_location location;
	void *security;
	size_t max_bytes;
	unsigned short usage;
	unsigned char reserved[54];
};

/* Attributes of a pool, in bytes: the limit of cached memory, and the device memory in use now. */
enum { POOL_RELEASE_THRESHOLD = 4, POOL_RESERVED_NOW = 5 };
enum { NODE_MEM_ALLOC = 10 }; /* type of a graph's node */

struct cu_alloc_node {
	struct cu_pool_properties pool;
	const void *access;
	size_t access_count;
	size_t bytes;
	unsigned long long address; /* out */
};

struct cu_node {
	int type;
	int reserved0[3];
	union {
		long long reserved1[29];
		struct cu_alloc_node alloc;
	};
	long long reserved2;
};

struct cu_memory_properties {
	int type; /* 1: pinned */
	int handle_types;
	struct cu_location location;
	void *meta;
	unsigned char compression, rdma;
	unsigned short usage;
	unsigned char reserved[4];
};

struct cu_access {
	struct cu_location location;
	int flags; /* 0: none, 1: read, 3: read and write */
};

struct cu_array_descriptor {
	size_t width, height;
	int format;
	unsigned int channels;
};

struct cu_array3d_descriptor {
	size_t width, height, depth;
	int format;
	unsigned int channels, flags;
};

struct cu_ipc_handle {
	unsigned char bytes[64];
};
#define IPC_LAZY_PEER_ACCESS 1u
#define GREEN_DEFAULT_STREAM 1u

/* The states of a process, and how to lock one. */
enum process_state { PROCESS_RUNNING, PROCESS_LOCKED, PROCESS_CHECKPOINTED, PROCESS_FAILED };
struct cu_lock_arguments {
	unsigned int timeout_ms, reserved0; /* 0: no timeout */
	uint64_t reserved1[7];
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

int cuCheckpointProcessGetState(int pid, int *state);
int cuCheckpointProcessLock(int pid, const struct cu_lock_arguments *arguments);
int cuCheckpointProcessCheckpoint(int pid, const void *arguments);
int cuCheckpointProcessRestore(int pid, const void *arguments);
int cuCheckpointProcessUnlock(int pid, const void *arguments);

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetCount(int *count);
int cuDeviceGetName(char *name, int length, int device);
int cuDeviceGetPCIBusId(char *id, int length, int device);
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
int cuCtxAttach(struct CUctx_st **context, unsigned int flags);
int cuCtxDetach(struct CUctx_st *context);
int cuCtxDestroy(struct CUctx_st *context);
int cuCtxDestroy_v2(struct CUctx_st *context);
int cuCtxGetCurrent(struct CUctx_st **context);
int cuCtxSetCurrent(struct CUctx_st *context);
int cuCtxPushCurrent_v2(struct CUctx_st *context);
int cuCtxPopCurrent_v2(struct CUctx_st **context);
int cuCtxGetDevice(int *device);
int cuCtxGetDevice_v2(int *device, struct CUctx_st *context);
int cuCtxGetStreamPriorityRange(int *min, int *greatest);
int cuCtxGetId(struct CUctx_st *context, unsigned long long *id);
int cuCtxSynchronize(void);
int cuCtxSynchronize_v2(struct CUctx_st *context);
int cuGreenCtxCreate(struct CUgreenCtx_st **green, struct CUdevResourceDesc_st *resources,
		     int device, unsigned int flags);
int cuGreenCtxDestroy(struct CUgreenCtx_st *green);
int cuCtxFromGreenCtx(struct CUctx_st **context, struct CUgreenCtx_st *green);
int cuGreenCtxRecordEvent(struct CUgreenCtx_st *green, struct CUevent_st *event);
int cuGreenCtxStreamCreate(struct CUstream_st **stream, struct CUgreenCtx_st *green,
			   unsigned int flags, int priority);
int cuDeviceCanAccessPeer(int *can, int device, int peer);
int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer);
int cuCtxEnablePeerAccess(struct CUctx_st *peer, unsigned int flags);
int cuCtxDisablePeerAccess(struct CUctx_st *peer);

int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemFree_v2(unsigned long long address);
int cuMemAllocPitch_v2(unsigned long long *address, size_t *pitch, size_t width, size_t height,
		       unsigned int element);
int cuMemAllocManaged(unsigned long long *address, size_t bytes, unsigned int flags);
int cuMemHostAlloc(void **address, size_t bytes, unsigned int flags);
int cuMemAllocHost_v2(void **address, size_t bytes);
int cuMemFreeHost(void *address);
int cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags);
int cuMemHostUnregister(void *address);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
int cuMemGetAddressRange_v2(unsigned long long *base, size_t *bytes, unsigned long long address);
int cuPointerGetAttribute(void *data, int attribute, unsigned long long address);
int cuPointerGetAttributes(unsigned int count, int *attributes, void **data,
			   unsigned long long address);
int cuPointerSetAttribute(const void *value, int attribute, unsigned long long address);
int cuMemGetHandleForAddressRange(void *handle, unsigned long long address, size_t bytes, int type,
				  unsigned long long flags);
int cuDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device);
int cuDeviceGetMemPool(struct CUmemPoolHandle_st **pool, int device);
int cuDeviceSetMemPool(int device, struct CUmemPoolHandle_st *pool);
int cuMemPoolCreate(struct CUmemPoolHandle_st **pool, const struct cu_pool_properties *wanted);
int cuMemPoolDestroy(struct CUmemPoolHandle_st *pool);
int cuMemPoolSetAttribute(struct CUmemPoolHandle_st *pool, int attribute, void *value);
int cuMemPoolGetAttribute(struct CUmemPoolHandle_st *pool, int attribute, void *value);
int cuMemPoolTrimTo(struct CUmemPoolHandle_st *pool, size_t min_bytes);
int cuMemAllocFromPoolAsync(unsigned long long *address, size_t bytes,
			    struct CUmemPoolHandle_st *pool, struct CUstream_st *stream);
int cuMemAllocAsync(unsigned long long *address, size_t bytes, struct CUstream_st *stream);
int cuMemFreeAsync(unsigned long long address, struct CUstream_st *stream);

int cuArrayCreate_v2(struct CUarray_st **array, const struct cu_array_descriptor *wanted);
int cuArray3DCreate_v2(struct CUarray_st **array, const struct cu_array3d_descriptor *wanted);
int cuArrayDestroy(struct CUarray_st *array);
int cuMipmappedArrayCreate(struct CUmipmappedArray_st **array,
			   const struct cu_array3d_descriptor *wanted, unsigned int levels);
int cuMipmappedArrayDestroy(struct CUmipmappedArray_st *array);

int cuIpcGetMemHandle(struct cu_ipc_handle *handle, unsigned long long address);
int cuIpcOpenMemHandle(unsigned long long *address, struct cu_ipc_handle handle,
		       unsigned int flags);
int cuIpcOpenMemHandle_v2(unsigned long long *address, struct cu_ipc_handle handle,
			  unsigned int flags);
int cuIpcCloseMemHandle(unsigned long long address);

int cuMemGetAllocationGranularity(size_t *bytes, const struct cu_memory_properties *wanted,
				  int option);
int cuMemAddressReserve(unsigned long long *address, size_t bytes, size_t alignment,
			unsigned long long hint, unsigned long long flags);
int cuMemAddressFree(unsigned long long address, size_t bytes);
int cuMemCreate(unsigned long long *handle, size_t bytes, const struct cu_memory_properties *wanted,
		unsigned long long flags);
int cuMemRelease(unsigned long long handle);
int cuMemRetainAllocationHandle(unsigned long long *handle, void *address);
int cuMemMap(unsigned long long address, size_t bytes, size_t offset, unsigned long long handle,
	     unsigned long long flags);
int cuMemUnmap(unsigned long long address, size_t bytes);
int cuMemSetAccess(unsigned long long address, size_t bytes, const struct cu_access *access,
		   size_t count);
int cuMemGetAccess(unsigned long long *flags, const struct cu_location *location,
		   unsigned long long address);
int cuMemGetAllocationPropertiesFromHandle(struct cu_memory_properties *properties,
					   unsigned long long handle);
int cuMemImportFromShareableHandle(unsigned long long *handle, void *shareable, int type);
int cuMemExportToShareableHandle(void *shareable, unsigned long long handle, int type,
				 unsigned long long flags);

int cuMemcpy(unsigned long long to, unsigned long long from, size_t bytes);
int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t bytes,
		  struct CUstream_st *stream);
int cuMemcpyPeer(unsigned long long to, struct CUctx_st *to_context, unsigned long long from,
		 struct CUctx_st *from_context, size_t bytes);
int cuMemcpyPeerAsync(unsigned long long to, struct CUctx_st *to_context, unsigned long long from,
		      struct CUctx_st *from_context, size_t bytes, struct CUstream_st *stream);
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
int cuStreamDestroy(struct CUstream_st *stream);
int cuStreamDestroy_v2(struct CUstream_st *stream);
int cuStreamSynchronize(struct CUstream_st *stream);
int cuStreamQuery(struct CUstream_st *stream);
int cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags);
int cuStreamGetId(struct CUstream_st *stream, unsigned long long *id);
int cuStreamGetCtx(struct CUstream_st *stream, struct CUctx_st **context);
int cuEventCreate(struct CUevent_st **event, unsigned int flags);
int cuEventDestroy_v2(struct CUevent_st *event);
int cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream);
int cuEventQuery(struct CUevent_st *event);
int cuEventSynchronize(struct CUevent_st *event);
int cuEventElapsedTime(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end);
int cuCtxRecordEvent(struct CUctx_st *context, struct CUevent_st *event);

int cuThreadExchangeStreamCaptureMode(int *mode);
int cuStreamBeginCapture(struct CUstream_st *stream);
int cuStreamBeginCapture_v2(struct CUstream_st *stream, int mode);
int cuStreamBeginCaptureToGraph(struct CUstream_st *stream, struct CUgraph_st *graph,
				const void *dependencies, const void *edges, size_t count,
				int mode);
int cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph);
int cuStreamIsCapturing(struct CUstream_st *stream, int *status);
int cuStreamGetCaptureInfo_v3(struct CUstream_st *stream, int *status, uint64_t *id,
			      struct CUgraph_st **graph, void *dependencies, void *edges,
			      size_t *count);
int cuGraphCreate(struct CUgraph_st **graph, unsigned int flags);
int cuGraphDestroy(struct CUgraph_st *graph);
int cuGraphAddMemAllocNode(struct CUgraphNode_st **node, struct CUgraph_st *graph,
			   const void *dependencies, size_t count, struct cu_alloc_node *wanted);
int cuGraphAddNode(struct CUgraphNode_st **node, struct CUgraph_st *graph, const void *dependencies,
		   size_t count, struct cu_node *wanted);
int cuGraphAddNode_v2(struct CUgraphNode_st **node, struct CUgraph_st *graph,
		      const void *dependencies, const void *edges, size_t count,
		      struct cu_node *wanted);
int cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				unsigned long long flags);
int cuGraphExecDestroy(struct CUgraphExec_st *exec);
int cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream);
int cuDeviceGraphMemTrim(int device);
int cuDeviceGetGraphMemAttribute(int device, int attribute, uint64_t *value);

int cuModuleLoadData(struct CUmod_st **module, const void *image);
int cuModuleUnload(struct CUmod_st *module);
int cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name);
int cuLaunchKernel(struct CUfunc_st *function, unsigned int grid_x, unsigned int grid_y,
		   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
		   unsigned int block_z, unsigned int shared_bytes, struct CUstream_st *stream,
		   void **arguments, void **extra);

/*
 * Only the fake has these; its README describes them.
 *
 * fake_pending   - the number of unfinished copies, fills and uses that read or write any of the
 * bytes.
 * fake_clock     - the current time, on the clock of due_ns.
 * fake_use       - work in a stream that uses these bytes and changes none. Out: the stream's id,
 *                 and the time at which the work is done (UINT64_MAX: in a capture).
 * fake_enable_peer - cuCtxEnablePeerAccess, under a name that no tool replaces.
 * fake_disturbed - how often device memory was freed or unmapped while work still used it, and the
 *                 first such block or mapping.
 * fake_begin     - when work that is submitted to the stream now begins, on the clock of due_ns.
 * fake_crossed   - how many uses began before earlier work on the same bytes ended.
 * fake_waited    - how often calls of this thread had to wait for unfinished work.
 * fake_holds     - the driver resources in use now.
 * fake_fail      - fail the at-th call from now, and `times` calls in total (at 0: none).
 * fake_failed    - the number of failures since then, and the name of the first failed call.
 */
struct fake_held {
	size_t device_bytes; /* of all devices */
	int blocks;          /* of device memory with their own addresses */
	int handles;         /* cuMemCreate */
	int mappings;        /* cuMemMap */
	int reservations;    /* cuMemAddressReserve */
	int events;
};

int fake_pending(unsigned long long address, size_t bytes);
uint64_t fake_clock(void);
int fake_enable_peer(struct CUctx_st *peer);
int fake_use(unsigned long long address, size_t bytes, struct CUstream_st *stream,
	     unsigned long long *stream_id, uint64_t *due_ns);
int fake_disturbed(unsigned long long *address, size_t *bytes);
uint64_t fake_begin(struct CUstream_st *stream);
int fake_crossed(void);
unsigned long fake_waited(void);
void fake_holds(struct fake_held *held);
void fake_fail(unsigned long at, unsigned long times);
int fake_failed(char *name, size_t bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
