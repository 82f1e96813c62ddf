/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_cuda.c - CUDA's own allocators as peers: cudaMalloc, cudaMallocAsync, cudaHostAlloc and
 * cudaMallocManaged.
 *
 * The timed calls go through libcudart, as programs' calls do, if it is available, otherwise
 * through the driver functions beneath it (driver.h).
 */
#include <dlfcn.h>

#include "bench/bench.h"
#include "bench/harness/driver.h"

/* of cudaMemPoolAttr and its driver equivalent */
#define ATTRIBUTE_RELEASE_THRESHOLD 4
#define ATTRIBUTE_RESERVED 5
#define ATTRIBUTE_RESERVED_PEAK 6

#define MANAGED_GLOBAL 1 /* any stream may use it */
#define PINNED_MAX (4 * BENCH_GIB)
#define PRIME_BYTES (18 * BENCH_GIB) /* slightly more than workload random's live bytes */

static bool start(void)
{
	char why[160];

	return bench_driver_start(why, sizeof(why));
}

bool bench_cuda_facts(char *gpu, size_t gpu_bytes, char *driver_text, size_t driver_bytes)
{
	int (*nvml_init)(void), (*nvml_version)(char *version, unsigned int bytes), version = 0;
	void *nvml;

	if (!start() || bench_driver.device_name(gpu, (int)gpu_bytes, 0) != 0)
		return false;
	if (bench_driver.driver_version(&version) != 0)
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

	if (!start() || bench_driver.memory_info(&free_bytes, &total_bytes) != 0)
		return 0;
	return free_bytes;
}

bool bench_cuda_probe(struct bench_peer *peer, char *why, size_t why_bytes)
{
	if (!bench_driver_start(why, why_bytes))
		return false;
	peer->space_bytes = bench_cuda_free_bytes() / 2;
	return true;
}

bool bench_cuda_open(struct bench_peer *peer)
{
	(void)peer;
	return bench_driver_enter();
}

void bench_cuda_enter_thread(struct bench_peer *peer)
{
	(void)peer;
	bench_driver_enter();
}

static void *of_address(int error, bench_address address)
{
	return error == 0 ? (void *)(uintptr_t)address : NULL;
}

void *bench_cuda_alloc(struct bench_peer *peer, size_t bytes)
{
	void *block = NULL;
	bench_address address = 0;
	int error;

	(void)peer;
	if (bench_driver_has_runtime())
		return bench_runtime.alloc(&block, bytes) == 0 ? block : NULL;
	error = bench_driver.alloc(&address, bytes);
	return of_address(error, address);
}

void bench_cuda_release(struct bench_peer *peer, void *block, size_t bytes)
{
	(void)bytes;
	(void)peer;
	if (bench_driver_has_runtime())
		bench_runtime.release(block);
	else
		bench_driver.release((bench_address)(uintptr_t)block);
}

/* ---- device-accessible host memory, and managed memory ---- */

bool bench_cuda_probe_pinned(struct bench_peer *peer, char *why, size_t why_bytes)
{
	size_t memory = bench_run_memory();

	if (!bench_cuda_probe(peer, why, why_bytes))
		return false;
	if (bench_driver.alloc_pinned == NULL || bench_driver.release_pinned == NULL) {
		snprintf(why, why_bytes, "this driver has no pinned memory");
		return false;
	}
	peer->space_bytes = memory / 4 < PINNED_MAX ? memory / 4 : PINNED_MAX;
	return true;
}

bool bench_cuda_probe_managed(struct bench_peer *peer, char *why, size_t why_bytes)
{
	void *block;

	if (!bench_cuda_probe(peer, why, why_bytes))
		return false;
	block = bench_driver.alloc_managed != NULL ? bench_cuda_alloc_managed(peer, 256) : NULL;
	if (block == NULL) {
		snprintf(why, why_bytes, "this driver or device has no managed memory");
		return false;
	}
	bench_cuda_release(peer, block, 256);
	if (peer->space_bytes > PINNED_MAX)
		peer->space_bytes = PINNED_MAX;
	return true;
}

void *bench_cuda_alloc_pinned(struct bench_peer *peer, size_t bytes)
{
	void *block = NULL;

	(void)peer;
	if (bench_driver_has_runtime())
		return bench_runtime.alloc_pinned(&block, bytes, 0) == 0 ? block : NULL;
	return bench_driver.alloc_pinned(&block, bytes, 0) == 0 ? block : NULL;
}

void bench_cuda_release_pinned(struct bench_peer *peer, void *block, size_t bytes)
{
	(void)bytes;
	(void)peer;
	if (bench_driver_has_runtime())
		bench_runtime.release_pinned(block);
	else
		bench_driver.release_pinned(block);
}

void *bench_cuda_alloc_managed(struct bench_peer *peer, size_t bytes)
{
	void *block = NULL;
	bench_address address = 0;
	int error;

	(void)peer;
	if (bench_driver_has_runtime())
		return bench_runtime.alloc_managed(&block, bytes, MANAGED_GLOBAL) == 0 ? block
										       : NULL;
	error = bench_driver.alloc_managed(&address, bytes, MANAGED_GLOBAL);
	return of_address(error, address);
}

