/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.h - what few blocks have and must lose with their free: a buffer id that a program asked
 * for, synchronous copies, a handle for another process.
 *
 * Blocks are named by their first address. While there is a mark, frees are watched (watch.h);
 * programs that never ask pay nothing.
 */
#ifndef MAM_INTERPOSE_MARKS_H
#define MAM_INTERPOSE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAM_MARKS_TOKEN_BYTES 16

/*
 * The id of the block that lives there now; made when first asked for. Never given twice, and none
 * of the driver's. False: no memory for the mark.
 */
bool mam_marks_buffer_id(const void *block, uint64_t *id);

/* Whether copies of the block are synchronous, as it was set for this block. */
bool mam_marks_is_synchronous(const void *block);

/* Sets that. False: no memory for the mark. */
bool mam_marks_set_synchronous(const void *block, const void *chunk, bool synchronous);

/* Whether any block of the chunk has it set: the driver knows it only of the chunk. */
bool mam_marks_chunk_is_synchronous(const void *chunk);

/* The token under which a block is shared (ipc.c). False: it is not. */
bool mam_marks_token(const void *block, unsigned char *token);

/* Of two threads that share a block at once the first one's token stays, and comes back. */
bool mam_marks_set_token(const void *block, unsigned char *token);

/* Who is to hear that others need not know any more what they knew of a block. No lock is held. */
struct mam_marks_ends {
	void (*shared)(const unsigned char *token); /* the block can be opened no more */
	void (*synchronous)(void *chunk);           /* its last block with synchronous copies is gone */
};

/* The block at this address is about to be freed: whatever is known of it is forgotten. */
void mam_marks_free(const void *block, const struct mam_marks_ends *ends);

/* A chunk of a pool goes: the same for all its blocks. `ends` hears of those that were shared. */
void mam_marks_chunk_gone(void *base, size_t bytes, const struct mam_marks_ends *ends);

/* Each token in turn, for the end of the process. `visit` must not ask for marks. */
void mam_marks_each_token(void (*visit)(const unsigned char *token));

/* In the child of a fork. */
void mam_marks_restart(void);

#endif
