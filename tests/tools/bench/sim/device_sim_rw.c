/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_rw.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME rw
#define DEVICE_SIM_FILE "bench/papers/walk/device_rw.cu"
#include "device_sim_module.h"
