/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing 1 of N. Blach, M. Erhart, F. Memedi, A. Schaefer, "Coalescing Memory Allocations for GPU
 * MPI", in CUDA: a program whose ranks are threads. What all ranks come to is to be collective, in
 * f() and in the library's function, too; what four of them do is not.
 */
#include "listing1_mpi.h"
#include <mam/collective.cuh>

static __device__ void f(enum mam_coalesce coalesce = MAM_COLLECTIVE_ALONE)
{
	void *ptr = mam_cmalloc(sizeof(int), coalesce);
	mam_cfree(ptr);
}

__global__ void mpi_main(int argc, char **argv)
{
	void *ptr = mam_cmalloc(sizeof(int), MAM_COLLECTIVE_BLOCK);
	f(MAM_COLLECTIVE_BLOCK);
	int recv;
	MPI_Alltoall(ptr, 1, MPI_INT, &recv, 1, MPI_INT, MPI_COMM_WORLD, MAM_COLLECTIVE_BLOCK);
	mam_cfree(ptr);
	if (threadIdx.x < 4) {
		void *ptr2 = mam_cmalloc(sizeof(int), MAM_COLLECTIVE_ALONE);
		f();
		mam_cfree(ptr2);
	}
}
