/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.h - a pool as programs know it: a number that is used once, and storage that is reused.
 *
 * A handle is the address of the pool's storage, and in the bits above it, which no address has, the
 * generation: how often that storage was a pool before. Handles of generation 0 are the address.
 * When a pool ends its storage gets the next generation, so that every later call on the handle
 * returns DESTROYED, also when the storage is another pool by then.
 *
 * A call that came before may still be in the storage. So every public call on a pool is a section
 * of base/epoch.h, from mam_handle_enter() to mam_epoch_leave(), and storage is reused after all
 * sections that began before the pool ended. Inside the library, a `struct mam_pool *` is the storage;
 * a variable that is called `handle` is a handle. A heap pins its pool's storage (api/slots.h).
 */
#ifndef MAM_POOL_HANDLE_H
#define MAM_POOL_HANDLE_H

#include "base/epoch.h"
#include "pool/pool.h"

#define MAM_HANDLE_SHIFT 48
#define MAM_HANDLE_GENERATIONS (1u << (64 - MAM_HANDLE_SHIFT))

/* mam_handle_storage - the address in a handle; nothing is read there. */
static inline struct mam_pool *mam_handle_storage(const struct mam_pool *handle)
{
	return (struct mam_pool *)((uintptr_t)handle &
				   (((uintptr_t)1 << MAM_HANDLE_SHIFT) - 1));
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
 * mam_handle_is - whether the storage is still that of the handle's pool. Outside of a section it may
 * be another one's a moment later.
 */
static inline bool mam_handle_is(const struct mam_pool *handle, const struct mam_pool *pool)
{
	return atomic_load_explicit(&pool->generation, memory_order_relaxed) ==
	       mam_handle_generation(handle);
}

/* mam_handle_enter - begins a section. NULL, and no section: the pool ended. pre: a handle. */
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

#endif
