/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_sim.h - the GPU of `mam bench device` in tests: host memory, and kernels that run on the
 * simulator. A module is a C file that includes a .cu file of the bench through
 * device_sim_module.h; its name replaces its fat binary.
 */
#ifndef MAM_TESTS_TOOLS_DEVICE_SIM_H
#define MAM_TESTS_TOOLS_DEVICE_SIM_H

#include "bench/device/device_bench.h"
#include "bench/device/device_job.h"

struct device_sim_kernel {
	const char *name;
	void (*run)(void *job);
};

/* A module's kernels, up to one without a name. */
#define DEVICE_SIM_MODULES(each)                                                         \
	each(broken) each(bump) each(bumpw) each(checks) each(corw) each(crw) each(cuda) \
		each(example) each(mam) each(rw) each(rwmalloc)
#define DEVICE_SIM_DECLARE(name) extern const struct device_sim_kernel device_sim_##name[];
DEVICE_SIM_MODULES(DEVICE_SIM_DECLARE)

/* Those of `mam bench xmalloc`, if a test defines DEVICE_SIM_XMALLOC. */
#ifdef DEVICE_SIM_XMALLOC
#define DEVICE_SIM_LAYERED(each)                                                                  \
	each(cuda_buffers) each(cuda_calls) each(cuda_coalesce) each(mam_buffers) each(mam_calls) \
		each(mam_coalesce) each(pages) each(pages_coalesce)
#else
#define DEVICE_SIM_LAYERED(each)
#endif
/* Those of `mam bench mpi`, if a test defines DEVICE_SIM_MPI. */
#ifdef DEVICE_SIM_MPI
#define DEVICE_SIM_RANKS(each) each(cuda) each(mam) each(mam_collective) each(mam_fixed)
#else
#define DEVICE_SIM_RANKS(each)
#endif
#define DEVICE_SIM_DECLARE_RANKS(name) \
	extern const struct device_sim_kernel device_sim_mpi_##name[];
DEVICE_SIM_RANKS(DEVICE_SIM_DECLARE_RANKS)
/* Those of `mam bench kma`, if a test defines DEVICE_SIM_KMA. */
#ifdef DEVICE_SIM_KMA
#define DEVICE_SIM_SUPERBLOCKS(each) each(superblocks) each(mam) each(cuda) each(poor)
#else
#define DEVICE_SIM_SUPERBLOCKS(each)
#endif
#define DEVICE_SIM_DECLARE_SUPERBLOCKS(name) \
	extern const struct device_sim_kernel device_sim_kma_##name[];
DEVICE_SIM_SUPERBLOCKS(DEVICE_SIM_DECLARE_SUPERBLOCKS)
/* Those of `mam bench case`, if a test defines DEVICE_SIM_CASES. */
#ifdef DEVICE_SIM_CASES
#define DEVICE_SIM_OF_CASES(each) \
	each(mam) each(pages) each(corw) each(rw) each(cuda) each(reserved)
#else
#define DEVICE_SIM_OF_CASES(each)
#endif
#define DEVICE_SIM_DECLARE_CASES(name) \
	extern const struct device_sim_kernel device_sim_case_##name[];
DEVICE_SIM_OF_CASES(DEVICE_SIM_DECLARE_CASES)
#define DEVICE_SIM_DECLARE_LAYERED(name) \
	extern const struct device_sim_kernel device_sim_xmalloc_##name[];
DEVICE_SIM_LAYERED(DEVICE_SIM_DECLARE_LAYERED)

/* Blocks of the simulated CUDA malloc that a layered module has not freed. */
extern unsigned int device_sim_base_blocks;
void *device_sim_base_alloc(size_t bytes);
void device_sim_base_free(void *block);

/* Memory that was allocated and not freed. */
extern unsigned int device_sim_blocks;

#endif
