/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.h - numbers in human-readable form.
 *
 * Each function returns a small struct by value, so a call can be one of printf's arguments:
 * printf("%s", format_bytes(x).text).
 */
#ifndef TOOLS_FORMAT_H
#define TOOLS_FORMAT_H

#include <stdint.h>

struct format_text {
	char text[40];
};

struct format_text format_bytes(uint64_t bytes);                     /* "16.79 GiB", "512 B" */
struct format_text format_count(uint64_t count);                     /* "65,823" */
struct format_text format_ratio(double ratio);                       /* "1.104x" */
struct format_text format_plain(uint64_t number);                    /* "65823", for scripts */
struct format_text format_counted(uint64_t count, const char *noun); /* "1 block", "2 blocks" */
double format_quotient(uint64_t over, uint64_t under);               /* 1 when both are 0 */

/*
 * format_name - the last component of a path without .gz and .trace, its middle cut out beyond
 * `columns`.
 */
struct format_text format_name(const char *path, int columns);

#endif
