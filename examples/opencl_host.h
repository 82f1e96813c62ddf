/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_host.h - host code that the OpenCL examples share: a device, its program, a heap, buffers,
 * and kernels that are run synchronously.
 *
 * The including file defines `program`, its name. Kernels are in files of EXAMPLES_FOLDER, by
 * default the current folder.
 */
#ifndef EXAMPLES_OPENCL_HOST_H
#define EXAMPLES_OPENCL_HOST_H

#include <mam/opencl.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef EXAMPLES_FOLDER
#define EXAMPLES_FOLDER "."
#endif
#define PLATFORMS 16
#define DEVICES 64
#define LOG_BYTES 65536

struct opencl {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program built;
	char name[256]; /* of the device */
};

static inline void fail(const char *what, const char *why)
{
	(void)fflush(stdout);
	(void)fprintf(stderr, "%s: error: %s: %s\n", program, what, why);
	exit(1);
}

static inline void check(cl_int code, const char *what)
{
	char why[64];

	if (code == CL_SUCCESS)
		return;
	(void)snprintf(why, sizeof(why), "OpenCL error %d", (int)code);
	fail(what, why);
}

static inline void check_mam(enum mam_status status, const char *what)
{
	const char *why = "unknown error";

	if (status == MAM_OK)
		return;
	(void)mam_cl_error(&why);
	fail(what, why);
}

/*
 * Opens device number `device` of platform number `platform`. Exits with status 77 if there is no
 * device at all.
 */
static inline void opencl_open(struct opencl *cl, uint64_t platform, uint64_t device)
{
	cl_platform_id platforms[PLATFORMS];
	cl_device_id devices[DEVICES];
	cl_uint count = 0;
	cl_int code;

	if (clGetPlatformIDs(PLATFORMS, platforms, &count) != CL_SUCCESS || !count) {
		(void)fprintf(stderr, "%s: error: no OpenCL platform; install one, such as PoCL\n",
			      program);
		exit(77);
	}
	if (platform >= count)
		fail("--platform", "no such platform; see 'clinfo -l'");
	code = clGetDeviceIDs(platforms[platform], CL_DEVICE_TYPE_ALL, DEVICES, devices, &count);
	if (code != CL_SUCCESS || device >= count)
		fail("--device", "no such device on this platform; see 'clinfo -l'");
	cl->device = devices[device];
	check(clGetDeviceInfo(cl->device, CL_DEVICE_NAME, sizeof(cl->name), cl->name, NULL),
	      "clGetDeviceInfo");
	cl->context = clCreateContext(NULL, 1, &cl->device, NULL, NULL, &code);
	check(code, "clCreateContext");
	cl->queue = clCreateCommandQueueWithProperties(cl->context, cl->device, NULL, &code);
	check(code, "clCreateCommandQueueWithProperties");
	cl->built = NULL;
}

/*
 * Builds the kernels of `file`, after the text `before`, which configures mam.cl. Replaces the
 * previous program.
 */
static inline void opencl_build(struct opencl *cl, const char *before, const char *file)
{
	const char *sources[3];
	char standard[64], options[4200], include[128], *log;
	cl_int code;

	check_mam(mam_cl_options(cl->device, standard, sizeof(standard)), "mam_cl_options");
	(void)snprintf(options, sizeof(options), "%s -I %s", standard, EXAMPLES_FOLDER);
	(void)snprintf(include, sizeof(include), "\n#include \"%s\"\n", file);
	sources[0] = before;
	sources[1] = mam_cl_source();
	sources[2] = include;
	if (cl->built)
		check(clReleaseProgram(cl->built), "clReleaseProgram");
	cl->built = clCreateProgramWithSource(cl->context, 3, sources, NULL, &code);
	check(code, "clCreateProgramWithSource");
	if (clBuildProgram(cl->built, 1, &cl->device, options, NULL, NULL) == CL_SUCCESS)
		return;
	log = (char *)calloc(LOG_BYTES, 1);
	if (log)
		(void)clGetProgramBuildInfo(cl->built, cl->device, CL_PROGRAM_BUILD_LOG,
					    LOG_BYTES - 1, log, NULL);
	fail(file, log ? log : "it cannot be built");
}

