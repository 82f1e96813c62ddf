/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - see request.h.
 */
#include "interpose/control/request.h"

#include <stdbool.h>
#include <string.h>

#include <mam/control.h>

static const struct {
	const char *text; /* if it ends with a space, a number or a path follows */
	enum mam_request_kind kind;
} kinds[] = {
	{ "trim", MAM_REQUEST_TRIM },        { "limit ", MAM_REQUEST_LIMIT },
	{ "dump", MAM_REQUEST_DUMP },        { "stats keys", MAM_REQUEST_STATS_KEYS },
	{ "stats", MAM_REQUEST_STATS },      { "trace off", MAM_REQUEST_TRACE_OFF },
	{ "trace ", MAM_REQUEST_TRACE },     { "sites ", MAM_REQUEST_SITES },
	{ "suspend", MAM_REQUEST_SUSPEND },  { "suspend discard", MAM_REQUEST_SUSPEND_DISCARD },
	{ "suspend ", MAM_REQUEST_SUSPEND }, { "resume", MAM_REQUEST_RESUME },
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

/* An absolute path: the program has another working directory than the client. */
static bool parse_path(const char *text, size_t length, char path[PATH_MAX])
{
	if (length == 0 || length >= PATH_MAX || text[0] != '/' ||
	    memchr(text, '\0', length) != NULL || memchr(text, '\n', length) != NULL)
		return false;
	memcpy(path, text, length);
	path[length] = '\0';
	return true;
}

const char *mam_request_parse(const char *line, size_t length, struct mam_request *request)
{
	request->number = 0;
	request->path[0] = '\0';
	if (length > MAM_CONTROL_REQUEST_MAX)
		return "the request is too long";
	if (length == 0 || line[length - 1] != '\n')
		return "the request is incomplete";
	length--;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t word = strlen(kinds[i].text);
		bool has_more = kinds[i].text[word - 1] == ' ';

		if (length < word || memcmp(line, kinds[i].text, word) != 0 ||
		    (!has_more && length != word))
			continue;
		request->kind = kinds[i].kind;
		line += word;
		length -= word;
		if (has_more && request->kind == MAM_REQUEST_SUSPEND)
			return parse_path(line, length, request->path)
				       ? NULL
				       : "the name of the folder is not an absolute path";
		if (request->kind == MAM_REQUEST_TRACE)
			return parse_path(line, length, request->path)
				       ? NULL
				       : "the name of the trace is not an absolute path";
		if (!has_more || parse_number(line, length, &request->number))
			return NULL;
		return request->kind == MAM_REQUEST_SITES ? "the time is not a number of seconds"
							  : "the limit is not a number of bytes";
	}
	return "the request is unknown to the program's version of mam";
}
