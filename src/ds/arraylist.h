/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arraylist.h - KMA's ArrayList: a list of blocks of elements that only grows, by one lane or by a
 * whole thread block at a time, and is freed as a whole.
 *
 * Each block has its number of elements and the index of its first element. The newest block is the
 * head of the list, and points to the one before it.
 *
 * grow:
 * 1. The converged lanes of a warp with the same list request one block for all of them from the
 *    base.
 * 2. The block begins where the newest ends, and becomes the newest by compare-and-swap. If that
 *    fails, repeat this step with the new newest block.
 * grow_local, by all threads of a block (a work group), each for any number of elements:
 * 1. Each thread stores its number in shared memory. Barrier.
 * 2. One thread per 32 sums their numbers, and stores the sum before each. Barrier.
 * 3. The first thread sums those, makes one request to the base, and inserts the block at the head,
 *    as above. Barrier.
 * 4. Each thread computes where its own elements begin.
 *
 * Source: KMA (Spliet, Howes, Gaster, Varbanescu: KMA: a dynamic memory manager for OpenCL,
 * GPGPU-7, 2014), section 4.2.1; the sum over a group is that of XMalloc (Huang et al., CIT 2010).
 * There blocks are in a queue, and the paper does not describe how an element gets its index. Here
 * the position of a block in the list determines its indices, so get() needs no second word, and a
 * grower depends only on the last grower.
 *
 * Invariants:
 * - From the head down, the first indices decrease, each block begins where the next one ends, and
 *   the last begins at 0. So the newest block alone determines the count.
 * - A block in the list does not change and is not freed before clear().
 * - Once a grower has its index, get() finds that element.
 *
 * Memory order: a lane that sees a block sees what its grower did before it grew. Later writes to
 * elements must be passed on by the program, or read after a barrier or in the next kernel.
 *
 * Bound: lock-free, as a compare-and-swap fails only because another one succeeded. One request to
 * the base per warp or thread block. get() searches from the newest block: it makes one load per
 * newer block. To read all elements, iterate with mam_arraylist_newest() and _older(). The list
 * needs 32 bytes per block for itself.
 *
 * Concurrent calls:
 *
 *                  grow  grow_local  get  count  walk  clear
 *     init         no    no          no   no     no    no     before all, by the host or one lane
 *     grow         yes   yes         yes  yes    yes   no
 *     grow_local         (1)         yes  yes    yes   no
 *     get                            yes  yes    yes   no
 *     count                               yes    yes   no
 *     walk                                       yes   no
 *     clear                                            no     one lane; barrier or kernel between
 *
 * (1) All threads of a block together, none of which has exited; several blocks at the same time.
 */
#ifndef MAM_DS_ARRAYLIST_H
#define MAM_DS_ARRAYLIST_H

#include "ds/base.h"

/* Maximum threads of a block, and maximum elements for one of them at a time. */
#define MAM_ARRAYLIST_THREADS 1024u
#define MAM_ARRAYLIST_MAX (1u << 20)
/* In place of a sum: the sum is too large. */
#define MAM_ARRAYLIST_TOO_MANY ((uint64_t)1 << 52)

struct mam_arraylist {
	uint64_t newest; /* address of a block, 0: none; atomic */
	uint64_t bytes;  /* of an element */
};

/* Elements follow it. It does not change once it is in the list. */
struct mam_arraylist_block {
	uint64_t older; /* address of a block, 0: none */
	uint64_t first; /* index of its first element */
	uint64_t count;
	uint64_t unused;
};

/* Shared memory of the threads in grow_local: MAM_SHARED(struct mam_arraylist_shared, shared). */
struct mam_arraylist_shared {
	uint64_t block; /* address; 0: out of memory */
	uint64_t sums[MAM_ARRAYLIST_THREADS / 32];
	/* One per thread, and one unused word after each 32: so 32 sums are in 32 banks. */
	uint32_t counts[MAM_ARRAYLIST_THREADS + MAM_ARRAYLIST_THREADS / 32];
};

/* Elements of `bytes` each, 1 or more. */
MAM_KBOTH void mam_arraylist_init(MAM_GLOBAL struct mam_arraylist *list, uint32_t bytes)
{
	list->newest = 0;
	list->bytes = bytes;
}

