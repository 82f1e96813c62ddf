/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector.h - a vector that grows while many lanes push to it, and whose elements never move.
 *
 * Elements are in segments: the first has 1 << shift elements, each further one twice as many as
 * the one before. A table has their addresses. Add the size of the first segment to the index i:
 * the highest bit of the sum selects the segment, and the other bits the place in it.
 *
 * push:
 * 1. The converged lanes of a warp with the same vector reserve their indices by one atomic
 *    addition.
 * 2. One of them allocates the segment of the last index if it is missing, and first all missing
 *    segments below it.
 * 3. Each lane computes the address of its own index.
 * To allocate a segment:
 * 1. Claim it: set its word from none to busy by compare-and-swap. A lane that finds it busy waits,
 *    so that not every warp allocates so much at once. It does not wait forever: after
 *    MAM_VECTOR_WAITS reads it continues as if it had claimed the segment.
 * 2. Allocate from the base. Replace "busy" by the address, or by "full" if there is no memory, by
 *    compare-and-swap. This fails if a lane that did not wait was faster: then free the block, and
 *    use the other lane's value.
 *
 * Source: the table of doubling segments is that of Dechev, Pirkelbauer, Stroustrup, "Lock-free
 * dynamically resizable arrays", OPODIS 2006, without their removal of elements.
 *
 * Invariants:
 * - A segment exists only if all below it exist; and existing segments stay.
 * - A vector that once ran out of memory is full at that segment until mam_vector_clear(). So no
 *   lane has an element above one that another lane failed to get, and the indices 0 to count - 1
 *   have no gaps.
 * - An index is reserved once. Whether it has an address is the same for all lanes.
 *
 * Memory order: a segment's address is released and acquired, together with what the base ordered
 * before it. Writes into an element must be passed on by the program, together with the index, or
 * read after a barrier or in the next kernel.
 *
 * Bound: one addition per warp, one load per lane; a segment costs one request and two
 * compare-and-swaps. Memory: at most twice the pushed elements plus the first segment, and for a
 * moment the segments that were allocated twice.
 *
 * Concurrent calls (yes: any lanes of any kernels at the same time):
 *
 *             push  get  count  clear  fini
 *     init    no    no   no     no     no     before all, by the host or one lane
 *     push    yes   yes  yes    no     no
 *     get           yes  yes    no     no
 *     count              yes    no     no
 *     clear                     no     no     one lane; barrier or kernel between
 *     fini                             no     the same
 *
 * All pushes to a vector, and fini, must use the same base.
 */
#ifndef MAM_DS_VECTOR_H
#define MAM_DS_VECTOR_H

#include "ds/base.h"

#define MAM_VECTOR_SEGMENTS 40u
#define MAM_VECTOR_SHIFT_MAX 20u
/* Maximum bytes of a segment. */
#define MAM_VECTOR_MAX ((uint64_t)1 << 52)
/* Reads of a segment that another lane is allocating, and the sleep between them: some 10 ms. */
#ifndef MAM_VECTOR_WAITS
#define MAM_VECTOR_WAITS 20000u
#endif
#define MAM_VECTOR_NAP 500u

/* Words of segments below any address. */
#define MAM_VECTOR_NONE 0u
#define MAM_VECTOR_BUSY 1u
#define MAM_VECTOR_FULL 2u

struct mam_vector {
	uint64_t reserved; /* indices, with or without an address; atomic */
	uint32_t bytes;    /* of an element */
	uint32_t shift;
	uint64_t segment[MAM_VECTOR_SEGMENTS]; /* addresses, or one of the values above; atomic */
};

/* Elements of `bytes` each, 1 or more; the first segment has 1 << shift of them. */
MAM_KBOTH void mam_vector_init(MAM_GLOBAL struct mam_vector *vector, uint32_t bytes, uint32_t shift)
{
	uint32_t k;

	vector->reserved = 0;
	vector->bytes = bytes;
	vector->shift = shift < MAM_VECTOR_SHIFT_MAX ? shift : MAM_VECTOR_SHIFT_MAX;
	for (k = 0; k < MAM_VECTOR_SEGMENTS; k++)
		vector->segment[k] = MAM_VECTOR_NONE;
}

/* The segment of element `number`; it may be beyond the segments of a vector. */
MAM_KFN uint32_t mam_vector_segment(MAM_GLOBAL struct mam_vector *vector, uint64_t number)
{
	return 63 - mam_clz64(number + ((uint64_t)1 << vector->shift)) - vector->shift;
}

/* The number of elements in all segments below `k`. */
MAM_KFN uint64_t mam_vector_below(MAM_GLOBAL struct mam_vector *vector, uint32_t k)
{
	return (((uint64_t)1 << k) - 1) << vector->shift;
}

MAM_KFN uint64_t mam_vector_look(MAM_GLOBAL struct mam_vector *vector, uint32_t k)
{
	return mam_atomic_load64(&vector->segment[k], MAM_ACQUIRE, MAM_AT_DEVICE);
}

/* The address of an element whose index is reserved; NULL: it has none. */
MAM_KFN MAM_GLOBAL void *mam_vector_place(MAM_GLOBAL struct mam_vector *vector, uint64_t number)
{
	uint32_t k = mam_vector_segment(vector, number);
	uint64_t word = k < MAM_VECTOR_SEGMENTS ? mam_vector_look(vector, k) : MAM_VECTOR_NONE;

	if (word <= MAM_VECTOR_FULL)
		return NULL;
	return MAM_DS_POINTER(unsigned char, word) +
	       (number - mam_vector_below(vector, k)) * vector->bytes;
}

/* Allocates segment `k`, whose predecessor exists, or marks it as full. False: it is full. */
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
	if (vector->bytes <= MAM_VECTOR_MAX >> (vector->shift + k))
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

/* The same for segment `k` and all below it. */
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
 * A new element with undefined contents, and its index; NULL: out of memory, and `number` is not
 * written.
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
	/* So that all lanes see what the leader saw of segments; the simulator shows it anyway. */
	mam_warp_sync(mask);
	place = mam_vector_place(vector, own);
	if (place)
		*number = own;
	mam_warp_sync(came);
	return place;
}

/*
 * How many elements have an address, as far as segments exist. While others push, it may be lower
 * than the index of a lane.
 */
MAM_KFN uint64_t mam_vector_count(MAM_GLOBAL struct mam_vector *vector)
{
	uint64_t count = mam_atomic_load64(&vector->reserved, MAM_RELAXED, MAM_AT_DEVICE), max;
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
	max = mam_vector_below(vector, k + 1);
	return count < max ? count : max;
}

/* Element `number`, or NULL: it does not exist. */
MAM_KFN MAM_GLOBAL void *mam_vector_get(MAM_GLOBAL struct mam_vector *vector, uint64_t number)
{
	if (number >= mam_atomic_load64(&vector->reserved, MAM_RELAXED, MAM_AT_DEVICE))
		return NULL;
	return mam_vector_place(vector, number);
}

/* Removes all elements; segments stay, and a full vector may grow again. */
MAM_KFN void mam_vector_clear(MAM_GLOBAL struct mam_vector *vector)
{
	uint32_t k;

	vector->reserved = 0;
	MAM_ROLLED
	for (k = 0; k < MAM_VECTOR_SEGMENTS; k++)
		if (vector->segment[k] <= MAM_VECTOR_FULL)
			vector->segment[k] = MAM_VECTOR_NONE;
}

/* Frees all memory to the base: the vector is as after mam_vector_init(). */
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
