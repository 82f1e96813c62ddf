/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.h - numbers in a few columns, for the tables of mam top. Three digits and a unit.
 */
#ifndef TOOLS_TOP_NUMBER_H
#define TOOLS_TOP_NUMBER_H

#include <stdint.h>

#include "kit/format.h"

struct format_text number_bytes(uint64_t bytes); /* "512", "1.50K", "16.8G"; at most 5 columns */
struct format_text number_rate(double rate);     /* "0", "950", "1.20k"; below 0: "-", unknown */
struct format_text number_time(uint64_t ns);     /* "0", "12us", "1.50ms", "3.20s", "5.00h" */

/* A time of today as "15:04:05", an earlier one with its date, as "2026-11-29 15:04:05". */
struct format_text number_moment(uint64_t seconds);

struct format_text number_processes(uint64_t count); /* "1 process", "2 processes" */

#endif
