/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - text that comes from outside and may be anything, for files that must be UTF-8.
 */
#ifndef TOOLS_UTF8_H
#define TOOLS_UTF8_H

#include <stddef.h>

#define UTF8_UNKNOWN "\xef\xbf\xbd" /* U+FFFD: stands for a byte that is no text */

/*
 * utf8_length - how many bytes the first character has, 1 to 4; 0: the first byte begins none.
 * Neither surrogates, nor more bytes than needed, nor what is above U+10FFFF count as characters.
 */
size_t utf8_length(const char *text, size_t bytes);

/* utf8_repaired - each byte that begins no character replaced. To be freed; NULL: no memory. */
char *utf8_repaired(const char *text, size_t bytes, size_t *repaired_bytes);

#endif
