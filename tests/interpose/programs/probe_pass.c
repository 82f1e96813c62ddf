/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_pass.c - scenes on the driver API about memory that the driver still allocates: through
 * which interfaces it is requested, which requests --limit allows, and what happens when a device
 * is full.
 */
#include "probe.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)

static struct CUctx_st *context;
static struct CUmemPoolHandle_st *pool;
static unsigned long long a, b, c;

static void start(void)
{
	SHOW(cuInit(0));
	SHOW(cuDevicePrimaryCtxRetain(&context, probe_device()));
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuDeviceGetDefaultMemPool(&pool, probe_device()));
}

/* --- every function through each interface --- */

#define FIND(name, base, version, flags)       \
	__typeof__(&name) name##_found = NULL; \
	SHOW(cuGetProcAddress_v2(base, (void **)&name##_found, version, flags, &status))

static void by_symbol(void)
{
	struct cu_array_descriptor flat = { 100, 50, 0x20, 4 };
	struct cu_array3d_descriptor deep = { 64, 64, 8, 0x20, 1, 0 };
	struct cu_memory_properties properties = { .type = 1, .location = { 1, probe_device() } };
	struct CUmipmappedArray_st *mipmapped;
	struct CUarray_st *array;
	unsigned long long handle;
	size_t pitch;
	void *host;

	SHOW(cuMemAllocManaged(&a, MIB, 1));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemHostAlloc(&host, MIB, 0));
	SHOW(cuMemFreeHost(host));
	SHOW(cuMemAllocHost_v2(&host, MIB));
	SHOW(cuMemFreeHost(host));
	SHOW(cuArrayCreate_v2(&array, &flat));
	SHOW(cuArrayDestroy(array));
	SHOW(cuArray3DCreate_v2(&array, &deep));
	SHOW(cuArrayDestroy(array));
	SHOW(cuMipmappedArrayCreate(&mipmapped, &deep, 3));
	SHOW(cuMipmappedArrayDestroy(mipmapped));
	SHOW(cuMemCreate(&handle, 2 * MIB, &properties, 0));
	SHOW(cuMemRelease(handle));
	SHOW(cuMemAllocAsync(&a, MIB, NULL));
	SHOW(cuMemFreeAsync(a, NULL));
	SHOW(cuMemAllocFromPoolAsync(&a, MIB, pool, NULL));
	SHOW(cuMemFreeAsync(a, NULL));
	SHOW(cuMemAllocPitch_v2(&a, &pitch, 1000, 10, 4));
	SHOW(cuMemAllocPitch_v2(&b, &pitch, 1000, 10, 4));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemFreeHost(&host));
	SHOW(cuMemRelease(handle));
}

