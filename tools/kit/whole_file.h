/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_file.h - a file that appears whole or not at all.
 *
 * It gets its name at the end, so a reader finds the old one or the whole new one, and a failure or a
 * signal leaves the old one as it was and nothing else.
 */
#ifndef TOOLS_WHOLE_FILE_H
#define TOOLS_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include <mam/newfile.h>

struct whole_file {
	FILE *file;
	const char *told; /* what it was asked for as; not copied */
	char *path;       /* what it will be called: links followed */
	struct mam_newfile new;
};

/*
 * whole_file_open - begin to write `path`, into the answer. `what` it is goes into messages: "a
 * map". NULL: it cannot be written, which was said, and there is nothing to close.
 */
FILE *whole_file_open(struct whole_file *whole, const char *path, const char *what);

/*
 * whole_file_close - give it its name; if not `good`, or if what was written did not get through
 * (errno says why), take it away. False: there is no new file, which was said.
 */
bool whole_file_close(struct whole_file *whole, bool good);

#endif
