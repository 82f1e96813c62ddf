/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.h - where a warp looks first: at its home, and where it found room the last time.
 *
 * The home of a group of lanes is their warp's number times the number of lanes, counted in slots
 * from a place that depends on the class and on the number of lanes. So the warps of one launch
 * have disjoint consecutive homes, slabs fill up and are adjacent, and the next launch has the same
 * homes again. A home is claimed without a look: the claim's old value shows which slots were won.
 * A warp that finds it full goes on to the next generation: the home that it would have after as
 * many more warps as the launch has.
 *
 * Slower alternatives, on an H100: homes scattered by the golden section, of which some collide, 4
 * times slower at 8 KiB; homes that alternate within one block, 1.2 times slower for lone lanes, as
 * their words share a cache line.
 *
 * A handle is a number for each class in the row of the warp's position on its SM: the warp that
 * wrote it, and the generation in which that warp found room. Only the warp that wrote it uses it:
 * it serves warps that allocate again while they keep their objects. It is a hint, read and written
 * without ordering. 0 means that none is known.
 */
#ifndef MAM_HEAP_SLAB_HANDLE_H
#define MAM_HEAP_SLAB_HANDLE_H

#include "heap/slab/slots.h"
#include "heap/pages/walk.h"

/* A slot: the word of its class, and the bit. */
struct mam_kslot {
	uint32_t word;
	uint32_t slot; /* or MAM_NO_SLOT */
};

#define MAM_NO_SLOT 64u
#define MAM_NO_WORD 0xffffffffu

/* The calling warp's number in its launch. */
MAM_KFN uint32_t mam_handle_warp(void)
{
	return mam_block() * ((mam_block_threads() + 31) / 32) + mam_thread() / 32;
}

/* In the row of the calling warp; warps that run at the same time mostly have different rows. */
MAM_KFN uint64_t *mam_handle_of(const struct mam_kheap *heap, uint32_t class_)
{
	return heap->handles + ((mam_smid() * 64 + mam_warpid()) & heap->columns) * MAM_CLASSES +
	       (class_ - 1);
}

/* Records that the caller has found room in this generation. */
MAM_KFN void mam_handle_set(const struct mam_kheap *heap, uint32_t class_, uint32_t generation)
{
	mam_atomic_store64(mam_handle_of(heap, class_),
			   (uint64_t)(mam_handle_warp() + 1) << 32 | generation, MAM_RELAXED,
			   MAM_AT_DEVICE);
}

/* The generation in which the caller found room the last time; MAM_NO_WORD: unknown. */
MAM_KFN uint32_t mam_handle_get(const struct mam_kheap *heap, uint32_t class_)
{
	uint64_t handle =
		mam_global_load64(mam_handle_of(heap, class_), MAM_RELAXED, MAM_AT_DEVICE);

	return handle >> 32 == mam_handle_warp() + 1 ? (uint32_t)handle : MAM_NO_WORD;
}

/* Warps of the launch. */
MAM_KFN uint32_t mam_handle_warps(void)
{
	return mam_grid_blocks() * ((mam_block_threads() + 31) / 32);
}

/*
 * The word number `at` of a class, counted from a place that `salt` and the class determine, in
 * runs of 1 << `group` words, each run in blocks of its own.
 */
MAM_KFN uint32_t mam_handle_word(const struct mam_kheap *heap, uint64_t traits, uint32_t salt,
				 uint32_t at, uint32_t group)
{
	uint32_t groups = heap->blocks << mam_traits_words_shift(traits) >> group, number;

	number = (salt + mam_traits_words_before(traits)) * MAM_WALK_GOLDEN;
	number = (uint32_t)((uint64_t)number * groups >> 32) + (at >> group);
	if (number >= groups) {
		number -= groups;
		/* So many rounds that no order is left to keep. */
		if (number >= groups)
			number = (uint32_t)((uint64_t)(number * MAM_WALK_GOLDEN) * groups >> 32);
	}
	return (number << group) + (at & ((1u << group) - 1));
}

/*
 * The home of `lanes` that all want the same class. If there are more lanes than slots in a word,
 * they need several words: those that start there, each from its first slot.
 */
MAM_KFN struct mam_kslot mam_handle_home(const struct mam_kheap *heap, uint64_t traits,
					 uint32_t warp, uint32_t lanes)
{
	uint32_t shift = lanes > 1 ? 64 - mam_clz64(lanes - 1) : 0, at = warp << shift;
	uint32_t group = mam_traits_words_shift(traits), round = mam_traits_round_shift(traits);
	struct mam_kslot home;

	home.slot = shift < round ? at & ((1u << round) - 1) : 0;
	/* Words that stay adjacent: those of a block, or those that the lanes need. */
	if (shift > round + group)
		group = shift - round;
	at >>= round;
	/*
	 * Neighbors have words in 16 blocks in turn, because the words of one block share a cache
	 * line.
	 */
	if (group == mam_traits_words_shift(traits))
		at = (at >> (group + 4) << (group + 4)) + ((at & 15) << group) +
		     (at >> 4 & ((1u << group) - 1));
	home.word = mam_handle_word(heap, traits, shift << 10, at, group);
	return home;
}

#endif
