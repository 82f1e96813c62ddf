/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.h - data that few blocks have and that is removed when they are freed: a buffer ID that a
 * program requested, synchronous copies, a handle for another process.
 *
 * Blocks are identified by their first address. While there is a mark, frees are watched (watch.h);
 * other programs pay nothing.
 */
#ifndef MAM_INTERPOSE_MARKS_H
#define MAM_INTERPOSE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAM_MARKS_TOKEN_BYTES 16

/*
 * Gets the ID of the block that is now at the address, which is created at the first request. An ID
 * is never reused, and differs from those of the driver. Returns false if there is no memory for
 * the mark.
 */
bool mam_marks_buffer_id(const void *block, uint64_t *id);

/*
 * Whether copies of the block are synchronous, as set for this block. Where they are with new
 * memory, attribute.c keeps the opposite here: that this was cleared for the block.
 */
bool mam_marks_is_synchronous(const void *block);

/* Sets that. Returns false if there is no memory for the mark. */
bool mam_marks_set_synchronous(const void *block, const void *chunk, bool synchronous);

/* Whether it is set for any block of the chunk: the driver knows it for the chunk only. */
bool mam_marks_chunk_is_synchronous(const void *chunk);

/* Gets the token under which a block is shared (ipc.c). Returns false if it is not shared. */
bool mam_marks_token(const void *block, unsigned char *token);

/* Gets the block that is shared under a token. Returns false if there is none. */
bool mam_marks_block_of(const unsigned char *token, const void **block);

/* If two threads share a block at once, the first one's token is kept, and returned in `token`. */
bool mam_marks_set_token(const void *block, unsigned char *token);

/* Called when data about a block that others use becomes obsolete. No lock is held. */
struct mam_marks_ends {
	void (*shared)(const unsigned char *token); /* the block can no longer be opened */
	void (*synchronous)(void *chunk);           /* no block has synchronous copies now */
};

/* Called before the block at this address is freed: removes its marks. */
void mam_marks_free(const void *block, const struct mam_marks_ends *ends);

/*
 * Called before a chunk of a pool is freed: removes the marks of all its blocks. Calls `ends` for
 * the shared ones.
 */
void mam_marks_chunk_gone(void *base, size_t bytes, const struct mam_marks_ends *ends);

/* Calls `visit` for each token, at the end of the process. `visit` must not use marks. */
void mam_marks_each_token(void (*visit)(const unsigned char *token));

/*
 * Records that the driver exported a part of a block, and returns whether it ever did. Others have
 * access to the memory for as long as they like.
 */
void mam_marks_note_export(void);
bool mam_marks_is_exported(void);

/* Called in the child of a fork. */
void mam_marks_restart(void);

#endif
