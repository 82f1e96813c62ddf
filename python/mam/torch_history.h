/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_history.h - the types of torch_allocator.cpp, and the history of its memory.
 *
 * The history of a device has an entry for each block and each chunk that came or went, with the call
 * stack if PyTorch asks for it (torch.cuda.memory._record_memory_history()). PyTorch's trackers get
 * the same entries. `native` keeps a history of its own for private pools.
 *
 * Chunks are not reported by mam: trace_chunks() compares them with those of the last call. It is
 * called where a block is in a chunk that is not known yet, where memory is returned, and before a
 * snapshot. So a chunk that grew has an entry only at the next of these.
 */
#ifndef MAM_TORCH_HISTORY_H
#define MAM_TORCH_HISTORY_H

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

/* Calls a function of `native` that not every version of PyTorch has. */
#define NATIVE(call)                                     \
	[&](auto *torch) {                               \
		if constexpr (requires { torch->call; }) \
			return torch->call;              \
	}(native)

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
	bool is_counted = true; /* in the statistics; not after caching_allocator_enable(False) */
};

struct chunk {
	size_t bytes;
	Context context; /* of the call that obtained it */
};

/* Of a private pool, from mam. */
struct segment {
	size_t bytes;
	bool is_chunk; /* mam obtained a chunk for it */
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
	int64_t private_segments = 0; /* lock: lock; of `native`, that are not chunks of the pool */
	int64_t small_reserved = 0,
		small_segments = 0;         /* lock: lock; of `native`, for small blocks */
	std::map<char *, chunk> chunks;     /* lock: lock; traced ones */
	std::map<char *, segment> segments; /* lock: lock */
	std::vector<capture> captures;      /* lock: lock */
	std::map<Id, int> uses;             /* lock: lock; of private pools */
	std::set<Id> spare;           /* lock: lock; private pools to use before out of memory */
	std::deque<TraceEntry> trace; /* lock: lock */
	std::atomic<bool> is_used{ false }, has_captures{ false };
	std::atomic<bool> has_settings{ false }; /* per_process_memory_fraction applies */
	bool has_limit = false;                  /* lock: lock */
	size_t limit = 0;   /* lock: lock; of the pool, before setMemoryFraction() */
	size_t allowed = 0; /* lock: lock; since then, of the pool and private pools; 0: no limit */
	double fraction = 1; /* lock: lock */
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

struct part {
	char *base;
	size_t bytes, requested;
	bool is_live, is_retired;
	char *chunk;
	size_t chunk_bytes;
};

std::vector<part> parts_of(mam_pool *pool)
{
	std::vector<part> parts;

	mam_pool_walk(
		pool,
		[](const mam_segment_info *s, void *user) {
			static_cast<decltype(parts) *>(user)->push_back(
				{ static_cast<char *>(s->base), s->bytes, s->requested, s->live,
				  s->retired, static_cast<char *>(s->chunk_base), s->chunk_bytes });
			return true;
		},
		&parts);
	return parts;
}

class History : public Base
{
      protected:
	Base *const native;
	std::mutex lock;
	std::vector<std::unique_ptr<device>> devices; /* constant after init() */
	c10::ApproximateClockToUnixTimeConverter clock;

	explicit History(Base *torch) : native(torch)
	{
	}

	device &of(DeviceIndex index)
	{
		TORCH_CHECK(index >= 0 && static_cast<size_t>(index) < devices.size(),
			    "mam: no CUDA device ", static_cast<int>(index),
			    ": did you call torch.cuda.init()?");
		return *devices[index];
	}

	bool is_traced() const
	{
		return is_traced_;
	}

	size_t trace_max() const
	{
		return trace_max_;
	}

	Context gather(RecordContext least) const
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

		if (!is_traced_)
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
		[&](auto &last) {
			if constexpr (requires { last.compile_context_ = metadata; })
				last.compile_context_ = regions.empty() ? "N/A" : regions.back();
			if constexpr (requires { last.user_metadata_ = metadata; })
				last.user_metadata_ = metadata;
		}(entries.back());
		while (entries.size() > trace_max_)
			entries.pop_front();
	}

	std::map<char *, chunk> chunks_of(DeviceIndex index)
	{
		std::map<char *, chunk> now;
		mam_pool *pool;

		if (of(index).is_used && mam_pool_default(index, &pool) == MAM_OK)
			for (const part &part : parts_of(pool))
				now[part.chunk].bytes =
					static_cast<size_t>(part.base + part.bytes - part.chunk);
		return now;
	}

