/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.h - where a warp found room of a class the last time: one number for each class in the row
 * of its place on its SM.
 *
 * It is a hint: another warp that comes to the same place reads it, writes it, and uses it blindly,
 * whatever it says; the claim's old value tells what was won. So it is written and read without
 * order. 0 says nothing. Else: bits 2 on are the word plus 1, the lowest two say from which quarter
 * of it free slots were seen; MAM_HANDLE_FULL says that none is left there, but that it is where to
 * look on.
 */
#ifndef MAM_HEAP_HANDLE_H
#define MAM_HEAP_HANDLE_H

#include "heap/slots.h"

#define MAM_HANDLE_FULL 0x80000000u

/* The row: warps that run at the same time mostly have different ones. */
MAM_KFN uint32_t mam_handle_row(const struct mam_kheap *heap)
{
	return (mam_smid() * 64 + mam_warpid()) & heap->columns;
}

MAM_KFN uint32_t *mam_handle_of(const struct mam_kheap *heap, uint32_t class_)
{
	return heap->handles + mam_handle_row(heap) * MAM_CLASSES + (class_ - 1);
}

MAM_KFN uint32_t mam_handle_word(uint32_t handle)
{
	return ((handle & ~MAM_HANDLE_FULL) >> 2) - 1;
}

MAM_KFN uint32_t mam_handle_from(uint32_t handle)
{
	return (handle & 3) * 16;
}

/* For a word in which `left` are free. */
MAM_KFN uint32_t mam_handle_make(uint32_t word, uint64_t left)
{
	return (word + 1) << 2 | (left ? (mam_ffs64(left) - 1) / 16 : MAM_HANDLE_FULL);
}

MAM_KFN void mam_handle_set(uint32_t *where, uint32_t handle)
{
	mam_atomic_store32(where, handle, MAM_RELAXED, MAM_AT_DEVICE);
}

#endif
