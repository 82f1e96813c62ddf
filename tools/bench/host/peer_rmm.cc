// SPDX-License-Identifier: Apache-2.0
//
// peer_rmm.cc - RAPIDS RMM's resources as peers of mam's bench (peer_library.h).
//
//	c++ -std=c++20 -O2 -shared -fPIC -I$RMM/include -I$RMM/include/rapids -I$LOGGER/include
//		-I$CUDA/include peer_rmm.cc -o peer_rmm.so -L$RMM/lib64 -lrmm -L$CUDA/lib64
//		-lcudart_static -ldl -lrt -lpthread
//
// All use cuda_memory_resource as upstream. Unless the bench specifies the initial size:
//	kind 0	pool_memory_resource, half of the free memory at once
//	kind 1	the same, 256 MiB at once; more on demand
//	kind 2	arena_memory_resource, half of the free memory at once
//	kind 3	binning_memory_resource over kind 0: bins of 256 KiB, 512 KiB, ... 4 MiB
// RMM itself uses or recommends the half. RMM frees by size, which the bench passes.
// RMM does not report a pool's high-water mark, only its size; it never shrinks.
//
// Every kind is called through the same virtual function, as in programs that use RMM.
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <cuda/stream_ref>
#include <rmm/cuda_device.hpp>
#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/binning_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>

#include "peer_library.h"

namespace
{

namespace mr = rmm::mr;

constexpr std::size_t first_of_growing = std::size_t{ 256 } << 20;
constexpr std::size_t alignment = 256;
constexpr std::int8_t least_bin = 18, largest_bin = 22; // powers of two

enum kind { POOL, GROWING, ARENA, BINNING };

struct heap {
	virtual ~heap() = default;
	virtual void *take(cuda::stream_ref stream, std::size_t bytes) = 0;
	virtual void give(cuda::stream_ref stream, void *block, std::size_t bytes) = 0;
	virtual std::size_t reserved() = 0;
};

template <class Resource> struct heap_of : heap {
	Resource resource;

	explicit heap_of(Resource made) : resource{ std::move(made) }
	{
	}
	void *take(cuda::stream_ref stream, std::size_t bytes) override
	{
		return resource.allocate(stream, bytes, alignment);
	}
	void give(cuda::stream_ref stream, void *block, std::size_t bytes) override
	{
		resource.deallocate(stream, block, bytes, alignment);
	}
};

mr::pool_memory_resource make_pool(std::size_t first, std::size_t most)
{
	return mr::pool_memory_resource{ mr::cuda_memory_resource{}, first,
					 most > 0 ? std::optional{ most } : std::nullopt };
}

struct pool : heap_of<mr::pool_memory_resource> {
	using heap_of::heap_of;
	std::size_t reserved() override
	{
		return resource.pool_size();
	}
};

struct arena : heap_of<mr::arena_memory_resource> {
	std::size_t bytes;

	explicit arena(std::size_t bytes_)
	    : heap_of{ mr::arena_memory_resource{ mr::cuda_memory_resource{}, bytes_ } }, bytes{
		      bytes_
	      }
	{
	}
	std::size_t reserved() override
	{
		return bytes;
	}
};

struct binning : heap_of<mr::binning_memory_resource> {
	mr::pool_memory_resource under;

	explicit binning(const mr::pool_memory_resource &under_)
	    : heap_of{ mr::binning_memory_resource{ under_, least_bin, largest_bin } }, under{
		      under_
	      }
	{
	}
	std::size_t reserved() override
	{
		return under.pool_size();
	}
};

std::unique_ptr<heap> current;
std::string trouble;

std::unique_ptr<heap> make(int kind, std::size_t first, std::size_t most)
{
	if (most > 0 && (first == 0 || first > most))
		first = most;
	else if (first == 0 && kind == GROWING)
		first = first_of_growing;
	else if (first == 0)
		first = rmm::percent_of_free_device_memory(50);
	first -= first % alignment;
	most -= most % alignment;
	switch (kind) {
	case ARENA: return std::make_unique<arena>(first);
	case BINNING: return std::make_unique<binning>(make_pool(first, most));
	default: return std::make_unique<pool>(make_pool(first, most));
	}
}

const char *open_heap(int kind, std::size_t initial_bytes, std::size_t max_bytes)
{
	try {
		current = make(kind, kind == GROWING && max_bytes == 0 ? 0 : initial_bytes,
			       max_bytes);
		return nullptr;
	} catch (const std::exception &error) {
		trouble = error.what();
	} catch (...) {
		trouble = "RMM threw an unknown exception";
	}
	return trouble.c_str();
}

void close_heap()
{
	current.reset();
}

void *alloc(std::size_t bytes, void *stream)
{
	try {
		return current->take(cuda::stream_ref{ static_cast<cudaStream_t>(stream) }, bytes);
	} catch (...) {
		return nullptr;
	}
}

void release(void *block, std::size_t bytes, void *stream)
{
	current->give(cuda::stream_ref{ static_cast<cudaStream_t>(stream) }, block, bytes);
}

void reserved(std::size_t *now, std::size_t *most)
{
	*now = *most = current->reserved();
}

} // namespace

extern "C" __attribute__((visibility("default"))) const bench_library bench_library_2 = {
	open_heap, close_heap, alloc, release, nullptr, reserved,
};
