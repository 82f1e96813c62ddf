/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - the storage of all pools, and the check whether a value is a pool's handle.
 *
 *  1. One address range is reserved once and divided into slots of MAM_SLOT_BYTES. A pool's handle
 *     is the address of its slot and a generation (pool/handle.h). Pages cost memory once the first
 *     pool in them is created.
 *  2. The slot of a pool that ended gets the next generation and waits until every call has returned
 *     that may still read it (base/epoch.h). Then another pool can use it. A handle is never
 *     reused: a late call finds another generation and returns DESTROYED. A slot without
 *     generations left is not reused.
 *  3. A value is a handle if its address is in the part handed out so far, at a multiple of the
 *     slot size, and its generation is at most the slot's.
 *
 * Bound: MAM_SLOTS_MAX pools at a time, fewer if address space is limited (ulimit -v);
 * MAM_SLOTS_MAX * MAM_HANDLE_GENERATIONS in a process's life. Retired slots cost memory: fewer
 * than MAM_SLOTS_RETIRED, plus those of pools that ended during the longest call.
 */
#ifndef MAM_API_SLOTS_H
#define MAM_API_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

#include "api/context.h"
#include "pool/handle.h"

#define MAM_SLOT_BYTES 1024u
#define MAM_SLOTS_MAX (1u << 20)
#define MAM_SLOTS_RETIRED 32 /* number of retired slots before a check which are reusable */

struct mam_slot {
	struct mam_pool pool;      /* first: a handle has the slot's address */
	struct mam_slot *next;     /* lock: registry; the pools that are not ended, oldest first */
	struct mam_slot *previous; /* lock: registry */
	/* lock: none, set at init; copied from the source, which may end earlier */
	bool survives_fork;
	int device;
	char source[16];         /* the kind of source */
	struct mam_quota *quota; /* lock: none, set at init; NULL: none. Not to be dereferenced */

	struct mam_slot *next_default; /* lock: registry; of a default pool: the list of them */
	/* lock: registry; of a default or named pool: its context. Handle NULL: none */
	struct mam_context context;

	_Atomic uint32_t pins;  /* atomic; count of heaps: if not 0, the slot is not reused */
	uint64_t epoch;         /* lock: registry; of a retired slot: mam_epoch_retire() */
	struct mam_slot *later; /* lock: registry; next of the retired or idle ones */
};

_Static_assert(offsetof(struct mam_slot, pool) == 0, "a handle has its slot's address");
_Static_assert(sizeof(struct mam_slot) <= MAM_SLOT_BYTES, "a pool no longer fits its slot");

/* Both are atomic, and written under lock: registry only. */
struct mam_slots {
	_Atomic uintptr_t base; /* of slot 0; written once */
	_Atomic size_t bytes;   /* handed out so far: only grows; written after base */
};

extern struct mam_slots mam_slots;

/* mam_slots_span - whether `handle` has the address of a slot: its generation is readable. */
static inline bool mam_slots_span(const struct mam_pool *handle)
{
	size_t bytes = atomic_load_explicit(&mam_slots.bytes, memory_order_acquire);
	uintptr_t base = atomic_load_explicit(&mam_slots.base, memory_order_relaxed);
	uintptr_t offset = (uintptr_t)mam_handle_storage(handle) - base;

	return offset < bytes && offset % MAM_SLOT_BYTES == 0;
}

/* mam_slots_know - whether `handle` is, or was, the handle of a pool. */
static inline bool mam_slots_know(const struct mam_pool *handle)
{
	return mam_slots_span(handle) &&
	       mam_handle_generation(handle) <=
		       atomic_load_explicit(&mam_handle_storage(handle)->generation,
					    memory_order_relaxed);
}

/*
 * mam_slots_enter - begins a section in which `pool` is the storage of the handle's pool. No
 * section begins on errors. INVALID_VALUE: it is not a handle; DESTROYED: the pool ended.
 */
static inline enum mam_status mam_slots_enter(const struct mam_pool *handle, struct mam_pool **pool,
					      struct mam_section *section)
{
	if (!mam_slots_know(handle))
		return MAM_ERROR_INVALID_VALUE;
	*pool = mam_handle_enter(handle, section);
	return *pool ? MAM_OK : MAM_ERROR_DESTROYED;
}

/* mam_slots_number - the index of a pool among all slots, counted from 0. */
static inline size_t mam_slots_number(const struct mam_pool *pool)
{
	uintptr_t base = atomic_load_explicit(&mam_slots.base, memory_order_relaxed);

	return ((uintptr_t)pool - base) / MAM_SLOT_BYTES;
}

/* mam_slots_at - the pool with that index. pre: it was handed out. */
static inline struct mam_pool *mam_slots_at(size_t number)
{
	return (struct mam_pool *)(atomic_load_explicit(&mam_slots.base, memory_order_relaxed) +
				   number * MAM_SLOT_BYTES);
}

/*
 * mam_slots_take - takes a slot, zeroed except for its generation; NULL if there is no more host
 * memory or address space. lock: registry.
 */
struct mam_slot *mam_slots_take(void);

/* mam_slots_retire - retires the slot of an ended pool that is not on the list. lock: registry. */
void mam_slots_retire(struct mam_slot *slot);

/*
 * mam_slots_pin, mam_slots_unpin - between the two the slot is not reused, even if the pool ended.
 * pre of pin: inside a section in which the pool existed.
 */
static inline void mam_slots_pin(struct mam_pool *pool)
{
	atomic_fetch_add(&((struct mam_slot *)pool)->pins, 1);
}

static inline void mam_slots_unpin(struct mam_pool *pool)
{
	atomic_fetch_sub(&((struct mam_slot *)pool)->pins, 1);
}

/*
 * mam_slots_put_back - returns a slot whose address no caller has seen, since creating its pool
 * failed. lock: registry.
 */
void mam_slots_put_back(struct mam_slot *slot);

/* mam_slots_numbered - the slot with any index; NULL: it was never handed out. */
static inline struct mam_slot *mam_slots_numbered(size_t number)
{
	size_t bytes = atomic_load_explicit(&mam_slots.bytes, memory_order_acquire);
	uintptr_t base = atomic_load_explicit(&mam_slots.base, memory_order_relaxed);

	if (number >= bytes / MAM_SLOT_BYTES)
		return NULL;
	return (struct mam_slot *)(base + number * MAM_SLOT_BYTES);
}

#endif
