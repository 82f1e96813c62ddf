/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_memory.h - the blocks, statistics and traces of torch_allocator.cpp.
 *
 * Locks: `native` obtains segments from mam with its own lock held, which takes `lock`. So no function
 * calls `native` with `lock` held. `merging` is taken before both. No Python code runs with a lock
 * held, except the trackers of attachAllocatorTraceTracker(), as with PyTorch's own allocator.
 */
#ifndef MAM_TORCH_MEMORY_H
#define MAM_TORCH_MEMORY_H

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <c10/core/impl/GPUTrace.h>
#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/util/ApproximateClock.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <mam/plug.h>
#include <mam/pools.h>
#include <mam/stats.h>
#include <mam/stream.h>

namespace
{

namespace interface = c10::cuda::CUDACachingAllocator;
using c10::DataPtr;
using c10::DeviceIndex;
using interface::RecordContext;
using interface::TraceEntry;
using Id = c10::cuda::MempoolId_t;
using Context = std::shared_ptr<c10::GatheredContext>;
using Filter = std::function<bool(cudaStream_t)>;
using Stats = c10::CachingDeviceAllocator::DeviceStats;
using Base = interface::CUDAAllocator;

constexpr size_t SMALL_MAX = 1 << 20; /* PyTorch's largest size of its statistics "small_pool" */
constexpr size_t ALL = 0, SMALL = 1, LARGE = 2; /* enum StatType */

/* The type of the last parameter of createOrIncrefPool(): a pointer, or later a shared_ptr. */
template <class F> struct last_parameter;
template <class C, class A> struct last_parameter<void (C::*)(DeviceIndex, Id, A)> {
	using type = A;
};
using PoolAllocator = last_parameter<decltype(&Base::createOrIncrefPool)>::type;

/* Returns nothing if this version of PyTorch does not have the function. */
template <class B> auto segment_sizes(B *torch, DeviceIndex index)
{
	if constexpr (requires { torch->getExpandableSegmentSizes(index); })
		return torch->getExpandableSegmentSizes(index);
}
using SegmentSizes = decltype(segment_sizes<Base>(nullptr, 0));

struct block {
	size_t bytes, requested; /* bytes 0: of a private pool */
	cudaStream_t stream;     /* on which it was allocated */
	DeviceIndex device;
	Context context;
};

struct capture {
	Id id;
	Filter filter;
};

struct device {
	Stats stats;                  /* lock: lock; of both allocators, except reserved memory */
	Stats merged;                 /* lock: merging; of `native`, as far as `stats` has them */
	mam_stats seen = {};          /* lock: lock; of the pool, as far as `stats` has them */
	int64_t private_reserved = 0; /* lock: lock; of `native`, without memory from mam */
	int64_t private_segments = 0; /* lock: lock */
	std::map<char *, size_t> chunks;   /* lock: lock; traced ones */
	std::map<char *, size_t> segments; /* lock: lock; of private pools, from mam */
	std::vector<capture> captures;     /* lock: lock */
	std::map<Id, int> uses;            /* lock: lock; of private pools */
	std::set<Id> spare;           /* lock: lock; private pools to use before out of memory */
	std::deque<TraceEntry> trace; /* lock: lock */
	std::atomic<bool> is_used{ false }, has_captures{ false };
	bool has_limit = false; /* lock: lock */
	size_t limit = 0;       /* lock: lock; of the pool, before setMemoryFraction() */
	double fraction = 1;    /* lock: lock */
};

std::string text_of(uint64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
	double value = static_cast<double>(bytes);
	char text[48];
	size_t unit = 0;

	for (; value >= 1024 && unit < 3; unit++)
		value /= 1024;
	snprintf(text, sizeof(text), unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
	return text;
}

mam_stats stats_of(mam_pool *pool)
{
	mam_stats stats = {};

	stats.size = sizeof(stats);
	mam_pool_stats(pool, &stats);
	return stats;
}

std::string source_of(mam_pool *pool)
{
	std::pair<mam_pool *, std::string> found(pool, "");

	mam_pool_each(
		[](const mam_pool_info *info, void *user) {
			auto *wanted = static_cast<decltype(found) *>(user);

			if (info->pool == wanted->first)
				wanted->second = info->source;
			return info->pool != wanted->first;
		},
		&found);
	return found.second;
}

/* Everything but the functions of the interface. */
class Memory : public Base
{
      protected:
	Base *const native;
	std::mutex lock, merging;
	std::vector<std::unique_ptr<device>> devices;   /* constant after init() */
	std::unordered_map<const void *, block> blocks; /* lock: lock; live ones */
	std::vector<interface::OutOfMemoryObserver> observers;
	std::vector<interface::AllocatorTraceTracker> trackers; /* lock: lock */
	std::atomic<interface::CreateContextFn> recorder{ nullptr };
	std::atomic<RecordContext> when{ RecordContext::NEVER };
	std::atomic<bool> is_recording{ false }, is_traced{ false };
	size_t trace_max = 1;          /* lock: lock */
	std::set<std::string> skipped; /* lock: lock; actions without trace entries */
	std::map<std::string, std::weak_ptr<void>> imports; /* lock: lock */
	c10::ApproximateClockToUnixTimeConverter clock;

	explicit Memory(Base *torch) : native(torch)
	{
	}

	device &of(DeviceIndex index)
	{
		TORCH_CHECK(index >= 0 && static_cast<size_t>(index) < devices.size(),
			    "mam: no CUDA device ", static_cast<int>(index),
			    ": did you call torch.cuda.init()?");
		return *devices[index];
	}

	Context gather(RecordContext least)
	{
		interface::CreateContextFn create = recorder.load();

		return create && when.load() >= least ? create() : nullptr;
	}

	/* pre: lock */
	void trace(TraceEntry::Action action, DeviceIndex index, const void *address, size_t bytes,
		   cudaStream_t stream, const Context &context)
	{
		static const char *const names[] = {
			"alloc",         "free_requested", "free_completed",
			"segment_alloc", "segment_free",   "segment_map",
			"segment_unmap", "snapshot",       "oom"
		};

		if (!is_traced)
			return;
		const auto entry = [&](auto id) {
			const auto at = reinterpret_cast<size_t>(address);
			const auto now = c10::getApproximateTime();

			if constexpr (std::is_constructible_v<TraceEntry, TraceEntry::Action,
							      DeviceIndex, size_t, size_t,
							      cudaStream_t, decltype(id),
							      decltype(now), Context>)
				return TraceEntry(action, index, at, bytes, stream, id, now,
						  context);
			else
				return TraceEntry(action, index, at, bytes, stream, now, context);
		}(Id{ 0, 0 });
		for (const auto &tracker : trackers)
			tracker(entry);
		if (!is_recording || skipped.count(names[action]))
			return;
		auto &entries = of(index).trace;
		entries.push_back(entry);
		if (when.load() < RecordContext::ALLOC)
			entries.back().context_ = nullptr;
		while (entries.size() > trace_max)
			entries.pop_front();
	}

	/* pre: lock */
	static void count(device &d, const block &block, bool is_alloc)
	{
		const auto add = [&](auto &array, size_t amount) {
			for (size_t kind : { ALL, block.bytes <= SMALL_MAX ? SMALL : LARGE })
				is_alloc ? array[kind].increase(amount)
					 : array[kind].decrease(amount);
		};

		add(d.stats.allocation, 1);
		add(d.stats.active, 1);
		add(d.stats.allocated_bytes, block.bytes);
		add(d.stats.active_bytes, block.bytes);
		add(d.stats.requested_bytes, block.requested);
	}

	/* Adds to `sum` what `now` has more than `before`. */
	template <class Array> static void merge(Array &sum, const Array &now, const Array &before)
	{
		for (size_t kind : { ALL, SMALL, LARGE }) {
			sum[kind].current += now[kind].current - before[kind].current;
			sum[kind].allocated += now[kind].allocated - before[kind].allocated;
			sum[kind].freed += now[kind].freed - before[kind].freed;
			sum[kind].peak = std::max(sum[kind].peak, sum[kind].current);
		}
	}

	/* After a call of `native` that may have allocated or freed. */
	Stats merge_native(DeviceIndex index)
	{
		device &d = of(index);
		std::lock_guard order(merging);
		Stats now = native->getDeviceStats(index);
		std::lock_guard guard(lock);

		merge(d.stats.allocation, now.allocation, d.merged.allocation);
		merge(d.stats.active, now.active, d.merged.active);
		merge(d.stats.allocated_bytes, now.allocated_bytes, d.merged.allocated_bytes);
		merge(d.stats.active_bytes, now.active_bytes, d.merged.active_bytes);
		merge(d.stats.requested_bytes, now.requested_bytes, d.merged.requested_bytes);
		d.private_reserved = now.reserved_bytes[ALL].current;
		d.private_segments = now.segment[ALL].current;
		for (const auto &[address, bytes] : d.segments) {
			d.private_reserved -= static_cast<int64_t>(bytes);
			d.private_segments--;
		}
		d.merged = now;
		return now;
	}

	template <class Stat> static void follow(Stat &stat, int64_t current, int64_t peak)
	{
		if (current >= stat.current)
			stat.increase(current - stat.current);
		else
			stat.decrease(stat.current - current);
		stat.peak = std::max({ stat.peak, peak, current });
	}

	/*
	 * The pool's memory. It shrinks only where it is trimmed, so a look before that has the peak;
	 * a higher one in between is in the pool's own peak.
	 */
	void observe(DeviceIndex index)
	{
		device &d = of(index);
		mam_stats now = {};
		mam_pool *pool;

		if (d.is_used) {
			if (mam_pool_default(index, &pool) != MAM_OK)
				return;
			now = stats_of(pool);
		}
		std::lock_guard guard(lock);
		const bool is_higher = now.peak_physical_bytes > d.seen.peak_physical_bytes;
		const int64_t peak = is_higher ? now.peak_physical_bytes + d.private_reserved : 0;
		for (size_t kind : { ALL, LARGE }) {
			follow(d.stats.reserved_bytes[kind],
			       now.physical_bytes + d.private_reserved, peak);
			follow(d.stats.segment[kind], now.chunks + d.private_segments, 0);
			follow(d.stats.inactive_split[kind], now.free_blocks, 0);
			follow(d.stats.inactive_split_bytes[kind], now.free_block_bytes, 0);
		}
		d.stats.num_device_alloc += now.grows - d.seen.grows;
		d.stats.num_device_free += now.shrinks - d.seen.shrinks;
		d.seen = now;
	}

	struct part {
		char *base;
		size_t bytes, requested;
		bool is_live, is_retired;
		char *chunk;
		size_t chunk_bytes;
	};

	static std::vector<part> parts_of(mam_pool *pool)
	{
		std::vector<part> parts;

		mam_pool_walk(
			pool,
			[](const mam_segment_info *s, void *user) {
				static_cast<decltype(parts) *>(user)->push_back(
					{ static_cast<char *>(s->base), s->bytes, s->requested,
					  s->live, s->retired, static_cast<char *>(s->chunk_base),
					  s->chunk_bytes });
				return true;
			},
			&parts);
		return parts;
	}

	/* Traces what the pool obtained and returned since the last call. A chunk may grow and shrink. */
	void trace_chunks(DeviceIndex index)
	{
		device &d = of(index);
		std::map<char *, size_t> now;
		mam_pool *pool;

		if (!is_traced || !d.is_used || mam_pool_default(index, &pool) != MAM_OK)
			return;
		for (const part &part : parts_of(pool))
			now[part.chunk] = static_cast<size_t>(part.base + part.bytes - part.chunk);
		std::lock_guard guard(lock);
		const auto note = [&](TraceEntry::Action action, char *address, size_t bytes) {
			trace(action, index, address, bytes, nullptr, nullptr);
		};
		for (const auto &[address, bytes] : d.chunks)
			if (!now.count(address))
				note(TraceEntry::SEGMENT_FREE, address, bytes);
		for (const auto &[address, bytes] : now) {
			const auto old = d.chunks.find(address);

			if (old == d.chunks.end())
				note(TraceEntry::SEGMENT_ALLOC, address, bytes);
			else if (old->second < bytes)
				note(TraceEntry::SEGMENT_MAP, address + old->second,
				     bytes - old->second);
			else if (old->second > bytes)
				note(TraceEntry::SEGMENT_UNMAP, address + bytes,
				     old->second - bytes);
		}
		d.chunks = std::move(now);
	}

	bool is_chunk_known(const device &d, char *address)
	{
		std::lock_guard guard(lock);
		const auto next = d.chunks.upper_bound(address);

		return next != d.chunks.begin() &&
		       address < std::prev(next)->first + std::prev(next)->second;
	}

	static mam_status take(DeviceIndex index, size_t bytes, cudaStream_t stream, void **block)
	{
		mam_pool *pool;
		mam_status status = mam_pool_default(index, &pool);

		if (status == MAM_OK)
			status = mam_malloc_async(pool, bytes, stream, block);
		if (status == MAM_ERROR_DESTROYED) { /* the pool, which this call replaces */
			*block = mam_torch_pool_alloc(bytes, index, stream);
			status = *block ? MAM_OK : MAM_ERROR_OUT_OF_MEMORY;
		}
		return status;
	}

	[[noreturn]] void fail(DeviceIndex index, size_t bytes, mam_status status,
			       const Context &context)
	{
		size_t device_free = 0, total = 0, limit = 0, live;
		mam_pool *pool = nullptr;
		std::string where;

		TORCH_CHECK(status == MAM_ERROR_OUT_OF_MEMORY, "mam cannot allocate ",
			    text_of(bytes), " on GPU ", static_cast<int>(index), ": ",
			    mam_strerror(status));
		observe(index);
		(void)cudaMemGetInfo(&device_free, &total);
		const mam_stats now =
			mam_pool_default(index, &pool) == MAM_OK ? stats_of(pool) : mam_stats{};
		if (pool)
			mam_pool_limit(pool, &limit);
		{
			std::lock_guard guard(lock);
			Stats &stats = of(index).stats;

			stats.num_ooms++;
			live = stats.allocated_bytes[ALL].current;
			trace(TraceEntry::OOM, index, reinterpret_cast<void *>(device_free), bytes,
			      nullptr, context);
		}
		for (const auto &observer : observers)
			observer(index, bytes, limit ? std::min(limit, total) : total, device_free);
		c10::reportOutOfMemoryToProfiler(bytes, live, now.physical_bytes,
						 c10::Device(c10::kCUDA, index));
		const size_t unused =
			now.physical_bytes - std::min(now.physical_bytes, now.live_rounded_bytes);
		if (limit)
			where = " The pool is limited to " + text_of(limit) + ".";
		where += " mam: the largest free block has " + text_of(now.largest_free_bytes) +
			 "; ";
		if (unused < bytes)
			where +=
				"no arrangement of the free memory would serve the request, so use "
				"smaller batches, or free memory that other processes use.";
		else if (source_of(pool) == "vmm")
			where += text_of(unused) +
				 " are free in small blocks, or are still used by other streams; "
				 "torch.cuda.synchronize() makes the latter available.";
		else
			where += "fragmentation costs " + text_of(unused) +
				 "; mam.torch.enable(source=\"vmm\") joins free memory.";
		TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ",
				 text_of(bytes), ". GPU ", static_cast<int>(index),
				 " has a total capacity of ", text_of(total), " of which ",
				 text_of(device_free), " is free. Of the allocated memory ",
				 text_of(live), " is allocated by PyTorch, and ", text_of(unused),
				 " is reserved by mam but unallocated.", where);
	}

	mam_status obtain(DeviceIndex index, size_t bytes, cudaStream_t stream, void **block)
	{
		device &d = of(index);
		mam_status status = take(index, bytes, stream, block);

		if (status == MAM_ERROR_OUT_OF_MEMORY && !d.has_captures) {
			for (const auto &name : c10::FreeCudaMemoryCallbacksRegistry()->Keys())
				c10::FreeCudaMemoryCallbacksRegistry()->Create(name)->Execute();
			native->emptyCache();
			{
				std::lock_guard guard(lock);
				d.stats.num_alloc_retries++;
			}
			status = take(index, bytes, stream, block);
			merge_native(index);
		}
		if (status == MAM_OK)
			d.is_used = true;
		return status;
	}

	bool is_private(device &d, cudaStream_t stream)
	{
		if (!d.has_captures)
			return false;
		std::lock_guard guard(lock);
		return std::any_of(d.captures.begin(), d.captures.end(),
				   [&](const capture &capture) { return capture.filter(stream); });
	}

	void *take_private(DeviceIndex index, size_t bytes, cudaStream_t stream)
	{
		void *address = native->raw_alloc_with_stream(bytes, stream);

		{
			std::lock_guard guard(lock);
			blocks[address] = block{ 0, bytes, stream, index, nullptr };
		}
		merge_native(index);
		return address;
	}

	/*
	 * Memory of a private pool for which setUseOnOOM() was called, as if this thread allocated to
	 * it. NULL: none fits. The pool may obtain segments from mam, so it stays within mam's limits.
	 */
	void *take_spare(DeviceIndex index, size_t bytes, cudaStream_t stream)
	{
		const auto self = std::this_thread::get_id();
		std::set<Id> ids;
		void *address = nullptr;

		{
			std::lock_guard guard(lock);
			ids = of(index).spare;
			for (const capture &capture : of(index).captures)
				ids.erase(capture.id);
		}
		for (auto id = ids.begin(); id != ids.end() && !address; ++id) {
			native->beginAllocateToPool(index, *id, [self](cudaStream_t) {
				return std::this_thread::get_id() == self;
			});
			try {
				address = take_private(index, bytes, stream);
			} catch (c10::OutOfMemoryError &) {
			}
			native->endAllocateToPool(index, *id);
			native->releasePool(index, *id);
		}
		return address;
	}

	void *take_ordinary(DeviceIndex index, size_t bytes, cudaStream_t stream)
	{
		device &d = of(index);
		const Context context = gather(RecordContext::STATE);
		block block{ 0, bytes, stream, index, context };
		void *address = nullptr;
		const mam_status status = obtain(index, bytes, stream, &address);

		if (status == MAM_ERROR_OUT_OF_MEMORY &&
		    (address = take_spare(index, bytes, stream)))
			return address;
		if (status != MAM_OK)
			fail(index, bytes, status, context);
		mam_usable_size(nullptr, address, &block.bytes);
		if (is_traced && !is_chunk_known(d, static_cast<char *>(address)))
			trace_chunks(index);
		std::lock_guard guard(lock);
		count(d, block, true);
		trace(TraceEntry::ALLOC, index, address, block.bytes, stream, context);
		report(d, index, address, static_cast<int64_t>(block.bytes));
		blocks[address] = std::move(block);
		return address;
	}

	/* pre: lock. The profiler shows memory over time. */
	static void report(const device &d, DeviceIndex index, void *address, int64_t change)
	{
		if (c10::memoryProfilingEnabled())
			c10::reportMemoryUsageToProfiler(address, change,
							 d.stats.allocated_bytes[ALL].current,
							 d.stats.reserved_bytes[ALL].current,
							 c10::Device(c10::kCUDA, index));
	}

	void *take_any(size_t bytes, cudaStream_t stream)
	{
		DeviceIndex index = 0;
		void *address;

		C10_CUDA_CHECK(c10::cuda::GetDevice(&index));
		if (bytes == 0)
			return nullptr;
		address = is_private(of(index), stream) ? take_private(index, bytes, stream)
							: take_ordinary(index, bytes, stream);
		if (const auto *python = c10::impl::GPUTrace::get_trace(); C10_UNLIKELY(python))
			(*python)->trace_gpu_memory_allocation(
				c10::kCUDA, reinterpret_cast<uintptr_t>(address));
		return address;
	}

	static cudaStream_t current()
	{
		return c10::cuda::getCurrentCUDAStream();
	}

	/*
	 * A segment of a private pool is memory that no work uses, and its free waits for the device, as
	 * cudaFree does: a graph may run on another stream than the one that captured it.
	 */
	void *segment_alloc(size_t bytes, DeviceIndex index)
	{
		mam_pool *pool;
		void *address;

		if (mam_pool_default(index, &pool) != MAM_OK ||
		    mam_malloc(pool, bytes, &address) != MAM_OK)
			return nullptr;
		of(index).is_used = true;
		std::lock_guard guard(lock);
		of(index).segments[static_cast<char *>(address)] = bytes;
		return address;
	}

	void segment_free(void *address, DeviceIndex index)
	{
		{
			std::lock_guard guard(lock);
			of(index).segments.erase(static_cast<char *>(address));
		}
		mam_free(nullptr, address);
	}

	/* The block at an address; `bytes` 0 and `device` -1: of no live one of either allocator. */
	block find(const void *address)
	{
		std::lock_guard guard(lock);
		const auto found = blocks.find(address);

		return found == blocks.end() ? block{ 0, 0, nullptr, -1, nullptr } : found->second;
	}

	void empty_cache(Id id)
	{
		for (size_t i = 0; i < devices.size(); i++)
			observe(static_cast<DeviceIndex>(i));
		native->emptyCache(id);
		for (size_t i = 0; i < devices.size(); i++) {
			const auto index = static_cast<DeviceIndex>(i);
			mam_pool *pool;

			if (!devices[i]->is_used)
				continue;
			merge_native(index);
			if (mam_pool_default(index, &pool) == MAM_OK)
				mam_pool_trim(pool, 0, nullptr);
			observe(index);
			trace_chunks(index);
		}
	}

	/* The pool's memory without segments of private pools, which `native` describes. */
	void describe(DeviceIndex index, std::vector<interface::SegmentInfo> &list)
	{
		device &d = of(index);
		mam_pool *pool;
		char *end = nullptr;

		if (!d.is_used || mam_pool_default(index, &pool) != MAM_OK)
			return;
		const bool is_expandable = source_of(pool) == "vmm";
		const auto parts = parts_of(pool);
		std::lock_guard guard(lock);
		for (const part &part : parts) {
			const auto found = blocks.find(part.base);
			interface::BlockInfo info;

			if (d.segments.count(part.base))
				continue;
			if (part.base != end) {
				auto &segment = list.emplace_back();

				segment.device = index;
				segment.address = reinterpret_cast<size_t>(part.base);
				segment.is_large = true;
				segment.is_expandable = is_expandable;
			}
			end = part.base + part.bytes;
			info.size = part.bytes;
			info.requested_size = part.requested;
			info.allocated = part.is_live;
			info.active = part.is_live || part.is_retired;
			if (found != blocks.end())
				info.context_when_allocated = found->second.context;
			auto &segment = list.back();
			segment.total_size += part.bytes;
			segment.requested_size += info.requested_size;
			segment.allocated_size += info.allocated ? part.bytes : 0;
			segment.active_size += info.active ? part.bytes : 0;
			segment.blocks.push_back(std::move(info));
		}
	}

	/* The address and size of the chunk of a block. */
	static mam_segment_info chunk_of(const void *address)
	{
		mam_segment_info info = {};

		info.size = sizeof(info);
		TORCH_CHECK(mam_owner(address, nullptr, &info) == MAM_OK,
			    "mam: not a block: ", address);
		return info;
	}
};

} // namespace

#endif