/* ---- cudaMallocAsync ---- */

static bool async_by_runtime;

bool bench_cuda_probe_async(struct bench_peer *peer, char *why, size_t why_bytes)
{
	void *block = NULL;

	if (!bench_cuda_probe(peer, why, why_bytes))
		return false;
	if (bench_driver.alloc_async == NULL || bench_driver.release_async == NULL ||
	    bench_driver.pool_set == NULL || bench_driver.pool_trim == NULL ||
	    bench_driver_pool() == NULL) {
		snprintf(why, why_bytes,
			 "this driver or device has no stream-ordered memory pools");
		return false;
	}
	async_by_runtime = bench_driver_has_runtime() && bench_runtime.alloc_async != NULL &&
			   bench_runtime.release_async != NULL;
	if (!bench_cuda_open_async(peer) || (block = bench_cuda_alloc_async(peer, 256)) == NULL) {
		snprintf(why, why_bytes, "its first allocation was refused");
		return false;
	}
	bench_cuda_release_async(peer, block, 256);
	bench_cuda_close_async(peer);
	return true;
}

/* Fills the pool in advance: allocates and frees one block. */
static bool prime(struct bench_peer *peer)
{
	size_t bytes = peer->growing ? bench_cuda_free_bytes() / 2 : PRIME_BYTES;
	void *block;

	if (bytes > bench_cuda_free_bytes() / 2)
		bytes = bench_cuda_free_bytes() / 2;
	block = bench_cuda_alloc_async(peer, bytes);
	if (block == NULL)
		return false;
	bench_cuda_release_async(peer, block, bytes);
	bench_cuda_finish(peer);
	return true;
}

/*
 * variant 0 releases freed memory at the next synchronization, which is the default; 1 and 2 keep
 * it forever; 2 begins with half of the free memory or, if heaps do not grow, with as much as is
 * ever live
 */
bool bench_cuda_open_async(struct bench_peer *peer)
{
	uint64_t threshold = peer->variant ? UINT64_MAX : 0, zero = 0;
	void *pool = bench_driver_pool();

	if (!bench_cuda_open(peer) || bench_driver.pool_trim(pool, 0) != 0 ||
	    bench_driver.pool_set(pool, ATTRIBUTE_RELEASE_THRESHOLD, &threshold) != 0)
		return false;
	if (peer->variant == 2 && !prime(peer))
		return false;
	/* Resets its peaks; if that fails, they cover all runs so far. */
	bench_driver.pool_set(pool, ATTRIBUTE_RESERVED_PEAK, &zero);
	return true;
}

void bench_cuda_finish(struct bench_peer *peer)
{
	size_t i;

	(void)peer;
	for (i = 0; i < BENCH_STREAMS; i++)
		bench_driver.stream_wait(bench_driver_stream(i));
}

void bench_cuda_close(struct bench_peer *peer)
{
	bench_cuda_finish(peer);
}

bool bench_cuda_trim_async(struct bench_peer *peer)
{
	bench_cuda_finish(peer);
	return bench_driver.pool_trim(bench_driver_pool(), 0) == 0;
}

void bench_cuda_close_async(struct bench_peer *peer)
{
	bench_cuda_trim_async(peer);
}

bool bench_cuda_gauge_async(struct bench_peer *peer, struct bench_gauge *gauge)
{
	uint64_t reserved = 0, peak = 0;

	(void)peer;
	if (bench_driver.pool_get == NULL ||
	    bench_driver.pool_get(bench_driver_pool(), ATTRIBUTE_RESERVED, &reserved) != 0 ||
	    bench_driver.pool_get(bench_driver_pool(), ATTRIBUTE_RESERVED_PEAK, &peak) != 0)
		return false;
	*gauge = (struct bench_gauge){ .reserved = (double)reserved,
				       .peak_reserved = (double)peak,
				       .physical = (double)reserved,
				       .peak_physical = (double)peak };
	return true;
}

void *bench_cuda_alloc_on(struct bench_peer *peer, size_t bytes, size_t which)
{
	void *block = NULL, *stream = bench_driver_stream(which);
	bench_address address = 0;
	int error;

	(void)peer;
	if (async_by_runtime)
		return bench_runtime.alloc_async(&block, bytes, stream) == 0 ? block : NULL;
	error = bench_driver.alloc_async(&address, bytes, stream);
	return of_address(error, address);
}

void bench_cuda_release_on(struct bench_peer *peer, void *block, size_t bytes, size_t which)
{
	void *stream = bench_driver_stream(which);

	(void)peer;
	(void)bytes;
	if (async_by_runtime)
		bench_runtime.release_async(block, stream);
	else
		bench_driver.release_async((bench_address)(uintptr_t)block, stream);
}

void *bench_cuda_alloc_async(struct bench_peer *peer, size_t bytes)
{
	return bench_cuda_alloc_on(peer, bytes, 0);
}

void bench_cuda_release_async(struct bench_peer *peer, void *block, size_t bytes)
{
	bench_cuda_release_on(peer, block, bytes, 0);
}
