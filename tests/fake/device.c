/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - the fake devices: their number, their sizes, and the host memory that backs them.
 *
 * A device has a range of addresses four times its size, so that no pool runs out of addresses
 * before it runs out of memory. The bytes are an unnamed sparse file, mapped twice. The mapping at
 * the program's addresses allows no access, as with a real device, so host code that accesses
 * device memory faults at once; the fake uses the second mapping. Only pages that were written use
 * memory. After the bytes, the file has one number per slab, which identifies the allocation that
 * an IPC handle names (ipc.c).
 */
#define _GNU_SOURCE
#include "fake.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fake_device fake_devices[FAKE_DEVICES];

bool fake_device_valid(int device)
{
	return device >= 0 && device < fake_knobs.devices;
}

static uintptr_t round_up(uintptr_t value, size_t unit)
{
	return (value + unit - 1) & ~(unit - 1);
}

static int start(struct fake_device *device, size_t bytes)
{
	size_t range = round_up(bytes, FAKE_SLAB) * 4;
	int access = fake_knobs.host_access ? PROT_READ | PROT_WRITE : PROT_NONE;
	char *reserved, *reach;

	device->file = memfd_create("fake-cuda", MFD_CLOEXEC);
	if (device->file < 0 ||
	    ftruncate(device->file, range + range / FAKE_SLAB * sizeof(uint64_t)) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* One extra slab, so that the range can start at a slab boundary. */
	reserved = mmap(NULL, range + FAKE_SLAB, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	reach = mmap(NULL, range, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, device->file,
		     0);
	if (reserved == MAP_FAILED || reach == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	device->base = round_up((uintptr_t)reserved, FAKE_SLAB);
	if (mmap((void *)device->base, range, access, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
		 device->file, 0) == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	device->range = range;
	device->shift = (intptr_t)reach - (intptr_t)device->base;
	return CUDA_SUCCESS;
}

int cuInit(unsigned int flags)
{
	static bool done;
	int result = fake_enter_early("cuInit");

	if (result == CUDA_SUCCESS && flags != 0)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && fake_knobs.devices == 0)
		result = CUDA_ERROR_NO_DEVICE;
	if (result == CUDA_SUCCESS && !done) {
		for (int i = 0; i < fake_knobs.devices && result == CUDA_SUCCESS; i++)
			result = start(&fake_devices[i], fake_knobs.memory[i]);
		if (result == CUDA_SUCCESS)
			result = fake_context_prepare();
		if (result == CUDA_SUCCESS)
			result = fake_checkpoint_start();
		done = result == CUDA_SUCCESS;
	}
	if (result == CUDA_SUCCESS)
		fake_started();
	return fake_leave("cuInit", result, "flags=%u", flags);
}

int cuDriverGetVersion(int *version)
{
	int result = fake_enter_early("cuDriverGetVersion");

	if (result == CUDA_SUCCESS && !version)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*version = fake_knobs.version;
	return fake_leave("cuDriverGetVersion", result, "version=%d", fake_knobs.version);
}

int cuDeviceGet(int *device, int ordinal)
{
	int result = fake_enter("cuDeviceGet");

	if (result == CUDA_SUCCESS && !fake_device_valid(ordinal))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS)
		*device = ordinal;
	return fake_leave("cuDeviceGet", result, "ordinal=%d", ordinal);
}

int cuDeviceGetCount(int *count)
{
	int result = fake_enter("cuDeviceGetCount");

	if (result == CUDA_SUCCESS)
		*count = fake_knobs.devices;
	return fake_leave("cuDeviceGetCount", result, "count=%d", fake_knobs.devices);
}

int cuDeviceGetName(char *name, int length, int device)
{
	int result = fake_enter("cuDeviceGetName");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS && length > 0)
		snprintf(name, length, "Fake device %d", device);
	return fake_leave("cuDeviceGetName", result, "device=%d", device);
}

int cuDeviceGetPCIBusId(char *id, int length, int device)
{
	int result = fake_enter("cuDeviceGetPCIBusId");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS && length > 0)
		snprintf(id, length, "0000:%02x:00.0", device);
	return fake_leave("cuDeviceGetPCIBusId", result, "device=%d", device);
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	int result = fake_enter("cuDeviceTotalMem");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS)
		*bytes = fake_knobs.memory[device];
	return fake_leave("cuDeviceTotalMem", result, "device=%d", device);
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	static const struct {
		int attribute, value;
	} known[] = {
		{ DEVICE_MULTIPROCESSORS, 4 },
		{ DEVICE_INTEGRATED, 0 },
		{ DEVICE_UNIFIED_ADDRESSING, 1 },
		{ DEVICE_MAJOR, 9 },
		{ DEVICE_MINOR, 0 },
		{ DEVICE_MANAGED, 1 },
		{ DEVICE_VMM, 1 },
		{ DEVICE_EXPORTS_DESCRIPTORS, 1 },
		{ DEVICE_POOLS, 1 },
		{ DEVICE_IPC, 1 },
	};
	int result = fake_enter("cuDeviceGetAttribute");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS) {
		*value = 0;
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (known[i].attribute == attribute)
				*value = known[i].value;
		if (attribute == DEVICE_VMM && device >= fake_knobs.mappers)
			*value = 0;
		for (int peer = 0; attribute == DEVICE_MULTICAST && peer < fake_knobs.devices;
		     peer++)
			*value |= peer != device &&
				  fake_knobs.links[device][peer] == FAKE_LINK_NVLINK;
	}
	return fake_leave("cuDeviceGetAttribute", result, "attribute=%d device=%d", attribute,
			  device);
}

int cuDeviceGetUuid_v2(void *uuid, int device)
{
	int result = fake_enter("cuDeviceGetUuid");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS) {
		memset(uuid, 0xfa, 16);
		((unsigned char *)uuid)[15] = fake_knobs.first + device;
	}
	return fake_leave("cuDeviceGetUuid", result, "device=%d", device);
}
