/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_kernels.h - the kernels of `mam bench mpi`. For a way: MPI_KERNELS(nb, MAM_WAY_BLOCK,
 * mam_base_cuda()) makes unit_nb and alltoall_nb, MPI_TREE tree_nb. For a module: MPI_METADATA makes
 * `books`, MPI_DRAIN `drain`.
 */
#ifndef MAM_TOOLS_BENCH_MPI_KERNELS_H
#define MAM_TOOLS_BENCH_MPI_KERNELS_H

#include "bench/papers/mpi/mpi_operations.h"
#include "bench/papers/mpi/mpi_unit.h"

#ifdef __CUDACC__
/* clang-format off */
#define MPI_KERNEL(name, max, body, kind, base)                   \
	extern "C" __global__ void __launch_bounds__(max, 1)      \
		name(const __grid_constant__ struct device_job it) \
	{                                                          \
		const struct device_job *const job = &it;          \
                                                                   \
		body(kind, base, job);                             \
	}
/* clang-format on */
#else
/* clang-format off */
#define MPI_KERNEL(name, max, body, kind, base)               \
	static MAM_KERNEL(name)                                \
	{                                                      \
		const struct device_job *const job = argument; \
                                                               \
		body(kind, base, job);                         \
	}
/* clang-format on */
#endif

#define MPI_KERNELS(way, kind, base)                       \
	MPI_KERNEL(unit_##way, 1024, mpi_unit, kind, base) \
	MPI_KERNEL(alltoall_##way, 512, mpi_alltoall, kind, base)
#define MPI_TREE(way, kind, base) MPI_KERNEL(tree_##way, 512, mpi_tree, kind, base)

/*
 * One thread: writes the size of the metadata, that of a map for job->count entries into
 * found->bytes, that of buffers with job->rounds FIFOs per class into found->objects; and formats
 * existing metadata.
 */
MAM_KFN void mpi_metadata(unsigned int kind, struct mam_kbase base, const struct device_job *job)
{
	const struct mpi_heap *heap = (const struct mpi_heap *)job->heap;

	(void)kind;
	(void)base;
	job->found->bytes = mam_map_bytes(job->count);
	job->found->objects = mam_buffers_bytes(job->rounds, MAM_BUFFERS_BLOCKS);
	if (heap->map != NULL)
		mam_map_format((struct mam_kmap *)heap->map, job->count);
	if (heap->buffers != NULL)
		mam_buffers_format((struct mam_buffers *)heap->buffers, job->rounds,
				   MAM_BUFFERS_BLOCKS, job->own[0]);
}

/* Frees the buffered blocks to the base. */
MAM_KFN void mpi_drain(unsigned int kind, struct mam_kbase base, const struct device_job *job)
{
	const struct mam_kcoalescer c = mpi_coalescer(base, job);

	(void)kind;
	(void)mam_buffers_drain(c.buffers, c.base);
}

#define MPI_METADATA MPI_KERNEL(metadata, 32, mpi_metadata, 0, mam_base_heap(NULL))
#define MPI_DRAIN(base) MPI_KERNEL(drain, DEVICE_BLOCK, mpi_drain, 0, base)

#endif
