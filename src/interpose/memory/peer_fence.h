/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_fence.h - a fence over all work that may use the memory of one context: an event in that
 * context, its owner, and one in each context that has access to the memory (peer.h).
 *
 * Threads: one at a time for each fence, as its user's lock sees to. No capture is alive.
 */
#ifndef MAM_INTERPOSE_PEER_FENCE_H
#define MAM_INTERPOSE_PEER_FENCE_H

#include <stdbool.h>
#include <stdint.h>

struct mam_peer_fence_part;

/* Zero before the first record. The array is kept for the next record, and never freed. */
struct mam_peer_fence {
	struct mam_peer_fence_part *parts;
	unsigned int count, room;
	uint64_t ended; /* mam_peer_ended() when it was recorded */
};

enum mam_peer_fence_state {
	MAM_PEER_FENCE_DONE,
	MAM_PEER_FENCE_LATER, /* not yet, or a call failed that may succeed another time */
	MAM_PEER_FENCE_BROKEN /* the owner has a sticky error: its work did not end well */
};

/*
 * mam_peer_fence_record - a fence over all work submitted so far. DONE: it is recorded. Otherwise
 * nothing is, and the fence must not be asked.
 *
 * mam_peer_fence_ask - whether that work is done.
 *
 * A context that is gone, and a peer with a sticky error, do no work any more and hold no fence up.
 */
enum mam_peer_fence_state mam_peer_fence_record(struct mam_peer_fence *fence, void *owner);
enum mam_peer_fence_state mam_peer_fence_ask(struct mam_peer_fence *fence);

/*
 * mam_peer_fence_is_idle - whether all work of one context is done, peers not counted. False also
 * where a call fails.
 */
bool mam_peer_fence_is_idle(void *context);

/* mam_peer_fence_wait - wait for all work submitted so far. */
enum mam_peer_fence_state mam_peer_fence_wait(void *owner);

/* Whether the driver has what a fence needs: CUDA 12.5. */
bool mam_peer_fence_is_possible(void);

#endif
