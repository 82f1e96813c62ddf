/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_sim_cuda.c - a module of the simulated GPU. */
#define MPI_SIM_NAME device_sim_mpi_cuda
#define MPI_SIM_FILE "bench/papers/mpi/mpi_cuda.cu"
#define MPI_SIM_WAYS(each) \
	each(base) each(xmalloc) each(dynamic) each(hw) each(nw) each(hb) each(nb)
#define MPI_SIM_TREES
#define MPI_SIM_DRAIN
#include "mpi_sim_module.h"
