/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_mam.cu - the kernels of `mam bench mpi` over mam's heap of objects: those that any lane may
 * call.
 */
#include "bench/papers/mpi/mpi_kernels.h"

#define BASE mpi_base_heap(job)

MPI_KERNELS(base, MAM_WAY_BASE, BASE)
MPI_KERNELS(xmalloc, MAM_WAY_XMALLOC, BASE)
MPI_KERNELS(dynamic, MAM_WAY_SEGMENTS, BASE)
MPI_TREE(base, MAM_WAY_BASE, BASE)
MPI_TREE(xmalloc, MAM_WAY_XMALLOC, BASE)
MPI_TREE(dynamic, MAM_WAY_SEGMENTS, BASE)
MPI_METADATA
