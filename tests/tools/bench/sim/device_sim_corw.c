/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_corw.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME corw
#define DEVICE_SIM_FILE "bench/papers/walk/device_corw.cu"
#include "device_sim_module.h"
