/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - copies and fills, submitted to a stream.
 *
 * Both ends of a copy are looked up in the table of allocations. An end in known memory must be
 * inside one live block or inside adjacent mappings, otherwise the result is
 * CUDA_ERROR_INVALID_VALUE. Adjacent mappings may be anywhere in memory, so a copy or fill has one
 * part for each. As with the real driver,
 * pageable host memory makes an asynchronous copy partly synchronous: host-to-device bytes are read
 * before the call returns, and a device-to-host copy waits.
 *
 * Mapped memory (virtual.c) that the device of the copy's context has no access to is
 * CUDA_ERROR_INVALID_VALUE too, except in a peer copy: that succeeds and writes wrong bytes, as
 * measured on two H200s. It is correct if both devices have access to both ends.
 */
#include "fake.h"

#define WRONG_BYTE 0xee /* of a peer copy without access */

/* Whether a device reaches all bytes, in one block or in adjacent mappings. */
static bool is_reached(uintptr_t address, size_t bytes, int user)
{
	const struct fake_block *block = fake_memory_find(address);
	enum fake_kind kind;

	while (block && block->origin == FAKE_MAPPED &&
	       block->base + block->bytes - address < bytes) {
		size_t part = block->base + block->bytes - address;

		if (!fake_memory_reach(address, part, user, &kind))
			return false;
		address += part;
		bytes -= part;
		block = fake_memory_find(address);
	}
	return fake_memory_reach(address, bytes, user, &kind) != NULL;
}

/* `user`: the device of the copy. */
static int find_end(uintptr_t address, size_t bytes, bool device, int user, struct fake_end *end)
{
	end->address = address;
	end->reach = fake_memory_place(address);
	end->pageable = false;
	if (is_reached(address, bytes, user))
		return CUDA_SUCCESS;
	if (device || fake_memory_find(address) || fake_virtual_reserved(address))
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < fake_knobs.devices; i++)
		if (address - fake_devices[i].base < fake_devices[i].range)
			return CUDA_ERROR_INVALID_VALUE;
	end->reach = (void *)address;
	end->pageable = true;
	return CUDA_SUCCESS;
}

/* The rest of an end, `bytes` later. */
static void skip(struct fake_end *end, size_t bytes)
{
	end->address += bytes;
	end->reach = end->pageable ? (void *)end->address : fake_memory_place(end->address);
}

/* The first bytes of an end, at most as many: those in one block. */
static size_t part_of(const struct fake_end *end, size_t bytes)
{
	return end->pageable ? bytes : fake_memory_extent(end->address, bytes);
}

static int submit_copy(uint64_t due_ns, struct fake_end to, struct fake_end from, size_t bytes,
		       bool keep)
{
	int result = CUDA_SUCCESS;

	while (bytes != 0 && result == CUDA_SUCCESS) {
		size_t part = part_of(&from, part_of(&to, bytes));

		result = fake_timeline_copy(due_ns, &to, &from, part, keep);
		bytes -= part;
		skip(&to, part);
		skip(&from, part);
	}
	return result;
}

static int submit_fill(uint64_t due_ns, struct fake_end to, unsigned char value, size_t bytes)
{
	int result = CUDA_SUCCESS;

	while (bytes != 0 && result == CUDA_SUCCESS) {
		size_t part = part_of(&to, bytes);

		result = fake_timeline_fill(due_ns, &to, value, part);
		bytes -= part;
		skip(&to, part);
	}
	return result;
}

/* `wait`: the call returns only after the copy is done. */
static int copy(uintptr_t to, bool to_device, uintptr_t from, bool from_device, size_t bytes,
		struct CUstream_st *stream, bool wait)
{
	struct CUctx_st *context;
	struct fake_end target, source;
	uint64_t due_ns;
	int result = fake_stream_context(stream, &context);

	if (result == CUDA_SUCCESS && wait)
		result = fake_capture_refuse();
	if (result != CUDA_SUCCESS || bytes == 0)
		return result;
	result = find_end(to, bytes, to_device, context->device, &target);
	if (result == CUDA_SUCCESS)
		result = find_end(from, bytes, from_device, context->device, &source);
	if (result == CUDA_SUCCESS)
		result = fake_stream_submit(context, stream,
					    fake_peer_delay(context->device, to) +
						    fake_peer_delay(context->device, from),
					    &due_ns);
	if (result != CUDA_SUCCESS || due_ns == FAKE_CAPTURED)
		return result;
	wait = wait || target.pageable;
	result = submit_copy(due_ns, target, source, bytes, source.pageable && !wait);
	if (result == CUDA_SUCCESS && wait)
		fake_timeline_wait(due_ns);
	return result;
}

static int fill(uintptr_t to, unsigned char value, size_t bytes, struct CUstream_st *stream)
{
	struct CUctx_st *context;
	struct fake_end target;
	uint64_t due_ns;
	int result = fake_stream_context(stream, &context);

	if (result != CUDA_SUCCESS || bytes == 0)
		return result;
	result = find_end(to, bytes, true, context->device, &target);
	if (result == CUDA_SUCCESS)
		result = fake_stream_submit(context, stream, fake_peer_delay(context->device, to),
					    &due_ns);
	if (result != CUDA_SUCCESS || due_ns == FAKE_CAPTURED)
		return result;
	return submit_fill(due_ns, target, value, bytes);
}

