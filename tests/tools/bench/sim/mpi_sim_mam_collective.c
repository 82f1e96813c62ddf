/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_sim_mam_collective.c - a module of the simulated GPU. */
#define MPI_COLLECTIVE 1
#define MPI_SIM_NAME device_sim_mpi_mam_collective
#define MPI_SIM_FILE "bench/papers/mpi/mpi_mam_collective.cu"
#define MPI_SIM_WAYS(each) each(kwarp) each(kblock)
#include "mpi_sim_module.h"
