/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.h - how the ground of a heap is laid out, for the host, which makes it, and for kernels,
 * which know it by the address of its head.
 *
 *   ground                     the pages, first to last: each at a multiple of its size, since the
 *                              ground is at one
 *   ground + pages << shift    the head: one line that never changes while the heap lives
 *   head + 1                   the books of the pages (layout.h), the bitmap last
 *
 * The head lies behind the pages because a page may be 4 MiB: in front of them it would cost one.
 *
 * A heap of objects has blocks in place of pages, says that it has no pages, and its books are
 * those of books.h, behind books of no pages.
 */
#ifndef MAM_HEAP_HEAD_H
#define MAM_HEAP_HEAD_H

#include "heap/layout.h"

/* Raised when code of two versions must not work on one heap. */
#define MAM_HEAP_LAYOUT_PLAIN 0x6d616d03u
#define MAM_HEAP_LAYOUT_DEBUG 0x6d616d83u /* its objects have red zones: kdebug.h */
/* What the code that is being compiled works on. */
#ifdef MAM_KDEBUG
#define MAM_HEAP_LAYOUT MAM_HEAP_LAYOUT_DEBUG
#else
#define MAM_HEAP_LAYOUT MAM_HEAP_LAYOUT_PLAIN
#endif

struct mam_kheap {
	unsigned char *ground;
	uint32_t pages;  /* count; 0: none, or a heap of objects */
	uint32_t shift;  /* a page is 1 << shift bytes */
	uint32_t layout; /* MAM_HEAP_LAYOUT */
	/* Of a heap of objects; else 0. */
	uint32_t blocks;  /* count */
	uint32_t columns; /* of handles: count, a power of two, less one */
	uint32_t born;    /* of a part: which grant it is, ever, as kdebug.h must know */
	uint64_t *words;   /* of slots, those of a class together */
	uint64_t *owners;  /* a byte a unit */
	uint64_t *seats;   /* a bit a block for each class */
	uint64_t *handles; /* columns + 1 rows of MAM_CLASSES */
	uint32_t *longs;   /* a number a block */
	uint32_t *closes;  /* a number a block */
	struct mam_pages *units;
	struct mam_tallies *tallies;
	struct mam_returns *returns; /* what the host gives back */
	struct mam_steps *steps;     /* a row a column */
	/* Of one that grows or is debugged; else NULL (growth.h). */
	struct mam_growth *growth;
	uint64_t current; /* number of the part where requests begin; 0: here. A hint, and changes */
};

#ifdef MAM_KTABLE
/* What kernels often ask of it, read at once: whoever acquires would read it again. */
MAM_KFN struct mam_kheap mam_head_read(const struct mam_kheap *heap)
{
	struct mam_kheap head;

	head.ground = (unsigned char *)mam_constant_pointer(&heap->ground);
	head.layout = mam_constant32(&heap->layout);
	head.blocks = mam_constant32(&heap->blocks);
	head.columns = mam_constant32(&heap->columns);
	head.words = (uint64_t *)mam_constant_pointer(&heap->words);
	head.owners = (uint64_t *)mam_constant_pointer(&heap->owners);
	head.seats = (uint64_t *)mam_constant_pointer(&heap->seats);
	head.handles = (uint64_t *)mam_constant_pointer(&heap->handles);
	head.units = (struct mam_pages *)mam_constant_pointer(&heap->units);
	head.current = mam_stale64((uint64_t *)(uintptr_t)&heap->current);
	return head;
}
#endif

/* Bytes of all pages. */
MAM_KBOTH uint64_t mam_head_offset(uint32_t pages, uint32_t shift)
{
	return (uint64_t)pages << shift;
}

/* Bytes of head and books. */
MAM_KBOTH uint64_t mam_head_bytes(uint32_t pages)
{
	return sizeof(struct mam_kheap) + mam_pages_bytes(pages);
}

#endif
