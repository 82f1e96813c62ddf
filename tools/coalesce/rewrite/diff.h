/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - the differences between two texts, by diff(1).
 */
#ifndef MAM_TOOLS_COALESCE_DIFF_H
#define MAM_TOOLS_COALESCE_DIFF_H

#include <stdbool.h>
#include <stdio.h>

/*
 * co_diff_put - write a unified diff, with three lines of context; nothing if the texts are equal.
 * Returns false if diff(1) or memory failed: nothing was written, and an error was printed. The
 * caller checks `file` for errors. Sets LC_ALL and SIGCHLD of the process to their defaults.
 */
bool co_diff_put(FILE *file, const char *path_before, const char *path_after, const char *before,
		 const char *after);

#endif
