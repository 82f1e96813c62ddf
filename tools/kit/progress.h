/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - a progress line for long operations.
 *
 * It is shown only on a terminal, and only after two seconds, so it never appears in scripts or for
 * short operations.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* progress_begin - start the clock. quiet: never print anything. */
void progress_begin(bool quiet);

/*
 * progress_show - report that `what` is at `done` of `in_all` (0: unknown). A call that prints
 * nothing costs next to nothing; call it every few thousand steps.
 */
void progress_show(const char *what, uint64_t done, uint64_t in_all);

/* progress_end - erase the line. Call it before any other output. */
void progress_end(void);

#endif
