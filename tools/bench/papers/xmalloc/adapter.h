/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adapter.h - adapters of `mam bench xmalloc`: a way over a base. A file that includes it first
 * defines
 *   XMALLOC_BASE      one of those below
 *   XMALLOC_BUFFERED  1: with buffers
 *   XMALLOC_WAY       an enum mam_kway; XMalloc by default
 *   XMALLOC_CALLS     1: by xmcMalloc() and xmcFree(), as in programs
 */
#ifndef MAM_TOOLS_BENCH_XMALLOC_ADAPTER_H
#define MAM_TOOLS_BENCH_XMALLOC_ADAPTER_H

#include "bench/papers/xmalloc/layers.h"
#include "coalesce/way.h"

#define XMALLOC_BASE_MAM 1   /* a heap of objects */
#define XMALLOC_BASE_CUDA 2  /* CUDA's own malloc */
#define XMALLOC_BASE_PAGES 3 /* a heap of pages */

#ifndef XMALLOC_WAY
#define XMALLOC_WAY MAM_WAY_XMALLOC
#endif
#ifndef XMALLOC_CALLS
#define XMALLOC_CALLS 0
#endif

#if XMALLOC_CALLS && defined(__CUDACC__)
#if XMALLOC_BASE == XMALLOC_BASE_MAM
#define XMC_HEAP
#endif
#include <mam/xmalloc.cuh>
#endif

#if XMALLOC_BASE == XMALLOC_BASE_PAGES
#include "coalesce/base_pages.h"
#elif XMALLOC_BASE != XMALLOC_BASE_MAM && XMALLOC_BASE != XMALLOC_BASE_CUDA
#error "XMALLOC_BASE: which base?"
#endif

#if XMALLOC_BASE == XMALLOC_BASE_CUDA && !defined(__CUDACC__)
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
#if XMALLOC_BASE == XMALLOC_BASE_MAM
	return mam_base_heap((struct mam_kheap *)mam_constant_pointer(&layers->base));
#elif XMALLOC_BASE == XMALLOC_BASE_PAGES
	return mam_base_pages((struct mam_kheap *)mam_constant_pointer(&layers->base));
#elif defined(__CUDACC__)
	(void)layers;
	return mam_base_cuda();
#else
	struct mam_kbase base;

	base.alloc = bench_base_alloc;
	base.free = bench_base_free;
	base.heap = layers->base;
	base.tries = MAM_BASE_CUDA_TRIES;
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

#if XMALLOC_CALLS && defined(__CUDACC__)
/* Sets up what xmcInit() does; by one lane, once buffers are formatted. */
MAM_KFN void bench_begin(const void *heap)
{
	const struct bench_layers *layers = (const struct bench_layers *)heap;

	XMC_SETTING()->buffers = (struct mam_buffers *)layers->buffers;
	XMC_SETTING()->heap = (struct mam_kheap *)layers->base;
}

MAM_KFN void *bench_malloc(void *heap, size_t bytes)
{
	(void)heap;
	return xmcMalloc(bytes);
}

MAM_KFN void bench_free(void *heap, void *object, size_t bytes)
{
	(void)heap;
	(void)bytes;
	(void)xmcFree(object);
}
#else
/* The simulator does not have these calls, only the layer below them. */
#if XMALLOC_CALLS && XMALLOC_BASE == XMALLOC_BASE_MAM
#undef XMALLOC_WAY
#define XMALLOC_WAY MAM_WAY_BASE
#endif

MAM_KFN void bench_begin(const void *heap)
{
	(void)heap;
}

MAM_KFN void *bench_malloc(void *heap, size_t bytes)
{
	return mam_way_alloc(XMALLOC_WAY, bench_coalescer(heap), bytes);
}

MAM_KFN void bench_free(void *heap, void *object, size_t bytes)
{
	(void)bytes;
	(void)mam_way_free(XMALLOC_WAY, bench_coalescer(heap), object);
}

#endif

#endif
