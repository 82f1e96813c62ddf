/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.h - pool handles of programs: each value is used once, while storage is reused.
 *
 * A handle is the address of the pool's storage. The bits above, which no address uses, contain the
 * generation: how many pools this storage had before. A handle of generation 0 equals the address.
 * When a pool ends, its storage gets the next generation. So every later call on the handle returns
 * DESTROYED, even if the storage is another pool by then.
 *
 * An earlier call may still use the storage. So every public call on a pool is a section of
 * base/epoch.h, from mam_handle_enter() to mam_epoch_leave(). Storage is reused only after all
 * sections that began before the pool ended. Inside the library, a `struct mam_pool *` is the
 * storage; a variable named `handle` is a handle. A heap pins its pool's storage (api/slots.h).
 */
#ifndef MAM_POOL_HANDLE_H
#define MAM_POOL_HANDLE_H

#include "base/epoch.h"
#include "pool/pool.h"

#define MAM_HANDLE_SHIFT 48
#define MAM_HANDLE_GENERATIONS (1u << (64 - MAM_HANDLE_SHIFT))

/* mam_handle_storage - the address in a handle; does not read that memory. */
static inline struct mam_pool *mam_handle_storage(const struct mam_pool *handle)
{
	return (struct mam_pool *)((uintptr_t)handle & (((uintptr_t)1 << MAM_HANDLE_SHIFT) - 1));
}

static inline uint32_t mam_handle_generation(const struct mam_pool *handle)
{
	return (uint32_t)((uintptr_t)handle >> MAM_HANDLE_SHIFT);
}

/* mam_handle_of - the handle of a pool that has not ended. */
static inline struct mam_pool *mam_handle_of(const struct mam_pool *pool)
{
	uintptr_t generation = atomic_load_explicit(&pool->generation, memory_order_relaxed);

	return (struct mam_pool *)((uintptr_t)pool | generation << MAM_HANDLE_SHIFT);
}

/*
 * mam_handle_is - whether the storage still belongs to the handle's pool. Outside of a section this
 * may change a moment later.
 */
static inline bool mam_handle_is(const struct mam_pool *handle, const struct mam_pool *pool)
{
	return atomic_load_explicit(&pool->generation, memory_order_relaxed) ==
	       mam_handle_generation(handle);
}

/* mam_handle_enter - begin a section. NULL, and no section: the pool ended. pre: a handle. */
static inline struct mam_pool *mam_handle_enter(const struct mam_pool *handle,
						struct mam_section *section)
{
	struct mam_pool *pool = mam_handle_storage(handle);

	*section = mam_epoch_enter();
	if (mam_handle_is(handle, pool))
		return pool;
	mam_epoch_leave(*section);
	return NULL;
}

/*
 * mam_handle_begin - the same for an argument of a public function, with a status. No section begins
 * on errors. INVALID_VALUE: NULL; DESTROYED: the pool ended.
 */
static inline enum mam_status mam_handle_begin(const struct mam_pool *handle,
					       struct mam_pool **pool, struct mam_section *section)
{
	if (!handle)
		return MAM_ERROR_INVALID_VALUE;
	*pool = mam_handle_enter(handle, section);
	return *pool ? MAM_OK : MAM_ERROR_DESTROYED;
}

#endif
