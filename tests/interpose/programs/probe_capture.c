/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_capture.c - scenes about stream captures: the ways in which they end, what they forbid to
 * which thread, and memory that is freed during a capture.
 *
 * A scene ends with the allocations of "after". A pool serves them unless mam still sees a capture;
 * the test counts the driver's allocations in its log.
 */
#include "probe.h"

#include <pthread.h>
#include <stdint.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)
#define MANY 200

/* The variants for per-thread default streams. */
int cuStreamBeginCapture_v2_ptsz(struct CUstream_st *stream, int mode);
int cuMemAllocAsync_ptsz(unsigned long long *address, size_t bytes, struct CUstream_st *stream);
int cuMemFreeAsync_ptsz(unsigned long long address, struct CUstream_st *stream);
int cuStreamEndCapture_ptsz(struct CUstream_st *stream, struct CUgraph_st **graph);

static struct CUctx_st *first, *second; /* primary contexts of devices 0 and 1 */
static struct CUstream_st *stream;
static struct CUgraph_st *graph;
static unsigned long long a, b;

static void start(void)
{
	SHOW(cuInit(0));
	SHOW(cuDevicePrimaryCtxRetain(&first, 0));
	SHOW(cuDevicePrimaryCtxRetain(&second, 1));
	SHOW(cuCtxSetCurrent(first));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
}

static void after(void)
{
	int failed = 0;

	SHOW(cuCtxSetCurrent(first));
	for (int i = 0; i < 100; i++)
		failed += cuMemAlloc_v2(&a, 1000) != 0 || cuMemFree_v2(a) != 0;
	printf("failed: %d\n", failed);
}

static void capturing(struct CUstream_st *which)
{
	int status = -1, code = cuStreamIsCapturing(which, &status);

	printf("capturing: %d %d\n", code, status);
}

static void end_elsewhere(void)
{
	start();
	for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
		SHOW(cuStreamBeginCapture_v2(stream, mode));
		SHOW(cuCtxSetCurrent(second));
		SHOW(cuStreamEndCapture(stream, &graph));
		SHOW(cuCtxSetCurrent(first));
	}
	SHOW(cuStreamBeginCapture(stream));
	SHOW(cuCtxSetCurrent(NULL));
	SHOW(cuStreamEndCapture(stream, &graph));
	after();
}

static void end_graph(void)
{
	struct CUgraph_st *own;

	start();
	SHOW(cuGraphCreate(&own, 0));
	SHOW(cuStreamBeginCaptureToGraph(stream, own, NULL, NULL, 0, CAPTURE_GLOBAL));
	SHOW(cuCtxSetCurrent(second));
	SHOW(cuStreamEndCapture(stream, &graph));
	printf("the same graph: %d\n", own == graph);
	after();
}

/* A cuStreamEndCapture that fails leaves the capture active, unless the capture was invalidated. */
static void end_fails(void)
{
	start();
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	SHOW(cuCtxSetCurrent(second));
	SHOW(cuStreamEndCapture(stream, &graph)); /* the test makes the first end fail */
	capturing(stream);
	SHOW(cuStreamEndCapture(stream, &graph));
	SHOW(cuStreamEndCapture(stream, &graph));
	SHOW(cuCtxSetCurrent(first));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	SHOW(cuCtxSynchronize());
	SHOW(cuCtxSetCurrent(second));
	SHOW(cuStreamEndCapture(stream, &graph));
	after();
}

/* A capturing stream is destroyed, and no new stream reuses its handle: mam must not query it. */
static void destroyed(void)
{
	start();
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	SHOW(cuStreamDestroy(stream));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	SHOW(cuStreamDestroy_v2(stream));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	after();
}

/* The stream is destroyed while another context is current, and its handle is reused. */
static void destroys(void)
{
	int (*destroy[])(struct CUstream_st *) = { cuStreamDestroy, cuStreamDestroy_v2 };

	start();
	for (int i = 0; i < 2; i++) {
		struct CUstream_st *before = stream;

		SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
		SHOW(cuCtxSetCurrent(second));
		SHOW(destroy[i](stream));
		SHOW(cuCtxSetCurrent(first));
		SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
		printf("the same handle: %d\n", stream == before);
		SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
		SHOW(cuMemAlloc_v2(&a, MIB));
		SHOW(cuStreamEndCapture(stream, &graph));
	}
	after();
}

