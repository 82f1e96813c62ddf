/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - what failed last in this thread: a status, OpenCL's code, a sentence.
 */
#ifndef MAM_OPENCL_ERROR_H
#define MAM_OPENCL_ERROR_H

#include <mam/opencl.h>

/*
 * Keeps the sentence, which says what failed, where, and what to do, with `code` or CL_SUCCESS, and gives
 * `status` back.
 */
__attribute__((format(printf, 3, 4))) enum mam_status
mam_cl_fail(enum mam_status status, cl_int code, const char *format, ...);

/*
 * The same of a call of OpenCL's that gave `code`: the status hangs on that. `who`: of ours; `what`: its
 * name; then, in one sentence with these, what to do.
 */
enum mam_status mam_cl_refused(const char *who, const char *what, cl_int code);

/* "CL_OUT_OF_RESOURCES", or "a code without a name". */
const char *mam_cl_code_name(cl_int code);

#endif
