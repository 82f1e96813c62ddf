/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers.h - caches of free blocks by size, so that most requests do not reach the base.
 *
 * For each class of classes.h up to `blocks` blocks are cached, divided over `count` FIFOs
 * (fifo.h). `blocks` is MAM_BUFFERS_BLOCKS as published, or another number, best the number of
 * warps that run concurrently: with fewer, blocks that are freed at the same time find the buffers
 * full. A request is rounded up to its class before the base sees it, so that any block of the
 * class serves any request of it. Blocks larger than all classes are not cached.
 *
 * alloc:
 * 1. Take from one of the class's FIFOs, chosen by a hash of thread, block and clock. If other
 *    lanes were faster, or it is empty: try the next one. The number of tries in total is that of
 *    the base (base.h), and an empty FIFO counts as MAM_BUFFERS_NOT tries.
 * 2. If no try succeeded: call the base.
 * 3. If the base has no block: search all FIFOs of the class; then free the contents of all buffers
 *    to the base, and call it once more.
 * free:
 * 1. Put the block into one of the class's FIFOs, chosen and tried as above.
 * 2. If no try succeeded, or the block cannot be cached: free it to the base.
 * drain: lanes share the FIFOs by a counter of turns. Each lane takes turns until all FIFOs have
 * had one since its call began, by any lane. So once all callers have returned, none of the blocks
 * that were there before is left.
 *
 * After Huang, Rodrigues, Jones, Buck, Hwu: Scalable SIMD-parallel memory allocation for many-core
 * machines, J. Supercomputing 64 (2013), section 5.2: 256 blocks per class, the hash, and the form
 * of a payload. There a full or empty FIFO leads to the base, and its result is final. Ours are:
 * other numbers of blocks, the next FIFO after an empty or full one, the rest of step 3, the bounds
 * on tries, and drain.
 *
 * NULL means: the base failed after each block that was in a buffer at the begin of the call had
 * been taken by another lane or freed to the base. Memory in buffers does not cause NULL, and
 * neither does a block that another lane is moving from a buffer to the base. Such lanes are
 * counted in `moving` before they take a block, and a lane that has found nothing waits until there
 * are none, for at most MAM_BUFFERS_PATIENCE polls. (A lane that stops forever in between owns the
 * block, as if it had allocated it.) A class never serves a request of another class: the block
 * would return to the class of the request's bytes, and stay too small a block forever.
 *
 * Contract: a block is freed with the bytes of its allocation, or with another size of the same
 * class. A double free or an invalid free is not detected while the block is cached; the next two
 * owners get the same block.
 *
 * Payloads are offsets from `reference` in units of 16 bytes, so they cover 64 GiB. A block outside
 * of that range, or at another alignment, or NULL, goes to the base.
 *
 * Memory order: what the freeing lane had written and observed happens before the next owner's
 * accesses, by the FIFO (put releases, take acquires), or by the base.
 *
 * Bound: without contention a request that finds a block is 4 accesses, and a free that finds space
 * 5. A request that finds none is 2 or 3 for each FIFO it tries, which are tries / MAM_BUFFERS_NOT,
 * rounded up: 1 over a fast base, 8 over CUDA's malloc(). A contended FIFO costs each lane at most
 * its tries. Step 3 visits 72 * count FIFOs, with at most as many tries each as the FIFO can hold
 * blocks: a try succeeds, or another lane's try did and took the block, or the FIFO is empty. A
 * lane waits for another only in mam_buffers_wait(), for a bounded time.
 *
 * Lanes of a warp call independently: there are no collectives, so one lane may call alone, in
 * divergent code, while others call elsewhere or not at all. Of lanes that access one FIFO
 * together, one wins a try, and the others continue with the next FIFO: of 32 that call together
 * over one FIFO most go to the base. A caller with many such lanes coalesces requests first
 * (xmalloc.h), or configures as many FIFOs.
 */
#ifndef MAM_COALESCE_BUFFERS_H
#define MAM_COALESCE_BUFFERS_H

#include "coalesce/base.h"
#include "coalesce/fifo.h"
#include "heap/slab/classes.h"

#define MAM_BUFFERS_MAX 32u
/* Blocks per class, in all its FIFOs, as published; valid: powers of two from _LEAST to _MOST. */
#define MAM_BUFFERS_BLOCKS 256u
#define MAM_BUFFERS_BLOCKS_MIN MAM_BUFFERS_MAX
#define MAM_BUFFERS_BLOCKS_MAX (1u << MAM_FIFO_SHIFT_MAX)
/*
 * An empty or full FIFO counts as so many lost tries. Over a fast base the base is next, as
 * published; over CUDA's malloc() up to seven more FIFOs are.
 */
