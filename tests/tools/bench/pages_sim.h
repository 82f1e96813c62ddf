/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_sim.h - the device of `mam bench pages` as tests have it: memory of the host, and kernels
 * that the simulator runs.
 */
#ifndef MAM_TESTS_TOOLS_PAGES_SIM_H
#define MAM_TESTS_TOOLS_PAGES_SIM_H

#include "bench/pages/pages_job.h"

/* Called after each kernel; a test that stands for a broken allocator does its harm here. */
extern void (*pages_sim_after)(const char *kernel, const struct pages_job *job);
/* The next kernel of this name fails, as if the driver had said so; NULL: none. */
extern const char *pages_sim_refused;
/* Kernels that ran; memory that was taken and not given back. */
extern unsigned int pages_sim_kernels, pages_sim_blocks;

void pages_sim_reset(void);

#endif
