/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as requests to mam exporter, one after the other: a request ends at the same byte no
 * matter in which pieces it arrives, and only a request with the right method, path, version and
 * Host is served. The start of each response has the form of HTTP.
 */
#include <strings.h>

#include "exporter/http.h"
#include "fuzz.h"

/* Parses a copy, so that sanitizers notice a read after its end. */
static size_t parse(const uint8_t *data, size_t bytes, struct http_request *request)
{
	char *text = (char *)malloc(bytes + (bytes == 0));
	size_t size;

	require(text != NULL, "no memory");
	memcpy(text, data, bytes);
	size = http_parse(text, bytes, request);
	free(text);
	return size;
}

/* The fields with that name: a second implementation, on the whole request. */
static int count_fields(const char *text, const char *name)
{
	int count = 0;

	for (const char *line = strchr(text, '\n'); line != NULL; line = strchr(line + 1, '\n'))
		count += strncasecmp(line + 1, name, strlen(name)) == 0;
	return count;
}

static void check_served(const uint8_t *data, size_t size, const struct http_request *request)
{
	char *text = (char *)calloc(1, size + 1);
	const char *first;
	int hosts;

	require(text != NULL, "no memory");
	memcpy(text, data, size);
	require(strlen(text) == size, "a null character is accepted");
	first = text + strspn(text, "\r\n");
	hosts = count_fields(first, "host:");
	require(strncmp(first, request->is_head ? "HEAD " : "GET ", request->is_head ? 5 : 4) == 0,
		"another method is served");
	require(strstr(first, "/metrics") != NULL, "another path is served");
	require(strstr(first, " HTTP/1.") != NULL, "another version is served");
	require(hosts <= 1 && (hosts == 1 || request->closes), "not one host");
	require(request->closes || count_fields(first, "transfer-encoding:") == 0,
		"a body may be taken for a request");
	require(text[size - 1] == '\n', "a request has no end");
	free(text);
}

static void check_head(const struct http_request *request)
{
	char head[HTTP_HEAD_MAX];
	size_t bytes = http_head(head, request, "text/plain", 12345, 1000000000);

	require(bytes == strlen(head) && bytes > 4 && strcmp(head + bytes - 4, "\r\n\r\n") == 0,
		"a response has no end");
	require(strncmp(head, "HTTP/1.1 ", 9) == 0 && http_reason(request->status)[0] != '\0',
		"a response has no status");
	require((strstr(head, "\r\nConnection: close\r\n") != NULL) == request->closes,
		"a response does not report the end of the connection");
}

/* Returns the size of the first request; 0: there is none. */
static size_t check_first(const uint8_t *data, size_t bytes)
{
	struct http_request request, part;
	size_t size = parse(data, bytes, &request);

	require(size <= bytes, "a request is longer than its text");
	if (size == 0) {
		require(bytes < HTTP_REQUEST_MAX, "a request has no limit");
		return 0;
	}
	if (request.status != HTTP_TOO_LARGE) {
		require(size <= HTTP_REQUEST_MAX, "a request is too large");
		require(parse(data, size, &part) == size && part.status == request.status &&
				part.is_head == request.is_head && part.closes == request.closes,
			"what follows a request changes it");
		for (size_t i = 1; i < size; i += i < 64 ? 1 : size / 16)
			require(parse(data, i, &part) == 0, "a request ends early");
		require(parse(data, size - 1, &part) == 0, "a request ends early");
	}
	require(request.status == HTTP_OK || request.status == HTTP_NOT_FOUND || request.closes,
		"the connection stays open after an invalid request");
	if (request.status == HTTP_OK)
		check_served(data, size, &request);
	check_head(&request);
	return request.closes ? 0 : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	for (size_t at = 0, size = 1; at < bytes && size != 0; at += size)
		size = check_first(data + at, bytes - at);
	return 0;
}
