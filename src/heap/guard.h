/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - what stands in front of each object of a heap that is debugged, for kernels, which
 * write it (kdebug.h), and for the host, which reads it (leaks.c).
 *
 *	object      the heap's: a slot, units in a row, or a block of the pool
 *	+ 0         the guard
 *	+ 64        a red zone, to
 *	+ front     what the program has, as many bytes as it asked for
 *	            a red zone, to the end of what the heap gave, MAM_GUARD_REAR at least
 *
 * The state and the check are mixed with the guard's own address and with a number that each heap
 * has of its own: a copy of a guard is none, and neither is what another heap left behind. The
 * state also with which grant the part is where it stands, as ground may go back to the pool and
 * come again.
 */
#ifndef MAM_HEAP_GUARD_H
#define MAM_HEAP_GUARD_H

#include "heap/reports.h"

#define MAM_GUARD_BYTES 64u
#define MAM_GUARD_FRONT 96u /* bytes in front of what the program has, at least: multiple of 16 */
#define MAM_GUARD_REAR 16u  /* and behind */
/* Of what is longer so many bytes are poisoned and looked at, and of a large object filled. */
#define MAM_GUARD_LOOK 65536u

/* What a byte has: where nobody may write, what is fresh, what was given back. */
#define MAM_GUARD_ZONE_FRONT 0xb3u
#define MAM_GUARD_ZONE_REAR 0xb9u
#define MAM_GUARD_FRESH 0xc5u
#define MAM_GUARD_POISON 0xd7u

/* States. */
#define MAM_GUARD_LIVE 0x6d616d6c697665u
#define MAM_GUARD_BUSY 0x6d616d62757379u /* is being given back */
#define MAM_GUARD_GONE 0x6d616d676f6e65u /* was given back */

struct mam_guard {
	uint64_t state; /* mixed; atomic, as all here */
	uint64_t check; /* of all that follows, mixed */
	uint64_t bytes; /* that were asked for */
	uint64_t shape; /* bytes that the heap gave, and front << 48 */
	struct mam_who holder; /* who got it */
	struct mam_who giver;  /* who gave it back */
};

MAM_KBOTH uint64_t mam_guard_mix(uint64_t x, uint64_t y)
{
	x = (x ^ y) * 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

/* `at`: where the guard is on the device; `salt`: the heap's number, and the part's. */
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

/* Where the red zone behind an object ends, counted from the guard. */
MAM_KBOTH uint64_t mam_guard_end(uint64_t gross, uint64_t front, uint64_t bytes)
{
	return gross - front - bytes < MAM_GUARD_LOOK ? gross : front + bytes + MAM_GUARD_LOOK;
}

#endif
