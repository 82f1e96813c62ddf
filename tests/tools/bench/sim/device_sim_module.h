/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_sim_module.h - makes a module for device_sim.c from a .cu file of the bench. The including
 * file defines DEVICE_SIM_NAME, and DEVICE_SIM_FILE, which is included. All modules have kernels of
 * the same names, so they are static here.
 */
#include <stdlib.h>

#include "device_sim.h"
#include "bench/device/device_kit.h"

#undef DEVICE_KERNEL
#define DEVICE_KERNEL(name, body)                     \
	static void sim_##name(void *job)             \
	{                                             \
		body((const struct device_job *)job); \
	}

#include DEVICE_SIM_FILE

#define JOIN(a, b) a##b
#define TABLE(name) JOIN(device_sim_, name)
#define KERNEL(name)              \
	{                         \
#name, sim_##name \
	}

const struct device_sim_kernel TABLE(DEVICE_SIM_NAME)[] = {
#ifdef MAM_TOOLS_BENCH_DEVICE_CHECKS_H
	KERNEL(check_span), KERNEL(check_mark),    KERNEL(check_write),
	KERNEL(check_read), KERNEL(check_nothing),
#else
#ifdef MAM_TOOLS_BENCH_XMALLOC_KERNELS_H
	KERNEL(layers_learn), KERNEL(layers_format), KERNEL(layers_drain), KERNEL(base_fill),
	KERNEL(base_give),
#else
	KERNEL(churn),         KERNEL(churn_check),
	KERNEL(missed),        KERNEL(latency),
	KERNEL(turn),          KERNEL(graph),
	KERNEL(graph_sum),     KERNEL(graph_wanted),
	KERNEL(graph_drop),    KERNEL(generate),
	KERNEL(generate_read), KERNEL(generate_drop),
	KERNEL(prefix_sum),    KERNEL(prefix_scan),
	KERNEL(prefix_write),  KERNEL(site),
	KERNEL(site_packed),   KERNEL(exhaust),
#ifndef BENCH_NO_FREE
	KERNEL(release),       KERNEL(swap),
	KERNEL(exchange),      KERNEL(exchange_check),
	KERNEL(exchange_fill), KERNEL(exchange_write),
#endif
#endif
	KERNEL(get),          KERNEL(fill),          KERNEL(use),          KERNEL(hold),
#ifndef BENCH_NO_FREE
	KERNEL(give),         KERNEL(share),         KERNEL(drop),
#endif
#endif
	{ NULL, NULL },
};
