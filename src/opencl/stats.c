/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - the statistics of a heap, read by a kernel.
 *
 * 1. The kernel of kma/report.h adds its counts to a small zeroed buffer.
 * 2. The result is read in the order of the queue, and copied to the caller's fields.
 *
 * Bound: one read per superblock, on the device; the buffer lives as long as the call.
 */
#include <string.h>

#include "base/sized.h"
#include "opencl/error.h"
#include "opencl/heap.h"

/* Matches struct mam_kma_stats of kma/report.h, which a host cannot include. */
struct told {
	cl_ulong allocs, frees;
	cl_ulong too_large, no_superblock, no_run, wrong_frees;
	cl_ulong active, inactive, unused;
	cl_ulong runs, in_runs;
	cl_ulong blocks, bytes;
};

static enum mam_status read(const char *who, struct mam_cl_heap *heap, cl_command_queue queue,
			    cl_mem buffer, struct told *told)
{
	const struct mam_cl_argument arguments[] = { { sizeof(heap->buffer), &heap->buffer },
						     { sizeof(buffer), &buffer } };
	enum mam_status status;
	cl_event done;
	cl_int code;

	status = mam_cl_launch(who, heap, queue, "mam_cl_report", arguments, 2, &done);
	if (status != MAM_OK)
		return status;
	code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(*told), told, 1, &done, NULL);
	clReleaseEvent(done);
	return code == CL_SUCCESS ? MAM_OK : mam_cl_refused(who, "clEnqueueReadBuffer", code);
}

static struct mam_cl_heap_info said(const struct mam_cl_heap *heap, const struct told *told)
{
	struct mam_cl_heap_info stats = {
		.size = sizeof(stats),
		.superblocks = heap->terms.superblocks,
		.superblock_bytes = (uint64_t)1 << heap->terms.shift,
		.allocs = told->allocs,
		.frees = told->frees,
		.too_large = told->too_large,
		.no_superblock = told->no_superblock,
		.no_run = told->no_run,
		.wrong_frees = told->wrong_frees,
		.active = told->active,
		.inactive = told->inactive,
		.unused = told->unused,
		.runs = told->runs,
		.in_runs = told->in_runs,
		.blocks = told->blocks,
		.bytes = told->bytes,
	};

	return stats;
}

enum mam_status mam_cl_heap_stats(struct mam_cl_heap *heap, cl_command_queue queue,
				  struct mam_cl_heap_info *stats)
{
	static const char who[] = "mam_cl_heap_stats";
	struct mam_cl_heap_info info;
	struct told told;
	enum mam_status status;
	cl_mem buffer;
	cl_int code;

	if (!heap)
		return mam_cl_fail(MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
				   "%s: the heap is NULL: pass one of mam_cl_heap_create().", who);
	if (!mam_sized_can_hold(stats, sizeof(*stats)))
		return mam_cl_fail(MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
				   "%s: stats->size is %zu, not %zu: set it before the call.", who,
				   stats ? stats->size : 0, sizeof(*stats));
	memset(&told, 0, sizeof(told));
	buffer = clCreateBuffer(heap->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				sizeof(told), &told, &code);
	if (!buffer)
		return mam_cl_refused(who, "clCreateBuffer", code);
	status = read(who, heap, queue, buffer, &told);
	clReleaseMemObject(buffer);
	if (status == MAM_OK) {
		info = said(heap, &told);
		mam_sized_write(stats, &info, sizeof(info));
	}
	return status;
}
