/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newfile.h - create a file atomically: it appears complete or not at all. Shared by the interposer
 * and the command; not installed.
 *
 * The file is written without a name (O_TMPFILE), so nothing remains if the process dies. If the
 * file system does not support that (NFS, some FUSE), the file has a temporary name next to its
 * destination, and a signal may leave it there.
 *
 * Errors are errno values; 0 is success. These functions do not allocate memory.
 */
#ifndef MAM_NEWFILE_H
#define MAM_NEWFILE_H

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAM_NEWFILE_BYTES 4096 /* of a file name, its final NUL included */

struct mam_newfile {
	int number;                     /* descriptor, for reading and writing; -1: none */
	bool is_unnamed;                /* not listed in a folder */
	char beside[MAM_NEWFILE_BYTES]; /* temporary name until it has its final one; "": none */
};

/* Creates a file that will get the name `place`, with the mode `mode` less the umask. */
int mam_newfile_open(struct mam_newfile *file, const char *place, mode_t mode);

/* Gives the file its final name, unless that exists (EEXIST). */
int mam_newfile_add(struct mam_newfile *file, const char *place);

/* Gives the file its final name, and replaces an existing file. */
int mam_newfile_put(struct mam_newfile *file, const char *place);

/* Removes a file that did not get its final name. The descriptor stays open. */
void mam_newfile_drop(struct mam_newfile *file);

#ifdef __cplusplus
}
#endif
#endif
