/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_cuda.c - a module of the simulated GPU. */
#include <stdlib.h>
#include "device_sim.h"
#define malloc device_sim_base_alloc
#define free device_sim_base_free
#define DEVICE_SIM_NAME cuda
#define DEVICE_SIM_FILE "bench/device/device_cuda.cu"
#include "device_sim_module.h"
