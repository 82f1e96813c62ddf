/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_driver.c - scenes on the driver API: contexts, waits, captures, forks, lookups.
 */
#include "probe.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)

static unsigned long long a, b, c;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct CUctx_st *primary(int device)
{
	struct CUctx_st *context = NULL;

	SHOW(cuInit(0));
	SHOW(cuDevicePrimaryCtxRetain(&context, device));
	SHOW(cuCtxSetCurrent(context));
	return context;
}

static void show_free(const char *when)
{
	size_t free_bytes = 0, total_bytes = 0;
	int result = cuMemGetInfo_v2(&free_bytes, &total_bytes);

	printf("%s: %d free %zu MiB of %zu MiB\n", when, result, free_bytes / MIB,
	       total_bytes / MIB);
}

/* Blocks of two contexts, freed from the other context, and after their own context has ended. */
static void contexts(void)
{
	struct CUctx_st *one = NULL, *two = NULL;

	SHOW(cuInit(0));
	SHOW(cuCtxCreate_v2(&one, 0, probe_device()));
	SHOW(cuMemAlloc_v2(&a, 5 * MIB));
	SHOW(cuCtxCreate_v2(&two, 0, probe_device()));
	SHOW(cuMemAlloc_v2(&b, 5 * MIB));
	SHOW(cuMemAlloc_v2(&c, 5 * MIB));
	printf("apart: %d\n", a != b && b != c && a != c);
	SHOW(cuCtxSetCurrent(two));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(a));
	SHOW(cuCtxSetCurrent(one));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(b));
	SHOW(cuCtxDestroy_v2(two));
	SHOW(cuMemFree_v2(c));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
	SHOW(cuCtxDestroy_v2(one));
	SHOW(cuMemAlloc_v2(&a, MIB));
}

/* cuCtxDetach ends a context only after one more call than cuCtxAttach. */
static void detach(void)
{
	struct CUctx_st *context = NULL, *attached;

	SHOW(cuInit(0));
	for (int round = 0; round < 3; round++) {
		SHOW(cuCtxCreate_v2(&context, 0, probe_device()));
		SHOW(cuMemAlloc_v2(&a, 300 * MIB));
		SHOW(cuMemAlloc_v2(&b, 300 * MIB));
		SHOW(cuCtxAttach(&attached, 0));
		SHOW(cuCtxDetach(context));
		SHOW(cuMemFree_v2(a));
		SHOW(cuMemAlloc_v2(&a, 300 * MIB));
		show_free("full");
		if (round == 1)
			SHOW(cuCtxPushCurrent_v2(context));
		SHOW(cuCtxDetach(context));
		if (round == 1)
			SHOW(cuCtxPopCurrent_v2(&attached));
		SHOW(cuMemFree_v2(b));
	}
	SHOW(cuCtxCreate_v2(&context, 0, probe_device()));
	show_free("after");
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(a));
}

/* A new context, perhaps at the same address, has none of the old context's blocks. */
static void context_again(void)
{
	struct CUctx_st *context = NULL;

	SHOW(cuInit(0));
	for (int round = 0; round < 100; round++) {
		int result = cuCtxCreate_v2(&context, 0, probe_device());

		result |= cuMemAlloc_v2(&a, 3 * MIB);
		result |= cuMemsetD8_v2(a, 1, 3 * MIB);
		result |= cuCtxDestroy_v2(context);
		if (result != 0)
			printf("round %d: %d\n", round, result);
	}
	SHOW(cuCtxCreate_v2(&context, 0, probe_device()));
	show_free("after");
	SHOW(cuMemFree_v2(a));
}

static void release(void)
{
	struct CUctx_st *context = primary(0);

	SHOW(cuDevicePrimaryCtxRetain(&context, probe_device()));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuDevicePrimaryCtxRelease_v2(probe_device()));
	SHOW(cuMemFree_v2(b));
	SHOW(cuDevicePrimaryCtxRelease_v2(probe_device()));
	SHOW(cuMemFree_v2(a));
	primary(0);
	SHOW(cuMemFree_v2(a));
	show_free("after");
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
}

