/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.cuh - memory inside kernels, for CUDA C++ and for C under a simulator of kernels.
 *
 * The host makes a heap (heap.h) and passes mam_heap_device() of it to kernels:
 *
 *	#include <mam/heap.cuh>
 *
 *	__global__ void build(struct mam_kheap *heap, struct node **lists)
 *	{
 *		struct node *node = (struct node *)mam_kmalloc(heap, sizeof(*node));
 *
 *		if (node)
 *			...
 *		mam_kfree(heap, node);
 *	}
 *
 * A heap is of objects, which have any size (MAM_HEAP_OBJECTS), or of pages, which have one
 * (MAM_HEAP_PAGES): mam_kmalloc() and its kin are for the first, mam_kpage_alloc() and its kin for
 * the second. To get malloc() and new in kernels as they are from a heap: kmalloc_override.cuh.
 *
 * Who may call. Any lane at any time, alone or with others of its warp, also in divergent code:
 * lanes of a warp that happen to come together are served together, whatever each of them asks for.
 * None waits for what another warp does: one may stop anywhere, for ever, and all others go on. The
 * forms for a warp and for a block say which lanes must come. Blocks and grids may have one, two or
 * three dimensions, of any extents.
 *
 * What is ordered. What a lane wrote to memory before it gave that back, and what others wrote that
 * it had seen, happens before what the next holder does with it, wherever on the device that is.
 * Nothing else is ordered: to pass an object or a page to another lane takes a barrier or a release
 * and an acquire, as with any memory. Between kernels their stream's order is enough.
 *
 * Contents. Nothing is cleared, but by mam_kcalloc(): memory has what its last holder wrote.
 *
 * When memory runs out. A request that finds no memory quickly searches the whole heap, place by
 * place, and does not stop other lanes meanwhile. So it never sees the whole heap at one moment, and
 * it can return NULL although some memory was free all the time. mam_heap_stats() counts two cases:
 *
 * - full: each place was taken at the moment when the search examined it. For objects of up to 8 KiB
 *   a place is a slot of their size, or free units where a slab of their size may begin; for larger
 *   objects as many free units in a row; for pages a page. The search misses memory that other lanes
 *   free in places that it has already examined. If other lanes also allocate the free memory in the
 *   remaining places before the search examines them, NULL is wrong. If no lane frees memory during
 *   the search, NULL is right.
 * - contended: every search met memory that was changing hands: a slab that a lane was opening or
 *   closing, or a run of units or pages that a lane was claiming. Such a search proves nothing. The
 *   request fails after 200 of them, after 8 for objects of more than 8 KiB, and after 1,000 for
 *   pages. If a lane stops forever in the middle of such a step, all later requests that find no
 *   memory fail in this way.
 *
 * A heap that grows asks the host for memory first. If that is refused, the request searches the heap's
 * own memory and then each grant in turn in this way, and NULL is counted by the reason of the refusal.
 *
 * Free slots of other sizes are not room: a slab's units serve other sizes only when all of its slots
 * are free, so one live object keeps them.
 *
 * Mistakes. Each changes nothing, is counted (mam_heap_stats()), and has this answer:
 *
 *	a size of 0                             NULL
 *	more bytes than the heap has, or n      NULL
 *	times a size that no size_t holds
 *	NULL given back                         true, nothing done, not counted
 *	given back: free already                false
 *	given back: not the first byte of an    false
 *	object, a part of one, or a page
 *	given back: another heap's, the         false
 *	host's, or no address at all
 *	a call of pages on a heap of objects    NULL, false
 *	a call of objects on a heap of pages    NULL, false
 *	a NULL heap                             NULL, false, 0; not counted
 *
 * But what was given back and got again by another is that one's, and giving it back once more
 * takes it away; and so it may be if the second free comes in the very moment in which another warp
 * takes the units of the slab that the first one emptied. A pointer to a head that is none is undefined, and so is use after
 * mam_heap_destroy().
 *
 * To find mistakes. Compile with -DMAM_KDEBUG, all files that use a heap alike, and make the heap
 * with attr.debug = 1: on others that code gets NULL and false, as other code does on that heap.
 * Each object then lies between red zones, 96 bytes in front and 16 or more behind; fresh memory is
 * filled with 0xc5, and what is given back with 0xd7. What was written over, given back twice, from
 * inside, or without having been got, and memory that was written to after it was given back, is
 * told to the host (mam_heap_reports(), in heap.h), with address, bytes, block and thread of who did
 * it, and of who got the object and gave it back, as far as that is known. The kernel goes on. What
 * was written over is given back, and the answer true, if its guard, the first 64 bytes in front, is
 * whole; other mistakes are answered as above, and counted.
 *
 * All that is promised below holds, but for this: mam_kusable() is what was asked for;
 * mam_krealloc() always moves, but where there is no room and the object shrinks; no object is as
 * large as the whole heap. Requests of a power of two, up to 8 KiB, take twice their bytes and more,
 * so that they are aligned all the same. A lane writes all of an object when it gets it, and up to
 * 64 KiB of it when it gives it back, so all is far slower.
 *
 * Not found: what only reads; what is written beyond the zones, or with the value that was there; a
 * second free of what another one has got meanwhile; writes to an object of more than 64 KiB after
 * it was given back, behind its first 64 KiB, and to one that was a block of the pool.
 *
 * Versions. Kernels and the library must know the same layout of a heap (MAM_HEAP_LAYOUT). Each
 * call of objects compares: a heap of another layout answers NULL, false or 0, and nothing is
 * counted, as nobody knows where.
 *
 * Compile with -I to where mam's headers are installed; sm_70 and later; C++11 and later.
 */
