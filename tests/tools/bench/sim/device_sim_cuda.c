/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_cuda.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME cuda
#define DEVICE_SIM_FILE "bench/device/device_cuda.cu"
#include "device_sim_module.h"
