/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools.h - named pools, memory limits, quotas, out-of-memory callbacks, and pools that release their
 * memory for a while.
 *
 * The rules of mam.h apply to these calls too: any thread may make them, and outputs come last and
 * are written only on success. All return INVALID_VALUE for a NULL pool and DESTROYED for a pool
 * that has ended, unless their comments differ.
 */
#ifndef MAM_POOLS_H
#define MAM_POOLS_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mam_pool_named - the pool of this name on this device, created by the first call.
 *
 * A name has 1 to 31 characters and stands for one pool on each device: two libraries that agree on
 * a name share memory. device: an ordinal, or MAM_DEVICE_CURRENT, which means "not on a device" in
 * a process without one. Sources of device memory are bound to a CUDA context, and a name then
 * identifies one pool in each context; the context is selected as for mam_pool_default(). After the
 * context has ended, the name no longer finds the pool, and a later call for the device abandons it.
 *
 * `attr` (NULL: all defaults) describes the pool, except its name and device, and is ignored if the
 * pool exists. Concurrent calls return the same pool. This call finds only pools that it created: the
 * name in the attributes of mam_pool_create() is for reports. After the pool is destroyed or
 * abandoned, the next call creates a new one. Errors: INVALID_VALUE (the name), and as
 * mam_pool_create().
 */
MAM_API enum mam_status mam_pool_named(const char *name, int device,
				       const struct mam_pool_attr *attr, struct mam_pool **pool);

/* mam_pool_name - the name of any pool, cut at `bytes`, the final NUL included. */
MAM_API enum mam_status mam_pool_name(struct mam_pool *pool, char *buffer, size_t bytes);

/* A pool as mam_pool_each() reports it; valid during the visit. */
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
 * mam holds no lock meanwhile: `visit` may make any call, and may end pools, the visited one
 * included. A pool that is created or ended during the iteration may be visited or not; a pool that
 * exists throughout is visited once. Errors: INVALID_VALUE (`visit` is NULL).
 */
MAM_API enum mam_status mam_pool_each(bool (*visit)(const struct mam_pool_info *info, void *user),
				      void *user);

/*
 * mam_pool_set_limit - change the maximum size of the pool; 0: no limit.
 *
 * Raising the limit takes effect immediately. Lowering it below the pool's size returns free memory
 * to the source at once, down to the limit if the sizes of the free parts allow it. Live blocks
 * stay, and the pool does not grow until enough of them are freed. May wait for the device, as
 * mam_pool_trim() may.
 */
MAM_API enum mam_status mam_pool_set_limit(struct mam_pool *pool, size_t bytes);

/* mam_pool_limit - the current limit; 0: none. */
MAM_API enum mam_status mam_pool_limit(struct mam_pool *pool, size_t *bytes);

/*
 * mam_pool_reserve - ensure that a block of `bytes` can be allocated next without a call to the
 * source. Grows the pool by a chunk if needed, within its limit, or changes nothing.
 *
 * Reserved memory is ordinary free memory: other threads may allocate it, and mam_pool_trim()
 * releases it. A free releases it in a pool with spare_bytes. The first strict free after a growth
 * releases it in a pool whose chunk_bytes and growth_bytes are 0. A call that fails is counted as a
 * failure. It does not run the callbacks of mam_pool_on_oom(). Errors: as mam_malloc().
 */
MAM_API enum mam_status mam_pool_reserve(struct mam_pool *pool, size_t bytes);

/*
 * A quota limits the total size of several pools, whatever their sources. A pool joins it when it
 * is created (struct mam_pool_attr, quota) and leaves it when it ends. If the quota is exhausted,
 * the other pools release their entirely free memory before a request fails.
 */
struct mam_quota;

/* mam_quota_create - `bytes`: the limit; 0: no limit, only a count. Errors: OUT_OF_HOST_MEMORY. */
MAM_API enum mam_status mam_quota_create(size_t bytes, struct mam_quota **quota);

/*
 * mam_quota_set - change the limit. Lowering it below current usage stops growth but releases
 * nothing.
 */
MAM_API enum mam_status mam_quota_set(struct mam_quota *quota, size_t bytes);

/* mam_quota_held - the total size of its pools, in bytes. */
MAM_API enum mam_status mam_quota_held(struct mam_quota *quota, size_t *bytes);

/*
 * mam_quota_destroy - release the handle. Pools that joined remain within the quota until they end,
 * and the last of them frees it. NULL: a no-op.
 */
MAM_API void mam_quota_destroy(struct mam_quota *quota);

/*
 * mam_pool_on_oom - register `callback`, which the pool calls before a request fails for lack of
 * memory.
 *
 * The callback may free blocks of this pool and others, allocate, trim and wait; mam holds no lock.
 * It returns true to have the request retried, false if it cannot help. Callbacks run in the order
 * of their registration. Each runs repeatedly as long as it returns true and the request still
 * fails, at most MAM_OOM_TRIES times per request; then the next one runs. A request made inside a
 * callback fails at once if it finds no memory. A request that finally fails is counted and
 * reported once.
 *
 * The callbacks serve mam_malloc(), mam_malloc_aligned() and mam_malloc_async(), when these fail
 * with OUT_OF_MEMORY. The same callback with the same `user` can be registered only once (otherwise
 * INVALID_VALUE). Registrations end with the pool. Errors: OUT_OF_HOST_MEMORY.
 */
MAM_API enum mam_status
mam_pool_on_oom(struct mam_pool *pool,
		bool (*callback)(struct mam_pool *pool, size_t bytes, void *user), void *user);

#define MAM_OOM_TRIES 16

