/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_lines.c - numbers and texts of protocol 0, one per line; and long integers.
 */
#include <stdlib.h>
#include <string.h>

#include "read/pickle_parts.h"

static const char *line_of(const struct pickle_reader *reader)
{
	return reader->line.at;
}

bool pickle_make_long(struct pickle *pickle, const unsigned char *at, size_t bytes,
		      struct pickle_value *value)
{
	unsigned char fill = bytes && at[bytes - 1] & 0x80 ? 0xff : 0;
	uint64_t sum = 0;

	while (bytes > 8 && at[bytes - 1] == fill)
		bytes--;
	if (bytes > 8 || (bytes == 8 && (at[7] & 0x80) != (fill & 0x80))) {
		*value = pickle_make(PICKLE_HUGE, 0);
		return true;
	}
	for (size_t i = 8; i-- > 0;)
		sum = sum << 8 | (i < bytes ? at[i] : fill);
	return pickle_make_int(pickle, (int64_t)sum, value);
}

/* Parse digits after an optional sign. False: not a number. *huge: too large. */
static bool parse_int(const char *text, size_t bytes, int64_t *number, bool *huge)
{
	bool minus = bytes && text[0] == '-';
	uint64_t sum = 0, max = minus ? (uint64_t)1 << 63 : INT64_MAX;
	size_t i = bytes && (text[0] == '-' || text[0] == '+');

	if (i == bytes)
		return false;
	*huge = false;
	for (; i < bytes; i++) {
		uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';

		if (digit > 9)
			return false;
		*huge = *huge || sum > (max - digit) / 10;
		sum = *huge ? 0 : 10 * sum + digit;
	}
	*number = (int64_t)(minus ? 0 - sum : sum);
	return true;
}

bool pickle_line_int(struct pickle_reader *reader, struct pickle_value *value)
{
	const char *line = line_of(reader);
	size_t bytes = reader->line.count;
	int64_t number;
	bool huge;

	if (strcmp(line, "00") == 0 || strcmp(line, "01") == 0) {
		*value = pickle_make(PICKLE_BOOL, line[1] == '1');
		return true;
	}
	if (bytes && line[bytes - 1] == 'L')
		bytes--;
	if (!parse_int(line, bytes, &number, &huge))
		return pickle_fail(reader, "'%.20s' is not a number", line);
	if (huge) {
		*value = pickle_make(PICKLE_HUGE, 0);
		return true;
	}
	return pickle_make_int(reader->pickle, number, value) || pickle_fail_memory(reader);
}

bool pickle_line_number(struct pickle_reader *reader, uint64_t *number)
{
	int64_t signed_number;
	bool huge;

	if (!parse_int(line_of(reader), reader->line.count, &signed_number, &huge) || huge ||
	    signed_number < 0)
		return pickle_fail(reader, "'%.20s' is not an index of the memo", line_of(reader));
	*number = (uint64_t)signed_number;
	return true;
}

bool pickle_line_float(struct pickle_reader *reader, struct pickle_value *value)
{
	char *end;
	double number = strtod(line_of(reader), &end);

	if (reader->line.count == 0 || *end)
		return pickle_fail(reader, "'%.20s' is not a number", line_of(reader));
	return pickle_make_float(reader->pickle, number, value) || pickle_fail_memory(reader);
}

/* Parse `digits` hexadecimal digits; false: invalid. */
static bool parse_hex(const char *text, size_t digits, uint32_t *number)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < digits; i++) {
		char c = text[i];
		int digit = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;

		if (digit < 0 || digit > 15 || (digit > 9 && (c | 0x20) < 'a'))
			return false;
		sum = sum << 4 | (uint32_t)digit;
	}
	*number = sum;
	return true;
}

/* Encode a character as UTF-8 and return its length. An invalid one becomes U+FFFD. */
static size_t encode(uint32_t code, char *to)
{
	if (code > 0x10ffff)
		code = 0xfffd;
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* Make a value of the decoded text, which is the last `bytes` bytes of chars. */
static bool keep(struct pickle_reader *reader, const char *text, size_t bytes,
		 struct pickle_value *value)
{
	struct pickle_array *chars = &reader->pickle->chars;

	if (!pickle_more(chars, 1, bytes))
		return pickle_fail_memory(reader);
	if (bytes)
		memcpy((char *)chars->at + chars->count, text, bytes);
	chars->count += bytes;
	return pickle_make_text(reader->pickle, PICKLE_TEXT, bytes, value) ||
	       pickle_fail_memory(reader);
}

/* A quoted string with escapes. The decoded text is never longer than the quoted one. */
bool pickle_line_string(struct pickle_reader *reader, struct pickle_value *value)
{
	char *line = reader->line.at;
	size_t bytes = reader->line.count, to = 0;
	uint32_t code;

	if (bytes < 2 || (line[0] != '\'' && line[0] != '"') || line[bytes - 1] != line[0])
		return pickle_fail(reader, "a string is not quoted");
	for (size_t i = 1; i < bytes - 1; i++) {
		if (line[i] != '\\' || i + 2 >= bytes) {
			line[to++] = line[i];
		} else if (line[i + 1] == 'x' && i + 4 < bytes &&
			   parse_hex(line + i + 2, 2, &code)) {
			line[to++] = (char)code;
			i += 3;
		} else {
			i++;
			line[to++] = line[i] == 'n' ? '\n' : line[i] == 't' ? '\t' : line[i];
		}
	}
	return keep(reader, line, to, value);
}

/* Latin-1, with \uXXXX and \UXXXXXXXX for other characters: a byte becomes at most two. */
bool pickle_line_unicode(struct pickle_reader *reader, struct pickle_value *value)
{
	size_t bytes = reader->line.count, to = 0;
	const char *line;
	char *text;
	uint32_t code;

	if (!pickle_more(&reader->line, 1, 2 * bytes + 8))
		return pickle_fail_memory(reader);
	line = reader->line.at;
	text = (char *)reader->line.at + bytes + 1;
	for (size_t i = 0; i < bytes; i++) {
		size_t digits = line[i] != '\\' || i + 1 >= bytes ? 0
				: line[i + 1] == 'u'              ? 4
				: line[i + 1] == 'U'              ? 8
								  : 0;

		code = (unsigned char)line[i];
		if (digits && i + 1 + digits < bytes && parse_hex(line + i + 2, digits, &code))
			i += 1 + digits;
		to += encode(code, text + to);
	}
	return keep(reader, text, to, value);
}
