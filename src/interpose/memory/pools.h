/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools.h - a pool for every CUDA context that asked for memory.
 *
 * Memory belongs to a context, not to a device: it dies with it and a free waits for it. So pools
 * are keyed by CUcontext, primary or not. A pool is made when its context first asks, and
 * abandoned when the context is gone.
 *
 * A green context is a view of its device's primary context: memory asked for under it is the
 * primary's, and the driver's free waits for the primary. Its entry is an alias: another key to
 * the pool of the primary context.
 */
#ifndef MAM_INTERPOSE_POOLS_H
#define MAM_INTERPOSE_POOLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

struct mam_quarantine;
struct mam_source;

struct mam_pools_entry {
	void *_Atomic context; /* atomic; the key; NULL: the entry is free */
	/* written before context, by who holds the lock: entries */
	struct mam_pool *_Atomic pool;
	struct mam_quarantine *quarantine; /* blocks freed and not yet to be used (quarantine.h) */
	struct mam_source *source;         /* chunks.h; NULL in an alias */
	void *owner;                       /* the context whose memory it is; an alias: the primary */
	size_t pass_above;                 /* larger requests are the driver's */
	int device;
	bool primary;                      /* it is its device's primary one */
};

static inline bool mam_pools_is_alias(const struct mam_pools_entry *entry)
{
	return entry->source == NULL;
}

/*
 * The entry of a context that is the calling thread's current one. NULL: none could be made; the
 * driver serves then.
 */
struct mam_pools_entry *mam_pools_of(void *context);

/* The device of a context that has a pool; -1: it has none. */
int mam_pools_device(void *context);

/* Whose memory it is that `context` asks for, as far as is known: of a green one the primary. */
void *mam_pools_owner(void *context);

/* The context whose pool this is, and with it the one that a free waits for; NULL: no pool here. */
void *mam_pools_context(const struct mam_pool *pool);

/*
 * mam_pools_find - whose block starts at an address. Errors as mam_free()'s: NOT_OWNED, or INTERIOR
 * and DOUBLE_FREE for ground of a pool where no live block starts.
 */
enum mam_status mam_pools_find(const void *block, struct mam_pools_entry **entry, size_t *bytes);

/* The next entry with a pool of its own, from *at on; NULL: there is none. Start with *at 0. */
struct mam_pools_entry *mam_pools_next(unsigned int *at);

/* The same for the pools of one device; of all where it is below 0. */
struct mam_pools_entry *mam_pools_next_on(int device, unsigned int *at);

/* Whether this process ever had a pool. */
bool mam_pools_exist(void);

/*
 * mam_pools_make_room - the device is out of memory: free the idle chunks of its pools. Returns how
 * many bytes. With `quarantined` only after all their quarantined blocks came out. Waits for work of
 * this device, and of those that have peer access to quarantined blocks. device below 0: all.
 */
size_t mam_pools_make_room(int device, bool quarantined);

/* The context is gone, and its memory with it. */
void mam_pools_drop(void *context);

/* The primary context of a device is gone. */
void mam_pools_drop_primary(int device);

/* A green context is gone: which one it was is not known, so all keys that were aliases go. */
void mam_pools_drop_aliases(void);

/* Sums over all pools there ever were. Peaks of several pools are added up. */
struct mam_pools_sums {
	uint64_t pools, allocs, frees, failures, live_blocks, live_bytes, peak_live_bytes,
		peak_reserved_bytes, peak_retired_bytes;
};
void mam_pools_sum(struct mam_pools_sums *sums);

#endif
