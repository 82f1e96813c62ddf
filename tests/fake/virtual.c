/* SPDX-License-Identifier: Apache-2.0 */
/*
 * virtual.c - virtual memory management: separate addresses and physical memory.
 *
 *  cuMemAddressReserve   a range of addresses without backing memory
 *  cuMemCreate           bytes of a device without an address: a block of kind PHYSICAL
 *  cuMemMap              a block over a part of a range, backed by all of those bytes
 *  cuMemRetainAllocationHandle   the handle of the mapped memory, to be released once more
 *  cuMemSetAccess        from now on copies, fills and kernels of a device may use it; the device
 *                        needs no context
 * The fake accesses the bytes where the device stores them, so a mapping only needs a block's
 * shift; the addresses are really mapped only if host code may access device memory. All sizes are
 * multiples of 2 MiB. The bytes live until the handle is released and the last mapping has ended.
 * None of it belongs to a context, and a reset does not affect it.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <sys/mman.h>

#define MAX_RESERVED ((size_t)64 << 40)

struct reservation {
	struct reservation *next;
	uintptr_t base;
	size_t bytes;
};

static struct reservation *reservations; /* lock: fake */

static bool whole_slabs(uint64_t value)
{
	return value % FAKE_SLAB == 0;
}

/* The reservation that contains a range. */
static struct reservation **find(uintptr_t address, size_t bytes)
{
	struct reservation **link = &reservations;

	while (*link && (address - (*link)->base >= (*link)->bytes ||
			 bytes > (*link)->bytes - (address - (*link)->base)))
		link = &(*link)->next;
	return link;
}

bool fake_virtual_reserved(uintptr_t address)
{
	return *find(address, 1) != NULL;
}

int fake_virtual_count(void)
{
	int count = 0;

	for (const struct reservation *at = reservations; at; at = at->next)
		count++;
	return count;
}

