/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers.h - free blocks that stay near, by size, so that most requests do not reach the base.
 *
 * Of each class of classes.h up to `blocks` blocks are kept, divided over `count` FIFOs (fifo.h):
 * MAM_BUFFERS_BLOCKS as published, or another number, best as many as warps run at once: of fewer,
 * those that come back at a time do not find room. A request is rounded up to its class before the
 * base sees it, so that any block of the class serves any request of it. What is larger than all
 * classes is not kept.
 *
 * alloc:
 * 1. Take from one of the class's FIFOs, chosen by a hash of thread, block and clock. Others were
 *    faster, or it is empty: from the next one, as many tries in all as the base is worth
 *    (base.h), where an empty one counts MAM_BUFFERS_NOT.
 * 2. None was won: ask the base.
 * 3. The base has none: look through all FIFOs of the class; then give all that lies in all buffers
 *    back to the base, and ask it once more.
 * free:
 * 1. Put it into one of the class's FIFOs, chosen and tried as above.
 * 2. None was won, or the block cannot be kept: give it to the base.
 * drain: lanes share the FIFOs by a count of turns. Each takes turns until all FIFOs have had one
 * since it came, by whomever; so once all have ended who called, nothing is left of what was there.
 *
 * After Huang, Rodrigues, Jones, Buck, Hwu: Scalable SIMD-parallel memory allocation for many-core
 * machines, J. Supercomputing 64 (2013), section 5.2: 256 blocks a class, the hash, and what a
 * payload is. There a full or empty FIFO leads to the base, and what the base answers is the
 * answer; other numbers of blocks, the next FIFO behind an empty or full one, the rest of step 3, the
 * bounds on tries, and drain are ours.
 *
 * NULL means: the base has refused after all that lay in buffers when the call began was had by
 * somebody or given back. Memory in buffers is no reason for it, nor is a block that somebody just
 * carries from a buffer to the base: such lanes are counted in `moving` before they take anything,
 * and who has found nothing waits until there is none, MAM_BUFFERS_PATIENCE looks at most. (A lane
 * that stops for ever on that way has the block, as if it had asked for it.) A class never serves a
 * request of another one: the block would come back by the request's bytes, and stay too small a
 * block for ever.
 *
 * What must hold: a block is freed with the bytes that it was asked with, or others of their
 * class. Who frees one twice, or what is none, is not found out while it is kept; the next two
 * holders have the same block.
 *
 * Payloads are offsets from `reference` by 16 bytes, so 64 GiB. A block that lies elsewhere, or not
 * at a multiple, or that is NULL, goes to the base.
 *
 * Orders: what who freed had written and seen comes before what the next holder does; by the FIFO
 * (put releases, take acquires), or as the base says.
 *
 * Bound: without others a request that finds a block is 4 accesses and a free that finds room 5; one
 * that finds none is 2 or 3 for each FIFO it looks at, which are tries / MAM_BUFFERS_NOT, rounded up: 1
 * over a fast base, 8 over CUDA's malloc(). A FIFO that all want costs each its tries at most. Step 3
 * looks at 72 * count FIFOs, and leaves each after as many tries as it holds blocks: a try is won, or
 * somebody else's was and took the block, or there is nothing. No lane waits for another but in mam_buffers_settle(), for so long and no longer.
 *
 * Lanes of a warp are lanes like others: no collectives, so one may call alone, in divergent code,
 * while others call at another place or not at all. Of those that come to one FIFO together one
 * wins a try, and the others go on to the next FIFO: of 32 that call together over one FIFO most
 * go to the base. Who has many such puts requests together first (xmalloc.h), or has as many
 * FIFOs.
 */
#ifndef MAM_COALESCE_BUFFERS_H
#define MAM_COALESCE_BUFFERS_H

#include "coalesce/base.h"
#include "coalesce/fifo.h"
#include "heap/classes.h"

