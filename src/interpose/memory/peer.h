/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - which contexts may access each other's memory. */
#ifndef MAM_INTERPOSE_PEER_H
#define MAM_INTERPOSE_PEER_H

#include <stdbool.h>
#include <stdint.h>

/* A context that may access an owner's memory. */
struct mam_peer {
	void *context;
	/*
	 * The link's number, never reused: it distinguishes a context from an earlier one with the
	 * same handle, as a primary context has after a reset. 0: the owner itself.
	 */
	uint64_t link;
};

/*
 * mam_peer_list - list `owner` itself and all contexts that have access to its memory. Writes at
 * most `room` of them. Returns their number, which may exceed `room`.
 */
unsigned int mam_peer_list(void *owner, struct mam_peer *list, unsigned int room);

/*
 * Returns how many links have ended so far. While that is unchanged, every earlier link still
 * exists.
 */
uint64_t mam_peer_ended(void);
bool mam_peer_is_linked(uint64_t link);

/* Whether there is any link, which a context that is destroyed may be part of. */
bool mam_peer_exists(void);

/* Called when a context is destroyed; and in the child of a fork, which has no contexts. */
void mam_peer_context_gone(void *context);
void mam_peer_restart(void);

/*
 * Called around cuIpcOpenMemHandle() with `flags`, in the current context. The driver enables peer
 * access if the memory is on another device. mam_peer_open_begin: returns false if there is no host
 * memory to record that. mam_peer_open_end: `address` is the opened memory, or 0 if the call
 * failed.
 */
bool mam_peer_open_begin(unsigned int flags);
void mam_peer_open_end(unsigned int flags, unsigned long long address);

#endif
