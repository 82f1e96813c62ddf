/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - texts that come up again and again, each kept once and numbered from 0 in the order of
 * its first coming.
 */
#ifndef TOOLS_NAMES_H
#define TOOLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/idtable.h"

#define NAMES_MOST ((uint32_t)1 << 24) /* count; what comes later is the first name, "" */

struct names {
	char **texts;        /* `count` of them */
	uint32_t *next;      /* of each: the next one whose hash is the same, or IDTABLE_NONE */
	uint32_t count;
	uint32_t room;
	struct idtable firsts; /* from a hash to the first text that has it */
};

/* names_init - with one name, the empty one, number 0. False: no memory, nothing to give back. */
bool names_init(struct names *names);
void names_fini(struct names *names);

/*
 * names_number - the number of a text of `bytes` bytes, a zero byte and what follows left out.
 * False: no memory. O(1) and one allocation for a new text.
 */
bool names_number(struct names *names, const char *text, size_t bytes, uint32_t *number);

#endif
