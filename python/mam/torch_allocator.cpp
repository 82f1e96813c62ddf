/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_allocator.cpp - mam as PyTorch's allocator, by its own interface CUDAAllocator.
 *
 * torch.py builds this file on first use against the installed PyTorch: the interface is a C++ class
 * whose functions change between versions. So most functions are declared without `override`: one
 * that this version of PyTorch does not have is an ordinary function, and one with other parameters
 * is declared in both forms.
 *
 *   - Ordinary memory comes from the default pool of the device, in the order of the streams, as
 *     with the plug-in (mam/plug.h). The table `blocks` has what PyTorch wants to know about it.
 *   - PyTorch's own code manages private pools (CUDA graphs, MemPool), with all rules for captures,
 *     for the checkpoints of torch.compile and for NCCL: `native` is the allocator that PyTorch would
 *     use without mam. It obtains their segments from mam (segment_alloc), and keeps each until its
 *     pool has ended, so no other request reuses the memory of a graph.
 *   - Statistics are counted here for both: after each call of `native`, its changes are added.
 */
#include "torch_memory.h"

namespace
{

void delete_block(void *address);

class Allocator final : public Memory
{
	const std::shared_ptr<Base> segments; /* as the allocator of a private pool */

	/* A pool with another allocator than PyTorch's own cannot have expandable segments. */
	bool serves_private() const
	{
		return !interface::CUDAAllocatorConfig::expandable_segments();
	}

	/* `segments` as the parameter of createOrIncrefPool(). */
	template <class A = PoolAllocator> A argument() const
	{
		if constexpr (std::is_pointer_v<A>)
			return segments.get();
		else
			return segments;
	}

	/* The storages of a private pool have our deleter, so memory from other calls needs it too. */
	void adopt(DataPtr &data, DeviceIndex index)
	{
		TORCH_CHECK(data.compare_exchange_deleter(native->raw_deleter(), &delete_block),
			    "mam: unknown deleter of a block");
		std::lock_guard guard(lock);
		blocks[data.get()] = block{ 0, 0, nullptr, index, nullptr };
	}

      public:
	explicit Allocator(Base *torch)
	    : Memory(torch),
	      segments(torch::cuda::CUDAPluggableAllocator::createCustomAllocator(
		      [this](size_t bytes, int index, cudaStream_t) {
			      return segment_alloc(bytes, static_cast<DeviceIndex>(index));
		      },
		      [this](void *address, size_t, int index, cudaStream_t) {
			      segment_free(address, static_cast<DeviceIndex>(index));
		      }))
	{
	}

	Base *native_allocator() const
	{
		return native;
	}

	/* Memory */

	DataPtr allocate(size_t bytes) override
	{
		DeviceIndex index = 0;

		C10_CUDA_CHECK(c10::cuda::GetDevice(&index));
		void *address = take_any(bytes, current());
		return { address, address, &delete_block, c10::Device(c10::kCUDA, index) };
	}

	c10::DeleterFnPtr raw_deleter() const override
	{
		return &delete_block;
	}

