/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fix.h - files that are rewritten in place: all of them or none.
 */
#ifndef MAM_TOOLS_COALESCE_FIX_H
#define MAM_TOOLS_COALESCE_FIX_H

#include <stdbool.h>
#include <stddef.h>

struct co_fix {
	char *path, *backup, *text;
	size_t bytes;
};

struct co_fixes {
	struct co_fix *fixes;
	size_t count, room;
};

/* co_fixes_add - keeps a text for a file; it takes the text over. False: memory ran out. */
bool co_fixes_add(struct co_fixes *fixes, const char *path, char *text, size_t bytes);
/*
 * co_fixes_write - keeps each file as FILE.orig, then writes the new ones. False: reported, and all
 * files are as they were.
 */
bool co_fixes_write(struct co_fixes *fixes);
void co_fixes_free(struct co_fixes *fixes);

#endif