/* The newest block, or NULL. */
MAM_KFN MAM_GLOBAL struct mam_arraylist_block *
mam_arraylist_newest(MAM_GLOBAL struct mam_arraylist *list)
{
	return MAM_DS_POINTER(struct mam_arraylist_block,
			      mam_atomic_load64(&list->newest, MAM_ACQUIRE, MAM_AT_DEVICE));
}

/* The block before it, or NULL. */
MAM_KFN MAM_GLOBAL struct mam_arraylist_block *
mam_arraylist_older(MAM_GLOBAL struct mam_arraylist_block *block)
{
	return MAM_DS_POINTER(struct mam_arraylist_block, block->older);
}

/* Element `i` of a block, below its count. */
MAM_KFN MAM_GLOBAL void *mam_arraylist_at(MAM_GLOBAL struct mam_arraylist *list,
					  MAM_GLOBAL struct mam_arraylist_block *block, uint64_t i)
{
	return (MAM_GLOBAL unsigned char *)(block + 1) + i * list->bytes;
}

/* A new block of `count` elements at the head; NULL: out of memory. */
MAM_KFN MAM_GLOBAL struct mam_arraylist_block *
mam_arraylist_append(MAM_GLOBAL struct mam_arraylist *list, MAM_DS_BASE base, uint64_t count)
{
	MAM_GLOBAL struct mam_arraylist_block *block = NULL, *older;
	uint64_t seen, was;

	/* So the product is below 2^64. */
	if (count <= (uint64_t)MAM_ARRAYLIST_MAX * MAM_ARRAYLIST_THREADS)
		block = (MAM_GLOBAL struct mam_arraylist_block *)mam_ds_alloc(
			base, (size_t)(sizeof(*block) + list->bytes * count));
	if (!block)
		return NULL;
	block->count = count;
	was = mam_atomic_load64(&list->newest, MAM_ACQUIRE, MAM_AT_DEVICE);
	MAM_ROLLED
	do {
		seen = was;
		older = MAM_DS_POINTER(struct mam_arraylist_block, seen);
		block->older = seen;
		block->first = older ? older->first + older->count : 0;
		was = mam_atomic_cas64(&list->newest, seen, MAM_DS_WORD(block), MAM_ACQ_REL,
				       MAM_AT_DEVICE);
	} while (was != seen);
	return block;
}

/*
 * A new element with undefined contents, and its index; NULL: out of memory, and `number` is not
 * written.
 */
MAM_KFN MAM_GLOBAL void *mam_arraylist_grow(MAM_GLOBAL struct mam_arraylist *list, MAM_DS_BASE base,
					    uint64_t *number)
{
	uint32_t came = mam_warp_active(), mask, leader, rank;
	MAM_GLOBAL struct mam_arraylist_block *block;
	MAM_GLOBAL void *element = NULL;
	uint64_t address = 0;

	mask = mam_warp_match64(came, MAM_DS_WORD(list));
	leader = mam_lanes_leader(mask);
	rank = mam_lanes_rank(mask);
	if (mam_lane() == leader)
		address = MAM_DS_WORD(mam_arraylist_append(list, base, mam_popc32(mask)));
	address = mam_warp_shuffle64(mask, address, leader);
	/* The leader's writes, and the writes that it acquired with the memory. */
	mam_warp_sync(mask);
	block = MAM_DS_POINTER(struct mam_arraylist_block, address);
	if (block) {
		*number = block->first + rank;
		element = mam_arraylist_at(list, block, rank);
	}
	mam_warp_sync(came);
	return element;
}

/* Where thread `rank` of the block stores its number. */
MAM_KFN MAM_DS_SHARED uint32_t *
mam_arraylist_slot(MAM_DS_SHARED struct mam_arraylist_shared *shared, uint32_t rank)
{
	return &shared->counts[rank + rank / 32];
}

