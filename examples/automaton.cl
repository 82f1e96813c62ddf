/* SPDX-License-Identifier: Apache-2.0 */
/* automaton.cl - the kernel of automaton_opencl.c. mam.cl comes first; `heap` is a heap of mam. */
#include "automaton.h"

__kernel void search(__global void *heap, __global const uint *first, uint symbols,
		     __global const uint *targets, __global const uint *accepts,
		     __global const uchar *texts, uint length, uint count, __global uint *found)
{
	automaton_search_all(heap, first, symbols, targets, accepts, texts, length, count, found);
}
