/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_sim_module.h - makes a module for device_sim.c from a file of kernels of `mam bench case`.
 * The including file defines CASE_SIM_NAME and CASE_SIM_FILE, which is included; its kernels are
 * static here. CUDA's malloc is that of device_sim.c.
 */
#include "device_sim.h"
#include "bench/device/device_kit.h"

#undef DEVICE_KERNEL
#define DEVICE_KERNEL(name, body)                     \
	static void sim_##name(void *job)             \
	{                                             \
		body((const struct device_job *)job); \
	}

#define CASE_SYSTEM_ALLOC(bytes) device_sim_base_alloc(bytes)
#define CASE_SYSTEM_FREE(object) device_sim_base_free(object)

#include CASE_SIM_FILE

#define CASE_SIM_ROW(name) { #name, sim_##name },

const struct device_sim_kernel CASE_SIM_NAME[] = { CASE_KERNELS(CASE_SIM_ROW){ NULL, NULL } };
