/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_policy.c - scenes on the driver API about when freed memory is reused, and about captures.
 */
#include "probe.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)

static struct CUctx_st *context;
static unsigned long long a, b, c;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void start(void)
{
	SHOW(cuInit(0));
	SHOW(cuDevicePrimaryCtxRetain(&context, probe_device()));
	SHOW(cuCtxSetCurrent(context));
}

/* Every capture mode, with every mode of the thread that allocates and frees. */
static void allocate_in_capture(int capture_mode, int thread_mode)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph = NULL;
	int mode = thread_mode;

	printf("capture mode %d, thread mode %d\n", capture_mode, thread_mode);
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuStreamBeginCapture_v2(stream, capture_mode));
	SHOW(cuThreadExchangeStreamCaptureMode(&mode));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuThreadExchangeStreamCaptureMode(&mode));
	SHOW(cuStreamEndCapture(stream, &graph));
	SHOW(cuStreamBeginCapture_v2(stream, capture_mode));
	SHOW(cuThreadExchangeStreamCaptureMode(&mode));
	mode = thread_mode;
	SHOW(cuThreadExchangeStreamCaptureMode(&mode));
	SHOW(cuMemFree_v2(a));
	SHOW(cuThreadExchangeStreamCaptureMode(&mode));
	SHOW(cuStreamEndCapture(stream, &graph));
	mode = CAPTURE_GLOBAL;
	SHOW(cuThreadExchangeStreamCaptureMode(&mode));
	SHOW(cuStreamDestroy_v2(stream));
}

static void captures(void)
{
	start();
	for (int capture_mode = CAPTURE_GLOBAL; capture_mode <= CAPTURE_RELAXED; capture_mode++)
		for (int thread_mode = CAPTURE_GLOBAL; thread_mode <= CAPTURE_RELAXED;
		     thread_mode++)
			allocate_in_capture(capture_mode, thread_mode);
}

/* A free in a capture that allows it, while the device has no free memory. */
static void captures_full(void)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph = NULL;
	int mode = CAPTURE_RELAXED;

	start();
	while (cuMemAlloc_v2(&b, 16 * MIB) == CUDA_SUCCESS)
		a = b;
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuThreadExchangeStreamCaptureMode(&mode));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	SHOW(cuMemsetD8Async(a, 1, MIB, NULL));
	SHOW(cuMemFree_v2(a));
	SHOW(cuStreamEndCapture(stream, &graph));
}

/* A global capture of one thread restricts another thread. */
static void *allocate(void *unused)
{
	(void)unused;
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuMemAlloc_v2(&b, MIB));
	return NULL;
}

static void captures_of_others(void)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	pthread_t thread;

	start();
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
		SHOW(cuStreamBeginCapture_v2(stream, mode));
		pthread_create(&thread, NULL, allocate, NULL);
		pthread_join(thread, NULL);
		SHOW(cuStreamEndCapture(stream, &graph));
	}
}

static void *end_capture(void *stream)
{
	struct CUgraph_st *graph;

	SHOW(cuCtxSetCurrent(context));
	SHOW(cuStreamEndCapture(stream, &graph));
	return NULL;
}

/*
 * Captures that end in other ways: with their stream, with an error, with their context. Another
 * thread cannot end them.
 */
static void captures_end(void)
{
	struct CUstream_st *stream, *other;
	struct CUgraph_st *graph;
	struct CUctx_st *own;
	pthread_t thread;

	start();
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuStreamCreate(&other, STREAM_NON_BLOCKING));
	SHOW(cuStreamEndCapture(other, &graph));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	printf("ended elsewhere: %d\n", cuStreamEndCapture(other, &graph) != 0);
	pthread_create(&thread, NULL, end_capture, stream);
	pthread_join(thread, NULL);
	SHOW(cuMemAlloc_v2(&a, MIB));
	printf("ended spoilt: %d\n", cuStreamEndCapture(stream, &graph) != 0);
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	SHOW(cuStreamDestroy_v2(stream));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuMemFree_v2(b));
	SHOW(cuCtxCreate_v2(&own, 0, probe_device()));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	SHOW(cuCtxDestroy_v2(own));
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemFree_v2(a));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	SHOW(cuDevicePrimaryCtxReset_v2(probe_device()));
	start();
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuMemFree_v2(b));
}

