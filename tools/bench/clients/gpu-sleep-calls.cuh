/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-sleep-calls.cuh - the calls of the driver that a suspend and a resume are made of, without mam:
 * pinning host memory in several ways, and mapping and unmapping pieces, also while a copy runs.
 */
#ifndef GPU_SLEEP_CALLS_CUH
#define GPU_SLEEP_CALLS_CUH

#include "gpu-sleep.cuh"

static void *map_host(size_t bytes, int advice)
{
	void *at = mmap(NULL, bytes + 2 * MIB, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		fail("mmap", "no room");
	at = (void *)(((uintptr_t)at + 2 * MIB - 1) & ~(uintptr_t)(2 * MIB - 1));
	madvise(at, bytes, advice);
	return at;
}

static void touch(char *at, size_t bytes)
{
	if (madvise(at, bytes, 23 /* MADV_POPULATE_WRITE */) == 0)
		return;
	for (size_t i = 0; i < bytes; i += 4096)
		((volatile char *)at)[i] = 0;
}

static void copy_both(const char *parameter, void *host, size_t bytes, void *device)
{
	double began = now_ms();

	CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
	row("pinning", parameter, "to_host_gbps", gbps(bytes, now_ms() - began));
	began = now_ms();
	CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
	CHECK(cudaDeviceSynchronize());
	row("pinning", parameter, "to_device_gbps", gbps(bytes, now_ms() - began));
}

static void pin_allocated(size_t bytes, int threads, void *device)
{
	const std::string parameter = "cuMemHostAlloc " + std::to_string(threads) + " threads";
	std::vector<void *> parts(threads);
	double began = now_ms();

	in_threads(threads, [&](int i) {
		CHECK(cudaHostAlloc(&parts[i], bytes / threads, cudaHostAllocPortable));
	});
	row("pinning", parameter, "gbps", gbps(bytes, now_ms() - began));
	copy_both(parameter.c_str(), parts[0], bytes / threads, device);
	began = now_ms();
	in_threads(threads, [&](int i) { CHECK(cudaFreeHost(parts[i])); });
	row("pinning", parameter, "free_gbps", gbps(bytes, now_ms() - began));
}

static void pin_registered(size_t bytes, int touching, int registering, size_t part, int advice)
{
	const std::string parameter = std::string(advice == MADV_HUGEPAGE ? "huge" : "small") +
				      " pages: " + std::to_string(touching) + " touch and " +
				      std::to_string(registering) + " register " + text_of(part);
	char *host = (char *)map_host(bytes, advice);
	std::atomic<size_t> next{ 0 };
	double began = now_ms();
	void *device;

	in_threads(touching, [&](int i) { touch(host + bytes / touching * i, bytes / touching); });
	row("pinning", parameter, "touch_gbps", gbps(bytes, now_ms() - began));
	began = now_ms();
	in_threads(registering, [&](int) {
		for (size_t at; (at = next.fetch_add(part)) < bytes;)
			CHECK(cudaHostRegister(host + at, part, cudaHostRegisterPortable));
	});
	row("pinning", parameter, "register_gbps", gbps(bytes, now_ms() - began));
	CHECK(cudaMalloc(&device, part));
	copy_both(parameter.c_str(), host, part, device);
	CHECK(cudaFree(device));
	began = now_ms();
	next = 0;
	in_threads(registering, [&](int) {
		for (size_t at; (at = next.fetch_add(part)) < bytes;)
			CHECK(cudaHostUnregister(host + at));
	});
	row("pinning", parameter, "unregister_gbps", gbps(bytes, now_ms() - began));
	began = now_ms();
	in_threads(touching, [&](int i) { munmap(host + bytes / touching * i, bytes / touching); });
	row("pinning", parameter, "munmap_gbps", gbps(bytes, now_ms() - began));
}

struct mapping {
	CUmemAllocationProp properties = {};
	CUmemAccessDesc access = {};
	CUdeviceptr base = 0;
	size_t bytes, piece;
	std::vector<CUmemGenericAllocationHandle> handles;
	std::string parameter;

	mapping(size_t all, size_t unit, const std::string &name)
	    : bytes(all), piece(unit), handles(all / unit), parameter(name)
	{
		properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		properties.location.id = 0;
		access.location = properties.location;
		access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		CHECK_CU(cuMemAddressReserve(&base, bytes, 0, 0, 0));
	}
	~mapping()
	{
		cuMemAddressFree(base, bytes);
	}
	void each(const char *metric, const std::function<CUresult(size_t)> &call)
	{
		double began = now_ms();

		for (size_t i = 0; i < handles.size(); i++)
			CHECK_CU(call(i));
		row("mapping", parameter, metric,
		    (now_ms() - began) * 1e3 / (double)handles.size());
	}
	void map_all(bool one_access)
	{
		each("create_us",
		     [&](size_t i) { return cuMemCreate(&handles[i], piece, &properties, 0); });
		each("map_us",
		     [&](size_t i) { return cuMemMap(base + i * piece, piece, 0, handles[i], 0); });
		if (one_access) {
			double began = now_ms();

			CHECK_CU(cuMemSetAccess(base, bytes, &access, 1));
			row("mapping", parameter, "one_set_access_us_per_piece",
			    (now_ms() - began) * 1e3 / (double)handles.size());
		} else {
			each("set_access_us", [&](size_t i) {
				return cuMemSetAccess(base + i * piece, piece, &access, 1);
			});
		}
	}
	void unmap_all(bool one_unmap)
	{
		if (one_unmap) {
			double began = now_ms();

			CHECK_CU(cuMemUnmap(base, bytes));
			row("mapping", parameter, "one_unmap_us_per_piece",
			    (now_ms() - began) * 1e3 / (double)handles.size());
		} else {
			each("unmap_us",
			     [&](size_t i) { return cuMemUnmap(base + i * piece, piece); });
		}
		each("release_us", [&](size_t i) { return cuMemRelease(handles[i]); });
	}
};

/* Whether mapping and unmapping wait for a copy that runs, and how a copy in pieces compares with one. */
static void beside_copies(size_t bytes, size_t piece)
{
	cudaStream_t stream, second;
	void *host, *device;
	double began, alone;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	CHECK(cudaHostAlloc(&host, bytes, cudaHostAllocPortable));
	CHECK(cudaMalloc(&device, bytes));
	auto copy = [&](cudaMemcpyKind kind) {
		CHECK(cudaMemcpyAsync(kind == cudaMemcpyDeviceToHost ? host : device,
				      kind == cudaMemcpyDeviceToHost ? device : host, bytes, kind,
				      stream));
	};
	for (cudaMemcpyKind kind : { cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice }) {
		const std::string way = kind == cudaMemcpyDeviceToHost ? "to host" : "to device";

		copy(kind);
		CHECK(cudaStreamSynchronize(stream));
		began = now_ms();
		copy(kind);
		CHECK(cudaStreamSynchronize(stream));
		alone = now_ms() - began;
		row("beside", way, "copy_alone_ms", alone);
		for (int streams : { 1, 2 }) {
			began = now_ms();
			for (size_t at = 0; at < bytes; at += piece)
				CHECK(cudaMemcpyAsync(
					(char *)(kind == cudaMemcpyDeviceToHost ? host : device) +
						at,
					(char *)(kind == cudaMemcpyDeviceToHost ? device : host) +
						at,
					piece, kind,
					streams == 2 && at / piece % 2 ? second : stream));
			row("beside", way,
			    "submit_pieces_" + std::to_string(streams) + "_streams_ms",
			    now_ms() - began);
			CHECK(cudaStreamSynchronize(stream));
			CHECK(cudaStreamSynchronize(second));
			row("beside", way, "copy_pieces_" + std::to_string(streams) + "_streams_ms",
			    now_ms() - began);
		}
		mapping m(bytes, piece, "beside a copy " + way + " of " + text_of(piece));
		copy(kind);
		began = now_ms();
		m.map_all(false);
		row("beside", way, "map_ms", now_ms() - began);
		CHECK(cudaStreamSynchronize(stream));
		row("beside", way, "copy_and_map_ms", now_ms() - began);
		copy(kind);
		began = now_ms();
		m.unmap_all(false);
		row("beside", way, "unmap_ms", now_ms() - began);
		CHECK(cudaStreamSynchronize(stream));
		row("beside", way, "copy_and_unmap_ms", now_ms() - began);
	}
	CHECK(cudaFree(device));
	CHECK(cudaFreeHost(host));
}

static void calls()
{
	size_t bytes = std::min<size_t>(options.bytes, 8 * GIB), few = std::min<size_t>(bytes, GIB);
	void *device;

	CHECK(cudaMalloc(&device, bytes));
	row("machine", "-", "cores", std::thread::hardware_concurrency());
	row("machine", "-", "available_gib", host_available_gib());
	for (size_t piece : { 2 * MIB, 8 * MIB, 64 * MIB, 512 * MIB })
		for (bool one : { false, true }) {
			if (piece > bytes)
				continue;
			mapping m(std::min(bytes, 1024 * piece), piece, text_of(piece));

			m.map_all(one);
			m.unmap_all(one);
		}
	beside_copies(few, 2 * MIB);
	/* The first of them also has the cost of memory that the machine uses for the first time. */
	pin_registered(bytes, 8, 1, bytes, MADV_HUGEPAGE);
	pin_allocated(bytes / 4, 1, device);
	pin_allocated(bytes / 4, 8, device);
	for (int threads : { 1, 8, 16 }) {
		pin_registered(bytes, threads, 1, bytes, MADV_HUGEPAGE);
		pin_registered(bytes, threads, threads, std::min<size_t>(bytes, 256 * MIB),
			       MADV_HUGEPAGE);
	}
	pin_registered(bytes / 4, 8, 8, std::min<size_t>(bytes / 4, 256 * MIB), MADV_NOHUGEPAGE);
	CHECK(cudaFree(device));
}

#endif