	void copy_data(void *to, const void *from, size_t bytes) const override
	{
		C10_CUDA_CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice));
	}

	void *raw_alloc(size_t bytes) override
	{
		return take_any(bytes, current());
	}

	void *raw_alloc_with_stream(size_t bytes, cudaStream_t stream) override
	{
		return take_any(bytes, stream);
	}

	void raw_delete(void *address) override
	{
		const Context context = gather(RecordContext::ALL);
		block block{ 0, 0, nullptr, -1, nullptr };

		if (!address)
			return;
		if (const auto *python = c10::impl::GPUTrace::get_trace(); C10_UNLIKELY(python))
			(*python)->trace_gpu_memory_deallocation(
				c10::kCUDA, reinterpret_cast<uintptr_t>(address));
		{
			std::lock_guard guard(lock);
			const auto found = blocks.find(address);

			if (found != blocks.end()) {
				block = std::move(found->second);
				blocks.erase(found);
			}
			if (block.bytes && block.is_counted) {
				count(of(block.device), block, false);
				for (auto action :
				     { TraceEntry::FREE_REQUESTED, TraceEntry::FREE_COMPLETED })
					trace(action, block.device, address, block.requested,
					      block.stream, context ? context : block.context);
				report(of(block.device), block.device, address,
				       -static_cast<int64_t>(block.bytes));
			}
		}
		if (block.bytes) {
			mam_torch_free(address, static_cast<ssize_t>(block.bytes), block.device,
				       block.stream);
			return;
		}
		native->raw_delete(address);
		if (block.device >= 0)
			merge_native(block.device);
	}

	using Base::recordStream;
	void recordStream(const DataPtr &data, c10::cuda::CUDAStream stream) override
	{
		const block block = find(data.get());

		if (data.get_deleter() != &delete_block || block.device < 0)
			return; /* it has another owner, which waits for its users */
		if (block.bytes) {
			if (block.stream != stream.stream())
				mam_torch_record_stream(data.get(), stream);
			return;
		}
		DataPtr alias(data.get(), data.get(), native->raw_deleter(), data.device());
		native->recordStream(alias, stream);
		alias.release_context();
	}

	void init(int count) override
	{
		native->init(count);
		for (int i = static_cast<int>(devices.size()); i < count; i++)
			devices.push_back(std::make_unique<device>());
	}

	bool initialized() override
	{
		return !devices.empty();
	}

	void enable(bool value) override
	{
		native->enable(value);
	}

	bool isEnabled() const override
	{
		return native->isEnabled();
	}

	std::string name() override
	{
		return "mam";
	}

	void emptyCache(Id id = { 0, 0 }) override
	{
		empty_cache(id);
	}

	/* Convolutions choose their workspace by this: the largest block that is free, or could be. */
	void cacheInfo(DeviceIndex index, size_t *largest) override
	{
		size_t total;
		mam_pool *pool;

		if (*largest == 0)
			C10_CUDA_CHECK(cudaMemGetInfo(largest, &total));
		if (of(index).is_used && mam_pool_default(index, &pool) == MAM_OK)
			*largest = std::max<size_t>(*largest, stats_of(pool).largest_free_bytes);
	}

	void *getBaseAllocation(void *address, size_t *bytes) override
	{
		if (!find(address).bytes)
			return native->getBaseAllocation(address, bytes);
		const auto chunk = chunk_of(address);
		if (bytes)
			*bytes = chunk.chunk_bytes;
		return chunk.chunk_base;
	}

	double getMemoryFraction(DeviceIndex index)
	{
		std::lock_guard guard(lock);
		return fraction_of(of(index));
	}

	void setMemoryFraction(double fraction, DeviceIndex index) override
	{
		set_fraction(fraction, index);
		native->setMemoryFraction(fraction, index);
	}

	SegmentSizes getExpandableSegmentSizes(DeviceIndex index)
	{
		return segment_sizes(native, index);
	}

	/* Statistics */

	Stats getDeviceStats(DeviceIndex index) override
	{
		Stats result = merge_native(index);

		observe(index);
		std::lock_guard guard(lock);
		const Stats &own = of(index).stats;
		result.allocation = own.allocation;
		result.active = own.active;
		result.allocated_bytes = own.allocated_bytes;
		result.active_bytes = own.active_bytes;
		result.requested_bytes = own.requested_bytes;
		result.segment = own.segment;
		result.reserved_bytes = own.reserved_bytes;
		merge(result.inactive_split, own.inactive_split, {});
		merge(result.inactive_split_bytes, own.inactive_split_bytes, {});
		result.num_alloc_retries += own.num_alloc_retries;
		result.num_ooms += own.num_ooms;
		result.num_device_alloc = own.num_device_alloc;
		result.num_device_free = own.num_device_free;
		return result;
	}

	template <class F> void reset(DeviceIndex index, F each)
	{
		merge_native(index);
		observe(index);
		std::lock_guard guard(lock);
		Stats &own = of(index).stats;
		for (auto *array :
		     { &own.allocation, &own.active, &own.allocated_bytes, &own.active_bytes,
		       &own.requested_bytes, &own.segment, &own.reserved_bytes, &own.inactive_split,
		       &own.inactive_split_bytes })
			for (auto &stat : *array)
				each(stat);
	}

	void resetAccumulatedStats(DeviceIndex index) override
	{
		reset(index, [](auto &stat) { stat.allocated = stat.freed = 0; });
		std::lock_guard order(merging);
		native->resetAccumulatedStats(index);
		const Stats now = native->getDeviceStats(index);
		std::lock_guard guard(lock);
		Stats &own = of(index).stats;
		of(index).merged = now;
		own.num_alloc_retries = own.num_ooms = own.num_device_alloc = own.num_device_free =
			0;
	}

	void resetPeakStats(DeviceIndex index) override
	{
		reset(index, [](auto &stat) { stat.peak = stat.current; });
		native->resetPeakStats(index);
	}

	/* Snapshots and histories */

	interface::SnapshotInfo take_snapshot(Id id, bool has_traces)
	{
		interface::SnapshotInfo result = [&](auto *torch) {
			if constexpr (requires { torch->snapshot(id, has_traces); })
				return torch->snapshot(id, has_traces);
			else if constexpr (requires { torch->snapshot(id); })
				return torch->snapshot(id);
			else
				return torch->snapshot();
		}(native);
		const auto to_ns = clock.makeConverter();

		if (id != Id{ 0, 0 })
			return result;
		for (size_t i = 0; i < devices.size(); i++) {
			const auto index = static_cast<DeviceIndex>(i);

			trace_chunks(index);
			describe(index, result.segments);
			if (!has_traces || i >= result.device_traces.size())
				continue;
			auto &entries = result.device_traces[i];
			const auto middle = static_cast<ptrdiff_t>(entries.size());
			std::lock_guard guard(lock);
			for (TraceEntry entry : devices[i]->trace) {
				entry.time_.t_ = to_ns(entry.time_.approx_t_) / 1000;
				entries.push_back(std::move(entry));
			}
			std::inplace_merge(entries.begin(), entries.begin() + middle, entries.end(),
					   [](const TraceEntry &a, const TraceEntry &b) {
						   return a.time_.t_ < b.time_.t_;
					   });
			if (entries.size() > trace_max())
				entries.erase(entries.begin(),
					      entries.end() - static_cast<ptrdiff_t>(trace_max()));
		}
		std::sort(result.segments.begin(), result.segments.end(),
			  [](const auto &a, const auto &b) { return a.address < b.address; });
		return result;
	}

	interface::SnapshotInfo snapshot(Id id = { 0, 0 }, bool has_traces = true)
	{
		return take_snapshot(id, has_traces);
	}

	interface::SnapshotInfo snapshot(Id id)
	{
		return take_snapshot(id, true);
	}

	Context getContextForPointer(const void *address)
	{
		const block block = find(address);

		return [&](auto *torch) {
			if constexpr (requires { torch->getContextForPointer(address); })
				if (!block.bytes)
					return torch->getContextForPointer(address);
			return block.context;
		}(native);
	}

	void attachOutOfMemoryObserver(interface::OutOfMemoryObserver observer) override
	{
		native->attachOutOfMemoryObserver(observer);
		observers.push_back(std::move(observer));
	}

	void
	attachOomRejectionObserver(std::function<void(int64_t, size_t, size_t, size_t)> observer)
	{
		NATIVE(attachOomRejectionObserver(observer));
	}

	/* Private pools */

	void beginAllocateToPool(DeviceIndex index, Id id, Filter filter) override
	{
		device &d = of(index);
		bool is_new;

		{
			std::lock_guard guard(lock);
			is_new = d.uses.count(id) == 0;
		}
		if (is_new && serves_private())
			native->createOrIncrefPool(index, id, argument());
		native->beginAllocateToPool(index, id, filter);
		if (is_new && serves_private())
			native->releasePool(index, id);
		std::lock_guard guard(lock);
		d.uses[id]++;
		d.captures.push_back({ id, std::move(filter) });
		d.has_captures = true;
	}

	void endAllocateToPool(DeviceIndex index, Id id) override
	{
		device &d = of(index);

		native->endAllocateToPool(index, id);
		std::lock_guard guard(lock);
		const auto found = std::find_if(d.captures.begin(), d.captures.end(),
						[&](const capture &c) { return c.id == id; });
		if (found != d.captures.end())
			d.captures.erase(found);
		d.has_captures = !d.captures.empty();
	}

	void markCaptureBegin(DeviceIndex index)
	{
		NATIVE(markCaptureBegin(index));
	}

	void markCaptureEnd(DeviceIndex index)
	{
		NATIVE(markCaptureEnd(index));
	}

	void releasePool(DeviceIndex index, Id id) override
	{
		native->releasePool(index, id);
		std::lock_guard guard(lock);
		device &d = of(index);
		if (--d.uses[id] <= 0) {
			d.uses.erase(id);
			d.spare.erase(id);
		}
	}

	int getPoolUseCount(DeviceIndex index, Id id) override
	{
		return native->getPoolUseCount(index, id);
	}

	void createOrIncrefPool(DeviceIndex index, Id id, PoolAllocator allocator) override
	{
		bool is_new;

		{
			std::lock_guard guard(lock);
			is_new = of(index).uses[id]++ == 0;
		}
		if (is_new && serves_private() && (!allocator || &*allocator == this))
			allocator = argument();
		native->createOrIncrefPool(index, id, std::move(allocator));
	}

	void setUseOnOOM(DeviceIndex index, Id id, bool value)
	{
		std::lock_guard guard(lock);
		if (value)
			of(index).spare.insert(id);
		else
			of(index).spare.erase(id);
	}

	void setUseOnOOM(DeviceIndex index, Id id)
	{
		setUseOnOOM(index, id, true);
	}

	void setNoSplit(DeviceIndex index, Id id)
	{
		NATIVE(setNoSplit(index, id));
	}

	bool checkPoolLiveAllocations(DeviceIndex index, Id id,
				      const std::unordered_set<void *> &expected) override
	{
		return native->checkPoolLiveAllocations(index, id, expected);
	}

	std::shared_ptr<interface::AllocatorState> getCheckpointState(DeviceIndex index,
								      Id id) override
	{
		return native->getCheckpointState(index, id);
	}

	interface::CheckpointDelta
	setCheckpointPoolState(DeviceIndex index,
			       std::shared_ptr<interface::AllocatorState> state) override
	{
		auto delta = native->setCheckpointPoolState(index, std::move(state));

		{
			std::lock_guard guard(lock);
			for (void *address : delta.ptrs_freed)
				blocks.erase(address);
		}
		for (DataPtr &data : delta.dataptrs_allocd)
			adopt(data, index);
		merge_native(index);
		return delta;
	}

	DataPtr allocateWithAddress(size_t bytes, void *address)
	{
		DataPtr data = [&](auto *torch) {
			if constexpr (requires { torch->allocateWithAddress(bytes, address); })
				return torch->allocateWithAddress(bytes, address);
			return DataPtr();
		}(native);

		adopt(data, data.device().index());
		merge_native(data.device().index());
		return data;
	}

	/* Other devices and processes */

	interface::ShareableHandle shareIpcHandle(void *address) override
	{
		cudaIpcMemHandle_t handle;

		if (!find(address).bytes)
			return native->shareIpcHandle(address);
		const auto chunk = chunk_of(address);
		const cudaError_t error = cudaIpcGetMemHandle(&handle, chunk.chunk_base);
		if (error != cudaSuccess)
			(void)cudaGetLastError();
		TORCH_CHECK(error == cudaSuccess,
			    "mam: the driver has no IPC handle for this memory (",
			    cudaGetErrorString(error),
			    "): call mam.torch.enable(source=\"cudamalloc\")");
		return { static_cast<char *>(address) - static_cast<char *>(chunk.chunk_base),
			 "mam" + std::string(reinterpret_cast<char *>(&handle), sizeof(handle)) };
	}

	/* An open handle is shared by all that import it, and closed with the last of them. */
	std::shared_ptr<void> getIpcDevPtr(std::string text) override
	{
		cudaIpcMemHandle_t handle;
		DeviceIndex index = 0;
		void *address;

		if (text.size() != 3 + sizeof(handle) || text.compare(0, 3, "mam") != 0)
			return native->getIpcDevPtr(std::move(text));
		std::lock_guard guard(lock);
		if (auto open = imports[text].lock())
			return open;
		text.copy(reinterpret_cast<char *>(&handle), sizeof(handle), 3);
		C10_CUDA_CHECK(c10::cuda::GetDevice(&index));
		C10_CUDA_CHECK(
			cudaIpcOpenMemHandle(&address, handle, cudaIpcMemLazyEnablePeerAccess));
		std::shared_ptr<void> open(address, [this, text, index](void *opened) {
			try {
				const c10::cuda::CUDAGuard on(index);

				C10_CUDA_CHECK_WARN(cudaIpcCloseMemHandle(opened));
			} catch (const c10::Error &) {
				return; /* the process ends */
			}
			std::lock_guard guard(lock);
			const auto found = imports.find(text);
			if (found != imports.end() && found->second.expired())
				imports.erase(found);
		});
		imports[text] = open;
		return open;
	}

	void enablePeerAccess(DeviceIndex index, DeviceIndex peer) override
	{
		native->enablePeerAccess(index, peer);
	}

	/* Mapped memory can be copied without peer access only by the call for peers. */
	cudaError_t memcpyAsync(void *to, int to_index, const void *from, int from_index,
				size_t bytes, cudaStream_t stream, bool has_peer_access) override
	{
		if (has_peer_access || to_index == from_index)
			return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
		return cudaMemcpyPeerAsync(to, to_index, from, from_index, bytes, stream);
	}
};

/* Never destroyed: tensors may be freed while the process exits. */
std::shared_ptr<Allocator> *allocator;

void delete_block(void *address)
{
	(*allocator)->raw_delete(address);
}

} // namespace

/*
 * For ctypes: make mam the allocator, or PyTorch's own again. NULL, or the error, which is valid until
 * the thread's next call.
 */
extern "C" C10_EXPORT const char *mam_torch_use(int is_mam)
{
	using torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator;
	static thread_local std::string error;

	try {
		if (!allocator)
			allocator = new std::shared_ptr<Allocator>(
				std::make_shared<Allocator>(interface::get()));
		std::shared_ptr<Base> used = *allocator;
		if (!is_mam)
			used = std::shared_ptr<Base>((*allocator)->native_allocator(),
						     [](Base *) {});
		changeCurrentAllocator(used);
		c10::SetAllocator(c10::kCUDA, used.get(), UINT8_MAX); /* torch.accelerator */
		return nullptr;
	} catch (const c10::Error &caught) {
		error = caught.what_without_backtrace();
	} catch (const std::exception &caught) {
		error = caught.what();
	}
	return error.c_str();
}
