/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_more.c - more functions of the fake runtime: volumes, arrays, registered memory,
 * attributes, other processes and other devices.
 *
 * cudaMalloc3D is pitched memory of height times depth rows. cudaPointerGetAttributes of an address
 * unknown to the driver succeeds and reports that, with -2 as the device.
 */
#include "runtime.h"

int cudaMalloc3D(struct rt_pitched *pitched, struct rt_extent extent)
{
	unsigned long long found = 0;
	size_t pitch = 0, rows = extent.height * extent.depth;
	int result = pitched ? runtime_ready() : cudaErrorInvalidValue;

	if (result == cudaSuccess && extent.depth && rows / extent.depth != extent.height)
		result = cudaErrorMemoryAllocation;
	if (result == cudaSuccess && extent.width && rows)
		result = runtime_driver.cuMemAllocPitch(&found, &pitch, extent.width, rows, 4);
	if (result == cudaSuccess)
		*pitched = (struct rt_pitched){ (void *)(uintptr_t)found, pitch, extent.width,
						extent.height };
	return runtime_remember(result);
}

/* The driver's number of a format with channels of this many bits; 0: none. */
static int format_of(const struct rt_channel *channel)
{
	static const struct {
		int bits, kind, format;
	} formats[] = {
		{ 8, 1, 0x01 },  { 16, 1, 0x02 }, { 32, 1, 0x03 }, { 8, 0, 0x08 },
		{ 16, 0, 0x09 }, { 32, 0, 0x0a }, { 16, 2, 0x10 }, { 32, 2, 0x20 },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].bits == channel->x && formats[i].kind == channel->kind)
			return formats[i].format;
	return 0;
}

int cudaMallocArray(struct CUarray_st **array, const struct rt_channel *channel, size_t width,
		    size_t height, unsigned int flags)
{
	struct cu_array3d_descriptor wanted = { .width = width, .height = height, .flags = flags };
	int result = array && channel ? runtime_ready() : cudaErrorInvalidValue;

	if (result == cudaSuccess) {
		wanted.format = format_of(channel);
		wanted.channels = 1 + (channel->y != 0) + (channel->z != 0) + (channel->w != 0);
		result = runtime_driver.cuArray3DCreate(array, &wanted);
	}
	return runtime_remember(result);
}

int cudaFreeArray(struct CUarray_st *array)
{
	int result = runtime_ready();

	if (result == cudaSuccess && array)
		result = runtime_driver.cuArrayDestroy(array);
	return runtime_remember(result);
}

int cudaHostRegister(void *address, size_t bytes, unsigned int flags)
{
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = runtime_driver.cuMemHostRegister(address, bytes, flags);
	return runtime_remember(result);
}

int cudaHostUnregister(void *address)
{
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = runtime_driver.cuMemHostUnregister(address);
	return runtime_remember(result);
}

int cudaPointerGetAttributes(struct rt_attributes *attributes, const void *address)
{
	int wanted[] = { POINTER_MEMORY_TYPE, POINTER_DEVICE_ORDINAL, POINTER_IS_MANAGED,
			 POINTER_DEVICE_POINTER, POINTER_HOST_POINTER };
	unsigned int type = 0, managed = 0;
	unsigned long long on_device = 0, on_host = 0;
	int device = -2, result = attributes ? runtime_ready() : cudaErrorInvalidValue;
	void *values[] = { &type, &device, &managed, &on_device, &on_host };

	if (result == cudaSuccess)
		result = runtime_driver.cuPointerGetAttributes(5, wanted, values,
							       (uintptr_t)address);
	if (result == cudaSuccess) {
		*attributes = (struct rt_attributes){
			.type = managed ? cudaMemoryTypeManaged : (int)type,
			.device = device,
			.device_address = (void *)(uintptr_t)on_device,
			.host_address = type ? (void *)(uintptr_t)on_host : (void *)address,
		};
	}
	return runtime_remember(result);
}

int cudaIpcGetMemHandle(struct rt_ipc_handle *handle, void *address)
{
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = runtime_driver.cuIpcGetMemHandle((struct cu_ipc_handle *)handle,
							  (uintptr_t)address);
	return runtime_remember(result);
}

int cudaIpcOpenMemHandle(void **address, struct rt_ipc_handle handle, unsigned int flags)
{
	struct cu_ipc_handle same;
	unsigned long long found = 0;
	int result = address ? runtime_ready() : cudaErrorInvalidValue;

	__builtin_memcpy(&same, &handle, sizeof(same));
	if (result == cudaSuccess)
		result = runtime_driver.cuIpcOpenMemHandle(&found, same, flags);
	if (result == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return runtime_remember(result);
}

int cudaIpcCloseMemHandle(void *address)
{
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = runtime_driver.cuIpcCloseMemHandle((uintptr_t)address);
	return runtime_remember(result);
}

int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	int result = runtime_load();

	if (result == cudaSuccess)
		result = runtime_driver.cuDeviceCanAccessPeer(can, device, peer);
	return runtime_remember(result);
}

/* The runtime's memory on the peer device belongs to its primary context. */
int cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	struct CUctx_st *context;
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = runtime_primary(peer, &context);
	if (result == cudaSuccess)
		result = runtime_driver.cuCtxEnablePeerAccess(context, flags);
	return runtime_remember(result);
}

int cudaDeviceDisablePeerAccess(int peer)
{
	struct CUctx_st *context;
	int result = runtime_ready();

	if (result == cudaSuccess)
		result = runtime_primary(peer, &context);
	if (result == cudaSuccess)
		result = runtime_driver.cuCtxDisablePeerAccess(context);
	return runtime_remember(result);
}
