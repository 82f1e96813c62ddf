// SPDX-License-Identifier: Apache-2.0
//
// peer_rmm.cc - RAPIDS RMM's pool as a peer of mam's bench (peer_library.h).
//
//	c++ -std=c++20 -O2 -shared -fPIC -I$RMM/include -I$RMM/include/rapids -I$LOGGER/include
//		-I$CUDA/include peer_rmm.cc -o peer_rmm.so -L$RMM/lib64 -lrmm -L$CUDA/lib64
//		-lcudart_static -ldl -lrt -lpthread
//
// Kind 0: pool_memory_resource over cuda_memory_resource. RMM frees by size: the bench tells it.
// RMM's pool does not say how high it was used, only how large it is; it never shrinks.
#include <cstddef>
#include <memory>
#include <new>

#include <cuda/stream_ref>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>

#include "peer_library.h"

namespace
{

using pool_resource = rmm::mr::pool_memory_resource;

constexpr std::size_t least_pool = std::size_t{256} << 20; // an initial size it must have
constexpr std::size_t alignment = 256;

std::unique_ptr<pool_resource> pool;

cuda::stream_ref order(void *stream)
{
	return cuda::stream_ref{ static_cast<cudaStream_t>(stream) };
}

int open_pool(int, std::size_t initial_bytes)
{
	try {
		pool = std::make_unique<pool_resource>(
			rmm::mr::cuda_memory_resource{},
			initial_bytes > 0 ? initial_bytes : least_pool);
		return 0;
	} catch (...) {
		return 1;
	}
}

void close_pool()
{
	pool.reset();
}

void *alloc(std::size_t bytes, void *stream)
{
	try {
		return pool->allocate(order(stream), bytes, alignment);
	} catch (...) {
		return nullptr;
	}
}

void release(void *block, std::size_t bytes, void *stream)
{
	pool->deallocate(order(stream), block, bytes, alignment);
}

void reserved(std::size_t *now, std::size_t *most)
{
	*now = *most = pool->pool_size();
}

} // namespace

extern "C" __attribute__((visibility("default"))) const bench_library bench_library = {
	open_pool, close_pool, alloc, release, nullptr, reserved,
};
