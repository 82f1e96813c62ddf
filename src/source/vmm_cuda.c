/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm_cuda.c - the vmm source on the CUDA driver: cuMemAddressReserve, cuMemCreate, cuMemMap and
 * cuMemSetAccess, and their opposites. device.h describes how the driver is called.
 *
 * A map is two calls, since memory is usable only after its access is set; if that fails, the map
 * is undone. Setting access and unmapping cost the same for several handles in one call as one by
 * one (an H100: 20 and 14 us each, for 2 MiB as for 32), so there is one call per handle. Unlike
 * cuMemFree, the driver does not wait for work before it unmaps: the pool waits if it must
 * (quiesce).
 *
 * Other processes can get such memory only as a file descriptor (exportable), not by
 * cudaIpcGetMemHandle. SYNC_MEMOPS cannot be changed on it. vmm_access.h describes which devices use
 * it.
 */
#include <stdlib.h>

#include "base/bits.h"
#include "base/log.h"
#include "source/device.h"
#include "source/vmm.h"
#include "source/vmm_access.h"

#define ATTRIBUTE_VMM 102u
#define ATTRIBUTE_POSIX_FD 103u
#define ATTRIBUTE_GPUDIRECT 110u
#define GRANULARITY_MINIMUM 0u
#define ALLOCATION_PINNED 1u
#define HANDLE_POSIX_FD 1u
#define LOCATION_DEVICE 1u

struct location {
	unsigned int kind;
	int id;
};

/* Layout of the driver's CUmemAllocationProp. */
struct allocation_properties {
	unsigned int kind;
	unsigned int handles;
	struct location location;
	void *win32;
	unsigned char compression;
	unsigned char gpudirect;
	unsigned short usage;
	unsigned char reserved[4];
};

_Static_assert(sizeof(struct allocation_properties) == 32, "as in cuda.h");

struct cuda_vmm {
	struct mam_vmm vmm;
	/* lock: none, all set at creation */
	struct mam_device device;
	struct allocation_properties properties;
	struct mam_vmm_access access; /* synchronizes itself */
	struct mam_device_kept kept;  /* atomic */
};

static const struct CUmemAllocationProp_st *properties_of(const struct cuda_vmm *cuda)
{
	return (const struct CUmemAllocationProp_st *)&cuda->properties;
}

/* A driver call to make between an enter and a leave, with its arguments. */
struct call {
	const char *function;
	unsigned int (*make)(struct cuda_vmm *cuda, struct call *call);
	uint64_t base;
	size_t bytes;
	unsigned long long made; /* address or handle: in or out */
};

static enum mam_status run(struct mam_vmm *vmm, struct call *call, bool gives_back)
{
	struct cuda_vmm *cuda = (struct cuda_vmm *)vmm;
	const struct mam_driver *driver;
	struct mam_device_answer answer;
	struct mam_device_visit visit;

	if (mam_driver_get(&driver) != MAM_OK)
		return MAM_ERROR_NO_DEVICE;
	answer = mam_device_enter(&cuda->device, &visit);
	if (answer.result == MAM_DRIVER_SUCCESS) {
		unsigned int result = call->make(cuda, call);

		answer = mam_device_answer_of(call->function, result);
		mam_device_leave(&cuda->device, &visit);
	} else if (gives_back && answer.result == MAM_DRIVER_CONTEXT_IS_DESTROYED) {
		/* Mapped memory belongs to no context, and outlives this one. */
		answer = mam_device_answer_of(call->function, call->make(cuda, call));
	}
	return gives_back ? mam_device_status_of_end(&cuda->device, answer)
			  : mam_device_status(&cuda->device, answer);
}

static unsigned int make_reserve(struct cuda_vmm *cuda, struct call *call)
{
	return cuda->device.driver->mem_address_reserve(
		&call->made, call->bytes, cuda->vmm.source.properties.granularity, 0, 0);
}

