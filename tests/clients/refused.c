/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refused.c - calls of the runtime that fail: the program's pointers after allocations that no
 * device can serve, and memory that is freed in each mode of a stream capture.
 *
 * It prints what each call returned and checks nothing itself. The lines are the same with mam as
 * without it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../fake/driver_api.h"
#include "../fake/runtime_api.h"

#define BYTES ((size_t)1 << 20)
#define MUCH ((size_t)1 << 60) /* more than the address space */

static void show(const char *what, int code)
{
	int first = cudaGetLastError();

	printf("%s: %d, last error %d then %d\n", what, code, first, cudaGetLastError());
}

static void *block;

static void show_pointer(const char *what, int code)
{
	show(what, code);
	printf("the pointer is %s\n", block == NULL     ? "null"
				      : block == &block ? "unchanged"
							: "something else");
	block = &block;
}

static void failures(void)
{
	struct rt_pitched cube = { &block, 3, 4, 5 };
	struct CUmemPoolHandle_st *pool = NULL;
	size_t pitch = 7;

	show("start", cudaFree(NULL));
	show("pool", cudaDeviceGetDefaultMemPool(&pool, 0));
	block = &block;
	show_pointer("cudaMalloc", cudaMalloc(&block, MUCH));
	show_pointer("cudaMalloc of all addresses", cudaMalloc(&block, SIZE_MAX));
	show_pointer("cudaMallocManaged", cudaMallocManaged(&block, MUCH, 1));
	show_pointer("cudaMallocHost", cudaMallocHost(&block, MUCH));
	show_pointer("cudaHostAlloc", cudaHostAlloc(&block, MUCH, 0));
	show_pointer("cudaMallocAsync", cudaMallocAsync(&block, MUCH, NULL));
	show_pointer("cudaMallocFromPoolAsync", cudaMallocFromPoolAsync(&block, MUCH, pool, NULL));
	show_pointer("cudaMallocPitch",
		     cudaMallocPitch(&block, &pitch, (size_t)1 << 30, MUCH >> 30));
	printf("pitch %zu\n", pitch);
	show("cudaMalloc3D",
	     cudaMalloc3D(&cube,
			  (struct rt_extent){ (size_t)1 << 30, (size_t)1 << 15, (size_t)1 << 15 }));
	printf("address unchanged %d, pitch %zu, width %zu, height %zu\n", cube.address == &block,
	       cube.pitch, cube.width, cube.height);
}

static void captures(void)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;

	show("stream", cudaStreamCreateWithFlags(&stream, STREAM_NON_BLOCKING));
	block = NULL;
	for (int i = 0; i < 9; i++) {
		int mode = i % 3, status = -1;

		if (block == NULL)
			show("cudaMalloc", cudaMalloc(&block, BYTES));
		printf("capture %d, thread %d\n", i / 3, i % 3);
		show("begin", cudaStreamBeginCapture(stream, i / 3));
		cudaThreadExchangeStreamCaptureMode(&mode);
		show("cudaFreeAsync", cudaFreeAsync(block, stream));
		show("capturing", cudaStreamIsCapturing(stream, &status));
		printf("status %d\n", status);
		cudaThreadExchangeStreamCaptureMode(&mode);
		show("end", cudaStreamEndCapture(stream, &graph));
		show("begin", cudaStreamBeginCapture(stream, i / 3));
		mode = i % 3;
		cudaThreadExchangeStreamCaptureMode(&mode);
		status = cudaFree(block);
		show("cudaFree", status);
		if (status == 0)
			block = NULL;
		cudaThreadExchangeStreamCaptureMode(&mode);
		show("end", cudaStreamEndCapture(stream, &graph));
	}
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	failures();
	captures();
	return 0;
}
