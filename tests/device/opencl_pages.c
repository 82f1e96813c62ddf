/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_pages.c - runs opencl_pages.cl on the machine's first OpenCL device.
 *
 *     opencl_pages SRC KERNELS STANDARD
 *
 * SRC is the folder with heap/, STANDARD as in -cl-std=. The host formats the heap's metadata as it
 * does for CUDA (layout.h). Exit status: 0: success; 1: an error was printed; 77: no usable device.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/pages/layout.h"

#define LANES 4096
#define COUNTS 3

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static __attribute__((noreturn)) void leave(int status, const char *what, long number)
{
	printf("%s (%ld)\n", what, number);
	exit(status);
}

static void check(cl_int result, const char *what)
{
	if (result != CL_SUCCESS)
		leave(1, what, result);
}

static void same(uint64_t wanted, uint64_t got, const char *what)
{
	if (wanted == got)
		return;
	printf("%s: got %llu, expected %llu\n", what, (unsigned long long)got,
	       (unsigned long long)wanted);
	exit(1);
}

static void begin(const char *folder, const char *file, const char *standard)
{
	static char text[1 << 16], options[4096], log[1 << 14];
	const char *texts[1] = { text };
	cl_platform_id platform;
	cl_device_id device;
	cl_uint count = 0;
	cl_int result;
	FILE *source = fopen(file, "r");

	if (!source || fread(text, 1, sizeof(text) - 1, source) == 0)
		leave(1, "cannot read the kernels", 0);
	fclose(source);
	if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0 ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		leave(77, "no OpenCL device", 0);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &result);
	check(result, "clCreateContext");
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &result);
	check(result, "clCreateCommandQueueWithProperties");
	program = clCreateProgramWithSource(context, 1, texts, NULL, &result);
	check(result, "clCreateProgramWithSource");
	snprintf(options, sizeof(options), "-cl-std=%s -I%s", standard, folder);
	result = clBuildProgram(program, 1, &device, options, NULL, NULL);
	if (result != CL_SUCCESS) {
		clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log,
				      NULL);
		leave(1, log, result);
	}
}

/* A heap's memory on the device, and the counts of its kernels. */
struct heap {
	cl_mem metadata, owners, counts, kept;
	uint32_t pages;
	size_t bytes;
	struct mam_pages *made; /* the formatted metadata, and the buffer for reading it back */
	uint32_t got[COUNTS];
};

static cl_mem memory(size_t bytes)
{
	cl_int result;
	cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &result);

	check(result, "clCreateBuffer");
	return made;
}

static void zero(cl_mem at, size_t bytes)
{
	cl_uint nothing = 0;

	check(clEnqueueFillBuffer(queue, at, &nothing, sizeof(nothing), 0, bytes, 0, NULL, NULL),
	      "clEnqueueFillBuffer");
}

static void heap_make(struct heap *heap, uint32_t pages)
{
	heap->pages = pages;
	heap->bytes = mam_pages_bytes(pages);
	heap->made = calloc(1, heap->bytes);
	if (!heap->made)
		leave(1, "out of host memory", 0);
	mam_pages_format(heap->made, pages, 5);
	heap->metadata = memory(heap->bytes);
	heap->owners = memory(pages * sizeof(cl_uint));
	heap->counts = memory(COUNTS * sizeof(cl_uint));
	heap->kept = memory(LANES * sizeof(cl_uint));
	zero(heap->owners, pages * sizeof(cl_uint));
	check(clEnqueueWriteBuffer(queue, heap->metadata, CL_TRUE, 0, heap->bytes, heap->made, 0,
				   NULL, NULL),
	      "clEnqueueWriteBuffer");
}

static void heap_end(struct heap *heap)
{
	clReleaseMemObject(heap->metadata);
	clReleaseMemObject(heap->owners);
	clReleaseMemObject(heap->counts);
	clReleaseMemObject(heap->kept);
	free(heap->made);
}

static void launch(struct heap *heap, const char *name, const uint32_t *numbers, cl_mem last)
{
	size_t lanes = LANES, group = 64;
	cl_int result;
	cl_kernel kernel = clCreateKernel(program, name, &result);

	check(result, name);
	zero(heap->counts, COUNTS * sizeof(cl_uint));
	check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &heap->metadata), name);
	check(clSetKernelArg(kernel, 1, sizeof(cl_mem), &heap->owners), name);
	check(clSetKernelArg(kernel, 2, sizeof(cl_mem), &heap->counts), name);
	if (last)
		check(clSetKernelArg(kernel, 3, sizeof(cl_mem), &last), name);
	for (cl_uint i = 0; numbers && i < 2; i++)
		check(clSetKernelArg(kernel, 3 + i, sizeof(cl_uint), &numbers[i]), name);
	check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &lanes, &group, 0, NULL, NULL), name);
	check(clEnqueueReadBuffer(queue, heap->counts, CL_TRUE, 0, sizeof(heap->got), heap->got, 0,
				  NULL, NULL),
	      name);
	check(clEnqueueReadBuffer(queue, heap->metadata, CL_TRUE, 0, heap->bytes, heap->made, 0,
				  NULL, NULL),
	      name);
	clReleaseKernel(kernel);
	same(0, heap->got[0], "pages with two owners");
	same(0, heap->got[2], "failed frees");
}

