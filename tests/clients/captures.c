/* SPDX-License-Identifier: Apache-2.0 */
/*
 * captures.c - stream captures and memory, on the driver API: which allocations and frees a capture
 * rejects, what happens to the capture, and allocations after it, however it ended.
 *
 *   captures modes     every mode of the capture and of the thread, in two contexts
 *   captures threads   the same in another thread
 *   captures joined    a stream of another context is part of the capture
 *   captures ends      captures that end while another context is current, or none
 *   captures destroy   captures that end with their stream and with their context
 *   captures detach    a context that cuCtxDetach ends
 *
 * It prints what each call returned and checks nothing itself. The lines are the same with mam as
 * without it.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../fake/driver_api.h"

#define BYTES ((size_t)1 << 20)
#define PAIRS 50

static struct CUctx_st *primary, *other;
static struct CUstream_st *stream, *free_stream; /* of the primary context */
static struct CUgraph_st *graph;

static void show(const char *what, int code)
{
	printf("%s: %d\n", what, code);
}

static int status_of(struct CUstream_st *which)
{
	int status = -1, code = cuStreamIsCapturing(which, &status);

	return code == CUDA_SUCCESS ? status : -code;
}

static int end(struct CUstream_st *which)
{
	int code = cuStreamEndCapture(which, &graph);

	if (code == CUDA_SUCCESS)
		cuGraphDestroy(graph);
	return code;
}