#define MAM_BUFFERS_NOT 16u
/* Polls of `moving` before a request that found nothing fails. */
#ifndef MAM_BUFFERS_PATIENCE
#define MAM_BUFFERS_PATIENCE 64u
#endif

struct mam_buffers {
	uint32_t count;      /* FIFOs per class: 0, or a power of two up to MAM_BUFFERS_MAX */
	uint32_t fifo_bytes; /* of each */
	uint64_t reference;  /* the base address of offsets */
	uint32_t each;       /* blocks that a FIFO can hold, a power of two */
	uint32_t pad0[MAM_FIFO_LINE / 4 - 5];
	uint64_t turn;   /* turns of all drains so far; atomic */
	uint32_t moving; /* lanes that may be moving blocks from a FIFO to the base; atomic */
	uint32_t pad1[MAM_FIFO_LINE / 4 - 3];
	/* After it: the FIFOs of class 1, of class 2, ... */
};

/* `count` if both numbers are allowed, otherwise 0: such buffers have no FIFOs. */
MAM_KBOTH uint32_t mam_buffers_valid(uint32_t count, uint32_t blocks)
{
	return count > MAM_BUFFERS_MAX || (count & (count - 1)) ||
			       blocks < MAM_BUFFERS_BLOCKS_MIN || blocks > MAM_BUFFERS_BLOCKS_MAX ||
			       (blocks & (blocks - 1))
		       ? 0
		       : count;
}

/* The number of blocks per class for this number of concurrent warps. */
MAM_KBOTH uint32_t mam_buffers_blocks_for(uint32_t warps)
{
	uint32_t blocks = MAM_BUFFERS_BLOCKS;

	while (blocks < warps && blocks < MAM_BUFFERS_BLOCKS_MAX)
		blocks *= 2;
	return blocks;
}

/* Each FIFO of a class holds 1 << the result. pre: valid, and count is not 0. */
MAM_KBOTH uint32_t mam_buffers_shift(uint32_t count, uint32_t blocks)
{
	uint32_t shift = 0;

	while (count << shift < blocks)
		shift++;
	return shift;
}

/*
 * Bytes of device memory for `count` FIFOs per class, 0 or a power of two up to MAM_BUFFERS_MAX,
 * and `blocks` blocks per class, a power of two from MAM_BUFFERS_BLOCKS_MIN to _MOST. With other
 * numbers there are no FIFOs.
 */
MAM_KBOTH size_t mam_buffers_bytes(uint32_t count, uint32_t blocks)
{
	count = mam_buffers_valid(count, blocks);
	return sizeof(struct mam_buffers) +
	       (count ? (size_t)MAM_CLASSES * count *
				mam_fifo_bytes(mam_buffers_shift(count, blocks))
		      : 0);
}

/* The FIFO with that index, below MAM_CLASSES * count: those of class 1 come first. */
MAM_KBOTH struct mam_fifo *mam_buffers_fifo(struct mam_buffers *buffers, size_t fifo_bytes,
					    uint32_t index)
{
	return (struct mam_fifo *)((char *)(buffers + 1) + fifo_bytes * index);
}

/*
 * Called by the host or one lane, on memory of that size. Blocks of the base are at `reference` or
 * above; blocks beyond the range of offsets are not cached.
 */
MAM_KBOTH void mam_buffers_format(struct mam_buffers *buffers, uint32_t count, uint32_t blocks,
				  uint64_t reference)
{
	uint32_t shift = 0, i;

	count = mam_buffers_valid(count, blocks);
	if (count)
		shift = mam_buffers_shift(count, blocks);
	buffers->count = count;
	buffers->fifo_bytes = (uint32_t)mam_fifo_bytes(shift);
	buffers->reference = reference;
	buffers->each = 1u << shift;
	buffers->turn = 0;
	buffers->moving = 0;
	for (i = 0; i < MAM_CLASSES * count; i++)
		mam_fifo_format(mam_buffers_fifo(buffers, buffers->fifo_bytes, i), shift, 0);
}

