/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - what a device can do that mam needs.
 */
#ifndef MAM_OPENCL_DEVICE_H
#define MAM_OPENCL_DEVICE_H

#include <mam/opencl.h>

/*
 * Has it 64-bit atomics and addresses, and a compiler? `options` (may be NULL): what programs with device
 * code of mam's are built with. `who`: of ours, for the sentence.
 */
enum mam_status mam_cl_device_check(const char *who, cl_device_id device, const char **options);

#endif
