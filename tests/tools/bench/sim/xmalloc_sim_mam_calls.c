/* SPDX-License-Identifier: Apache-2.0 */
/* xmalloc_sim_mam_calls.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME xmalloc_mam_calls
#define DEVICE_SIM_FILE "bench/papers/xmalloc/xmalloc_mam_calls.cu"
#include "device_sim_module.h"