/* `buffers` may be NULL: there are none. */
MAM_KFN uint32_t mam_buffers_count(struct mam_buffers *buffers)
{
	return buffers ? mam_constant32(&buffers->count) : 0;
}

MAM_KFN struct mam_fifo *mam_buffers_at(struct mam_buffers *buffers, uint32_t index)
{
	return mam_buffers_fifo(buffers, mam_constant32(&buffers->fifo_bytes), index);
}

/* Choose one of the class's `count` FIFOs. */
MAM_KFN uint32_t mam_buffers_choose(uint32_t count)
{
	uint32_t mixed =
		mam_thread() * 0x9e3779b1u + mam_block() * 0x27d4eb2fu + (uint32_t)mam_clock();

	mixed = (mixed ^ mixed >> 16) * 0x85ebca6bu;
	mixed = (mixed ^ mixed >> 13) * 0xc2b2ae35u;
	return mixed >> 27 & (count - 1);
}

MAM_KFN void *mam_buffers_block(struct mam_buffers *buffers, uint32_t payload)
{
	return (void *)(uintptr_t)(mam_constant64(&buffers->reference) +
				   ((uint64_t)payload << MAM_GRAIN_SHIFT));
}

/* The tries left of `tries` after one with this result. */
MAM_KFN uint32_t mam_buffers_left(uint32_t tries, enum mam_fifo_answer answer)
{
	uint32_t cost = answer == MAM_FIFO_NOT ? MAM_BUFFERS_NOT : 1;

	return tries > cost ? tries - cost : 0;
}

/* Step 1 of alloc; NULL: call the base. */
MAM_KFN void *mam_buffers_take(struct mam_buffers *buffers, uint32_t count, uint32_t class_,
			       uint32_t tries)
{
	uint32_t which = mam_buffers_choose(count), payload = 0;
	enum mam_fifo_answer answer = MAM_FIFO_LOST;

	MAM_ROLLED
	for (; tries && answer != MAM_FIFO_DONE; tries = mam_buffers_left(tries, answer)) {
		answer = mam_fifo_try_take(mam_buffers_at(buffers, (class_ - 1) * count + which),
					   &payload);
		which = (which + 1) & (count - 1);
	}
	return answer == MAM_FIFO_DONE ? mam_buffers_block(buffers, payload) : NULL;
}

/* Step 1 of free; false: free it to the base. */
MAM_KFN bool mam_buffers_put(struct mam_buffers *buffers, uint32_t count, uint32_t class_,
			     uint32_t tries, void *block)
{
	uint64_t reference = mam_constant64(&buffers->reference);
	uint64_t offset = (uint64_t)(uintptr_t)block - reference;
	uint32_t which;
	enum mam_fifo_answer answer = MAM_FIFO_LOST;

	/* Below the reference the offset wraps, and is too large as well. */
	if (!block || offset >> (32 + MAM_GRAIN_SHIFT) || offset % (1u << MAM_GRAIN_SHIFT))
		return false;
	which = mam_buffers_choose(count);
	MAM_ROLLED
	for (; tries && answer != MAM_FIFO_DONE; tries = mam_buffers_left(tries, answer)) {
		answer = mam_fifo_try_put(mam_buffers_at(buffers, (class_ - 1) * count + which),
					  (uint32_t)(offset >> MAM_GRAIN_SHIFT));
		which = (which + 1) & (count - 1);
	}
	return answer == MAM_FIFO_DONE;
}

/*
 * Take a block of one FIFO, with as many of `*tries` as it needs; NULL: the FIFO was empty, or no
 * try is left. Each lost try is a block that another lane has taken, so with as many tries as the
 * FIFO can hold blocks, the lane takes every block in it or observes that another lane took it.
 */
MAM_KSLOW void *mam_buffers_lift(struct mam_buffers *buffers, uint32_t index, uint32_t *tries)
{
	struct mam_fifo *fifo = mam_buffers_at(buffers, index);
	enum mam_fifo_answer answer = MAM_FIFO_LOST;
	uint32_t payload = 0;

	MAM_ROLLED
	for (; *tries && answer == MAM_FIFO_LOST; --*tries)
		answer = mam_fifo_try_take(fifo, &payload);
	return answer == MAM_FIFO_DONE ? mam_buffers_block(buffers, payload) : NULL;
}

