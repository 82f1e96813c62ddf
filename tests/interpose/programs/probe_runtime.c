/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_runtime.c - scenes on the runtime API: last errors, devices, resets, process exit.
 */
#include "probe.h"

#include <stdlib.h>

#include "fake/driver_api.h"
#include "fake/runtime_api.h"

#define MIB ((size_t)1 << 20)

static void *a, *b;

static void show(const char *what, int result)
{
	int first = cudaGetLastError();

	printf("%s: %d last error %d then %d\n", what, result, first, cudaGetLastError());
}

#define ASK(call) show(#call, call)

static void show_free(const char *when)
{
	size_t free_bytes = 0, total_bytes = 0;
	int result = cudaMemGetInfo(&free_bytes, &total_bytes);

	printf("%s: %d free %zu MiB of %zu MiB\n", when, result, free_bytes / MIB,
	       total_bytes / MIB);
}

/* The very first call is cudaMalloc. */
static void once(void)
{
	ASK(cudaMalloc(&a, MIB));
	ASK(cudaFree(a));
	ASK(cudaFree(a));
	ASK(cudaMalloc(&a, MIB));
	ASK(cudaFree(a));
}

static void bad_arguments(void)
{
	ASK(cudaFree(NULL));
	a = (void *)1;
	ASK(cudaMalloc(&a, 0));
	printf("null: %d\n", a == NULL);
	ASK(cudaMalloc(NULL, MIB));
	ASK(cudaMalloc(&a, SIZE_MAX));
	ASK(cudaFree((char *)&a));
	ASK(cudaMalloc(&a, MIB));
	ASK(cudaFree((char *)a + 1));
	ASK(cudaFree((char *)a + 512));
	ASK(cudaFree(a));
	ASK(cudaFree(a));
	ASK(cudaMalloc(&b, MIB));
	ASK(cudaFree(b));
}

static void devices(void)
{
	void *blocks[3];

	for (int device = 0; device < 2; device++) {
		ASK(cudaSetDevice(device));
		show_free("before");
		ASK(cudaMalloc(&blocks[device], 20 * MIB));
		ASK(cudaMemset(blocks[device], 1, 20 * MIB));
		show_free("after");
	}
	ASK(cudaFree(blocks[0]));
	ASK(cudaSetDevice(0));
	ASK(cudaMalloc(&blocks[2], 20 * MIB));
	ASK(cudaDeviceReset());
	ASK(cudaFree(blocks[2]));
	ASK(cudaSetDevice(1));
	ASK(cudaFree(blocks[1]));
	show_free("at the end");
}

static void reset(void)
{
	ASK(cudaDeviceReset());
	for (int round = 0; round < 3; round++) {
		ASK(cudaMalloc(&a, MIB));
		ASK(cudaMemset(a, 1, MIB));
		ASK(cudaDeviceReset());
		ASK(cudaFree(a));
		show_free("after");
	}
}

/* Entry points that the runtime returns are intercepted as well. */
static void entry(void)
{
	int (*alloc)(unsigned long long *, size_t) = NULL, (*release)(unsigned long long) = NULL;
	unsigned long long block = 0;
	int status = -1;
	void *none = NULL;

	ASK(cudaFree(NULL));
	ASK(cudaGetDriverEntryPointByVersion("cuMemAlloc", (void **)&alloc, 12000, 0, &status));
	printf("status %d\n", status);
	ASK(cudaGetDriverEntryPoint("cuMemFree", (void **)&release, 0, &status));
	printf("status %d\n", status);
	ASK(cudaGetDriverEntryPoint("cuNoSuchThing", &none, 0, &status));
	printf("status %d found %d\n", status, none != NULL);
	ASK(alloc(&block, MIB));
	ASK(release(block));
	ASK(release(block));
}

/* The driver has ended, and returns 4. A pool of mam still takes the block. */
static void free_late(void)
{
	int code = cudaFree(a);

	printf("late free: %s\n", code == 0 || code == 4 ? "0 or 4" : "another error");
	fflush(stdout);
}

static void at_exit(void)
{
	atexit(free_late);
	ASK(cudaMalloc(&a, MIB));
}

