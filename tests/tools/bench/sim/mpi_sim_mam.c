/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_sim_mam.c - a module of the simulated GPU. */
#define MPI_SIM_NAME device_sim_mpi_mam
#define MPI_SIM_FILE "bench/papers/mpi/mpi_mam.cu"
#define MPI_SIM_WAYS(each) each(base) each(xmalloc) each(dynamic)
#define MPI_SIM_TREES
#include "mpi_sim_module.h"
