/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools.h - a pool for every CUDA context that asked for memory.
 *
 * Memory belongs to a context, not to a device: it dies with it and a free waits for it. So pools
 * are keyed by CUcontext, primary or not. A pool is made when its context first asks, and
 * abandoned when the context is gone.
 */
#ifndef MAM_INTERPOSE_POOLS_H
#define MAM_INTERPOSE_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

/*
 * The pool of a context that is the calling thread's current one. NULL: none could be made; the
 * driver serves then.
 */
struct mam_pool *mam_pools_of(void *context);

/* The device of a context that has a pool; -1: it has none. */
int mam_pools_device(void *context);

/*
 * mam_pools_find - whose block starts at an address: its pool and the context that waits for it.
 * Errors as mam_free()'s: NOT_OWNED, or INTERIOR and DOUBLE_FREE for ground of a pool where no
 * live block starts.
 */
enum mam_status mam_pools_find(const void *block, struct mam_pool **pool, void **context);

/* Whether this process ever had a pool. */
bool mam_pools_exist(void);

/*
 * Give wholly free chunks of all pools back to the driver: somebody needs the memory. Returns how
 * many bytes.
 */
size_t mam_pools_trim(void);

/* The context is gone, and its memory with it. */
void mam_pools_drop(void *context);

/* The primary context of a device is gone. */
void mam_pools_drop_primary(int device);

/* Sums over all pools there ever were. Peaks of several pools are added up. */
struct mam_pools_sums {
	uint64_t pools, allocs, frees, failures, live_blocks, live_bytes, peak_live_bytes,
		peak_reserved_bytes;
};
void mam_pools_sum(struct mam_pools_sums *sums);

#endif