static void by_lookup(void)
{
	struct cu_array_descriptor flat = { 100, 50, 0x20, 4 };
	struct cu_array3d_descriptor deep = { 64, 64, 8, 0x20, 1, 0 };
	struct cu_memory_properties properties = { .type = 1, .location = { 1, probe_device() } };
	struct CUmipmappedArray_st *mipmapped;
	struct CUarray_st *array;
	unsigned long long handle;
	size_t pitch;
	void *host;
	int status;

	FIND(cuMemAllocManaged, "cuMemAllocManaged", 6000, 0);
	FIND(cuMemHostAlloc, "cuMemHostAlloc", 2020, 0);
	FIND(cuMemAllocHost_v2, "cuMemAllocHost", 3020, 0);
	FIND(cuMemFreeHost, "cuMemFreeHost", 2000, 0);
	FIND(cuArrayCreate_v2, "cuArrayCreate", 3020, 0);
	FIND(cuArray3DCreate_v2, "cuArray3DCreate", 3020, 0);
	FIND(cuArrayDestroy, "cuArrayDestroy", 2000, 0);
	FIND(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", 5000, 0);
	FIND(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", 5000, 0);
	FIND(cuMemCreate, "cuMemCreate", 10020, 0);
	FIND(cuMemRelease, "cuMemRelease", 10020, 0);
	FIND(cuMemAllocAsync, "cuMemAllocAsync", 11020, PROC_PER_THREAD_STREAM);
	FIND(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, PROC_PER_THREAD_STREAM);
	FIND(cuMemFreeAsync, "cuMemFreeAsync", 11020, PROC_PER_THREAD_STREAM);
	FIND(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, 0);
	SHOW(cuMemAllocManaged_found(&a, MIB, 1));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemHostAlloc_found(&host, MIB, 0));
	SHOW(cuMemFreeHost_found(host));
	SHOW(cuMemAllocHost_v2_found(&host, MIB));
	SHOW(cuMemFreeHost_found(host));
	SHOW(cuArrayCreate_v2_found(&array, &flat));
	SHOW(cuArrayDestroy_found(array));
	SHOW(cuArray3DCreate_v2_found(&array, &deep));
	SHOW(cuArrayDestroy_found(array));
	SHOW(cuMipmappedArrayCreate_found(&mipmapped, &deep, 3));
	SHOW(cuMipmappedArrayDestroy_found(mipmapped));
	SHOW(cuMemCreate_found(&handle, 2 * MIB, &properties, 0));
	SHOW(cuMemRelease_found(handle));
	SHOW(cuMemAllocAsync_found(&a, MIB, NULL));
	SHOW(cuMemFreeAsync_found(a, NULL));
	SHOW(cuMemAllocFromPoolAsync_found(&a, MIB, pool, NULL));
	SHOW(cuMemFreeAsync_found(a, NULL));
	SHOW(cuMemAllocPitch_v2_found(&a, &pitch, 1000, 10, 4));
	SHOW(cuMemFree_v2(a));
}

static void interfaces(void)
{
	start();
	by_symbol();
	by_lookup();
}

/* One call by lookup and one by symbol, with the same result. */
#define BOTH(name, arguments)                 \
	do {                                  \
		SHOW(name##_found arguments); \
		SHOW(name arguments);         \
	} while (0)

/* The last argument of cuIpcOpenMemHandle follows a struct on the stack. */
static void pointers(void)
{
	struct cu_ipc_handle handle = { { 1, 2, 3 } };
	int attributes[] = { 7 }, status;
	unsigned long long value = 0, base;
	void *values[] = { &value };
	size_t bytes, total;

	start();
	FIND(cuMemAlloc_v2, "cuMemAlloc", 3020, 0);
	FIND(cuMemFree_v2, "cuMemFree", 3020, 0);
	FIND(cuMemGetInfo_v2, "cuMemGetInfo", 3020, 0);
	FIND(cuMemAllocAsync, "cuMemAllocAsync", 11020, 0);
	FIND(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, 0);
	FIND(cuMemFreeAsync, "cuMemFreeAsync", 11020, 0);
	FIND(cuPointerGetAttribute, "cuPointerGetAttribute", 4000, 0);
	FIND(cuPointerGetAttributes, "cuPointerGetAttributes", 7000, 0);
	FIND(cuPointerSetAttribute, "cuPointerSetAttribute", 6000, 0);
	FIND(cuMemGetAddressRange_v2, "cuMemGetAddressRange", 3020, 0);
	FIND(cuMemGetHandleForAddressRange, "cuMemGetHandleForAddressRange", 11070, 0);
	FIND(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010, 0);
	FIND(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000, 0);
	FIND(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010, 0);
	BOTH(cuMemAlloc_v2, (&a, MIB));
	BOTH(cuMemFree_v2, (512));
	BOTH(cuMemGetInfo_v2, (&bytes, &total));
	BOTH(cuMemAllocAsync, (&a, MIB, NULL));
	BOTH(cuMemAllocFromPoolAsync, (&b, MIB, pool, NULL));
	SHOW(cuMemFreeAsync_found(a, NULL));
	SHOW(cuMemFreeAsync(b, NULL));
	BOTH(cuPointerGetAttribute, (&value, 7, 512));
	BOTH(cuPointerGetAttributes, (1, attributes, values, 512));
	BOTH(cuPointerSetAttribute, (&value, 6, 512));
	BOTH(cuMemGetAddressRange_v2, (&base, &bytes, 512));
	BOTH(cuMemGetHandleForAddressRange, (&value, 512, 512, 1, 0));
	BOTH(cuIpcGetMemHandle, (&handle, 512));
	BOTH(cuIpcOpenMemHandle_v2, (&base, handle, 1));
	BOTH(cuIpcCloseMemHandle, (512));
}

/* Frees by another function than usual, double frees, and foreign pointers. */
static void wrong_ends(void)
{
	void *host;
	int status;

	start();
	FIND(cuMemAllocAsync, "cuMemAllocAsync", 11020, PROC_PER_THREAD_STREAM);
	FIND(cuMemFreeAsync, "cuMemFreeAsync", 11020, PROC_PER_THREAD_STREAM);
	SHOW(cuMemAllocManaged(&a, MIB, 1));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAllocManaged(&a, 0, 1));
	SHOW(cuMemHostAlloc(&host, MIB, 0));
	SHOW(cuMemFreeHost(host));
	SHOW(cuMemFreeHost(host));
	SHOW(cuMemAllocFromPoolAsync(&a, MIB, pool, NULL));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFreeAsync(4096, NULL));
	SHOW(cuMemAllocAsync_found(&a, MIB, NULL));
	SHOW(cuMemFreeAsync_found(a, NULL));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFreeAsync_found(a, NULL));
	SHOW(cuMemFreeAsync_found(a, NULL));
}

