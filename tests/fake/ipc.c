/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.c - device memory of another process.
 *
 * A device's bytes are an unnamed file, so another process of the same user can open it through
 * /proc/PID/fd. A handle, 64 bytes that look opaque, identifies the file, the part of it and the
 * allocation. To open one:
 *  1. check its form; a handle of this same process is refused with CUDA_ERROR_INVALID_CONTEXT;
 *  2. if the handle is already open: return the same address, and count one more open;
 *  3. open the file, and check that it is the right file (by its inode) and that the allocation
 *     still exists (by its id, which the owner stores after the bytes);
 *  4. map the slabs that contain the allocation, twice, as device.c does with its own.
 * Small blocks have no id of their own: a block allocated at the address of a freed one has the
 * same handle, as was measured. Memory of a device other than the current context's makes that
 * device's primary context a peer. Nothing remains at the end: an unnamed file ends with its last
 * user. Physical memory (virtual.c) is exported and imported in the same way.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x656b6166637069ull

struct ticket {
	uint64_t magic;
	uint32_t process;
	int16_t file; /* descriptor in that process */
	int16_t device;
	uint64_t inode;
	uint64_t range;  /* bytes of the device; the ids follow */
	uint64_t offset; /* start of the allocation */
	uint64_t bytes;
	uint64_t id; /* of a block of whole slabs; 0: a small block */
	uint64_t check;
};
_Static_assert(sizeof(struct ticket) == sizeof(struct cu_ipc_handle), "a handle has 64 bytes");

/* An allocation that this process has opened. lock: fake */
struct import {
	struct import *next;
	struct ticket ticket;
	uint64_t block_id;
	unsigned int opened; /* number of opens */
};

static struct import *imports; /* lock: fake */

static uint64_t check_of(const struct ticket *ticket)
{
	uint64_t sum = 0;
	uint64_t words[7];

	memcpy(words, ticket, sizeof(words));
	for (int i = 0; i < 7; i++)
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15ull;
	return sum;
}

static off_t id_place(uint64_t range, uint64_t offset)
{
	return range + offset / FAKE_SLAB * sizeof(uint64_t);
}

/* Writes the id where the opener reads it; 0 when the block is freed. */
static int publish(const struct fake_block *block, uint64_t id)
{
	const struct fake_device *device = &fake_devices[block->device];
	off_t place = id_place(device->range, block->base - device->base);

	return pwrite(device->file, &id, sizeof(id), place) == sizeof(id)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_OUT_OF_MEMORY;
}

void fake_ipc_forget(const struct fake_block *block)
{
	publish(block, 0);
}

/* A ticket with the location of the bytes of a block. */
static struct ticket locate(const struct fake_block *block)
{
	const struct fake_device *device = &fake_devices[block->device];
	struct stat status;

	return (struct ticket){ .magic = MAGIC,
				.process = getpid(),
				.file = (int16_t)device->file,
				.device = (int16_t)block->device,
				.inode = fstat(device->file, &status) == 0 ? status.st_ino : 0,
				.range = device->range,
				.offset = block->base - device->base,
				.bytes = block->bytes };
}

static int write_ticket(const struct fake_block *physical)
{
	int file = memfd_create("fake-cuda-handle", MFD_CLOEXEC);
	struct ticket ticket = locate(physical);

	ticket.check = check_of(&ticket);
	if (file >= 0 && write(file, &ticket, sizeof(ticket)) == sizeof(ticket))
		return file;
	if (file >= 0)
		close(file);
	return -1;
}

int cuIpcGetMemHandle(struct cu_ipc_handle *handle, unsigned long long address)
{
	struct ticket ticket = { 0 };
	struct fake_block *block;
	int result = fake_enter("cuIpcGetMemHandle");

	if (result == CUDA_SUCCESS) {
		block = fake_memory_find(address);
		if (!handle || !block || block->kind != FAKE_DEVICE || block->origin != FAKE_PLAIN)
			result = CUDA_ERROR_INVALID_VALUE;
	}
	if (result == CUDA_SUCCESS) {
		ticket = locate(block);
		if (block->rounded >= FAKE_SLAB) {
			ticket.id = block->id;
			block->exported = true;
			result = publish(block, block->id);
		}
		ticket.check = check_of(&ticket);
	}
	if (result == CUDA_SUCCESS)
		memcpy(handle, &ticket, sizeof(ticket));
	return fake_leave("cuIpcGetMemHandle", result, "address=%#llx id=%llu", address,
			  (unsigned long long)ticket.id);
}

