/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools.h - a pool for every CUDA context that allocates memory.
 *
 * Memory belongs to a context rather than to a device: it is freed with the context, and a free
 * waits for the context. So the key of a pool is a CUcontext, primary or not. A pool is created at
 * the first allocation in its context, and abandoned when the context is destroyed.
 *
 * A green context is a view of its device's primary context: memory allocated under it belongs to
 * the primary, and the driver's free waits for the primary. Its entry is an alias: another key for
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
	/* written before context, under lock: entries */
	struct mam_pool *_Atomic pool;
	struct mam_quarantine *quarantine; /* freed blocks that may not be reused yet
					    * (quarantine.h) */
	struct mam_source *source;         /* chunks.h; NULL in an alias */
	void *owner;                       /* the context that owns the memory; in an alias: the
					    * primary */
	size_t pass_above;                 /* larger requests go to the driver */
	int device;
	bool primary; /* it is its device's primary context */
};

static inline bool mam_pools_is_alias(const struct mam_pools_entry *entry)
{
	return entry->source == NULL;
}

/*
 * Returns the entry of `context`, the calling thread's current context. Returns NULL if none could
 * be created; the driver serves the call then.
 */
struct mam_pools_entry *mam_pools_of_slow(void *context);

/* The table. Most programs have one entry, the first: the inline functions look there. */
#define MAM_POOLS_MAX 64
extern struct mam_pools_entry mam_pools_entries[MAM_POOLS_MAX]
	__attribute__((visibility("hidden")));
/* atomic: entries starting at this index were never used */
extern atomic_uint mam_pools_used __attribute__((visibility("hidden")));

static inline struct mam_pools_entry *mam_pools_of(void *context)
{
	struct mam_pools_entry *first = &mam_pools_entries[0];

	return context != NULL && atomic_load_explicit(&first->context, memory_order_acquire) ==
					  context
		       ? first
		       : mam_pools_of_slow(context);
}

/* Returns the device of a context that has a pool, or -1 if it has none. */
int mam_pools_device(void *context);

/*
 * Returns the context that owns memory allocated under `context`, as far as known: for a green
 * context its primary context.
 */
void *mam_pools_owner(void *context);

/*
 * Returns the context of a pool, which is also the one that a free waits for; NULL if the pool is
 * not in the table.
 */
void *mam_pools_context(const struct mam_pool *pool);

/*
 * mam_pools_find - find the pool whose block starts at an address. Errors as mam_free(): NOT_OWNED,
 * or INTERIOR and DOUBLE_FREE for an address inside a pool at which no live block starts.
 */
enum mam_status mam_pools_find(const void *block, struct mam_pools_entry **entry, size_t *bytes);

/* Returns the next entry with its own pool, starting at *at, or NULL. Start with *at 0. */
struct mam_pools_entry *mam_pools_next(unsigned int *at);

/* The same for the pools of one device; for all pools if `device` is below 0. */
struct mam_pools_entry *mam_pools_next_on(int device, unsigned int *at);

/* Returns the only entry with its own pool, or NULL: there are several, or none. */
struct mam_pools_entry *mam_pools_only_slow(void);

static inline struct mam_pools_entry *mam_pools_only(void)
{
	struct mam_pools_entry *first = &mam_pools_entries[0];

	return atomic_load_explicit(&mam_pools_used, memory_order_acquire) == 1 &&
			       atomic_load_explicit(&first->context, memory_order_acquire) !=
				       NULL &&
			       !mam_pools_is_alias(first)
		       ? first
		       : mam_pools_only_slow();
}

/* Whether this process ever had a pool. */
bool mam_pools_exist(void);

/*
 * mam_pools_make_room - the device is out of memory: free the idle chunks of its pools. Returns
 * their bytes. With `quarantined`, only after all their quarantined blocks were reclaimed. Waits
 * for work of this device, and of those that have peer access to quarantined blocks. device below
 * 0: all.
 */
size_t mam_pools_make_room(int device, bool quarantined);

/*
 * Called before the program destroys a context that it created, or resets the primary one of a device:
 * no block of the pool is found any more. The driver may give its addresses to other threads before
 * mam_pools_drop() can be called.
 */
void mam_pools_end(void *context);
void mam_pools_end_primary(int device);

/* Called when the context is destroyed, and its memory with it. */
void mam_pools_drop(void *context);

/* Called when the primary context of a device is destroyed. */
void mam_pools_drop_primary(int device);

/* Called when a green context is destroyed. It is unknown which one, so all aliases are dropped. */
void mam_pools_drop_aliases(void);

/*
 * Sums over all pools that a device ever had; over those of all devices if `device` is below 0.
 * Peaks of several pools are added up.
 */
struct mam_pools_sums {
	uint64_t pools, allocs, frees, failures, live_blocks, live_bytes, peak_live_bytes,
		peak_reserved_bytes, peak_retired_bytes;
};
void mam_pools_sum(int device, struct mam_pools_sums *sums);

/* Called in the child of a fork, which reports the numbers of pools at its end. */
void mam_pools_restart(void);

#endif
