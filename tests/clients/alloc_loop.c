/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_loop.c - what one cudaMalloc and cudaFree cost on an idle GPU.
 *
 * For each size, pairs are made in five batches and the median batch counts. A few pairs go
 * first, so that neither the context's start nor a pool's first growth is in the number. One
 * line a size on stdout: bytes, nanoseconds a pair.
 *
 * With --in-flight a gigabyte is being filled on a non-blocking stream, which takes some tenths of a
 * millisecond and more, and the free alone is timed; the median of 50.
 *
 * Built with ALLOC_LOOP_DRIVER the calls are the driver's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../fake/runtime_api.h"

#define BATCHES 5
#define FREES 50
#define FILLED ((size_t)1 << 30)

#ifdef ALLOC_LOOP_DRIVER
#include "../fake/driver_api.h"

static int start(void)
{
	struct CUctx_st *context;

	return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

static int allocate(void **block, size_t bytes)
{
	return cuMemAlloc_v2((unsigned long long *)block, bytes);
}

static int release(void *block)
{
	return cuMemFree_v2((unsigned long long)(size_t)block);
}
#else
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
#endif

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int pairs(size_t bytes, unsigned long count)
{
	int result = cudaSuccess;

	while (count-- > 0 && result == cudaSuccess) {
		void *block;

		result = allocate(&block, bytes);
		if (result == cudaSuccess)
			result = release(block);
	}
	return result;
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Large blocks cost the driver milliseconds: fewer of them tell as much. */
static int measure(size_t bytes, unsigned long count)
{
	double nanoseconds[BATCHES];
	int result;

	if (bytes > (64 << 20) && count > 200)
		count = 200;
	result = pairs(bytes, count / 10 + 1);
	for (int batch = 0; batch < BATCHES && result == cudaSuccess; batch++) {
		double start;

		cudaDeviceSynchronize();
		start = seconds();
		result = pairs(bytes, count);
		nanoseconds[batch] = (seconds() - start) * 1e9 / count;
	}
	if (result != cudaSuccess) {
		printf("%zu refused: %s\n", bytes, cudaGetErrorString(result));
		return 1;
	}
	qsort(nanoseconds, BATCHES, sizeof(nanoseconds[0]), ascending);
	printf("%zu %.1f\n", bytes, nanoseconds[BATCHES / 2]);
	return 0;
}

/* The free alone, with work in flight that has nothing to do with the block. */
static int measure_in_flight(size_t bytes)
{
	double nanoseconds[FREES];
	struct CUstream_st *stream;
	void *filled, *block;
	int result = cudaStreamCreateWithFlags(&stream, 1);

	if (result == cudaSuccess)
		result = cudaMalloc(&filled, FILLED);
	for (int i = 0; i < FREES && result == cudaSuccess; i++) {
		double begin;

		result = allocate(&block, bytes);
		for (int k = 0; k < 4 && result == cudaSuccess; k++)
			result = cudaMemsetAsync(filled, i, FILLED, stream);
		begin = seconds();
		if (result == cudaSuccess)
			result = release(block);
		nanoseconds[i] = (seconds() - begin) * 1e9;
		cudaStreamSynchronize(stream);
	}
	if (result != cudaSuccess) {
		printf("in-flight-%zu refused: %s\n", bytes, cudaGetErrorString(result));
		return 1;
	}
	qsort(nanoseconds, FREES, sizeof(nanoseconds[0]), ascending);
	printf("in-flight-%zu %.1f\n", bytes, nanoseconds[FREES / 2]);
	return cudaFree(filled) != cudaSuccess;
}

int main(int count, char **arguments)
{
	static const size_t sizes[] = { 256, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30 };
	unsigned long wanted = 2000;
	size_t largest = (size_t)-1;
	int failed = 0, in_flight = 0;

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
	if (in_flight)
		return failed | measure_in_flight(256) | measure_in_flight(1 << 20);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] <= largest)
			failed |= measure(sizes[i], wanted);
	return failed;
}
