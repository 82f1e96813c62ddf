/* SPDX-License-Identifier: Apache-2.0 */
/*
 * typed.h - the command line as typed, and messages about files that it names.
 */
#ifndef MAM_TOOLS_BENCH_TYPED_H
#define MAM_TOOLS_BENCH_TYPED_H

#include <stddef.h>

/* bench_typed - "mam bench" and its arguments, for the CSV file's header; cut to `bytes` */
void bench_typed(int argc, char **argv, char *text, size_t bytes);

/* bench_cannot_write - report it with the reason from errno; returns the exit status */
int bench_cannot_write(const char *path, const char *option);

#endif
