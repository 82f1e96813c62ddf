/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_opened.h - the blocks of other processes that this process has opened by handles of mam's.
 * For each block: the chunk that contains it, because the driver knows only chunks, and how often
 * it was opened. A block that is open already is found by its token, so that the driver need not open
 * the chunk again.
 */
#ifndef MAM_INTERPOSE_IPC_OPENED_H
#define MAM_INTERPOSE_IPC_OPENED_H

#include <stdbool.h>
#include <stddef.h>

#include "interpose/share/marks.h"

struct mam_ipc_opened {
	unsigned long long address;    /* of the block, in this process */
	unsigned long long chunk;      /* the chunk that the driver opened for it */
	size_t bytes;                  /* of the block, as its owner requested it */
	unsigned int count;            /* number of opens; set by mam_ipc_opened_add() */
	unsigned int driver_opens;     /* of these, made by the driver; likewise */
	size_t mapped_bytes;           /* of the chunk, if mam mapped it; 0: the driver opened it */
	void *context;                 /* in which it was opened; NULL: unknown */
	unsigned long long context_id; /* distinguishes a later context with the same handle */
	unsigned char token[MAM_MARKS_TOKEN_BYTES]; /* of its note */
};

/* Adds an open. Returns false if there is no memory. */
bool mam_ipc_opened_add(const struct mam_ipc_opened *opened);

/*
 * Adds an open of a block that is open already, found by the token in *opened, and returns it there.
 * Returns false if it is not open; if the driver opened it, in the context in *opened, because each
 * context has an open of its own.
 */
bool mam_ipc_opened_again(struct mam_ipc_opened *opened);

/*
 * Removes an open. Returns the block in *opened, with its counts after the removal, and in *by_driver
 * whether the driver must close the chunk once. Returns false if no block of mam's is open at the
 * address.
 */
bool mam_ipc_opened_take(unsigned long long address, struct mam_ipc_opened *opened,
			 bool *by_driver);

/*
 * Finds the block that contains an address. Returns false if there is none; takes one load if no
 * block is open.
 */
bool mam_ipc_opened_find(unsigned long long address, struct mam_ipc_opened *opened);

/* Called in the child of a fork. */
void mam_ipc_opened_restart(void);

#endif
