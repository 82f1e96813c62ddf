/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - a simple queue of free pages: the paper compares its random walks with it, in place of
 * allocators whose steps cannot be counted.
 *
 * Free page numbers are in a ring. Its start and end are one 64-bit word, head above tail; both
 * only count up, and each entry of the ring records the count for which it is next.
 * 1. Allocate: one atomic adds one to head. If head was below tail, the page is in that entry of
 *    the ring, where the freeing lane may still be writing it; wait for it, and leave the entry to
 *    the next round.
 * 2. Otherwise the queue was empty: MAM_NO_PAGE. Head is ahead of tail by the entries that were
 *    given up like this; one compare-and-swap of any lane sets it back to tail.
 * 3. Free: one atomic adds one to tail. If tail was below head, that entry was given up; leave it
 *    to the next round, set head back, and try again. Otherwise the page is written there, once the
 *    last round is done with the entry.
 *
 * As both are in one word, an allocating and a freeing lane of one entry agree on their order. One
 * atomic per lane: compilers combine such an add into one per warp, so the word's address is hidden
 * from them. An H100 executes 1.3 billion of them per second, for any number of threads.
 *
 * A step is a place in the waiting line: the n-th allocation since mam_queue_mark() took n steps.
 *
 * Bound: none; a lane that waits for an entry waits for the next store of a lane that waits, if at
 * all, for an earlier round. Valid for 2^31 pages and, without a new format, for 2^32 frees. At
 * rest each free page is once between head and tail.
 */
#ifndef MAM_BENCH_PAPERS_WALK_QUEUE_H
#define MAM_BENCH_PAPERS_WALK_QUEUE_H

#include "bench/papers/walk/common.h"

struct mam_queue {
	uint32_t count;     /* pages; never changes */
	uint32_t mask;      /* entries of the ring, a power of two, minus 1; never changes */
	uint32_t line;      /* head at the last mark; changes between kernels only */
	uint32_t spare[29]; /* zeros */
	uint64_t ends;      /* head << 32 | tail; atomic */
	uint64_t away[15];
};

MAM_KBOTH uint32_t mam_queue_mask(uint32_t count)
{
	uint32_t mask = 1;

	while (mask + 1 < count)
		mask = mask << 1 | 1;
	return mask;
}

MAM_KBOTH size_t mam_queue_bytes(uint32_t count)
{
	return sizeof(struct mam_queue) + ((size_t)mam_queue_mask(count) + 1) * sizeof(uint64_t);
}

/* `low` defines when a search gives up: a queue knows when it is empty. */
MAM_KBOTH void mam_queue_format(MAM_GLOBAL struct mam_queue *queue, uint32_t count, uint32_t low)
{
	MAM_GLOBAL uint64_t *place = (MAM_GLOBAL uint64_t *)(queue + 1);
	uint64_t i;

	(void)low;
	queue->count = count;
	queue->mask = mam_queue_mask(count);
	queue->line = 0;
	queue->ends = count;
	for (i = 0; i <= queue->mask; i++)
		place[i] = i << 32 | (i < count ? i : MAM_NO_PAGE);
}

#ifndef MAM_DEVICE_PORT_HOST_H

/* count << 32 | page; MAM_NO_PAGE: empty. */
MAM_KFN MAM_GLOBAL uint64_t *mam_queue_place(MAM_GLOBAL struct mam_queue *queue, uint32_t at)
{
	return (MAM_GLOBAL uint64_t *)(queue + 1) + (at & queue->mask);
}

/* Leaves the entry of count `at` to the next round. */
MAM_KFN void mam_queue_pass(MAM_GLOBAL struct mam_queue *queue, uint32_t at)
{
	mam_atomic_store64(mam_queue_place(queue, at),
			   (uint64_t)(at + queue->mask + 1) << 32 | MAM_NO_PAGE, MAM_RELAXED,
			   MAM_AT_DEVICE);
}

/* Waits until the last round is done with the entry of count `at`. */
MAM_KFN void mam_queue_await(MAM_GLOBAL struct mam_queue *queue, uint32_t at)
{
	while (mam_atomic_load64(mam_queue_place(queue, at), MAM_RELAXED, MAM_AT_DEVICE) !=
	       ((uint64_t)at << 32 | MAM_NO_PAGE))
		mam_nanosleep(20);
}

/* Steps count from here. By one lane, with no other at work. */
MAM_KFN void mam_queue_mark(MAM_GLOBAL struct mam_queue *queue)
{
	uint32_t head = (uint32_t)(queue->ends >> 32), tail = (uint32_t)queue->ends;

	if (head > tail)
		head = tail;
	queue->line = head;
	queue->ends = (uint64_t)head << 32 | tail;
}

/* Sets head back to tail if it is still ahead: the entries between were given up. */
MAM_KFN void mam_queue_retreat(MAM_GLOBAL struct mam_queue *queue)
{
	uint64_t ends = mam_atomic_load64(&queue->ends, MAM_RELAXED, MAM_AT_DEVICE);
	uint32_t tail = (uint32_t)ends;

	if ((uint32_t)(ends >> 32) > tail)
		(void)mam_atomic_cas64(&queue->ends, ends, (uint64_t)tail << 32 | tail, MAM_RELAXED,
				       MAM_AT_DEVICE);
}

MAM_KFN uint32_t mam_queue_take(MAM_GLOBAL struct mam_queue *queue, struct mam_published_walk *walk)
{
	uint64_t ends = mam_atomic_add64(mam_published_hidden(&queue->ends, queue->spare),
					 (uint64_t)1 << 32, MAM_RELAXED, MAM_AT_DEVICE);
	uint32_t head = (uint32_t)(ends >> 32);
	uint64_t there;

	walk->steps += head - queue->line + 1;
	if (head >= (uint32_t)ends) {
		mam_queue_retreat(queue);
		return MAM_NO_PAGE;
	}
	for (;;) {
		there = mam_atomic_load64(mam_queue_place(queue, head), MAM_ACQUIRE, MAM_AT_DEVICE);
		if (there >> 32 == head && (uint32_t)there != MAM_NO_PAGE)
			break;
		mam_nanosleep(20);
	}
	mam_queue_pass(queue, head);
	return (uint32_t)there;
}

MAM_KFN bool mam_queue_give(MAM_GLOBAL struct mam_queue *queue, uint32_t page)
{
	uint32_t tail;
	uint64_t ends;

	if (page >= queue->count)
		return false;
	for (;;) {
		ends = mam_atomic_add64(mam_published_hidden(&queue->ends, queue->spare), 1,
					MAM_RELAXED, MAM_AT_DEVICE);
		tail = (uint32_t)ends;
		mam_queue_await(queue, tail);
		if (ends >> 32 <= tail)
			break;
		mam_queue_pass(queue, tail);
		mam_queue_retreat(queue);
	}
	mam_atomic_store64(mam_queue_place(queue, tail), (uint64_t)tail << 32 | page,
			   MAM_PUBLISHED_GIVE, MAM_AT_DEVICE);
	return true;
}

#endif
#endif