static enum mam_status cuda_reserve(struct mam_vmm *vmm, size_t bytes, uint64_t *base)
{
	struct call call = { "cuMemAddressReserve", make_reserve, 0, bytes, 0 };
	enum mam_status status = run(vmm, &call, false);

	if (status == MAM_OK)
		*base = call.made;
	return status;
}

static unsigned int make_unreserve(struct cuda_vmm *cuda, struct call *call)
{
	return cuda->device.driver->mem_address_free(call->base, call->bytes);
}

static enum mam_status cuda_unreserve(struct mam_vmm *vmm, uint64_t base, size_t bytes)
{
	struct call call = { "cuMemAddressFree", make_unreserve, base, bytes, 0 };

	return run(vmm, &call, true);
}

static unsigned int make_create(struct cuda_vmm *cuda, struct call *call)
{
	return cuda->device.driver->mem_create(&call->made, call->bytes, properties_of(cuda), 0);
}

static enum mam_status cuda_create(struct mam_vmm *vmm, size_t bytes, uint64_t *handle)
{
	struct call call = { "cuMemCreate", make_create, 0, bytes, 0 };
	enum mam_status status = run(vmm, &call, false);

	if (status == MAM_OK)
		*handle = call.made;
	return status;
}

static unsigned int make_release(struct cuda_vmm *cuda, struct call *call)
{
	return cuda->device.driver->mem_release(call->made);
}

static enum mam_status cuda_release(struct mam_vmm *vmm, uint64_t handle, size_t bytes)
{
	struct call call = { "cuMemRelease", make_release, 0, bytes, handle };

	return run(vmm, &call, true);
}

static unsigned int make_map(struct cuda_vmm *cuda, struct call *call)
{
	const struct mam_driver *driver = cuda->device.driver;
	unsigned int result = driver->mem_map(call->base, call->bytes, 0, call->made, 0);

	if (result != MAM_DRIVER_SUCCESS)
		return result;
	call->function = "cuMemSetAccess";
	result = mam_vmm_access_set(&cuda->access, call->base, call->bytes);
	if (result != MAM_DRIVER_SUCCESS)
		driver->mem_unmap(call->base, call->bytes);
	return result;
}

static enum mam_status cuda_map(struct mam_vmm *vmm, uint64_t base, size_t bytes, uint64_t handle)
{
	struct call call = { "cuMemMap", make_map, base, bytes, handle };

	return run(vmm, &call, false);
}

static unsigned int make_unmap(struct cuda_vmm *cuda, struct call *call)
{
	return cuda->device.driver->mem_unmap(call->base, call->bytes);
}

static enum mam_status cuda_unmap(struct mam_vmm *vmm, uint64_t base, size_t bytes)
{
	struct call call = { "cuMemUnmap", make_unmap, base, bytes, 0 };

	return run(vmm, &call, true);
}

static size_t cuda_room(struct mam_vmm *vmm)
{
	size_t bytes;

	return mam_device_free_bytes(&((struct cuda_vmm *)vmm)->device, &bytes) ? bytes : SIZE_MAX;
}

static void cuda_destroy(struct mam_vmm *vmm)
{
	struct cuda_vmm *cuda = (struct cuda_vmm *)vmm;

	mam_device_give_kept(&cuda->device, &cuda->kept);
	mam_device_unbind(&cuda->device);
	free(cuda);
}

static const struct mam_vmm_backend backend = {
	.reserve = cuda_reserve,
	.unreserve = cuda_unreserve,
	.create = cuda_create,
	.release = cuda_release,
	.map = cuda_map,
	.unmap = cuda_unmap,
	.room = cuda_room,
	.destroy = cuda_destroy,
};

static enum mam_status cuda_quiesce(struct mam_source *source)
{
	struct cuda_vmm *cuda = (struct cuda_vmm *)source;

	return mam_device_quiesce(&cuda->device, &cuda->kept);
}

const struct mam_device *mam_vmm_device(struct mam_source *source)
{
	return source->ops->quiesce == cuda_quiesce ? &((struct cuda_vmm *)source)->device : NULL;
}

