/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_fence.h - a fence over all work that may access the memory of one context, the owner. It has
 * one event in the owner and one in each context that has access to the memory (peer.h).
 *
 * Threads: one at a time per fence; the caller's lock ensures that. There is no live capture.
 */
#ifndef MAM_INTERPOSE_PEER_FENCE_H
#define MAM_INTERPOSE_PEER_FENCE_H

#include <stdbool.h>
#include <stdint.h>

struct mam_peer_fence_part;

/* Zero before the first record. The array is reused by the next record, and never freed. */
struct mam_peer_fence {
	struct mam_peer_fence_part *parts;
	unsigned int count, room;
	uint64_t ended; /* mam_peer_ended() when it was recorded */
};

enum mam_peer_fence_state {
	MAM_PEER_FENCE_DONE,
	MAM_PEER_FENCE_LATER, /* not yet, or a call failed that may succeed another time */
	MAM_PEER_FENCE_BROKEN /* the owner has a sticky error: its work did not complete */
};

/*
 * mam_peer_fence_record - record a fence over all work submitted so far. DONE: it is recorded.
 * Otherwise it is not recorded, and the fence must not be queried.
 *
 * mam_peer_fence_ask - whether that work is done.
 *
 * A destroyed context, and a peer with a sticky error, execute no more work and do not delay a
 * fence.
 */
enum mam_peer_fence_state mam_peer_fence_record(struct mam_peer_fence *fence, void *owner);
enum mam_peer_fence_state mam_peer_fence_ask(struct mam_peer_fence *fence);

/*
 * mam_peer_fence_is_idle - whether all work of one context is done, peers not included. Also false
 * if a call fails.
 */
bool mam_peer_fence_is_idle(void *context);

/* mam_peer_fence_wait - wait for all work submitted so far. */
enum mam_peer_fence_state mam_peer_fence_wait(void *owner);

/* Whether the driver supports such a fence: CUDA 12.5. */
bool mam_peer_fence_is_possible(void);

#endif
