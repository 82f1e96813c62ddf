/* SPDX-License-Identifier: Apache-2.0 */
/* case_sim_mam.c - a module of the simulated GPU. */
#define CASE_SIM_NAME device_sim_case_mam
#define CASE_SIM_FILE "bench/papers/cases/case_mam.cu"
#include "case_sim_module.h"