/* --- requests that a limit of 64 MiB allows --- */

static int create(unsigned long long *handle, size_t bytes, int device)
{
	struct cu_memory_properties properties = { .type = 1, .location = { 1, device } };

	return cuMemCreate(handle, bytes, &properties, 0);
}

static void try_all(size_t bytes)
{
	unsigned long long block = 0;
	size_t pitch;
	int codes[6];

	codes[0] = cuMemAlloc_v2(&block, bytes);
	if (codes[0] == 0)
		cuMemFree_v2(block);
	codes[1] = cuMemAllocManaged(&block, bytes, 1);
	if (codes[1] == 0)
		cuMemFree_v2(block);
	codes[2] = create(&block, bytes, probe_device());
	if (codes[2] == 0)
		cuMemRelease(block);
	codes[3] = cuMemAllocAsync(&block, bytes, NULL);
	if (codes[3] == 0)
		cuMemFreeAsync(block, NULL);
	codes[4] = cuMemAllocFromPoolAsync(&block, bytes, pool, NULL);
	if (codes[4] == 0)
		cuMemFreeAsync(block, NULL);
	codes[5] = cuMemAllocPitch_v2(&block, &pitch, 4096, bytes / 4096, 16);
	if (codes[5] == 0)
		cuMemFree_v2(block);
	printf("%zu MiB more: alloc %d managed %d create %d async %d pool %d pitch %d\n",
	       bytes / MIB, codes[0], codes[1], codes[2], codes[3], codes[4], codes[5]);
}

static void limit(void)
{
	unsigned long long handle, async, managed;
	size_t free_bytes, total_bytes;

	start();
	SHOW(cuMemAlloc_v2(&a, 16 * MIB));
	SHOW(cuMemAllocManaged(&managed, 16 * MIB, 1));
	SHOW(create(&handle, 16 * MIB, probe_device()));
	SHOW(cuMemAllocAsync(&async, 15 * MIB, NULL));
	SHOW(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	printf("free %zu MiB\n", free_bytes / MIB);
	try_all(2 * MIB);
	try_all(MIB);
	SHOW(cuMemFree_v2(managed));
	try_all(16 * MIB);
	try_all(18 * MIB);
	SHOW(cuMemAllocManaged(&managed, 16 * MIB, 1));
	try_all(2 * MIB);
	SHOW(cuMemRelease(handle));
	try_all(16 * MIB);
	SHOW(cuMemFreeAsync(async, NULL));
	try_all(30 * MIB);
	SHOW(cuMemFree_v2(a));
	try_all(48 * MIB); /* where the pool's chunk was */
	SHOW(cuMemFree_v2(managed));
	try_all(64 * MIB);
	try_all(66 * MIB);
	SHOW(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	printf("free %zu MiB\n", free_bytes / MIB);
}

/* Each of these is allocated alone. */
static void limit_devices(void)
{
	struct CUctx_st *other;
	unsigned long long handle;

	start();
	SHOW(cuDevicePrimaryCtxRetain(&other, !probe_device()));
	SHOW(cuMemAlloc_v2(&a, 60 * MIB));
	SHOW(cuCtxSetCurrent(other));
	SHOW(cuMemAllocAsync(&b, 20 * MIB, NULL));
	SHOW(cuMemFreeAsync(b, NULL));
	SHOW(cuCtxSetCurrent(context));
	SHOW(create(&handle, 60 * MIB, !probe_device()));
	SHOW(create(&handle, 6 * MIB, probe_device()));
	SHOW(create(&handle, 6 * MIB, !probe_device()));
	SHOW(cuCtxSetCurrent(other));
	SHOW(cuMemAllocAsync(&b, 6 * MIB, NULL));
	SHOW(cuMemAlloc_v2(&b, 6 * MIB));
	SHOW(cuMemAllocManaged(&b, 4 * MIB, 1));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&b, 6 * MIB));
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuMemAllocManaged(&b, 60 * MIB, 1));
}

