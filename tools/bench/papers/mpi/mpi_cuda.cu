/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_cuda.cu - the kernels of `mam bench mpi` over CUDA's own malloc, as published.
 */
#include "bench/papers/mpi/mpi_kernels.h"

#define BASE ((void)job, mam_base_cuda())

MPI_KERNELS(base, MAM_WAY_BASE, BASE)
MPI_KERNELS(xmalloc, MAM_WAY_XMALLOC, BASE)
MPI_KERNELS(dynamic, MAM_WAY_SEGMENTS, BASE)
MPI_KERNELS(hw, MAM_WAY_WARP_HEADERS, BASE)
MPI_KERNELS(nw, MAM_WAY_WARP, BASE)
MPI_KERNELS(hb, MAM_WAY_BLOCK_HEADERS, BASE)
MPI_KERNELS(nb, MAM_WAY_BLOCK, BASE)
MPI_TREE(base, MAM_WAY_BASE, BASE)
MPI_TREE(xmalloc, MAM_WAY_XMALLOC, BASE)
MPI_TREE(dynamic, MAM_WAY_SEGMENTS, BASE)
MPI_TREE(hw, MAM_WAY_WARP_HEADERS, BASE)
MPI_TREE(nw, MAM_WAY_WARP, BASE)
MPI_TREE(hb, MAM_WAY_BLOCK_HEADERS, BASE)
MPI_TREE(nb, MAM_WAY_BLOCK, BASE)
MPI_METADATA
MPI_DRAIN(BASE)
