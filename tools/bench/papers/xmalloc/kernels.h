/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the kernels of a module of `mam bench xmalloc`: the ones that it uses of `mam bench
 * device`, and those for its layers. Included after adapter.h.
 *
 *   layers_learn    one thread: found->bytes, the size of buffers with job->count FIFOs per class for
 *                   job->rounds warps; found->low, an address in the base's heap
 *   layers_format   one thread: buffers in job->more, of such numbers, reference job->own[0]
 *   layers_drain    frees the buffered blocks to the base
 *   base_fill       as fill, of the base itself
 *   base_give       frees those
 */
#ifndef MAM_TOOLS_BENCH_XMALLOC_KERNELS_H
#define MAM_TOOLS_BENCH_XMALLOC_KERNELS_H

#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_use.h"

/* FIFO length of a class: as published, or as many as run warps at once. */
MAM_KFN uint32_t layers_blocks(const struct device_job *job)
{
	return job->rounds > 0 ? mam_buffers_blocks_for(job->rounds) : MAM_BUFFERS_BLOCKS;
}

MAM_KFN void layers_learn_one(const struct device_job *job)
{
	const struct mam_kbase base = bench_base((const struct bench_layers *)job->heap);
	void *block;

	if (device_thread() > 0)
		return;
	block = mam_base_alloc(base, MAM_BASE_ALIGN);
	job->found->bytes = mam_buffers_bytes(job->count, layers_blocks(job));
	job->found->low = (uint64_t)(uintptr_t)block;
	if (block != NULL)
		(void)mam_base_free(base, block);
}
DEVICE_KERNEL(layers_learn, layers_learn_one)

MAM_KFN void layers_format_one(const struct device_job *job)
{
	if (device_thread() > 0)
		return;
	mam_buffers_format((struct mam_buffers *)job->more, job->count, layers_blocks(job),
			   job->own[0]);
	bench_begin(job->heap);
}
DEVICE_KERNEL(layers_format, layers_format_one)

MAM_KFN void layers_drain_all(const struct device_job *job)
{
	const struct mam_kcoalescer coalescer = bench_coalescer(job->heap);

	if (coalescer.buffers != NULL)
		device_report(&job->found->objects,
			      mam_buffers_drain(coalescer.buffers, coalescer.base));
}
DEVICE_KERNEL(layers_drain, layers_drain_all)

MAM_KFN void layers_base_fill(const struct device_job *job)
{
	const struct mam_kbase base = bench_base((const struct bench_layers *)job->heap);
	uint32_t asker;

	if (!device_asks(job, &asker) || job->got[asker] != 0)
		return;
	job->got[asker] = (uint64_t)(uintptr_t)mam_base_alloc(base, device_bytes_of(job, asker));
	device_report(&job->found->none, job->got[asker] == 0);
}
DEVICE_KERNEL(base_fill, layers_base_fill)

MAM_KFN void layers_base_give(const struct device_job *job)
{
	const struct mam_kbase base = bench_base((const struct bench_layers *)job->heap);
	uint32_t asker;

	if (device_asks(job, &asker) && job->got[asker] != 0)
		(void)mam_base_free(base, (void *)(uintptr_t)job->got[asker]);
}
DEVICE_KERNEL(base_give, layers_base_give)

#endif
