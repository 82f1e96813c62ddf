/* SPDX-License-Identifier: Apache-2.0 */
/* case_sim_reserved.c - a module of the simulated GPU. */
#define CASE_SIM_NAME device_sim_case_reserved
#define CASE_SIM_FILE "bench/papers/cases/case_reserved.cu"
#include "case_sim_module.h"
