/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_checks.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME checks
#define DEVICE_SIM_FILE "bench/device/device_checks.cu"
#include "device_sim_module.h"