/* The context ends, in each possible way, before and after it had memory. */
static void contexts(void)
{
	struct CUctx_st *own;

	start();
	for (int i = 0; i < 4; i++) {
		SHOW(cuCtxCreate_v2(&own, 0, 0));
		SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
		if (i > 1)
			SHOW(cuMemAlloc_v2(&a, MIB));
		SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
		if (i % 2 == 0) {
			SHOW(cuCtxSetCurrent(second));
			SHOW(cuCtxDestroy(own));
		} else {
			SHOW(cuCtxDetach(own));
		}
		SHOW(cuCtxSetCurrent(first));
	}
	for (int i = 0; i < 4; i++) {
		SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
		if (i > 1)
			SHOW(cuMemAlloc_v2(&a, MIB));
		SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
		if (i % 2 == 0)
			SHOW(cuDevicePrimaryCtxReset_v2(0));
		else
			SHOW(cuDevicePrimaryCtxRelease_v2(0));
		SHOW(cuDevicePrimaryCtxRetain(&first, 0));
		SHOW(cuCtxSetCurrent(first));
	}
	after();
}

/* mam does not see that the streams of a green context end with it: it queries the driver. */
static void unseen(void)
{
	struct CUgreenCtx_st *green;

	start();
	SHOW(cuGreenCtxCreate(&green, NULL, 0, GREEN_DEFAULT_STREAM));
	SHOW(cuGreenCtxStreamCreate(&stream, green, STREAM_NON_BLOCKING, 0));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	SHOW(cuGreenCtxDestroy(green));
	SHOW(cuGreenCtxCreate(&green, NULL, 0, GREEN_DEFAULT_STREAM));
	SHOW(cuGreenCtxStreamCreate(&stream, green, STREAM_NON_BLOCKING, 0));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	SHOW(cuGreenCtxDestroy(green));
	after();
}

/* The handle of the per-thread stream denotes a different stream in another context. */
static void per_thread(void)
{
	start();
	for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
		SHOW(cuStreamBeginCapture_v2_ptsz(NULL, mode));
		SHOW(cuCtxSetCurrent(second));
		SHOW(cuStreamEndCapture_ptsz(NULL, &graph));
		SHOW(cuStreamBeginCapture_v2(STREAM_PER_THREAD, mode));
		SHOW(cuCtxSetCurrent(first));
		capturing(STREAM_PER_THREAD);
		SHOW(cuStreamEndCapture(STREAM_PER_THREAD, &graph));
		SHOW(cuCtxSetCurrent(second));
		SHOW(cuStreamEndCapture_ptsz(NULL, &graph));
		SHOW(cuStreamBeginCapture_v2_ptsz(STREAM_LEGACY, mode));
		SHOW(cuStreamBeginCapture_v2(NULL, mode));
		SHOW(cuStreamDestroy_v2(STREAM_PER_THREAD));
		SHOW(cuCtxSetCurrent(first));
	}
	after();
}

static void many(void)
{
	struct CUstream_st *streams[MANY];
	int failed = 0;

	start();
	for (int i = 0; i < MANY; i++)
		failed += cuStreamCreate(&streams[i], STREAM_NON_BLOCKING) != 0 ||
			  cuStreamBeginCapture_v2(streams[i], CAPTURE_RELAXED) != 0;
	SHOW(cuCtxSetCurrent(second));
	for (int i = 0; i < MANY; i++)
		failed += cuStreamEndCapture(streams[i], &graph) != 0;
	printf("captures failed: %d\n", failed);
	after();
}

/*
 * A stream of the other device joins the capture. From then on no thread may synchronize its
 * context.
 */