#define MAM_BUFFERS_MAX 32u
/* Of a class, in all its FIFOs, as published; what there may be is a power of two between these. */
#define MAM_BUFFERS_BLOCKS 256u
#define MAM_BUFFERS_BLOCKS_LEAST MAM_BUFFERS_MAX
#define MAM_BUFFERS_BLOCKS_MOST (1u << MAM_FIFO_SHIFT_MAX)
/*
 * A FIFO that is empty, or full, costs as much patience as so many lost tries: over a base that is
 * fast the base is next, as published, over CUDA's malloc() up to seven more FIFOs.
 */
#define MAM_BUFFERS_NOT 16u
/* Looks at `moving` before a request that found nothing is refused. */
#ifndef MAM_BUFFERS_PATIENCE
#define MAM_BUFFERS_PATIENCE 64u
#endif

struct mam_buffers {
	uint32_t count;      /* of FIFOs a class: 0, or a power of two up to MAM_BUFFERS_MAX */
	uint32_t fifo_bytes; /* of each */
	uint64_t reference;  /* what offsets are from */
	uint32_t each;       /* blocks that a FIFO holds, a power of two */
	uint32_t pad0[MAM_FIFO_LINE / 4 - 5];
	uint64_t turn;   /* FIFOs that drains were at, ever; atomic */
	uint32_t moving; /* lanes between a FIFO and the base, with blocks in their hands; atomic */
	uint32_t pad1[MAM_FIFO_LINE / 4 - 3];
	/* Behind it: the FIFOs of class 1, of class 2, ... */
};

/* What there may be, or 0: such buffers have no FIFOs. */
MAM_KBOTH uint32_t mam_buffers_valid(uint32_t count, uint32_t blocks)
{
	return count > MAM_BUFFERS_MAX || (count & (count - 1)) ||
			       blocks < MAM_BUFFERS_BLOCKS_LEAST ||
			       blocks > MAM_BUFFERS_BLOCKS_MOST || (blocks & (blocks - 1))
		       ? 0
		       : count;
}

/* How many blocks a class is to have where so many warps run at once. */
MAM_KBOTH uint32_t mam_buffers_blocks_for(uint32_t warps)
{
	uint32_t blocks = MAM_BUFFERS_BLOCKS;

	while (blocks < warps && blocks < MAM_BUFFERS_BLOCKS_MOST)
		blocks *= 2;
	return blocks;
}

/* Each FIFO of a class holds 1 << this. pre: valid, and count is not 0. */
MAM_KBOTH uint32_t mam_buffers_shift(uint32_t count, uint32_t blocks)
{
	uint32_t shift = 0;

	while (count << shift < blocks)
		shift++;
	return shift;
}

/*
 * Bytes of device memory for so many FIFOs a class, 0 or a power of two up to MAM_BUFFERS_MAX, and
 * so many blocks a class, a power of two from MAM_BUFFERS_BLOCKS_LEAST to _MOST; of other numbers
 * there are no FIFOs.
 */
MAM_KBOTH size_t mam_buffers_bytes(uint32_t count, uint32_t blocks)
{
	count = mam_buffers_valid(count, blocks);
	return sizeof(struct mam_buffers) +
	       (count ? (size_t)MAM_CLASSES * count *
				mam_fifo_bytes(mam_buffers_shift(count, blocks))
		      : 0);
}

/* Which FIFO of all, `index` below MAM_CLASSES * count: those of class 1 come first. */
MAM_KBOTH struct mam_fifo *mam_buffers_fifo(struct mam_buffers *buffers, size_t fifo_bytes,
					    uint32_t index)
{
	return (struct mam_fifo *)((char *)(buffers + 1) + fifo_bytes * index);
}

/*
 * By the host or one lane, in memory of that size; blocks of the base lie at `reference` or above,
 * those further off than offsets reach are not kept.
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

/* `buffers` may be NULL: none. */
MAM_KFN uint32_t mam_buffers_count(struct mam_buffers *buffers)
{
	return buffers ? mam_constant32(&buffers->count) : 0;
}

