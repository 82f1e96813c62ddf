/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.h - where a warp looks first: at its home, and where it found room the last time.
 *
 * The home of a group of lanes is its warp's number, times how many they are, counted in slots: the
 * warps of one launch have their own, in line, so that slabs are filled, and those of the next
 * launch have the same again. The slabs' blocks are scattered by the golden section, another
 * scatter for each class and number of lanes. It is used blindly: the claim's old value tells what
 * was won.
 *
 * A handle is a number for each class in the row of the warp's place on its SM: who wrote it, and
 * the word where it found room and left some. Only who wrote it heeds it, when the home has none: it
 * is for warps that ask again while they hold what they got. It is a hint, written and read without
 * order. 0 says nothing.
 */
#ifndef MAM_HEAP_HANDLE_H
#define MAM_HEAP_HANDLE_H

#include "heap/slots.h"
#include "heap/walk.h"

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

/* In the row of the calling warp: those that run at the same time mostly have different ones. */
MAM_KFN uint64_t *mam_handle_of(const struct mam_kheap *heap, uint32_t class_)
{
	return heap->handles +
	       ((mam_smid() * 64 + mam_warpid()) & heap->columns) * MAM_CLASSES + (class_ - 1);
}

/* The caller has found room in `word`. */
MAM_KFN void mam_handle_set(const struct mam_kheap *heap, uint32_t class_, uint32_t word)
{
	mam_atomic_store64(mam_handle_of(heap, class_),
			   (uint64_t)(mam_handle_warp() + 1) << 32 | word, MAM_RELAXED,
			   MAM_AT_DEVICE);
}

/* Where the caller found room the last time; or `word`. */
MAM_KFN uint32_t mam_handle_get(const struct mam_kheap *heap, uint32_t class_, uint32_t word)
{
	uint64_t handle = mam_global_load64(mam_handle_of(heap, class_), MAM_RELAXED, MAM_AT_DEVICE);

	return handle >> 32 == mam_handle_warp() + 1 ? (uint32_t)handle : word;
}

/* The home of lanes of a warp that wants different classes: one of each, we suppose, or little more. */
MAM_KFN struct mam_kslot mam_handle_home_mixed(const struct mam_kheap *heap, uint64_t traits,
					       uint32_t warp)
{
	/* Counted in grains of its class's slabs, which are full of slots, nearly. */
	uint64_t grains = (uint64_t)(warp + warp / 4) * mam_traits_grains(traits);
	uint32_t group = mam_traits_words_shift(traits), hash;
	uint32_t at = (uint32_t)(grains >> (6 + mam_traits_span_shift(traits)));
	struct mam_kslot home;

	hash = (at >> group) * MAM_WALK_GOLDEN + mam_traits_words_before(traits) * 0x85ebca6bu;
	home.word = ((uint32_t)((uint64_t)hash * heap->blocks >> 32) << group) +
		    (at & ((1u << group) - 1));
	home.slot = 0;
	return home;
}

/*
 * The home of `lanes` that all want the same class. They need several words if there are more of them than slots in
 * one: those from there on, each from its first slot.
 */
MAM_KFN struct mam_kslot mam_handle_home(const struct mam_kheap *heap, uint64_t traits,
					 uint32_t warp, uint32_t lanes)
{
	uint32_t shift = lanes > 1 ? 64 - mam_clz64(lanes - 1) : 0, hash;
	uint32_t group = mam_traits_words_shift(traits), round = mam_traits_round_shift(traits);
	uint32_t at = warp << shift;
	struct mam_kslot home;

	/* Words that stay together: those of a block, or those that the group needs. */
	hash = shift * 0x2545f491u + mam_traits_words_before(traits) * 0x85ebca6bu;
	home.slot = shift < round ? at & ((1u << round) - 1) : 0;
	at >>= round;
	if (shift > round + group)
		group = shift - round;
	hash = ((at >> group) * MAM_WALK_GOLDEN) + hash;
	home.word = (uint32_t)((uint64_t)hash * (heap->blocks << mam_traits_words_shift(traits) >> group) >>
			       32 << group) +
		    (at & ((1u << group) - 1));
	return home;
}

#endif
