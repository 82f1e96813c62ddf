/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - the layers below a coalescer of `mam bench xmalloc`, shared by the host and the
 * kernels.
 */
#ifndef MAM_TOOLS_BENCH_XMALLOC_LAYERS_H
#define MAM_TOOLS_BENCH_XMALLOC_LAYERS_H

#include "device/port.h"

/* In device memory; constant while kernels run. */
struct bench_layers {
	void *base;    /* a heap of objects or of pages; NULL: CUDA's own */
	void *buffers; /* struct mam_buffers; NULL: none, or a way that has none */
};

#endif
