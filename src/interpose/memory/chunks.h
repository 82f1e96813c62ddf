/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.h - the source of chunks for the pools of mam run: the driver's cuMemAlloc, charged to the
 * account of the device.
 */
#ifndef MAM_INTERPOSE_CHUNKS_H
#define MAM_INTERPOSE_CHUNKS_H

#include <stdint.h>

#include <mam/source.h>

/*
 * Creates a source for the calling thread's current context, which is `context` on `device`. A pool
 * created on it does not own it: call mam_chunks_destroy() after the pool is destroyed, or
 * mam_chunks_lose() if the context is destroyed together with its memory.
 */
enum mam_status mam_chunks_create(void *context, int device, struct mam_source **source);
void mam_chunks_destroy(struct mam_source *source);
void mam_chunks_lose(struct mam_source *source);

/* Returns the bytes that the source's pool holds. */
size_t mam_chunks_held(const struct mam_source *source);

/*
 * mam_chunks_count_free - return the number of this free since the pool last grew, starting at 1.
 * Returns 0 if it has not grown since mam_chunks_forget_growth(), or if the user set the chunk
 * sizes.
 */
unsigned int mam_chunks_count_free(struct mam_source *source);
void mam_chunks_forget_growth(struct mam_source *source);

/* How often the driver allocated and freed a chunk, and the time it took. */
struct mam_chunks_costs {
	uint64_t grows, grow_ns, shrinks, shrink_ns;
};
void mam_chunks_cost(struct mam_chunks_costs *costs);

#endif
