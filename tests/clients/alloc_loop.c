/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_loop.c - the cost of one allocation and its free, on an idle GPU and on a busy one.
 *
 * For each size, pairs are timed in five batches, and the median batch counts. A few pairs run
 * first, so that the result includes neither the context's start nor a pool's first growth. One
 * line per size on stdout: bytes, nanoseconds.
 *
 * With --in-flight a gigabyte is filled four times on a non-blocking stream, which is more than a
 * millisecond of work unrelated to the block. Only the free is timed; the median of 50 counts.
 *
 * Calls are those of the runtime or, when built with ALLOC_LOOP_DRIVER, only those of the driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 5
#define FREES 50
#define FILLS 4
#define NON_BLOCKING 1

#ifdef ALLOC_LOOP_DRIVER
#include "../fake/driver_api.h"

static int start(void)
{
	struct CUctx_st *context;
	int result = cuInit(0);

	if (result == 0)
		result = cuDevicePrimaryCtxRetain(&context, 0);
	return result ? result : cuCtxSetCurrent(context);
}

static int allocate(void **block, size_t bytes)
{
	unsigned long long address = 0;
	int result = cuMemAlloc_v2(&address, bytes);

	*block = (void *)(size_t)address;
	return result;
}

static int release(void *block)
{
	return cuMemFree_v2((size_t)block);
}

static int wait_for_all(void)
{
	return cuCtxSynchronize();
}

static int open_stream(struct CUstream_st **stream)
{
	return cuStreamCreate(stream, NON_BLOCKING);
}

static int fill(void *block, size_t bytes, struct CUstream_st *stream)
{
	return cuMemsetD8Async((size_t)block, 1, bytes, stream);
}

static int wait_for(struct CUstream_st *stream)
{
	return cuStreamSynchronize(stream);
}

static const char *text_of(int result)
{
	const char *text = NULL;

	return cuGetErrorString(result, &text) == 0 && text ? text : "unknown error";
}
#else
#include "../fake/runtime_api.h"

static int start(void)
{
	return cudaFree(NULL);
}

static int allocate(void **block, size_t bytes)
{
	return cudaMalloc(block, bytes);
}

static int release(void *block)
{
	return cudaFree(block);
}

static int wait_for_all(void)
{
	return cudaDeviceSynchronize();
}

static int open_stream(struct CUstream_st **stream)
{
	return cudaStreamCreateWithFlags(stream, NON_BLOCKING);
}

static int fill(void *block, size_t bytes, struct CUstream_st *stream)
{
	return cudaMemsetAsync(block, 1, bytes, stream);
}

static int wait_for(struct CUstream_st *stream)
{
	return cudaStreamSynchronize(stream);
}

static const char *text_of(int result)
{
	return cudaGetErrorString(result);
}
#endif

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int pairs(size_t bytes, unsigned long count)
{
	int result = 0;

	while (count-- > 0 && result == 0) {
		void *block;

		result = allocate(&block, bytes);
		if (result == 0)
			result = release(block);
	}
	return result;
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static int print_median(size_t bytes, double *times, int count, int result)
{
	if (result != 0) {
		printf("%zu refused: %s\n", bytes, text_of(result));
		return 1;
	}
	qsort(times, count, sizeof(times[0]), ascending);
	printf("%zu %.1f\n", bytes, times[count / 2] * 1e9);
	return 0;
}

/* Large blocks cost the driver milliseconds: fewer of them give the same result. */
static int measure(size_t bytes, unsigned long count)
{
	double times[BATCHES] = { 0 };
	int result;

	if (bytes > (64 << 20) && count > 200)
		count = 200;
	result = pairs(bytes, count / 10 + 1);
	for (int batch = 0; batch < BATCHES && result == 0; batch++) {
		double begin;

		wait_for_all();
		begin = seconds();
		result = pairs(bytes, count);
		times[batch] = (seconds() - begin) / count;
	}
	return print_median(bytes, times, BATCHES, result);
}

/* The free alone, with unrelated work in flight. */
static int measure_in_flight(size_t bytes, size_t filled_bytes)
{
	struct CUstream_st *stream;
	double times[FREES] = { 0 };
	void *filled = NULL, *block;
	int result = open_stream(&stream);

	if (result == 0)
		result = allocate(&filled, filled_bytes);
	for (int i = 0; i < FREES && result == 0; i++) {
		double begin;

		result = allocate(&block, bytes);
		for (int k = 0; k < FILLS && result == 0; k++)
			result = fill(filled, filled_bytes, stream);
		begin = seconds();
		if (result == 0)
			result = release(block);
		times[i] = seconds() - begin;
		if (result == 0)
			result = wait_for(stream);
	}
	if (filled && release(filled) != 0 && result == 0)
		result = 1;
	return print_median(bytes, times, FREES, result);
}

int main(int count, char **arguments)
{
	static const size_t sizes[] = { 256, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30 };
	unsigned long wanted = 2000;
	size_t largest = (size_t)1 << 30;
	int failed, in_flight = 0;

	for (int i = 1; i < count; i++) {
		if (strcmp(arguments[i], "--pairs") == 0 && i + 1 < count) {
			wanted = strtoul(arguments[++i], NULL, 10);
		} else if (strcmp(arguments[i], "--largest") == 0 && i + 1 < count) {
			largest = strtoull(arguments[++i], NULL, 10);
		} else if (strcmp(arguments[i], "--in-flight") == 0) {
			in_flight = 1;
		} else {
			fprintf(stderr, "usage: %s [--pairs N] [--largest BYTES] [--in-flight]\n",
				arguments[0]);
			return 2;
		}
	}
	if (wanted == 0)
		wanted = 1;
	failed = start();
	if (failed != 0) {
		printf("0 refused: %s\n", text_of(failed));
		return 1;
	}
	if (in_flight)
		return measure_in_flight(256, largest) | measure_in_flight(1 << 20, largest);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] <= largest)
			failed |= measure(sizes[i], wanted);
	return failed;
}
