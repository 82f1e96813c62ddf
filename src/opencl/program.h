/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - the kernels that format heaps and read their statistics, built once for all heaps of
 * a context and a device that exist at the same time.
 */
#ifndef MAM_OPENCL_PROGRAM_H
#define MAM_OPENCL_PROGRAM_H

#include <mam/opencl.h>

struct mam_cl_program;

/* Embedded source texts; made by build-aux/mam-bundle and mam-embed. */
extern const unsigned char mam_cl_text_mam[], mam_cl_text_heap[];

/* `options`: from mam_cl_device_check(). Each acquire needs a release. */
enum mam_status mam_cl_program_acquire(const char *who, cl_context context, cl_device_id device,
				       const char *options, struct mam_cl_program **program);
void mam_cl_program_release(struct mam_cl_program *program);

/* Creates a kernel of the program for the caller, which calls clReleaseKernel(). */
cl_kernel mam_cl_program_kernel(struct mam_cl_program *program, const char *name, cl_int *code);

#endif