static void joined(void)
{
	struct CUstream_st *joining;
	struct CUevent_st *event;

	start();
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuEventCreate(&event, 0));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	SHOW(cuEventRecord(event, stream));
	SHOW(cuCtxSetCurrent(second));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuStreamCreate(&joining, STREAM_NON_BLOCKING));
	SHOW(cuStreamWaitEvent(joining, event, 0));
	capturing(joining);
	SHOW(cuMemFreeAsync(b, joining));
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFreeAsync(b, NULL));
	capturing(stream);
	SHOW(cuStreamEndCapture(joining, &graph));
	SHOW(cuStreamEndCapture(stream, &graph));
	capturing(joining);
	after();
}

/*
 * On a capturing stream only memory of the graph can be freed; on other streams the capture makes
 * no difference.
 */
static void frees_async(void)
{
	struct CUstream_st *other;
	unsigned long long ordered;
	int mode;

	start();
	SHOW(cuStreamCreate(&other, STREAM_NON_BLOCKING));
	SHOW(cuMemAlloc_v2(&a, MIB)); /* the first block of a chunk, which the driver could free */
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuMemAllocAsync(&ordered, MIB, other));
	for (int capture = CAPTURE_GLOBAL; capture <= CAPTURE_RELAXED; capture++) {
		for (int thread = CAPTURE_GLOBAL; thread <= CAPTURE_RELAXED; thread++) {
			SHOW(cuStreamBeginCapture_v2(stream, capture));
			mode = thread;
			SHOW(cuThreadExchangeStreamCaptureMode(&mode));
			SHOW(cuMemFreeAsync(a, stream));
			SHOW(cuMemFreeAsync(b, stream));
			SHOW(cuMemFreeAsync(b + 512, stream));
			SHOW(cuMemFreeAsync(ordered, stream));
			SHOW(cuMemFreeAsync(b, other));
			SHOW(cuMemFreeAsync(b, other));
			SHOW(cuMemFreeAsync(b, stream));
			SHOW(cuThreadExchangeStreamCaptureMode(&mode));
			SHOW(cuStreamEndCapture(stream, &graph));
			SHOW(cuMemAlloc_v2(&b, MIB));
		}
	}
	SHOW(cuStreamCreate(&other, 0));
	SHOW(cuStreamBeginCapture_v2(other, CAPTURE_RELAXED));
	SHOW(cuMemFreeAsync(b, NULL)); /* the legacy stream would wait for the blocking one */
	SHOW(cuStreamEndCapture(other, &graph));
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(ordered));
	after();
}

/* The context and capture mode of another thread that allocates. */
struct other {
	struct CUctx_st *context;
	int mode;
	int failed;
};

static void *allocate(void *argument)
{
	struct other *other = argument;
	unsigned long long block;

	cuCtxSetCurrent(other->context);
	cuThreadExchangeStreamCaptureMode(&other->mode);
	for (int i = 0; i < 20; i++)
		other->failed += cuMemAlloc_v2(&block, 3 * MIB) != 0 || cuMemFree_v2(block) != 0;
	return NULL;
}

static void other_thread(struct CUctx_st *context, int mode)
{
	struct other other = { context, mode, 0 };
	pthread_t thread;

	pthread_create(&thread, NULL, allocate, &other);
	pthread_join(thread, NULL);
	printf("mode %d: %d of 20 failed\n", mode, other.failed);
}

/* Thread-local and relaxed captures do not restrict other threads, on either device. */
static void other_threads(void)
{
	start();
	for (int capture = CAPTURE_THREAD_LOCAL; capture <= CAPTURE_RELAXED; capture++) {
		SHOW(cuStreamBeginCapture_v2(stream, capture));
		for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
			other_thread(first, mode);
			other_thread(second, mode);
		}
		SHOW(cuStreamEndCapture(stream, &graph));
	}
	after();
}

/* A global capture restricts other threads, except threads whose mode is not global. */
static void global(void)
{
	start();
	for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
		SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
		other_thread(first, mode);
		SHOW(cuStreamEndCapture(stream, &graph));
		SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
		other_thread(second, mode);
		SHOW(cuStreamEndCapture(stream, &graph));
	}
	after();
}