MAM_KFN struct mam_fifo *mam_buffers_at(struct mam_buffers *buffers, uint32_t index)
{
	return mam_buffers_fifo(buffers, mam_constant32(&buffers->fifo_bytes), index);
}

/* One of the class's `count`. */
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

/* Of `tries`, behind one that had this answer. */
MAM_KFN uint32_t mam_buffers_left(uint32_t tries, enum mam_fifo_answer answer)
{
	uint32_t cost = answer == MAM_FIFO_NOT ? MAM_BUFFERS_NOT : 1;

	return tries > cost ? tries - cost : 0;
}

/* Step 1 of alloc; NULL: ask the base. */
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

/* Step 1 of free; false: give it to the base. */
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
 * A block of one FIFO, by as many of `*tries` as it takes; NULL: it was empty, or none is left.
 * Each lost try is a block that somebody else has taken, so as many tries as it can hold find all
 * that was in it, or see it gone.
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

/* From any FIFO of the class; NULL: each was empty. */
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

/* All that lies in one FIFO goes back to the base: how many blocks that were. */
MAM_KFN uint32_t mam_buffers_empty(struct mam_buffers *buffers, struct mam_kbase base,
				   uint32_t index)
{
	uint32_t tries = mam_constant32(&buffers->each), given = 0;
	void *block;

	if (mam_fifo_is_empty(mam_buffers_at(buffers, index)))
		return 0;
	(void)mam_atomic_add32(&buffers->moving, 1, MAM_RELAXED, MAM_AT_DEVICE);
	/* Who sees a FIFO that was emptied behind this, sees this as well: mam_buffers_settle(). */
	mam_fence(MAM_RELEASE, MAM_AT_DEVICE);
	MAM_ROLLED
	while ((block = mam_buffers_lift(buffers, index, &tries)) != NULL)
		given += mam_base_free(base, block);
	(void)mam_atomic_add32(&buffers->moving, ~0u, MAM_RELEASE, MAM_AT_DEVICE);
	return given;
}

/* Until nobody has anything between a FIFO and the base, or patience is at its end. */
MAM_KSLOW void mam_buffers_settle(struct mam_buffers *buffers)
{
	uint32_t looks;

	/* Behind what was seen of FIFOs. */
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	MAM_ROLLED
	for (looks = MAM_BUFFERS_PATIENCE; looks; looks--) {
		if (!mam_atomic_load32(&buffers->moving, MAM_ACQUIRE, MAM_AT_DEVICE))
			return;
		mam_nanosleep(200);
	}
}

/*
 * A block of `bytes` at least, for mam_buffers_free(); NULL: neither buffers nor base have one, or
 * `bytes` is 0.
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
	/* The base is called in one place, so that its code is here once. */
	MAM_ROLLED
	for (again = false; !block; again = true) {
		block = mam_base_alloc(base, bytes);
		if (block || again || !count)
			break;
		if (class_)
			block = mam_buffers_search(buffers, count, class_);
		if (block)
			break;
		/* Larger ones first. */
		i = class_ * count;
		MAM_ROLLED
		for (n = MAM_CLASSES * count; n; n--, i++) {
			if (i == MAM_CLASSES * count)
				i = 0;
			(void)mam_buffers_empty(buffers, base, i);
		}
		mam_buffers_settle(buffers);
	}
	return block;
}

/* `bytes` are those that were asked for. */
MAM_KFN bool mam_buffers_free(struct mam_buffers *buffers, struct mam_kbase base, void *block,
			      size_t bytes)
{
	uint32_t count = mam_buffers_count(buffers), class_ = count ? mam_class_of(bytes) : 0;

	return (class_ && mam_buffers_put(buffers, count, class_, mam_base_tries(base), block)) ||
	       mam_base_free(base, block);
}

/* All that lies in buffers goes back to the base, by all lanes that call: what this one gave. */
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
