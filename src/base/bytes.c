/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.c - sizes as people write and read them (bytes.h).
 */
#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

static const struct {
	const char *suffix;
	uint64_t bytes;
} units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "K", UINT64_C(1) << 10 },
	{ "KiB", UINT64_C(1) << 10 },
	{ "M", UINT64_C(1) << 20 },
	{ "MiB", UINT64_C(1) << 20 },
	{ "G", UINT64_C(1) << 30 },
	{ "GiB", UINT64_C(1) << 30 },
	{ "T", UINT64_C(1) << 40 },
	{ "TiB", UINT64_C(1) << 40 },
	{ "P", UINT64_C(1) << 50 },
	{ "PiB", UINT64_C(1) << 50 },
	{ "E", UINT64_C(1) << 60 },
	{ "EiB", UINT64_C(1) << 60 },
	/* Powers of 1000 as in the International System of Units and in GNU's tools. */
	{ "KB", 1000 },
	{ "MB", 1000000 },
	{ "GB", 1000000000 },
	{ "TB", UINT64_C(1000000000000) },
};

static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

/* Parse the number at the start of `text`. Returns the rest; NULL: no number, or too large. */
static const char *parse_number(const char *text, uint64_t *number)
{
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return NULL;
	}
	if (at == text)
		return NULL;
	*number = value;
	return at;
}

bool mam_parse_bytes(const char *text, uint64_t *bytes)
{
	uint64_t number, product;
	const char *suffix = parse_number(text, &number);

	if (!suffix)
		return false;
	if (suffix[0] == ' ' && suffix[1] != '\0')
		suffix++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcasecmp(suffix, units[i].suffix) != 0)
			continue;
		if (__builtin_mul_overflow(number, units[i].bytes, &product))
			return false;
		*bytes = product;
		return true;
	}
	return false;
}

bool mam_parse_count(const char *text, uint64_t *count)
{
	uint64_t number;
	const char *rest = parse_number(text, &number);

	if (!rest || *rest != '\0')
		return false;
	*count = number;
	return true;
}

char *mam_format_bytes(uint64_t bytes, char text[MAM_BYTES_TEXT])
{
	const uint64_t last = sizeof(names) / sizeof(names[0]) - 1;
	unsigned int unit = 0;

	while (unit < last && bytes >> (10 * unit) >= 1024)
		unit++;
	if (bytes % (UINT64_C(1) << (10 * unit)) == 0)
		snprintf(text, MAM_BYTES_TEXT, "%" PRIu64 " %s", bytes >> (10 * unit), names[unit]);
	else
		snprintf(text, MAM_BYTES_TEXT, "%.2f %s",
			 (double)bytes / (double)(UINT64_C(1) << (10 * unit)), names[unit]);
	return text;
}
