/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - what a coalescer of `mam bench xmalloc` stands on, as the host and kernels both see it.
 */
#ifndef MAM_TOOLS_BENCH_XMALLOC_LAYERS_H
#define MAM_TOOLS_BENCH_XMALLOC_LAYERS_H

#include "heap/port.h"

/* In device memory; nobody changes it while kernels run. */
struct bench_layers {
	void *base;    /* a heap of objects or of pages; NULL: CUDA's own */
	void *buffers; /* struct mam_buffers; NULL: none, or a way that has none */
};

#endif
