/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.cuh - memory inside kernels, for CUDA C++ and for C under a simulator of kernels.
 *
 * The host creates a heap (heap.h) and passes mam_heap_device() of it to kernels:
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
 * A heap of objects (MAM_HEAP_OBJECTS) allocates any size: mam_kmalloc() and related calls. A heap
 * of pages (MAM_HEAP_PAGES) allocates pages of one size: mam_kpage_alloc() and related calls.
 * kmalloc_override.cuh makes the standard malloc() and new in kernels allocate from a heap.
 *
 * Which threads may call. Any lane may call at any time, alone or with others of its warp, also in
 * divergent code. Lanes of a warp that happen to be converged are served together, whatever size
 * each requests. No lane waits for another warp: a warp may stop anywhere forever, and all others
 * make progress. The warp and block forms specify which lanes must take part. Blocks and grids may
 * have one, two or three dimensions of any size.
 *
 * Memory order. All writes of a lane before it frees memory happen before all accesses of the next
 * owner of that memory, anywhere on the device. The same holds for writes of other lanes that the
 * freeing lane has observed. Nothing else is ordered: to pass an object or a page to another lane,
 * use a barrier or a release and an acquire, as with any memory. Between kernels, stream order is
 * sufficient.
 *
 * Contents. Memory is not cleared, except by mam_kcalloc(): it contains what its last owner wrote.
 *
 * Out of memory. A request that finds no memory quickly searches the whole heap, place by place,
 * and does not stop other lanes meanwhile. So it never sees the whole heap at one moment, and it
 * can return NULL although some memory was free all the time. mam_heap_stats() counts two cases:
 *
 * - full: each place was taken at the moment when the search examined it. For objects of up to 8
 *   KiB a place is a slot of their size, or free units where a slab of their size may begin, or,
 *   unless the size is rounded up to a power of two, enough free units in a row for one object; for
 *   larger objects as many free units in a row; for pages a page. The search misses memory that
 *   other lanes free in places that it has already examined. If other lanes also allocate the free
 *   memory in the remaining places before the search examines them, NULL is wrong. If no lane frees
 *   memory during the search, NULL is right.
 * - contended: every search met memory that was changing hands: a slab that a lane was opening or
 *   closing, or a run of units or pages that a lane was claiming. Such a search proves nothing. The
 *   request fails after 200 of them, after 8 for objects of more than 8 KiB, and after 1,000 for
 *   pages. If a lane stops forever in the middle of such a step, all later requests that find no
 *   memory fail in this way.
 *
 * All warps that find no memory take part in one search, for all their sizes. Requests fail with a
 * search that began after them and found nothing for their size, and otherwise take part in the next
 * one.
 *
 * A heap that grows asks the host for memory first. If the host refuses, the request searches the
 * heap's own memory and then each grant in turn in this way, and NULL is counted by the reason of
 * the refusal.
 *
 * Free slots of smaller sizes do not count as free memory: the 1 to 31 KiB of a slab serve larger
 * sizes only when all of its slots are free, so one live object keeps them. Where there is no place
 * for a size of up to 8 KiB, and the heap cannot grow, a free slot of a larger size serves the
 * request, the smallest whose address has the same alignment, if a search has seen one.
 *
 * Registers. Each kernel that allocates contains the code of a search that rarely runs. Registers of
 * a small kernel on sm_90, and local memory per thread in bytes, by nvcc 13.0 (-Xptxas -v):
 *
 *	mam_kfree()                                  42 registers     0 bytes
 *	mam_kmalloc(), also if it frees             102             512
 *	mam_kmalloc_warp()                          116             512
 *	mam_kmalloc_block()                         104             512
 *	mam_kmalloc() with a bound of the kernel or of the file:
 *	__launch_bounds__(1024) or (256, 4)          64             624
 *	__maxnreg__(48), if nvcc has it              48             656
 *	-maxrregcount=40 or __maxnreg__(40)          40             720
 *	__launch_bounds__(256, 6)                    40             736
 *	__launch_bounds__(256, 8)                    32             784
 *
 * With 102 registers two blocks of 256 threads run on an SM. The search uses most of the local
 * memory: a bound spills at most 20 bytes. Values that the kernel keeps in registers across the
 * call add to that: with 64 of them it needs 164. So call mam_kmalloc() where few values are live,
 * before they are loaded if possible; or bound the kernel, and it keeps these values in local
 * memory during the call; or allocate in a kernel of its own, and pass the addresses. It does not
 * help to let one lane of a warp or block call, nor to call in a __noinline__ function: that takes
 * 102 registers, too, and 232 with 64 values.
 *
 * Invalid calls. Each changes nothing, is counted (mam_heap_stats()), and returns this:
 *
 *	a size of 0                             NULL
 *	more bytes than the heap has, or n      NULL
 *	times a size that overflows size_t
 *	free of NULL                            true, a no-op, not counted
 *	double free                             false
 *	free of an address that is not the      false
 *	first byte of an object, part or page
 *	free of memory of another heap or the   false
 *	host, or of an invalid address
 *	a page call on a heap of objects        NULL, false
 *	an object call on a heap of pages       NULL, false
 *	a NULL heap                             NULL, false, 0; not counted
 *
 * A double free is not detected if another lane has allocated the memory meanwhile: it frees that
 * lane's object. The same can happen if another warp takes the units of a slab that the first free
 * emptied, at the very moment of the second free. An invalid heap pointer is undefined behavior,
 * and so is use of a heap after mam_heap_destroy().
 *
 * Debug mode. Compile all files that use a heap with -DMAM_KDEBUG, and create the heap with
 * attr.debug = 1. On other heaps that code gets NULL and false, as other code does on that heap.
 * Each object then has red zones, 96 bytes before it and at least 16 after it. Fresh memory is
 * filled with 0xc5, and freed memory with 0xd7. Kernels detect out-of-bounds writes, double frees,
 * interior frees, invalid frees and writes after free. They report them to the host
 * (mam_heap_reports(), in heap.h) with address and bytes, and with the block and thread that made
 * the error, that allocated the object and that freed it, as far as these are known. The kernel
 * continues. An object with a corrupted red zone is freed and the call returns true, if its guard,
 * the first 64 bytes before it, is intact. Other errors return the values above and are counted.
 *
 * All guarantees below hold in debug mode, with these exceptions. mam_kusable() returns the
 * requested size. mam_krealloc() always moves the object, unless it shrinks and there is no free
 * memory. No object is as large as the whole heap. Requests of a power of two, up to 8 KiB, take
 * more than twice their bytes, so that they are still aligned. A lane writes all of an object when
 * it allocates it, and up to 64 KiB of it when it frees it, so debug mode is far slower.
 *
 * Not detected: reads; writes beyond the red zones, or of the value that was there; a double free
 * of memory that another lane has allocated meanwhile; writes after free to an object of more than
 * 64 KiB, beyond its first 64 KiB, and to an object that was a block of the pool.
 *
 * Several devices. Kernels of another device than the pool's may use a heap if that device has access
 * to the pool's memory. For kernels of several devices at the same time, compile all of them with
 * -DMAM_KPEERS, and create the heap with attr.peers = 1. The object calls of other kernels return NULL
 * and false on that heap, and those of these kernels do so on other heaps.
 *
 * Versions. Kernels and the library must know the same layout of a heap (MAM_HEAP_LAYOUT). Each
 * object call compares it: for a heap of another layout it returns NULL, false or 0, and counts
 * nothing, as the place of the counters is unknown.
 *
 * Compile with -I and the directory of mam's installed headers; sm_70 and later; C++11 and later.
 */
