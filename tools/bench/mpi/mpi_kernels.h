/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_kernels.h - the kernels of `mam bench mpi`, three for each way: MPI_KERNELS(nb, MAM_WAY_BLOCK,
 * mam_base_cuda()) makes unit_nb, alltoall_nb and tree_nb.
 */
#ifndef MAM_TOOLS_BENCH_MPI_KERNELS_H
#define MAM_TOOLS_BENCH_MPI_KERNELS_H

#include "bench/mpi/mpi_operations.h"
#include "bench/mpi/mpi_unit.h"

#ifdef __CUDACC__
#define MPI_KERNEL(name, most, body, kind, base)                   \
	extern "C" __global__ void __launch_bounds__(most, 1)      \
		name(const __grid_constant__ struct device_job it) \
	{                                                          \
		const struct device_job *const job = &it;          \
                                                                   \
		body(kind, base, job);                             \
	}
#else
#define MPI_KERNEL(name, most, body, kind, base)               \
	static MAM_KERNEL(name)                                \
	{                                                      \
		const struct device_job *const job = argument; \
                                                               \
		body(kind, base, job);                         \
	}
#endif

#define MPI_KERNELS(way, kind, base)                              \
	MPI_KERNEL(unit_##way, 1024, mpi_unit, kind, base)        \
	MPI_KERNEL(alltoall_##way, 512, mpi_alltoall, kind, base) \
	MPI_KERNEL(tree_##way, 512, mpi_tree, kind, base)

#endif
