/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_cuda.cu - the kernels of `mam bench pages` over CUDA's own malloc. Its blocks are addresses
 * in a heap that cannot be inspected, so they have checks of their own: the owner of a block writes
 * its number at both ends, and the host checks the blocks for overlap.
 */
#include "bench/pages/pages_kernels.h"

MAM_KFN void pages_get_cuda(const struct pages_job *job)
{
	uint32_t asker;

	if (pages_asks(job, &asker))
		job->blocks[asker] = (uint64_t)malloc(pages_bytes_of(job, asker));
}

MAM_KFN void pages_give_cuda(const struct pages_job *job)
{
	uint32_t asker;

	if (pages_asks(job, &asker))
		free((void *)job->blocks[asker]);
}

MAM_KFN void pages_churn_cuda(const struct pages_job *job)
{
	uint32_t asker;

	if (pages_asks(job, &asker)) {
		job->blocks[asker] = (uint64_t)malloc(pages_bytes_of(job, asker));
		free((void *)job->blocks[asker]);
	}
}

/* The last place in a block for a number of 32 bits; blocks have at least 4 bytes. */
MAM_KFN uint32_t *pages_cuda_end(const struct pages_job *job, uint32_t asker)
{
	return (uint32_t *)(job->blocks[asker] + (pages_bytes_of(job, asker) - 4) / 4 * 4);
}

MAM_KFN void pages_write_cuda(const struct pages_job *job)
{
	uint32_t asker;

	if (pages_asks(job, &asker) && job->blocks[asker] != 0) {
		*(uint32_t *)job->blocks[asker] = asker;
		*pages_cuda_end(job, asker) = asker;
	}
}

MAM_KFN void pages_read_cuda(const struct pages_job *job)
{
	uint32_t asker;

	if (!pages_asks(job, &asker))
		return;
	if (job->blocks[asker] == 0)
		pages_report(&job->found->none, 1);
	else
		pages_report(&job->found->corrupt, *(uint32_t *)job->blocks[asker] != asker ||
							   *pages_cuda_end(job, asker) != asker);
}

PAGES_KERNEL(get_cuda, pages_get_cuda)
PAGES_KERNEL(give_cuda, pages_give_cuda)
PAGES_KERNEL(churn_cuda, pages_churn_cuda)
PAGES_KERNEL(write_cuda, pages_write_cuda)
PAGES_KERNEL(read_cuda, pages_read_cuda)
