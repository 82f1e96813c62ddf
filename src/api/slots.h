/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - the storage of all pools, and the question "is this address a pool's handle?".
 *
 *  1. One range of addresses is reserved once, cut into slots of MAM_SLOT_BYTES. A pool's handle is
 *     the address of its slot; pages cost memory once the first pool in them is made.
 *  2. A slot that has been a pool is never freed and never another pool: a late call on the handle
 *     finds the old pool's remains and answers DESTROYED. Price: MAM_SLOT_BYTES of host memory for
 *     each pool ever made.
 *  3. An address is a handle when it lies in the part handed out so far, at a multiple of the slot
 *     size: one subtraction and two compares, and nothing is read behind the address.
 *
 * Bound: MAM_SLOTS_MOST pools in a process's life; fewer where address space is limited (ulimit
 * -v).
 */
#ifndef MAM_API_SLOTS_H
#define MAM_API_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

#include "pool/pool.h"

#define MAM_SLOT_BYTES 1024u
#define MAM_SLOTS_MOST (1u << 20)

struct mam_slot {
	struct mam_pool pool;      /* first: the handle is the slot's address */
	struct mam_slot *next;     /* lock: registry; the pools that are not ended, oldest first */
	struct mam_slot *previous; /* lock: registry */
	/* lock: none, set at init; copied from the source, which may end earlier */
	bool survives_fork;
	int device;
	char source[16];           /* what kind it is */
	struct mam_quota *quota;   /* lock: none, set at init; NULL: in none. Not to be followed */
};

_Static_assert(offsetof(struct mam_slot, pool) == 0, "a handle is its slot's address");
_Static_assert(sizeof(struct mam_slot) <= MAM_SLOT_BYTES, "a pool no longer fits its slot");

/* Both are atomic, and written under lock: registry only. */
struct mam_slots {
	_Atomic uintptr_t base; /* of slot 0; written once */
	_Atomic size_t bytes;   /* handed out so far: only grows; written after base */
};

extern struct mam_slots mam_slots;

/*
 * mam_slots_know - whether `pool` may be passed to the pool's functions: it is, or was once, a
 * pool.
 */
static inline bool mam_slots_know(const struct mam_pool *pool)
{
	size_t bytes = atomic_load_explicit(&mam_slots.bytes, memory_order_acquire);
	uintptr_t base = atomic_load_explicit(&mam_slots.base, memory_order_relaxed);
	uintptr_t offset = (uintptr_t)pool - base;

	return offset < bytes && offset % MAM_SLOT_BYTES == 0;
}

/* mam_slots_number - the place of a pool among all slots, counted from 0. */
static inline size_t mam_slots_number(const struct mam_pool *pool)
{
	uintptr_t base = atomic_load_explicit(&mam_slots.base, memory_order_relaxed);

	return ((uintptr_t)pool - base) / MAM_SLOT_BYTES;
}

/* mam_slots_at - the pool of that place. pre: it was handed out. */
static inline struct mam_pool *mam_slots_at(size_t number)
{
	return (struct mam_pool *)(atomic_load_explicit(&mam_slots.base, memory_order_relaxed) +
				   number * MAM_SLOT_BYTES);
}

/*
 * mam_slots_take - a zeroed slot; NULL when there is no more host memory or address space. lock:
 * registry.
 */
struct mam_slot *mam_slots_take(void);

/*
 * mam_slots_put_back - for a slot whose address no caller has seen: its pool could not be made.
 * lock: registry.
 */
void mam_slots_put_back(struct mam_slot *slot);

/* mam_slots_numbered - the slot of any number; NULL: it was never handed out. */
static inline struct mam_slot *mam_slots_numbered(size_t number)
{
	size_t bytes = atomic_load_explicit(&mam_slots.bytes, memory_order_acquire);
	uintptr_t base = atomic_load_explicit(&mam_slots.base, memory_order_relaxed);

	if (number >= bytes / MAM_SLOT_BYTES)
		return NULL;
	return (struct mam_slot *)(base + number * MAM_SLOT_BYTES);
}

#endif
