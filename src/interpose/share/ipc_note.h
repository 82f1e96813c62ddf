/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_note.h - the note that describes the block of a shared handle, if it is in a chunk: a file that
 * only processes of the same user can read.
 *
 * The driver's handle identifies a whole chunk and has no room for an offset, so the handle that a
 * program receives is one of mam: a mark and a random token. The token names the note. A process
 * that does not know the token does not find the note, and another user cannot read it.
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
	int32_t owner;        /* process ID in its own namespace */
	uint64_t names_space; /* the kernel's number of that namespace */
	uint64_t started;     /* the owner's start time, in the kernel's units */
	unsigned char token[MAM_MARKS_TOKEN_BYTES];
	struct mam_ipc_handle chunk;         /* the driver's handle of the whole chunk */
	uint64_t offset, bytes, chunk_bytes; /* of the block in it, as requested; of the chunk */
};

/*
 * The preferred directory for notes, "/dev/shm"; lock: none, tests set another before the first
 * note.
 */
extern const char *mam_ipc_note_folder __attribute__((visibility("hidden")));

/* Fills in the fields that identify this process, as its owner. */
void mam_ipc_note_own(struct mam_ipc_note *note);

/*
 * Fills in all fields up to the token, which is new; the others are 0. Returns false if the kernel
 * returns no random bytes.
 */
bool mam_ipc_note_begin(struct mam_ipc_note *note);

/* Whether this process wrote it. */
bool mam_ipc_note_is_own(const struct mam_ipc_note *note);

/* Writes it where peers search. Returns false if that failed; no file remains then. */
bool mam_ipc_note_write(const struct mam_ipc_note *note);

/*
 * Reads and validates the note of a token. Returns false if anything is invalid, or if its owner
 * has ended. The chunk of the driver's handle is not checked here.
 */
bool mam_ipc_note_read(const unsigned char *token, struct mam_ipc_note *note);

void mam_ipc_note_remove(const unsigned char *token);

/* Removes the notes of this user's processes that have ended. */
void mam_ipc_note_sweep(void);

#endif
