/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake.h - OpenCL calls that fail on demand, devices without features of the real one, and the
 * number of live objects.
 *
 * The linker replaces NAME by __wrap_NAME (-Wl,--wrap=NAME; fake_wraps of Makefile.inc lists all of
 * them) in the objects that are linked into the program: those of the library. Drivers call the
 * real functions.
 *
 * 1. Each wrapped call is counted; call number fake.at fails with fake.code, and its name is
 *    recorded. 0: no call fails.
 * 2. Created and released objects are counted, so that leaks are detected.
 * 3. clGetDeviceInfo() returns the values in fake, if set.
 */
#ifndef MAM_TESTS_OPENCL_FAKE_H
#define MAM_TESTS_OPENCL_FAKE_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct {
	unsigned int at, seen; /* calls */
	cl_int code;
	const char *name; /* of the failed call; NULL: no call failed */
	long live;
	bool armed; /* host memory counts, too */
	/* Of the device; NULL or 0: unchanged. */
	const char *extensions;
	cl_uint bits;
	bool no_compiler, no_features, older, many_devices;
	cl_ulong max;
	const char *log;
} fake;

static inline bool fake_fails(const char *name)
{
	if (!fake.armed || ++fake.seen != fake.at)
		return false;
	fake.name = name;
	return true;
}

#define FAKE_CALL(name, parameters, arguments)                                  \
	cl_int __real_##name parameters;                                        \
	cl_int __wrap_##name parameters;                                        \
	cl_int __wrap_##name parameters                                         \
	{                                                                       \
		return fake_fails(#name) ? fake.code : __real_##name arguments; \
	}
#define FAKE_MAKE(type, name, parameters, arguments) \
	type __real_##name parameters;               \
	type __wrap_##name parameters;               \
	type __wrap_##name parameters                \
	{                                            \
		type made;                           \
                                                     \
		if (fake_fails(#name)) {             \
			*code = fake.code;           \
			return NULL;                 \
		}                                    \
		made = __real_##name arguments;      \
		fake.live += made != NULL;           \
		return made;                         \
	}
#define FAKE_RELEASE(name, type)              \
	cl_int __real_##name(type object);    \
	cl_int __wrap_##name(type object);    \
	cl_int __wrap_##name(type object)     \
	{                                     \
		fake.live--;                  \
		return __real_##name(object); \
	}

FAKE_MAKE(cl_mem, clCreateBuffer,
	  (cl_context context, cl_mem_flags flags, size_t bytes, void *at, cl_int *code),
	  (context, flags, bytes, at, code))
FAKE_MAKE(cl_program, clCreateProgramWithSource,
	  (cl_context context, cl_uint count, const char **texts, const size_t *lengths,
	   cl_int *code),
	  (context, count, texts, lengths, code))
FAKE_MAKE(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *code),
	  (program, name, code))
FAKE_RELEASE(clReleaseMemObject, cl_mem)
FAKE_RELEASE(clReleaseProgram, cl_program)
FAKE_RELEASE(clReleaseKernel, cl_kernel)
FAKE_RELEASE(clReleaseEvent, cl_event)
FAKE_CALL(clBuildProgram,
	  (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
	   void(CL_CALLBACK *done)(cl_program, void *), void *user),
	  (program, count, devices, options, done, user))
FAKE_CALL(clSetKernelArg, (cl_kernel kernel, cl_uint which, size_t bytes, const void *value),
	  (kernel, which, bytes, value))
FAKE_CALL(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events))
FAKE_CALL(clEnqueueReadBuffer,
	  (cl_command_queue queue, cl_mem buffer, cl_bool wait, size_t from, size_t bytes, void *to,
	   cl_uint count, const cl_event *events, cl_event *done),
	  (queue, buffer, wait, from, bytes, to, count, events, done))
FAKE_CALL(clGetCommandQueueInfo,
	  (cl_command_queue queue, cl_command_queue_info what, size_t bytes, void *to,
	   size_t *needs),
	  (queue, what, bytes, to, needs))
FAKE_CALL(clEnqueueBarrierWithWaitList,
	  (cl_command_queue queue, cl_uint count, const cl_event *events, cl_event *done),
	  (queue, count, events, done))

cl_int __real_clGetContextInfo(cl_context context, cl_context_info what, size_t bytes, void *to,
			       size_t *needs);
cl_int __wrap_clGetContextInfo(cl_context context, cl_context_info what, size_t bytes, void *to,
			       size_t *needs);
