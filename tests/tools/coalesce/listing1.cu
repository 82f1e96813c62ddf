/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing 1 of N. Blach, M. Erhart, F. Memedi, A. Schaefer, "Coalescing Memory Allocations for GPU
 * MPI", in CUDA: a program whose ranks are threads. What all ranks come to is to be collective, in
 * f() and in the library's function, too; what four of them do is not.
 */
#include "listing1_mpi.h"

static __device__ void f()
{
	void *ptr = malloc(sizeof(int));
	free(ptr);
}

__global__ void mpi_main(int argc, char **argv)
{
	void *ptr = malloc(sizeof(int));
	f();
	int recv;
	MPI_Alltoall(ptr, 1, MPI_INT, &recv, 1, MPI_INT, MPI_COMM_WORLD);
	free(ptr);
	if (threadIdx.x < 4) {
		void *ptr2 = malloc(sizeof(int));
		f();
		free(ptr2);
	}
}
