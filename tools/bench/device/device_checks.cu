/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_checks.cu - the kernels of `mam bench device` that check the allocators' results, and an
 * empty one, to measure the cost of a launch.
 */
#include "bench/device/device_checks.h"

DEVICE_KERNEL(check_span, device_span)
DEVICE_KERNEL(check_mark, device_mark)
DEVICE_KERNEL(check_write, device_write)
DEVICE_KERNEL(check_read, device_read)
DEVICE_KERNEL(check_nothing, device_nothing)
