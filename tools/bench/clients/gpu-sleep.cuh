/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-sleep.cuh - what the parts of gpu-sleep.cu share: the driver's functions with the time that mam
 * spends in them, rows of results, and blocks whose words kernels fill and check.
 */
#ifndef GPU_SLEEP_CUH
#define GPU_SLEEP_CUH

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

#include <mam/mam.h>
#include <mam/pools.h>
#include <mam/stats.h>

static const size_t MIB = (size_t)1 << 20, GIB = (size_t)1 << 30;

static void fail(const char *what, const char *why)
{
	fflush(stdout);
	fprintf(stderr, "gpu-sleep: error: %s: %s\n", what, why);
	_exit(2);
}

#define CHECK(call)                                               \
	do {                                                      \
		cudaError_t result_ = (call);                     \
		if (result_ != cudaSuccess)                       \
			fail(#call, cudaGetErrorString(result_)); \
	} while (0)
#define CHECK_MAM(call)                                     \
	do {                                                \
		enum mam_status status_ = (call);           \
		if (status_ != MAM_OK)                      \
			fail(#call, mam_strerror(status_)); \
	} while (0)
#define CHECK_CU(call)                                                \
	do {                                                          \
		CUresult answer_ = (call);                            \
		if (answer_ != CUDA_SUCCESS)                          \
			fail(#call, std::to_string(answer_).c_str()); \
	} while (0)

static double now_ms()
{
	using namespace std::chrono;
	return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

/* --- The driver's functions, with the time that mam spends in them ------------------------------------------------ */

struct counter {
	const char *symbol, *name;
	void *real;
	std::atomic<uint64_t> calls, ns;
};

enum {
	PIN,
	REGISTER,
	UNPIN,
	UNREGISTER,
	CREATE,
	MAP,
	ACCESS,
	UNMAP,
	RELEASE,
	READ,
	WRITE,
	WAIT,
	EVENT,
	QUIESCE,
	COUNTERS
};

static counter counters[COUNTERS] = {
	{ "cuMemHostAlloc", "pin" },
	{ "cuMemHostRegister_v2", "register" },
	{ "cuMemFreeHost", "unpin" },
	{ "cuMemHostUnregister", "unregister" },
	{ "cuMemCreate", "create" },
	{ "cuMemMap", "map" },
	{ "cuMemSetAccess", "set_access" },
	{ "cuMemUnmap", "unmap" },
	{ "cuMemRelease", "release" },
	{ "cuMemcpyDtoHAsync_v2", "submit_read" },
	{ "cuMemcpyHtoDAsync_v2", "submit_write" },
	{ "cuStreamSynchronize", "wait" },
	{ "cuEventSynchronize", "event_wait" },
	{ "cuCtxSynchronize", "quiesce" },
};

template <int AT, class... A> static CUresult counted(A... arguments)
{
	auto began = std::chrono::steady_clock::now();
	CUresult result = ((CUresult(*)(A...))counters[AT].real)(arguments...);

	counters[AT].ns +=
		std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
	counters[AT].calls++;
	return result;
}

typedef CUdeviceptr device_address;
typedef unsigned long long word;

static void *const wrappers[COUNTERS] = {
	(void *)counted<PIN, void **, size_t, unsigned>,
	(void *)counted<REGISTER, void *, size_t, unsigned>,
	(void *)counted<UNPIN, void *>,
	(void *)counted<UNREGISTER, void *>,
	(void *)counted<CREATE, word *, size_t, const void *, word>,
	(void *)counted<MAP, device_address, size_t, size_t, word, word>,
	(void *)counted<ACCESS, device_address, size_t, const void *, size_t>,
	(void *)counted<UNMAP, device_address, size_t>,
	(void *)counted<RELEASE, word>,
	(void *)counted<READ, void *, device_address, size_t, CUstream>,
	(void *)counted<WRITE, device_address, const void *, size_t, CUstream>,
	(void *)counted<WAIT, CUstream>,
	(void *)counted<EVENT, CUevent>,
	(void *)counted<QUIESCE>,
};

static void *real_dlsym(void *library, const char *symbol)
{
	static void *(*real)(void *, const char *);

	for (const char *version : { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17" })
		if (!real)
			real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", version);
	return real(library, symbol);
}

extern "C" __attribute__((visibility("default"))) void *dlsym(void *library,
							      const char *symbol) noexcept
{
	void *found = real_dlsym(library, symbol);

	for (int i = 0; i < COUNTERS && found; i++)
		if (strcmp(symbol, counters[i].symbol) == 0) {
			counters[i].real = found;
			return wrappers[i];
		}
	return found;
}

static void reset_counters()
{
	for (counter &c : counters)
		c.calls = c.ns = 0;
}

/* --- Rows --------------------------------------------------------------------------------------------------------- */

static struct {
	size_t bytes = 64 * GIB;
	std::string to = "host";
	int repeat = 3;
	double seconds = 60;
	double to_host = 0, to_device = 0; /* GB/s of cudaMemcpy, if measured before */
} options;

static int wrong_runs;

static void row(const char *workload, const std::string &parameter, const std::string &metric,
		double value)
{
	printf("%s,%s,%s,%.6g\n", workload, parameter.c_str(), metric.c_str(), value);
	fflush(stdout);
}

static std::string text_of(size_t bytes)
{
	return bytes >= GIB ? std::to_string(bytes / GIB) + " GiB"
			    : std::to_string(bytes / MIB) + " MiB";
}

static double gbps(size_t bytes, double ms)
{
	return (double)bytes / 1e6 / ms;
}

static double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values.empty() ? 0 : values[values.size() / 2];
}

static size_t free_device_bytes()
{
	size_t free_bytes, total;

	CHECK(cudaMemGetInfo(&free_bytes, &total));
	return free_bytes;
}

static double host_available_gib()
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[200];
	double kib = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lf", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib / (1 << 20);
}

static void in_threads(int threads, const std::function<void(int)> &work)
{
	std::vector<std::thread> all;

	for (int i = 0; i < threads; i++)
		all.emplace_back([&, i] { work(i); });
	for (std::thread &thread : all)
		thread.join();
}

/* --- Patterns ----------------------------------------------------------------------------------------------------- */

__host__ __device__ static inline word word_of(word mark, size_t i)
{
	word x = (mark + i) * 0x9e3779b97f4a7c15ull;

	return x ^ (x >> 29);
}

__global__ static void fill(word *block, size_t words, word mark)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words;
	     i += (size_t)gridDim.x * blockDim.x)
		block[i] = word_of(mark, i);
}

__global__ static void verify(const word *block, size_t words, word mark, word *wrong)
{
	word found = 0;

	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words;
	     i += (size_t)gridDim.x * blockDim.x)
		found += block[i] != word_of(mark, i);
	if (found)
		atomicAdd(wrong, found);
}

struct block {
	word *at;
	size_t bytes;
	word mark;
};

static unsigned grid_of(size_t bytes)
{
	return (unsigned)std::min<size_t>(2048, bytes / 8 / 256 + 1);
}

static void fill_block(const block &b, cudaStream_t stream)
{
	fill<<<grid_of(b.bytes), 256, 0, stream>>>(b.at, b.bytes / 8, b.mark);
	CHECK(cudaGetLastError());
}

static void verify_block(const block &b, word *wrong, cudaStream_t stream)
{
	verify<<<grid_of(b.bytes), 256, 0, stream>>>(b.at, b.bytes / 8, b.mark, wrong);
	CHECK(cudaGetLastError());
}

/* Words that differ, counted by kernels into memory that is never suspended. */
class checker
{
	word *wrong;

      public:
	cudaStream_t stream;

	checker()
	{
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		CHECK(cudaMalloc((void **)&wrong, sizeof(*wrong)));
		take();
	}
	word *counter_address()
	{
		return wrong;
	}
	/* Wait, and return the count since the last call. */
	word take()
	{
		word found = 0;

		CHECK(cudaMemcpyAsync(&found, wrong, sizeof(found), cudaMemcpyDeviceToHost,
				      stream));
		CHECK(cudaMemsetAsync(wrong, 0, sizeof(*wrong), stream));
		CHECK(cudaStreamSynchronize(stream));
		return found;
	}
};

static mam_pool *new_pool(const char *name)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	mam_pool *pool;

	attr.source = "vmm";
	attr.name = name;
	CHECK_MAM(mam_pool_create(&attr, &pool));
	return pool;
}

static struct mam_stats stats_of(mam_pool *pool)
{
	struct mam_stats stats = {};

	stats.size = sizeof(stats);
	CHECK_MAM(mam_pool_stats(pool, &stats));
	return stats;
}

/* Sizes as of a model's weights: a few large ones, many of a few dozen MiB, and small ones. */
static std::vector<block> fill_pool(mam_pool *pool, size_t bytes, cudaStream_t stream)
{
	static const size_t sizes[] = { 512 * MIB, 112 * MIB, 32 * MIB,  224 * MIB,
					32 * MIB,  112 * MIB, 128 << 10, 64 * MIB };
	std::vector<block> blocks;

	for (size_t i = 0, sum = 0; sum < bytes; i++) {
		size_t size = std::min(sizes[i % 8], bytes - sum);
		void *at;

		CHECK_MAM(mam_malloc(pool, size, &at));
		blocks.push_back({ (word *)at, size, (i + 1) * 1000003 });
		fill_block(blocks.back(), stream);
		sum += size;
	}
	CHECK(cudaStreamSynchronize(stream));
	return blocks;
}

#endif
