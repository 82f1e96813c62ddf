/* SPDX-License-Identifier: Apache-2.0 */
/* percent.h - values of traces (mam-trace(5)), in which %XX is the byte of that number. */
#ifndef TOOLS_PERCENT_H
#define TOOLS_PERCENT_H

#include <stddef.h>

/*
 * percent_decode - decode %XX to bytes; invalid sequences are kept. Returns the length in `to`, which
 * has room for `bytes` bytes and may be `text`.
 */
size_t percent_decode(const char *text, size_t bytes, char *to);

/* percent_digit - the value of a hexadecimal digit; -1: not one. */
int percent_digit(char c);

#endif
