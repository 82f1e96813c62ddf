/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runtime.c - the fake runtime's calls beyond plain memory, and the driver calls that they
 * make.
 *
 * The runtime finds its driver by name, so both are opened here, the driver first: dlopen of a name
 * that is already loaded returns that library.
 */
#include "fake/load.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/runtime_api.h"

/* clang-format off */
#define RUNTIME_FUNCTIONS(X) \
	X(cudaMalloc) X(cudaFree) X(cudaMalloc3D) X(cudaMallocAsync) X(cudaMallocAsync_ptsz) \
	X(cudaFreeAsync) X(cudaFreeAsync_ptsz) X(cudaMallocFromPoolAsync) \
	X(cudaMallocFromPoolAsync_ptsz) X(cudaDeviceGetDefaultMemPool) X(cudaMemset) \
	X(cudaMemcpy) X(cudaPointerGetAttributes) X(cudaIpcGetMemHandle) X(cudaIpcOpenMemHandle) \
	X(cudaIpcCloseMemHandle) X(cudaMallocArray) X(cudaFreeArray) X(cudaHostRegister) \
	X(cudaHostUnregister) X(cudaStreamCreate) X(cudaStreamBeginCapture) \
	X(cudaStreamBeginCapture_ptsz) X(cudaStreamEndCapture) X(cudaStreamEndCapture_ptsz) \
	X(cudaStreamIsCapturing) X(cudaThreadExchangeStreamCaptureMode) X(cudaGraphDestroy) \
	X(cudaDeviceEnablePeerAccess) X(cudaDeviceDisablePeerAccess) X(cudaDeviceCanAccessPeer) \
	X(cudaSetDevice) X(cudaGetLastError) X(cudaDeviceSynchronize) X(cudaDeviceReset) \
	X(cudaMemGetInfo) X(cudaGetDriverEntryPoint_ptsz) X(cudaGetErrorName) \
	X(cudaStreamCreateWithPriority) X(cudaStreamGetCaptureInfo) X(cudaMemcpyPeerAsync) \
	X(cudaGraphGetNodes) X(cudaGraphInstantiate) X(cudaGraphInstantiateWithFlags) \
	X(cudaGraphLaunch) X(cudaGraphExecDestroy) X(cudaGetDeviceProperties) \
	X(cudaDeviceGetStreamPriorityRange)
/* clang-format on */

static struct runtime {
#define FIELD(name) __typeof__(name) *name;
	RUNTIME_FUNCTIONS(FIELD)
#undef FIELD
} rt;
static struct cuda cuda;

