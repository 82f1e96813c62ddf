/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.c - registers chunks as heaps of a sub-allocator and blocks as their regions, by the NVTX
 * memory interface (nvtx.h).
 *
 *   chunk allocated  nvtxMemHeapRegister: from now on only its regions may be accessed
 *   block allocated  nvtxMemRegionsRegister, with the requested size
 *   block freed      nvtxMemRegionsUnregister, before another thread can allocate it
 *   chunk freed      nvtxMemHeapUnregister
 *
 * NVTX finds a tool through NVTX_INJECTION64_PATH, which compute-sanitizer sets, and returns a
 * handle of its own if no tool listens. Whether a tool listens is determined once, by registering a
 * small allocation of the driver as a heap: compute-sanitizer accepts only device memory. If
 * compute-sanitizer is active but does not listen, or mam was built without NVTX's headers, the
 * driver serves all allocations: otherwise a pool would hide errors from the tool.
 */
#include "interpose/watch/nvtx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mam/options.h>

#include "interpose/process/say.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

enum state { STATE_OFF, STATE_ON, STATE_DRIVER };

static atomic_int state; /* atomic: an enum state */

/* compute-sanitizer sets these variables in the environment of the program that it runs. */
static bool is_watched(void)
{
	const char *injection = secure_getenv("NVTX_INJECTION64_PATH");

	return secure_getenv("NV_SANITIZER_INJECTION_PORT_BASE") != NULL ||
	       (injection != NULL && strstr(injection, "sanitizer") != NULL);
}

#if MAM_HAVE_NVTX
#include <nvtx3/nvToolsExtMem.h>

#define HEAPS_MAX 1024
#define PROBE_BYTES 4096

struct heap {
	uintptr_t base;
	size_t bytes; /* 0: the slot is empty */
	nvtxMemHeapHandle_t handle;
};

static struct heap heaps[HEAPS_MAX]; /* lock: heaps */
static size_t heaps_used;            /* lock: heaps; the slots after these were never used */
static pthread_mutex_t heaps_lock = PTHREAD_MUTEX_INITIALIZER;
static nvtxDomainHandle_t domain; /* lock: none, set at start */

static nvtxMemHeapHandle_t register_heap(const void *base, size_t bytes)
{
	nvtxMemVirtualRangeDesc_t range = { .size = bytes, .ptr = base };
	nvtxMemHeapDesc_t heap = { .extCompatID = NVTX_EXT_COMPATID_MEM,
				   .structSize = sizeof(heap),
				   .usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR,
				   .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
				   .typeSpecificDescSize = sizeof(range),
				   .typeSpecificDesc = &range };

	return nvtxMemHeapRegister(domain, &heap);
}

static bool tool_listens(void)
{
	__typeof__(&cuMemAlloc_v2) real_alloc = MAM_TABLE_ORIGINAL(cuMemAlloc_v2);
	__typeof__(&cuMemFree_v2) real_free = MAM_TABLE_ORIGINAL(cuMemFree_v2);
	nvtxMemHeapHandle_t heap;
	unsigned long long probe;
	bool listens;

	domain = nvtxDomainCreateA("mam");
	if (real_alloc == NULL || real_free == NULL ||
	    real_alloc(&probe, PROBE_BYTES) != MAM_CUDA_SUCCESS)
		return false;
	heap = register_heap((void *)(uintptr_t)probe, PROBE_BYTES);
	listens = heap != NULL && heap != NVTX_MEM_HEAP_HANDLE_NO_TOOL;
	if (listens)
		nvtxMemHeapUnregister(domain, heap);
	real_free(probe);
	return listens;
}

static struct heap *find_locked(uintptr_t address)
{
	for (size_t i = 0; i < heaps_used; i++)
		if (address - heaps[i].base < heaps[i].bytes)
			return &heaps[i];
	return NULL;
}

