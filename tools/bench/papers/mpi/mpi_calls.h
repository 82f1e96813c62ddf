/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_calls.h - malloc and free of a kernel of `mam bench mpi`: a way of coalesce/way.h over a
 * base, or the heap's own calls for a whole warp or block. The kind is a constant at each call.
 *
 *   mpi_alloc, mpi_free              all threads of the block call alloc with one size, as the static
 *                                    ways require; each thread may call free independently
 *   mpi_alone_alloc, _free           any thread may call these: a static way does not coalesce them, as
 *                                    the report's analysis leaves such calls alone, but a dynamic one does
 */
#ifndef MAM_TOOLS_BENCH_MPI_CALLS_H
#define MAM_TOOLS_BENCH_MPI_CALLS_H

#include "bench/device/device_kit.h"
#include "bench/papers/mpi/mpi_job.h"
#include "coalesce/way.h"
#ifdef MPI_COLLECTIVE
#include "heap/calls/gather.h"
#endif

MAM_KFN struct mam_kcoalescer mpi_coalescer(struct mam_kbase base, const struct device_job *job)
{
	const struct mpi_heap *heap = (const struct mpi_heap *)job->heap;
	struct mam_kcoalescer c;

	c.base = base;
	c.buffers = (struct mam_buffers *)heap->buffers;
	c.map = (struct mam_kmap *)heap->map;
	return c;
}

/* mam's base has its heap in `mpi_heap`. */
MAM_KFN struct mam_kbase mpi_base_heap(const struct device_job *job)
{
	return mam_base_heap((struct mam_kheap *)((const struct mpi_heap *)job->heap)->heap);
}

/* The lanes of the caller's warp that exist in the block. */
MAM_KFN uint32_t mpi_lanes(void)
{
	const uint32_t rest = mam_block_threads() - mam_thread() / DEVICE_WARP * DEVICE_WARP;

	return rest < DEVICE_WARP ? (1u << rest) - 1 : ~0u;
}

MAM_KFN void *mpi_alloc(unsigned int kind, struct mam_kcoalescer c, size_t bytes)
{
#ifdef MPI_COLLECTIVE
	if (kind == MPI_WARP)
		return mam_gather_lanes((struct mam_kheap *)c.base.heap, mpi_lanes(), bytes);
	if (kind == MPI_BLOCK)
		return mam_gather_block((struct mam_kheap *)c.base.heap, bytes);
#endif
	return mam_way_alloc((enum mam_kway)kind, c, bytes);
}

MAM_KFN bool mpi_free(unsigned int kind, struct mam_kcoalescer c, void *object)
{
	return mam_way_free(kind < MAM_WAYS ? (enum mam_kway)kind : MAM_WAY_BASE, c, object);
}

/* The way of calls that not all threads make. */
MAM_KFN enum mam_kway mpi_alone(unsigned int kind)
{
	return kind == MAM_WAY_XMALLOC || kind == MAM_WAY_SEGMENTS ? (enum mam_kway)kind
								   : MAM_WAY_BASE;
}

MAM_KFN void *mpi_alone_alloc(unsigned int kind, struct mam_kcoalescer c, size_t bytes)
{
	return mam_way_alloc(mpi_alone(kind), c, bytes);
}

MAM_KFN bool mpi_alone_free(unsigned int kind, struct mam_kcoalescer c, void *object)
{
	return mam_way_free(mpi_alone(kind), c, object);
}

/* Records the first thread's clock and timer, to compute the clock rate. */
MAM_KFN void mpi_pace(const struct device_job *job, uint64_t clock, uint64_t timer)
{
	if (device_thread() > 0)
		return;
	device_report(&job->found->cycles[0], mam_clock() - clock);
	device_report(&job->found->cycles[1], mam_timer() - timer);
}

#endif
