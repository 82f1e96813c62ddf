/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.c - validate and repair untrusted UTF-8.
 *
 * The first byte of a character gives its length. The first and second byte together determine
 * whether the sequence is well formed, by a table after table 3-7 of the Unicode standard. All
 * further bytes are in 0x80 to 0xbf.
 */
#include "kit/utf8.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	unsigned char first_min, first_max;
	unsigned char second_min, second_max;
	unsigned char length;
} kinds[] = {
	{ 0x00, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

size_t utf8_length(const char *text, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t kind = 0, length;

	if (bytes == 0)
		return 0;
	while (kind < KINDS && (at[0] < kinds[kind].first_min || at[0] > kinds[kind].first_max))
		kind++;
	if (kind == KINDS)
		return 0;
	length = kinds[kind].length;
	if (length > bytes)
		return 0;
	if (length > 1 && (at[1] < kinds[kind].second_min || at[1] > kinds[kind].second_max))
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

char *utf8_repaired(const char *text, size_t bytes, size_t *repaired_bytes)
{
	const size_t unknown_bytes = sizeof(UTF8_UNKNOWN) - 1;
	char *repaired = malloc(unknown_bytes * bytes + 1);
	size_t to = 0;

	if (!repaired)
		return NULL;
	for (size_t from = 0; from < bytes;) {
		size_t length = utf8_length(text + from, bytes - from);

		memcpy(repaired + to, length ? text + from : UTF8_UNKNOWN,
		       length ? length : unknown_bytes);
		to += length ? length : unknown_bytes;
		from += length ? length : 1;
	}
	repaired[to] = '\0';
	*repaired_bytes = to;
	return repaired;
}
