/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_calls.c - the cost on this machine of the driver calls that implement stream-ordered
 * blocks: nanoseconds per call, the median of ROUNDS rounds of CALLS calls.
 *
 *       cc -O2 -o stream_calls tools/bench/host/stream_calls.c -ldl && ./stream_calls [MIB]
 *
 * One CSV row per call and kind of stream: call, stream, ns. Stream "busy" has copies of MIB (256)
 * in flight when the round begins. Driver API only; no toolkit is needed.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 2000
#define ROUNDS 15
#define NON_BLOCKING 1u
#define TIMING_OFF 2u

typedef void *handle_t;

static struct {
	int (*init)(unsigned int);
	int (*device_get)(int *, int);
	int (*retain)(handle_t *, int);
	int (*set_current)(handle_t);
	int (*get_current)(handle_t *);
	int (*push)(handle_t);
	int (*pop)(handle_t *);
	int (*exchange)(unsigned int *);
	int (*stream_create)(handle_t *, unsigned int);
	int (*stream_sync)(handle_t);
	int (*stream_query)(handle_t);
	int (*stream_id)(handle_t, unsigned long long *);
	int (*stream_ctx)(handle_t, handle_t *);
	int (*capturing)(handle_t, unsigned int *);
	int (*capture_info)(handle_t, unsigned int *, uint64_t *, handle_t *, const handle_t **,
			    const handle_t **, size_t *);
	int (*event_create)(handle_t *, unsigned int);
	int (*event_destroy)(handle_t);
	int (*event_record)(handle_t, handle_t);
	int (*event_query)(handle_t);
	int (*ctx_record)(handle_t, handle_t);
	int (*mem_alloc)(unsigned long long *, size_t);
	int (*copy)(unsigned long long, unsigned long long, size_t, handle_t);
} cu;

static const struct {
	const char *name;
	void *place;
} functions[] = {
	{ "cuInit", &cu.init },
	{ "cuDeviceGet", &cu.device_get },
	{ "cuDevicePrimaryCtxRetain", &cu.retain },
	{ "cuCtxSetCurrent", &cu.set_current },
	{ "cuCtxGetCurrent", &cu.get_current },
	{ "cuCtxPushCurrent_v2", &cu.push },
	{ "cuCtxPopCurrent_v2", &cu.pop },
	{ "cuThreadExchangeStreamCaptureMode", &cu.exchange },
	{ "cuStreamCreate", &cu.stream_create },
	{ "cuStreamSynchronize", &cu.stream_sync },
	{ "cuStreamQuery", &cu.stream_query },
	{ "cuStreamGetId", &cu.stream_id },
	{ "cuStreamGetCtx", &cu.stream_ctx },
	{ "cuStreamIsCapturing", &cu.capturing },
	{ "cuStreamGetCaptureInfo_v3", &cu.capture_info },
	{ "cuEventCreate", &cu.event_create },
	{ "cuEventDestroy_v2", &cu.event_destroy },
	{ "cuEventRecord", &cu.event_record },
	{ "cuEventQuery", &cu.event_query },
	{ "cuCtxRecordEvent", &cu.ctx_record },
	{ "cuMemAlloc_v2", &cu.mem_alloc },
	{ "cuMemcpyDtoDAsync_v2", &cu.copy },
};

static handle_t context, stream, event;
static unsigned long long from, to;
static size_t copy_bytes = (size_t)256 << 20;

static int call_get_current(void)
{
	handle_t current;

	return cu.get_current(&current);
}

static int call_push_pop(void)
{
	handle_t popped;

	return cu.push(context) | cu.pop(&popped);
}

static int call_exchange(void)
{
	unsigned int mode = 2;

	return cu.exchange(&mode) | cu.exchange(&mode);
}

static int call_id(void)
{
	unsigned long long id;

	return cu.stream_id(stream, &id);
}

static int call_ctx(void)
{
	handle_t of;

	return cu.stream_ctx(stream, &of);
}

static int call_capturing(void)
{
	unsigned int status;

	return cu.capturing(stream, &status);
}