/* Take a block from any FIFO of the class; NULL: each was empty. */
MAM_KSLOW void *mam_buffers_search(struct mam_buffers *buffers, uint32_t count, uint32_t class_)
{
	uint32_t i, tries;
	void *block = NULL;

	MAM_ROLLED
	for (i = 0; i < count && !block; i++) {
		tries = mam_constant32(&buffers->each);
		block = mam_buffers_lift(buffers, (class_ - 1) * count + i, &tries);
	}
	return block;
}

/* Free all blocks of one FIFO to the base. Returns their number. */
MAM_KFN uint32_t mam_buffers_empty(struct mam_buffers *buffers, struct mam_kbase base,
				   uint32_t index)
{
	uint32_t tries = mam_constant32(&buffers->each), given = 0;
	void *block;

	if (mam_fifo_is_empty(mam_buffers_at(buffers, index)))
		return 0;
	(void)mam_atomic_add32(&buffers->moving, 1, MAM_RELAXED, MAM_AT_DEVICE);
	/* A lane that sees a FIFO emptied later sees the increment too: mam_buffers_wait(). */
	mam_fence(MAM_RELEASE, MAM_AT_DEVICE);
	MAM_ROLLED
	while ((block = mam_buffers_lift(buffers, index, &tries)) != NULL)
		given += mam_base_free(base, block);
	(void)mam_atomic_add32(&buffers->moving, ~0u, MAM_RELEASE, MAM_AT_DEVICE);
	return given;
}

/* Wait until no lane is moving blocks from a FIFO to the base, or the patience is exhausted. */
MAM_KSLOW void mam_buffers_wait(struct mam_buffers *buffers)
{
	uint32_t looks;

	/* Order the following loads after those of the FIFOs. */
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	MAM_ROLLED
	for (looks = MAM_BUFFERS_PATIENCE; looks; looks--) {
		if (!mam_atomic_load32(&buffers->moving, MAM_ACQUIRE, MAM_AT_DEVICE))
			return;
		mam_nanosleep(200);
	}
}

/*
 * Allocate at least `bytes`, for mam_buffers_free(); NULL: neither the buffers nor the base have a
 * block, or `bytes` is 0.
 */
MAM_KFN void *mam_buffers_alloc(struct mam_buffers *buffers, struct mam_kbase base, size_t bytes)
{
	uint32_t count = mam_buffers_count(buffers), class_ = count ? mam_class_of(bytes) : 0, i, n;
	void *block = NULL;
	bool again;

	if (!bytes)
		return NULL;
	if (class_) {
		block = mam_buffers_take(buffers, count, class_, mam_base_tries(base));
		bytes = mam_class_bytes(class_);
	}
	/* The base is called in one place, so that its code is inlined only once. */
	MAM_ROLLED
	for (again = false; !block; again = true) {
		block = mam_base_alloc(base, bytes);
		if (block || again || !count)
			break;
		if (class_)
			block = mam_buffers_search(buffers, count, class_);
		if (block)
			break;
		/* Start with larger classes. */
		i = class_ * count;
		MAM_ROLLED
		for (n = MAM_CLASSES * count; n; n--, i++) {
			if (i == MAM_CLASSES * count)
				i = 0;
			(void)mam_buffers_empty(buffers, base, i);
		}
		mam_buffers_wait(buffers);
	}
	return block;
}

/* `bytes` are those of the request. */
MAM_KFN bool mam_buffers_free(struct mam_buffers *buffers, struct mam_kbase base, void *block,
			      size_t bytes)
{
	uint32_t count = mam_buffers_count(buffers), class_ = count ? mam_class_of(bytes) : 0;

	return (class_ && mam_buffers_put(buffers, count, class_, mam_base_tries(base), block)) ||
	       mam_base_free(base, block);
}

/* Free the contents of all buffers to the base, shared by all calling lanes. Returns own frees. */
MAM_KFN uint32_t mam_buffers_drain(struct mam_buffers *buffers, struct mam_kbase base)
{
	uint32_t count = mam_buffers_count(buffers), given = 0;
	uint64_t begun, turn;

	if (!count)
		return 0;
	begun = mam_atomic_load64(&buffers->turn, MAM_RELAXED, MAM_AT_DEVICE);
	MAM_ROLLED
	for (;;) {
		turn = mam_atomic_add64(&buffers->turn, 1, MAM_RELAXED, MAM_AT_DEVICE);
		if (turn - begun >= MAM_CLASSES * count)
			return given;
		given += mam_buffers_empty(buffers, base, (uint32_t)(turn % (MAM_CLASSES * count)));
	}
}

#endif
