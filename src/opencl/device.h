/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - check that a device has the features that mam needs. */
#ifndef MAM_OPENCL_DEVICE_H
#define MAM_OPENCL_DEVICE_H

#include <mam/opencl.h>

/*
 * Checks for 64-bit atomics and addresses, and a compiler. `options` (may be NULL) receives the
 * build options for programs with mam's device code. `who`: mam's function, for error messages.
 */
enum mam_status mam_cl_device_check(const char *who, cl_device_id device, const char **options);

#endif
