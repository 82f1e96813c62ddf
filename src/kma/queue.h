/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - the free superblocks: lock-free FIFO queues of their numbers.
 *
 * A superblock may be put into any queue. There are several because, of all lanes that contend for
 * one head or tail, one succeeds per round trip to memory, 0.7 us on an H100; a superblock that is
 * divided into few blocks enters and leaves a queue with each of them. The rest of this comment is
 * about one queue.
 *
 * A list of nodes, each with a link to the next one and a superblock's number. `head` names a node
 * whose number is no longer in the queue, `tail` the last node or the one before it. Links, head
 * and tail are words of a tag and a node: tag << 32 | node; each change increments the tag.
 *
 * put(superblock):
 * 1. The superblock's own node gets its number and the link NONE.
 * 2. Read the tail, its node's link, and the tail again: if that has moved, repeat. If there is a
 *    link, help: advance the tail by a CAS, and repeat.
 * 3. CAS that link from NONE to the node. If that fails, repeat from 2. Then advance the tail,
 *    unless another lane has already done so.
 * take:
 * 1. Read head, tail, the head's link, and the head again: if that has moved, repeat.
 * 2. If head and tail are the same node: without a link, the queue is empty. With a link, help to
 *    advance the tail, and repeat.
 * 3. Read the number of the next node, then CAS the head to that node. If that fails, repeat.
 * 4. The old head node now belongs to the superblock: it has a node for the next put, and no list
 *    of free nodes is needed.
 *
 * After Michael and Scott: Simple, fast, and practical non-blocking and blocking concurrent queue
 * algorithms, PODC 1996. In KMA (GPGPU-7, 2014), which has one queue, superblocks are themselves
 * the nodes, so that one always remains as the head and is wasted. Here each queue has an extra
 * node, which is its head when it is empty, so all superblocks can be taken.
 *
 * Correctness.
 * - Each node is in the list or belongs to one superblock outside; only the owner of the superblock
 *   writes its node.
 * - The head never passes the tail: the head moves only if the tail was seen at another node
 *   after the head was read, and both only advance.
 * - A put's link belongs to the list: the tail did not move between its two reads.
 * - "Empty" is true when the link was read: the head did not move between its two reads.
 * - A number is read before the CAS of the head; if that succeeds, the next node was in the list,
 *   and the number was valid.
 * - ABA: a lane that stalls between its read and its CAS finds another tag, even if the same node
 *   is the last one again, of this queue or another, unless the word has changed 2^32 times
 *   meanwhile.
 * - A lane that stops forever anywhere leaves the tail at most one node late, and other lanes
 *   advance it.
 *
 * Memory order: writes before a put are visible after the take of that number, through the link,
 * which the put releases and the take acquires. Head and tail are acquired and released too, so
 * that a lane that reads one of them does not read a link of an earlier use of its node. This also
 * keeps the reads in order.
 *
 * Bound: an attempt to put is 3 reads and 2 CAS (and a read and 2 writes of the superblock's node),
 * an attempt to take 5 reads and 1 CAS. Lock-free: an attempt fails only because another lane's
 * step succeeded.
 */
#ifndef MAM_KMA_QUEUE_H
#define MAM_KMA_QUEUE_H

#include "device/port_global.h"

#define MAM_KMA_NONE 0xffffffffu
#define MAM_KMA_LINE 128u

/* Followed by heads and tails, each in its own line, then links, numbers and nodes. */
struct mam_kma_queue {
	uint32_t superblocks, queues;
	uint64_t pad[MAM_KMA_LINE / 8 - 1];
};

/* Bytes of device memory for queues that may hold `superblocks`. A multiple of MAM_KMA_LINE. */
MAM_KBOTH uint64_t mam_kma_queue_bytes(uint32_t superblocks, uint32_t queues)
{
	uint64_t bytes = sizeof(struct mam_kma_queue) + (uint64_t)queues * (2 * MAM_KMA_LINE + 12) +
			 (uint64_t)superblocks * 16;

	return (bytes + MAM_KMA_LINE - 1) / MAM_KMA_LINE * MAM_KMA_LINE;
}

/* Atomic. */
MAM_KBOTH MAM_GLOBAL uint64_t *mam_kma_queue_head(MAM_GLOBAL struct mam_kma_queue *queue,
						  uint32_t which)
{
	return (MAM_GLOBAL uint64_t *)(queue + 1) + which * (2 * MAM_KMA_LINE / 8);
}

/* Atomic. */
MAM_KBOTH MAM_GLOBAL uint64_t *mam_kma_queue_tail(MAM_GLOBAL struct mam_kma_queue *queue,
						  uint32_t which)
{
	return mam_kma_queue_head(queue, which) + MAM_KMA_LINE / 8;
}

/* A node's link; atomic. */
MAM_KBOTH MAM_GLOBAL uint64_t *mam_kma_queue_link(MAM_GLOBAL struct mam_kma_queue *queue,
						  uint32_t node)
{
	return mam_kma_queue_head(queue, queue->queues) + node;
}

/* A node's superblock; atomic, as a late lane may read it while it is written. */
MAM_KBOTH MAM_GLOBAL uint32_t *mam_kma_queue_number(MAM_GLOBAL struct mam_kma_queue *queue,
						    uint32_t node)
{
	return (MAM_GLOBAL uint32_t *)mam_kma_queue_link(queue,
							 queue->superblocks + queue->queues) +
	       node;
}

/* A superblock's node, while the superblock is not in a queue; only its owner accesses it. */
MAM_KBOTH MAM_GLOBAL uint32_t *mam_kma_queue_node(MAM_GLOBAL struct mam_kma_queue *queue,
						  uint32_t superblock)
{
	return mam_kma_queue_number(queue, queue->superblocks + queue->queues) + superblock;
}

/*
 * Initializes empty queues, in any memory, by `workers` lanes of one kernel, each with its own
 * number below that. All of them must finish before any lane uses the queues.
 */
MAM_KBOTH void mam_kma_queue_format(MAM_GLOBAL struct mam_kma_queue *queue, uint32_t superblocks,
				    uint32_t queues, uint32_t worker, uint32_t workers)
{
	/* Other lanes may not have written the head yet. */
	MAM_GLOBAL uint64_t *links = mam_kma_queue_head(queue, queues);
	MAM_GLOBAL uint32_t *numbers = (MAM_GLOBAL uint32_t *)(links + superblocks + queues);
	uint32_t i;

	for (i = worker; i < superblocks + queues; i += workers) {
		links[i] = MAM_KMA_NONE;
		numbers[i] = MAM_KMA_NONE;
		if (i < superblocks)
			numbers[superblocks + queues + i] = i;
	}
	for (i = worker; i < queues; i += workers) {
		*mam_kma_queue_head(queue, i) = superblocks + i;
		*mam_kma_queue_tail(queue, i) = superblocks + i;
	}
	if (worker)
		return;
	queue->superblocks = superblocks;
	queue->queues = queues;
}

/* The word that follows `seen` and names `node`. */
MAM_KBOTH uint64_t mam_kma_queue_word(uint64_t seen, uint32_t node)
{
	return ((seen >> 32) + 1) << 32 | node;
}

/* pre: the caller owns the superblock, and it is not in a queue. */
MAM_KFN void mam_kma_queue_put(MAM_GLOBAL struct mam_kma_queue *queue, uint32_t which,
			       uint32_t superblock)
{
	MAM_GLOBAL uint64_t *tail_at = mam_kma_queue_tail(queue, which);
	uint32_t node = *mam_kma_queue_node(queue, superblock);
	MAM_GLOBAL uint64_t *link = mam_kma_queue_link(queue, node);
	uint64_t tail, next = mam_atomic_load64(link, MAM_RELAXED, MAM_AT_DEVICE);

	mam_atomic_store32(mam_kma_queue_number(queue, node), superblock, MAM_RELAXED,
			   MAM_AT_DEVICE);
	/*
	 * The link gets a new tag too, so that the CAS of a lane that once saw the node as the last
	 * one fails.
	 */
	mam_atomic_store64(link, mam_kma_queue_word(next, MAM_KMA_NONE), MAM_RELAXED,
			   MAM_AT_DEVICE);
	MAM_ROLLED
	for (;;) {
		tail = mam_atomic_load64(tail_at, MAM_ACQUIRE, MAM_AT_DEVICE);
		link = mam_kma_queue_link(queue, (uint32_t)tail);
		next = mam_atomic_load64(link, MAM_ACQUIRE, MAM_AT_DEVICE);
		/*
		 * Otherwise the node may have another owner by now, and the link may not be in the
		 * list yet.
		 */
		if (mam_atomic_load64(tail_at, MAM_RELAXED, MAM_AT_DEVICE) != tail)
			continue;
		if ((uint32_t)next != MAM_KMA_NONE)
			(void)mam_atomic_cas64(tail_at, tail,
					       mam_kma_queue_word(tail, (uint32_t)next),
					       MAM_RELEASE, MAM_AT_DEVICE);
		else if (mam_atomic_cas64(link, next, mam_kma_queue_word(next, node), MAM_RELEASE,
					  MAM_AT_DEVICE) == next)
			break;
	}
	(void)mam_atomic_cas64(tail_at, tail, mam_kma_queue_word(tail, node), MAM_RELEASE,
			       MAM_AT_DEVICE);
}

/* The superblock that was put first, now owned by the caller; MAM_KMA_NONE: the queue was empty. */
MAM_KFN uint32_t mam_kma_queue_take(MAM_GLOBAL struct mam_kma_queue *queue, uint32_t which)
{
	MAM_GLOBAL uint64_t *head_at = mam_kma_queue_head(queue, which);
	MAM_GLOBAL uint64_t *tail_at = mam_kma_queue_tail(queue, which);
	uint64_t head, tail, next;
	uint32_t superblock;

	MAM_ROLLED
	for (;;) {
		head = mam_atomic_load64(head_at, MAM_ACQUIRE, MAM_AT_DEVICE);
		tail = mam_atomic_load64(tail_at, MAM_ACQUIRE, MAM_AT_DEVICE);
		next = mam_atomic_load64(mam_kma_queue_link(queue, (uint32_t)head), MAM_ACQUIRE,
					 MAM_AT_DEVICE);
		if (mam_atomic_load64(head_at, MAM_RELAXED, MAM_AT_DEVICE) != head)
			continue;
		if ((uint32_t)head == (uint32_t)tail) {
			if ((uint32_t)next == MAM_KMA_NONE)
				return MAM_KMA_NONE;
			(void)mam_atomic_cas64(tail_at, tail,
					       mam_kma_queue_word(tail, (uint32_t)next),
					       MAM_RELEASE, MAM_AT_DEVICE);
			continue;
		}
		superblock = mam_atomic_load32(mam_kma_queue_number(queue, (uint32_t)next),
					       MAM_RELAXED, MAM_AT_DEVICE);
		if (mam_atomic_cas64(head_at, head, mam_kma_queue_word(head, (uint32_t)next),
				     MAM_RELEASE, MAM_AT_DEVICE) == head)
			break;
	}
	*mam_kma_queue_node(queue, superblock) = (uint32_t)head;
	return superblock;
}

#endif