#ifndef MAM_HEAP_CUH
#define MAM_HEAP_CUH

#if !defined(__CUDACC__) && !defined(__HIP__) && !defined(MAM_SIMT)
#error "mam/heap.cuh is for kernels: compile it by nvcc, in a .cu file; otherwise include mam/heap.h"
#endif

#include <mam/heap.h>

#include "heap/pages/head.h"
#include "heap/pages/pages.h"
#include "heap/calls/entry.h"
#include "heap/calls/gather.h"
#include "heap/slab/returns.h"
#include "heap/calls/together.h"

/*
 * mam_kmalloc - allocate `bytes` bytes, from 1 to the whole heap; each lane has its own `bytes`.
 *
 * Up to 8 KiB the size is rounded up to one of 72 size classes. These are 16 B apart up to 128 B.
 * Above that, each is at most 1.25 times the previous one, from 512 B up 1.125 times, and from 4
 * KiB up 1.0625 times. Larger sizes are rounded up to whole KiB. So are smaller ones that lanes of
 * a warp request together with other sizes, if it wastes at most a quarter, and sizes for which no
 * slab has room. The address is a multiple of 16. A size class that is a power of two, up to 8 KiB,
 * is aligned to its size; whole KiB are aligned to 1 KiB. In a full heap an object may have a place
 * of a larger size, with the same alignment. Converged lanes are served together:
 * usually one atomic operation for all that need the same size. NULL, counted: out of memory, as
 * described above, or an invalid call.
 */
