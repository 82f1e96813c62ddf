/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_put.c - arbitrary strings and numbers as JSON (RFC 8259).
 */
#include "kit/json_put.h"

#include <inttypes.h>
#include <string.h>

#include "kit/utf8.h"

#define NUMBER_MAX ((uint64_t)1 << 53)

void json_put_text(FILE *file, const char *text)
{
	size_t bytes = strlen(text);

	putc('"', file);
	while (bytes > 0) {
		unsigned char byte = (unsigned char)*text;
		size_t length = utf8_length(text, bytes);

		if (length == 0)
			fputs(UTF8_UNKNOWN, file);
		else if (byte < 0x20 || byte == 0x7f)
			fprintf(file, "\\u%04x", byte);
		else if (byte == '"' || byte == '\\')
			fprintf(file, "\\%c", byte);
		else
			fwrite(text, 1, length, file);
		text += length ? length : 1;
		bytes -= length ? length : 1;
	}
	putc('"', file);
}

void json_put_number(FILE *file, uint64_t number)
{
	const char *quote = number > NUMBER_MAX ? "\"" : "";

	fprintf(file, "%s%" PRIu64 "%s", quote, number, quote);
}
