/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_bump.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME bump
#define DEVICE_SIM_FILE "bench/papers/walk/device_bump.cu"
#include "device_sim_module.h"
