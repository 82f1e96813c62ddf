/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_random.c - random calls of several threads on streams, captures, events, contexts and
 * memory.
 *
 *   probe_random SEED STEPS [pending]
 *
 * Only one thread at a time makes a call, so the output depends on the seed alone: each call with
 * its result, followed by the state of each stream. A test compares the output of a plain run with
 * that of a run under `mam run`. With "pending" each allocation is followed by the number of
 * unfinished pieces of work that access it, and calls whose result depends on timing are left out.
 *
 * At the end all captures end. A call of cuModuleLoadData marks this place in the driver's log.
 * After it the probe allocates memory, which a pool serves if mam sees no capture any more.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake/driver_api.h"

#define THREADS 3
#define CONTEXTS 4 /* primary contexts of two devices, then two temporary ones */
#define STREAMS 6
#define EVENTS 3
#define BLOCKS 24
#define PAIRS 30

enum operation {
	ALLOC,
	ALLOC_ASYNC,
	FREE,
	FREE_TWICE,
	FREE_ASYNC,
	FILL,
	BEGIN,
	BEGIN_OWN,
	END,
	END_OWN,
	EXCHANGE,
	SET_CONTEXT,
	RECORD,
	WAIT,
	SYNCHRONIZE,
	SYNCHRONIZE_STREAM,
	QUERY,
	NEW_STREAM,
	NEW_CONTEXT,
	RESET,
	OPERATIONS
};

/* How often each operation is drawn. */
static const unsigned char weights[OPERATIONS] = {
	[ALLOC] = 30,     [ALLOC_ASYNC] = 4, [FREE] = 20,       [FREE_TWICE] = 2,
	[FREE_ASYNC] = 8, [FILL] = 10,       [BEGIN] = 14,      [BEGIN_OWN] = 4,
	[END] = 12,       [END_OWN] = 4,     [EXCHANGE] = 10,   [SET_CONTEXT] = 10,
	[RECORD] = 6,     [WAIT] = 6,        [SYNCHRONIZE] = 1, [SYNCHRONIZE_STREAM] = 2,
	[QUERY] = 2,      [NEW_STREAM] = 6,  [NEW_CONTEXT] = 3, [RESET] = 1
};

struct step {
	enum operation operation;
	unsigned int random[4];
};

struct stream {
	struct CUstream_st *handle; /* NULL: none */
	int context;
};

struct block {
	unsigned long long address; /* 0: none */
	size_t bytes;
	int context;
};

/* Only the thread that makes a step changes these. */
static struct CUctx_st *contexts[CONTEXTS];
static struct stream streams[STREAMS];
static struct CUevent_st *events[EVENTS];
static struct block blocks[BLOCKS];
static bool pending;
static uint64_t state;

static __thread int current; /* of the calling thread: an index into contexts */

static unsigned int draw(void)
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t mixed = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);

	mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned int)(mixed >> 33);
}

static void keep_block(struct block *block, unsigned long long address, size_t bytes, int context)
{
	*block = (struct block){ address, bytes, context };
	if (pending)
		printf(" pending %d", fake_pending(address, bytes));
}

/* A context ended, and with it its streams and blocks. */
static void forget(int context)
{
	for (int i = 0; i < STREAMS; i++)
		if (streams[i].context == context)
			streams[i].handle = NULL;
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].context == context)
			blocks[i].address = 0;
}

static int new_context(int context)
{
	struct CUctx_st *popped;
	int code;

	if (contexts[context]) {
		code = cuCtxDestroy_v2(contexts[context]);
		contexts[context] = NULL;
		forget(context);
	} else {
		code = cuCtxCreate_v2(&contexts[context], 0, context % 2);
		cuCtxPopCurrent_v2(&popped);
	}
	return code;
}

static int new_stream(struct stream *stream, unsigned int flags)
{
	int code = 0;

	if (stream->handle)
		code = cuStreamDestroy_v2(stream->handle);
	stream->handle = NULL;
	code = code * 1000 + cuStreamCreate(&stream->handle, flags);
	stream->context = current;
	return code;
}

