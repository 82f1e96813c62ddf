/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip_file.h - a stream that compresses to gzip and writes to another stream.
 */
#ifndef TOOLS_GZIP_FILE_H
#define TOOLS_GZIP_FILE_H

#include <stdio.h>

/*
 * gzip_file_over - returns a stream whose data is compressed and written to `to`. fclose() writes
 * the rest, returns an error as EOF with errno set, and leaves `to` open. NULL: out of memory.
 */
FILE *gzip_file_over(FILE *to);

#endif
