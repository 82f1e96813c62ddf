/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c - the last error of this thread.
 *
 * A table has a row for each OpenCL error code that mam's calls can meet: its name, the
 * corresponding status, and a hint what to do.
 *
 * Invariant: the sentence is thread-local, so it needs no lock and no free.
 */
#include <stdarg.h>
#include <stdio.h>

#include "opencl/error.h"

static const struct row {
	cl_int code;
	const char *name;
	enum mam_status status;
	const char *remedy;
} rows[] = {
#define ROW(code, status, remedy)           \
	{                                   \
		code, #code, status, remedy \
	}
#define SMALLER "make the heap smaller, or release other buffers of the device"
#define LIVE "pass an object that was not released"
#define ASK "see the OpenCL driver's documentation or its log"
	ROW(CL_DEVICE_NOT_FOUND, MAM_ERROR_NO_DEVICE, "install an OpenCL driver, such as PoCL"),
	ROW(CL_DEVICE_NOT_AVAILABLE, MAM_ERROR_NO_DEVICE,
	    "use another device, or wait until it is free"),
	ROW(CL_COMPILER_NOT_AVAILABLE, MAM_ERROR_UNSUPPORTED, "use a driver that has a compiler"),
	ROW(CL_MEM_OBJECT_ALLOCATION_FAILURE, MAM_ERROR_OUT_OF_MEMORY, SMALLER),
	ROW(CL_OUT_OF_RESOURCES, MAM_ERROR_OUT_OF_MEMORY, SMALLER),
	ROW(CL_INVALID_BUFFER_SIZE, MAM_ERROR_OUT_OF_MEMORY, SMALLER),
	ROW(CL_OUT_OF_HOST_MEMORY, MAM_ERROR_OUT_OF_HOST_MEMORY, "free host memory"),
	ROW(CL_BUILD_PROGRAM_FAILURE, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_VALUE, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_DEVICE, MAM_ERROR_INVALID_VALUE, LIVE),
	ROW(CL_INVALID_CONTEXT, MAM_ERROR_INVALID_VALUE, LIVE),
	ROW(CL_INVALID_COMMAND_QUEUE, MAM_ERROR_INVALID_VALUE, LIVE),
	ROW(CL_INVALID_MEM_OBJECT, MAM_ERROR_INVALID_VALUE, LIVE),
	ROW(CL_INVALID_BUILD_OPTIONS, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_PROGRAM, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_PROGRAM_EXECUTABLE, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_KERNEL_NAME, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_KERNEL, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_ARG_VALUE, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_KERNEL_ARGS, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_WORK_GROUP_SIZE, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_EVENT, MAM_ERROR_DRIVER, ASK),
	ROW(CL_INVALID_OPERATION, MAM_ERROR_DRIVER, ASK),
	ROW(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, MAM_ERROR_DRIVER,
	    "check whether an earlier kernel failed, and create a new context"),
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static _Thread_local struct {
	cl_int code;
	char sentence[640];
} last = { CL_SUCCESS, "No call has failed in this thread." };

static const struct row *row_of(cl_int code)
{
	static const struct row none = { 0, "an unknown code", MAM_ERROR_DRIVER, ASK };
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (rows[i].code == code)
			return &rows[i];
	return &none;
}

enum mam_status mam_cl_fail(enum mam_status status, cl_int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(last.sentence, sizeof(last.sentence), format, arguments);
	va_end(arguments);
	last.code = code;
	return status;
}

enum mam_status mam_cl_refused(const char *who, const char *what, cl_int code)
{
	const struct row *row = row_of(code);

	return mam_cl_fail(row->status, code, "%s: %s failed with %s (%d): %s.", who, what,
			   row->name, (int)code, row->remedy);
}

const char *mam_cl_code_name(cl_int code)
{
	return row_of(code)->name;
}

cl_int mam_cl_error(const char **sentence)
{
	if (sentence)
		*sentence = last.sentence;
	return last.code;
}
