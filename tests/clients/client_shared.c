/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_shared.c - a program on the CUDA runtime, linked to a shared libcudart.
 *
 * The same source linked with -lcudart_static uses the static runtime.
 */
#include "workload.h"

#include "../fake/runtime_api.h"

static int start(int device)
{
	int result = cudaSetDevice(device);

	return result ? result : cudaFree(NULL);
}

static int alloc(uintptr_t *address, size_t bytes)
{
	return cudaMalloc((void **)address, bytes);
}

static int release(uintptr_t address)
{
	return cudaFree((void *)address);
}

static int up(uintptr_t to, const void *from, size_t bytes)
{
	return cudaMemcpy((void *)to, from, bytes, cudaMemcpyHostToDevice);
}

static int down(void *to, uintptr_t from, size_t bytes)
{
	return cudaMemcpy(to, (const void *)from, bytes, cudaMemcpyDeviceToHost);
}

static int fill(uintptr_t to, unsigned char value, size_t bytes)
{
	return cudaMemset((void *)to, value, bytes);
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
		.wait = cudaDeviceSynchronize,
		.memory = cudaMemGetInfo,
		.last_error = cudaGetLastError,
		.reset = cudaDeviceReset,
	};

	return workload_main(count, arguments, &api);
}
