/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_sim_module.h - makes a module for device_sim.c from a file of kernels of `mam bench mpi`. The
 * including file defines MPI_SIM_NAME, MPI_SIM_FILE, which is included, and MPI_SIM_WAYS(each), its
 * ways; all of these have trees if MPI_SIM_TREES is defined. CUDA's malloc is that of device_sim.c.
 */
#include "device_sim.h"
#include "bench/papers/mpi/mpi_kernels.h"

MAM_KFN void *mpi_sim_alloc(void *heap, size_t bytes)
{
	(void)heap;
	return device_sim_base_alloc(bytes);
}

MAM_KFN bool mpi_sim_free(void *heap, void *block)
{
	(void)heap;
	device_sim_base_free(block);
	return true;
}

MAM_KFN struct mam_kbase mam_base_cuda(void)
{
	return (struct mam_kbase){ mpi_sim_alloc, mpi_sim_free, NULL, MAM_BASE_CUDA_TRIES };
}

#include MPI_SIM_FILE

#define KERNEL(name)        \
	{                   \
#name, name \
	}
#define UNITS(way) KERNEL(unit_##way), KERNEL(alltoall_##way),
#define TREES(way) KERNEL(tree_##way),

const struct device_sim_kernel MPI_SIM_NAME[] = {
	MPI_SIM_WAYS(UNITS)
#ifdef MPI_SIM_TREES
		MPI_SIM_WAYS(TREES)
#endif
#ifdef MPI_SIM_DRAIN
			KERNEL(drain),
#endif
	KERNEL(metadata),
	{ NULL, NULL },
};
