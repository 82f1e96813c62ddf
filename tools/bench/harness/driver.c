/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - loads the CUDA driver and runtime, and keeps a stream busy.
 *
 * The driver, libcuda.so.1, provides the context, the streams and the names. A libcudart is used if
 * one is found that works with this driver. The two share the device's primary context, and a
 * stream of one is a stream of the other.
 */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>

#include "bench/bench.h"

#define STREAM_NON_BLOCKING 1
#define FILL_BYTES ((size_t)64 << 20)

struct bench_driver bench_driver;
struct bench_runtime bench_runtime;

static const struct entry {
	const char *name;
	void *target; /* address of a function pointer above */
	bool needed;
} driver_entries[] = {
	{ "cuInit", &bench_driver.init, true },
	{ "cuDeviceGet", &bench_driver.device_get, true },
	{ "cuDeviceGetName", &bench_driver.device_name, true },
	{ "cuDriverGetVersion", &bench_driver.driver_version, true },
	{ "cuDevicePrimaryCtxRetain", &bench_driver.context_retain, true },
	{ "cuCtxSetCurrent", &bench_driver.context_set, true },
	{ "cuMemGetInfo_v2", &bench_driver.memory_info, true },
	{ "cuStreamCreate", &bench_driver.stream_create, true },
	{ "cuStreamSynchronize", &bench_driver.stream_wait, true },
	{ "cuStreamQuery", &bench_driver.stream_query, true },
	{ "cuMemAlloc_v2", &bench_driver.alloc, true },
	{ "cuMemFree_v2", &bench_driver.release, true },
	{ "cuMemHostAlloc", &bench_driver.alloc_pinned, false },
	{ "cuMemFreeHost", &bench_driver.release_pinned, false },
	{ "cuMemAllocManaged", &bench_driver.alloc_managed, false },
	{ "cuMemAllocAsync", &bench_driver.alloc_async, false },
	{ "cuMemFreeAsync", &bench_driver.release_async, false },
	{ "cuDeviceGetDefaultMemPool", &bench_driver.default_pool, false },
	{ "cuMemPoolSetAttribute", &bench_driver.pool_set, false },
	{ "cuMemPoolGetAttribute", &bench_driver.pool_get, false },
	{ "cuMemPoolTrimTo", &bench_driver.pool_trim, false },
	{ "cuModuleLoadData", &bench_driver.module_load, false },
	{ "cuModuleGetFunction", &bench_driver.module_function, false },
	{ "cuFuncGetAttribute", &bench_driver.function_attribute, false },
	{ "cuDeviceGetAttribute", &bench_driver.device_attribute, false },
	{ "cuOccupancyMaxActiveBlocksPerMultiprocessor", &bench_driver.occupancy, false },
	{ "cuLaunchKernel", &bench_driver.launch, false },
	{ "cuMemsetD8Async", &bench_driver.fill_async, false },
	{ "cuMemcpyHtoDAsync_v2", &bench_driver.copy_in_async, false },
	{ "cuMemcpyDtoHAsync_v2", &bench_driver.copy_out_async, false },
	{ "cuMemcpyDtoDAsync_v2", &bench_driver.copy_async, false },
	{ "cuEventCreate", &bench_driver.event_create, false },
	{ "cuEventRecord", &bench_driver.event_record, false },
	{ "cuEventQuery", &bench_driver.event_query, false },
	{ "cuEventElapsedTime", &bench_driver.event_elapsed, false },
	{ "cuCtxGetLimit", &bench_driver.limit_get, false },
	{ "cuCtxSetLimit", &bench_driver.limit_set, false },
	{ "cuMemAddressReserve", &bench_driver.reserve, false },
	{ "cuMemAddressFree", &bench_driver.unreserve, false },
	{ "cuMemCreate", &bench_driver.create, false },
	{ "cuMemMap", &bench_driver.map, false },
	{ "cuMemSetAccess", &bench_driver.access, false },
	{ "cuMemUnmap", &bench_driver.unmap, false },
	{ "cuMemRelease", &bench_driver.destroy, false },
}, runtime_entries[] = {
	{ "cudaMalloc", &bench_runtime.alloc, true },
	{ "cudaFree", &bench_runtime.release, true },
	{ "cudaHostAlloc", &bench_runtime.alloc_pinned, true },
	{ "cudaFreeHost", &bench_runtime.release_pinned, true },
	{ "cudaMallocManaged", &bench_runtime.alloc_managed, true },
	{ "cudaMallocAsync", &bench_runtime.alloc_async, false },
	{ "cudaFreeAsync", &bench_runtime.release_async, false },
};

static const char *const runtime_files[] = { "libcudart.so.13", "libcudart.so.12",
					     "libcudart.so.11.0" };

/*
 * The kernel of spin.cu as PTX, which the driver's compiler, if present, translates for any GPU.
 * The version is so old that every current driver supports it.
 */