/*
 * The capturing thread itself, in relaxed mode: pools grow, and a context appears that mam has not
 * seen.
 */
static void relaxed(void)
{
	struct CUctx_st *own;

	start();
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	for (int i = 0; i < 50; i++) {
		if (cuMemAlloc_v2(&a, 15 * MIB) != 0)
			printf("round %d failed\n", i);
		if (i % 2 && cuMemFree_v2(a) != 0)
			printf("round %d: free failed\n", i);
	}
	SHOW(cuCtxCreate_v2(&own, 0, 0));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuMemFree_v2(b));
	SHOW(cuCtxDestroy_v2(own));
	capturing(stream);
	SHOW(cuCtxSetCurrent(first));
	SHOW(cuStreamEndCapture(stream, &graph));
	after();
}

/*
 * Much memory is allocated and freed during a capture: the driver's free waits, so no more memory
 * is needed.
 */
static void turnover(void)
{
	int failed = 0;

	start();
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	for (int i = 0; i < 200; i++)
		failed += cuMemAlloc_v2(&a, 30 * MIB) != 0 || cuMemFree_v2(a) != 0;
	printf("failed: %d\n", failed);
	capturing(stream);
	SHOW(cuStreamEndCapture(stream, &graph));
	after();
}

/* A free during a capture still waits for work that is not captured. */
static void busy(void)
{
	struct CUstream_st *other;
	uint64_t begin;

	start();
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	SHOW(cuStreamCreate(&other, STREAM_NON_BLOCKING));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	SHOW(cuMemsetD8Async(a, 1, MIB, other));
	begin = fake_clock();
	SHOW(cuMemFree_v2(a));
	printf("the free waited: %d\n", fake_clock() - begin > 100000000);
	SHOW(cuMemAlloc_v2(&b, 3 * MIB));
	printf("work of the old owner is pending: %d\n", fake_pending(b, 3 * MIB) != 0);
	SHOW(cuStreamEndCapture(stream, &graph));
}

/*
 * The null stream of the _ptsz functions belongs to the thread. A capture of a blocking stream does
 * not affect it.
 */
static void frees_per_thread(void)
{
	struct CUstream_st *blocking;
	unsigned long long ordered = 0;

	start();
	SHOW(cuStreamCreate(&blocking, 0));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuStreamBeginCapture_v2(blocking, CAPTURE_RELAXED));
	SHOW(cuMemFreeAsync_ptsz(b, NULL));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuMemAllocAsync_ptsz(&ordered, MIB, NULL));
	SHOW(cuMemFreeAsync_ptsz(ordered, NULL));
	SHOW(cuStreamBeginCapture_v2_ptsz(NULL, CAPTURE_RELAXED));
	SHOW(cuMemAllocAsync_ptsz(&ordered, MIB, NULL));
	SHOW(cuMemFreeAsync_ptsz(a, NULL));
	SHOW(cuMemFreeAsync_ptsz(b, NULL));
	SHOW(cuMemFreeAsync(b, STREAM_PER_THREAD));
	SHOW(cuMemFreeAsync_ptsz(b, blocking));
	SHOW(cuStreamEndCapture_ptsz(NULL, &graph));
	SHOW(cuMemFreeAsync_ptsz(b, NULL));
	SHOW(cuStreamEndCapture(blocking, &graph));
	SHOW(cuMemFree_v2(a));
	after();
}

static const struct probe_scene scenes[] = {
	{ "end-elsewhere", end_elsewhere },
	{ "end-graph", end_graph },
	{ "end-fails", end_fails },
	{ "destroyed", destroyed },
	{ "destroys", destroys },
	{ "contexts", contexts },
	{ "unseen", unseen },
	{ "per-thread", per_thread },
	{ "many", many },
	{ "joined", joined },
	{ "frees-async", frees_async },
	{ "frees-per-thread", frees_per_thread },
	{ "other-threads", other_threads },
	{ "global", global },
	{ "relaxed", relaxed },
	{ "turnover", turnover },
	{ "busy", busy },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
