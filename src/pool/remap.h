/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remap.h - one step at a time: a piece comes, goes or moves. The caller holds grow_lock and no
 * other; each step takes the pool's lock, lets it go for the source call, and takes it again.
 */
#ifndef MAM_POOL_REMAP_H
#define MAM_POOL_REMAP_H

#include "pool/range.h"

/* Where new ground is put: against an edge of what is mapped, upwards or downwards. */
struct mam_edge {
	unsigned part;
	uint64_t at;   /* first address above it, or of it when `down` */
	bool down;
};

/* A free piece in its part. */
struct mam_free_piece {
	unsigned part;
	struct mam_piece piece;
};

/*
 * mam_remap_pick - a free piece of at most `most` bytes: the smallest of at least `want`, else the
 * largest. Not from the hole at `edge`, which is to grow (NULL: from any). False: there is none.
 */
bool mam_remap_pick(struct mam_pool *pool, const struct mam_edge *edge, uint64_t want,
		    uint64_t most, struct mam_free_piece *found);

/*
 * mam_remap_fresh - a new piece against the edge, which it moves on.
 * mam_remap_move - a free piece there. WOULD_WAIT: another thread took the piece, or the device would
 * have to be waited for and the call may not wait; look again.
 * mam_remap_release - a free piece back to the driver. WOULD_WAIT as above.
 */
enum mam_status mam_remap_fresh(struct mam_pool *pool, struct mam_edge *edge, uint64_t bytes);
enum mam_status mam_remap_move(struct mam_pool *pool, struct mam_edge *edge,
			       const struct mam_free_piece *from, bool may_wait);
enum mam_status mam_remap_release(struct mam_pool *pool, const struct mam_free_piece *from,
				  bool may_wait);

/* mam_remap_would_wait - whether a piece can lose its address only after a wait for the device. */
bool mam_remap_would_wait(struct mam_pool *pool);

/* mam_remap_revive_locked - addresses that were lost are void again; false: there were none. */
bool mam_remap_revive_locked(struct mam_pool *pool);

#endif
