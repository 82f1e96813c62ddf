/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels_work.h - kernels of `mam bench device` that generate work: each asker makes a
 * number of items of 4 bytes, in memory of exactly that size.
 *
 * The variant to compare allocators with needs none: sizes are summed within each block, then over
 * blocks, and a third kernel writes each asker's items at the offset given by the sum before it.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_KERNELS_WORK_H
#define MAM_TOOLS_BENCH_DEVICE_KERNELS_WORK_H

#include "bench/device/device_kernels_touch.h"

MAM_KFN uint32_t device_work_bytes(const struct device_job *job, uint32_t asker)
{
	return (device_bytes_of(job, asker) + 3) / 4 * 4;
}

MAM_KFN void device_work_write(uint32_t *items, uint32_t asker, uint32_t bytes)
{
	uint32_t k;

	for (k = 0; k < bytes / 4; k++)
		items[k] = asker * 31 + k;
}

MAM_KFN void device_generate(const struct device_job *job)
{
	uint32_t asker, bytes, *items;

	if (!device_asks(job, &asker))
		return;
	bytes = device_work_bytes(job, asker);
	items = (uint32_t *)bench_malloc(job->heap, bytes);
	if (items != NULL)
		device_work_write(items, asker, bytes);
	job->got[asker] = (uint64_t)items;
}
DEVICE_KERNEL(generate, device_generate)

MAM_KFN void device_generate_read(const struct device_job *job)
{
	uint32_t asker, bytes, k;
	const uint32_t *items;
	uint64_t wrong = 0;

	if (!device_asks(job, &asker))
		return;
	bytes = device_work_bytes(job, asker);
	items = (const uint32_t *)job->got[asker];
	if (items == NULL) {
		device_report(&job->found->none, 1);
		return;
	}
	for (k = 0; k < bytes / 4; k++)
		wrong |= items[k] != asker * 31 + k;
	device_report(&job->found->corrupt, wrong);
}
DEVICE_KERNEL(generate_read, device_generate_read)

MAM_KFN void device_generate_drop(const struct device_job *job)
{
	uint32_t asker;

	if (device_asks(job, &asker) && job->got[asker] != 0)
		device_drop(job, (void *)job->got[asker], device_work_bytes(job, asker));
}
DEVICE_KERNEL(generate_drop, device_generate_drop)

/* An inclusive sum over the block, which all its threads call. */
struct device_sums {
	uint32_t of[2 * DEVICE_BLOCK];
};

MAM_KFN uint32_t device_block_sum(struct device_sums *sums, uint32_t mine)
{
	const uint32_t thread = mam_thread();
	uint32_t reach, side = 0;

	sums->of[thread] = mine;
	mam_syncthreads();
	for (reach = 1; reach < DEVICE_BLOCK; reach *= 2) {
		if (thread >= reach)
			mine += sums->of[side + thread - reach];
		side = DEVICE_BLOCK - side;
		sums->of[side + thread] = mine;
		mam_syncthreads();
	}
	return mine;
}

/*
 * numbers[asker]: where it begins in its block; more[block]: bytes of the block. 32 lanes request.
 */
MAM_KFN void device_prefix_sum(const struct device_job *job)
{
	uint32_t asker, bytes, sum;
	MAM_SHARED(struct device_sums, sums);

	bytes = device_asks(job, &asker) ? device_work_bytes(job, asker) : 0;
	sum = device_block_sum(sums, bytes);
	if (bytes > 0)
		job->numbers[asker] = sum - bytes;
	if (mam_thread() == DEVICE_BLOCK - 1)
		job->more[mam_block()] = sum;
}
DEVICE_KERNEL(prefix_sum, device_prefix_sum)

/* more[block] becomes that block's start; one block, for all of them. */
MAM_KFN void device_prefix_scan(const struct device_job *job)
{
	const uint32_t blocks = (job->askers + DEVICE_BLOCK - 1) / DEVICE_BLOCK;
	const uint32_t each = (blocks + DEVICE_BLOCK - 1) / DEVICE_BLOCK;
	const uint32_t first = mam_thread() * each;
	uint32_t mine = 0, sum, k, bytes;
	MAM_SHARED(struct device_sums, sums);

	for (k = first; k < first + each && k < blocks; k++)
		mine += (uint32_t)job->more[k];
	sum = device_block_sum(sums, mine) - mine;
	for (k = first; k < first + each && k < blocks; k++) {
		bytes = (uint32_t)job->more[k];
		job->more[k] = sum;
		sum += bytes;
	}
}
DEVICE_KERNEL(prefix_scan, device_prefix_scan)

/* own[0]: the destination. */
MAM_KFN void device_prefix_write(const struct device_job *job)
{
	uint32_t asker, *items;

	if (!device_asks(job, &asker))
		return;
	items = (uint32_t *)(job->own[0] + job->more[mam_block()] + job->numbers[asker]);
	device_work_write(items, asker, device_work_bytes(job, asker));
	job->got[asker] = (uint64_t)items;
}
DEVICE_KERNEL(prefix_write, device_prefix_write)

#endif
