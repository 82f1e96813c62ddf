/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_mam.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME mam
#define DEVICE_SIM_FILE "bench/device/device_mam.cu"
#include "device_sim_module.h"