MAM_KFN void *mam_kmalloc(struct mam_kheap *heap, size_t bytes)
{
	return mam_entry_alloc(heap, bytes);
}

/*
 * mam_kfree - free `object`. True: any lane can allocate its memory again at once. The object may
 * have been allocated in another kernel, in another stream, or by another lane. NULL: true, a
 * no-op. False: an invalid free, counted.
 */
MAM_KFN bool mam_kfree(struct mam_kheap *heap, void *object)
{
	return mam_entry_free(heap, object);
}

/*
 * mam_kcalloc - as mam_kmalloc() of `n` times `bytes`, zeroed. The lane writes the zeros itself.
 * NULL, counted: also if the product is 0 or overflows size_t.
 */
MAM_KFN void *mam_kcalloc(struct mam_kheap *heap, size_t n, size_t bytes)
{
	return mam_entry_calloc(heap, n, bytes);
}

/*
 * mam_krealloc - resize `object` to `bytes`. The contents are kept up to the smaller of the two
 * sizes; if the object moves, the lane copies them itself.
 *
 * The object stays in place if it is large enough and a new one would be more than half as large as
 * it is; see mam_kusable(). `object` NULL: as mam_kmalloc(). `bytes` 0: the object is freed, and
 * the call returns NULL without counting a failure. NULL with another size: out of memory, counted,
 * and `object` is unchanged; or `object` does not belong to this heap (counted as an invalid free).
 * If there is no free memory, an object that would shrink and move stays in place instead.
 */
MAM_KFN void *mam_krealloc(struct mam_kheap *heap, void *object, size_t bytes)
{
	return mam_entry_realloc(heap, object, bytes);
}

/*
 * mam_kusable - the usable bytes of `object`, at least the requested size; for a part
 * (mam_kmalloc_warp()) the requested size. Two objects of one requested size may differ:
 * mam_kmalloc(). 0, not counted: NULL, or a free object, or not the first byte of an object or part
 * of this heap.
 */
MAM_KFN size_t mam_kusable(struct mam_kheap *heap, const void *object)
{
	return heap && object ? mam_entry_usable(heap, object) : 0;
}

/*
 * mam_kmalloc_warp - allocate one object for the converged lanes of a warp, with a part for each
 * lane. So accesses by neighboring lanes coalesce, and all lanes share the cost of one request.
 *
 * The part of lane i directly follows that of lane i - 1, and each lane has its own `bytes`; a lane
 * with 0 gets NULL. Sizes are not rounded up. The first part is at a multiple of 16. The alignment
 * of the others follows from the sizes before them: parts of 4 bytes are at multiples of 4. For a
 * larger alignment, all lanes must round up their sizes. The object has a header of 16 bytes in
 * front of the parts, and 4 more bytes per part if sizes differ or each part has 1 MiB or more.
 * These are 8 bytes if all parts together have 4 GiB or more.
 *
 * If each lane reads through its own part, all in step, that is fastest if the part's size is not a
 * multiple of 32. Otherwise the words that the lanes read at one time are in few banks of the L1
 * cache. On an H100 such reads took 1.5 times as long at 64 bytes, and two to three times at 128
 * (layout-h100.csv).
 *
 * NULL for all lanes, counted once: no memory for the whole object, or the sum is too large. A lane
 * that can make do with less may retry on its own.
 *
 * Parts are freed one by one by mam_kfree(), in any order, by any lane, block, stream or later
 * kernel, or by the host, or all at once by mam_kfree_parts(). The object is freed with its last
 * part; until then the memory of all parts is in use. A double free of a part is an invalid free,
 * as for an object, and so is an address that is not the first byte of a part. But once the object
 * is free, its parts are ordinary addresses in the heap. A second free at the very moment when the
 * object is freed may clear a bit in memory that has since been reallocated. mam_kusable() returns
 * a part's bytes; mam_krealloc() leaves a part in place or moves it to its own object. Freeing a
 * part costs more than freeing an object: in a large object (a run of units, and even more a block
 * of the pool) the call must search for the object. mam_kfree_parts() does that once for all parts.
 * mam_heap_walk() and the statistics show one object, which begins 16 bytes or more before the
 * first part; mam_heap_free() of that object frees all parts.
 *
 * The compiler chooses which lanes are converged after a branch: put __syncwarp() of the lanes
 * before the call, or use mam_kmalloc_lanes(), where the program names them.
 *
 * With -DMAM_KDEBUG red zones surround the object, not each part, and the whole object is poisoned
 * when it is freed. Not detected: writes past the end of a part into the next one, or to a freed
 * part while other parts are live. A write in front of the first part destroys the header of the
 * parts. Then freeing the parts is an error (an interior free), and the object leaks.
 */