static void reset(void)
{
	primary(0);
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuDevicePrimaryCtxReset_v2(probe_device()));
	SHOW(cuMemFree_v2(a));
	primary(0);
	SHOW(cuMemFree_v2(a));
	show_free("after");
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuDevicePrimaryCtxReset(probe_device()));
	primary(0);
	SHOW(cuMemFree_v2(a));
}

/*
 * Whether a free waits for work of its block's context (FAKE_CUDA_LAG_US sets how long that takes).
 */
static void waits(void)
{
	struct CUctx_st *one = NULL, *two = NULL;
	struct CUstream_st *stream;
	double start;

	SHOW(cuInit(0));
	SHOW(cuCtxCreate_v2(&one, 0, probe_device()));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuMemsetD8Async(b, 1, MIB, stream));
	start = now();
	SHOW(cuMemFree_v2(a));
	printf("free waited for its context: %d\n", now() - start > 0.1);
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemsetD8Async(b, 1, MIB, stream));
	SHOW(cuCtxCreate_v2(&two, 0, probe_device()));
	SHOW(cuMemAlloc_v2(&c, MIB));
	start = now();
	SHOW(cuMemFree_v2(c));
	printf("free waited for another context: %d\n", now() - start > 0.1);
	start = now();
	SHOW(cuMemFree_v2(a));
	printf("free waited for its context, which is not current: %d\n", now() - start > 0.1);
	SHOW(cuMemFree_v2(b));
}

/*
 * A free in a capture that forbids it: it fails, the capture is invalidated, and the block stays
 * allocated.
 */
static void capture(void)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	unsigned char byte = 7;

	primary(0);
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	SHOW(cuMemFree_v2(a));
	SHOW(cuStreamEndCapture(stream, &graph));
	SHOW(cuMemcpyHtoD_v2(a, &byte, 1));
	SHOW(cuMemFree_v2(a));
}

/* The same in a thread in relaxed mode: the free is allowed, and the capture continues. */
static void relaxed(void)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	int mode = CAPTURE_RELAXED;

	primary(0);
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuThreadExchangeStreamCaptureMode(&mode));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	SHOW(cuMemAlloc_v2(&b, 100 * MIB));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(b));
	SHOW(cuStreamEndCapture(stream, &graph));
	SHOW(cuThreadExchangeStreamCaptureMode(&mode));
	printf("mode left: %d\n", mode);
}

static void in_child(void (*play)(void))
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		play();
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("child ended: %d\n", status);
}

static void child_after(void)
{
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&b, MIB));
}

static void forks(void)
{
	primary(0);
	SHOW(cuMemAlloc_v2(&a, MIB));
	in_child(child_after);
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
}

static void child_before(void)
{
	primary(0);
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
}

/* The parent has looked up CUDA functions but not initialized CUDA: its children may do so. */
static void fork_before(void)
{
	void *found;

	SHOW(cuGetProcAddress("cuMemAlloc", &found, 12000, 0));
	in_child(child_before);
	in_child(child_before);
	child_before();
}

/* Memory that one context freed is available to another one. */
static void scarce(void)
{
	struct CUctx_st *one = NULL, *two = NULL;

	SHOW(cuInit(0));
	SHOW(cuCtxCreate_v2(&one, 0, probe_device()));
	SHOW(cuMemAlloc_v2(&a, 700 * MIB));
	SHOW(cuMemFree_v2(a));
	SHOW(cuCtxCreate_v2(&two, 0, probe_device()));
	SHOW(cuMemAlloc_v2(&b, 700 * MIB));
	SHOW(cuMemAlloc_v2(&c, 700 * MIB));
	SHOW(cuMemFree_v2(b));
	SHOW(cuCtxSetCurrent(one));
	SHOW(cuMemAlloc_v2(&a, 700 * MIB));
}

static void memory_info(void)
{
	primary(0);
	show_free("before");
	SHOW(cuMemAlloc_v2(&a, 10 * MIB));
	show_free("with one");
	SHOW(cuMemAlloc_v2(&b, 200 * MIB));
	show_free("with two");
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(b));
	show_free("after");
}

