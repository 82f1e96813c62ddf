/* SPDX-License-Identifier: Apache-2.0 */
/* device_sim_rwmalloc.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME rwmalloc
#define DEVICE_SIM_FILE "bench/papers/walk/device_rwmalloc.cu"
#include "device_sim_module.h"
