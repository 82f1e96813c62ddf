/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_example.cu - how to add your own allocator to `mam bench device`: an adapter, then the
 * kernels. In the folder of mam's sources:
 *
 *	nvcc -std=c++17 -arch=native -Isrc -Itools -fatbin -o example.fatbin \
 *		tools/bench/device/device_example.cu
 *	mam bench device --adapter example.fatbin --only w1,w4
 */
#include "bench/device/device_example.h"
#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_more.h"
