/* SPDX-License-Identifier: Apache-2.0 */
/* xmalloc_sim_mam_coalesce.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME xmalloc_mam_coalesce
#define DEVICE_SIM_FILE "bench/papers/xmalloc/xmalloc_mam_coalesce.cu"
#include "device_sim_module.h"