#ifndef MAM_HEAP_CUH
#define MAM_HEAP_CUH

#if !defined(__CUDACC__) && !defined(MAM_SIMT)
#error "mam/heap.cuh is for kernels: compile it by nvcc, in a .cu file; else include mam/heap.h"
#endif

#include <mam/heap.h>

#include "heap/head.h"
#include "heap/pages.h"
#include "heap/entry.h"
#include "heap/gather.h"
#include "heap/returns.h"
#include "heap/together.h"

/*
 * mam_kmalloc - `bytes` of memory, each lane its own number of them, 1 to the whole heap.
 *
 * Up to 8 KiB it is one of 72 sizes, 16 B apart up to 128 B, then at most 1.25 times, from 512 B on
 * 1.125 times and from 4 KiB on 1.0625 times; more is whole KiB. The address is a multiple of 16,
 * that of a size which is a power of two, up to 8 KiB, a multiple of it, and that of whole KiB a
 * multiple of 1 KiB. Lanes that come together are served together: mostly one atomic operation for
 * all of them that need the same size. NULL, counted: memory ran out, as described above, or a mistake.
 */
MAM_KFN void *mam_kmalloc(struct mam_kheap *heap, size_t bytes)
{
	return mam_entry_alloc(heap, bytes);
}

/*
 * mam_kfree - true: `object` is given back, and its room may be had again at once, by any lane. It
 * may have been got in another kernel, in another stream, or by another lane. NULL: true, nothing
 * done. False: a mistake, counted.
 */
MAM_KFN bool mam_kfree(struct mam_kheap *heap, void *object)
{
	return mam_entry_free(heap, object);
}

/*
 * mam_kcalloc - as mam_kmalloc() of `n` times `bytes`, all of it zero. The lane writes the zeros
 * itself. NULL, counted: also if the product is 0 or no size_t holds it.
 */
MAM_KFN void *mam_kcalloc(struct mam_kheap *heap, size_t n, size_t bytes)
{
	return mam_entry_calloc(heap, n, bytes);
}

