/* SPDX-License-Identifier: Apache-2.0 */
/*
 * returns.h - objects that the host gives back, taken in by whoever looks for the last room.
 *
 * The host never touches a bitmap: it would have to stop all kernels. It writes addresses into a
 * ring (struct mam_returns) and then how many there were ever, `told`, by copies in a stream's
 * order (returns.c). On the device, lanes that happen to come together:
 *
 * 1. their leader reads `taken` and then `told`: equal, there is nothing;
 * 2. each reads an entry, from number `taken` on, as many as there are;
 * 3. the leader raises `taken` by so many with one CAS. Lost: others were faster; again from 1;
 * 4. each frees the object it read, as a kernel would: what is none is counted, and nothing else.
 *
 * Why an entry is freed once, and by nobody before it is there:
 *
 * - `told` is written after its entries are, and read with an acquire: entries below it are whole.
 *   It never passes `taken` by more than the ring holds, and `taken` never passes it: also not as
 *   one lane reads them, which is why it reads `taken` first, with an acquire, from a CAS that
 *   released what its winner had read of `told`.
 * - An entry is read before it is claimed. The host overwrites number i only once it has read a
 *   `taken` above i. The CAS wins only where `taken` still is what step 1 read, at most i: so the
 *   overwriting comes after the CAS, and what step 2 read was number i; who loses may have read
 *   anything, and forgets it. Claiming first would not do: the host could then overwrite what the
 *   claimer has yet to read. Both counts only grow, and are of 64 bits, so that a CAS is not fooled
 *   by a count that came again.
 * - The CAS releases, and the barriers on both sides of step 2 put each lane's read between the
 *   leader's acquire and the leader's release: the host, which reads `taken` by a copy in a
 *   stream's order, comes after all of them.
 * - A CAS that wins moves `taken` over entries that nobody else's CAS can move it over.
 * - What the host, or a kernel before it in the stream, wrote to the object comes before `told`,
 *   so before the free, so before what the next holder does.
 *
 * Nobody waits for another: a CAS is lost only because another one was won. A warp that stops for
 * ever between 3 and 4 takes at most 32 objects with it. A reset sets both counts to 0 with the
 * rest of the heap, and like that must not run beside kernels that use it.
 *
 * Bound: one round trip where there is nothing, as both counts are asked for at once; else two, an
 * atomic and the frees for each 32 entries.
 */
#ifndef MAM_HEAP_RETURNS_H
#define MAM_HEAP_RETURNS_H

#include "heap/books.h"

/* objects.h, kdebug.h */
#ifdef MAM_KDEBUG
#define mam_returns_free mam_kdebug_free_lone
#else
#define mam_returns_free mam_objects_free_lone
#endif
MAM_KSLOW bool mam_returns_free(struct mam_kheap *heap, void *object);

/* Steps 1 to 4 until there is nothing, by the lanes of `mask`, which are those that are here. */
MAM_KFN void mam_returns_take(struct mam_kheap *heap, uint32_t mask)
{
	struct mam_returns *returns = heap->returns;
	uint32_t leader = mam_ffs32(mask) - 1;
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1));
	uint64_t taken = 0, told = 0, address, count;
	bool won = false;

	for (;;) {
		if (rank == 0) {
			taken = mam_atomic_load64(&returns->taken, MAM_ACQUIRE, MAM_AT_SYSTEM);
			told = mam_atomic_load64(&returns->told, MAM_ACQUIRE, MAM_AT_SYSTEM);
		}
		taken = mam_warp_shuffle64(mask, taken, leader);
		told = mam_warp_shuffle64(mask, told, leader);
		if (told == taken)
			return;
		count = told - taken;
		if (count > mam_popc32(mask))
			count = mam_popc32(mask);
		address = 0;
		mam_warp_sync(mask);
		if (rank < count)
			address = mam_atomic_load64(&returns->address[(taken + rank) % MAM_RETURNS],
						    MAM_RELAXED, MAM_AT_SYSTEM);
		mam_warp_sync(mask);
		if (rank == 0)
			won = mam_atomic_cas64(&returns->taken, taken, taken + count, MAM_RELEASE,
					       MAM_AT_SYSTEM) == taken;
		if (mam_warp_ballot(mask, won) && rank < count)
			(void)mam_returns_free(heap, (void *)(uintptr_t)address);
	}
}

/* Steps 1 to 4 by each lane for itself, without collectives: for searches, and small where called. */
MAM_KSLOW void mam_returns_drain_lone(struct mam_kheap *heap)
{
	struct mam_returns *returns = heap->returns;
	uint64_t taken, told, address;

	for (;;) {
		taken = mam_atomic_load64(&returns->taken, MAM_ACQUIRE, MAM_AT_SYSTEM);
		told = mam_atomic_load64(&returns->told, MAM_ACQUIRE, MAM_AT_SYSTEM);
		if (told == taken)
			return;
		address = mam_atomic_load64(&returns->address[taken % MAM_RETURNS], MAM_RELAXED,
					    MAM_AT_SYSTEM);
		if (mam_atomic_cas64(&returns->taken, taken, taken + 1, MAM_RELEASE,
				     MAM_AT_SYSTEM) == taken)
			(void)mam_returns_free(heap, (void *)(uintptr_t)address);
	}
}

/*
 * mam_returns_drain - what the host gave back is free, but for what others are just taking in. Any
 * lanes, alone or together. pre: a heap of objects.
 */
MAM_KFN void mam_returns_drain(struct mam_kheap *heap)
{
	uint64_t taken = mam_atomic_load64(&heap->returns->taken, MAM_RELAXED, MAM_AT_SYSTEM);
	uint64_t told = mam_atomic_load64(&heap->returns->told, MAM_RELAXED, MAM_AT_SYSTEM);

	if (told != taken)
		mam_returns_take(heap, mam_warp_active());
}

#endif
