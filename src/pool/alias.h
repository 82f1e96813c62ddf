/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alias.h - memory that a stream freed is mapped at a second address, while its work still uses the
 * first one.
 *
 * A request on the same stream may use such memory at once, at any address: in the stream's order
 * its former user ends before the new one begins. Unmapping does not wait for work, and work on an
 * unmapped address faults. So the old address remains mapped until a fence has passed that was
 * recorded in the stream afterwards. Nothing waits.
 *
 * The states of a piece's addresses, as states of segments (segment.h):
 *   UNMAPPED   no memory
 *   FREE, LIVE, HELD ...   mapped: the piece's current address
 *   LEAVING    mapped, and the piece has another, current address. Work may still use this one.
 *              No block is placed here.
 * The addresses of one piece are a ring (source/pieces.h): exactly one of them is not LEAVING.
 * A piece with several addresses is neither moved nor released until one is left.
 *
 * No piece is aliased
 *   - for a stream in capture: its graph will use the old address each time that it runs;
 *   - of another stream's memory: its work is not ordered before that of the request, unless the
 *     request's stream waits for it (stream/borrow.c);
 *   - after a free without a wait or a stream (mam_pool.unfenced): no fence covers its user;
 *   - if no fence can be recorded (the stream layer decides).
 *
 * lock: grow to change groups and to call the source; the fields are under the pool's lock.
 */
#ifndef MAM_POOL_ALIAS_H
#define MAM_POOL_ALIAS_H

#include "pool/remap.h"

/*
 * mam_alias_may - whether memory of the request's stream may be aliased now, and there is room for
 * another group.
 */
bool mam_alias_may(struct mam_pool *pool, const struct mam_request *request);

/*
 * mam_alias_bytes_locked - the bytes of the pieces that the request's stream freed and that may be
 * aliased.
 */
uint64_t mam_alias_bytes_locked(const struct mam_pool *pool, const struct mam_request *request);

/*
 * mam_alias_pick - as mam_remap_pick(), among the pieces in memory that the request's stream freed.
 */
bool mam_alias_pick(struct mam_pool *pool, const struct mam_request *request,
		    const struct mam_edge *edge, uint64_t want, uint64_t max,
		    struct mam_free_piece *found);

/*
 * mam_alias_move - map such a piece at the edge, advance the edge, and let the old address leave.
 * The new address belongs to the stream. WOULD_WAIT: the piece was used meanwhile; pick again.
 */
enum mam_status mam_alias_move(struct mam_pool *pool, const struct mam_request *request,
			       struct mam_edge *edge, const struct mam_free_piece *from);

/*
 * mam_alias_seal - record a fence for the addresses that mam_alias_move() let go since the last
 * seal. They wait for the device if that fails.
 */
void mam_alias_seal(struct mam_pool *pool, const struct mam_request *request);

/*
 * mam_alias_collect - unmap the old addresses whose fence has passed. `all`: the device was waited
 * for, and every fence has passed.
 */
void mam_alias_collect(struct mam_pool *pool, bool all);

/* mam_alias_end - drop the fences: the pool ends, and waits for the device before it unmaps. */
void mam_alias_end(struct mam_pool *pool);

/* mam_alias_fault_locked - NULL, or one sentence. `leaving`: number of segments in that state. */
const char *mam_alias_fault_locked(const struct mam_pool *pool, uint64_t leaving);

#endif
