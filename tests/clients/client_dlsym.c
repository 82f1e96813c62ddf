/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_dlsym.c - a program that finds the driver like a statically linked CUDA runtime.
 *
 * The steps were observed in NVIDIA's static runtime: dlopen of libcuda.so.1, one dlsym of
 * cuGetProcAddress_v2, a first call with an empty name, a lookup of cuGetProcAddress through
 * itself, and then lookups of every function by base name and version. No other name ever reaches
 * dlsym.
 */
#include "workload.h"

#include <dlfcn.h>
#include <stdio.h>

#include "../fake/driver_api.h"

#define FUNCTIONS(X)                                                 \
	X(cuInit, 2000, cuInit)                                      \
	X(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain)  \
	X(cuDevicePrimaryCtxReset, 7000, cuDevicePrimaryCtxReset_v2) \
	X(cuCtxCreate, 3020, cuCtxCreate_v2)                         \
	X(cuCtxSetCurrent, 4000, cuCtxSetCurrent)                    \
	X(cuCtxSynchronize, 2000, cuCtxSynchronize)                  \
	X(cuMemAlloc, 3020, cuMemAlloc_v2)                           \
	X(cuMemFree, 3020, cuMemFree_v2)                             \
	X(cuMemGetInfo, 3020, cuMemGetInfo_v2)                       \
	X(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2)                       \
	X(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2)                       \
	X(cuMemsetD8, 3020, cuMemsetD8_v2)

static struct {
#define FIELD(name, version, declared) __typeof__(declared) *name;
	FUNCTIONS(FIELD)
#undef FIELD
} cuda;

static int load(void)
{
	__typeof__(cuGetProcAddress_v2) *look_up;
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *nothing = NULL;
	int status;

	if (!library) {
		fprintf(stderr, "client_dlsym: %s\n", dlerror());
		return CUDA_ERROR_NO_DEVICE;
	}
	look_up = (__typeof__(look_up))dlsym(library, "cuGetProcAddress_v2");
	if (!look_up)
		return CUDA_ERROR_NOT_FOUND;
	look_up("", &nothing, 0, PROC_DEFAULT, &status);
	look_up("cuGetProcAddress", (void **)&look_up, 12000, PROC_DEFAULT, &status);
#define LOOK_UP(name, version, declared)                                                           \
	if (look_up(#name, (void **)&cuda.name, version, PROC_DEFAULT, &status) != CUDA_SUCCESS || \
	    status != PROC_FOUND || !cuda.name) {                                                  \
		fprintf(stderr, "client_dlsym: the driver has no %s\n", #name);                    \
		return CUDA_ERROR_NOT_FOUND;                                                       \
	}
	FUNCTIONS(LOOK_UP)
#undef LOOK_UP
	return cuda.cuInit(0);
}

static struct CUctx_st *context;

static int start(int device)
{
	int result = CUDA_SUCCESS;

	if (!context) {
		result = load();
		if (result == CUDA_SUCCESS && client_options.own_context)
			result = cuda.cuCtxCreate(&context, 0, device);
		else if (result == CUDA_SUCCESS)
			result = cuda.cuDevicePrimaryCtxRetain(&context, device);
	}
	return result == CUDA_SUCCESS ? cuda.cuCtxSetCurrent(context) : result;
}

static int alloc(uintptr_t *address, size_t bytes)
{
	unsigned long long found = *address;
	int result = cuda.cuMemAlloc(&found, bytes);

	*address = found;
	return result;
}

static int release(uintptr_t address)
{
	return cuda.cuMemFree(address);
}

static int up(uintptr_t to, const void *from, size_t bytes)
{
	return cuda.cuMemcpyHtoD(to, from, bytes);
}

static int down(void *to, uintptr_t from, size_t bytes)
{
	return cuda.cuMemcpyDtoH(to, from, bytes);
}

static int fill(uintptr_t to, unsigned char value, size_t bytes)
{
	return cuda.cuMemsetD8(to, value, bytes);
}

static int wait_for_all(void)
{
	return cuda.cuCtxSynchronize();
}

static int memory(size_t *free_bytes, size_t *total_bytes)
{
	return cuda.cuMemGetInfo(free_bytes, total_bytes);
}

/* The next start retains the primary context again. */
static int reset(void)
{
	int result = cuda.cuDevicePrimaryCtxReset(client_options.device);

	if (result == CUDA_SUCCESS)
		result = cuda.cuDevicePrimaryCtxRetain(&context, client_options.device);
	return result == CUDA_SUCCESS ? cuda.cuCtxSetCurrent(context) : result;
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
		.wait = wait_for_all,
		.memory = memory,
		.reset = reset,
	};

	return workload_main(count, arguments, &api);
}
