/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_driver.c - a CUDA driver for bench_pages.sh with an idle device: memory is host memory; a
 * kernel ends at once without any effect, and reports a time of 8 microseconds, or TOOK_MS
 * milliseconds. With the environment variable HANG=NAME, the kernel of that name never ends; with
 * REFUSE=NAME its launch fails. The calls are logged to the file LAUNCHED.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;

static int hangs;
static size_t heap = 8 << 20;

int cuInit(unsigned int flags)
{
	return flags != 0;
}

int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return 0;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
	snprintf(name, (size_t)bytes, "Idle %d", device);
	return 0;
}

int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	(void)device;
	*context = &heap;
	return 0;
}

int cuCtxSetCurrent(void *context)
{
	return context != &heap;
}

int cuCtxGetLimit(size_t *value, int limit)
{
	*value = limit == 2 ? heap : 0;
	return 0;
}

int cuCtxSetLimit(int limit, size_t value)
{
	heap = limit == 2 ? value : heap;
	return 0;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	*free_bytes = *total = (size_t)2 << 30;
	return 0;
}

int cuStreamCreate(void **stream, unsigned int flags)
{
	(void)flags;
	*stream = &hangs;
	return 0;
}

int cuStreamSynchronize(void *stream)
{
	return stream != &hangs;
}

int cuStreamQuery(void *stream)
{
	return stream != &hangs;
}

int cuMemAlloc_v2(address *block, size_t bytes)
{
	*block = (address)(size_t)malloc(bytes);
	return *block == 0;
}

int cuMemFree_v2(address block)
{
	if (hangs) /* a driver would wait for the kernel */
		abort();
	free((void *)(size_t)block);
	return 0;
}

int cuMemsetD8Async(address to, unsigned char value, size_t bytes, void *stream)
{
	memset((void *)(size_t)to, value, bytes);
	return stream != &hangs;
}

int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *stream)
{
	memcpy((void *)(size_t)to, from, bytes);
	return stream != &hangs;
}

int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *stream)
{
	memcpy(to, (void *)(size_t)from, bytes);
	return stream != &hangs;
}

int cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, void *stream)
{
	return cuMemcpyHtoDAsync_v2(to, (void *)(size_t)from, bytes, stream);
}

int cuEventCreate(void **event, unsigned int flags)
{
	(void)flags;
	*event = &heap;
	return 0;
}

int cuEventRecord(void *event, void *stream)
{
	return event != &heap || stream != &hangs;
}

int cuEventQuery(void *event)
{
	return event != &heap ? 1 : hangs ? 600 : 0;
}

int cuEventElapsedTime(float *milliseconds, void *before, void *behind)
{
	const char *took = getenv("TOOK_MS");

	*milliseconds = before != behind ? 0 : took != NULL ? (float)atof(took) : 0.008F;
	return 0;
}

int cuModuleLoadData(void **module, const void *image)
{
	*module = (void *)(size_t)image;
	return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	*function = module != NULL ? strdup(name) : NULL;
	return *function == NULL;
}

int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		   unsigned int block_x, unsigned int block_y, unsigned int block_z,
		   unsigned int shared_bytes, void *stream, void **parameters, void **extra)
{
	const char *hang = getenv("HANG"), *refuse = getenv("REFUSE"), *name = function;
	const char *path = getenv("LAUNCHED");
	FILE *file = path != NULL ? fopen(path, "a") : NULL;

	if (file != NULL) {
		fprintf(file, "%s %u %u\n", name, grid_x, block_x);
		fclose(file);
	}
	hangs = hangs || (hang != NULL && strcmp(hang, name) == 0);
	if (refuse != NULL && strcmp(refuse, name) == 0)
		return 719;
	return grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || shared_bytes != 0 ||
	       stream != &hangs || parameters == NULL || extra != NULL;
}
