/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - all pools of the process: the list of pools that have not ended, and the default
 * pool of each context.
 *
 * The list has two uses only: to find the pool of an address, and to take the locks of all pools
 * around a fork. A call on a pool that the caller names never waits for the registry.
 */
#ifndef MAM_API_REGISTRY_H
#define MAM_API_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include <mam/mam.h>

#include "api/context.h"

/*
 * mam_registry_find - finds the pool and segment of an address. It searches the current default
 * pool first, which takes no lock except the pool's own, then the others, oldest first. Default pools
 * whose context ended own nothing. After NOT_OWNED `pool` is unchanged, and `segment` is undefined.
 * pre: inside a section (pool/handle.h); the same holds for the next function.
 */
enum mam_status mam_registry_find(const void *address, struct mam_pool **pool,
				  struct mam_segment_info *segment);

/*
 * mam_registry_owner - the pool and the rounded size of a block that a caller holds and a cache
 * knows, without a lock; NULL: unknown, call mam_registry_find().
 */
struct mam_pool *mam_registry_owner(const void *block, size_t *bytes);

/*
 * mam_registry_forget - the pool has ended: if it was a default pool, the next use creates a new
 * one. Any thread, any number of times.
 */
void mam_registry_forget(const struct mam_pool *handle);

/*
 * mam_registry_abandon - abandons a pool whose context has ended, and frees its mapped memory, which
 * outlives the context. pre: not inside a section.
 */
void mam_registry_abandon(struct mam_pool *handle);

/*
 * mam_registry_abandon_ended - abandons the default pools whose context was destroyed or reset. Calls
 * the driver once per pool. pre: not inside a section.
 */
void mam_registry_abandon_ended(void);

/* A pool as mam_registry_next() returns it. */
struct mam_registry_view {
	struct mam_pool *pool; /* its handle */
	char name[32];
	char source[16];
	int device;                    /* -1: not on a device */
	const struct mam_quota *quota; /* only to compare, not to dereference */
};

/*
 * mam_registry_next - finds the pool with the lowest number that is at least *number, and sets
 * *number to the next number. False: there is none.
 */
bool mam_registry_next(size_t *number, struct mam_registry_view *view);

/*
 * mam_registry_bind - records that a new pool ends with `context`, in which it was created, as far as
 * mam_context_find() returned it. Sets the rest of `context`; all is 0 if the source uses no CUDA
 * context. After the context has ended, mam_registry_find() no longer returns the pool.
 */
enum mam_status mam_registry_bind(const struct mam_pool *handle, struct mam_context *context);

/*
 * mam_registry_select_source - mam_attr_select_source(), as long as there was no default pool. After
 * that, UNSUPPORTED: the first one has another source.
 */
enum mam_status mam_registry_select_source(const char *source);

/* Around a fork: the registry's lock, then each pool's locks in the order of the list. */
void mam_registry_fork_prepare(void);
void mam_registry_fork_parent(void);
void mam_registry_fork_child(void);

#endif
