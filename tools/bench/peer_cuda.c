/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_cuda.c - CUDA's own allocators as peers: cudaMalloc and cudaMallocAsync.
 *
 * Everything is found at run time, so that the bench builds without a toolkit and runs without a
 * GPU. The driver, libcuda.so.1, gives the context, the stream and the names. The timed calls go
 * through libcudart where one is found and works on this driver, as programs' calls do, else
 * through the driver functions beneath it. The two share the device's primary context, and a stream
 * of one is a stream of the other.
 */
#include <dlfcn.h>

#include "bench.h"

#define ATTRIBUTE_RELEASE_THRESHOLD 4 /* cudaMemPoolAttrReleaseThreshold and its driver twin */
#define STREAM_NON_BLOCKING 1

typedef unsigned long long address_t; /* CUdeviceptr */

static struct {
	int (*init)(unsigned int flags);
	int (*device_get)(int *device, int ordinal);
	int (*device_name)(char *name, int bytes, int device);
	int (*driver_version)(int *version);
	int (*context_retain)(void **context, int device);
	int (*context_set)(void *context);
	int (*memory_info)(size_t *free_bytes, size_t *total_bytes);
	int (*stream_create)(void **stream, unsigned int flags);
	int (*stream_wait)(void *stream);
	int (*alloc)(address_t *block, size_t bytes);
	int (*release)(address_t block);
	/* since CUDA 11.2; NULL before */
	int (*alloc_async)(address_t *block, size_t bytes, void *stream);
	int (*release_async)(address_t block, void *stream);
	int (*default_pool)(void **pool, int device);
	int (*pool_set)(void *pool, int attribute, void *value);
	int (*pool_trim)(void *pool, size_t keep_bytes);
} driver;

static struct {
	int (*alloc)(void **block, size_t bytes);
	int (*release)(void *block);
	int (*alloc_async)(void **block, size_t bytes, void *stream);
	int (*release_async)(void *block, void *stream);
} runtime;

static const struct entry {
	const char *name;
	void *target; /* address of a function pointer above */
	bool needed;
} driver_entries[] = {
	{ "cuInit", &driver.init, true },
	{ "cuDeviceGet", &driver.device_get, true },
	{ "cuDeviceGetName", &driver.device_name, true },
	{ "cuDriverGetVersion", &driver.driver_version, true },
	{ "cuDevicePrimaryCtxRetain", &driver.context_retain, true },
	{ "cuCtxSetCurrent", &driver.context_set, true },
	{ "cuMemGetInfo_v2", &driver.memory_info, true },
	{ "cuStreamCreate", &driver.stream_create, true },
	{ "cuStreamSynchronize", &driver.stream_wait, true },
	{ "cuMemAlloc_v2", &driver.alloc, true },
	{ "cuMemFree_v2", &driver.release, true },
	{ "cuMemAllocAsync", &driver.alloc_async, false },
	{ "cuMemFreeAsync", &driver.release_async, false },
	{ "cuDeviceGetDefaultMemPool", &driver.default_pool, false },
	{ "cuMemPoolSetAttribute", &driver.pool_set, false },
	{ "cuMemPoolTrimTo", &driver.pool_trim, false },
}, runtime_entries[] = {
	{ "cudaMalloc", &runtime.alloc, true },
	{ "cudaFree", &runtime.release, true },
	{ "cudaMallocAsync", &runtime.alloc_async, false },
	{ "cudaFreeAsync", &runtime.release_async, false },
};

static const char *const runtime_files[] = { "libcudart.so.13", "libcudart.so.12",
					     "libcudart.so.11.0" };

static void *context, *stream, *pool;
static int ready; /* 0: not tried, 1: yes, -1: no */
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

/* Is there a libcudart that works on this driver? It is tried with one small block. */
static bool load_runtime(void)
{
	size_t i;

	for (i = 0; i < sizeof(runtime_files) / sizeof(runtime_files[0]); i++) {
		void *handle = dlopen(runtime_files[i], RTLD_NOW | RTLD_LOCAL), *block = NULL;

		if (handle == NULL)
			continue;
		if (load(handle, runtime_entries,
			 sizeof(runtime_entries) / sizeof(runtime_entries[0])) &&
		    runtime.alloc(&block, 256) == 0 && runtime.release(block) == 0)
			return true;
		/* A runtime that has started is not unloaded: it may have left handlers behind. */
	}
	return false;
}

static bool start(void)
{
	void *handle;
	int device;

	if (ready != 0)
		return ready > 0;
	ready = -1;
	handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		snprintf(why_not, sizeof(why_not), "no CUDA driver (libcuda.so.1) on this machine");
		return false;
	}
	if (!load(handle, driver_entries, sizeof(driver_entries) / sizeof(driver_entries[0]))) {
		snprintf(why_not, sizeof(why_not), "the CUDA driver is too old");
		return false;
	}
	if (driver.init(0) != 0 || driver.device_get(&device, 0) != 0 ||
	    driver.context_retain(&context, device) != 0 || driver.context_set(context) != 0 ||
	    driver.stream_create(&stream, STREAM_NON_BLOCKING) != 0) {
		snprintf(why_not, sizeof(why_not), "the CUDA driver has no device that works");
		return false;
	}
	if (driver.default_pool != NULL && driver.default_pool(&pool, device) != 0)
		pool = NULL;
	by_runtime = load_runtime();
	ready = 1;
	return true;
}

