/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.c - cudaMemGetInfo and cuMemGetInfo: how much memory is free.
 *
 * To the driver, all memory of a pool is in use. Programs that size their buffers by this result
 * would make them too small, so memory that the current context's pool could still allocate counts
 * as free, quarantined memory included. With --limit the result never exceeds what mam would still
 * allocate. The total remains the device's.
 */
#include <mam/mam.h>
#include <mam/stats.h>

#include "interpose/memory/account.h"
#include "interpose/memory/kept.h"
#include "interpose/memory/pools.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

/*
 * Returns the free bytes of the pool. Also sets *allowed to the bytes that the limit still allows
 * the driver to allocate (SIZE_MAX without a limit), and *device only if it is known. The guard is
 * up.
 */
static size_t free_in_pool(size_t *allowed, int *device)
{
	const struct mam_real_driver *driver = mam_real_driver();
	struct mam_stats stats = { .size = sizeof(stats) };
	struct mam_pools_entry *entry;
	void *context = NULL;

	*allowed = mam_account_room(-1);
	if (driver == NULL || driver->ctx_device(device) != MAM_CUDA_SUCCESS)
		return 0;
	mam_kept_look(*device);
	*allowed = mam_account_room(*device);
	if (driver->ctx_current(&context) != 0 || mam_pools_device(context) < 0)
		return 0;
	entry = mam_pools_of(context);
	if (entry == NULL || mam_pool_stats(entry->pool, &stats) != MAM_OK)
		return 0;
	return stats.reserved_bytes - stats.live_rounded_bytes;
}

static int info(enum mam_table_id function, enum mam_road road, __typeof__(&cuMemGetInfo_v2) real,
		size_t *free_bytes, size_t *total_bytes)
{
	MAM_GATE_PASS();
	size_t in_pool, allowed;
	int answer, device = -1;

	if (mam_init_passes())
		return real(free_bytes, total_bytes);
	mam_init_depth++;
	answer = real(free_bytes, total_bytes);
	if (answer == MAM_CUDA_SUCCESS && free_bytes != NULL && total_bytes != NULL) {
		in_pool = free_in_pool(&allowed, &device);
		if (device >= 0)
			mam_account_look(device, *total_bytes, *free_bytes);
		if (*free_bytes > allowed)
			*free_bytes = allowed;
		*free_bytes =
			in_pool < *total_bytes - *free_bytes ? *free_bytes + in_pool : *total_bytes;
	}
	mam_watch_call(&(struct mam_watch_call){
		.function = function,
		.road = road,
		.fate = answer == MAM_CUDA_SUCCESS ? MAM_FATE_SERVED : MAM_FATE_FAILED,
		.code = answer,
		.device = device });
	mam_init_depth--;
	return answer;
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	__typeof__(&cudaMemGetInfo) real = MAM_TABLE_ORIGINAL(cudaMemGetInfo);

	return real == NULL ? MAM_CUDA_INSUFFICIENT_DRIVER
			    : info(MAM_TABLE_cudaMemGetInfo, MAM_ROAD_RUNTIME, real, free_bytes,
				   total_bytes);
}

static int driver_info(enum mam_road road, size_t *free_bytes, size_t *total_bytes)
{
	__typeof__(&cuMemGetInfo_v2) real = MAM_TABLE_ORIGINAL(cuMemGetInfo_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED
			    : info(MAM_TABLE_cuMemGetInfo_v2, road, real, free_bytes, total_bytes);
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	return driver_info(mam_road_taken(), free_bytes, total_bytes);
}
MAM_THUNK(cuMemGetInfo_v2);