cl_int __wrap_clGetContextInfo(cl_context context, cl_context_info what, size_t bytes, void *to,
			       size_t *needs)
{
	cl_int code;

	if (fake_fails("clGetContextInfo"))
		return fake.code;
	if (!fake.many_devices)
		return __real_clGetContextInfo(context, what, bytes, to, needs);
	/* 40 of them, the last of which is the real one. */
	if (needs)
		*needs = 40 * sizeof(cl_device_id);
	if (!to)
		return CL_SUCCESS;
	memset(to, 0, bytes);
	code = __real_clGetContextInfo(context, what, sizeof(cl_device_id), (cl_device_id *)to + 39,
				       NULL);
	return code;
}

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
				     const size_t *from, const size_t *items, const size_t *group,
				     cl_uint count, const cl_event *events, cl_event *done);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
				     const size_t *from, const size_t *items, const size_t *group,
				     cl_uint count, const cl_event *events, cl_event *done);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
				     const size_t *from, const size_t *items, const size_t *group,
				     cl_uint count, const cl_event *events, cl_event *done)
{
	cl_int code;

	if (fake_fails("clEnqueueNDRangeKernel"))
		return fake.code;
	code = __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, from, items, group, count,
					     events, done);
	fake.live += code == CL_SUCCESS && done;
	return code;
}

cl_int __real_clGetProgramBuildInfo(cl_program program, cl_device_id device,
				    cl_program_build_info what, size_t bytes, void *to,
				    size_t *needs);
cl_int __wrap_clGetProgramBuildInfo(cl_program program, cl_device_id device,
				    cl_program_build_info what, size_t bytes, void *to,
				    size_t *needs);
cl_int __wrap_clGetProgramBuildInfo(cl_program program, cl_device_id device,
				    cl_program_build_info what, size_t bytes, void *to,
				    size_t *needs)
{
	if (!fake.log)
		return __real_clGetProgramBuildInfo(program, device, what, bytes, to, needs);
	if (needs)
		*needs = strlen(fake.log) + 1;
	if (to)
		memcpy(to, fake.log, strlen(fake.log) + 1);
	return CL_SUCCESS;
}

static inline cl_int fake_info(const void *answer, size_t length, size_t bytes, void *to,
			       size_t *needs)
{
	if (needs)
		*needs = length;
	if (to && bytes < length)
		return CL_INVALID_VALUE;
	if (to)
		memcpy(to, answer, length);
	return CL_SUCCESS;
}

cl_int __real_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes, void *to,
			      size_t *needs);
cl_int __wrap_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes, void *to,
			      size_t *needs);
cl_int __wrap_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes, void *to,
			      size_t *needs)
{
	static const cl_name_version feature = { 0, "__opencl_c_atomic_order_acq_rel" };
	static const cl_bool no = CL_FALSE;

	if (what == CL_DEVICE_NAME)
		return fake_info("Fake", 5, bytes, to, needs);
	/* If a device does not know the query, that is not a failure. */
	if (what == CL_DEVICE_OPENCL_C_FEATURES && !to && fake.older)
		return CL_INVALID_VALUE;
	if (!(what == CL_DEVICE_OPENCL_C_FEATURES && !to) && fake_fails("clGetDeviceInfo"))
		return fake.code;
	if (what == CL_DEVICE_EXTENSIONS && fake.extensions)
		return fake_info(fake.extensions, strlen(fake.extensions) + 1, bytes, to, needs);
	if (what == CL_DEVICE_ADDRESS_BITS && fake.bits)
		return fake_info(&fake.bits, sizeof(fake.bits), bytes, to, needs);
	if (what == CL_DEVICE_COMPILER_AVAILABLE && fake.no_compiler)
		return fake_info(&no, sizeof(no), bytes, to, needs);
	if (what == CL_DEVICE_OPENCL_C_FEATURES && fake.no_features)
		return fake_info(&feature, sizeof(feature), bytes, to, needs);
	if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE && fake.max)
		return fake_info(&fake.max, sizeof(fake.max), bytes, to, needs);
	return __real_clGetDeviceInfo(device, what, bytes, to, needs);
}

/* Host memory. */
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
	if (fake_fails("calloc"))
		return NULL;
	fake.live += fake.armed;
	return __real_calloc(count, bytes);
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	if (fake_fails("malloc"))
		return NULL;
	fake.live += fake.armed;
	return __real_malloc(bytes);
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
	fake.live -= fake.armed && block;
	__real_free(block);
}

#endif