/*
 * mam_pool_off_oom - unregister a callback. After the call returns, the callback is not called
 * again: the call waits for threads that are running it, unless it is made inside a callback.
 * Errors: INVALID_VALUE (it is not registered).
 */
MAM_API enum mam_status
mam_pool_off_oom(struct mam_pool *pool,
		 bool (*callback)(struct mam_pool *pool, size_t bytes, void *user), void *user);

/* How to suspend a pool. Zero means the default in every field except `size`. */
struct mam_suspend_attr {
	size_t size; /* sizeof(struct mam_suspend_attr): it may grow in later versions */
	/*
	 * Where contents are kept: in a file in this folder, without a name, which is gone when the
	 * pool is resumed or the process ends; NULL: in pinned host memory.
	 */
	const char *folder;
	bool discard; /* contents are not kept, and undefined after the resume; folder: NULL */
	/*
	 * The memory stays until an allocation from another pool, or the resume of one, would fail
	 * otherwise. Pools that were suspended longest ago release theirs first. If that does not
	 * happen before the resume, nothing is copied.
	 */
	bool lazy;
};

#define MAM_SUSPEND_ATTR_INIT                                       \
	{                                                           \
		sizeof(struct mam_suspend_attr), NULL, false, false \
	}

/*
 * mam_pool_suspend - release the device memory of a pool; its blocks keep their addresses.
 *
 * attr NULL: all defaults. The call waits for all work of the pool's context, saves the contents of
 * the blocks, and returns all memory to the driver, for other pools and other programs. To release a
 * part of a program's memory, give that part a pool of its own (mam_pool_named()).
 *
 * From the call until a resume succeeds, the program must neither use the pool's blocks nor submit
 * work that does: such work faults. Graphs that were captured before run again afterwards, as the
 * addresses are the same. Meanwhile all calls on other pools work as always. On this one,
 *   - allocations fail with SUSPENDED, without a wait, also where a cached block would have fit;
 *   - frees work as always. Memory that is entirely free at the resume does not come back;
 *   - mam_pool_trim() and mam_pool_reserve() change nothing, mam_pool_destroy() and
 *     mam_pool_abandon() drop the contents, and statistics show suspended_bytes.
 * While the call runs, mam_pool_check(), mam_pool_set_limit(), fork() and the end of the pool wait
 * for it, as does an allocation that was about to grow the pool.
 *
 * Host memory: as many pinned bytes as the pool has mapped, rounded up by at most a 64th and 2 MiB,
 * while a quarter of the host's memory remains and all pools together have at most MAM_HOST_MEMORY
 * (mam(7)). After the resume it stays with the pool, so that the next suspend only copies, until
 * mam_pool_unpin(), the end of the pool, a suspend of it that discards or uses a file, or one of
 * another pool that finds too little host memory. With `folder`: 32 MiB, until the resume.
 *
 * `lazy`: the call waits for nothing, and the rules above apply from now on. The threads that need the
 * memory do the rest later, with the same `folder` and `discard`. If they cannot, for example because
 * the host has too little memory, the pool keeps its memory, and their requests fail. mam does not see
 * other processes that need memory, nor calls of CUDA's own functions: for them, suspend the pool
 * again, without `lazy`.
 *
 * Suspending a pool that is suspended has no effect, with two exceptions. A pool that was suspended
 * lazily releases its memory now, unless `attr` is lazy too. After a resume that failed, what it had
 * mapped again is released, and the contents stay where they are, whatever `attr` is.
 *
 * After an error the pool is as before, with its contents. If the driver refuses to release a part
 * of the memory, the pool is suspended, and physical_bytes includes that part. If a copy fails after a
 * part was released, and that part cannot be mapped again, the pool stays suspended with all contents,
 * until a resume succeeds. Errors:
 *   UNSUPPORTED         the source does not map memory in pieces ("vmm" does), or made it for other
 *                       processes, network cards or named peers (struct mam_vmm_attr): they may use
 *                       it, and mam cannot know when. Without `discard` also: it has no driver.
 *   OUT_OF_HOST_MEMORY  no room for the contents
 *   IO                  the file could not be made or written; the log has the reason
 *   DRIVER, NO_DEVICE, DESTROYED, INVALID_VALUE
 * Work of other devices on the pool's memory must be done before the call, which waits for one
 * context. Devices that had access have it again after the resume.
 *
 * The child of a fork cannot resume its parent's pool: as for all device memory, calls return
 * DESTROYED there.
 */
MAM_API enum mam_status mam_pool_suspend(struct mam_pool *pool,
					 const struct mam_suspend_attr *attr);

/*
 * mam_pool_resume - map the memory of a suspended pool again, at the same addresses, with the same
 * contents. May wait for the device. No effect if the pool is not suspended.
 *
 * Without enough memory the call first does what an allocation does then: other pools of the device
 * release idle memory, those that are lazily suspended release all of theirs, and the callbacks of
 * mam_pool_on_oom() run. OUT_OF_MEMORY: that was not enough, or the pool's limit is lower than before.
 * After this or another error the pool stays suspended. Memory that was mapped again stays mapped, all
 * contents are kept, and a later call continues from there. Errors: OUT_OF_MEMORY, DRIVER, IO (the
 * file could not be read or has changed; free the blocks to be able to resume the others), DESTROYED,
 * INVALID_VALUE.
 */
MAM_API enum mam_status mam_pool_resume(struct mam_pool *pool);

/*
 * mam_pool_unpin - free the pinned host memory that the pool keeps for its next suspend. The contents
 * of a pool that is suspended stay. `released` (may be NULL) receives the bytes. Errors: DESTROYED,
 * INVALID_VALUE.
 */
MAM_API enum mam_status mam_pool_unpin(struct mam_pool *pool, size_t *released);

#ifdef __cplusplus
}
#endif
#endif