static void begin(void)
{
	const char *build = getenv("MAM_BUILDDIR");
	char path[4096];
	void *library;

	cuda = load_only();
	snprintf(path, sizeof(path), "%s/tests/fake/lib/libcudart.so.13", build ? build : ".");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
#define FIND(name)                                            \
	rt.name = (__typeof__(rt.name))dlsym(library, #name); \
	ck_assert_msg(rt.name != NULL, "the fake has no %s", #name);
	RUNTIME_FUNCTIONS(FIND)
#undef FIND
}

static size_t used(void)
{
	size_t free_bytes = 0, total = 0;

	ck_assert_int_eq(rt.cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
	return total - free_bytes;
}

START_TEST(set_device_makes_primary_context_current)
{
	struct CUctx_st *current = NULL, *primary;
	int device = 7, active = 0;
	unsigned int flags;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	begin();
	ck_assert_int_eq(rt.cudaSetDevice(1), cudaSuccess);
	cuda.cuDevicePrimaryCtxGetState(1, &flags, &active);
	ck_assert_int_eq(active, 1);
	cuda.cuCtxGetCurrent(&current);
	cuda.cuDevicePrimaryCtxRetain(&primary, 1);
	ck_assert_ptr_eq(current, primary);
	cuda.cuCtxGetDevice(&device);
	ck_assert_int_eq(device, 1);
}
END_TEST

START_TEST(failed_allocation_writes_null_address)
{
	void *address = &rt;
	unsigned long long kept = 7;

	begin();
	ck_assert_int_eq(rt.cudaMalloc(&address, (size_t)1 << 46), cudaErrorMemoryAllocation);
	ck_assert_ptr_null(address);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&kept, (size_t)1 << 46), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(kept, 7);
}
END_TEST

START_TEST(volume_is_pitched_rows)
{
	struct rt_pitched pitched = { 0 };
	size_t bytes = 0;

	begin();
	ck_assert_int_eq(rt.cudaMalloc3D(&pitched, (struct rt_extent){ 700, 5, 3 }), cudaSuccess);
	ck_assert_uint_eq(pitched.pitch, 1024);
	ck_assert_uint_eq(pitched.width, 700);
	ck_assert_uint_eq(pitched.height, 5);
	cuda.cuMemGetAddressRange_v2(NULL, &bytes, (uintptr_t)pitched.address);
	ck_assert_uint_eq(bytes, 1024 * 5 * 3);
	ck_assert_int_eq(rt.cudaFree(pitched.address), cudaSuccess);
	ck_assert_int_eq(rt.cudaMalloc3D(&pitched, (struct rt_extent){ 700, 0, 3 }), cudaSuccess);
	ck_assert_ptr_null(pitched.address);
	ck_assert_int_eq(rt.cudaMalloc3D(&pitched, (struct rt_extent){ 1, SIZE_MAX, SIZE_MAX }),
			 cudaErrorMemoryAllocation);
}
END_TEST

START_TEST(both_versions_allocate_and_free_in_order)
{
	struct CUmemPoolHandle_st *pool;
	void *blocks[4] = { 0 };

	begin();
	ck_assert_int_eq(rt.cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
	ck_assert_int_eq(rt.cudaMallocAsync(&blocks[0], 512, NULL), cudaSuccess);
	ck_assert_int_eq(rt.cudaMallocAsync_ptsz(&blocks[1], 512, NULL), cudaSuccess);
	ck_assert_int_eq(rt.cudaMallocFromPoolAsync(&blocks[2], 512, pool, NULL), cudaSuccess);
	ck_assert_int_eq(rt.cudaMallocFromPoolAsync_ptsz(&blocks[3], 512, pool, NULL), cudaSuccess);
	ck_assert_uint_eq(used(), 4 * 512);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(
			(i % 2 ? rt.cudaFreeAsync : rt.cudaFreeAsync_ptsz)(blocks[i], NULL),
			cudaSuccess);
	rt.cudaDeviceSynchronize();
	ck_assert_uint_eq(used(), 0);
	ck_assert_int_eq(rt.cudaFreeAsync_ptsz(blocks[0], NULL), cudaErrorInvalidValue);
	ck_assert_int_eq(rt.cudaGetLastError(), cudaErrorInvalidValue);
}
END_TEST

/*
 * While the thread's own stream is captured, its versions are refused. The plain ones are refused
 * too, with another code: the legacy stream would have to wait for it.
 */
START_TEST(versions_differ_in_meaning_of_null_stream)
{
	struct CUmemPoolHandle_st *pool;
	struct CUgraph_st *graph;
	void *block, *other;
	int status = 7;

	begin();
	rt.cudaFree(NULL);
	rt.cudaDeviceGetDefaultMemPool(&pool, 0);
	ck_assert_int_eq(rt.cudaMallocAsync(&block, 512, NULL), cudaSuccess);
	ck_assert_int_eq(rt.cudaStreamBeginCapture(NULL, CAPTURE_RELAXED),
			 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(rt.cudaStreamBeginCapture_ptsz(NULL, CAPTURE_RELAXED), cudaSuccess);
	rt.cudaStreamIsCapturing(STREAM_PER_THREAD, &status);
	ck_assert_int_eq(status, 1);
	ck_assert_int_eq(rt.cudaMallocAsync_ptsz(&other, 512, NULL), CUDA_ERROR_NOT_SUPPORTED);
	ck_assert_int_eq(rt.cudaMallocFromPoolAsync_ptsz(&other, 512, pool, NULL),
			 CUDA_ERROR_NOT_SUPPORTED);
	ck_assert_int_eq(rt.cudaFreeAsync_ptsz(block, NULL), CUDA_ERROR_NOT_SUPPORTED);
	rt.cudaStreamIsCapturing(STREAM_PER_THREAD, &status);
	ck_assert_int_eq(status, 1);
	ck_assert_int_eq(rt.cudaMallocAsync(&other, 512, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	ck_assert_int_eq(rt.cudaMallocFromPoolAsync(&other, 512, pool, NULL),
			 CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	ck_assert_int_eq(rt.cudaFreeAsync(block, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	ck_assert_int_eq(rt.cudaStreamEndCapture_ptsz(NULL, &graph),
			 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ck_assert_int_eq(rt.cudaFreeAsync(block, NULL), cudaSuccess);
}
END_TEST

START_TEST(allocation_invalidates_capture_unless_relaxed)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	void *block;
	int mode = CAPTURE_RELAXED;

	begin();
	rt.cudaStreamCreate(&stream);
	ck_assert_int_eq(rt.cudaStreamBeginCapture(stream, CAPTURE_GLOBAL), cudaSuccess);
	ck_assert_int_eq(rt.cudaMalloc(&block, 512), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(rt.cudaStreamEndCapture(stream, &graph),
			 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	rt.cudaStreamBeginCapture(stream, CAPTURE_GLOBAL);
	ck_assert_int_eq(rt.cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
	ck_assert_int_eq(mode, CAPTURE_GLOBAL);
	ck_assert_int_eq(rt.cudaMalloc(&block, 512), cudaSuccess);
	ck_assert_int_eq(rt.cudaStreamEndCapture(stream, &graph), cudaSuccess);
	ck_assert_int_eq(rt.cudaGraphDestroy(graph), cudaSuccess);
}
END_TEST

START_TEST(attributes_describe_memory)
{
	static unsigned char own[4096];
	struct rt_attributes attributes;
	void *block;

	begin();
	rt.cudaMalloc(&block, 512);
	ck_assert_int_eq(rt.cudaPointerGetAttributes(&attributes, (char *)block + 5), cudaSuccess);
	ck_assert_int_eq(attributes.type, cudaMemoryTypeDevice);
	ck_assert_int_eq(attributes.device, 0);
	ck_assert_ptr_eq(attributes.device_address, (char *)block + 5);
	ck_assert_ptr_null(attributes.host_address);
	ck_assert_int_eq(rt.cudaPointerGetAttributes(&attributes, own), cudaSuccess);
	ck_assert_int_eq(attributes.type, cudaMemoryTypeUnregistered);
	ck_assert_int_eq(attributes.device, -2);
	ck_assert_ptr_eq(attributes.host_address, own);
	ck_assert_ptr_null(attributes.device_address);
	ck_assert_int_eq(rt.cudaHostRegister(own, sizeof(own), 0), cudaSuccess);
	rt.cudaPointerGetAttributes(&attributes, own);
	ck_assert_int_eq(attributes.type, cudaMemoryTypeHost);
	ck_assert_ptr_eq(attributes.host_address, own);
	ck_assert_int_eq(rt.cudaHostUnregister(own), cudaSuccess);
	ck_assert_int_eq(rt.cudaHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
END_TEST

START_TEST(array_has_its_channels)
{
	struct rt_channel channel = { 32, 32, 0, 0, 2 }; /* float2 */
	struct CUarray_st *array;

	begin();
	ck_assert_int_eq(rt.cudaMallocArray(&array, &channel, 64, 64, 0), cudaSuccess);
	ck_assert_uint_eq(used(), 64 * 64 * 8);
	ck_assert_int_eq(rt.cudaFreeArray(array), cudaSuccess);
	ck_assert_uint_eq(used(), 0);
	channel.x = 12;
	ck_assert_int_eq(rt.cudaMallocArray(&array, &channel, 64, 64, 0), cudaErrorInvalidValue);
}
END_TEST

START_TEST(captured_graph_runs)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph = (struct CUgraph_st *)&rt;
	struct CUgraphExec_st *exec;
	unsigned long long id = 0;
	int status = 0, lowest = 7, highest = 7;
	size_t count = 7;

	begin();
	ck_assert_int_eq(rt.cudaDeviceGetStreamPriorityRange(&lowest, &highest), cudaSuccess);
	ck_assert_int_le(highest, lowest);
	ck_assert_int_eq(rt.cudaStreamCreateWithPriority(&stream, 1, highest), cudaSuccess);
	ck_assert_int_eq(rt.cudaStreamBeginCapture(stream, 0), cudaSuccess);
	ck_assert_int_eq(
		rt.cudaStreamGetCaptureInfo(stream, &status, &id, &graph, NULL, NULL, &count),
		cudaSuccess);
	ck_assert_int_eq(status, 1);
	ck_assert_uint_ne(id, 0);
	ck_assert_ptr_null(graph);
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(rt.cudaStreamEndCapture(stream, &graph), cudaSuccess);
	ck_assert_int_eq(rt.cudaGraphGetNodes(graph, NULL, &count), cudaSuccess);
	ck_assert_int_eq(rt.cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
	ck_assert_int_eq(rt.cudaGraphLaunch(exec, stream), cudaSuccess);
	ck_assert_int_eq(rt.cudaGraphExecDestroy(exec), cudaSuccess);
	ck_assert_int_eq(rt.cudaGraphInstantiateWithFlags(&exec, NULL, 0), cudaErrorInvalidValue);
	ck_assert_int_eq(rt.cudaGraphDestroy(graph), cudaSuccess);
}
END_TEST

START_TEST(properties_have_name_and_size)
{
	char properties[2000];
	size_t total = 0;

	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	begin();
	memset(properties, 7, sizeof(properties));
	ck_assert_int_eq(rt.cudaGetDeviceProperties(properties, 0), cudaSuccess);
	ck_assert_uint_ne(properties[0], '\0');
	memcpy(&total, properties + 288, sizeof(total));
	ck_assert_uint_eq(total, 256 << 20);
	ck_assert_uint_eq(properties[1007], 0);
	ck_assert_uint_eq(properties[1008], 7);
	ck_assert_int_eq(rt.cudaGetDeviceProperties(properties, 5), cudaErrorInvalidDevice);
}
END_TEST

START_TEST(copy_to_another_device)
{
	void *from, *to;
	unsigned char byte = 0;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	begin();
	rt.cudaMalloc(&from, 512);
	rt.cudaMemset(from, 5, 512);
	rt.cudaSetDevice(1);
	rt.cudaMalloc(&to, 512);
	ck_assert_int_eq(rt.cudaMemcpyPeerAsync(to, 1, from, 0, 512, NULL), cudaSuccess);
	rt.cudaDeviceSynchronize();
	rt.cudaMemcpy(&byte, to, 1, cudaMemcpyDeviceToHost);
	ck_assert_uint_eq(byte, 5);
	ck_assert_int_eq(rt.cudaMemcpyPeerAsync(to, 1, from, 9, 512, NULL), cudaErrorInvalidDevice);
}
END_TEST

START_TEST(peer_access_is_enabled_once)
{
	int can = 0;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	begin();
	ck_assert_int_eq(rt.cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
	ck_assert_int_eq(can, 1);
	ck_assert_int_eq(rt.cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
	ck_assert_int_eq(rt.cudaDeviceEnablePeerAccess(1, 0),
			 CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	ck_assert_int_eq(rt.cudaDeviceDisablePeerAccess(1), cudaSuccess);
	ck_assert_int_eq(rt.cudaDeviceEnablePeerAccess(5, 0), cudaErrorInvalidDevice);
}
END_TEST

START_TEST(sticky_error_remains_until_reset)
{
	void *block, *other;

	setenv("FAKE_CUDA_STICKY_AFTER", "cuMemsetD8:1", 1);
	begin();
	rt.cudaMalloc(&block, 512);
	rt.cudaMemset(block, 1, 512);
	ck_assert_int_eq(rt.cudaMalloc(&other, 512), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_str_eq(rt.cudaGetErrorName(700), "cudaErrorIllegalAddress");
	ck_assert_int_eq(rt.cudaGetLastError(), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(rt.cudaGetLastError(), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(rt.cudaFree(block), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(rt.cudaDeviceReset(), cudaSuccess);
	ck_assert_int_eq(rt.cudaGetLastError(), cudaSuccess);
	ck_assert_int_eq(rt.cudaMalloc(&other, 512), cudaSuccess);
}
END_TEST

START_TEST(per_thread_code_gets_per_thread_functions)
{
	void *function = NULL;
	int status = 7;

	begin();
	ck_assert_int_eq(rt.cudaGetDriverEntryPoint_ptsz("cuMemFreeAsync", &function, 0, &status),
			 cudaSuccess);
	ck_assert_ptr_eq(function, dlsym(cuda.library, "cuMemFreeAsync_ptsz"));
}
END_TEST

START_TEST(memory_is_shared_between_processes)
{
	struct rt_ipc_handle handle;
	unsigned char byte = 7;
	void *block;
	int ends[2], status = -1;
	pid_t peer;

	ck_assert_int_eq(pipe(ends), 0);
	peer = fork();
	if (peer == 0) {
		begin();
		if (read(ends[0], &handle, sizeof(handle)) != sizeof(handle))
			_exit(1);
		if (rt.cudaIpcOpenMemHandle(&block, handle, IPC_LAZY_PEER_ACCESS) != cudaSuccess)
			_exit(2);
		if (rt.cudaMemset(block, 9, 1) != cudaSuccess)
			_exit(3);
		_exit(rt.cudaIpcCloseMemHandle(block) == cudaSuccess ? 0 : 4);
	}
	begin();
	rt.cudaMalloc(&block, 512);
	ck_assert_int_eq(rt.cudaIpcGetMemHandle(&handle, (char *)block + 100), cudaSuccess);
	ck_assert_int_eq(write(ends[1], &handle, sizeof(handle)), sizeof(handle));
	ck_assert_int_eq(waitpid(peer, &status, 0), peer);
	ck_assert_int_eq(status, 0);
	rt.cudaMemcpy(&byte, block, 1, cudaMemcpyDeviceToHost);
	ck_assert_uint_eq(byte, 9);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, set_device_makes_primary_context_current);
	tcase_add_test(tests, failed_allocation_writes_null_address);
	tcase_add_test(tests, volume_is_pitched_rows);
	tcase_add_test(tests, both_versions_allocate_and_free_in_order);
	tcase_add_test(tests, versions_differ_in_meaning_of_null_stream);
	tcase_add_test(tests, allocation_invalidates_capture_unless_relaxed);
	tcase_add_test(tests, attributes_describe_memory);
	tcase_add_test(tests, array_has_its_channels);
	tcase_add_test(tests, captured_graph_runs);
	tcase_add_test(tests, properties_have_name_and_size);
	tcase_add_test(tests, copy_to_another_device);
	tcase_add_test(tests, peer_access_is_enabled_once);
	tcase_add_test(tests, sticky_error_remains_until_reset);
	tcase_add_test(tests, per_thread_code_gets_per_thread_functions);
	tcase_add_test(tests, memory_is_shared_between_processes);
}

int main(void)
{
	return run_suite("fake/runtime", add);
}
