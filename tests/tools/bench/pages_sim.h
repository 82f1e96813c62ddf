/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_sim.h - the device of `mam bench pages` in tests: host memory, and kernels that run on the
 * simulator.
 */
#ifndef MAM_TESTS_TOOLS_PAGES_SIM_H
#define MAM_TESTS_TOOLS_PAGES_SIM_H

#include "bench/pages/pages_job.h"

/* Called after each kernel; a test that simulates a broken allocator changes memory here. */
extern void (*pages_sim_after)(const char *kernel, const struct pages_job *job);
/* The next kernel of this name fails as if the driver reported an error; NULL: none. */
extern const char *pages_sim_refused;
/* The number of kernels that ran; memory that was allocated and not freed. */
extern unsigned int pages_sim_kernels, pages_sim_blocks;

void pages_sim_reset(void);

#endif
