/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - the last error of this thread: a status, OpenCL's code, a sentence. */
#ifndef MAM_OPENCL_ERROR_H
#define MAM_OPENCL_ERROR_H

#include <mam/opencl.h>

/*
 * Stores the sentence, which states what failed, where, and what to do, with `code` or CL_SUCCESS,
 * and returns `status`.
 */
__attribute__((format(printf, 3, 4))) enum mam_status
mam_cl_fail(enum mam_status status, cl_int code, const char *format, ...);

/*
 * The same for an OpenCL call that returned `code`, which determines the status. `who`: mam's
 * function; `what`: the OpenCL function. The sentence has both, and then what to do.
 */
enum mam_status mam_cl_refused(const char *who, const char *what, cl_int code);

/* "CL_OUT_OF_RESOURCES", or "an unknown code". */
const char *mam_cl_code_name(cl_int code);

#endif
