/* SPDX-License-Identifier: Apache-2.0 */
/*
 * returns.h - objects that the host frees, processed by lanes that search for the last room.
 *
 * The host never touches a bitmap: for that it would have to stop all kernels. It writes addresses
 * into a ring (struct mam_returns) and then their total count, `told`, by copies in a stream's
 * order (returns.c). On the device, lanes that happen to be active together:
 *
 * 1. their leader reads `taken` and then `told`: if they are equal, the ring is empty;
 * 2. each lane reads an entry, starting at number `taken`, as many as there are;
 * 3. the leader raises `taken` by that number with one CAS. If it fails, other lanes were faster;
 *    again from 1;
 * 4. each lane frees the object that it read, as a kernel would: an invalid free is counted, and
 *    changes nothing else.
 *
 * Why an entry is freed once, and never before it is written:
 *
 * - `told` is written after its entries, and read with an acquire: entries below it are complete.
 *   It never exceeds `taken` by more than the size of the ring, and `taken` never exceeds it. That
 *   also holds for the values that one lane reads: that is why it reads `taken` first, with an
 *   acquire, from a CAS that released what its winner had read of `told`.
 * - An entry is read before it is claimed. The host overwrites number i only after it has read a
 *   `taken` above i. The CAS succeeds only if `taken` still has the value of step 1, which is at
 *   most i. So the overwrite comes after the CAS, and step 2 has read number i. A lane whose CAS
 *   fails may have read anything, and discards it. Claiming first would not do: the host could then
 *   overwrite an entry that the claimer has yet to read. Both counts only grow, and have 64 bits,
 *   so the CAS has no ABA problem.
 * - The CAS releases, and the barriers on both sides of step 2 order each lane's read between the
 *   leader's acquire and the leader's release: the host, which reads `taken` by a copy in a
 *   stream's order, comes after all of them.
 * - A CAS that succeeds moves `taken` over entries that no other CAS can move it over.
 * - Writes of the host, or of an earlier kernel in the stream, to the object precede `told`, so
 *   they precede the free and the accesses of the next holder.
 *
 * No lane waits for another: a CAS fails only because another one succeeded. A warp that stops
 * forever between 3 and 4 leaks at most 32 objects. A reset sets both counts to 0 with the rest of
 * the heap, and must not run concurrently with kernels that use the heap.
 *
 * Bound: one round trip if the ring is empty, as both counts are loaded at once; otherwise two, an
 * atomic and the frees for each 32 entries.
 */
#ifndef MAM_HEAP_SLAB_RETURNS_H
#define MAM_HEAP_SLAB_RETURNS_H

#include "heap/slab/metadata.h"

/* objects.h, kdebug.h */
#ifdef MAM_KDEBUG
#define mam_returns_free mam_kdebug_free_lone
#else
#define mam_returns_free mam_objects_free_lone
#endif
MAM_KSLOW bool mam_returns_free(struct mam_kheap *heap, void *object);

/* Steps 1 to 4 until the ring is empty, by the lanes of `mask`, which must be the active lanes. */
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

/*
 * Steps 1 to 4 by each lane on its own, without collectives: for searches, and small where called.
 */
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
 * mam_returns_drain - frees the objects in the ring, except those that other lanes are processing.
 * Any lanes, alone or together. pre: an object heap.
 */
MAM_KFN void mam_returns_drain(struct mam_kheap *heap)
{
	uint64_t taken = mam_atomic_load64(&heap->returns->taken, MAM_RELAXED, MAM_AT_SYSTEM);
	uint64_t told = mam_atomic_load64(&heap->returns->told, MAM_RELAXED, MAM_AT_SYSTEM);

	if (told != taken)
		mam_returns_take(heap, mam_warp_active());
}

#endif
