/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adapter.h - adapters of `mam bench xmalloc`: XMalloc over CUDA's own malloc where XMALLOC_OVER_CUDA
 * is 1, else over mam's; with buffers where XMALLOC_BUFFERED is 1. Both are said before it.
 */
#ifndef MAM_TOOLS_BENCH_XMALLOC_ADAPTER_H
#define MAM_TOOLS_BENCH_XMALLOC_ADAPTER_H

#include "bench/xmalloc/layers.h"
#include "coalesce/way.h"

#if XMALLOC_OVER_CUDA && !defined(__CUDACC__)
/* The simulator has the host's malloc in its place. */
MAM_KFN void *bench_base_alloc(void *heap, size_t bytes)
{
	(void)heap;
	return malloc(bytes);
}

MAM_KFN bool bench_base_free(void *heap, void *block)
{
	(void)heap;
	free(block);
	return true;
}
#endif

MAM_KFN struct mam_kbase bench_base(const struct bench_layers *layers)
{
#if !XMALLOC_OVER_CUDA
	return mam_base_heap((struct mam_kheap *)mam_constant_pointer(&layers->base));
#elif defined(__CUDACC__)
	(void)layers;
	return mam_base_cuda();
#else
	struct mam_kbase base;

	base.alloc = bench_base_alloc;
	base.free = bench_base_free;
	base.heap = layers->base;
	return base;
#endif
}

MAM_KFN struct mam_kcoalescer bench_coalescer(const void *heap)
{
	const struct bench_layers *layers = (const struct bench_layers *)heap;
	struct mam_kcoalescer coalescer;

	coalescer.base = bench_base(layers);
	coalescer.map = NULL;
#if XMALLOC_BUFFERED
	coalescer.buffers = (struct mam_buffers *)mam_constant_pointer(&layers->buffers);
#else
	coalescer.buffers = NULL;
#endif
	return coalescer;
}

MAM_KFN void *bench_malloc(void *heap, size_t bytes)
{
	return mam_way_alloc(MAM_WAY_XMALLOC, bench_coalescer(heap), bytes);
}

MAM_KFN void bench_free(void *heap, void *object, size_t bytes)
{
	(void)bytes;
	(void)mam_way_free(MAM_WAY_XMALLOC, bench_coalescer(heap), object);
}

#endif
