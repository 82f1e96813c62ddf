// SPDX-License-Identifier: Apache-2.0
//
// peer_torch.cc - PyTorch's caching allocator as a peer of mam's bench (peer_library.h), without
// Python, tensors, or the rest of PyTorch.
//
//	c++ -std=c++17 -O2 -shared -fPIC -I$TORCH/include -I$CUDA/include peer_torch.cc
//		-o peer_torch.so -L$TORCH/lib -lc10_cuda -lc10 -Wl,-rpath,$TORCH/lib
//
// Kind 0: the default; kind 1: with expandable segments; kind 2: its backend cudaMallocAsync.
// PyTorch selects its backend when it is loaded, by PYTORCH_CUDA_ALLOC_CONF, and does not expose
// the other one: kind 2 needs a process of its own, in which kinds 0 and 1 are not available.
#include <cstddef>
#include <exception>
#include <string>

#include <c10/cuda/CUDACachingAllocator.h>

#include "peer_library.h"

// The rest of PyTorch, which is not linked, sets this when it is loaded; no header declares it.
namespace c10::cuda::_internal
{
void setHasPrimaryContext(bool (*answer)(c10::DeviceIndex));
}

namespace
{

namespace caching = c10::cuda::CUDACachingAllocator;

enum kind { NATIVE, EXPANDABLE, ASYNC };

bool started;
std::string trouble;

const char *open_cache(int kind, std::size_t, std::size_t)
{
	if ((caching::get()->name() == "cudaMallocAsync") != (kind == ASYNC))
		return kind == ASYNC ? "it is for a process with "
				       "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync"
				     : "PYTORCH_CUDA_ALLOC_CONF chose PyTorch's other backend";
	try {
		if (!started) {
			c10::cuda::_internal::setHasPrimaryContext(
				[](c10::DeviceIndex) { return true; });
			caching::get()->init(1);
		}
		started = true;
		if (kind != ASYNC)
			c10::CachingAllocator::setAllocatorSettings(
				kind == EXPANDABLE ? "expandable_segments:True"
						   : "expandable_segments:False");
		caching::emptyCache();
		caching::resetPeakStats(0);
		return nullptr;
	} catch (const std::exception &error) {
		trouble = error.what();
		trouble.resize(trouble.find('\n') < trouble.size() ? trouble.find('\n')
								   : trouble.size());
	} catch (...) {
		trouble = "PyTorch threw an unknown exception";
	}
	return trouble.c_str();
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

extern "C" __attribute__((visibility("default"))) const bench_library bench_library_2 = {
	open_cache, empty, alloc, release, empty, reserved,
};
