/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - see request.h.
 */
#include "interpose/control/request.h"

#include <stdbool.h>
#include <string.h>

#include <mam/control.h>

static const struct {
	const char *text; /* if it ends with a space, a number follows */
	enum mam_request_kind kind;
} kinds[] = {
	{ "trim", MAM_REQUEST_TRIM },   { "limit ", MAM_REQUEST_LIMIT },
	{ "dump", MAM_REQUEST_DUMP },   { "stats keys", MAM_REQUEST_STATS_KEYS },
	{ "stats", MAM_REQUEST_STATS },
};

/* Decimal digits without leading zeros, up to INT64_MAX. */
static bool parse_number(const char *text, size_t length, uint64_t *number)
{
	*number = 0;
	if (length == 0 || (length > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(text[i] - '0'), number))
			return false;
	}
	return *number <= INT64_MAX;
}

const char *mam_request_parse(const char *line, size_t length, struct mam_request *request)
{
	*request = (struct mam_request){ .bytes = 0 };
	if (length > MAM_CONTROL_REQUEST_MAX)
		return "the request is too long";
	if (length == 0 || line[length - 1] != '\n')
		return "the request is incomplete";
	length--;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t word = strlen(kinds[i].text);
		bool has_number = kinds[i].text[word - 1] == ' ';

		if (length < word || memcmp(line, kinds[i].text, word) != 0 ||
		    (!has_number && length != word))
			continue;
		request->kind = kinds[i].kind;
		if (!has_number || parse_number(line + word, length - word, &request->bytes))
			return NULL;
		return "the limit is not a number of bytes";
	}
	return "the request is unknown to the program's version of mam";
}
