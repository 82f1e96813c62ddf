/* SPDX-License-Identifier: Apache-2.0 */
/* client_driver.c - a program on the CUDA driver API, linked with -lcuda. */
#include "workload.h"

#include "../fake/driver_api.h"

/* All threads use one context: the primary one, or with --own-context one of the program's own. */
static int start(int device)
{
	static struct CUctx_st *context;
	int result = CUDA_SUCCESS;

	if (!context) {
		result = cuInit(0);
		if (result == CUDA_SUCCESS && client_options.own_context)
			result = cuCtxCreate_v2(&context, 0, device);
		else if (result == CUDA_SUCCESS)
			result = cuDevicePrimaryCtxRetain(&context, device);
	}
	return result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result;
}

static int alloc(uintptr_t *address, size_t bytes)
{
	unsigned long long found = *address;
	int result = cuMemAlloc_v2(&found, bytes);

	*address = found;
	return result;
}

static int release(uintptr_t address)
{
	return cuMemFree_v2(address);
}

static int up(uintptr_t to, const void *from, size_t bytes)
{
	return cuMemcpyHtoD_v2(to, from, bytes);
}

static int down(void *to, uintptr_t from, size_t bytes)
{
	return cuMemcpyDtoH_v2(to, from, bytes);
}

static int fill(uintptr_t to, unsigned char value, size_t bytes)
{
	return cuMemsetD8_v2(to, value, bytes);
}

int main(int count, char **arguments)
{
	static const struct client_api api = {
		.start = start,
		.alloc = alloc,
		.release = release,
		.up = up,
		.down = down,
		.fill = fill,
		.wait = cuCtxSynchronize,
		.memory = cuMemGetInfo_v2,
	};

	return workload_main(count, arguments, &api);
}
