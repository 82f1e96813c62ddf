/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_file.h - a file that is written atomically: it appears complete or not at all.
 *
 * It gets its name last, so a reader finds either the old file or the complete new one. A failure
 * or a signal leaves the old file unchanged and leaves no temporary file.
 */
#ifndef TOOLS_WHOLE_FILE_H
#define TOOLS_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include <mam/newfile.h>

struct whole_file {
	FILE *file;
	const char *told; /* the path that the caller gave; not copied */
	char *path;       /* the final path: symbolic links resolved */
	struct mam_newfile new;
};

/*
 * whole_file_open - open `path` for writing; data goes to the returned stream. `what` names the
 * file in messages: "a map". NULL: the file cannot be written (reported), and there is nothing to
 * close.
 */
FILE *whole_file_open(struct whole_file *whole, const char *path, const char *what);

/*
 * whole_file_close - give the file its name. If not `good`, or if a write failed (errno has the
 * reason), discard it. False: there is no new file (reported).
 */
bool whole_file_close(struct whole_file *whole, bool good);

#endif
