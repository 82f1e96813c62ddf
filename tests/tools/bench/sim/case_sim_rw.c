/* SPDX-License-Identifier: Apache-2.0 */
/* case_sim_rw.c - a module of the simulated GPU. */
#define CASE_SIM_NAME device_sim_case_rw
#define CASE_SIM_FILE "bench/papers/cases/case_rw.cu"
#include "case_sim_module.h"
