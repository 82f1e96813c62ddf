/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - interned strings: each distinct text is stored once and numbered from 0 in the order of
 * first use.
 */
#ifndef TOOLS_NAMES_H
#define TOOLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/idtable.h"

#define NAMES_MAX ((uint32_t)1 << 24) /* limit of `count`; further texts become the empty name */

struct names {
	char **texts;   /* `count` of them */
	uint32_t *next; /* for each: the next one with the same hash, or IDTABLE_NONE */
	uint32_t count;
	uint32_t room;
	struct idtable firsts; /* maps a hash to the first text that has it */
};

/*
 * names_init - create the table with one name, the empty one, number 0. False: out of memory, and
 * nothing needs to be freed.
 */
bool names_init(struct names *names);
void names_fini(struct names *names);

/*
 * names_number - the number of a text of `bytes` bytes; a NUL byte ends it earlier. False: out of
 * memory. O(1), and one allocation for a new text.
 */
bool names_number(struct names *names, const char *text, size_t bytes, uint32_t *number);

#endif