MAM_KFN void *mam_kmalloc_warp(struct mam_kheap *heap, size_t bytes)
{
	return mam_gather_lanes(heap, mam_warp_active(), bytes);
}

/*
 * mam_kmalloc_lanes - the same for the lanes of `mask`, which includes the caller: all of them make
 * the same call with the same mask, as with __shfl_sync().
 */
MAM_KFN void *mam_kmalloc_lanes(struct mam_kheap *heap, uint32_t mask, size_t bytes)
{
	return mam_gather_lanes(heap, mask, bytes);
}

/*
 * mam_kmalloc_block - the same for all threads of the block, which must all call. Parts are in the
 * order of threads, x fastest. With more than 32 parts, the header has 4 more bytes per 32 parts.
 * Uses three barriers of the block, and 528 bytes of shared memory per kernel. Writes before the
 * call are visible to all threads after it.
 */
MAM_KFN void *mam_kmalloc_block(struct mam_kheap *heap, size_t bytes)
{
	return mam_gather_block(heap, bytes);
}

/*
 * mam_kfree_parts - free `part` and all other live parts of its object. One lane calls it once; all
 * lanes with a part must be done with it. True: the whole object is free. NULL: true, a no-op.
 * False, counted: an invalid free; so is an object without parts.
 */
MAM_KFN bool mam_kfree_parts(struct mam_kheap *heap, void *part)
{
	return mam_entry_free_parts(heap, part);
}

/*
 * mam_kmalloc_shared_warp - one object for the converged lanes of a warp: all get the same address,
 * or NULL. The lanes share the object. It is in the heap, as any object, and not in CUDA's shared
 * memory. The lowest lane's `bytes` counts; all lanes should pass the same value. The lanes must
 * order their accesses to the object themselves, as with any memory.
 */
MAM_KFN void *mam_kmalloc_shared_warp(struct mam_kheap *heap, size_t bytes)
{
	return mam_together_alloc(heap, mam_warp_active(), bytes);
}

/*
 * mam_kfree_shared_warp - converged lanes free an object that they share, once. Each must be done
 * with it, and all that share it must call together: a lane that calls later makes a double free.
 * Lanes with different objects may call together. Returns as mam_kfree(), the same value to all
 * lanes that pass the same object.
 */
MAM_KFN bool mam_kfree_shared_warp(struct mam_kheap *heap, void *object)
{
	return mam_together_free(heap, mam_warp_active(), object);
}

/*
 * mam_kmalloc_shared_lanes, mam_kfree_shared_lanes - the same for the lanes of `mask`, which
 * includes the caller, as with mam_kmalloc_lanes().
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
 * mam_kmalloc_shared_block - one object for all threads of the block, which must all call: all get
 * the same address, or NULL. It is in the heap, too. The first thread's `bytes` counts. Uses two
 * barriers of the block, and 16 bytes of shared memory per kernel. Writes before the call are
 * visible to all threads after it.
 */
MAM_KFN void *mam_kmalloc_shared_block(struct mam_kheap *heap, size_t bytes)
{
	return mam_together_alloc_block(heap, bytes);
}

/*
 * mam_kfree_shared_block - free an object once for all threads of the block, which must all call.
 * It is freed when the last of them has arrived. The first thread's `object` counts. Uses two
 * barriers. Returns as mam_kfree(), the same value to all threads.
 */
MAM_KFN bool mam_kfree_shared_block(struct mam_kheap *heap, void *object)
{
	return mam_together_free_block(heap, object);
}

/*
 * mam_kdrain - free the objects that the host passed to mam_heap_free(), except those that other
 * lanes are draining at the moment. Any lanes may call it and share the work; it costs one round
 * trip if there are none. Requests drain before their last exhaustive search. This call is for a
 * program's own kernels that make room for more.
 */