/* The owner's file, if it still matches the handle; -1 otherwise. */
static int open_file(const struct ticket *ticket)
{
	char path[64];
	struct stat status;
	uint64_t id = 0;
	int file;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", ticket->process, ticket->file);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return -1;
	if (fstat(file, &status) == 0 && status.st_ino == ticket->inode &&
	    (uint64_t)status.st_size > ticket->range && ticket->offset < ticket->range &&
	    ticket->bytes <= ticket->range - ticket->offset) {
		if (ticket->id == 0)
			return file;
		if (pread(file, &id, sizeof(id), id_place(ticket->range, ticket->offset)) ==
			    sizeof(id) &&
		    id == ticket->id)
			return file;
	}
	close(file);
	return -1;
}

/* Start of the slabs that contain an imported block, as the program's address. */
static uintptr_t slabs_start(const struct fake_block *block)
{
	return block->base & ~(FAKE_SLAB - 1);
}

static size_t slabs_bytes(const struct fake_block *block)
{
	uintptr_t end = (block->base + block->bytes + FAKE_SLAB - 1) & ~(FAKE_SLAB - 1);

	return end - slabs_start(block);
}

static int map(const struct ticket *ticket, int file, struct fake_block *block)
{
	size_t inside = ticket->offset % FAKE_SLAB, bytes;
	off_t from = ticket->offset - inside;
	int access = fake_knobs.host_access ? PROT_READ | PROT_WRITE : PROT_NONE;
	char *reserved, *reach;
	uintptr_t start;

	block->base = inside;
	block->bytes = block->rounded = ticket->bytes;
	bytes = slabs_bytes(block);
	reserved = mmap(NULL, bytes + FAKE_SLAB, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (reserved == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	start = ((uintptr_t)reserved + FAKE_SLAB - 1) & ~(FAKE_SLAB - 1);
	if (start > (uintptr_t)reserved)
		munmap(reserved, start - (uintptr_t)reserved);
	if (start < (uintptr_t)reserved + FAKE_SLAB)
		munmap((void *)(start + bytes), (uintptr_t)reserved + FAKE_SLAB - start);
	reach = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, from);
	if (reach == MAP_FAILED ||
	    mmap((void *)start, bytes, access, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file,
		 from) == MAP_FAILED) {
		if (reach != MAP_FAILED)
			munmap(reach, bytes);
		munmap((void *)start, bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	block->base = start + inside;
	block->shift = (intptr_t)reach - (intptr_t)start;
	return CUDA_SUCCESS;
}

static int make_import(const struct ticket *ticket, int file, struct CUctx_st *context,
		       uintptr_t *address)
{
	struct import *made = calloc(1, sizeof(*made));
	struct fake_block block = { .kind = FAKE_DEVICE,
				    .origin = FAKE_IMPORTED,
				    .device = ticket->device,
				    .context = fake_context_owner(context) };
	int result = made ? map(ticket, file, &block) : CUDA_ERROR_OUT_OF_MEMORY;

	if (result == CUDA_SUCCESS) {
		result = fake_memory_add(&block);
		if (result == CUDA_SUCCESS) {
			*made = (struct import){ imports, *ticket, block.id, 1 };
			imports = made;
			*address = block.base;
			return CUDA_SUCCESS;
		}
		munmap((void *)slabs_start(&block), slabs_bytes(&block));
		munmap((void *)(slabs_start(&block) + block.shift), slabs_bytes(&block));
	}
	free(made);
	return result;
}

static bool is_own(const struct ticket *ticket)
{
	struct stat status;

	if (ticket->process != (uint32_t)getpid())
		return false;
	for (int i = 0; i < fake_knobs.devices; i++)
		if (fstat(fake_devices[i].file, &status) == 0 && status.st_ino == ticket->inode)
			return true;
	return false;
}

static int open_handle(const struct cu_ipc_handle *handle, unsigned int flags, uintptr_t *address)
{
	struct CUctx_st *context;
	struct ticket ticket;
	int file, result = fake_context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	memcpy(&ticket, handle, sizeof(ticket));
	if (flags != IPC_LAZY_PEER_ACCESS || ticket.magic != MAGIC || ticket.bytes == 0 ||
	    ticket.check != check_of(&ticket))
		return CUDA_ERROR_INVALID_VALUE;
	if (is_own(&ticket))
		return CUDA_ERROR_INVALID_CONTEXT;
	for (struct import *import = imports; import; import = import->next)
		if (memcmp(&import->ticket, &ticket, sizeof(ticket)) == 0) {
			import->opened++;
			*address = fake_memory_of_id(import->block_id)->base;
			return CUDA_SUCCESS;
		}
	if (!fake_device_valid(ticket.device))
		return CUDA_ERROR_INVALID_VALUE;
	if (!fake_peer_linked(context->device, ticket.device))
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	file = open_file(&ticket);
	if (file < 0)
		return CUDA_ERROR_INVALID_VALUE;
	result = make_import(&ticket, file, context, address);
	close(file);
	if (result == CUDA_SUCCESS && ticket.device != context->device)
		fake_peer_enable(context, fake_context_start(ticket.device));
	return result;
}

int cuIpcOpenMemHandle_v2(unsigned long long *address, struct cu_ipc_handle handle,
			  unsigned int flags)
{
	uintptr_t found = 0;
	int result = fake_enter("cuIpcOpenMemHandle");

	if (result == CUDA_SUCCESS && !address)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = open_handle(&handle, flags, &found);
	if (result == CUDA_SUCCESS)
		*address = found;
	return fake_leave("cuIpcOpenMemHandle", result, "flags=%u address=%#zx", flags,
			  (size_t)found);
}

int cuIpcOpenMemHandle(unsigned long long *address, struct cu_ipc_handle handle, unsigned int flags)
{
	return cuIpcOpenMemHandle_v2(address, handle, flags);
}

/*
 * memory.c removes the block from its table: its mappings end. Unfinished work of another context
 * still needs the second one, which then remains until the process ends.
 */
void fake_ipc_unmap(const struct fake_block *block)
{
	struct import **link = &imports, *old;

	while (*link && (*link)->block_id != block->id)
		link = &(*link)->next;
	old = *link;
	if (old)
		*link = old->next;
	free(old);
	munmap((void *)slabs_start(block), slabs_bytes(block));
	if (fake_timeline_touching(block->base, block->bytes) == 0 &&
	    fake_timeline_reaching((void *)(block->base + block->shift), block->bytes, 0) == 0)
		munmap((void *)(slabs_start(block) + block->shift), slabs_bytes(block));
}

/* The last close waits for all work of the block's context, as a free does. */
int cuIpcCloseMemHandle(unsigned long long address)
{
	int result = fake_enter("cuIpcCloseMemHandle");

	for (int pass = 0; pass < 2 && result == CUDA_SUCCESS; pass++) {
		struct fake_block *block = fake_memory_find(address);
		struct import *import = imports;

		if (!block || block->base != address || block->origin != FAKE_IMPORTED) {
			result = CUDA_ERROR_INVALID_VALUE;
			break;
		}
		while (import->block_id != block->id)
			import = import->next;
		if (import->opened > 1) {
			import->opened--;
			break;
		}
		if (pass == 0)
			fake_timeline_wait(block->context->all_ns);
		else
			fake_memory_release(block);
	}
	return fake_leave("cuIpcCloseMemHandle", result, "address=%#llx", address);
}

/*
 * A descriptor of physical memory is an unnamed file with a ticket. Unlike the driver's, it does not
 * keep the memory: that ends with the process that created it.
 */
int cuMemExportToShareableHandle(void *shareable, unsigned long long handle, int type,
				 unsigned long long flags)
{
	int result = fake_enter("cuMemExportToShareableHandle"), file = -1;

	if (result == CUDA_SUCCESS) {
		const struct fake_block *physical = fake_virtual_physical(handle);

		if (!shareable || !physical || type != 1 || flags)
			result = CUDA_ERROR_INVALID_VALUE;
		else if (!physical->exportable || physical->origin == FAKE_IMPORTED)
			result = CUDA_ERROR_NOT_SUPPORTED;
		else
			file = write_ticket(physical);
		if (result == CUDA_SUCCESS && file < 0)
			result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (result == CUDA_SUCCESS)
		*(int *)shareable = file;
	return fake_leave("cuMemExportToShareableHandle", result, "handle=%llu type=%d flags=%llu",
			  handle, type, flags);
}

static int import_physical(int descriptor, uint64_t *handle)
{
	struct fake_block block = { .kind = FAKE_PHYSICAL,
				    .origin = FAKE_IMPORTED,
				    .exportable = true };
	struct ticket ticket;
	int file, result;

	if (pread(descriptor, &ticket, sizeof(ticket), 0) != sizeof(ticket) ||
	    ticket.magic != MAGIC || ticket.check != check_of(&ticket) ||
	    !fake_device_valid(ticket.device))
		return CUDA_ERROR_INVALID_VALUE;
	file = open_file(&ticket);
	if (file < 0)
		return CUDA_ERROR_INVALID_VALUE;
	block.device = ticket.device;
	result = map(&ticket, file, &block);
	close(file);
	if (result == CUDA_SUCCESS)
		result = fake_memory_add(&block);
	if (result == CUDA_SUCCESS)
		*handle = block.id;
	return result;
}

int cuMemImportFromShareableHandle(unsigned long long *handle, void *shareable, int type)
{
	uint64_t id = 0;
	int result = fake_enter("cuMemImportFromShareableHandle");

	if (result == CUDA_SUCCESS && (!handle || type != 1))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = import_physical((int)(intptr_t)shareable, &id);
	if (result == CUDA_SUCCESS)
		*handle = id;
	return fake_leave("cuMemImportFromShareableHandle", result, "handle=%llu type=%d",
			  (unsigned long long)id, type);
}