static int end(struct CUstream_st *stream)
{
	struct CUgraph_st *graph = NULL;
	int code = cuStreamEndCapture(stream, &graph);

	if (code == CUDA_SUCCESS)
		cuGraphDestroy(graph);
	return code;
}

static int begin(struct CUstream_st *stream, unsigned int how)
{
	struct CUgraph_st *graph;

	if (how % 7 == 0)
		return cuStreamBeginCapture(stream);
	if (how % 7 == 1 && cuGraphCreate(&graph, 0) == CUDA_SUCCESS)
		return cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
						   (int)(how / 7 % 3));
	return cuStreamBeginCapture_v2(stream, (int)(how / 7 % 3));
}

static int allocate(struct block *block, const struct stream *ordered, unsigned int random)
{
	size_t bytes = random % 5 ? random % 100000 + 1 : random % 3000000 + 1;
	bool own = !ordered || !ordered->handle;
	unsigned long long address = 0;
	int code;

	if (block->address)
		return -1;
	code = !ordered ? cuMemAlloc_v2(&address, bytes)
			: cuMemAllocAsync(&address, bytes,
					  own ? STREAM_PER_THREAD : ordered->handle);
	if (code == CUDA_SUCCESS)
		keep_block(block, address, bytes, own ? current : ordered->context);
	return code;
}

static int release(struct block *block, enum operation operation, struct CUstream_st *stream)
{
	unsigned long long address = block->address;
	int code, device;

	/* Without a current context mam frees the block, but the driver does not. */
	if (!address || cuCtxGetDevice(&device) != CUDA_SUCCESS)
		return -1;
	code = operation == FREE_ASYNC ? cuMemFreeAsync(address, stream) : cuMemFree_v2(address);
	if (code == CUDA_SUCCESS)
		block->address = 0;
	if (code == CUDA_SUCCESS && operation == FREE_TWICE)
		code = 1000 + cuMemFree_v2(address);
	return code;
}

/* In the primary context of the first device: they end with it. */
static void make_events(void)
{
	struct CUctx_st *before;

	cuCtxGetCurrent(&before);
	cuCtxSetCurrent(contexts[0]);
	for (int i = 0; i < EVENTS; i++)
		cuEventCreate(&events[i], 2);
	cuCtxSetCurrent(before);
}

static int reset(int device)
{
	int code = cuDevicePrimaryCtxReset_v2(device);

	if (code == CUDA_SUCCESS) {
		forget(device);
		code = cuDevicePrimaryCtxRetain(&contexts[device], device);
		if (device == 0)
			make_events();
	}
	return code;
}

/* -1: no object to call it with */
static int make(const struct step *step)
{
	struct stream *stream = &streams[step->random[0] % STREAMS];
	struct block *block = &blocks[step->random[1] % BLOCKS];
	struct CUevent_st *event = events[step->random[1] % EVENTS];
	struct CUstream_st *any = stream->handle ? stream->handle : STREAM_PER_THREAD;
	unsigned int random = step->random[2];
	int mode;

	switch (step->operation) {
	case ALLOC: return allocate(block, NULL, random);
	case ALLOC_ASYNC: return allocate(block, stream, random);
	case FREE:
	case FREE_TWICE:
	case FREE_ASYNC: return release(block, step->operation, any);
	case FILL:
		return block->address ? cuMemsetD8Async(block->address, 1, block->bytes, any) : -1;
	case BEGIN: return stream->handle ? begin(stream->handle, random) : -1;
	case BEGIN_OWN: return begin(STREAM_PER_THREAD, random);
	case END: return stream->handle ? end(stream->handle) : -1;
	case END_OWN: return end(STREAM_PER_THREAD);
	case EXCHANGE:
		mode = (int)(random % 3);
		return cuThreadExchangeStreamCaptureMode(&mode) * 10 + mode;
	case SET_CONTEXT:
		if (!contexts[random % CONTEXTS])
			return -1;
		current = (int)(random % CONTEXTS);
		return cuCtxSetCurrent(contexts[current]);
	case RECORD: return cuEventRecord(event, any);
	case WAIT: return cuStreamWaitEvent(any, event, 0);
	case SYNCHRONIZE: return cuCtxSynchronize();
	case SYNCHRONIZE_STREAM: return cuStreamSynchronize(any);
	case QUERY: return pending ? -1 : cuEventQuery(event);
	case NEW_STREAM: return new_stream(stream, random % 2);
	case NEW_CONTEXT: return new_context(2 + (int)(random % 2));
	case RESET: return random % 3 == 0 ? reset((int)(random / 3 % 2)) : -1;
	default: return -1;
	}
}

