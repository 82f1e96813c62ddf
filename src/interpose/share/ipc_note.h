/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_note.h - the note that says what a shared block's handle means: a file that only processes of
 * the same user can read.
 *
 * The driver's handle names a whole chunk and has no room for an offset, so the handle that a
 * program gets is mam's: a mark and a random token. The token names the note. Whoever guesses no
 * token finds no note, and whoever is another user cannot read it.
 */
#ifndef MAM_INTERPOSE_IPC_NOTE_H
#define MAM_INTERPOSE_IPC_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/routes/hooks.h"
#include "interpose/share/marks.h"

struct mam_ipc_note {
	char mark[8];
	uint32_t version;
	int32_t owner; /* process, by the number in its own namespace */
	uint64_t names_space; /* that namespace, as the kernel numbers it */
	uint64_t started;     /* the owner's start, as the kernel counts it */
	unsigned char token[MAM_MARKS_TOKEN_BYTES];
	struct mam_ipc_handle chunk; /* the driver's handle of the whole chunk */
	uint64_t offset, bytes, chunk_bytes; /* of the block in it, as was asked for; of the chunk */
};

/* Where notes are written first, "/dev/shm"; lock: none, tests set another before the first note. */
extern const char *mam_ipc_note_folder __attribute__((visibility("hidden")));

/* Fills in all but the last three lines, with a new token. False: the kernel gave no random bytes. */
bool mam_ipc_note_begin(struct mam_ipc_note *note);

/* Writes it where peers look. False: it could not be; nothing is left behind. */
bool mam_ipc_note_write(const struct mam_ipc_note *note);

/*
 * Reads what belongs to a token, and believes nothing of it: false for whatever is not in order,
 * and where its owner is gone. What the driver has under the handle is not known here.
 */
bool mam_ipc_note_read(const unsigned char *token, struct mam_ipc_note *note);

void mam_ipc_note_remove(const unsigned char *token);

/* Removes the notes of this user's processes that are gone. */
void mam_ipc_note_sweep(void);

#endif
