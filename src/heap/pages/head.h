/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.h - the layout of a heap in memory, for the host, which creates it, and for kernels, which
 * know the heap by the address of its head.
 *
 *   heap->ground             the pages, first to last; the start is aligned to the page size, so
 *                            every page is aligned to its size
 *   ... + pages << shift     the head: one cache line that never changes while the heap exists
 *   head + 1                 the metadata of the pages (layout.h), the bitmap last
 *
 * The head follows the pages because a page may be 4 MiB: a head in front of them would waste one.
 *
 * An object heap has blocks in place of pages and a page count of 0. Its metadata (metadata.h) follows
 * the metadata of an empty page heap.
 */
#ifndef MAM_HEAP_PAGES_HEAD_H
#define MAM_HEAP_PAGES_HEAD_H

#include "heap/pages/layout.h"

/* Raised when code of two versions must not work on the same heap. */
#define MAM_HEAP_LAYOUT_PLAIN 0x6d616d05u
#define MAM_HEAP_LAYOUT_DEBUG 0x6d616d85u /* its objects have red zones: kdebug.h */
#define MAM_HEAP_LAYOUT_PEERS 0x40u       /* also set: several devices use it, port.h */
/* The layout that the code being compiled works on. */
#ifdef MAM_KDEBUG
#define MAM_HEAP_LAYOUT_OBJECTS MAM_HEAP_LAYOUT_DEBUG
#else
#define MAM_HEAP_LAYOUT_OBJECTS MAM_HEAP_LAYOUT_PLAIN
#endif
#ifdef MAM_KPEERS
#define MAM_HEAP_LAYOUT (MAM_HEAP_LAYOUT_OBJECTS | MAM_HEAP_LAYOUT_PEERS)
#else
#define MAM_HEAP_LAYOUT MAM_HEAP_LAYOUT_OBJECTS
#endif

struct mam_kheap {
	unsigned char *space;
	uint32_t pages;  /* count; 0: none, or an object heap */
	uint32_t shift;  /* a page is 1 << shift bytes */
	uint32_t layout; /* MAM_HEAP_LAYOUT */
	/* Object heaps only; otherwise 0. */
	uint32_t blocks;   /* count */
	uint32_t columns;  /* of handles: count, a power of two, minus 1 */
	uint32_t born;     /* of a part: the number of its grant since creation (kdebug.h) */
	uint64_t *words;   /* of slots, grouped by class */
	uint64_t *owners;  /* a byte per unit */
	uint64_t *hints;   /* a bit per block for each class */
	uint64_t *handles; /* columns + 1 rows of MAM_CLASSES */
	uint32_t *longs;   /* a number per block */
	uint32_t *closes;  /* a number per block */
	struct mam_pages *units;
	struct mam_tallies *tallies;
	struct mam_returns *returns; /* addresses that the host frees */
	struct mam_steps *steps;     /* a row per column */
	/* Of a heap that grows or is debugged; otherwise NULL (growth.h). */
	struct mam_growth *growth;
	uint64_t current; /* number of the part where requests start; 0: this heap. A hint;
			     changes */
};

#ifdef MAM_KTABLE
/*
 * The fields that kernels often need, read at once: after an acquire the compiler would reload
 * them.
 */
MAM_KFN struct mam_kheap mam_head_read(const struct mam_kheap *heap)
{
	struct mam_kheap head;

	head.space = (unsigned char *)mam_constant_pointer(&heap->space);
	head.layout = mam_constant32(&heap->layout);
	head.blocks = mam_constant32(&heap->blocks);
	head.columns = mam_constant32(&heap->columns);
	head.words = (uint64_t *)mam_constant_pointer(&heap->words);
	head.owners = (uint64_t *)mam_constant_pointer(&heap->owners);
	head.hints = (uint64_t *)mam_constant_pointer(&heap->hints);
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

/* Bytes of head and metadata. */
MAM_KBOTH uint64_t mam_head_bytes(uint32_t pages)
{
	return sizeof(struct mam_kheap) + mam_pages_bytes(pages);
}

#endif