static void show_streams(void)
{
	for (int i = 0; i < STREAMS; i++) {
		int status = -1;

		if (streams[i].handle && cuStreamIsCapturing(streams[i].handle, &status) != 0)
			status = 9;
		printf("%c", status < 0 ? '-' : '0' + status);
	}
}

/* The captures of the calling thread's own streams. */
static void end_own(void)
{
	int mode = CAPTURE_RELAXED;

	cuThreadExchangeStreamCaptureMode(&mode);
	for (int i = 0; i < CONTEXTS; i++)
		if (contexts[i] && cuCtxSetCurrent(contexts[i]) == CUDA_SUCCESS)
			printf(" %d", end(STREAM_PER_THREAD));
}

/* The thread `turn` makes the step `order`, and then passes the turn to the main thread (-1). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn = -1;            /* lock: lock */
static const struct step *order; /* lock: lock; NULL: the last one */

static void *serve(void *argument)
{
	int self = (int)(intptr_t)argument;
	bool last = false;

	cuCtxSetCurrent(contexts[0]);
	while (!last) {
		pthread_mutex_lock(&lock);
		while (turn != self)
			pthread_cond_wait(&changed, &lock);
		last = order == NULL;
		if (last)
			end_own();
		else
			printf(": %d ", make(order));
		turn = -1;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void command(int thread, const struct step *step)
{
	pthread_mutex_lock(&lock);
	turn = thread;
	order = step;
	pthread_cond_broadcast(&changed);
	while (turn != -1)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static enum operation choose(void)
{
	unsigned int sum = 0, at;
	int operation = 0;

	for (int i = 0; i < OPERATIONS; i++)
		sum += weights[i];
	for (at = draw() % sum; at >= weights[operation]; operation++)
		at -= weights[operation];
	return (enum operation)operation;
}

int main(int count, char **arguments)
{
	unsigned long steps = count > 2 ? strtoul(arguments[2], NULL, 10) : 0;
	pthread_t threads[THREADS];
	unsigned long long address;
	struct CUmod_st *module;
	int failed = 0;

	if (count < 3) {
		fprintf(stderr, "usage: %s SEED STEPS [pending]\n", arguments[0]);
		return 2;
	}
	state = strtoul(arguments[1], NULL, 10);
	pending = count > 3 && strcmp(arguments[3], "pending") == 0;
	cuInit(0);
	for (int i = 0; i < 2; i++)
		cuDevicePrimaryCtxRetain(&contexts[i], i);
	cuCtxSetCurrent(contexts[0]);
	make_events();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, (void *)(intptr_t)i);
	for (unsigned long i = 0; i < steps; i++) {
		struct step step = { .operation = choose() };
		int thread = (int)(draw() % THREADS);

		for (int k = 0; k < 4; k++)
			step.random[k] = draw();
		printf("%lu thread %d operation %d", i, thread, step.operation);
		command(thread, &step);
		show_streams();
		puts("");
	}
	printf("own captures");
	for (int i = 0; i < THREADS; i++)
		command(i, NULL);
	puts("");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < STREAMS; i++)
		if (streams[i].handle)
			failed += cuStreamDestroy_v2(streams[i].handle) != 0;
	printf("streams failed %d\n", failed);
	cuCtxSetCurrent(contexts[0]);
	cuMemAlloc_v2(&address, 1000); /* creates the pool if there is none yet */
	cuModuleLoadData(&module, "");
	for (int i = 0; i < PAIRS; i++)
		failed += cuMemAlloc_v2(&address, 1000) != 0 || cuMemFree_v2(address) != 0;
	printf("pairs failed %d\n", failed);
	return 0;
}
