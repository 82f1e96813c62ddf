/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.c - numbers in human-readable form.
 */
#include "kit/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_LIMIT ((int)sizeof(((struct format_text *)0)->text) - 1)

struct format_text format_bytes(uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct format_text out;
	double number = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(out.text, sizeof(out.text), "%" PRIu64 " B", bytes);
		return out;
	}
	/* 1023.996 would print as 1024.00: switch to the next unit first. */
	while (number >= 1023.995 && unit < 5) {
		number /= 1024;
		unit++;
	}
	snprintf(out.text, sizeof(out.text), "%.2f %s", number, units[unit]);
	return out;
}

struct format_text format_count(uint64_t count)
{
	struct format_text out, digits;
	int length = snprintf(digits.text, sizeof(digits.text), "%" PRIu64, count);
	char *to = out.text;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits.text[i];
	}
	*to = '\0';
	return out;
}

struct format_text format_ratio(double ratio)
{
	struct format_text out;

	snprintf(out.text, sizeof(out.text), ratio < 100 ? "%.3fx" : "%.0fx", ratio);
	return out;
}

struct format_text format_plain(uint64_t number)
{
	struct format_text out;

	snprintf(out.text, sizeof(out.text), "%" PRIu64, number);
	return out;
}

struct format_text format_counted(uint64_t count, const char *noun)
{
	struct format_text out = format_count(count);
	size_t used = strlen(out.text);

	snprintf(out.text + used, sizeof(out.text) - used, " %s", noun);
	used = strlen(out.text);
	if (count != 1 && used + 1 < sizeof(out.text))
		memcpy(out.text + used, "s", 2);
	return out;
}

double format_quotient(uint64_t over, uint64_t under)
{
	if (under == 0)
		return over == 0 ? 1.0 : 0.0;
	return (double)over / (double)under;
}

static size_t without(const char *text, size_t length, const char *suffix)
{
	size_t bytes = strlen(suffix);

	if (length > bytes && memcmp(text + length - bytes, suffix, bytes) == 0)
		return length - bytes;
	return length;
}

struct format_text format_name(const char *path, int columns)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;
	int length = (int)without(name, without(name, strlen(name), ".gz"), ".trace");
	int room = columns < NAME_LIMIT ? columns : NAME_LIMIT, head = (room - 2) / 2;
	int tail = room - 2 - head;
	struct format_text out;

	if (strcmp(path, "-") == 0)
		name = "standard input";
	if (length == 0 || strcmp(path, "-") == 0)
		length = (int)strlen(name);
	if (length <= room)
		snprintf(out.text, sizeof(out.text), "%.*s", length, name);
	else
		snprintf(out.text, sizeof(out.text), "%.*s..%.*s", head, name, tail,
			 name + length - tail);
	for (char *c = out.text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?'; /* a terminal might interpret it */
	return out;
}
