/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools.h - pools by name, what they may hold, and what happens when that is not enough.
 *
 * What mam.h says of all calls holds here too: any thread, outputs last and only on success. All
 * answer INVALID_VALUE for a NULL pool and DESTROYED for one that has ended, unless they say more.
 */
#ifndef MAM_POOLS_H
#define MAM_POOLS_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mam_pool_named - the pool of this name on this device, made by the first who asks.
 *
 * A name is 1 to 31 characters, and stands for one pool on each device: what two libraries agree on
 * to share memory. device: an ordinal, or MAM_DEVICE_CURRENT, which in a process without a device
 * stands for none. `attr` (NULL: all defaults) says how to make it, its name and device aside, and
 * is not looked at when the pool is there. Threads that ask at once get the same pool. Only pools
 * made here are found here: the name in the attributes of mam_pool_create() is for reports. When
 * the pool is destroyed or abandoned, the next who asks makes a new one. Errors: INVALID_VALUE (the
 * name), and as mam_pool_create().
 */
MAM_API enum mam_status mam_pool_named(const char *name, int device,
				       const struct mam_pool_attr *attr, struct mam_pool **pool);

/* mam_pool_name - the name of any pool, cut at `bytes`, the final NUL included. */
MAM_API enum mam_status mam_pool_name(struct mam_pool *pool, char *buffer, size_t bytes);

/* A pool as mam_pool_each() shows it; valid during the visit. */
struct mam_pool_info {
	size_t size; /* sizeof(struct mam_pool_info), of the library */
	struct mam_pool *pool;
	const char *name;
	const char *source; /* "cudamalloc", "host", ... */
	int device;         /* CUDA ordinal; -1: not on a device */
};

/*
 * mam_pool_each - call `visit` for each pool of the process, until it returns false.
 *
 * No lock of mam is held meanwhile: `visit` may call anything, and end pools, this one too. A pool
 * that is made or ended during the walk may be shown or not; one that is there all along is shown
 * once. Errors: INVALID_VALUE (`visit` is NULL).
 */
MAM_API enum mam_status mam_pool_each(bool (*visit)(const struct mam_pool_info *info, void *user),
				      void *user);

/*
 * mam_pool_set_limit - the most the pool may hold from now on; 0: no limit.
 *
 * Raising it is all there is to it. Lowering it below what the pool holds gives free memory back to
 * the source at once, down to the limit where that comes out even; what is in use stays, and the
 * pool only stops growing until enough of it was freed. May wait for the device, as
 * mam_pool_trim() may.
 */
MAM_API enum mam_status mam_pool_set_limit(struct mam_pool *pool, size_t bytes);

/* mam_pool_limit - the limit now; 0: none. */
MAM_API enum mam_status mam_pool_limit(struct mam_pool *pool, size_t *bytes);

/*
 * mam_pool_reserve - make sure of ground: a block of `bytes` can be allocated next without a call
 * to the source. Grows the pool by a chunk where needed, within its limit, or changes nothing.
 *
 * What is reserved is free memory like any other: other threads may take it, mam_pool_trim() gives
 * it back, and so does a free in a pool with spare_bytes, and the first strict free after a growth in
 * a pool whose chunk_bytes and growth_bytes are 0. Counted as a failure where it fails. Callbacks of
 * mam_pool_on_oom() are not asked. Errors: as mam_malloc().
 */
MAM_API enum mam_status mam_pool_reserve(struct mam_pool *pool, size_t bytes);

/*
 * A quota: what several pools may hold together, whatever their sources. A pool joins it when it is
 * made (struct mam_pool_attr, quota) and leaves it when it ends. Before a request of one of them
 * fails because the quota has not enough left, the others give back what they have wholly free.
 */
struct mam_quota;

/* mam_quota_create - `bytes`: the most; 0: no limit, only a count. Errors: OUT_OF_HOST_MEMORY. */
MAM_API enum mam_status mam_quota_create(size_t bytes, struct mam_quota **quota);

/*
 * mam_quota_set - another most. Below what is held it stops growth, and gives back nothing by
 * itself.
 */
MAM_API enum mam_status mam_quota_set(struct mam_quota *quota, size_t bytes);

/* mam_quota_held - what its pools hold now, in bytes. */
MAM_API enum mam_status mam_quota_held(struct mam_quota *quota, size_t *bytes);

/*
 * mam_quota_destroy - give up the handle. Pools that joined stay within the quota until they end,
 * the last of which frees it. NULL: nothing.
 */
MAM_API void mam_quota_destroy(struct mam_quota *quota);

/*
 * mam_pool_on_oom - call `callback` when the pool has no memory for a request, before that fails.
 *
 * The callback may free blocks of this pool and others, allocate, trim, wait; no lock of mam is
 * held. It answers true to have the request tried again, false when it cannot help. Callbacks are
 * asked in the order they were registered: each again and again as long as it answers true and the
 * request still fails, at most MAM_OOM_TRIES times a request, then the next. A request made inside
 * a callback that finds no memory fails at once. The request that fails in the end is counted and
 * reported once.
 *
 * Asked for mam_malloc(), mam_malloc_aligned() and mam_malloc_async(), where they failed with
 * OUT_OF_MEMORY. The same callback with the same `user` may be registered once (else
 * INVALID_VALUE). They end with the pool. Errors: OUT_OF_HOST_MEMORY.
 */
MAM_API enum mam_status mam_pool_on_oom(struct mam_pool *pool,
					bool (*callback)(struct mam_pool *pool, size_t bytes,
							 void *user),
					void *user);

#define MAM_OOM_TRIES 16

/*
 * mam_pool_off_oom - take a callback back. It is not called any more once this returns: threads
 * that are in it are waited for, unless the call is made inside a callback. Errors: INVALID_VALUE
 * (it is not registered).
 */
MAM_API enum mam_status mam_pool_off_oom(struct mam_pool *pool,
					 bool (*callback)(struct mam_pool *pool, size_t bytes,
							  void *user),
					 void *user);

#ifdef __cplusplus
}
#endif
#endif
