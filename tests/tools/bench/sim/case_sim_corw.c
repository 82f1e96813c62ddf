/* SPDX-License-Identifier: Apache-2.0 */
/* case_sim_corw.c - a module of the simulated GPU. */
#define CASE_SIM_NAME device_sim_case_corw
#define CASE_SIM_FILE "bench/papers/cases/case_corw.cu"
#include "case_sim_module.h"
