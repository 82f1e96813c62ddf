/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.h - transfer cache: blocks that move from one thread to another, in batches.
 *
 * Where one thread allocates and another frees, the bins of the first run empty and those of the
 * second overflow. The overflow is stored here, and a thread with empty bins searches here before
 * it asks the pool.
 *
 *  1. A batch is up to 32 blocks, or 4 MiB, of one octave of sizes: a stack linked through their
 *     tags, as in a bin, with thread cache number 0 in the tags. Its owner packs and unpacks it
 *     alone.
 *  2. Each octave has a few stacks of batches, and each stack a lock of its own. A whole batch is
 *     pushed or popped under the lock: 16 bytes. (When blocks moved one by one under one lock, 16
 *     threads that free each other's blocks did 43 million operations per second on an H100's host;
 *     with one stack for each octave they did 90 million. On mapped pieces, where thread caches are
 *     smaller and the transfer cache is used more, 16 million and 32 million.)
 *  3. A thread begins with the stack that the number of its thread cache selects, and continues
 *     with the others: threads that run side by side use different locks, and every thread finds
 *     every batch.
 *  4. A thread that needs a size first searches the octave where the next larger sizes are most
 *     likely: its own, or the next one if the size is in the top quarter of its own. Blocks that do
 *     not fit stay in the thread's bins.
 *  5. Blocks that a double free removed from a batch are noticed when it is unpacked, as in bins.h.
 *
 * If only one thread uses the pool, the transfer cache stays empty.
 *
 * Bound: O(1) under a lock, O(blocks) outside. lock: that of a stack, with the rank of a pool's
 * lock: no thread holds both.
 */
#ifndef MAM_CACHE_TRANSFER_H
#define MAM_CACHE_TRANSFER_H

#include "base/lock.h"
#include "cache/bins.h"

#define MAM_TRANSFER_STACKS 4u   /* of one octave */
#define MAM_TRANSFER_BATCHES 14u /* of one stack: with its head this fills 256 bytes */

struct mam_transfer_list {
	struct mam_lock lock;
	_Atomic uint32_t count; /* atomic; written under lock; number of batches */
	struct mam_batch batches[MAM_TRANSFER_BATCHES]; /* lock: lock */
} __attribute__((aligned(128)));

struct mam_transfer {
	struct mam_transfer_list lists[MAM_BINS_OCTAVES][MAM_TRANSFER_STACKS];
	_Atomic uint64_t granules; /* atomic; sum of all batches */
	uint64_t lost;             /* lock: cache; count, as in bins, of ended batches */
};

void mam_transfer_init(struct mam_transfer *transfer);

/*
 * mam_transfer_give - make a batch of blocks of `from` and store it, if the transfer cache has fewer
 * than `most` granules. Returns the number of its blocks.
 */
size_t mam_transfer_give(struct mam_transfer *transfer, struct mam_bins *from, uint64_t max);

/*
 * mam_transfer_take - unpack one or two batches into `to`, until it has a block of `least` to `most`
 * granules.
 */
bool mam_transfer_take(struct mam_transfer *transfer, struct mam_bins *to, uint64_t min,
		       uint64_t max);

/*
 * mam_transfer_evict - return the blocks of one batch, without tags, to the holder of the cache's
 * lock; 0: there is none.
 */
size_t mam_transfer_evict(struct mam_transfer *transfer, void *blocks[MAM_BATCH_BLOCKS]);

/* mam_transfer_check - NULL or one sentence. pre: no other thread uses it. */
const char *mam_transfer_check(const struct mam_transfer *transfer);

#endif
