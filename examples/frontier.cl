/* SPDX-License-Identifier: Apache-2.0 */
/* frontier.cl - the kernels of frontier_opencl.c. mam.cl comes first; `heap` is a heap of mam. */
#include "frontier.h"

__kernel void start(__global void *heap, __global struct frontier *frontier, __global uint *by,
		    __global uint *distance)
{
	frontier_start(frontier, heap, by, distance, 0);
}

/* One level; OpenCL C has a built-in step(). */
__kernel void deepen(__global void *heap, __global struct frontier *frontier,
		     __global const uint *first, __global const uint *sinks, __global uint *by,
		     __global uint *distance, uint level, __global ulong *size)
{
	frontier_step(frontier, heap, first, sinks, by, distance, level, size);
}

/* `lost` receives the number of nodes that ran out of memory. */
__kernel void finish(__global void *heap, __global struct frontier *frontier, __global ulong *lost)
{
	*lost = frontier->lost;
	frontier_end(frontier, heap);
}
