/* SPDX-License-Identifier: Apache-2.0 */
/*
 * typed.h - the command line: as it was typed, and what is said of a file that it names.
 */
#ifndef MAM_TOOLS_BENCH_TYPED_H
#define MAM_TOOLS_BENCH_TYPED_H

#include <stddef.h>

/* bench_typed - "mam bench" and its arguments, for the CSV file's header; cut to `bytes` */
void bench_typed(int argc, char **argv, char *text, size_t bytes);

/* bench_cannot_write - says so, and why by errno; gives the exit status */
int bench_cannot_write(const char *path, const char *option);

#endif