static const char spin_kernel[] = ".version 6.0\n"
				  ".target sm_50\n"
				  ".address_size 64\n"
				  ".visible .entry spin(.param .u64 ns)\n"
				  "{\n"
				  ".reg .pred %p;\n"
				  ".reg .u64 %t<4>;\n"
				  "ld.param.u64 %t3, [ns];\n"
				  "mov.u64 %t1, %globaltimer;\n"
				  "again:\n"
				  "mov.u64 %t2, %globaltimer;\n"
				  "sub.u64 %t2, %t2, %t1;\n"
				  "setp.lt.u64 %p, %t2, %t3;\n"
				  "@%p bra again;\n"
				  "ret;\n"
				  "}\n";

static void *context, *streams[BENCH_STREAMS], *pool, *spin;
static bench_address filled; /* target of fills, if there is no kernel; 0: not tried */
static int ready;            /* 0: not tried, 1: yes, -1: no */
static bool by_runtime;
static char why_not[160];

static bool load(void *handle, const struct entry *entries, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		*(void **)entries[i].target = dlsym(handle, entries[i].name);
		if (*(void **)entries[i].target == NULL && entries[i].needed)
			return false;
	}
	return true;
}

/* Returns true if a libcudart works with this driver. Tries it with one small block. */
static bool load_runtime(void)
{
	size_t i;

	for (i = 0; i < sizeof(runtime_files) / sizeof(runtime_files[0]); i++) {
		void *handle = dlopen(runtime_files[i], RTLD_NOW | RTLD_LOCAL), *block = NULL;

		if (handle == NULL)
			continue;
		if (load(handle, runtime_entries,
			 sizeof(runtime_entries) / sizeof(runtime_entries[0])) &&
		    bench_runtime.alloc(&block, 256) == 0 && bench_runtime.release(block) == 0)
			return true;
		/* A runtime that has started is not unloaded: it may have registered handlers. */
	}
	return false;
}

/* The kernel for all architectures that mam was built for; NULL: it was built without a toolkit. */
static const void *spin_binary(void)
{
#ifdef MAM_HAVE_BENCH_KERNELS
	extern const unsigned char mam_spin_fatbin[];

	return mam_spin_fatbin;
#else
	return NULL;
#endif
}

/* Loaded in advance: a first launch while another kernel runs would wait for that kernel. */
static void load_spin(void)
{
	const void *images[] = { spin_binary(), spin_kernel };
	void *module;
	size_t i;

	if (bench_driver.module_load == NULL || bench_driver.module_function == NULL ||
	    bench_driver.launch == NULL)
		return;
	for (i = 0; spin == NULL && i < sizeof(images) / sizeof(images[0]); i++) {
		if (images[i] == NULL || bench_driver.module_load(&module, images[i]) != 0)
			continue;
		if (bench_driver.module_function(&spin, module, "spin") != 0)
			spin = NULL;
	}
}

static bool start_streams(void)
{
	size_t i;

	for (i = 0; i < BENCH_STREAMS; i++) {
		if (bench_driver.stream_create(&streams[i], STREAM_NON_BLOCKING) != 0)
			return false;
	}
	return true;
}

static bool start(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int device;

	if (handle == NULL) {
		snprintf(why_not, sizeof(why_not), "no CUDA driver (libcuda.so.1) on this machine");
		return false;
	}
	if (!load(handle, driver_entries, sizeof(driver_entries) / sizeof(driver_entries[0]))) {
		snprintf(why_not, sizeof(why_not), "the CUDA driver is too old");
		return false;
	}
	if (bench_driver.init(0) != 0 || bench_driver.device_get(&device, 0) != 0 ||
	    bench_driver.context_retain(&context, device) != 0 ||
	    bench_driver.context_set(context) != 0 || !start_streams()) {
		snprintf(why_not, sizeof(why_not), "the CUDA driver has no device that works");
		return false;
	}
	if (bench_driver.default_pool != NULL && bench_driver.default_pool(&pool, device) != 0)
		pool = NULL;
	by_runtime = load_runtime();
	load_spin();
	return true;
}

bool bench_driver_start(char *why, size_t why_bytes)
{
	if (ready == 0)
		ready = start() ? 1 : -1;
	if (ready < 0)
		snprintf(why, why_bytes, "%s", why_not);
	return ready > 0;
}

bool bench_driver_has_runtime(void)
{
	return by_runtime;
}

bool bench_driver_enter(void)
{
	return bench_driver.context_set(context) == 0;
}

void *bench_driver_stream(size_t which)
{
	return streams[which];
}

void *bench_driver_pool(void)
{
	return pool;
}

bool bench_driver_busy(size_t which, uint64_t ns)
{
	void *parameters[] = { &ns };

	if (spin != NULL)
		return bench_driver.launch(spin, 1, 1, 1, 1, 1, 1, 0, streams[which], parameters,
					   NULL) == 0;
	if (bench_driver.fill_async == NULL)
		return false;
	if (filled == 0 && bench_driver.alloc(&filled, FILL_BYTES) != 0) {
		filled = 0;
		return false;
	}
	return bench_driver.fill_async(filled, 1, FILL_BYTES, streams[which]) == 0;
}