/* Memory on two devices. The context of the second one ends, and its next one gets a new pool. */
static void devices(void)
{
	struct CUctx_st *other;
	void *host;

	start();
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	SHOW(cuMemHostAlloc(&host, MIB, 0));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(a));
	SHOW(cuDevicePrimaryCtxRetain(&other, !probe_device()));
	SHOW(cuCtxSetCurrent(other));
	SHOW(cuMemAlloc_v2(&a, 5 * MIB));
	SHOW(cuDevicePrimaryCtxReset_v2(!probe_device()));
	SHOW(cuDevicePrimaryCtxRetain(&other, !probe_device()));
	SHOW(cuCtxSetCurrent(other));
	SHOW(cuMemAlloc_v2(&a, 7 * MIB));
	SHOW(cuMemAllocAsync(&b, 2 * MIB, NULL));
	SHOW(cuMemFreeAsync(b, NULL));
	SHOW(cuMemAlloc_v2(&b, (size_t)1 << 50));
	SHOW(cuMemHostAlloc(&host, 2 * MIB, 0));
}

/* The second device has a context, which is current when host memory is allocated. */
static void one_device(void)
{
	struct CUctx_st *other;
	void *host;

	start();
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	SHOW(cuDevicePrimaryCtxRetain(&other, !probe_device()));
	SHOW(cuCtxSetCurrent(other));
	SHOW(cuMemHostAlloc(&host, MIB, 0));
	SHOW(cuMemFreeHost(host));
	SHOW(cuMemFree_v2(a));
}

/* Contexts end while they have memory, with a pool and without one. */
static void limit_resets(void)
{
	struct CUctx_st *own;
	void *host;

	for (int round = 0; round < 6; round++) {
		start();
		if (round % 2 == 1)
			SHOW(cuMemAlloc_v2(&b, 20 * MIB));
		SHOW(cuMemAllocManaged(&a, 40 * MIB, 1));
		SHOW(cuMemHostAlloc(&host, MIB, 0));
		if (round < 4)
			SHOW(cuDevicePrimaryCtxReset_v2(probe_device()));
		else
			SHOW(cuDevicePrimaryCtxRelease_v2(probe_device()));
	}
	for (int round = 0; round < 3; round++) {
		SHOW(cuCtxCreate_v2(&own, 0, probe_device()));
		SHOW(cuMemAllocManaged(&a, 40 * MIB, 1));
		SHOW(cuCtxDestroy_v2(own));
	}
	/* Belongs to no context: it stays allocated. */
	start();
	SHOW(create(&a, 40 * MIB, probe_device()));
	SHOW(cuDevicePrimaryCtxReset_v2(probe_device()));
	start();
	SHOW(create(&b, 40 * MIB, 0));
	SHOW(cuMemRelease(a));
	SHOW(create(&b, 40 * MIB, 0));
}

/* Mapped memory exists, even after its handle was released. */
static void limit_maps(void)
{
	unsigned long long range, handle, again;

	start();
	SHOW(cuMemAddressReserve(&range, 128 * MIB, 0, 0, 0));
	SHOW(create(&handle, 20 * MIB, probe_device()));
	SHOW(cuMemMap(range, 20 * MIB, 0, handle, 0));
	SHOW(cuMemRelease(handle));
	SHOW(create(&handle, 20 * MIB, probe_device()));
	SHOW(cuMemMap(range + 20 * MIB, 20 * MIB, 0, handle, 0));
	SHOW(cuMemMap(range + 40 * MIB, 20 * MIB, 0, handle, 0));
	SHOW(cuMemRelease(handle));
	try_all(26 * MIB);
	SHOW(cuMemRetainAllocationHandle(&again, (void *)(range + 4 * MIB)));
	SHOW(cuMemUnmap(range, 40 * MIB));
	try_all(26 * MIB);
	SHOW(cuMemRelease(again));
	try_all(26 * MIB);
	try_all(46 * MIB);
	SHOW(cuMemUnmap(range + 40 * MIB, 20 * MIB));
	try_all(64 * MIB);
	SHOW(cuMemUnmap(range, 2 * MIB));
	SHOW(cuMemRelease(again));
}

