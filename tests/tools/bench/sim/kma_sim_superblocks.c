/* SPDX-License-Identifier: Apache-2.0 */
/* kma_sim_superblocks.c - a module of the simulated GPU. */
#define KMA_SIM_NAME device_sim_kma_superblocks
#define KMA_SIM_FILE "bench/papers/kma/kma_superblocks.cu"
#include "kma_sim_module.h"
