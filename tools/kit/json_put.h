/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_put.h - JSON output that printf() does not provide.
 */
#ifndef TOOLS_JSON_PUT_H
#define TOOLS_JSON_PUT_H

#include <stdint.h>
#include <stdio.h>

/*
 * json_put_text - write a string with its quotes. Accepts any bytes: invalid UTF-8 becomes U+FFFD.
 */
void json_put_text(FILE *file, const char *text);

/*
 * json_put_number - write a number up to 2^53, and a larger one as a string: most readers keep
 * numbers as doubles and would round it.
 */
void json_put_number(FILE *file, uint64_t number);

#endif
