/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.cl - the host's kernels: format a heap, and read its statistics.
 *
 * Any number of work items each do a share.
 */
#include "kma/layout.h"
#include "kma/report.h"

__kernel void mam_cl_format(__global struct mam_kma *heap, ulong bytes, uint shift,
			    uint entries_shift, uint search, uint counted)
{
	struct mam_kma_terms terms;

	terms.bytes = bytes;
	terms.shift = shift;
	terms.entries_shift = entries_shift;
	terms.search = search;
	terms.counted = counted;
	(void)mam_kma_format(heap, terms, (uint)get_global_id(0), (uint)get_global_size(0));
}

__kernel void mam_cl_report(__global struct mam_kma *heap, __global struct mam_kma_stats *stats)
{
	mam_kma_report(heap, stats, (uint)get_global_id(0), (uint)get_global_size(0));
}
