/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_opened.h - the blocks of other processes that this one has opened by handles of mam's: which
 * chunk each lies in, as the driver knows only chunks, and how often it was opened.
 */
#ifndef MAM_INTERPOSE_IPC_OPENED_H
#define MAM_INTERPOSE_IPC_OPENED_H

#include <stdbool.h>
#include <stddef.h>

struct mam_ipc_opened {
	unsigned long long address; /* of the block, in this process */
	unsigned long long chunk;   /* what the driver opened for it */
	size_t bytes;               /* of the block, as its owner asked for it */
	unsigned int count;         /* how often it is open; set by mam_ipc_opened_add() */
};

/* Opened once more. False: no memory. */
bool mam_ipc_opened_add(const struct mam_ipc_opened *opened);

/*
 * Closed once: what of it was open, its count after this. False: no block of mam's is open at the
 * address.
 */
bool mam_ipc_opened_take(unsigned long long address, struct mam_ipc_opened *opened);

/* The block that an address lies in. False: none. One load where nothing is open. */
bool mam_ipc_opened_find(unsigned long long address, struct mam_ipc_opened *opened);

/* In the child of a fork. */
void mam_ipc_opened_restart(void);

#endif