MAM_KFN void mam_kdrain(struct mam_kheap *heap)
{
	if (heap && mam_search_serves(heap))
		mam_returns_drain(heap);
}

/*
 * Heaps of pages. Each lane keeps the state of its search, sixteen bytes in registers, for as long
 * as it likes: the state determines where to search next. An uninitialized state is garbage. A
 * state belongs to one heap.
 *
 *	struct mam_kwalk walk;
 *	struct node *node;
 *
 *	mam_kpage_start(heap, &walk);
 *	node = (struct node *)mam_kpage_alloc(heap, &walk);
 */

/* The underlying calls, for code that prefers page numbers to addresses: heap/pages/pages.h. */
MAM_KFN struct mam_pages *mam_kpage_metadata(struct mam_kheap *heap)
{
	return (struct mam_pages *)(heap + 1);
}

/* Initialize the state before the first request. Does not access memory that changes. */
MAM_KFN void mam_kpage_start(struct mam_kheap *heap, struct mam_kwalk *walk)
{
	mam_kwalk_start(walk, mam_kpage_metadata(heap));
}

/* Bytes of a page. */
MAM_KFN size_t mam_kpage_bytes(const struct mam_kheap *heap)
{
	return (size_t)1 << heap->shift;
}

/* The address of page `number`; NULL: MAM_NO_PAGE. pre: it is MAM_NO_PAGE or below heap->pages. */
MAM_KFN void *mam_kpage_at(const struct mam_kheap *heap, uint32_t number)
{
	return number == MAM_NO_PAGE ? NULL : heap->space + ((uint64_t)number << heap->shift);
}

/* The page that begins at `address`; MAM_NO_PAGE: not the start of a page of this heap. */
MAM_KFN uint32_t mam_kpage_number(const struct mam_kheap *heap, const void *address)
{
	uint64_t offset = (uint64_t)((uintptr_t)address - (uintptr_t)heap->space);
	uint64_t number = offset >> heap->shift;

	return number < heap->pages && number << heap->shift == offset ? (uint32_t)number
								       : MAM_NO_PAGE;
}

/* The page that contains `address`; MAM_NO_PAGE: not in this heap. */
MAM_KFN uint32_t mam_kpage_around(const struct mam_kheap *heap, const void *address)
{
	uint64_t number = (uint64_t)((uintptr_t)address - (uintptr_t)heap->space) >> heap->shift;

	return number < heap->pages ? (uint32_t)number : MAM_NO_PAGE;
}

/*
 * mam_kpage_alloc - allocate one page, aligned to its size. NULL, counted: one scan saw every page
 * allocated, or each of many scans met runs that were being claimed.
 */
MAM_KFN void *mam_kpage_alloc(struct mam_kheap *heap, struct mam_kwalk *walk)
{
	return mam_kpage_at(heap, mam_pages_take(mam_kpage_metadata(heap), walk));
}

/* mam_kpage_free - free a page. Returns true on success. NULL: true, a no-op. */
MAM_KFN bool mam_kpage_free(struct mam_kheap *heap, void *page)
{
	return page == NULL ||
	       mam_pages_give(mam_kpage_metadata(heap), mam_kpage_number(heap, page));
}

/*
 * mam_kpage_alloc_run - allocate `n` pages in a row, from 1 to all; each lane has its own `n`. The
 * run is aligned to the size of one page. NULL, counted: no `n` free pages in a row were seen, or
 * `n` is out of range, or too many such requests collided.
 */
MAM_KFN void *mam_kpage_alloc_run(struct mam_kheap *heap, struct mam_kwalk *walk, uint32_t n)
{
	return mam_kpage_at(heap, mam_pages_take_run(mam_kpage_metadata(heap), walk, n));
}

/*
 * mam_kpage_free_run - free the `n` pages that begin at `page`. They need not have been allocated
 * together: a run may be freed in parts, and single pages may be freed as a run. False: at least
 * one of them was not allocated, or the heap has fewer pages; the allocated ones are freed
 * nevertheless.
 */
MAM_KFN bool mam_kpage_free_run(struct mam_kheap *heap, void *page, uint32_t n)
{
	return page == NULL ||
	       mam_pages_give_run(mam_kpage_metadata(heap), mam_kpage_number(heap, page), n);
}

#endif
