/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coalesce.cuh - requests of several threads as one, before an allocator for kernels sees them.
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
 * A base is the allocator below: mam_base_heap(heap), a heap of objects (heap.cuh);
 * mam_base_pages(heap), a heap of pages, of which each block is a run; mam_base_cuda(), CUDA's malloc()
 * and free() in kernels; or any other, by two functions and what both are told first:
 *
 *	MAM_KFN void *own_alloc(void *state, size_t bytes)   at a multiple of 16; NULL: no room
 *	MAM_KFN bool own_free(void *state, void *block)      false: a mistake, nothing done
 *
 *	struct mam_kbase base = { own_alloc, own_free, state, 0 };
 *
 * The last number: how many tries that others win a request makes at buffers before it comes here; 0
 * is MAM_BASE_TRIES, right for a base that is fast. Any lane may call the functions at any time, alone
 * or with others. Write their names where the struct is made, in the kernel: then the compiler calls
 * them directly.
 *
 * A way is how requests are put together, and who must call together for it. It is a constant where
 * the call stands, and the same for all that free what it gave, with the same base, buffers and
 * map.
 *
 *	MAM_WAY_BASE           nobody: each lane asks the base itself
 *	MAM_WAY_XMALLOC        nobody: lanes of a warp that happen to come together, each with a
 *	                       size of its own, share a block, and blocks wait in buffers
 *	MAM_WAY_SEGMENTS       nobody: as before, with headers of 4 bytes, and without buffers
 *	MAM_WAY_WARP_HEADERS   all lanes of a warp that have not ended, with the same size
 *	MAM_WAY_WARP           the same, without a header in front of each: a map says whose it is
 *	MAM_WAY_BLOCK_HEADERS  all threads of a block, with the same size
 *	MAM_WAY_BLOCK          the same, without headers
 *
 * Giving back is by any lane of any kernel at any time in each of them, in any order. A part's room
 * is free again when the last part of its block is given back; only then the base has it.
 *
 * Where a part lies: MAM_WAY_XMALLOC and the ways with headers, at a multiple of 16; MAM_WAY_WARP
 * and MAM_WAY_BLOCK, side by side from a multiple of 16 on, so at a multiple of what divides both
 * 16 and the bytes; MAM_WAY_SEGMENTS, for bytes that are a multiple of 16, 8 or 4, at a multiple of
 * that.
 *
 * What each needs. The host reckons how many bytes, zeroes as many on the device, and one thread of
 * a kernel formats them, before any kernel uses them:
 *
 *	buffers   MAM_WAY_XMALLOC, or NULL for none.
 *	          mam_buffers_bytes(count, blocks), mam_buffers_format(buffers, count, blocks,
 *	          reference): `count` FIFOs a class, 0 or a power of two up to MAM_BUFFERS_MAX, for
 *	          `blocks` blocks together, a power of two from MAM_BUFFERS_BLOCKS_LEAST to
 *	          MAM_BUFFERS_BLOCKS_MOST; best as many as warps run at once. Blocks of the base
 *	          that lie at `reference` or up to 64 GiB above are kept; others go back at once.
 *	map       MAM_WAY_WARP and MAM_WAY_BLOCK, which give NULL without room in it.
 *	          mam_map_bytes(entries), mam_map_format(map, entries): parts that are live at a
 *	          time.
 *
 * The others need neither. Before the base ends, or to see it empty, let all lanes of a kernel call
 * mam_buffers_drain(buffers, base): what lies in buffers goes back.
 *
 * What is ordered, and contents: as in heap.cuh, over CUDA's malloc() as well.
 *
 * Mistakes. 0 bytes, and more than a size_t holds with headers: NULL. NULL given back: true. Given
 * back what is visibly none of the way's: false, nothing changed; what can be seen, each way's
 * header says. Not found: memory whose header cannot be read, or was written over; what
 * somebody else got meanwhile; another way than that which gave it.
 *
 * Compile with -I to where mam's headers are installed; sm_70 and later; C++11 and later.
 * XMalloc's own calls, as published, are in xmalloc.cuh.
 */
#ifndef MAM_COALESCE_CUH
#define MAM_COALESCE_CUH

#include <mam/heap.cuh>

#include "coalesce/base_pages.h"
#include "coalesce/way.h"

/*
 * mam_way_alloc(way, c, bytes) - memory for each lane that calls, or NULL: no room, or a mistake.
 * mam_way_free(way, c, object) - true: `object` is given back. False: a mistake.
 *
 * struct mam_kcoalescer holds what they work with, by value: { base, buffers, map }.
 */

#endif
