/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - unified diffs of two texts, for people and for patch(1).
 */
#ifndef MAM_TOOLS_COALESCE_DIFF_H
#define MAM_TOOLS_COALESCE_DIFF_H

#include <stdbool.h>
#include <stdio.h>

/*
 * co_diff_put - writes a unified diff with three lines of context; nothing if the texts are equal.
 * False: memory ran out, and nothing was written. The caller checks the file for write errors.
 */
bool co_diff_put(FILE *file, const char *path_before, const char *path_after, const char *before,
		 const char *after);

#endif
