/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_memory.h - the blocks and statistics of torch_allocator.cpp.
 *
 * Locks: `native` obtains segments from mam with its own lock held, which takes `lock`. So no function
 * calls `native` with `lock` held. `merging` is taken before both. No Python code runs with a lock
 * held, except the trackers of attachAllocatorTraceTracker(), as with PyTorch's own allocator.
 */
#ifndef MAM_TORCH_MEMORY_H
#define MAM_TORCH_MEMORY_H

#include <bit>

#include "torch_history.h"

namespace
{

constexpr size_t GRANULE = 512; /* PyTorch's smallest block */

/* Everything but the histories and the functions of the interface. */
class Memory : public History
{
      protected:
	std::mutex merging;
	std::unordered_map<const void *, block> blocks; /* lock: lock; live ones */
	std::vector<interface::OutOfMemoryObserver> observers;
	std::map<std::string, std::weak_ptr<void>> imports; /* lock: lock */

	explicit Memory(Base *torch) : History(torch)
	{
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
		std::unique_lock guard(lock);
		const int64_t reserved = d.private_reserved;

		merge(d.stats.allocation, now.allocation, d.merged.allocation);
		merge(d.stats.active, now.active, d.merged.active);
		merge(d.stats.allocated_bytes, now.allocated_bytes, d.merged.allocated_bytes);
		merge(d.stats.active_bytes, now.active_bytes, d.merged.active_bytes);
		merge(d.stats.requested_bytes, now.requested_bytes, d.merged.requested_bytes);
		d.private_reserved = now.reserved_bytes[ALL].current;
		d.private_segments = now.segment[ALL].current;
		for (const auto &[address, segment] : d.segments) {
			d.private_reserved -= static_cast<int64_t>(segment.bytes);
			d.private_segments -= segment.is_chunk;
		}
		d.small_reserved = now.reserved_bytes[SMALL].current;
		d.small_segments = now.segment[SMALL].current;
		d.merged = now;
		guard.unlock();
		if (d.private_reserved != reserved)
			apply_limit(index);
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
		follow(d.stats.reserved_bytes[SMALL], d.small_reserved, 0);
		follow(d.stats.segment[SMALL], d.small_segments, 0);
		for (size_t kind : { ALL, LARGE }) {
			const bool is_large = kind == LARGE;

			follow(d.stats.reserved_bytes[kind],
			       now.physical_bytes + d.private_reserved -
				       is_large * d.small_reserved,
			       is_large ? 0 : peak);
			follow(d.stats.segment[kind],
			       now.chunks + d.private_segments - is_large * d.small_segments, 0);
			follow(d.stats.inactive_split[kind], now.free_blocks, 0);
			follow(d.stats.inactive_split_bytes[kind], now.free_block_bytes, 0);
		}
		d.stats.num_device_alloc += now.grows - d.seen.grows;
		d.stats.num_device_free += now.shrinks - d.seen.shrinks;
		d.seen = now;
	}

	/* pre: lock. PYTORCH_CUDA_ALLOC_CONF may have it. */
	static double fraction_of(const device &d)
	{
		double fraction = d.fraction;

		[&](auto *config) {
			if constexpr (requires { config->per_process_memory_fraction(); })
				if (!d.has_limit)
					fraction = config->per_process_memory_fraction();
		}(static_cast<interface::CUDAAllocatorConfig *>(nullptr));
		return fraction;
	}

	void set_fraction(double fraction, DeviceIndex index)
	{
		const c10::cuda::CUDAGuard on(index);
		device &d = of(index);
		size_t unused, total;
		mam_pool *pool;

		TORCH_CHECK(fraction >= 0 && fraction <= 1, "invalid fraction: ", fraction);
		C10_CUDA_CHECK(cudaMemGetInfo(&unused, &total));
		TORCH_CHECK(mam_pool_default(index, &pool) == MAM_OK, "mam has no pool");
		d.is_used = d.has_settings = true;
		std::lock_guard order(merging);
		{
			std::lock_guard guard(lock);
			if (!d.has_limit)
				mam_pool_limit(pool, &d.limit);
			d.has_limit = true;
			d.fraction = fraction;
			d.allowed = fraction == 1 ? 0
						  : std::max<size_t>(1, static_cast<size_t>(
										fraction * total));
		}
		apply_limit(index);
	}

