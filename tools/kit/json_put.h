/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_put.h - what JSON needs that printf() has not.
 */
#ifndef TOOLS_JSON_PUT_H
#define TOOLS_JSON_PUT_H

#include <stdint.h>
#include <stdio.h>

/* json_put_text - a string with its quotes. Any bytes: what is no UTF-8 becomes U+FFFD. */
void json_put_text(FILE *file, const char *text);

/*
 * json_put_number - as a number up to 2^53, above it as a string: most readers keep numbers as
 * doubles and would say another one.
 */
void json_put_number(FILE *file, uint64_t number);

#endif
