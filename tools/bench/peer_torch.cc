// SPDX-License-Identifier: Apache-2.0
//
// peer_torch.cc - PyTorch's caching allocator as a peer of mam's bench (peer_library.h), without
// Python, tensors, or the rest of PyTorch.
//
//	c++ -std=c++17 -O2 -shared -fPIC -I$TORCH/include -I$CUDA/include peer_torch.cc
//		-o peer_torch.so -L$TORCH/lib -lc10_cuda -lc10 -Wl,-rpath,$TORCH/lib
//
// Kind 0: as it is by default; kind 1: with expandable segments.
#include <cstddef>

#include <c10/cuda/CUDACachingAllocator.h>

#include "peer_library.h"

namespace
{

namespace caching = c10::cuda::CUDACachingAllocator;

bool started;

int open_cache(int kind, std::size_t)
{
	try {
		if (!started)
			caching::get()->init(1);
		started = true;
		c10::CachingAllocator::setAllocatorSettings(
			kind == 1 ? "expandable_segments:True" : "expandable_segments:False");
		caching::emptyCache();
		caching::resetPeakStats(0);
		return 0;
	} catch (...) {
		return 1;
	}
}

void empty()
{
	try {
		caching::emptyCache();
	} catch (...) {
	}
}

void *alloc(std::size_t bytes, void *stream)
{
	try {
		return caching::raw_alloc_with_stream(bytes, static_cast<cudaStream_t>(stream));
	} catch (...) {
		return nullptr;
	}
}

void release(void *block, std::size_t, void *)
{
	try {
		caching::raw_delete(block);
	} catch (...) {
	}
}

void reserved(std::size_t *now, std::size_t *most)
{
	auto all = caching::getDeviceStats(0).reserved_bytes[0];

	*now = static_cast<std::size_t>(all.current);
	*most = static_cast<std::size_t>(all.peak);
}

} // namespace

extern "C" __attribute__((visibility("default"))) const bench_library bench_library = {
	open_cache, empty, alloc, release, empty, reserved,
};
