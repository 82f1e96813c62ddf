/* SPDX-License-Identifier: Apache-2.0 */
/* xmalloc_sim_pages.c - a module of the simulated GPU. */
#define DEVICE_SIM_NAME xmalloc_pages
#define DEVICE_SIM_FILE "bench/papers/xmalloc/xmalloc_pages.cu"
#include "device_sim_module.h"