/* Memory of a stream of the other device, while this device's context is current. */
static void limit_streams(void)
{
	struct CUctx_st *other;
	struct CUstream_st *stream;

	start();
	SHOW(cuDevicePrimaryCtxRetain(&other, !probe_device()));
	SHOW(cuCtxSetCurrent(other));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuMemAllocAsync(&a, 40 * MIB, stream));
	SHOW(cuMemAllocAsync(&b, 40 * MIB, stream));
	SHOW(cuMemAllocAsync(&b, 40 * MIB, NULL));
	SHOW(cuCtxSetCurrent(other));
	SHOW(cuMemAllocAsync(&c, 40 * MIB, NULL));
	SHOW(cuMemFreeAsync(a, stream));
	SHOW(cuStreamSynchronize(stream));
	SHOW(cuMemAllocAsync(&a, 60 * MIB, stream));
	/* Its memory ends with its own context. */
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuDevicePrimaryCtxReset_v2(!probe_device()));
	SHOW(cuCtxSetCurrent(other));
	SHOW(cuMemAlloc_v2(&c, 60 * MIB));
}

/* Allocations of a capturing stream are not charged; those of other streams are. */
static void limit_captures(void)
{
	struct CUstream_st *captured, *free_stream;
	struct CUgraph_st *graph;

	start();
	SHOW(cuStreamCreate(&captured, STREAM_NON_BLOCKING));
	SHOW(cuStreamCreate(&free_stream, STREAM_NON_BLOCKING));
	SHOW(cuStreamBeginCapture_v2(captured, CAPTURE_RELAXED));
	cuMemAllocAsync(&a, 40 * MIB, captured); /* a node; the fake driver does not support it */
	SHOW(cuMemAllocAsync(&b, 40 * MIB, free_stream));
	SHOW(cuMemAllocAsync(&c, 40 * MIB, free_stream));
	SHOW(cuMemFreeAsync(b, free_stream));
	SHOW(cuStreamSynchronize(free_stream));
	SHOW(cuMemAllocAsync(&c, 40 * MIB, free_stream));
	SHOW(cuStreamEndCapture(captured, &graph));
	SHOW(cuMemFreeAsync(c, free_stream));
}

/*
 * Many threads request more than the limit; the driver's log shows whether they ever exceeded it.
 */
static void *racer(void *seed)
{
	unsigned int state = (unsigned int)(size_t)seed;
	unsigned long long block;

	cuCtxSetCurrent(context);
	for (int round = 0; round < 300; round++) {
		size_t bytes = (size_t)(rand_r(&state) % 8 + 1) * 2 * MIB;

		switch (rand_r(&state) % 4) {
		case 0:
			if (cuMemAllocManaged(&block, bytes, 1) == 0)
				cuMemFree_v2(block);
			break;
		case 1:
			if (cuMemAllocAsync(&block, bytes, NULL) == 0)
				cuMemFreeAsync(block, NULL);
			break;
		case 2:
			if (create(&block, bytes, probe_device()) == 0)
				cuMemRelease(block);
			break;
		default:
			if (cuMemAlloc_v2(&block, bytes) == 0)
				cuMemFree_v2(block);
		}
	}
	return NULL;
}

