/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - functions that only the fake has: information for tests that no CUDA driver provides.
 *
 * They write no line to the log, take no time on the fake's own clock, and FAKE_CUDA_FAIL_AT does
 * not count them.
 */
#include "fake.h"

#include <string.h>

/* The first time memory was freed while work still used it. lock: fake */
static struct {
	int times;
	uintptr_t address;
	size_t bytes;
} disturbed;

static int crossed; /* uses that began before other work on the same bytes ended. lock: fake */

/* Unfinished work on these bytes that ends after some time. */
static int count_unfinished(uintptr_t address, size_t bytes, uint64_t after_ns)
{
	int unfinished = 0;

	fake_timeline_run();
	while (bytes != 0) {
		size_t part = fake_memory_extent(address, bytes);
		const void *place = fake_memory_place(address);

		unfinished += place ? fake_timeline_reaching(place, part, after_ns)
				    : fake_timeline_touching(address, part);
		address += part;
		bytes -= part;
	}
	return unfinished;
}

int fake_pending(unsigned long long address, size_t bytes)
{
	int pending;

	fake_lock_retake();
	pending = count_unfinished(address, bytes, 0);
	fake_lock_drop();
	return pending;
}

uint64_t fake_begin(struct CUstream_st *stream)
{
	uint64_t begin_ns = UINT64_MAX;
	struct CUctx_st *context;

	fake_lock_retake();
	if (fake_stream_context(stream, &context) == CUDA_SUCCESS)
		(void)fake_stream_begin(context, stream, &begin_ns);
	fake_lock_drop();
	return begin_ns;
}

int fake_crossed(void)
{
	int times;

	fake_lock_retake();
	times = crossed;
	fake_lock_drop();
	return times;
}

uint64_t fake_clock(void)
{
	uint64_t now;

	fake_lock_retake();
	now = fake_now();
	fake_lock_drop();
	return now;
}

int fake_use(unsigned long long address, size_t bytes, struct CUstream_st *stream,
	     unsigned long long *stream_id, uint64_t *due_ns)
{
	struct CUctx_st *context;
	uint64_t begin_ns = 0;
	int result;

	fake_lock_retake();
	result = fake_stream_context(stream, &context);
	if (result == CUDA_SUCCESS)
		result = fake_stream_begin(context, stream, &begin_ns);
	if (result == CUDA_SUCCESS)
		result = fake_stream_resolve(context, &stream);
	if (result == CUDA_SUCCESS)
		result = fake_stream_submit(context, stream,
					    fake_peer_delay(context->device, address), due_ns);
	if (result == CUDA_SUCCESS)
		*stream_id = fake_stream_id(stream);
	if (result == CUDA_SUCCESS && fake_memory_denied(address, bytes, context->device))
		fake_context_owner(context)->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
	else if (result == CUDA_SUCCESS && *due_ns != FAKE_CAPTURED) {
		crossed += fake_memory_place(address) &&
			   count_unfinished(address, bytes, begin_ns) != 0;
		result = fake_timeline_use(*due_ns, address, bytes);
	}
	fake_lock_drop();
	return result;
}

int fake_enable_peer(struct CUctx_st *peer)
{
	struct CUctx_st *context;
	int result;

	fake_lock_retake();
	result = fake_context_current(&context);
	if (result == CUDA_SUCCESS)
		result = fake_peer_enable(context, peer);
	fake_lock_drop();
	return result;
}

void fake_disturb(uintptr_t address, size_t bytes)
{
	if (fake_timeline_touching(address, bytes) == 0)
		return;
	if (disturbed.times++ == 0) {
		disturbed.address = address;
		disturbed.bytes = bytes;
	}
}

int fake_disturbed(unsigned long long *address, size_t *bytes)
{
	int times;

	fake_lock_retake();
	times = disturbed.times;
	if (times) {
		*address = disturbed.address;
		*bytes = disturbed.bytes;
	}
	fake_lock_drop();
	return times;
}

unsigned long fake_waited(void)
{
	return fake_timeline_waited();
}

void fake_holds(struct fake_held *held)
{
	fake_lock_retake();
	fake_timeline_run();
	memset(held, 0, sizeof(*held));
	for (int i = 0; i < fake_knobs.devices; i++)
		held->device_bytes += fake_devices[i].used;
	fake_memory_count(&held->blocks, &held->handles, &held->mappings);
	held->reservations = fake_virtual_count();
	held->events = fake_event_count();
	fake_lock_drop();
}

void fake_fail(unsigned long at, unsigned long times)
{
	fake_lock_retake();
	fake_knobs_arm(at, times);
	fake_lock_drop();
}

int fake_failed(char *name, size_t bytes)
{
	int failed;

	fake_lock_retake();
	failed = fake_knobs_armed_failures(name, bytes);
	fake_lock_drop();
	return failed;
}
