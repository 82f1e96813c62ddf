/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_mam_fixed.cu - the kernels of `mam bench mpi` over mam's heap of objects: those of a whole
 * warp, or block, with one size.
 */
#include "bench/papers/mpi/mpi_kernels.h"

#define BASE mpi_base_heap(job)

MPI_KERNELS(hw, MAM_WAY_WARP_HEADERS, BASE)
MPI_KERNELS(nw, MAM_WAY_WARP, BASE)
MPI_KERNELS(hb, MAM_WAY_BLOCK_HEADERS, BASE)
MPI_KERNELS(nb, MAM_WAY_BLOCK, BASE)
MPI_METADATA
