/* SPDX-License-Identifier: Apache-2.0 */
/* xmalloc_sim_cuda_calls.c - a module of the simulated GPU. */
#include <stdlib.h>

#include "device_sim.h"
#define malloc device_sim_base_alloc
#define free device_sim_base_free
#define DEVICE_SIM_NAME xmalloc_cuda_calls
#define DEVICE_SIM_FILE "bench/papers/xmalloc/xmalloc_cuda_calls.cu"
#include "device_sim_module.h"
