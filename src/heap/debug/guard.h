/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - the guard in front of each object of a debugged heap, for kernels, which write it
 * (kdebug.h), and for the host, which reads it (leaks.c).
 *
 *	object      allocated from the heap: a slot, consecutive units, or a block of the pool
 *	+ 0         the guard
 *	+ 64        a red zone, up to
 *	+ front     the program's memory, as many bytes as requested
 *	            a red zone, to the end of the object, at least MAM_GUARD_REAR
 *
 * The state and the check are mixed with the guard's own address and with a random number of the
 * heap, so a copy of a guard is invalid, and so is a guard that another heap left in memory. The
 * state is also mixed with the grant number of the part, as memory may return to the pool and be
 * granted again.
 */
#ifndef MAM_HEAP_DEBUG_GUARD_H
#define MAM_HEAP_DEBUG_GUARD_H

#include "heap/debug/reports.h"

#define MAM_GUARD_BYTES 64u
#define MAM_GUARD_FRONT 96u /* bytes in front of the program's memory, at least: multiple of 16 */
#define MAM_GUARD_REAR 16u  /* and after it */
/* Of longer ranges, only so many bytes are poisoned and checked, and of a large object filled. */
#define MAM_GUARD_LOOK 65536u

/* Byte patterns of red zones, of fresh memory and of freed memory. */
#define MAM_GUARD_ZONE_FRONT 0xb3u
#define MAM_GUARD_ZONE_REAR 0xb9u
#define MAM_GUARD_FRESH 0xc5u
#define MAM_GUARD_POISON 0xd7u

/* States. */
#define MAM_GUARD_LIVE 0x6d616d6c697665u
#define MAM_GUARD_BUSY 0x6d616d62757379u /* is being freed */
#define MAM_GUARD_GONE 0x6d616d676f6e65u /* was freed */

struct mam_guard {
	uint64_t state;        /* mixed; atomic, as are all fields here */
	uint64_t check;        /* of all that follows, mixed */
	uint64_t bytes;        /* that were requested */
	uint64_t shape;        /* bytes allocated from the heap, and front << 48 */
	struct mam_who holder; /* the thread that allocated it */
	struct mam_who giver;  /* the thread that freed it */
};

MAM_KBOTH uint64_t mam_guard_mix(uint64_t x, uint64_t y)
{
	x = (x ^ y) * 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

/* `at`: the guard's address on the device; `salt`: the heap's number, mixed with the part's. */
MAM_KBOTH uint64_t mam_guard_state(uint64_t state, uint64_t at, uint64_t salt)
{
	return mam_guard_mix(mam_guard_mix(at, salt), state);
}

MAM_KBOTH uint64_t mam_guard_check(const struct mam_guard *guard, uint64_t at, uint64_t salt)
{
	uint64_t sum = mam_guard_mix(at, salt);

	sum = mam_guard_mix(sum, guard->bytes);
	sum = mam_guard_mix(sum, guard->shape);
	sum = mam_guard_mix(sum, guard->holder.word[0]);
	sum = mam_guard_mix(sum, guard->holder.word[1]);
	sum = mam_guard_mix(sum, guard->giver.word[0]);
	return mam_guard_mix(sum, guard->giver.word[1]);
}

MAM_KBOTH uint64_t mam_guard_gross(const struct mam_guard *guard)
{
	return guard->shape & 0xffffffffffffu;
}

MAM_KBOTH uint32_t mam_guard_front(const struct mam_guard *guard)
{
	return (uint32_t)(guard->shape >> 48);
}

/* The end of the red zone after an object, counted from the guard. */
MAM_KBOTH uint64_t mam_guard_end(uint64_t gross, uint64_t front, uint64_t bytes)
{
	return gross - front - bytes < MAM_GUARD_LOOK ? gross : front + bytes + MAM_GUARD_LOOK;
}

#endif