/*
 * mam_krealloc - `object` with `bytes`: what it has is kept up to the smaller of the two sizes, and
 * the lane copies that itself if the object moves.
 *
 * It stays where it is if it is large enough and a new one would be more than half as large as it
 * is; see mam_kusable(). NULL for `object`: as mam_kmalloc(). 0 `bytes`: it is given back, the
 * answer is NULL, and no failure is counted. NULL with another size: there is no room, counted, and
 * `object` is as it was; or it is no object of this heap, counted as when it is given back. An
 * object that is to shrink, and would move, stays where there is no room.
 */
MAM_KFN void *mam_krealloc(struct mam_kheap *heap, void *object, size_t bytes)
{
	return mam_entry_realloc(heap, object, bytes);
}

/*
 * mam_kusable - bytes that the holder of `object` may use, no less than it asked for; of a part
 * (mam_kmalloc_warp()) what it asked for. 0, not counted: NULL, or nobody has it, or it is not the
 * first byte of an object of this heap, or of a part of one.
 */
MAM_KFN size_t mam_kusable(struct mam_kheap *heap, const void *object)
{
	return heap && object ? mam_entry_usable(heap, object) : 0;
}

/*
 * mam_kmalloc_warp - one object for the lanes of a warp that come together, of which each has a part
 * of its own; so what neighbours do with it at the same time is of neighbouring memory, and it costs
 * one request for all.
 *
 * Lane i's part lies right behind that of lane i - 1, and each lane has its own `bytes`; a lane with 0
 * has none, and gets NULL. Nothing is rounded up: the first part begins at a multiple of 16, the others
 * where the sizes before them lead, so of 4 bytes each at a multiple of 4, and a lane that needs more
 * rounds its own size, and its neighbours theirs. In front of the parts the object has 16 bytes, and 4
 * for each part if sizes differ (8 if all of them are 4 GiB and more; so does what has parts of 1 MiB
 * and more each).
 *
 * Lanes that each walk through their own part, all in step, read fastest where the parts' bytes are no
 * multiple of 32: else the words they want at a time are in few banks of the cache next to them. At 64
 * such a walk took half as long again on an H100, at 128 two to three times (layout-h100.csv).
 *
 * NULL for all, counted once: no room for the whole, or a sum that is too large. Who could do with
 * less may ask alone then.
 *
 * Parts are given back one by one by mam_kfree(), in any order, by any lane, block, stream or later
 * kernel, or by the host, or all at once by mam_kfree_parts(). The object goes back to the heap with
 * the last one; so as long as somebody has a part the memory of all is taken. A part that is given
 * back twice is a mistake as with an object, as is what is not a part's first byte; but once the
 * object is gone its parts' addresses are just addresses in the heap, and a second free that comes in
 * the very moment in which it goes may clear a bit in what is another's by then. mam_kusable() says a
 * part's bytes; mam_krealloc() leaves it as it is or moves it to an object of its own. To give back a
 * part costs more than an object: where the object is large (a run of units, more so a block of the
 * pool) it has to be looked for; mam_kfree_parts() does that once for all. To the host, mam_heap_walk() and statistics, all is one object, which begins 16 bytes or more before
 * the first part; mam_heap_free() of what the walk shows gives all of it back.
 *
 * Which lanes come together is the compiler's choice where code has branched: put __syncwarp() of
 * the lanes before it, or use mam_kmalloc_lanes(), where the program names them.
 *
 * With -DMAM_KDEBUG red zones are around the object, none between its parts, and it is poisoned as a
 * whole, when it goes. Not found: who writes past a part's end into the next one, or to a part that was
 * given back while others have theirs. Who writes in front of the first part spoils what says that
 * there are parts: then giving them back is a mistake, from inside of an object, which stays.
 */
MAM_KFN void *mam_kmalloc_warp(struct mam_kheap *heap, size_t bytes)
{
	return mam_gather_lanes(heap, mam_warp_active(), bytes);
}

/*
 * mam_kmalloc_lanes - the same for the lanes of `mask`, of which the caller is one: all of them come
 * to the same call with the same mask, as with __shfl_sync().
 */
