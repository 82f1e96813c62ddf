/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector.h - a vector that grows while many lanes push to it, and whose elements never move.
 *
 * Elements lie in segments, the first of 1 << shift elements, each further one twice as large, behind
 * a table of their addresses. Element i, counted with a segment's worth in front of it, says by its
 * highest bit which segment it is in and by the other bits where.
 *
 * push:
 * 1. Lanes of a warp that come together, to the same vector, reserve so many numbers by one atomic
 *    addition.
 * 2. One of them makes the segment of the last number, if it is not there, and first those below
 *    that are not.
 * 3. Each has the place of its own number.
 * To make a segment:
 * 1. Claim it: its word from none to busy, by compare-and-swap. Who finds it busy waits, so that not
 *    every warp asks for so much at once; but not for ever: after MAM_VECTOR_WAITS looks it does as
 *    if it had claimed it.
 * 2. Ask the base. Put the address, or "full" if there is no room, in place of "busy" by
 *    compare-and-swap. Lost, where others did not wait: the block goes back, and what they put
 *    counts.
 *
 * Source: the table of doubling segments is that of Dechev, Pirkelbauer, Stroustrup, "Lock-free
 * dynamically resizable arrays", OPODIS 2006, without what they do to take elements out.
 *
 * Invariants:
 * - A segment is there only if all below it are; and what is there stays.
 * - A vector that once had no memory is full at that segment until mam_vector_clear(): so nobody has
 *   an element above one that another lane failed to get, and 0 to count - 1 have no holes.
 * - A number is reserved once. Whether it has a place is the same for all who ask.
 *
 * What is ordered: a segment's address is released and acquired, and so what the base ordered with
 * it. What a lane writes into its element it has to pass on by itself, with the number, as anything
 * else; or others read it behind a barrier or in the next kernel.
 *
 * Bound: an addition a warp, a load a lane; a segment costs a request and two compare-and-swaps.
 * Memory: at most twice what is pushed and the first segment, and what segments that were made twice
 * take for a moment.
 *
 * Who may call what together with whom (yes: any lanes of any kernels at the same time):
 *
 *             push  get  count  clear  fini
 *     init    no    no   no     no     no     before all, by the host or one lane
 *     push    yes   yes  yes    no     no
 *     get           yes  yes    no     no
 *     count              yes    no     no
 *     clear                     no     no     one lane, a barrier or a kernel apart from others
 *     fini                             no     the same
 *
 * All pushes to a vector, and fini, have the same base.
 */
#ifndef MAM_DS_VECTOR_H
#define MAM_DS_VECTOR_H

#include "ds/base.h"

#define MAM_VECTOR_SEGMENTS 40u
#define MAM_VECTOR_SHIFT_MAX 20u
/* No segment has more bytes. */
#define MAM_VECTOR_MOST ((uint64_t)1 << 52)
/* Looks at a segment that another lane makes, and the sleep between them: some 10 ms. */
#ifndef MAM_VECTOR_WAITS
#define MAM_VECTOR_WAITS 20000u
#endif
#define MAM_VECTOR_NAP 500u

/* Words of segments below any address. */
#define MAM_VECTOR_NONE 0u
#define MAM_VECTOR_BUSY 1u
#define MAM_VECTOR_FULL 2u

struct mam_vector {
	uint64_t reserved; /* numbers, had or refused; atomic */
	uint32_t bytes;    /* of an element */
	uint32_t shift;
	uint64_t segment[MAM_VECTOR_SEGMENTS]; /* addresses, or one of the above; atomic */
};

/* Elements of `bytes` each, 1 or more, the first 1 << shift of them in one segment. */
MAM_KBOTH void mam_vector_init(MAM_GLOBAL struct mam_vector *vector, uint32_t bytes, uint32_t shift)
{
	uint32_t k;

	vector->reserved = 0;
	vector->bytes = bytes;
	vector->shift = shift < MAM_VECTOR_SHIFT_MAX ? shift : MAM_VECTOR_SHIFT_MAX;
	for (k = 0; k < MAM_VECTOR_SEGMENTS; k++)
		vector->segment[k] = MAM_VECTOR_NONE;
}

/* The segment that element `number` is in; it may be none that a vector can have. */
MAM_KFN uint32_t mam_vector_segment(MAM_GLOBAL struct mam_vector *vector, uint64_t number)
{
	return 63 - mam_clz64(number + ((uint64_t)1 << vector->shift)) - vector->shift;
}

/* Elements in all segments below `k`. */
MAM_KFN uint64_t mam_vector_below(MAM_GLOBAL struct mam_vector *vector, uint32_t k)
{
	return (((uint64_t)1 << k) - 1) << vector->shift;
}

MAM_KFN uint64_t mam_vector_look(MAM_GLOBAL struct mam_vector *vector, uint32_t k)
{
	return mam_atomic_load64(&vector->segment[k], MAM_ACQUIRE, MAM_AT_DEVICE);
}

/* The place of an element whose number is reserved; NULL: it has none. */
MAM_KFN MAM_GLOBAL void *mam_vector_place(MAM_GLOBAL struct mam_vector *vector, uint64_t number)
{
	uint32_t k = mam_vector_segment(vector, number);
	uint64_t word = k < MAM_VECTOR_SEGMENTS ? mam_vector_look(vector, k) : MAM_VECTOR_NONE;

	if (word <= MAM_VECTOR_FULL)
		return NULL;
	return MAM_DS_POINTER(unsigned char, word) +
	       (number - mam_vector_below(vector, k)) * vector->bytes;
}

