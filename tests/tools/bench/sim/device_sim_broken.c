/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_broken.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME broken
#define DEVICE_SIM_FILE "tools/bench/device_broken.cu"
#include "device_sim_module.h"
