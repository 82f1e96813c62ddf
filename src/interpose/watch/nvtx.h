/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.h - the watcher that reports the bounds of blocks to NVIDIA's tools.
 *
 * compute-sanitizer checks accesses against allocations of the driver. A pool's chunk is one
 * allocation to it, so it does not detect a write past the end of a block into the next one. It
 * does if the chunks and blocks are registered through the NVTX memory interface.
 */
#ifndef MAM_INTERPOSE_NVTX_H
#define MAM_INTERPOSE_NVTX_H

#include <stdbool.h>
#include <stddef.h>

struct mam_watch_call;

/*
 * Starts watching only if a tool listens. Called just before the first pool is created, because the
 * tools require CUDA to be initialized first. Only the first call has an effect.
 */
void mam_nvtx_start(void);
void mam_nvtx_alloc(const struct mam_watch_call *call);
void mam_nvtx_free(const struct mam_watch_call *call);
void mam_nvtx_chunk(void *base, size_t bytes, void *context, bool came);

/*
 * Returns true if a memory checker runs this process and blocks cannot be registered with it. The
 * driver serves all allocations then, so that no error is hidden.
 */
bool mam_nvtx_wants_driver(void);

/* Returns one word for `mam info` and the report: "off", "on (tool's library)", "not built in". */
const char *mam_nvtx_state(void);

#endif
