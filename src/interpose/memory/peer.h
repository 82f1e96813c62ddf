/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - which contexts may touch each other's memory.
 */
#ifndef MAM_INTERPOSE_PEER_H
#define MAM_INTERPOSE_PEER_H

#define MAM_PEER_CONTEXTS_MOST 17 /* one, and as many peers as a machine of today has */

/*
 * mam_peer_contexts - `owner` itself and all contexts that enabled access to it, into an array of
 * MAM_PEER_CONTEXTS_MOST. Returns how many; 0: more than fit.
 */
unsigned int mam_peer_contexts(void *owner, void **contexts);

/* A context is gone; in the child of a fork all are. */
void mam_peer_context_gone(void *context);
void mam_peer_restart(void);

#endif