static inline void opencl_close(struct opencl *cl)
{
	if (cl->built)
		check(clReleaseProgram(cl->built), "clReleaseProgram");
	check(clReleaseCommandQueue(cl->queue), "clReleaseCommandQueue");
	check(clReleaseContext(cl->context), "clReleaseContext");
}

/* A copy of the data at `from`; NULL: every byte is `byte`. */
static inline cl_mem opencl_buffer(struct opencl *cl, const void *from, size_t bytes,
				   unsigned char byte)
{
	cl_int code;
	cl_mem made =
		clCreateBuffer(cl->context, CL_MEM_READ_WRITE, bytes ? bytes : 1, NULL, &code);

	check(code, "clCreateBuffer");
	if (from && bytes)
		check(clEnqueueWriteBuffer(cl->queue, made, CL_TRUE, 0, bytes, from, 0, NULL, NULL),
		      "clEnqueueWriteBuffer");
	else if (bytes)
		check(clEnqueueFillBuffer(cl->queue, made, &byte, 1, 0, bytes, 0, NULL, NULL),
		      "clEnqueueFillBuffer");
	return made;
}

static inline void opencl_fill(struct opencl *cl, cl_mem buffer, unsigned char byte, size_t bytes)
{
	check(clEnqueueFillBuffer(cl->queue, buffer, &byte, 1, 0, bytes, 0, NULL, NULL),
	      "clEnqueueFillBuffer");
}

static inline void opencl_read(struct opencl *cl, cl_mem from, void *to, size_t bytes)
{
	check(clEnqueueReadBuffer(cl->queue, from, CL_TRUE, 0, bytes, to, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
}

/*
 * Runs a kernel in groups of `group` work items, `items` of them in total, and waits for it. Its
 * arguments are pairs: bytes, as a size_t, and address. Returns milliseconds.
 */
static inline double opencl_run(struct opencl *cl, const char *name, size_t items, size_t group,
				unsigned int count, ...)
{
	struct timespec begun, done;
	va_list arguments;
	cl_kernel kernel;
	unsigned int i;
	size_t bytes;
	cl_int code;

	kernel = clCreateKernel(cl->built, name, &code);
	check(code, name);
	va_start(arguments, count);
	for (i = 0; i < count; i++) {
		bytes = va_arg(arguments, size_t);
		check(clSetKernelArg(kernel, i, bytes, va_arg(arguments, const void *)), name);
	}
	va_end(arguments);
	check(clFinish(cl->queue), name);
	(void)clock_gettime(CLOCK_MONOTONIC, &begun);
	check(clEnqueueNDRangeKernel(cl->queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL),
	      name);
	check(clFinish(cl->queue), name);
	(void)clock_gettime(CLOCK_MONOTONIC, &done);
	check(clReleaseKernel(kernel), name);
	return (double)(done.tv_sec - begun.tv_sec) * 1e3 +
	       (double)(done.tv_nsec - begun.tv_nsec) / 1e6;
}

/* One argument of opencl_run(). */
#define ARGUMENT(x) sizeof(x), (const void *)&(x)

static inline struct mam_cl_heap *opencl_heap(struct opencl *cl, size_t bytes)
{
	struct mam_cl_heap_attr attr = MAM_CL_HEAP_ATTR_INIT;
	struct mam_cl_heap *heap;

	attr.bytes = bytes;
	check_mam(mam_cl_heap_create(cl->context, cl->device, cl->queue, &attr, &heap),
		  "mam_cl_heap_create");
	return heap;
}

/* Checks that everything allocated from the heap was freed. */
static inline void opencl_end_heap(struct opencl *cl, struct mam_cl_heap *heap)
{
	struct mam_cl_heap_info stats;

	stats.size = sizeof(stats);
	check_mam(mam_cl_heap_stats(heap, cl->queue, &stats), "mam_cl_heap_stats");
	if (stats.blocks || stats.runs || stats.wrong_frees)
		fail("the heap", "it has leaked blocks, or counted invalid frees");
	check_mam(mam_cl_heap_destroy(heap), "mam_cl_heap_destroy");
}

#endif
