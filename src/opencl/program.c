/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - the kernels that format heaps and read their statistics.
 *
 * 1. A list has a program for each context and device that currently has a heap, with the number of
 *    its heaps.
 * 2. The first heap builds the program, under the lock: a thread that creates a heap meanwhile
 *    waits, and need not build the same. The last heap releases the program, so mam keeps no
 *    context alive.
 * 3. Each launch creates its own kernel object: only one thread at a time may set a kernel's
 *    arguments.
 *
 * Invariant: a program in the list has users, so its context is alive, and no other context can
 * have the same address.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/error.h"
#include "opencl/program.h"

struct mam_cl_program {
	struct mam_cl_program *next;
	cl_context context;
	cl_device_id device;
	cl_program program;
	unsigned long users; /* synchronization: lock */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mam_cl_program *programs; /* synchronization: lock */

const char *mam_cl_source(void)
{
	return (const char *)mam_cl_text_mam;
}

/* The first line of the log that contains "error", or else the first line. */
static enum mam_status build_failed(const char *who, cl_program program, cl_device_id device,
				    cl_int code)
{
	char none[] = "", *text = NULL, *line;
	enum mam_status status;
	size_t bytes = 0;

	if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) ==
	    CL_SUCCESS)
		text = calloc(1, bytes + 1);
	if (text && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, text,
					  NULL) != CL_SUCCESS)
		*text = 0;
	line = text ? strstr(text, "error") : none;
	while (line && text && line > text && line[-1] != '\n')
		line--;
	if (!line)
		line = text;
	line[strcspn(line, "\n")] = 0;
	status = mam_cl_fail(MAM_ERROR_DRIVER, code,
			     "%s: clBuildProgram failed with %s (%d): the device's compiler "
			     "rejects mam's kernels, use another driver%s%.300s%s.",
			     who, mam_cl_code_name(code), (int)code, *line ? " (build log: " : "",
			     line, *line ? ")" : "");
	free(text);
	return status;
}

static enum mam_status build(const char *who, struct mam_cl_program *made, const char *options)
{
	const char *text = (const char *)mam_cl_text_heap;
	cl_int code;

	made->program = clCreateProgramWithSource(made->context, 1, &text, NULL, &code);
	if (!made->program)
		return mam_cl_refused(who, "clCreateProgramWithSource", code);
	code = clBuildProgram(made->program, 1, &made->device, options, NULL, NULL);
	if (code == CL_SUCCESS)
		return MAM_OK;
	if (code == CL_BUILD_PROGRAM_FAILURE)
		(void)build_failed(who, made->program, made->device, code);
	else
		(void)mam_cl_refused(who, "clBuildProgram", code);
	clReleaseProgram(made->program);
	return code == CL_OUT_OF_HOST_MEMORY ? MAM_ERROR_OUT_OF_HOST_MEMORY
	       : code == CL_OUT_OF_RESOURCES ? MAM_ERROR_OUT_OF_MEMORY
					     : MAM_ERROR_DRIVER;
}

static enum mam_status acquire_locked(const char *who, cl_context context, cl_device_id device,
				      const char *options, struct mam_cl_program **program)
{
	struct mam_cl_program *made;
	enum mam_status status;

	for (made = programs; made; made = made->next)
		if (made->context == context && made->device == device)
			break;
	if (!made) {
		made = calloc(1, sizeof(*made));
		if (!made)
			return mam_cl_fail(
				MAM_ERROR_OUT_OF_HOST_MEMORY, CL_SUCCESS,
				"%s: the host cannot allocate %zu bytes: free host memory.", who,
				sizeof(*made));
		made->context = context;
		made->device = device;
		status = build(who, made, options);
		if (status != MAM_OK) {
			free(made);
			return status;
		}
		made->next = programs;
		programs = made;
	}
	made->users++;
	*program = made;
	return MAM_OK;
}

enum mam_status mam_cl_program_acquire(const char *who, cl_context context, cl_device_id device,
				       const char *options, struct mam_cl_program **program)
{
	enum mam_status status;

	pthread_mutex_lock(&lock);
	status = acquire_locked(who, context, device, options, program);
	pthread_mutex_unlock(&lock);
	return status;
}

void mam_cl_program_release(struct mam_cl_program *program)
{
	struct mam_cl_program **link;
	unsigned long users;

	pthread_mutex_lock(&lock);
	users = --program->users;
	if (!users) {
		for (link = &programs; *link != program; link = &(*link)->next)
			;
		*link = program->next;
	}
	pthread_mutex_unlock(&lock);
	if (users)
		return;
	clReleaseProgram(program->program);
	free(program);
}

cl_kernel mam_cl_program_kernel(struct mam_cl_program *program, const char *name, cl_int *code)
{
	return clCreateKernel(program->program, name, code);
}