static void limit_races(void)
{
	pthread_t threads[6];

	start();
	for (size_t i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, racer, (void *)(i + 1));
	for (size_t i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	puts("done");
}

/* --- a full device --- */

/* A pool holds most of the 64 MiB and releases them; 0.3 s of work may be in flight on them. */
static void scarce(void)
{
	static const char *const kinds[] = { "managed", "create", "async", "large" };
	struct CUstream_st *stream;

	start();
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	for (int kind = 0; kind < 4; kind++) {
		int code = -1;

		SHOW(cuMemAlloc_v2(&a, 40 * MIB));
		SHOW(cuMemsetD8Async(a, 1, MIB, stream));
		SHOW(cuMemFree_v2(a));
		if (kind == 0)
			code = cuMemAllocManaged(&b, 40 * MIB, 1);
		else if (kind == 1)
			code = create(&b, 40 * MIB, 0);
		else if (kind == 2)
			code = cuMemAllocAsync(&b, 40 * MIB, NULL);
		else
			code = cuMemAlloc_v2(&b, 60 * MIB);
		printf("%s: %d\n", kinds[kind], code);
		if (kind == 1)
			SHOW(cuMemRelease(b));
		else
			SHOW(cuMemFree_v2(b));
	}
	SHOW(cuMemAlloc_v2(&a, 40 * MIB));
	SHOW(cuMemAllocAsync(&b, 40 * MIB, NULL));
	SHOW(cuMemFree_v2(a));
}

/* A sparse array, which takes no memory according to mam; according to the fake driver it does. */
static void beside(void)
{
	struct cu_array3d_descriptor sparse = { 1024, 64, 16, 0x20, 1, 0x40 };
	struct CUarray_st *array;
	size_t free_bytes, total_bytes;

	start();
	SHOW(cuArray3DCreate_v2(&array, &sparse));
	SHOW(cuMemAlloc_v2(&a, MIB));
	if (getenv("PROBE_ASKS") != NULL) {
		SHOW(cuArrayDestroy(array));
		SHOW(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	}
}

/* --- pitches --- */

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/*
 * Forty widths, twice, with several element sizes; then an invalid width, height and element size.
 */
static void pitches(void)
{
	static const unsigned int elements[] = { 4, 8, 16 };
	unsigned long long blocks[3];
	size_t pitch = 1;

	start();
	for (int round = 0; round < 2; round++) {
		for (size_t width = 1; width < 40000; width += 999) {
			for (int i = 0; i < 3; i++) {
				int code = cuMemAllocPitch_v2(&blocks[i], &pitch, width, 9,
							      elements[i]);

				printf("%zu by %u: %d %zu aligned %d\n", width, elements[i], code,
				       pitch, blocks[i] % 512 == 0);
				printf("filled %d\n", cuMemsetD8_v2(blocks[i], 1, 9 * pitch));
			}
			for (int i = 0; i < 3; i++)
				SHOW(cuMemFree_v2(blocks[i]));
		}
	}
	SHOW(cuMemAllocPitch_v2(&a, &pitch, 1000, 9, 5));
	SHOW(cuMemAllocPitch_v2(&a, &pitch, 0, 9, 4));
	SHOW(cuMemAllocPitch_v2(&a, &pitch, 1000, 0, 4));
	SHOW(cuMemAllocPitch_v2(&a, &pitch, (size_t)1 << 50, 9, 4));
	SHOW(cuMemAllocPitch_v2(&a, &pitch, 1000, (size_t)1 << 60, 4));
}

/* No call waits for other work, and calls that a capture forbids fail. */
static void pitch_waits(void)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	size_t pitch = 1;
	double begin;

	start();
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemsetD8Async(a, 1, MIB, stream));
	begin = now();
	SHOW(cuMemAllocPitch_v2(&b, &pitch, 1000, 7, 4));
	SHOW(cuMemAllocPitch_v2(&c, &pitch, 1000, 7, 4));
	printf("waited: %d\n", now() - begin > 0.1);
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemFree_v2(c));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	SHOW(cuMemAllocPitch_v2(&b, &pitch, 1000, 7, 4));
	SHOW(cuStreamEndCapture(stream, &graph));
	SHOW(cuMemAllocPitch_v2(&b, &pitch, 1000, 7, 4));
	SHOW(cuMemFree_v2(b));
}

static const struct probe_scene scenes[] = {
	{ "interfaces", interfaces },
	{ "pointers", pointers },
	{ "wrong-ends", wrong_ends },
	{ "limit", limit },
	{ "limit-devices", limit_devices },
	{ "devices", devices },
	{ "one-device", one_device },
	{ "limit-resets", limit_resets },
	{ "limit-maps", limit_maps },
	{ "limit-captures", limit_captures },
	{ "limit-streams", limit_streams },
	{ "limit-races", limit_races },
	{ "scarce", scarce },
	{ "beside", beside },
	{ "pitches", pitches },
	{ "pitch-waits", pitch_waits },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
