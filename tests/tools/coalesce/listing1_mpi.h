/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing1_mpi.h - what listing1.cu needs of an MPI whose ranks are threads. Its functions are in a
 * library, whose author added the coalesce parameter by hand to those that allocate.
 *
 * With -DCORPUS_MAIN the library is defined here, as far as needed to show whether all ranks called
 * it, and so is the code that runs the program, as in main.h.
 */
#ifndef MAM_TESTS_COALESCE_TOOL_LISTING1_MPI_H
#define MAM_TESTS_COALESCE_TOOL_LISTING1_MPI_H

#include <mam/collective.cuh>

typedef int MPI_Datatype;
typedef int MPI_Comm;

#define MPI_INT ((MPI_Datatype)4)
#define MPI_COMM_WORLD ((MPI_Comm)0)

extern __device__ int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type,
				   void *receive, int receive_count, MPI_Datatype receive_type,
				   MPI_Comm comm,
				   enum mam_coalesce coalesce = MAM_COLLECTIVE_ALONE);

#ifdef CORPUS_MAIN
#include "main.h"

#define LISTING1_RANKS 128

static __device__ int *listing1_out;

/* Each rank's number passes through a buffer of its own, and a neighbor's is read. */
__device__ int MPI_Alltoall(const void *, int send_count, MPI_Datatype send_type, void *,
			    int receive_count, MPI_Datatype receive_type, MPI_Comm,
			    enum mam_coalesce coalesce)
{
	__shared__ int *buffers[LISTING1_RANKS];
	int rank = threadIdx.x, left = (rank + 1) % LISTING1_RANKS;

	buffers[rank] = (int *)mam_cmalloc(
		(size_t)send_count * send_type + (size_t)receive_count * receive_type, coalesce);
	if (buffers[rank])
		*buffers[rank] = 1000 + rank;
	__syncthreads();
	listing1_out[blockIdx.x * blockDim.x + rank] = buffers[left] ? *buffers[left] : -1;
	__syncthreads();
	mam_cfree(buffers[rank]);
	return 0;
}

__global__ void mpi_main(int argc, char **argv);

int main(void)
{
	corpus_begin();
	corpus_check(cudaMemcpyToSymbol(listing1_out, &corpus_out, sizeof(corpus_out)),
		     "its output");
	mpi_main<<<2, LISTING1_RANKS>>>(0, nullptr);
	corpus_end("mpi_main");
	return 0;
}
#endif

#endif
