/* SPDX-License-Identifier: Apache-2.0 */
/* kma_sim_mam.c - a module of the simulated GPU. */
#define KMA_SIM_NAME device_sim_kma_mam
#define KMA_SIM_FILE "bench/papers/kma/kma_mam.cu"
#include "kma_sim_module.h"
