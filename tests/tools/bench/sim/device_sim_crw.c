/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_crw.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME crw
#define DEVICE_SIM_FILE "bench/papers/walk/device_crw.cu"
#include "device_sim_module.h"