static void pitched(void)
{
	struct rt_pitched cube;
	struct rt_extent extent = { 1234, 7, 3 };
	size_t pitch = 1;

	for (int round = 0; round < 2; round++) {
		ASK(cudaMallocPitch(&a, &pitch, 1234, 7));
		printf("pitch %zu aligned %d\n", pitch, (size_t)a % 512 == 0);
		ASK(cudaMalloc3D(&cube, extent));
		printf("pitch %zu width %zu height %zu\n", cube.pitch, cube.width, cube.height);
		ASK(cudaMemset(cube.address, 1, cube.pitch * 21));
		ASK(cudaFree(cube.address));
		ASK(cudaFree(a));
	}
	ASK(cudaFree(a));
	ASK(cudaMallocPitch(&a, &pitch, 0, 7));
	ASK(cudaMallocPitch(&a, &pitch, 1234, (size_t)1 << 60));
}

/* The program's variables after a failed allocation of each kind. */
static void failures(void)
{
	const size_t much = (size_t)1 << 46;
	struct rt_pitched cube = { &a, 3, 4, 5 };
	struct CUmemPoolHandle_st *pool;
	size_t pitch = 7;

	ASK(cudaDeviceGetDefaultMemPool(&pool, 0));
#define FAIL(call)                                                     \
	do {                                                           \
		a = &a;                                                \
		ASK(call);                                             \
		printf("null %d, as it was %d\n", a == NULL, a == &a); \
	} while (0)
	FAIL(cudaMalloc(&a, much));
	FAIL(cudaMalloc(&a, SIZE_MAX));
	FAIL(cudaMallocManaged(&a, much, 1));
	FAIL(cudaMallocHost(&a, much));
	FAIL(cudaHostAlloc(&a, much, 0));
	FAIL(cudaMallocAsync(&a, much, NULL));
	FAIL(cudaMallocFromPoolAsync(&a, much, pool, NULL));
	FAIL(cudaMallocPitch(&a, &pitch, much, 1));
	printf("pitch %zu\n", pitch);
	ASK(cudaMalloc3D(&cube, (struct rt_extent){ much, 1, 1 }));
	printf("as it was %d %zu %zu %zu\n", cube.address == &a, cube.pitch, cube.width,
	       cube.height);
	ASK(cudaMalloc(&b, MIB));
	ASK(cudaFree(b));
}

/*
 * Captures that end while another device is current, with their stream and with their device. A
 * pool serves the allocations at the end.
 */
static void captures(void)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	int failed = 0;

	ASK(cudaStreamCreateWithFlags(&stream, STREAM_NON_BLOCKING));
	ASK(cudaMalloc(&a, MIB));
	for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
		ASK(cudaStreamBeginCapture(stream, mode));
		ASK(cudaSetDevice(1));
		ASK(cudaStreamEndCapture(stream, &graph));
		ASK(cudaStreamBeginCapture_ptsz(NULL, mode));
		ASK(cudaSetDevice(0));
		ASK(cudaStreamEndCapture_ptsz(NULL, &graph));
		ASK(cudaFreeAsync_ptsz(a, NULL));
		ASK(cudaSetDevice(1));
		ASK(cudaStreamEndCapture_ptsz(NULL, &graph));
		ASK(cudaSetDevice(0));
		ASK(cudaMalloc(&a, MIB));
		ASK(cudaStreamBeginCapture(stream, mode));
		ASK(cudaFreeAsync(a, stream));
		ASK(cudaFree(a));
		ASK(cudaStreamEndCapture(stream, &graph));
		ASK(cudaMalloc(&a, MIB));
	}
	ASK(cudaStreamBeginCapture(stream, CAPTURE_RELAXED));
	ASK(cudaStreamDestroy(stream));
	ASK(cudaStreamCreate(&stream));
	ASK(cudaStreamBeginCapture(stream, CAPTURE_RELAXED));
	ASK(cudaDeviceReset());
	for (int i = 0; i < 100; i++)
		failed += cudaMalloc(&a, 1000) != 0 || cudaFree(a) != 0;
	printf("failed: %d\n", failed);
}

int main(int count, char **arguments)
{
	static const struct probe_scene scenes[] = {
		{ "once", once },         { "bad-arguments", bad_arguments },
		{ "devices", devices },   { "reset", reset },
		{ "entry", entry },       { "at-exit", at_exit },
		{ "pitched", pitched },   { "failures", failures },
		{ "captures", captures },
	};

	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