bool bench_cuda_facts(char *gpu, size_t gpu_bytes, char *driver_text, size_t driver_bytes)
{
	int (*nvml_init)(void), (*nvml_version)(char *version, unsigned int bytes), version = 0;
	void *nvml;

	if (!start() || driver.device_name(gpu, (int)gpu_bytes, 0) != 0)
		return false;
	if (driver.driver_version(&version) != 0)
		version = 0;
	snprintf(driver_text, driver_bytes, "for CUDA %d.%d", version / 1000, version % 1000 / 10);
	nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (nvml == NULL)
		return true;
	*(void **)&nvml_init = dlsym(nvml, "nvmlInit_v2");
	*(void **)&nvml_version = dlsym(nvml, "nvmlSystemGetDriverVersion");
	if (nvml_init != NULL && nvml_version != NULL && nvml_init() == 0 &&
	    nvml_version(driver_text, (unsigned int)driver_bytes) != 0)
		snprintf(driver_text, driver_bytes, "for CUDA %d.%d", version / 1000,
			 version % 1000 / 10);
	return true;
}

size_t bench_cuda_free_bytes(void)
{
	size_t free_bytes = 0, total_bytes = 0;

	if (!start() || driver.memory_info(&free_bytes, &total_bytes) != 0)
		return 0;
	return free_bytes;
}

bool bench_cuda_probe(struct bench_peer *peer, char *why, size_t why_bytes)
{
	if (!start()) {
		snprintf(why, why_bytes, "%s", why_not);
		return false;
	}
	peer->ground_bytes = bench_cuda_free_bytes() / 2;
	return true;
}

bool bench_cuda_probe_async(struct bench_peer *peer, char *why, size_t why_bytes)
{
	void *block = NULL;

	if (!bench_cuda_probe(peer, why, why_bytes))
		return false;
	if (driver.alloc_async == NULL || driver.release_async == NULL || driver.pool_set == NULL ||
	    driver.pool_trim == NULL || pool == NULL) {
		snprintf(why, why_bytes,
			 "this driver or device has no stream-ordered memory pools");
		return false;
	}
	if (by_runtime && (runtime.alloc_async == NULL || runtime.release_async == NULL))
		by_runtime = false;
	if (!bench_cuda_open_async(peer) || (block = bench_cuda_alloc_async(peer, 256)) == NULL) {
		snprintf(why, why_bytes, "its first allocation was refused");
		return false;
	}
	bench_cuda_release_async(peer, block);
	bench_cuda_close(peer);
	return true;
}

bool bench_cuda_open(struct bench_peer *peer)
{
	(void)peer;
	return driver.context_set(context) == 0;
}

/* variant 1 keeps what is freed for ever; 0 gives it back at the next synchronisation, as by
 * default */
bool bench_cuda_open_async(struct bench_peer *peer)
{
	uint64_t threshold = peer->variant ? UINT64_MAX : 0;

	return bench_cuda_open(peer) && driver.pool_trim(pool, 0) == 0 &&
	       driver.pool_set(pool, ATTRIBUTE_RELEASE_THRESHOLD, &threshold) == 0;
}

void bench_cuda_settle(struct bench_peer *peer)
{
	(void)peer;
	driver.stream_wait(stream);
}

void bench_cuda_close(struct bench_peer *peer)
{
	bench_cuda_settle(peer);
	if (pool != NULL && driver.pool_trim != NULL)
		driver.pool_trim(pool, 0);
}

void bench_cuda_enter_thread(struct bench_peer *peer)
{
	(void)peer;
	driver.context_set(context);
}

void *bench_cuda_alloc(struct bench_peer *peer, size_t bytes)
{
	void *block = NULL;
	address_t address = 0;

	(void)peer;
	if (by_runtime)
		return runtime.alloc(&block, bytes) == 0 ? block : NULL;
	return driver.alloc(&address, bytes) == 0 ? (void *)(uintptr_t)address : NULL;
}

void bench_cuda_release(struct bench_peer *peer, void *block)
{
	(void)peer;
	if (by_runtime)
		runtime.release(block);
	else
		driver.release((address_t)(uintptr_t)block);
}

void *bench_cuda_alloc_async(struct bench_peer *peer, size_t bytes)
{
	void *block = NULL;
	address_t address = 0;

	(void)peer;
	if (by_runtime)
		return runtime.alloc_async(&block, bytes, stream) == 0 ? block : NULL;
	return driver.alloc_async(&address, bytes, stream) == 0 ? (void *)(uintptr_t)address : NULL;
}

void bench_cuda_release_async(struct bench_peer *peer, void *block)
{
	(void)peer;
	if (by_runtime)
		runtime.release_async(block, stream);
	else
		driver.release_async((address_t)(uintptr_t)block, stream);
}
