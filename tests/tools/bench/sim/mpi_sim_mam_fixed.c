/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_sim_mam_fixed.c - a module of the simulated GPU. */
#define MPI_SIM_NAME device_sim_mpi_mam_fixed
#define MPI_SIM_FILE "bench/papers/mpi/mpi_mam_fixed.cu"
#define MPI_SIM_WAYS(each) each(hw) each(nw) each(hb) each(nb)
#include "mpi_sim_module.h"
