/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - which contexts may use each other's memory.
 */
#ifndef MAM_INTERPOSE_PEER_H
#define MAM_INTERPOSE_PEER_H

#include <stdbool.h>
#include <stdint.h>

/* A context that may use an owner's memory. */
struct mam_peer {
	void *context;
	/*
	 * The link's number, never used twice: it distinguishes a context from an earlier one with the
	 * same handle, as a primary context has after a reset. 0: the owner itself.
	 */
	uint64_t link;
};

/*
 * mam_peer_list - `owner` itself and all contexts that have access to its memory. Writes at most
 * `room` of them. Returns how many there are, which may be more than `room`.
 */
unsigned int mam_peer_list(void *owner, struct mam_peer *list, unsigned int room);

/* How many links have ended so far; where that did not change, each link of before is still one. */
uint64_t mam_peer_ended(void);
bool mam_peer_is_linked(uint64_t link);

/* Whether there is any link: a context that ends may be part of one. */
bool mam_peer_exists(void);

/* A context is gone; in the child of a fork all are. */
void mam_peer_context_gone(void *context);
void mam_peer_restart(void);

/*
 * Around cuIpcOpenMemHandle() with `flags`, in the current context. The driver enables peer access
 * where the memory is on another device. mam_peer_open_begin: false where there is no host memory
 * to note that. mam_peer_open_end: `address` is what was opened; 0: nothing was.
 */
bool mam_peer_open_begin(unsigned int flags);
void mam_peer_open_end(unsigned int flags, unsigned long long address);

#endif
