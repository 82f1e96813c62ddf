/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - interned strings: each distinct text is stored once.
 *
 * A table maps the hash of a text to the first text with that hash; others with the same hash are
 * chained to it. The hash is FNV-1a (Fowler, Noll, Vo) of 64 bits, so chains have length 1 unless
 * an input is crafted to collide.
 */
#include "kit/names.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const char *text, size_t bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static bool make_room(struct names *names)
{
	uint32_t room = names->room ? 2 * names->room : 64;
	char **texts;
	uint32_t *next;

	if (names->count < names->room)
		return true;
	texts = realloc(names->texts, room * sizeof(*texts));
	if (!texts)
		return false;
	names->texts = texts;
	next = realloc(names->next, room * sizeof(*next));
	if (!next)
		return false;
	names->next = next;
	names->room = room;
	return true;
}

/* Append a name. `first` is the table's field that holds the head of its chain. */
static bool add(struct names *names, uint32_t *first, const char *text, size_t bytes)
{
	char *copy = malloc(bytes + 1);

	if (!copy)
		return false;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	names->texts[names->count] = copy;
	names->next[names->count] = *first;
	*first = names->count++;
	return true;
}

bool names_number(struct names *names, const char *text, size_t bytes, uint32_t *number)
{
	uint32_t *first, at;

	bytes = strnlen(text, bytes);
	if (!make_room(names))
		return false;
	first = idtable_at(&names->firsts, hash_of(text, bytes));
	if (!first)
		return false;
	for (at = *first; at != IDTABLE_NONE; at = names->next[at]) {
		if (strlen(names->texts[at]) == bytes &&
		    memcmp(names->texts[at], text, bytes) == 0) {
			*number = at;
			return true;
		}
	}
	if (names->count == NAMES_MAX) {
		*number = 0;
		return true;
	}
	if (!add(names, first, text, bytes))
		return false;
	*number = names->count - 1;
	return true;
}

bool names_init(struct names *names)
{
	uint32_t number;

	*names = (struct names){ 0 };
	if (names_number(names, "", 0, &number))
		return true;
	names_fini(names);
	return false;
}

void names_fini(struct names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->texts[i]);
	free(names->texts);
	free(names->next);
	idtable_fini(&names->firsts);
	*names = (struct names){ 0 };
}
