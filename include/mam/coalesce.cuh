/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coalesce.cuh - combine requests of several threads into one, in front of a device-side allocator.
 *
 *	#include <mam/coalesce.cuh>
 *
 *	__global__ void build(struct mam_kheap *heap, struct mam_buffers *buffers)
 *	{
 *		struct mam_kcoalescer c = { mam_base_heap(heap), buffers, NULL };
 *		int *own = (int *)mam_way_alloc(MAM_WAY_XMALLOC, c, 4 * threadIdx.x + 4);
 *
 *		if (own)
 *			...
 *		mam_way_free(MAM_WAY_XMALLOC, c, own);
 *	}
 *	__global__ void format(struct mam_buffers *buffers, uint64_t reference)
 *	{
 *		mam_buffers_format(buffers, 16, 4096, reference);
 *	}
 *
 *	cudaMalloc(&buffers, mam_buffers_bytes(16, 4096));
 *	format<<<1, 1>>>(buffers, (uint64_t)mam_heap_device(heap) - (32ull << 30));
 *	build<<<blocks, 256>>>(mam_heap_device(heap), buffers);
 *
 * A base is the underlying allocator: mam_base_heap(heap), a heap of objects (heap.cuh);
 * mam_base_pages(heap), a heap of pages, where each block is a run; mam_base_cuda(), CUDA's
 * malloc() and free() in kernels; or any other allocator, given by two functions and their first
 * argument:
 *
 *	MAM_KFN void *own_alloc(void *state, size_t bytes)   at a multiple of 16; NULL: no memory
 *	MAM_KFN bool own_free(void *state, void *block)      false: an invalid free, a no-op
 *
 *	struct mam_kbase base = { own_alloc, own_free, state, 0 };
 *
 * The last field is the number of failed attempts that a request makes at the buffers before it
 * calls the base; an attempt fails if another lane wins it. 0 is MAM_BASE_TRIES, which suits a fast
 * base. Any lane may call the functions at any time, alone or with others. Name the functions where
 * the struct is initialized, in the kernel: then the compiler calls them directly.
 *
 * A way is a method to combine requests; it determines which threads must call together. It must be
 * a compile-time constant at the call. All calls that free the memory must use the same way, base,
 * buffers and map.
 *
 *	MAM_WAY_BASE           none: each lane calls the base itself
 *	MAM_WAY_XMALLOC        none: lanes of a warp that happen to be converged, each with its
 *	                       own size, share a block, and free blocks are kept in buffers
 *	MAM_WAY_SEGMENTS       none: as before, with headers of 4 bytes, and without buffers
 *	MAM_WAY_WARP_HEADERS   all lanes of a warp that have not exited, with the same size
 *	MAM_WAY_WARP           the same, without headers: a map finds the block of each part
 *	MAM_WAY_BLOCK_HEADERS  all threads of a block, with the same size
 *	MAM_WAY_BLOCK          the same, without headers
 *
 * Any lane of any kernel may free memory at any time, in any order, whatever the way. A part's
 * memory is reusable only when the last part of its block is freed; then the base gets the block.
 *
 * Alignment of a part. MAM_WAY_XMALLOC and the ways with headers: a multiple of 16. MAM_WAY_WARP
 * and MAM_WAY_BLOCK: parts are adjacent and start at a multiple of 16, so each is at a multiple of
 * what divides both 16 and the bytes. MAM_WAY_SEGMENTS, for bytes that are a multiple of 16, 8 or
 * 4: a multiple of that.
 *
 * Requirements of each way. The host computes the size and zeroes that many bytes on the device,
 * and one thread of a kernel formats them, before any kernel uses them:
 *
 *	buffers   MAM_WAY_XMALLOC, or NULL for none.
 *	          mam_buffers_bytes(count, blocks), mam_buffers_format(buffers, count, blocks,
 *	          reference): `count` FIFOs per class, 0 or a power of two <= MAM_BUFFERS_MAX, for
 *	          `blocks` blocks together, a power of two from MAM_BUFFERS_BLOCKS_MIN to
 *	          MAM_BUFFERS_BLOCKS_MAX; best the number of resident warps. Blocks of the base
 *	          from `reference` to 64 GiB above it are kept; others are freed at once.
 *	map       MAM_WAY_WARP and MAM_WAY_BLOCK, which return NULL when the map is full.
 *	          mam_map_bytes(entries), mam_map_format(map, entries): `entries` is the number
 *	          of parts that are live at a time.
 *
 * The other ways need neither. Before the base ends, or to see it empty, let all lanes of a kernel
 * call mam_buffers_drain(buffers, base), which frees the blocks in the buffers.
 *
 * Memory order and contents: as in heap.cuh, also on CUDA's malloc().
 *
 * Invalid calls. 0 bytes, and sizes that overflow size_t with headers: NULL. Free of NULL: true.
 * Free of memory that visibly does not belong to the way: false, nothing changed; each way's header
 * file lists what it detects. Not detected: memory whose header cannot be read or was overwritten;
 * memory that another lane has allocated meanwhile; memory of another way.
 *
 * Compile with -I and the directory of mam's installed headers; sm_70 and later; C++11 and later.
 * XMalloc's own calls, as published, are in xmalloc.cuh.
 */
#ifndef MAM_COALESCE_CUH
#define MAM_COALESCE_CUH

#include <mam/heap.cuh>

#include "coalesce/base_pages.h"
#include "coalesce/way.h"

/*
 * mam_way_alloc(way, c, bytes) - allocate memory for each lane that calls. NULL: no memory, or an
 * invalid call.
 *
 * mam_way_free(way, c, object) - true: `object` is freed. False: an invalid free.
 *
 * struct mam_kcoalescer holds what they work with, by value: { base, buffers, map }.
 */

#endif
