/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip_file.h - a stream whose bytes go into another one as gzip.
 */
#ifndef TOOLS_GZIP_FILE_H
#define TOOLS_GZIP_FILE_H

#include <stdio.h>

/*
 * gzip_file_over - what is written into the answer goes into `to`, compressed. fclose() writes the
 * rest, answers what went wrong (errno), and leaves `to` open. NULL: no memory.
 */
FILE *gzip_file_over(FILE *to);

#endif
