/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_example.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME example
#define DEVICE_SIM_FILE "bench/device/device_example.cu"
#include "device_sim_module.h"