MAM_KFN void *mam_kmalloc_lanes(struct mam_kheap *heap, uint32_t mask, size_t bytes)
{
	return mam_gather_lanes(heap, mask, bytes);
}

/*
 * mam_kmalloc_block - the same for all threads of the block, which all call, in the order of threads,
 * x fastest. In front of more than 32 parts there are 4 bytes more for each 32 of them. Three barriers of
 * the block, and 528 bytes of shared memory a kernel; what was written before the call, all see after
 * it.
 */
MAM_KFN void *mam_kmalloc_block(struct mam_kheap *heap, size_t bytes)
{
	return mam_gather_block(heap, bytes);
}

/*
 * mam_kfree_parts - `part`, and with it all parts of its object that nobody has given back yet, by one
 * lane, once: all that have one must have done with it. True: the whole object is given back. NULL:
 * true, nothing done. False, counted: a mistake; so is an object that has no parts.
 */
MAM_KFN bool mam_kfree_parts(struct mam_kheap *heap, void *part)
{
	return mam_entry_free_parts(heap, part);
}

/*
 * mam_kmalloc_shared_warp - one object for the lanes of a warp that come together: all get its address,
 * or NULL. The lanes share it; it lies in the heap, as any, and not in CUDA's shared memory. The lowest
 * lane's `bytes` count; let them be the same. What the lanes do with the object they order among
 * themselves, as with any memory.
 */
MAM_KFN void *mam_kmalloc_shared_warp(struct mam_kheap *heap, size_t bytes)
{
	return mam_together_alloc(heap, mam_warp_active(), bytes);
}

/*
 * mam_kfree_shared_warp - lanes that come together give back an object they share, once. Each must have
 * done with it, and all that share it must come: those who come later give it back a second time.
 * Lanes with different objects may come together. Answers as mam_kfree(), the same to all who name
 * an object.
 */
MAM_KFN bool mam_kfree_shared_warp(struct mam_kheap *heap, void *object)
{
	return mam_together_free(heap, mam_warp_active(), object);
}

/*
 * mam_kmalloc_shared_lanes, mam_kfree_shared_lanes - the same for the lanes of `mask`, of which the
 * caller is one, as with mam_kmalloc_lanes().
 */
MAM_KFN void *mam_kmalloc_shared_lanes(struct mam_kheap *heap, uint32_t mask, size_t bytes)
{
	return mam_together_alloc(heap, mask, bytes);
}

MAM_KFN bool mam_kfree_shared_lanes(struct mam_kheap *heap, uint32_t mask, void *object)
{
	return mam_together_free(heap, mask, object);
}

/*
 * mam_kmalloc_shared_block - one object for all threads of the block, which all call: all get its
 * address, or NULL; it lies in the heap, too. The first thread's `bytes` count. Two barriers of the
 * block, and 16 bytes of shared memory a kernel; what was written before the call, all see after it.
 */
MAM_KFN void *mam_kmalloc_shared_block(struct mam_kheap *heap, size_t bytes)
{
	return mam_together_alloc_block(heap, bytes);
}

/*
 * mam_kfree_shared_block - all threads of the block, which all call, give an object back, once: when
 * the last of them has come. The first thread's `object` counts. Two barriers. Answers as mam_kfree(),
 * the same to all.
 */
MAM_KFN bool mam_kfree_shared_block(struct mam_kheap *heap, void *object)
{
	return mam_together_free_block(heap, object);
}

/*
 * mam_kdrain - what the host gave back by mam_heap_free() is free, but for what others are just
 * taking in. Any lanes, which share the work; one round trip where there is nothing. Requests do
 * this by themselves before they look everywhere for the last room: it is for kernels of a program's
 * own that make room for more.
 */
MAM_KFN void mam_kdrain(struct mam_kheap *heap)
{
	if (heap && mam_search_serves(heap))
		mam_returns_drain(heap);
}