static int call_capture_info(void)
{
	unsigned int status;
	uint64_t id;

	return cu.capture_info(stream, &status, &id, NULL, NULL, NULL, NULL);
}

static int call_event_create(void)
{
	handle_t made;

	return cu.event_create(&made, TIMING_OFF) | cu.event_destroy(made);
}

static int call_record(void)
{
	return cu.event_record(event, stream);
}

/* "Not ready" is a valid result, too. */
static int call_event_query(void)
{
	return cu.event_query(event) & 0;
}

static int call_stream_query(void)
{
	return cu.stream_query(stream) & 0;
}

static int call_ctx_record(void)
{
	return cu.ctx_record(context, event);
}

static const struct {
	const char *name;
	int (*call)(void);
	const void *needs;
} timed[] = {
	{ "cuCtxGetCurrent", call_get_current, &cu.get_current },
	{ "cuCtxPushCurrent+Pop", call_push_pop, &cu.push },
	{ "cuThreadExchangeStreamCaptureMode x2", call_exchange, &cu.exchange },
	{ "cuStreamGetId", call_id, &cu.stream_id },
	{ "cuStreamGetCtx", call_ctx, &cu.stream_ctx },
	{ "cuStreamIsCapturing", call_capturing, &cu.capturing },
	{ "cuStreamGetCaptureInfo", call_capture_info, &cu.capture_info },
	{ "cuStreamQuery", call_stream_query, &cu.stream_query },
	{ "cuEventRecord", call_record, &cu.event_record },
	{ "cuEventQuery", call_event_query, &cu.event_query },
	{ "cuEventCreate+Destroy", call_event_create, &cu.event_create },
	{ "cuCtxRecordEvent", call_ctx_record, &cu.ctx_record },
};

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int time_one(unsigned int i, const char *kind, int busy)
{
	double rounds[ROUNDS];
	int failed = 0;

	if (*(void *const *)timed[i].needs == NULL)
		return 0;
	for (int round = 0; round < ROUNDS; round++) {
		double began;

		if (busy)
			for (int n = 0; n < 40; n++)
				cu.copy(to, from, copy_bytes, stream);
		began = now_ns();
		for (int n = 0; n < CALLS; n++)
			failed |= timed[i].call();
		rounds[round] = (now_ns() - began) / CALLS;
		cu.stream_sync(stream);
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), by_value);
	if (failed)
		printf("%s,%s,failed %d\n", timed[i].name, kind, failed);
	else
		printf("%s,%s,%.1f\n", timed[i].name, kind, rounds[ROUNDS / 2]);
	return failed;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "legacy", "per-thread", "non-blocking", "busy" };
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	handle_t made;
	int device, failed = 0;

	if (argc > 1 && strtoul(argv[1], NULL, 10) != 0)
		copy_bytes = strtoul(argv[1], NULL, 10) << 20;
	if (library == NULL) {
		fprintf(stderr, "stream_calls: there is no CUDA driver (libcuda.so.1) here\n");
		return 2;
	}
	for (unsigned int i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		*(void **)functions[i].place = dlsym(library, functions[i].name);
	if (cu.init == NULL || cu.init(0) != 0 || cu.device_get(&device, 0) != 0 ||
	    cu.retain(&context, device) != 0 || cu.set_current(context) != 0 ||
	    cu.stream_create(&made, NON_BLOCKING) != 0 ||
	    cu.event_create(&event, TIMING_OFF) != 0 || cu.mem_alloc(&from, copy_bytes) != 0 ||
	    cu.mem_alloc(&to, copy_bytes) != 0) {
		fprintf(stderr, "stream_calls: the CUDA driver has no device that works\n");
		return 2;
	}
	printf("call,stream,ns\n");
	for (unsigned int kind = 0; kind < 4; kind++) {
		stream = kind < 2 ? (handle_t)(uintptr_t)(kind + 1) : made;
		for (unsigned int i = 0; i < sizeof(timed) / sizeof(timed[0]); i++)
			failed |= time_one(i, kinds[kind], kind == 3);
	}
	return failed != 0;
}