	/*
	 * Traces what the pool obtained and returned since the last call, which `context` caused. A
	 * chunk may grow and shrink. Without a context, that of the chunk's first memory is used.
	 */
	void trace_chunks(DeviceIndex index, const Context &context = nullptr)
	{
		device &d = of(index);

		if (!is_traced_)
			return;
		std::map<char *, chunk> now = chunks_of(index);
		std::lock_guard guard(lock);
		const auto note = [&](TraceEntry::Action action, char *address, size_t bytes,
				      const Context &first) {
			trace(action, index, address, bytes, nullptr, context ? context : first);
		};
		for (const auto &[address, old] : d.chunks)
			if (!now.count(address))
				note(TraceEntry::SEGMENT_FREE, address, old.bytes, old.context);
		for (auto &[address, chunk] : now) {
			const auto old = d.chunks.find(address);
			const bool is_new = old == d.chunks.end();
			const size_t had = is_new ? 0 : old->second.bytes;

			chunk.context = is_new ? context : old->second.context;
			if (is_new)
				note(TraceEntry::SEGMENT_ALLOC, address, chunk.bytes, nullptr);
			else if (had < chunk.bytes)
				note(TraceEntry::SEGMENT_MAP, address + had, chunk.bytes - had,
				     chunk.context);
			else if (had > chunk.bytes)
				note(TraceEntry::SEGMENT_UNMAP, address + chunk.bytes,
				     had - chunk.bytes, chunk.context);
		}
		d.chunks = std::move(now);
	}

	bool is_chunk_known(const device &d, char *address)
	{
		std::lock_guard guard(lock);
		const auto next = d.chunks.upper_bound(address);

		return next != d.chunks.begin() &&
		       address < std::prev(next)->first + std::prev(next)->second.bytes;
	}

      public:
	void recordHistory(bool is_on, interface::CreateContextFn create, size_t entries,
			   RecordContext least, bool clears, const std::vector<std::string> &skip)
	{
		NATIVE(recordHistory(is_on, create, entries, least, clears, skip));
		record(is_on, create, entries, least, clears, skip);
	}

	void recordHistory(bool is_on, interface::CreateContextFn create, size_t entries,
			   RecordContext least, bool clears)
	{
		NATIVE(recordHistory(is_on, create, entries, least, clears));
		record(is_on, create, entries, least, clears, {});
	}

	bool isHistoryEnabled() override
	{
		return is_recording;
	}

	void recordAnnotation(const std::vector<std::pair<std::string, std::string>> &pairs)
	{
		NATIVE(recordAnnotation(pairs));
	}

	/* The regions of torch.compile that the calling thread is in. */
	void pushCompileContext(std::string &text)
	{
		NATIVE(pushCompileContext(text));
		regions.push_back(text);
	}

	void popCompileContext()
	{
		NATIVE(popCompileContext());
		if (!regions.empty())
			regions.pop_back();
	}

	void setUserMetadata(const std::string &text)
	{
		NATIVE(setUserMetadata(text));
		std::lock_guard guard(lock);
		metadata = text;
	}

	std::string getUserMetadata()
	{
		std::lock_guard guard(lock);
		return metadata;
	}

	void attachAllocatorTraceTracker(interface::AllocatorTraceTracker tracker) override
	{
		native->attachAllocatorTraceTracker(tracker);
		std::lock_guard guard(lock);
		trackers.push_back(std::move(tracker));
		is_traced_ = true;
	}

      private:
	std::vector<interface::AllocatorTraceTracker> trackers; /* lock: lock */
	std::atomic<interface::CreateContextFn> recorder{ nullptr };
	std::atomic<RecordContext> when{ RecordContext::NEVER };
	std::atomic<bool> is_recording{ false }, is_traced_{ false };
	size_t trace_max_ = 1;         /* lock: lock */
	std::set<std::string> skipped; /* lock: lock; actions without trace entries */
	std::string metadata;          /* lock: lock */
	static inline thread_local std::vector<std::string> regions;

	void record(bool is_on, interface::CreateContextFn create, size_t entries,
		    RecordContext least, bool clears, const std::vector<std::string> &skip)
	{
		std::vector<std::map<char *, chunk>> known(devices.size());

		for (size_t i = 0; i < devices.size() && is_on && !is_traced_; i++)
			known[i] = chunks_of(static_cast<DeviceIndex>(i));
		std::lock_guard guard(lock);
		for (size_t i = 0; i < devices.size() && is_on && !is_traced_; i++)
			devices[i]->chunks = std::move(known[i]);
		recorder = is_on ? create : nullptr;
		when = is_on ? least : RecordContext::NEVER;
		trace_max_ = std::max<size_t>(1, entries);
		skipped = { skip.begin(), skip.end() };
		is_recording = is_on;
		is_traced_ = is_on || !trackers.empty();
		for (auto &d : devices)
			if (clears || !is_on)
				d->trace.clear();
	}
};

} // namespace

#endif
