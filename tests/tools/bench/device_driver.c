/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_driver.c - a CUDA driver for bench_objects.sh: that of pages_driver.c, whose device is
 * idle, and the functions that libmam calls besides. With these environment variables, a kernel
 * with that name
 *   CRASH=NAME   ends the process by a signal
 *   STUCK=NAME   is launched by a call that does not return
 *   RESIDENT=N   threads that run at once on each of its 4 SMs, instead of an unlimited number
 *   CORRUPT=NAME counts an object with a wrong word
 *   TWICE=N      and the Nth check_mark counts an object as allocated twice
 */
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "bench/device/device_job.h"

#define cuLaunchKernel launch_nothing
#include "pages_driver.c"
#undef cuLaunchKernel

int cuGetErrorName(int result, const char **name)
{
	*name = result == 0 ? "CUDA_SUCCESS" : "CUDA_ERROR";
	return 0;
}

int cuDeviceGetCount(int *count)
{
	*count = 1;
	return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	*value = attribute == 16 ? 4 : 0; /* SMs */
	return device;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
						size_t shared_bytes)
{
	const char *resident = getenv("RESIDENT");

	(void)function;
	(void)shared_bytes;
	*blocks = (resident != NULL ? atoi(resident) : 16384) / threads;
	return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	*bytes = (size_t)2 << 30;
	return device;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	return device;
}

int cuCtxGetCurrent(void **context)
{
	*context = &heap;
	return 0;
}

int cuCtxPushCurrent_v2(void *context)
{
	return context != &heap;
}

int cuCtxPopCurrent_v2(void **context)
{
	*context = &heap;
	return 0;
}

int cuCtxGetDevice(int *device)
{
	*device = 0;
	return 0;
}

int cuCtxSynchronize(void)
{
	return 0;
}

int cuThreadExchangeStreamCaptureMode(unsigned int *mode)
{
	*mode = 0;
	return 0;
}

int cuMemAllocManaged(address *block, size_t bytes, unsigned int flags)
{
	(void)flags;
	return cuMemAlloc_v2(block, bytes);
}

int cuMemHostAlloc(void **block, size_t bytes, unsigned int flags)
{
	(void)flags;
	*block = malloc(bytes);
	return *block == NULL;
}

int cuMemFreeHost(void *block)
{
	free(block);
	return 0;
}

int cuMemsetD8_v2(address to, unsigned char value, size_t bytes)
{
	return cuMemsetD8Async(to, value, bytes, &hangs);
}

int cuMemcpyHtoD_v2(address to, const void *from, size_t bytes)
{
	return cuMemcpyHtoDAsync_v2(to, from, bytes, &hangs);
}

int cuMemcpyDtoH_v2(void *to, address from, size_t bytes)
{
	return cuMemcpyDtoHAsync_v2(to, from, bytes, &hangs);
}

static int is_set_to(const char *variable, const char *name)
{
	const char *text = getenv(variable);

	return text != NULL && strcmp(text, name) == 0;
}

int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		   unsigned int block_x, unsigned int block_y, unsigned int block_z,
		   unsigned int shared_bytes, void *stream, void **parameters, void **extra)
{
	static long marks;
	const char *twice = getenv("TWICE");

	if (is_set_to("CRASH", function))
		raise(SIGKILL);
	while (is_set_to("STUCK", function))
		pause();
	if (twice != NULL && strcmp(function, "check_mark") == 0 && ++marks == atol(twice))
		((const struct device_job *)parameters[0])->found->twice = 1;
	if (is_set_to("CORRUPT", function))
		((const struct device_job *)parameters[0])->found->corrupt = 1;
	return launch_nothing(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
			      shared_bytes, stream, parameters, extra);
}
