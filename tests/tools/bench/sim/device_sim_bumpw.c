/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_bumpw.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME bumpw
#define DEVICE_SIM_FILE "bench/papers/walk/device_bumpw.cu"
#include "device_sim_module.h"
