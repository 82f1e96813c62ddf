/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newfile.h - a file that appears whole or not at all. Shared by the interposer and the command;
 * not installed.
 *
 * It is written without a name (O_TMPFILE), so that whatever ends the process leaves nothing. Where
 * the file system has no such files (NFS, some FUSE), it has a name of its own beside its place, which
 * a signal leaves.
 *
 * Errors are errno's numbers; 0 is success. Nothing here allocates memory.
 */
#ifndef MAM_NEWFILE_H
#define MAM_NEWFILE_H

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAM_NEWFILE_BYTES 4096 /* of a name, with its end */

struct mam_newfile {
	int number;            /* descriptor, for reading and writing; -1: none */
	bool is_unnamed;       /* no folder lists it */
	char beside[MAM_NEWFILE_BYTES]; /* its name until it is in its place; "": none */
};

/* A file that will be at `place`, with the rights `mode` less the umask. */
int mam_newfile_open(struct mam_newfile *file, const char *place, mode_t mode);

/* Gives it its place, if there is no file (EEXIST). */
int mam_newfile_add(struct mam_newfile *file, const char *place);

/* Gives it its place, and removes the file that was there. */
int mam_newfile_put(struct mam_newfile *file, const char *place);

/* Removes what has not got its place. The descriptor stays open. */
void mam_newfile_drop(struct mam_newfile *file);

#ifdef __cplusplus
}
#endif
#endif