static void bad_arguments(void)
{
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(4096));
	primary(0);
	SHOW(cuMemAlloc_v2(NULL, MIB));
	SHOW(cuMemAlloc_v2(NULL, 0));
	a = 5;
	SHOW(cuMemAlloc_v2(&a, 0));
	SHOW(cuMemAlloc_v2(&a, SIZE_MAX));
	printf("left alone: %d\n", a == 5);
	SHOW(cuMemFree_v2(0));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a + 1));
	SHOW(cuMemFree_v2(a + MIB / 2));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(a + 512));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuMemFree_v2(b));
}

/* Blocks that the pool never owned: host, managed, stream-ordered. */
static void foreign(void)
{
	void *host;

	primary(0);
	SHOW(cuMemAllocManaged(&a, MIB, 1));
	SHOW(cuMemAllocAsync(&b, MIB, NULL));
	SHOW(cuMemHostAlloc(&host, MIB, 0));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemFree_v2((uintptr_t)host));
	SHOW(cuMemFreeHost(host));
	SHOW(cuMemAlloc_v2(&c, MIB));
	SHOW(cuMemFree_v2(c));
}

/* For runs in which a driver call fails on purpose. */
static void once(void)
{
	primary(0);
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
}

static void look_up(const char *name, int version, uint64_t flags)
{
	void *found = NULL, *older = NULL;
	int status = -1;
	int result = cuGetProcAddress_v2(name, &found, version, flags, &status);

	printf("%s %d flags %d: %d status %d found %d;", name, version, (int)flags, result, status,
	       found != NULL);
	result = cuGetProcAddress(name, &older, version, flags);
	printf(" first form %d found %d\n", result, older != NULL);
}

static void lookups(void)
{
	__typeof__(cuGetProcAddress_v2) *nested = NULL;
	__typeof__(cuMemAlloc_v2) *alloc = NULL;
	__typeof__(cuMemFree_v2) *release_block = NULL;
	int status;

	look_up("", 0, 0);
	look_up("cuMemAlloc", 3020, 0);
	look_up("cuMemAlloc", 3020, PROC_PER_THREAD_STREAM);
	look_up("cuMemAlloc", 2000, 0);
	look_up("cuMemAlloc_v2", 12000, 0);
	look_up("cuMemAllocation", 12000, 0);
	look_up("cuMemFree", 13000, 0);
	look_up("cuMemFree", 99000, 0);
	look_up("cuMemFree", 13000, 77);
	look_up("cuGetProcAddress", 11030, 0);
	SHOW(cuGetProcAddress_v2("cuMemAlloc", NULL, 3020, 0, &status));
	SHOW(cuGetProcAddress_v2(NULL, (void **)&alloc, 3020, 0, &status));
	SHOW(cuGetProcAddress_v2("cuGetProcAddress", (void **)&nested, 12000, 0, NULL));
	SHOW(nested("cuGetProcAddress", (void **)&nested, 12000, 0, NULL));
	SHOW(nested("cuMemAlloc", (void **)&alloc, 3020, PROC_PER_THREAD_STREAM, &status));
	SHOW(nested("cuMemFree", (void **)&release_block, 3020, PROC_LEGACY_STREAM, &status));
	primary(0);
	SHOW(alloc(&a, MIB));
	SHOW(release_block(a));
	SHOW(release_block(a));
}

static struct CUctx_st *shared;

static void *free_b(void *unused)
{
	(void)unused;
	SHOW(cuCtxSetCurrent(shared));
	SHOW(cuMemFree_v2(b));
	return NULL;
}

static void other_thread(void)
{
	pthread_t thread;

	shared = primary(0);
	SHOW(cuMemAlloc_v2(&b, MIB));
	pthread_create(&thread, NULL, free_b, NULL);
	pthread_join(thread, NULL);
	SHOW(cuMemFree_v2(b));
}

int main(int count, char **arguments)
{
	static const struct probe_scene scenes[] = {
		{ "contexts", contexts },
		{ "context-again", context_again },
		{ "detach", detach },
		{ "release", release },
		{ "reset", reset },
		{ "waits", waits },
		{ "capture", capture },
		{ "relaxed", relaxed },
		{ "fork", forks },
		{ "fork-before", fork_before },
		{ "scarce", scarce },
		{ "memory-info", memory_info },
		{ "bad-arguments", bad_arguments },
		{ "foreign", foreign },
		{ "once", once },
		{ "lookups", lookups },
		{ "other-thread", other_thread },
	};

	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