	/* pre: merging. Private pools with other allocators are not in the pool, but in the fraction. */
	void apply_limit(DeviceIndex index)
	{
		device &d = of(index);
		size_t limit;
		mam_pool *pool;

		{
			std::lock_guard guard(lock);
			if (!d.has_limit)
				return;
			limit = d.allowed;
			if (limit)
				limit -= std::min<size_t>(limit - 1,
							  std::max<int64_t>(d.private_reserved, 0));
			if (!limit || (d.limit && d.limit < limit))
				limit = d.limit;
		}
		if (mam_pool_default(index, &pool) == MAM_OK)
			mam_pool_set_limit(pool, limit);
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
		mam_status status;

		if (C10_UNLIKELY(!d.has_settings)) {
			std::unique_lock guard(lock);
			const double fraction = fraction_of(d);

			guard.unlock();
			if (fraction < 1)
				set_fraction(fraction, index);
			d.has_settings = true;
		}
		status = take(index, bytes, stream, block);
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

	/* PyTorch's setting roundup_power2_divisions: so many sizes from one power of two to the next. */
	static size_t rounded(size_t bytes)
	{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
		const size_t divisions =
			interface::CUDAAllocatorConfig::roundup_power2_divisions(bytes);
#pragma GCC diagnostic pop

		if (divisions < 2 || bytes <= GRANULE * divisions)
			return bytes;
		const size_t step =
			std::max<size_t>(1, std::bit_floor(bytes) / std::bit_floor(divisions));
		return (bytes + step - 1) / step * step;
	}

	void *take_ordinary(DeviceIndex index, size_t bytes, cudaStream_t stream)
	{
		device &d = of(index);
		const Context context = gather(RecordContext::STATE);
		block block{ 0, bytes, stream, index, context, native->isEnabled() };
		void *address = nullptr;
		const mam_status status = obtain(index, rounded(bytes), stream, &address);

		if (status == MAM_ERROR_OUT_OF_MEMORY &&
		    (address = take_spare(index, bytes, stream)))
			return address;
		if (status != MAM_OK)
			fail(index, bytes, status, context);
		mam_usable_size(nullptr, address, &block.bytes);
		if (is_traced() && !is_chunk_known(d, static_cast<char *>(address)))
			trace_chunks(index, context);
		std::lock_guard guard(lock);
		if (block.is_counted) {
			count(d, block, true);
			trace(TraceEntry::ALLOC, index, address, bytes, stream, context);
			report(d, index, address, static_cast<int64_t>(block.bytes));
		}
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
		TORCH_CHECK_WITH(OutOfMemoryError, bytes < size_t{ 1 } << 60,
				 "CUDA out of memory. Tried to allocate more than 1EB memory.");
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

		if (mam_pool_default(index, &pool) != MAM_OK)
			return nullptr;
		const auto chunks = stats_of(pool).chunks;
		if (mam_malloc(pool, bytes, &address) != MAM_OK)
			return nullptr;
		const bool is_chunk =
			stats_of(pool).chunks > chunks && chunk_of(address).chunk_base == address;
		of(index).is_used = true;
		std::lock_guard guard(lock);
		of(index).segments[static_cast<char *>(address)] = { bytes, is_chunk };
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

	/* The cache of one private pool, or of all memory (0, 0). */
	void empty_cache(Id id)
	{
		const Context context = gather(RecordContext::ALL);
		std::vector<size_t> reserved;

		for (size_t i = 0; i < devices.size(); i++) {
			observe(static_cast<DeviceIndex>(i));
			reserved.push_back(segment_bytes(*devices[i]));
		}
		native->emptyCache(id);
		for (size_t i = 0; i < devices.size(); i++) {
			const auto index = static_cast<DeviceIndex>(i);
			mam_pool *pool;
			size_t keep = 0;

			merge_native(index);
			if (!devices[i]->is_used || mam_pool_default(index, &pool) != MAM_OK)
				continue;
			if (id != Id{ 0, 0 }) {
				const size_t now = segment_bytes(*devices[i]);

				keep = stats_of(pool).physical_bytes;
				keep -= std::min(keep, reserved[i] - std::min(reserved[i], now));
			}
			mam_pool_trim(pool, keep, nullptr);
			observe(index);
			trace_chunks(index, context);
		}
	}

	size_t segment_bytes(const device &d)
	{
		std::lock_guard guard(lock);
		size_t sum = 0;

		for (const auto &[address, segment] : d.segments)
			sum += segment.bytes;
		return sum;
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