void mam_nvtx_chunk(void *base, size_t bytes, void *context, bool came)
{
	struct heap *heap;

	(void)context;
	pthread_mutex_lock(&heaps_lock);
	heap = find_locked((uintptr_t)base);
	if (!came && heap != NULL) {
		nvtxMemHeapUnregister(domain, heap->handle);
		heap->bytes = 0;
	} else if (came && heap == NULL) {
		for (size_t i = 0; i < heaps_used && heap == NULL; i++)
			if (heaps[i].bytes == 0)
				heap = &heaps[i];
		if (heap == NULL && heaps_used < HEAPS_MAX)
			heap = &heaps[heaps_used++];
		if (heap != NULL)
			*heap = (struct heap){ (uintptr_t)base, bytes, register_heap(base, bytes) };
	}
	pthread_mutex_unlock(&heaps_lock);
}

/* The tool knows blocks of the driver itself. */
void mam_nvtx_alloc(const struct mam_watch_call *call)
{
	nvtxMemVirtualRangeDesc_t range = { .size = call->bytes, .ptr = call->block };
	nvtxMemRegionHandle_t handle;
	nvtxMemRegionsRegisterBatch_t batch = { .extCompatID = NVTX_EXT_COMPATID_MEM,
						.structSize = sizeof(batch),
						.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
						.regionCount = 1,
						.regionDescElementSize = sizeof(range),
						.regionDescElements = &range,
						.regionHandleElementsOut = &handle };
	struct heap *heap;

	if (call->fate != MAM_FATE_SERVED || call->block == NULL)
		return;
	pthread_mutex_lock(&heaps_lock);
	heap = find_locked((uintptr_t)call->block);
	if (heap != NULL) {
		batch.heap = heap->handle;
		nvtxMemRegionsRegister(domain, &batch);
	}
	pthread_mutex_unlock(&heaps_lock);
}

void mam_nvtx_free(const struct mam_watch_call *call)
{
	nvtxMemRegionRef_t block = { .pointer = call->block };
	nvtxMemRegionsUnregisterBatch_t batch = { .extCompatID = NVTX_EXT_COMPATID_MEM,
						  .structSize = sizeof(batch),
						  .refType = NVTX_MEM_REGION_REF_TYPE_POINTER,
						  .refCount = 1,
						  .refElementSize = sizeof(block),
						  .refElements = &block };

	if (call->fate == MAM_FATE_SERVED && call->block != NULL)
		nvtxMemRegionsUnregister(domain, &batch);
}

#else
static bool tool_listens(void)
{
	return false;
}

void mam_nvtx_chunk(void *base, size_t bytes, void *context, bool came)
{
	(void)base;
	(void)bytes;
	(void)context;
	(void)came;
}

void mam_nvtx_alloc(const struct mam_watch_call *call)
{
	(void)call;
}

void mam_nvtx_free(const struct mam_watch_call *call)
{
	(void)call;
}
#endif

/* Index of the word among those of MAM_NVTX. */
#define NVTX_NO 1

void mam_nvtx_start(void)
{
	static atomic_bool started;

	if (atomic_exchange(&started, true) || !is_watched())
		return;
	if (mam_option_number("MAM_NVTX") != NVTX_NO && tool_listens()) {
		atomic_store_explicit(&state, STATE_ON, memory_order_relaxed);
		mam_watch_start(MAM_WATCH_NVTX);
		return;
	}
	atomic_store_explicit(&state, STATE_DRIVER, memory_order_relaxed);
	mam_say(MAM_SAY_WARN, "blocks cannot be registered with compute-sanitizer: the driver "
			      "serves all allocations, so that it detects every error");
}

bool mam_nvtx_wants_driver(void)
{
	return atomic_load_explicit(&state, memory_order_relaxed) == STATE_DRIVER;
}

const char *mam_nvtx_state(void)
{
#if MAM_HAVE_NVTX
	return atomic_load_explicit(&state, memory_order_relaxed) == STATE_ON ? "on" : "off";
#else
	return "not built in";
#endif
}
