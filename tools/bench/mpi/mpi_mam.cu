/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_mam.cu - the kernels of `mam bench mpi` over mam's heap of objects: those of any lane.
 */
#include "bench/mpi/mpi_kernels.h"

MPI_KERNELS(base, MAM_WAY_BASE, mpi_base_heap(job))
MPI_KERNELS(xmalloc, MAM_WAY_XMALLOC, mpi_base_heap(job))
MPI_KERNELS(dynamic, MAM_WAY_SEGMENTS, mpi_base_heap(job))