/*
 * Heaps of pages. A lane keeps a walk, sixteen bytes in its registers, for as long as it likes: it
 * says where to look next. One that was not started is garbage. A walk is of one heap.
 *
 *	struct mam_kwalk walk;
 *	struct node *node;
 *
 *	mam_kpage_start(heap, &walk);
 *	node = (struct node *)mam_kpage_alloc(heap, &walk);
 */

/* The pages' own calls, for who would rather have numbers than addresses: heap/pages.h. */
MAM_KFN struct mam_pages *mam_kpage_books(struct mam_kheap *heap)
{
	return (struct mam_pages *)(heap + 1);
}

/* Before the first request. Costs no access to memory that changes. */
MAM_KFN void mam_kpage_start(struct mam_kheap *heap, struct mam_kwalk *walk)
{
	mam_kwalk_start(walk, mam_kpage_books(heap));
}

/* Bytes of a page. */
MAM_KFN size_t mam_kpage_bytes(const struct mam_kheap *heap)
{
	return (size_t)1 << heap->shift;
}

/* The address of page `number`; NULL: MAM_NO_PAGE. pre: it is MAM_NO_PAGE or below heap->pages. */
MAM_KFN void *mam_kpage_at(const struct mam_kheap *heap, uint32_t number)
{
	return number == MAM_NO_PAGE ? NULL : heap->ground + ((uint64_t)number << heap->shift);
}

/* The page that begins at `address`; MAM_NO_PAGE: none of this heap does. */
MAM_KFN uint32_t mam_kpage_number(const struct mam_kheap *heap, const void *address)
{
	uint64_t offset = (uint64_t)((uintptr_t)address - (uintptr_t)heap->ground);
	uint64_t number = offset >> heap->shift;

	return number < heap->pages && number << heap->shift == offset ? (uint32_t)number
								       : MAM_NO_PAGE;
}

/* The same for an address anywhere in a page. */
MAM_KFN uint32_t mam_kpage_around(const struct mam_kheap *heap, const void *address)
{
	uint64_t number =
		(uint64_t)((uintptr_t)address - (uintptr_t)heap->ground) >> heap->shift;

	return number < heap->pages ? (uint32_t)number : MAM_NO_PAGE;
}

/*
 * mam_kpage_alloc - one page, at a multiple of its size. NULL, counted: all pages were seen taken,
 * each once, in one scan, or each of many scans met runs that were being claimed.
 */
MAM_KFN void *mam_kpage_alloc(struct mam_kheap *heap, struct mam_kwalk *walk)
{
	return mam_kpage_at(heap, mam_pages_take(mam_kpage_books(heap), walk));
}

/* mam_kpage_free - true: it is given back. NULL: true, nothing done. */
MAM_KFN bool mam_kpage_free(struct mam_kheap *heap, void *page)
{
	return page == NULL ||
	       mam_pages_give(mam_kpage_books(heap), mam_kpage_number(heap, page));
}

/*
 * mam_kpage_alloc_run - `n` pages in a row, 1 to all, each lane its own number of them; at a
 * multiple of one page's size. NULL, counted: no `n` free pages in a row were seen, or `n` is out
 * of range, or too many such requests were in each other's way.
 */
MAM_KFN void *mam_kpage_alloc_run(struct mam_kheap *heap, struct mam_kwalk *walk, uint32_t n)
{
	return mam_kpage_at(heap, mam_pages_take_run(mam_kpage_books(heap), walk, n));
}

/*
 * mam_kpage_free_run - `n` pages from `page` on, which need not be what was taken together: a run
 * may be given back in parts, and single pages as a run. False: at least one of them was not
 * taken, or there are not so many; what was taken is given back nevertheless.
 */
MAM_KFN bool mam_kpage_free_run(struct mam_kheap *heap, void *page, uint32_t n)
{
	return page == NULL ||
	       mam_pages_give_run(mam_kpage_books(heap), mam_kpage_number(heap, page), n);
}

#endif
