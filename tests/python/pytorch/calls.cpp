/* SPDX-License-Identifier: Apache-2.0 */
/* calls.cpp - functions of PyTorch's current allocator, for test_allocator.py to call by ctypes. */
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>

namespace interface = c10::cuda::CUDACachingAllocator;

#define CALL extern "C" C10_EXPORT

static std::vector<std::shared_ptr<void>> opened;

CALL int share(void *address, char *handle, ptrdiff_t *offset)
{
	const auto shared = interface::shareIpcHandle(address);

	memcpy(handle, shared.handle.data(), shared.handle.size());
	*offset = shared.offset;
	return static_cast<int>(shared.handle.size());
}

CALL void *open_handle(const char *handle, int length)
{
	opened.push_back(interface::getIpcDevPtr(std::string(handle, length)));
	return opened.back().get();
}

CALL void close_handles(void)
{
	opened.clear();
}

CALL void base(void *address, void **start, size_t *bytes)
{
	*start = interface::getBaseAllocation(address, bytes);
}

CALL size_t largest(size_t known)
{
	interface::cacheInfo(0, &known);
	return known;
}

CALL int copy(void *to, int to_device, const void *from, int from_device, size_t bytes,
	      int has_access)
{
	return interface::memcpyAsync(to, to_device, from, from_device, bytes, nullptr, has_access);
}

CALL int copy_to_host(void *to, const void *from, size_t bytes)
{
	return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
}

static int tracked_allocations;

CALL void track(void)
{
	interface::attachAllocatorTraceTracker([](const interface::TraceEntry &entry) {
		tracked_allocations += entry.action_ == interface::TraceEntry::ALLOC;
	});
}

CALL int tracked(void)
{
	return tracked_allocations;
}
