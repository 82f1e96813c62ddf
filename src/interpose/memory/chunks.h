/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.h - where the pools of mam run get their chunks: the driver's cuMemAlloc, on the account
 * of the device.
 */
#ifndef MAM_INTERPOSE_CHUNKS_H
#define MAM_INTERPOSE_CHUNKS_H

#include <stdint.h>

#include <mam/source.h>

/*
 * A source for the calling thread's current context, which is `context` on `device`. The pool that
 * is made on it does not own it: mam_chunks_destroy() after the pool was ended, mam_chunks_lose()
 * when the context is gone with all memory.
 */
enum mam_status mam_chunks_create(void *context, int device, struct mam_source **source);
void mam_chunks_destroy(struct mam_source *source);
void mam_chunks_lose(struct mam_source *source);

/* How much the source's pool holds, in bytes. */
size_t mam_chunks_held(const struct mam_source *source);

/*
 * mam_chunks_count_free - the n-th free since the pool grew, counted from 1. 0: it has not grown since
 * mam_chunks_forget_growth(), or its chunks have sizes of the user's.
 */
unsigned int mam_chunks_count_free(struct mam_source *source);
void mam_chunks_forget_growth(struct mam_source *source);

/* How often the driver was asked for a chunk or given one, and how long it took. */
struct mam_chunks_costs {
	uint64_t grows, grow_ns, shrinks, shrink_ns;
};
void mam_chunks_cost(struct mam_chunks_costs *costs);

#endif