static int do_copy(const char *name, uintptr_t to, bool to_device, uintptr_t from, bool from_device,
		   size_t bytes, struct CUstream_st *stream, bool wait)
{
	int result = fake_enter(name);

	if (result == CUDA_SUCCESS)
		result = copy(to, to_device, from, from_device, bytes, stream, wait);
	return fake_leave(name, result, "to=%#zx from=%#zx bytes=%zu stream=%p", (size_t)to,
			  (size_t)from, bytes, (void *)stream);
}

int cuMemcpy(unsigned long long to, unsigned long long from, size_t bytes)
{
	return do_copy("cuMemcpy", to, false, from, false, bytes, NULL, true);
}

int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t bytes,
		  struct CUstream_st *stream)
{
	return do_copy("cuMemcpyAsync", to, false, from, false, bytes, stream, false);
}

/* Each end is looked up for its own device. */
static int copy_to_peer(uintptr_t to, struct CUctx_st *to_context, uintptr_t from,
			struct CUctx_st *from_context, size_t bytes, struct CUstream_st *stream)
{
	struct CUctx_st *context;
	struct fake_end target, source;
	uint64_t due_ns;
	int result = fake_stream_context(stream, &context);

	if (result == CUDA_SUCCESS)
		result = fake_context_check(to_context);
	if (result == CUDA_SUCCESS)
		result = fake_context_check(from_context);
	if (result != CUDA_SUCCESS || bytes == 0)
		return result;
	result = find_end(to, bytes, true, to_context->device, &target);
	if (result == CUDA_SUCCESS)
		result = find_end(from, bytes, true, from_context->device, &source);
	if (result == CUDA_SUCCESS)
		result = fake_stream_submit(
			context, stream,
			fake_knobs.link_ns[from_context->device][to_context->device], &due_ns);
	if (result != CUDA_SUCCESS || due_ns == FAKE_CAPTURED)
		return result;
	if (fake_memory_denied(to, bytes, from_context->device) ||
	    fake_memory_denied(from, bytes, to_context->device))
		return submit_fill(due_ns, target, WRONG_BYTE, bytes);
	return submit_copy(due_ns, target, source, bytes, false);
}

static int do_copy_to_peer(const char *name, uintptr_t to, struct CUctx_st *to_context,
			   uintptr_t from, struct CUctx_st *from_context, size_t bytes,
			   struct CUstream_st *stream)
{
	int result = fake_enter(name);

	if (result == CUDA_SUCCESS)
		result = copy_to_peer(to, to_context, from, from_context, bytes, stream);
	return fake_leave(name, result, "to=%#zx from=%#zx bytes=%zu stream=%p", (size_t)to,
			  (size_t)from, bytes, (void *)stream);
}

int cuMemcpyPeer(unsigned long long to, struct CUctx_st *to_context, unsigned long long from,
		 struct CUctx_st *from_context, size_t bytes)
{
	return do_copy_to_peer("cuMemcpyPeer", to, to_context, from, from_context, bytes, NULL);
}

int cuMemcpyPeerAsync(unsigned long long to, struct CUctx_st *to_context, unsigned long long from,
		      struct CUctx_st *from_context, size_t bytes, struct CUstream_st *stream)
{
	return do_copy_to_peer("cuMemcpyPeerAsync", to, to_context, from, from_context, bytes,
			       stream);
}

int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes)
{
	return do_copy("cuMemcpyHtoD", to, true, (uintptr_t)from, false, bytes, NULL, true);
}

int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
	return do_copy("cuMemcpyDtoH", (uintptr_t)to, false, from, true, bytes, NULL, true);
}

/* Between device addresses even the synchronous call only submits. */
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t bytes)
{
	return do_copy("cuMemcpyDtoD", to, true, from, true, bytes, NULL, false);
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
			 struct CUstream_st *stream)
{
	return do_copy("cuMemcpyHtoDAsync", to, true, (uintptr_t)from, false, bytes, stream, false);
}

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes,
			 struct CUstream_st *stream)
{
	return do_copy("cuMemcpyDtoHAsync", (uintptr_t)to, false, from, true, bytes, stream, false);
}

int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
			 struct CUstream_st *stream)
{
	return do_copy("cuMemcpyDtoDAsync", to, true, from, true, bytes, stream, false);
}

/* A fill of device memory only submits, even with the synchronous call. */
int cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t bytes)
{
	int result = fake_enter("cuMemsetD8");

	if (result == CUDA_SUCCESS)
		result = fill(to, value, bytes, NULL);
	return fake_leave("cuMemsetD8", result, "to=%#llx value=%u bytes=%zu", to, value, bytes);
}

int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes,
		    struct CUstream_st *stream)
{
	int result = fake_enter("cuMemsetD8Async");

	if (result == CUDA_SUCCESS)
		result = fill(to, value, bytes, stream);
	return fake_leave("cuMemsetD8Async", result, "to=%#llx value=%u bytes=%zu stream=%p", to,
			  value, bytes, (void *)stream);
}
