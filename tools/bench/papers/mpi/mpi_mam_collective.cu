/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_mam_collective.cu - the kernels of `mam bench mpi` that use mam's own calls for a whole warp
 * and a whole block.
 */
#ifndef MPI_COLLECTIVE
#define MPI_COLLECTIVE 1
#endif
#include "bench/papers/mpi/mpi_kernels.h"

#define BASE mpi_base_heap(job)

MPI_KERNELS(kwarp, MPI_WARP, BASE)
MPI_KERNELS(kblock, MPI_BLOCK, BASE)
MPI_METADATA