/* A driver of CUDA 10.2 or later has all of them. */
static bool has_functions(const struct mam_driver *driver)
{
	return driver->device_get_attribute && driver->mem_address_reserve &&
	       driver->mem_address_free && driver->mem_create && driver->mem_release &&
	       driver->mem_map && driver->mem_unmap && driver->mem_set_access &&
	       driver->mem_get_allocation_granularity;
}

static bool device_can(const struct mam_driver *driver, int ordinal, unsigned int attribute)
{
	int value = 0;

	return driver->device_get_attribute(&value, attribute, ordinal) == MAM_DRIVER_SUCCESS &&
	       value != 0;
}

static bool can_map(const struct mam_driver *driver, int ordinal)
{
	return has_functions(driver) && device_can(driver, ordinal, ATTRIBUTE_VMM);
}

bool mam_vmm_is_possible(int device)
{
	const struct mam_driver *driver;

	return mam_driver_get(&driver) == MAM_OK && can_map(driver, device);
}

static enum mam_status unsupported(const struct mam_device *device, const char *what)
{
	mam_log(MAM_LOG_WARN, "device %d cannot %s", device->ordinal, what);
	return MAM_ERROR_UNSUPPORTED;
}

/* Set the properties of new pieces, and choose the devices that may use them. */
static enum mam_status describe(struct cuda_vmm *cuda, const struct mam_vmm_attr *attr)
{
	const struct mam_device *device = &cuda->device;
	const struct location here = { LOCATION_DEVICE, device->ordinal };

	if (!can_map(device->driver, device->ordinal))
		return unsupported(device, "map memory in pieces; use the source cudamalloc");
	if (attr->gpudirect && !device_can(device->driver, device->ordinal, ATTRIBUTE_GPUDIRECT))
		return unsupported(device, "map memory for GPUDirect RDMA");
	if (attr->exportable && !device_can(device->driver, device->ordinal, ATTRIBUTE_POSIX_FD))
		return unsupported(device, "export mapped memory as a file descriptor");
	cuda->properties = (struct allocation_properties){
		.kind = ALLOCATION_PINNED,
		.handles = attr->exportable ? HANDLE_POSIX_FD : 0,
		.location = here,
		.gpudirect = attr->gpudirect,
	};
	return mam_vmm_access_init(&cuda->access, device, attr->peers);
}

enum mam_status mam_vmm_cuda_create(const struct mam_vmm_attr *attr, struct mam_source **source)
{
	struct cuda_vmm *cuda = calloc(1, sizeof(*cuda));
	size_t granularity = 0, total = 0;
	enum mam_status status;

	if (cuda == NULL)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = mam_device_bind(&cuda->device, attr->device);
	if (status == MAM_OK)
		status = describe(cuda, attr);
	if (status == MAM_OK)
		status = mam_driver_status(
			cuda->device.driver, "cuDeviceTotalMem",
			cuda->device.driver->device_total_mem(&total, cuda->device.ordinal));
	if (status == MAM_OK)
		status = mam_driver_status(
			cuda->device.driver, "cuMemGetAllocationGranularity",
			cuda->device.driver->mem_get_allocation_granularity(
				&granularity, properties_of(cuda), GRANULARITY_MINIMUM));
	if (status == MAM_OK && !mam_is_power_of_two(granularity))
		status = MAM_ERROR_DRIVER;
	if (status != MAM_OK) {
		mam_device_unbind(&cuda->device);
		free(cuda);
		return status;
	}
	mam_vmm_init(&cuda->vmm, &backend);
	cuda->vmm.ops.quiesce = cuda_quiesce;
	cuda->vmm.source.properties = (struct mam_source_properties){
		.name = "vmm",
		.granularity = granularity,
		.alignment = granularity,
		.total_bytes = total,
		.device = cuda->device.ordinal,
		.survives_fork = false,
		.range_bytes = attr->range_bytes,
	};
	*source = &cuda->vmm.source;
	return MAM_OK;
}