/* Step 2: the threads of `group`, which begin at 32 * `group`. */
MAM_KFN void mam_arraylist_sum(MAM_DS_SHARED struct mam_arraylist_shared *shared, uint32_t group,
			       uint32_t threads)
{
	uint32_t i = group * 32, end = i + 32 < threads ? i + 32 : threads, own;
	uint64_t sum = 0;
	bool fits = true;

	MAM_ROLLED
	for (; i < end; i++) {
		own = *mam_arraylist_slot(shared, i);
		fits = fits && own <= MAM_ARRAYLIST_MAX;
		*mam_arraylist_slot(shared, i) = (uint32_t)sum;
		sum += own;
	}
	shared->sums[group] = fits ? sum : MAM_ARRAYLIST_TOO_MANY;
}

/* The sum of the groups below `group`. */
MAM_KFN uint64_t mam_arraylist_before(MAM_DS_SHARED struct mam_arraylist_shared *shared,
				      uint32_t group)
{
	uint64_t sum = 0;
	uint32_t i;

	MAM_ROLLED
	for (i = 0; i < group; i++)
		sum += shared->sums[i];
	return sum;
}

/*
 * `count` new elements in a row for each thread, 0 or more, after those of the preceding thread,
 * and the index of the first. NULL: the thread requested none, or there was no memory for all of
 * them, or a thread requested more than MAM_ARRAYLIST_MAX, or the block has more than
 * MAM_ARRAYLIST_THREADS. Either all threads get their elements or none does. `shared` belongs to
 * the block and only to these calls; calls may follow one another.
 */
MAM_KFN MAM_GLOBAL void *mam_arraylist_grow_local(MAM_GLOBAL struct mam_arraylist *list,
						  MAM_DS_BASE base,
						  MAM_DS_SHARED struct mam_arraylist_shared *shared,
						  uint32_t count, uint64_t *first)
{
	uint32_t rank = mam_thread(), threads = mam_block_threads();
	bool fits = threads <= MAM_ARRAYLIST_THREADS;
	MAM_GLOBAL struct mam_arraylist_block *block;
	uint64_t before, total;

	/* No early exit before a barrier: PoCL miscompiles one that all of a group take. */
	if (fits)
		*mam_arraylist_slot(shared, rank) = count;
	mam_syncthreads();
	if (fits && rank < (threads + 31) / 32)
		mam_arraylist_sum(shared, rank, threads);
	mam_syncthreads();
	before = fits ? mam_arraylist_before(shared, rank / 32) + *mam_arraylist_slot(shared, rank)
		      : 0;
	if (rank == 0) {
		total = fits ? mam_arraylist_before(shared, (threads + 31) / 32) : 0;
		shared->block = total ? MAM_DS_WORD(mam_arraylist_append(list, base, total)) : 0;
	}
	/*
	 * No thread reads sums after this barrier, and none writes the address before the next but
	 * one.
	 */
	mam_syncthreads();
	block = MAM_DS_POINTER(struct mam_arraylist_block, shared->block);
	if (!block || !count)
		return NULL;
	*first = block->first + before;
	return mam_arraylist_at(list, block, before);
}

/* The number of elements. */
MAM_KFN uint64_t mam_arraylist_count(MAM_GLOBAL struct mam_arraylist *list)
{
	MAM_GLOBAL struct mam_arraylist_block *block = mam_arraylist_newest(list);

	return block ? block->first + block->count : 0;
}

/* Element `number`, or NULL: it does not exist. */
MAM_KFN MAM_GLOBAL void *mam_arraylist_get(MAM_GLOBAL struct mam_arraylist *list, uint64_t number)
{
	MAM_GLOBAL struct mam_arraylist_block *block = mam_arraylist_newest(list);

	MAM_ROLLED
	while (block && number < block->first)
		block = mam_arraylist_older(block);
	if (!block || number - block->first >= block->count)
		return NULL;
	return mam_arraylist_at(list, block, number - block->first);
}

/* Frees all memory to the base; the list is empty. */
MAM_KFN void mam_arraylist_clear(MAM_GLOBAL struct mam_arraylist *list, MAM_DS_BASE base)
{
	MAM_GLOBAL struct mam_arraylist_block *block = mam_arraylist_newest(list), *older;

	list->newest = 0;
	MAM_ROLLED
	for (; block; block = older) {
		older = mam_arraylist_older(block);
		(void)mam_ds_free(base, block);
	}
}

#endif