static int check(const struct cu_memory_properties *wanted)
{
	if (!wanted || wanted->type != 1 || wanted->location.type != 1)
		return CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_valid(wanted->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	return wanted->location.id < fake_knobs.mappers ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

int cuMemGetAllocationGranularity(size_t *bytes, const struct cu_memory_properties *wanted,
				  int option)
{
	int result = fake_enter("cuMemGetAllocationGranularity");

	if (result == CUDA_SUCCESS && (!bytes || option < 0 || option > 1))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = check(wanted);
	if (result == CUDA_SUCCESS)
		*bytes = FAKE_SLAB;
	return fake_leave("cuMemGetAllocationGranularity", result, "option=%d", option);
}

static int reserve(size_t bytes, size_t alignment, uintptr_t *address)
{
	struct reservation *made;
	uintptr_t start, end;
	char *mapped;

	if (alignment < FAKE_SLAB)
		alignment = FAKE_SLAB;
	if (bytes > MAX_RESERVED || alignment > MAX_RESERVED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	made = calloc(1, sizeof(*made));
	mapped = mmap(NULL, bytes + alignment, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!made || mapped == MAP_FAILED) {
		if (mapped != MAP_FAILED)
			munmap(mapped, bytes + alignment);
		free(made);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	start = ((uintptr_t)mapped + alignment - 1) & ~(alignment - 1);
	end = (uintptr_t)mapped + bytes + alignment;
	if (start > (uintptr_t)mapped)
		munmap(mapped, start - (uintptr_t)mapped);
	if (start + bytes < end)
		munmap((void *)(start + bytes), end - start - bytes);
	*made = (struct reservation){ reservations, start, bytes };
	reservations = made;
	*address = start;
	return CUDA_SUCCESS;
}

int cuMemAddressReserve(unsigned long long *address, size_t bytes, size_t alignment,
			unsigned long long hint, unsigned long long flags)
{
	uintptr_t found = 0;
	int result = fake_enter("cuMemAddressReserve");

	(void)hint;
	if (result == CUDA_SUCCESS && (!address || bytes == 0 || !whole_slabs(bytes) || flags ||
				       (alignment & (alignment - 1)) != 0))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = reserve(bytes, alignment, &found);
	if (result == CUDA_SUCCESS)
		*address = found;
	return fake_leave("cuMemAddressReserve", result, "bytes=%zu address=%#zx", bytes,
			  (size_t)found);
}

int cuMemAddressFree(unsigned long long address, size_t bytes)
{
	int result = fake_enter("cuMemAddressFree");

	if (result == CUDA_SUCCESS) {
		struct reservation **link = find(address, 1), *old = *link;

		if (!old || old->base != address || old->bytes != bytes ||
		    fake_memory_overlaps(address, bytes)) {
			result = CUDA_ERROR_INVALID_VALUE;
		} else {
			*link = old->next;
			munmap((void *)old->base, old->bytes);
			free(old);
		}
	}
	return fake_leave("cuMemAddressFree", result, "address=%#llx bytes=%zu", address, bytes);
}

int cuMemCreate(unsigned long long *handle, size_t bytes, const struct cu_memory_properties *wanted,
		unsigned long long flags)
{
	uintptr_t place = 0;
	uint64_t id = 0;
	int result = fake_enter("cuMemCreate");

	if (result == CUDA_SUCCESS && (!handle || bytes == 0 || !whole_slabs(bytes) || flags))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = check(wanted);
	if (result == CUDA_SUCCESS)
		result = fake_memory_alloc(NULL, wanted->location.id, FAKE_PHYSICAL, bytes, &place);
	if (result == CUDA_SUCCESS) {
		struct fake_block *physical = fake_memory_next(place);

		physical->exportable = (wanted->handle_types & 1) != 0;
		*handle = id = physical->id;
	}
	return fake_leave("cuMemCreate", result, "bytes=%zu handle=%llu device=%d", bytes,
			  (unsigned long long)id, wanted ? wanted->location.id : -1);
}

struct fake_block *fake_virtual_physical(uint64_t handle)
{
	struct fake_block *physical = fake_memory_of_id(handle);

	return physical && physical->kind == FAKE_PHYSICAL && !physical->freed ? physical : NULL;
}

int cuMemGetAllocationPropertiesFromHandle(struct cu_memory_properties *properties,
					   unsigned long long handle)
{
	int result = fake_enter("cuMemGetAllocationPropertiesFromHandle");

	if (result == CUDA_SUCCESS) {
		const struct fake_block *physical = fake_virtual_physical(handle);

		if (properties && physical)
			*properties = (struct cu_memory_properties){
				.type = 1,
				.handle_types = physical->exportable,
				.location = { 1, physical->device },
			};
		else
			result = CUDA_ERROR_INVALID_VALUE;
	}
	return fake_leave("cuMemGetAllocationPropertiesFromHandle", result, "handle=%llu", handle);
}

static void end_unused(struct fake_block *physical)
{
	if (physical->freed && physical->uses == 0)
		fake_memory_release(physical);
}

int cuMemRelease(unsigned long long handle)
{
	int result = fake_enter("cuMemRelease");

	if (result == CUDA_SUCCESS) {
		struct fake_block *physical = fake_virtual_physical(handle);

		if (physical && physical->retained > 0) {
			physical->retained--;
		} else if (physical) {
			physical->freed = true;
			end_unused(physical);
		} else {
			result = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return fake_leave("cuMemRelease", result, "handle=%llu", handle);
}

int cuMemRetainAllocationHandle(unsigned long long *handle, void *address)
{
	struct fake_block *mapped, *physical;
	int result = fake_enter("cuMemRetainAllocationHandle");

	if (result == CUDA_SUCCESS) {
		mapped = fake_memory_find((uintptr_t)address);
		if (handle && mapped && mapped->origin == FAKE_MAPPED) {
			physical = fake_memory_of_id(mapped->physical);
			physical->retained += !physical->freed;
			physical->freed = false;
			*handle = physical->id;
		} else {
			result = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return fake_leave("cuMemRetainAllocationHandle", result, "address=%p", address);
}

static int map(uintptr_t address, size_t bytes, size_t offset, uint64_t handle)
{
	struct fake_block *physical = fake_virtual_physical(handle);
	struct fake_block block = { .base = address,
				    .bytes = bytes,
				    .rounded = bytes,
				    .kind = FAKE_DEVICE,
				    .origin = FAKE_MAPPED,
				    .physical = handle };
	int result;

	if (!physical || !whole_slabs(address) || !*find(address, bytes) ||
	    fake_memory_overlaps(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (offset != 0 || bytes != physical->bytes)
		return CUDA_ERROR_NOT_SUPPORTED;
	block.device = physical->device;
	block.shift = (intptr_t)(physical->base - address) + physical->shift;
	physical->uses++;
	result = fake_memory_add(&block);
	if (result != CUDA_SUCCESS)
		fake_memory_of_id(handle)->uses--;
	return result;
}

int cuMemMap(unsigned long long address, size_t bytes, size_t offset, unsigned long long handle,
	     unsigned long long flags)
{
	int result = fake_enter("cuMemMap");

	if (result == CUDA_SUCCESS && flags)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = map(address, bytes, offset, handle);
	return fake_leave("cuMemMap", result, "address=%#llx bytes=%zu handle=%llu", address, bytes,
			  handle);
}

/* Does the range consist of whole mappings without a gap? */
static bool all_mapped(uintptr_t address, size_t bytes)
{
	uintptr_t at = address;

	while (at - address < bytes) {
		struct fake_block *block = fake_memory_find(at);

		if (!block || block->origin != FAKE_MAPPED || block->base != at ||
		    block->bytes > bytes - (at - address))
			return false;
		at += block->bytes;
	}
	return bytes != 0;
}

/* Makes the bytes accessible to host code, or inaccessible. */
static int show(const struct fake_block *block, bool visible)
{
	const struct fake_device *device = &fake_devices[block->device];
	void *at = (void *)block->base, *mapped;

	if (!fake_knobs.host_access || fake_memory_of_id(block->physical)->origin == FAKE_IMPORTED)
		return CUDA_SUCCESS;
	if (visible)
		mapped = mmap(at, block->bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE | MAP_FIXED, device->file,
			      block->base + block->shift - device->shift - device->base);
	else
		mapped = mmap(at, block->bytes, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	return mapped == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* memory.c removes a mapping from its table. The call does not wait for work in flight. */
void fake_virtual_unmap(const struct fake_block *block)
{
	struct fake_block *physical = fake_memory_of_id(block->physical);

	fake_timeline_fault(block->base, block->bytes);
	show(block, false);
	physical->uses--;
	end_unused(physical);
}

int cuMemUnmap(unsigned long long address, size_t bytes)
{
	int result = fake_enter("cuMemUnmap");

	if (result == CUDA_SUCCESS && !all_mapped(address, bytes))
		result = CUDA_ERROR_INVALID_VALUE;
	for (uintptr_t at = address; result == CUDA_SUCCESS && at - address < bytes;) {
		struct fake_block *block = fake_memory_find(at);

		at += block->bytes;
		fake_memory_release(block);
	}
	return fake_leave("cuMemUnmap", result, "address=%#llx bytes=%zu", address, bytes);
}

static bool has_access(const struct fake_block *block)
{
	for (int device = 0; device < FAKE_DEVICES; device++)
		if (block->access[device] != 0)
			return true;
	return false;
}

static int set_access(uintptr_t address, size_t bytes, const struct cu_access *access)
{
	int result = CUDA_SUCCESS;

	if (access->location.type != 1 ||
	    (access->flags != 0 && access->flags != 1 && access->flags != 3))
		return CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_valid(access->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	for (uintptr_t at = address; result == CUDA_SUCCESS && at - address < bytes;) {
		struct fake_block *block = fake_memory_find(at);

		if (access->flags != 0 && !fake_peer_linked(access->location.id, block->device))
			return CUDA_ERROR_INVALID_DEVICE;
		block->access[access->location.id] = (unsigned char)access->flags;
		result = show(block, has_access(block));
		at += block->bytes;
	}
	return result;
}

int cuMemSetAccess(unsigned long long address, size_t bytes, const struct cu_access *access,
		   size_t count)
{
	int result = fake_enter("cuMemSetAccess");

	if (result == CUDA_SUCCESS && (!access || count == 0 || !all_mapped(address, bytes)))
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = set_access(address, bytes, &access[i]);
	return fake_leave("cuMemSetAccess", result, "address=%#llx bytes=%zu", address, bytes);
}

int cuMemGetAccess(unsigned long long *flags, const struct cu_location *location,
		   unsigned long long address)
{
	struct fake_block *block;
	int result = fake_enter("cuMemGetAccess");

	if (result == CUDA_SUCCESS) {
		block = fake_memory_find(address);
		if (!flags || !location || location->type != 1 || !block ||
		    block->origin != FAKE_MAPPED)
			result = CUDA_ERROR_INVALID_VALUE;
		else if (!fake_device_valid(location->id))
			result = CUDA_ERROR_INVALID_DEVICE;
		else
			*flags = block->access[location->id];
	}
	return fake_leave("cuMemGetAccess", result, "address=%#llx device=%d", address,
			  location ? location->id : -1);
}