/* Segment `k`, above one that is there, is there or full from now on. False: it is full. */
MAM_KFN bool mam_vector_make(MAM_GLOBAL struct mam_vector *vector, MAM_DS_BASE base, uint32_t k)
{
	MAM_GLOBAL uint64_t *where = &vector->segment[k];
	uint64_t seen = mam_vector_look(vector, k), made;
	MAM_GLOBAL void *block = NULL;
	uint32_t waits = 0;

	MAM_ROLLED
	while (seen < MAM_VECTOR_FULL && waits < MAM_VECTOR_WAITS) {
		if (seen == MAM_VECTOR_NONE) {
			seen = mam_atomic_cas64(where, MAM_VECTOR_NONE, MAM_VECTOR_BUSY,
						MAM_ACQUIRE, MAM_AT_DEVICE);
			if (seen == MAM_VECTOR_NONE)
				break;
		} else {
			mam_nanosleep(MAM_VECTOR_NAP);
			waits++;
			seen = mam_vector_look(vector, k);
		}
	}
	if (seen >= MAM_VECTOR_FULL)
		return seen > MAM_VECTOR_FULL;
	if (vector->bytes <= MAM_VECTOR_MOST >> (vector->shift + k))
		block = mam_ds_alloc(base,
				     (size_t)((uint64_t)vector->bytes << (vector->shift + k)));
	made = block ? MAM_DS_WORD(block) : MAM_VECTOR_FULL;
	seen = mam_atomic_cas64(where, MAM_VECTOR_BUSY, made, MAM_ACQ_REL, MAM_AT_DEVICE);
	if (seen == MAM_VECTOR_BUSY)
		return block != NULL;
	if (block)
		(void)mam_ds_free(base, block);
	return seen > MAM_VECTOR_FULL;
}

/* The same of segment `k` and all below it. */
MAM_KFN void mam_vector_reach(MAM_GLOBAL struct mam_vector *vector, MAM_DS_BASE base, uint32_t k)
{
	uint32_t i;

	if (k >= MAM_VECTOR_SEGMENTS)
		k = MAM_VECTOR_SEGMENTS - 1;
	if (mam_vector_look(vector, k) > MAM_VECTOR_FULL)
		return;
	i = k;
	MAM_ROLLED
	while (i && mam_vector_look(vector, i - 1) <= MAM_VECTOR_FULL)
		i--;
	MAM_ROLLED
	while (i <= k && mam_vector_make(vector, base, i))
		i++;
}

/*
 * A new element, with anything in it, and its number; NULL: there was no memory, and `number` is left
 * alone.
 */
MAM_KFN MAM_GLOBAL void *mam_vector_push(MAM_GLOBAL struct mam_vector *vector, MAM_DS_BASE base,
					 uint64_t *number)
{
	uint32_t came = mam_warp_active(), mask, leader;
	MAM_GLOBAL void *place;
	uint64_t own = 0;

	mask = mam_warp_match64(came, MAM_DS_WORD(vector));
	leader = mam_lanes_leader(mask);
	if (mam_lane() == leader) {
		own = mam_atomic_add64(&vector->reserved, mam_popc32(mask), MAM_RELAXED,
				       MAM_AT_DEVICE);
		mam_vector_reach(vector, base,
				 mam_vector_segment(vector, own + mam_popc32(mask) - 1));
	}
	own = mam_warp_shuffle64(mask, own, leader) + mam_lanes_rank(mask);
	/* So that all see what the leader saw of segments; the simulator shows them anyway. */
	mam_warp_sync(mask);
	place = mam_vector_place(vector, own);
	if (place)
		*number = own;
	mam_warp_sync(came);
	return place;
}

/*
 * How many elements have a place, as far as segments are there: while others push it may be less than
 * one of them was told.
 */
MAM_KFN uint64_t mam_vector_count(MAM_GLOBAL struct mam_vector *vector)
{
	uint64_t count = mam_atomic_load64(&vector->reserved, MAM_RELAXED, MAM_AT_DEVICE), most;
	uint32_t k;

	if (!count)
		return 0;
	k = mam_vector_segment(vector, count - 1);
	if (k >= MAM_VECTOR_SEGMENTS)
		k = MAM_VECTOR_SEGMENTS - 1;
	MAM_ROLLED
	while (k && mam_vector_look(vector, k) <= MAM_VECTOR_FULL)
		k--;
	if (!k && mam_vector_look(vector, 0) <= MAM_VECTOR_FULL)
		return 0;
	most = mam_vector_below(vector, k + 1);
	return count < most ? count : most;
}

/* Element `number`, or NULL: there is none. */
MAM_KFN MAM_GLOBAL void *mam_vector_get(MAM_GLOBAL struct mam_vector *vector, uint64_t number)
{
	if (number >= mam_atomic_load64(&vector->reserved, MAM_RELAXED, MAM_AT_DEVICE))
		return NULL;
	return mam_vector_place(vector, number);
}

/* No elements; segments stay, and where it was full it may grow again. */
MAM_KFN void mam_vector_clear(MAM_GLOBAL struct mam_vector *vector)
{
	uint32_t k;

	vector->reserved = 0;
	MAM_ROLLED
	for (k = 0; k < MAM_VECTOR_SEGMENTS; k++)
		if (vector->segment[k] <= MAM_VECTOR_FULL)
			vector->segment[k] = MAM_VECTOR_NONE;
}

/* All memory back to the base: the vector is as after mam_vector_init(). */
MAM_KFN void mam_vector_fini(MAM_GLOBAL struct mam_vector *vector, MAM_DS_BASE base)
{
	uint32_t k;

	mam_vector_clear(vector);
	MAM_ROLLED
	for (k = 0; k < MAM_VECTOR_SEGMENTS && vector->segment[k] != MAM_VECTOR_NONE; k++) {
		(void)mam_ds_free(base, MAM_DS_POINTER(void, vector->segment[k]));
		vector->segment[k] = MAM_VECTOR_NONE;
	}
}

#endif