/*
 * How many of the blocks allocated after captures came from the driver: the test counts them in the
 * log.
 */
static void after_captures(void)
{
	captures_end();
	for (int i = 0; i < 100; i++) {
		cuMemAlloc_v2(&a, 1000);
		cuMemFree_v2(a);
	}
}

/*
 * Work in flight on a block that is freed: which call waits, and which allocation gets the block
 * next.
 */
static void in_flight(void)
{
	struct CUstream_st *stream;
	double begin;

	start();
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	SHOW(cuMemAlloc_v2(&c, 3 * MIB));
	SHOW(cuMemsetD8Async(a, 1, MIB, stream));
	begin = now();
	SHOW(cuMemFree_v2(a));
	printf("the free waited: %d\n", now() - begin > 0.1);
	SHOW(cuMemFree_v2(a));
	begin = now();
	SHOW(cuMemAlloc_v2(&b, 3 * MIB));
	printf("the allocation waited: %d\n", now() - begin > 0.1);
	printf("it got the same block: %d\n", a == b);
	SHOW(cuStreamSynchronize(stream));
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemFree_v2(c));
}

/* The same with a stream-ordered free of memory that is not stream-ordered. */
static void in_flight_async(void)
{
	struct CUstream_st *stream;
	double begin;

	start();
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	SHOW(cuMemAlloc_v2(&c, 3 * MIB));
	SHOW(cuMemsetD8Async(a, 1, MIB, stream));
	begin = now();
	SHOW(cuMemFreeAsync(a, stream));
	SHOW(cuMemAlloc_v2(&b, 3 * MIB));
	printf("the two waited: %d\n", now() - begin > 0.1);
	printf("it got the same block: %d\n", a == b);
}

/* The same on a full device: some call has to wait. */
static void in_flight_full(void)
{
	struct CUstream_st *stream;
	double begin;

	start();
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuMemAlloc_v2(&a, 100 * MIB));
	SHOW(cuMemAlloc_v2(&c, 100 * MIB));
	SHOW(cuMemsetD8Async(a, 1, MIB, stream));
	SHOW(cuMemFree_v2(a));
	begin = now();
	SHOW(cuMemAlloc_v2(&b, 100 * MIB));
	printf("the allocation waited: %d\n", now() - begin > 0.1);
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemFree_v2(c));
}

/* Idle: the freed memory serves the next request of any size. */
static void idle(void)
{
	start();
	for (int i = 0; i < 1000; i++) {
		if (cuMemAlloc_v2(&a, 200 * MIB) != 0 || cuMemFree_v2(a) != 0)
			printf("round %d failed\n", i);
	}
	puts("done");
}

/* Less memory than mam keeps waiting for work before it waits itself. */
static void idle_small(void)
{
	start();
	for (int i = 0; i < 1000; i++) {
		if (cuMemAlloc_v2(&a, 60 * MIB) != 0 || cuMemFree_v2(a) != 0)
			printf("round %d failed\n", i);
	}
	puts("done");
}

/* Stream-ordered frees of memory that is not stream-ordered, and the reverse. */
static void async(void)
{
	struct CUstream_st *stream;
	double begin;

	start();
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemAlloc_v2(&c, MIB));
	SHOW(cuMemsetD8Async(a, 1, MIB, stream));
	begin = now();
	SHOW(cuMemFreeAsync(a, stream));
	printf("the free waited: %d\n", now() - begin > 0.1);
	SHOW(cuMemFreeAsync(a, stream));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFreeAsync(c + 1, stream));
	SHOW(cuMemAllocAsync(&b, MIB, stream));
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemAllocAsync(&b, MIB, stream));
	SHOW(cuMemFreeAsync(b, stream));
	SHOW(cuMemFreeAsync(c, NULL));
	SHOW(cuMemFreeAsync(c, STREAM_PER_THREAD));
	SHOW(cuStreamSynchronize(stream));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
}

static const struct probe_scene scenes[] = {
	{ "captures", captures },
	{ "captures-full", captures_full },
	{ "captures-of-others", captures_of_others },
	{ "captures-end", captures_end },
	{ "after-captures", after_captures },
	{ "in-flight", in_flight },
	{ "in-flight-async", in_flight_async },
	{ "in-flight-full", in_flight_full },
	{ "idle", idle },
	{ "idle-small", idle_small },
	{ "async", async },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
