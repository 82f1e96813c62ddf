/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.h - the watcher that tells tools of NVIDIA's where blocks begin and end.
 *
 * compute-sanitizer checks accesses against allocations of the driver. To it a pool's chunk is one
 * allocation, and a write past a block's end into the next block is no error. With the chunks and
 * blocks registered through the NVTX memory interface it is.
 */
#ifndef MAM_INTERPOSE_NVTX_H
#define MAM_INTERPOSE_NVTX_H

#include <stdbool.h>
#include <stddef.h>

struct mam_watch_call;

/*
 * Begins to watch where a tool listens, and only there. Called before a pool is made: the tools
 * want CUDA to be started first. Only the first call counts.
 */
void mam_nvtx_start(void);
void mam_nvtx_alloc(const struct mam_watch_call *call);
void mam_nvtx_free(const struct mam_watch_call *call);
void mam_nvtx_chunk(void *base, size_t bytes, void *context, bool came);

/*
 * True: a memory checker watches this process, and blocks cannot be made known to it. Allocation is
 * left to the driver then, so that no error is hidden.
 */
bool mam_nvtx_wants_driver(void);

/* One word for `mam info` and the report: "off", "on (tool's library)", "not built in". */
const char *mam_nvtx_state(void);

#endif
