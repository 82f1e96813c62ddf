/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - validate and repair untrusted text for files that have to be UTF-8.
 */
#ifndef TOOLS_UTF8_H
#define TOOLS_UTF8_H

#include <stddef.h>

#define UTF8_UNKNOWN "\xef\xbf\xbd" /* U+FFFD: replaces a byte that is not part of a character */

/*
 * utf8_length - the length of the first character in bytes, 1 to 4; 0: the first byte does not
 * start one. Surrogates, overlong encodings and code points above U+10FFFF are invalid.
 */
size_t utf8_length(const char *text, size_t bytes);

/*
 * utf8_repaired - returns a copy in which each byte that does not start a character is replaced.
 * The caller frees it; NULL: out of memory.
 */
char *utf8_repaired(const char *text, size_t bytes, size_t *repaired_bytes);

#endif
