/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.h - the source of memory for the pools of mam run, charged to the account of the device:
 * chunks of the driver's cuMemAlloc, or mapped memory (--source).
 */
#ifndef MAM_INTERPOSE_CHUNKS_H
#define MAM_INTERPOSE_CHUNKS_H

#include <stdbool.h>
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

/*
 * mam_chunks_piece - find the piece of mapped memory that contains `address`, in the range that
 * starts at `range`. Returns false if the memory there is not mapped by a pool: chunks of
 * cuMemAlloc have no pieces.
 */
struct mam_chunks_piece {
	uint64_t base, bytes;
};
bool mam_chunks_piece(uint64_t range, uint64_t address, struct mam_chunks_piece *piece);

/* Returns the bytes that the source's pool holds. */
size_t mam_chunks_held(const struct mam_source *source);

/*
 * Whether the driver or the limit ever refused a chunk, even if a smaller one followed. Always false
 * for mapped memory, which is moved where it is needed.
 */
bool mam_chunks_is_refused(const struct mam_source *source);

/*
 * mam_chunks_count_free - return the number of this free since the pool last grew, starting at 1.
 * Returns 0 if it has not grown since mam_chunks_forget_growth(), or if the user set the chunk
 * sizes.
 */
unsigned int mam_chunks_count_free(struct mam_source *source);
void mam_chunks_forget_growth(struct mam_source *source);

/*
 * How often the driver allocated and freed a chunk or a piece on a device (below 0: on all), and the
 * time it took.
 */
struct mam_chunks_costs {
	uint64_t grows, grow_ns, shrinks, shrink_ns;
	bool in_pieces; /* a pool of any device has mapped memory */
};
void mam_chunks_cost(int device, struct mam_chunks_costs *costs);

#endif
