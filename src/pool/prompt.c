/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.c - memory for a thread that a running kernel waits for. If it waited for anything that
 * itself waits for the kernel, that would be a deadlock.
 *
 * alloc:
 *   1. Use free memory of the pool, under the pool's lock.
 *   2. Otherwise take the grow lock, for a bounded time: its holder may be in a call that waits for
 *      the device.
 *   3. Empty the threads' caches into the pool, as before each growth, and repeat step 1.
 *   4. Request new memory from the source, and no more than it has room for (grow.c, range.c).
 * free:
 *   1. The block's memory is free. The pool records a free without a wait whatever the policy is,
 *      so that it waits for the device before this memory is unmapped (remap.c).
 *   2. Free memory above the spare stays until another thread frees a block.
 *
 * Driver calls that do not wait, measured on an H100 while a kernel ran and another thread waited
 * for it in cuMemFree, cuMemFreeHost, a copy or a synchronization: cuMemAddressReserve,
 * cuMemCreate, cuMemMap and cuMemSetAccess (0.9 ms in all for 2 MiB and for 64 MiB, 4.6 ms for 1
 * GiB), their opposites, cuMemGetInfo, attribute queries, and calls that enter and leave a context.
 * cuMemAlloc, cuMemHostAlloc and cuMemAllocManaged do wait for a thread in one of the first three.
 * So a source of whole chunks maps memory here, or refuses (source/whole.c). The request does not
 * exceed the source's room, because a driver that has to search for memory may wait for work that
 * uses some. A custom source of the program waits if its grow or map does.
 *
 * Locks on this path, and why none of them is held while its owner waits for the device:
 *   grow          It is, so it is taken for a bounded time.
 *   pool          Never held across a source call (pool.h), nor by the stream layer across a driver
 *                 call. A function of the program that mam_pool_walk() calls runs under it.
 *   cache, transfer cache
 *                 Their holder takes no other lock than the pool's. Around a fork, the grow locks
 *                 of all pools are taken before the first of them (api/registry.c).
 *   source        That of a vmm source guards its metadata, and is not held across a driver call. A
 *                 quota and the sources of whole chunks use atomics.
 *   event         A listener does not call mam (base/event.h).
 * The stream layer's lock, which is held while a thread waits for the device, is not taken.
 */
#include "pool/grow.h"

/* Step 1. */
static enum mam_status alloc_here(struct mam_pool *pool, size_t bytes, size_t alignment,
				  struct mam_request *request, void **block)
{
	enum mam_status status = mam_space_shape(pool, bytes, alignment, request);

	if (status == MAM_ERROR_INVALID_VALUE)
		return status;
	mam_lock_take(&pool->lock);
	if (status == MAM_OK)
		status = mam_space_take_locked(pool, request, block);
	else if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		status = MAM_ERROR_DESTROYED;
	if (status != MAM_OK && status != MAM_ERROR_WOULD_WAIT)
		pool->counts.failures++;
	mam_pool_unlock(pool);
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
	status = mam_space_give_locked(pool, (uintptr_t)block);
	if (status == MAM_OK)
		pool->unfenced = true;
	mam_pool_unlock(pool);
	return status;
}
