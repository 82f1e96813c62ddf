/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remap.h - map, release or move one piece. The caller holds grow_lock and no other lock; each step
 * takes the pool's lock, releases it for the source call, and takes it again.
 */
#ifndef MAM_POOL_REMAP_H
#define MAM_POOL_REMAP_H

#include "pool/range.h"

/* Where new memory is mapped: at an edge of the mapped memory, upwards or downwards. */
struct mam_edge {
	unsigned part;
	uint64_t at; /* first address above the mapped memory, or its first one when `down` */
	bool down;
	uint64_t keep_from; /* the free memory that is to grow: its pieces stay */
	uint64_t keep_to;
};

/* mam_edge_place - where `bytes` more are mapped; mam_edge_advance - they are part of the memory. */
struct mam_piece mam_edge_place(const struct mam_edge *edge, uint64_t bytes);
void mam_edge_advance(struct mam_edge *edge, uint64_t bytes);

/* A free piece in its part. */
struct mam_free_piece {
	unsigned part;
	struct mam_piece piece;
};

/*
 * mam_remap_pick - find a free piece of at most `most` bytes: the smallest of at least `want`,
 * otherwise the largest. Not from the free block at `edge`, which is to grow (NULL: from any).
 * False: none found.
 */
bool mam_remap_pick(struct mam_pool *pool, const struct mam_edge *edge, uint64_t want, uint64_t max,
		    struct mam_free_piece *found);

/*
 * mam_remap_fresh - map a new piece at the edge and advance the edge.
 * mam_remap_move - move a free piece there. WOULD_WAIT: another thread took the piece, or a wait
 * for the device is necessary and the call may not wait; pick again.
 * mam_remap_release - release a free piece to the driver. WOULD_WAIT as above.
 */
enum mam_status mam_remap_fresh(struct mam_pool *pool, struct mam_edge *edge, uint64_t bytes);
enum mam_status mam_remap_move(struct mam_pool *pool, struct mam_edge *edge,
			       const struct mam_free_piece *from, bool may_wait);
enum mam_status mam_remap_release(struct mam_pool *pool, const struct mam_free_piece *from,
				  bool may_wait);

/* For alias.c: prefer `piece` to `best` as pick does; no memory was mapped at a seized place. */
void mam_remap_prefer(struct mam_free_piece *best, unsigned part, const struct mam_piece *piece,
		      uint64_t want, uint64_t max);
void mam_remap_leave_locked(struct mam_pool *pool, uint32_t handle, enum mam_status status);

/* mam_remap_count_locked - that much memory was mapped (bytes > 0) or unmapped. */
void mam_remap_count_locked(struct mam_pool *pool, int64_t bytes);

/* mam_remap_would_wait - whether a piece can be unmapped only after a wait for the device. */
bool mam_remap_would_wait(struct mam_pool *pool);

/* mam_remap_revive_locked - make LOST addresses VOID again; false: there were none. */
bool mam_remap_revive_locked(struct mam_pool *pool);

#endif
