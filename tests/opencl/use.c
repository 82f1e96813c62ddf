/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use.c - the smallest program: kernels with mam.cl, by its file or by the text in the library.
 *
 *    use include DIR     #include <mam/mam.cl>, with -I DIR
 *    use text            mam_cl_source() before the kernels
 *
 * Work items push numbers to a list; the host checks their sum. It uses the published names. Status
 * 0: success; 1: an error, which is printed; 77: there is no device.
 */
#include <mam/opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 1000

static const char kernels[] =
	"struct node { ulong next; ulong value; };\n"
	"__kernel void push(__global void *heap, __global ulong *head)\n"
	"{\n"
	"	__global struct node *node = malloc(heap, sizeof(*node));\n"
	"	ulong seen = *head, was;\n"
	"	if (!node)\n"
	"		return;\n"
	"	node->value = get_global_id(0);\n"
	"	for (;; seen = was) {\n"
	"		node->next = seen;\n"
	"		was = mam_atomic_cas64(head, seen, (ulong)(uintptr_t)node, MAM_ACQ_REL,\n"
	"				       MAM_AT_DEVICE);\n"
	"		if (was == seen)\n"
	"			break;\n"
	"	}\n"
	"}\n"
	"__kernel void take(__global void *heap, __global ulong *head)\n"
	"{\n"
	"	__global struct node *node = (__global struct node *)(uintptr_t)*head, *next;\n"
	"	ulong sum = 0;\n"
	"	for (; node; node = next) {\n"
	"		next = (__global struct node *)(uintptr_t)node->next;\n"
	"		sum += node->value;\n"
	"		free(heap, node);\n"
	"	}\n"
	"	*head = sum;\n"
	"}\n";

/*
 * Memory that drivers keep until the process ends is not a leak of mam; LeakSanitizer calls this.
 */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libOpenCL\n";
}

static void leave(int status, const char *what, long number)
{
	printf("%s (%ld)\n", what, number);
	exit(status);
}

static void check(cl_int code, const char *what)
{
	if (code != CL_SUCCESS)
		leave(1, what, code);
}

static cl_program build(cl_context context, cl_device_id device, const char *folder)
{
	const char *with_file[] = { "#define MAM_CL_PUBLISHED_NAMES\n#include <mam/mam.cl>\n",
				    kernels };
	const char *with_text[] = { "#define MAM_CL_PUBLISHED_NAMES\n", mam_cl_source(), kernels };
	char options[4200], standard[64], log[1 << 17] = "";
	cl_program program;
	const char *why;
	cl_int code;

	if (mam_cl_options(device, standard, sizeof(standard)) != MAM_OK) {
		code = mam_cl_error(&why);
		leave(1, why, code);
	}
	if (folder)
		program = clCreateProgramWithSource(context, 2, with_file, NULL, &code);
	else
		program = clCreateProgramWithSource(context, 3, with_text, NULL, &code);
	check(code, "clCreateProgramWithSource");
	(void)snprintf(options, sizeof(options), "%s%s%s", standard, folder ? " -I " : "",
		       folder ? folder : "");
	if (clBuildProgram(program, 1, &device, options, NULL, NULL) != CL_SUCCESS) {
		(void)clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1,
					    log, NULL);
		leave(1, log, 0);
	}
	return program;
}

static void run(cl_command_queue queue, cl_program program, const char *name, size_t items,
		cl_mem heap, cl_mem head)
{
	cl_int code;
	cl_kernel kernel = clCreateKernel(program, name, &code);

	check(code, "clCreateKernel");
	check(clSetKernelArg(kernel, 0, sizeof(heap), &heap), "clSetKernelArg");
	check(clSetKernelArg(kernel, 1, sizeof(head), &head), "clSetKernelArg");
	check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), name);
	check(clReleaseKernel(kernel), "clReleaseKernel");
}

int main(int count, char **arguments)
{
	cl_ulong sum = 0;
	cl_command_queue queue;
	cl_platform_id platform;
	cl_program program;
	cl_context context;
	cl_device_id device;
	cl_uint platforms = 0;
	cl_mem heap, head;
	const char *why;
	cl_int code;

	if (count < 2)
		leave(1, "usage: use include DIR | use text", count);
	if (clGetPlatformIDs(1, &platform, &platforms) != CL_SUCCESS || !platforms ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		leave(77, "there is no OpenCL device", 0);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	check(code, "clCreateContext");
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
	check(code, "clCreateCommandQueueWithProperties");
	program = build(context, device, count > 2 ? arguments[2] : NULL);
	heap = clSBMalloc_create(context, device, queue, 64, 4096);
	if (!heap) {
		code = mam_cl_error(&why);
		leave(1, why, code);
	}
	head = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(sum), &sum,
			      &code);
	check(code, "clCreateBuffer");
	run(queue, program, "push", ITEMS, heap, head);
	run(queue, program, "take", 1, heap, head);
	check(clEnqueueReadBuffer(queue, head, CL_TRUE, 0, sizeof(sum), &sum, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
	if (sum != ITEMS * (ITEMS - 1) / 2)
		leave(1, "the sum is wrong", (long)sum);
	check(clSBMalloc_destroy(heap), "clSBMalloc_destroy");
	if (clSBMalloc_destroy(heap) != CL_INVALID_MEM_OBJECT)
		leave(1, "a heap was destroyed twice", 0);
	check(clReleaseMemObject(head), "clReleaseMemObject");
	check(clReleaseProgram(program), "clReleaseProgram");
	check(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
	check(clReleaseContext(context), "clReleaseContext");
	puts("all is well");
	return 0;
}
