/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - the table of all allocations, and the search for free space.
 *
 * One array of blocks, sorted by address: a look-up is a binary search. A device allocation gets
 * the first gap in the device's range that is large enough, so a freed block is the next one
 * allocated, as with the real driver. Blocks of up to half a slab are multiples of 512 bytes,
 * larger ones of 2 MiB. A freed large block loses its contents and reads zero when it is allocated
 * again; a small one keeps its old bytes. Both were measured on an H100.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct fake_block *blocks; /* lock: fake */
static size_t count, room;        /* lock: fake */
static uint64_t last_id;          /* lock: fake */

/* The first block that ends after the address. */
static size_t position(uintptr_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (blocks[middle].base + blocks[middle].rounded <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The block that contains an address. */
struct fake_block *fake_memory_find(uintptr_t address)
{
	size_t at = position(address);

	if (at == count || address < blocks[at].base ||
	    address >= blocks[at].base + blocks[at].bytes || blocks[at].kind == FAKE_PHYSICAL)
		return NULL;
	return &blocks[at];
}

/* Where the fake accesses the byte at an address; NULL: no memory is there. */
void *fake_memory_place(uintptr_t address)
{
	const struct fake_block *block = fake_memory_find(address);

	if (!block)
		return NULL;
	return (void *)(block->kind == FAKE_DEVICE ? address + block->shift : address);
}

/* How many of the bytes from an address on are in one block; all of them if none is there. */
size_t fake_memory_extent(uintptr_t address, size_t bytes)
{
	const struct fake_block *block = fake_memory_find(address);
	size_t left = block ? block->base + block->bytes - address : bytes;

	return left < bytes ? left : bytes;
}

struct fake_block *fake_memory_next(uintptr_t address)
{
	size_t at = position(address);

	return at < count ? &blocks[at] : NULL;
}

bool fake_memory_overlaps(uintptr_t address, size_t bytes)
{
	size_t at = position(address);

	return at < count && blocks[at].base < address + bytes;
}

static uintptr_t round_up(uintptr_t value, size_t unit)
{
	return (value + unit - 1) & ~(unit - 1);
}

static uintptr_t find_room(const struct fake_device *device, size_t rounded, size_t unit)
{
	uintptr_t from = device->base, limit = device->base + device->range;

	for (size_t at = position(from); at < count && blocks[at].base < limit; at++) {
		if (blocks[at].base >= from && blocks[at].base - from >= rounded)
			break;
		from = round_up(blocks[at].base + blocks[at].rounded, unit);
	}
	return from + rounded <= limit ? from : 0;
}

static int insert(const struct fake_block *block)
{
	size_t at = position(block->base);

	if (count == room) {
		size_t wanted = room ? room * 2 : 256;
		struct fake_block *larger = realloc(blocks, wanted * sizeof(*blocks));

		if (!larger)
			return CUDA_ERROR_OUT_OF_MEMORY;
		blocks = larger;
		room = wanted;
	}
	memmove(&blocks[at + 1], &blocks[at], (count - at) * sizeof(*blocks));
	blocks[at] = *block;
	count++;
	return CUDA_SUCCESS;
}

static int find_device_memory(struct fake_block *block)
{
	struct fake_device *device = &fake_devices[block->device];
	size_t total = fake_knobs.memory[block->device];
	size_t unit = block->bytes > FAKE_SLAB / 2 ? FAKE_SLAB : FAKE_GRANULE;

	if (block->bytes > total)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->rounded = round_up(block->bytes, unit);
	if (block->rounded > total - device->used)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->base = find_room(device, block->rounded, unit);
	if (!block->base)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->shift = device->shift;
	device->used += block->rounded;
	return CUDA_SUCCESS;
}

int fake_memory_charge(int device, size_t bytes)
{
	if (bytes > fake_knobs.memory[device] - fake_devices[device].used)
		return CUDA_ERROR_OUT_OF_MEMORY;
	fake_devices[device].used += bytes;
	return CUDA_SUCCESS;
}

void fake_memory_uncharge(int device, size_t bytes)
{
	fake_devices[device].used -= bytes;
}

static int find_host_memory(struct fake_block *block)
{
	void *mapped;

	if (block->bytes > SIZE_MAX / 4)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->rounded = round_up(block->bytes, 4096);
	mapped = mmap(NULL, block->rounded, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapped == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->base = (uintptr_t)mapped;
	return CUDA_SUCCESS;
}

static void free_bytes(const struct fake_block *block)
{
	struct fake_device *device = &fake_devices[block->device];

	if (block->exported)
		fake_ipc_forget(block);
	if (block->origin == FAKE_REGISTERED)
		return;
	if (block->origin == FAKE_MAPPED) {
		fake_virtual_unmap(block);
		return;
	}
	if (block->origin == FAKE_IMPORTED) {
		fake_ipc_unmap(block);
		return;
	}
	if (block->kind == FAKE_MANAGED || block->kind == FAKE_HOST) {
		munmap((void *)block->base, block->rounded);
		return;
	}
	device->used -= block->rounded;
	if (block->origin == FAKE_ORDERED)
		fake_mempool_released(block);
	if (block->rounded >= FAKE_SLAB)
		fallocate(device->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  block->base - device->base, block->rounded);
}

int fake_memory_add(struct fake_block *block)
{
	block->id = ++last_id;
	block->sync_memops = fake_knobs.sync_memops && block->kind == FAKE_DEVICE;
	return insert(block);
}

int fake_memory_alloc(struct CUctx_st *context, int device, enum fake_kind kind, size_t bytes,
		      uintptr_t *address)
{
	struct fake_block block = { .bytes = bytes, .kind = kind, .device = device };
	int result;

	if (bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	block.context = context ? fake_context_owner(context) : NULL;
	result = kind == FAKE_DEVICE || kind == FAKE_PHYSICAL ? find_device_memory(&block)
							      : find_host_memory(&block);
	if (result != CUDA_SUCCESS)
		return result;
	result = fake_memory_add(&block);
	if (result != CUDA_SUCCESS) {
		free_bytes(&block);
		return result;
	}
	*address = block.base;
	return CUDA_SUCCESS;
}

void fake_memory_release(struct fake_block *block)
{
	struct fake_block old = *block;
	size_t at = block - blocks;

	if (old.kind == FAKE_DEVICE)
		fake_disturb(old.base, old.bytes);
	count--;
	memmove(&blocks[at], &blocks[at + 1], (count - at) * sizeof(*blocks));
	free_bytes(&old);
}

void fake_memory_count(int *device_blocks, int *handles, int *mappings)
{
	for (size_t at = 0; at < count; at++)
		if (blocks[at].kind == FAKE_PHYSICAL)
			++*handles;
		else if (blocks[at].origin == FAKE_MAPPED)
			++*mappings;
		else
			*device_blocks += blocks[at].kind == FAKE_DEVICE;
}

struct fake_block *fake_memory_of_id(uint64_t id)
{
	for (size_t at = 0; at < count; at++)
		if (blocks[at].id == id)
			return &blocks[at];
	return NULL;
}

void fake_memory_release_id(uint64_t id)
{
	struct fake_block *block = fake_memory_of_id(id);

	if (block)
		fake_memory_release(block);
}

void fake_memory_drop_context(struct CUctx_st *context)
{
	for (size_t at = count; at-- > 0;)
		if (blocks[at].context == context)
			fake_memory_release(&blocks[at]);
}

bool fake_memory_denied(uintptr_t address, size_t bytes, int device)
{
	for (size_t at = position(address); at < count && blocks[at].base < address + bytes; at++)
		if (blocks[at].origin == FAKE_MAPPED && blocks[at].access[device] == 0)
			return true;
	return false;
}

/*
 * Where the fake itself accesses the bytes for work of a device. NULL: they are not all in one
 * block, or are mapped without access for the device.
 */
void *fake_memory_reach(uintptr_t address, size_t bytes, int device, enum fake_kind *kind)
{
	struct fake_block *block = fake_memory_find(address);

	if (!block || bytes > block->base + block->bytes - address)
		return NULL;
	*kind = block->kind;
	if (block->kind != FAKE_DEVICE)
		return (void *)address;
	if (fake_memory_denied(address, bytes, device))
		return NULL;
	return (void *)(address + block->shift);
}
