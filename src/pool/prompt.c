/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.c - memory for a thread that a running kernel waits for: whatever it waits for that waits
 * for the kernel would never come.
 *
 * alloc:
 *   1. From the ground there is, under the pool's lock.
 *   2. Else the grow lock, for a bounded time: who has it may be in a call that waits for the
 *      device.
 *   3. Threads' caches are emptied into the pool, as before each growth, and step 1 again.
 *   4. The source is asked for new memory, and for no more than it has room for (grow.c, range.c).
 * free:
 *   1. The block is free ground. That it was freed without a wait is noted whatever the policy is,
 *      so that its memory waits for the device before it loses its address (remap.c).
 *   2. What lies free above the spare stays until another thread frees something.
 *
 * Driver calls that do not wait, measured on an H100 while a kernel ran and another thread waited
 * for it in cuMemFree, cuMemFreeHost, a copy or a synchronisation: cuMemAddressReserve, cuMemCreate,
 * cuMemMap and cuMemSetAccess (0.9 ms in all for 2 MiB and for 64, 4.6 for 1 GiB), their opposites,
 * cuMemGetInfo, what asks for attributes, and what enters and leaves a context. cuMemAlloc,
 * cuMemHostAlloc and cuMemAllocManaged do wait for a thread in one of the first three: so a source
 * of whole chunks maps memory here, or refuses (source/whole.c). What is asked for is no more than
 * the source has room for, as a driver that has to look for memory may wait for work that holds
 * some. A source of the program's own waits where its grow or map does.
 *
 * Locks on the way, and why none of them is held while its owner waits for the device:
 *   grow          is; so it is taken for a bounded time.
 *   pool          never across a source call (pool.h), nor by the stream stop across one of its
 *                 own. A program's function that mam_pool_walk() calls runs under it.
 *   cache, depot  taken with no more than the pool's lock to come. Around a fork all pools' grow
 *                 locks are had before the first of them (api/registry.c).
 *   source        a vmm source's guards its books, and is not held across a driver call; a quota
 *                 and the sources of whole chunks have atomics.
 *   event         a listener calls nothing of mam (base/event.h).
 * The stream stop's lock, which is held while the device is waited for, is not taken.
 */
#include "pool/grow.h"

/* Step 1. */
static enum mam_status alloc_here(struct mam_pool *pool, size_t bytes, size_t alignment,
				  struct mam_request *request, void **block)
{
	enum mam_status status = mam_ground_shape(pool, bytes, alignment, request);

	if (status == MAM_ERROR_INVALID_VALUE)
		return status;
	mam_lock_take(&pool->lock);
	if (status == MAM_OK)
		status = mam_ground_take_locked(pool, request, block);
	else if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		status = MAM_ERROR_DESTROYED;
	if (status != MAM_OK && status != MAM_ERROR_WOULD_WAIT)
		pool->counts.failures++;
	mam_lock_release(&pool->lock);
	return status;
}

enum mam_status mam_pool_alloc_here(struct mam_pool *pool, size_t bytes, size_t alignment,
				    void **block)
{
	struct mam_request request;

	return alloc_here(pool, bytes, alignment, &request, block);
}

enum mam_status mam_pool_alloc_new(struct mam_pool *pool, size_t bytes, size_t alignment,
				   uint64_t patience_ns, void **block)
{
	struct mam_request request;
	enum mam_status status = alloc_here(pool, bytes, alignment, &request, block);

	return status == MAM_ERROR_WOULD_WAIT ? mam_grow_new(pool, &request, patience_ns, block)
					      : status;
}

enum mam_status mam_pool_free_now(struct mam_pool *pool, void *block)
{
	enum mam_status status;

	mam_lock_take(&pool->lock);
	status = mam_ground_give_locked(pool, (uintptr_t)block);
	if (status == MAM_OK)
		pool->unfenced = true;
	mam_lock_release(&pool->lock);
	return status;
}