static uint64_t taken(const struct heap *heap)
{
	const uint64_t *bits = (const uint64_t *)(heap->made + 1);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < mam_layout_words(heap->pages); i++)
		sum += (uint64_t)__builtin_popcountll(bits[i]);
	return sum - (mam_layout_words(heap->pages) * (uint64_t)64 - heap->pages);
}

/* Single pages and runs of up to `max`, none of which is kept. */
static void churn(uint32_t pages, uint32_t rounds, uint32_t max)
{
	const uint32_t numbers[2] = { rounds, max };
	struct heap heap;

	heap_make(&heap, pages);
	launch(&heap, "churn", numbers, NULL);
	same(0, taken(&heap), "allocated pages after all were freed");
	same(heap.got[1],
	     heap.made->tally[MAM_TALLY_FULL] + heap.made->tally[MAM_TALLY_NO_RUN] +
		     heap.made->tally[MAM_TALLY_CONTENDED],
	     "failed requests");
	same(0, heap.made->tally[MAM_TALLY_TWICE], "double frees");
	same(0, heap.made->tally[MAM_TALLY_FOREIGN], "foreign frees");
	heap_end(&heap);
}

/* Fewer pages than lanes, all kept; then each is freed twice. */
static void fill(uint32_t pages)
{
	struct heap heap;

	heap_make(&heap, pages);
	for (int round = 0; round < 3; round++) {
		launch(&heap, "keep", NULL, heap.kept);
		same(LANES - pages, heap.got[1], "lanes without a page");
		same(pages, taken(&heap), "allocated pages of a full heap");
		launch(&heap, "give", NULL, heap.kept);
		same(0, taken(&heap), "allocated pages after all were freed");
	}
	same(3 * (LANES - pages), heap.made->tally[MAM_TALLY_FULL],
	     "requests that failed in a full heap");
	same(3 * (uint64_t)pages, heap.made->tally[MAM_TALLY_TWICE], "double frees");
	heap_end(&heap);
}

static void words(void)
{
	size_t one = 1;
	uint32_t answers[66];
	cl_int result;
	cl_kernel kernel = clCreateKernel(program, "words", &result);
	cl_mem at = memory(sizeof(answers));

	check(result, "words");
	check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &at), "words");
	check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), "words");
	check(clEnqueueReadBuffer(queue, at, CL_TRUE, 0, sizeof(answers), answers, 0, NULL, NULL),
	      "words");
	same(0, answers[0], "the lowest bit of 0");
	same(64, answers[1], "leading zeros of 0");
	for (uint32_t i = 0; i < 64; i++)
		same((i + 1) + ((63 - i) << 8) + (i << 16) + (i < 32 ? (i + 1) << 24 : 0),
		     answers[2 + i], "bits counted");
	clReleaseMemObject(at);
	clReleaseKernel(kernel);
}

/*
 * Three-dimensional work groups: numbers go through the groups, x fastest, then through each group.
 */
static void numbers(void)
{
	static const size_t items[] = { 15, 6, 4 }, group[] = { 5, 3, 2 };
	uint32_t answers[15 * 6 * 4];
	cl_int result;
	cl_kernel kernel = clCreateKernel(program, "numbers", &result);
	cl_mem at = memory(sizeof(answers));

	check(result, "numbers");
	check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &at), "numbers");
	check(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, items, group, 0, NULL, NULL),
	      "numbers");
	check(clEnqueueReadBuffer(queue, at, CL_TRUE, 0, sizeof(answers), answers, 0, NULL, NULL),
	      "numbers");
	for (size_t i = 0; i < 15 * 6 * 4; i++) {
		const size_t x = i % 15, y = i / 15 % 6, z = i / 90;

		same((x / 5 + 3 * (y / 3 + 2 * (z / 2))) * 30 + (x % 5 + 5 * (y % 3 + 3 * (z % 2))),
		     answers[i], "number of a work item");
	}
	clReleaseMemObject(at);
	clReleaseKernel(kernel);
}

int main(int argument_count, char **arguments)
{
	if (argument_count != 4)
		leave(1, "usage: opencl_pages SRC KERNELS STANDARD", argument_count);
	begin(arguments[1], arguments[2], arguments[3]);
	words();
	numbers();
	churn(6000, 20, 1);
	churn(3000, 20, 9);
	churn(2000, 4, 200);
	fill(1000);
	fill(37);
	printf("success\n");
	clReleaseProgram(program);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}
