/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kma_sim_module.h - makes a module for device_sim.c from a file of kernels of `mam bench kma`. The
 * including file defines KMA_SIM_NAME and KMA_SIM_FILE, which is included; its kernels are static
 * here. CUDA's malloc is that of device_sim.c.
 */
#include "device_sim.h"
#include "bench/device/device_kit.h"
#include "coalesce/base.h"

#undef DEVICE_KERNEL
#define DEVICE_KERNEL(name, body)                     \
	static void sim_##name(void *job)             \
	{                                             \
		body((const struct device_job *)job); \
	}

MAM_KFN void *kma_sim_alloc(void *heap, size_t bytes)
{
	(void)heap;
	return device_sim_base_alloc(bytes);
}

MAM_KFN bool kma_sim_free(void *heap, void *block)
{
	(void)heap;
	device_sim_base_free(block);
	return true;
}

MAM_KFN struct mam_kbase mam_base_cuda(void)
{
	return (struct mam_kbase){ kma_sim_alloc, kma_sim_free, NULL, MAM_BASE_CUDA_TRIES };
}

#include KMA_SIM_FILE

#define KERNEL(name)              \
	{                         \
#name, sim_##name \
	}

const struct device_sim_kernel KMA_SIM_NAME[] = {
	KERNEL(pairs),      KERNEL(apart), KERNEL(together), KERNEL(stamped),
	KERNEL(give_apart), KERNEL(list),  KERNEL(clear),    KERNEL(deal),
	KERNEL(compute),    KERNEL(build), KERNEL(count),    KERNEL(prune),
#if defined(KMA_OF_SUPERBLOCKS) || defined(KMA_OF_RING)
	KERNEL(make),
#endif
#ifdef KMA_OF_SUPERBLOCKS
	KERNEL(learn),      KERNEL(left),
#endif
	{ NULL, NULL },
};
