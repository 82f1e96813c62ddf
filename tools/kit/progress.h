/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - a line that says how far a long piece of work is.
 *
 * It shows only on a terminal, and only once two seconds have passed, so that quick work and
 * scripts never see it.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* progress_begin - start the clock. quiet: never show anything. */
void progress_begin(bool quiet);

/*
 * progress_show - `what` is at `done` of `in_all` (0: not known). Costs next to nothing when not
 * due; call it every few thousand steps.
 */
void progress_show(const char *what, uint64_t done, uint64_t in_all);

/* progress_end - wipe the line. Call it before anything else is printed. */
void progress_end(void);

#endif