/* Contexts of two devices, or two contexts of one device. */
static void start(void)
{
	int devices = 0;

	show("init", cuInit(0));
	cuDeviceGetCount(&devices);
	if (devices > 1)
		show("the second device", cuDevicePrimaryCtxRetain(&other, 1));
	else
		show("a context", cuCtxCreate_v2(&other, 0, 0));
	show("the primary context", cuDevicePrimaryCtxRetain(&primary, 0));
	show("current", cuCtxSetCurrent(primary));
	show("stream", cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	show("stream", cuStreamCreate(&free_stream, STREAM_NON_BLOCKING));
}

enum operation { ALLOC, FREE, FREE_ASYNC_CAPTURED, FREE_ASYNC, OPERATIONS };
static const char *const operations[] = { "alloc", "free", "free into the capture",
					  "free into another stream" };

/* One call in the current context, on a block allocated there before the capture began. */
static int operate(enum operation operation, unsigned long long *block)
{
	unsigned long long made = 0;
	int code;

	switch (operation) {
	case ALLOC:
		code = cuMemAlloc_v2(&made, BYTES);
		if (code == CUDA_SUCCESS)
			code = cuMemFree_v2(made);
		return code;
	case FREE: code = cuMemFree_v2(*block); break;
	case FREE_ASYNC_CAPTURED: code = cuMemFreeAsync(*block, stream); break;
	default: code = cuMemFreeAsync(*block, free_stream); break;
	}
	if (code == CUDA_SUCCESS)
		*block = 0;
	return code;
}

struct call {
	struct CUctx_st *context;
	enum operation operation;
	int mode;
	unsigned long long block;
	int code;
};

static void *call_in_mode(void *argument)
{
	struct call *call = argument;

	cuCtxPushCurrent_v2(call->context);
	cuThreadExchangeStreamCaptureMode(&call->mode);
	call->code = operate(call->operation, &call->block);
	cuThreadExchangeStreamCaptureMode(&call->mode);
	cuCtxPopCurrent_v2(&call->context);
	return NULL;
}

static void each_mode(int threaded)
{
	struct CUctx_st *contexts[] = { primary, other }, *popped;
	struct call call = { .block = 0 };
	pthread_t thread;

	for (int i = 0; i < 2 * 9 * OPERATIONS; i++) {
		int context = i / 9 / OPERATIONS, capture = i / 3 % 3, ended;

		call.context = contexts[context];
		call.operation = (enum operation)(i / 9 % OPERATIONS);
		call.mode = i % 3;
		cuCtxPushCurrent_v2(call.context);
		if (call.block == 0 && cuMemAlloc_v2(&call.block, BYTES) != CUDA_SUCCESS)
			puts("no block");
		cuCtxPopCurrent_v2(&popped);
		show("begin", cuStreamBeginCapture_v2(stream, capture));
		if (threaded && pthread_create(&thread, NULL, call_in_mode, &call) == 0)
			pthread_join(thread, NULL);
		else
			call_in_mode(&call);
		ended = status_of(stream);
		printf("context %d, capture %d, thread %d, %s: %d, capture %d, ", context, capture,
		       i % 3, operations[call.operation], call.code, ended);
		printf("end %d\n", end(stream));
		if (i % (9 * OPERATIONS) == 9 * OPERATIONS - 1 && call.block != 0) {
			show("free", cuMemFree_v2(call.block));
			call.block = 0;
		}
	}
}

static void modes(void)
{
	start();
	each_mode(0);
}

static void threads(void)
{
	start();
	each_mode(1);
}

/* Under mam the pool serves these, unless it still counts a capture. */
static void pairs(void)
{
	unsigned long long block;
	int failed = 0;

	cuCtxSetCurrent(primary);
	for (int i = 0; i < PAIRS; i++)
		failed += cuMemAlloc_v2(&block, BYTES) != 0 || cuMemFree_v2(block) != 0;
	printf("pairs failed: %d\n", failed);
}

static void joined(void)
{
	struct CUstream_st *joining;
	struct CUevent_st *fork, *join;
	unsigned long long here, there;

	start();
	show("alloc", cuMemAlloc_v2(&here, BYTES));
	show("event", cuEventCreate(&fork, 2));
	cuCtxSetCurrent(other);
	show("alloc", cuMemAlloc_v2(&there, BYTES));
	show("event", cuEventCreate(&join, 2));
	show("stream", cuStreamCreate(&joining, STREAM_NON_BLOCKING));
	show("begin", cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	show("record", cuEventRecord(fork, stream));
	show("wait", cuStreamWaitEvent(joining, fork, 0));
	show("joined", status_of(joining));
	show("free into the capture", cuMemFreeAsync(there, joining));
	show("free", cuMemFree_v2(there));
	cuCtxSetCurrent(primary);
	show("free", cuMemFree_v2(here));
	show("alloc", cuMemAlloc_v2(&here, BYTES));
	show("free", cuMemFree_v2(here));
	show("capture", status_of(stream));
	show("record", cuEventRecord(join, joining));
	show("wait", cuStreamWaitEvent(stream, join, 0));
	show("end", end(stream));
	show("joined", status_of(joining));
	pairs();
}

static void ends(void)
{
	start();
	for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
		show("begin", cuStreamBeginCapture_v2(stream, mode));
		cuCtxSetCurrent(other);
		show("end, another context", end(stream));
		cuCtxSetCurrent(primary);
		show("begin, per-thread", cuStreamBeginCapture_v2(STREAM_PER_THREAD, mode));
		cuCtxSetCurrent(other);
		show("per-thread elsewhere", status_of(STREAM_PER_THREAD));
		cuCtxSetCurrent(primary);
		show("end, per-thread", end(STREAM_PER_THREAD));
		show("begin", cuStreamBeginCapture_v2(stream, mode));
		show("synchronize", cuCtxSynchronize());
		cuCtxSetCurrent(other);
		show("end, invalidated", end(stream));
		cuCtxSetCurrent(primary);
	}
	show("begin", cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
	cuCtxSetCurrent(NULL);
	show("end, no context", end(stream));
	cuCtxSetCurrent(primary);
	if (status_of(stream) != 0)
		show("end", end(stream));
	pairs();
}

static void destroy(void)
{
	struct CUctx_st *own;

	start();
	show("begin", cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	cuCtxSetCurrent(other);
	show("destroy the stream", cuStreamDestroy_v2(stream));
	pairs();
	show("a context", cuCtxCreate_v2(&own, 0, 0));
	show("stream", cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	show("begin", cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	cuCtxSetCurrent(primary);
	show("destroy the context", cuCtxDestroy_v2(own));
	pairs();
}

static void detach(void)
{
	struct CUctx_st *own, *attached = NULL;
	unsigned long long block;

	start();
	for (int round = 0; round < 3; round++) {
		show("a context", cuCtxCreate_v2(&own, 0, 0));
		show("alloc", cuMemAlloc_v2(&block, BYTES));
		show("attach", cuCtxAttach(&attached, 0));
		printf("the same context: %d\n", attached == own);
		show("detach", cuCtxDetach(own));
		attached = NULL;
		cuCtxGetCurrent(&attached);
		printf("current: %d\n", attached == own);
		show("free", cuMemFree_v2(block));
		show("alloc", cuMemAlloc_v2(&block, BYTES));
		show("detach", cuCtxDetach(own));
		cuCtxGetCurrent(&attached);
		printf("current: %d\n", attached == own);
		pairs();
	}
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {
		{ "modes", modes }, { "threads", threads }, { "joined", joined },
		{ "ends", ends },   { "destroy", destroy }, { "detach", detach },
	};

	for (size_t i = 0; count == 2 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(arguments[1], parts[i].name) == 0) {
			setvbuf(stdout, NULL, _IOLBF, 0);
			parts[i].run();
			return 0;
		}
	}
	fprintf(stderr, "usage: %s modes|threads|joined|ends|destroy|detach\n", arguments[0]);
	return 2;
}
