/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - all pools of the process: the list of those not ended, and the default pool of each
 * context.
 *
 * The list is for two questions only: which pool does an address belong to, and whose locks must a
 * fork take. No call on a pool that the caller names ever waits for the registry.
 */
#ifndef MAM_API_REGISTRY_H
#define MAM_API_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include <mam/mam.h>

/*
 * mam_registry_find - the pool and segment of an address: the current default pool first, which
 * costs no lock but its own, then the others, oldest first. Default pools whose context ended own
 * nothing. NOT_OWNED leaves `pool` alone, and
 * `segment` is not to be read then. pre: inside a section (pool/handle.h), as of the next one.
 */
enum mam_status mam_registry_find(const void *address, struct mam_pool **pool,
				  struct mam_segment_info *segment);

/*
 * mam_registry_owner - the pool of a block that a caller holds and a cache knows, without a lock;
 * NULL: ask mam_registry_find().
 */
struct mam_pool *mam_registry_owner(const void *block);

/*
 * mam_registry_forget - the pool is ended: if it was a default pool, the next use makes a new one.
 * Any thread, any number of times.
 */
void mam_registry_forget(const struct mam_pool *handle);

/*
 * mam_registry_abandon_ended - abandon the default pools whose context was destroyed or reset. Calls
 * the driver once for each. pre: not inside a section.
 */
void mam_registry_abandon_ended(void);

/* A pool as mam_registry_next() shows it. */
struct mam_registry_view {
	struct mam_pool *pool; /* its handle */
	char name[32];
	char source[16];
	int device;                    /* -1: not on a device */
	const struct mam_quota *quota; /* to compare, not to follow */
};

/*
 * mam_registry_next - the pool on the list with the lowest number from *number on; *number becomes
 * the one after it. False: there is none.
 */
bool mam_registry_next(size_t *number, struct mam_registry_view *view);

/* mam_registry_current_device - of the thread's CUDA context, or 0. NO_DEVICE, DRIVER. */
enum mam_status mam_registry_current_device(int *device);

/* Around a fork: the registry's lock, then each pool's locks in the order of the list. */
void mam_registry_fork_prepare(void);
void mam_registry_fork_parent(void);
void mam_registry_fork_child(void);

#endif
