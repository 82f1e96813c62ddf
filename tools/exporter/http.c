/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - see http.h. It follows RFC 9112; a request is rejected where parsers are known to
 * differ: control characters, folded lines, space before a colon, more than one Host.
 *
 * Bodies are not read: after a request that may have one the connection is closed.
 */
#include "exporter/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PATH "/metrics"

/* Part of the request. */
struct span {
	const char *at;
	size_t bytes;
};

static bool is_equal(struct span span, const char *text)
{
	return span.bytes == strlen(text) && memcmp(span.at, text, span.bytes) == 0;
}

static bool is_name(struct span span, const char *name)
{
	return span.bytes == strlen(name) && strncasecmp(span.at, name, span.bytes) == 0;
}

/* Returns the part before the first such character, and moves `rest` past that. */
static struct span take(struct span *rest, char end)
{
	const char *found = (const char *)memchr(rest->at, end, rest->bytes);
	size_t bytes = found == NULL ? rest->bytes : (size_t)(found - rest->at);
	struct span part = { rest->at, bytes };

	rest->at += bytes + (found != NULL);
	rest->bytes -= bytes + (found != NULL);
	return part;
}

static struct span trim(struct span span)
{
	while (span.bytes > 0 && (*span.at == ' ' || *span.at == '\t')) {
		span.at++;
		span.bytes--;
	}
	while (span.bytes > 0 &&
	       (span.at[span.bytes - 1] == ' ' || span.at[span.bytes - 1] == '\t'))
		span.bytes--;
	return span;
}

static bool is_token(struct span span)
{
	for (size_t i = 0; i < span.bytes; i++) {
		char c = span.at[i];

		if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
		    (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL))
			return false;
	}
	return span.bytes > 0;
}

/* A line without its end, which is LF or CR LF. */
static struct span take_line(struct span *rest)
{
	struct span line = take(rest, '\n');

	if (line.bytes > 0 && line.at[line.bytes - 1] == '\r')
		line.bytes--;
	return line;
}

static bool has_control(struct span span)
{
	for (size_t i = 0; i < span.bytes; i++)
		if (((unsigned char)span.at[i] < 0x20 && span.at[i] != '\t') || span.at[i] == 0x7f)
			return true;
	return false;
}

/* Some clients send empty lines between requests. */
static size_t skip_empty(const char *text, size_t bytes)
{
	size_t skipped = 0;

	while (skipped < bytes && (text[skipped] == '\r' || text[skipped] == '\n'))
		skipped++;
	return skipped;
}

/* Returns the size of the request line and the header fields with the empty line; 0: incomplete. */
static size_t measure(struct span text)
{
	struct span rest = text;

	while (memchr(rest.at, '\n', rest.bytes) != NULL)
		if (take_line(&rest).bytes == 0)
			return text.bytes - rest.bytes;
	return 0;
}

/* "/metrics?x", or with a proxy "http://host/metrics?x". */
static bool is_path(struct span target)
{
	if (target.bytes >= 7 && strncasecmp(target.at, "http://", 7) == 0) {
		const char *slash = (const char *)memchr(target.at + 7, '/', target.bytes - 7);

		if (slash == NULL)
			return false;
		target.bytes -= (size_t)(slash - target.at);
		target.at = slash;
	}
	return is_equal(take(&target, '?'), PATH);
}

static bool is_version(struct span version)
{
	return version.bytes == 8 && memcmp(version.at, "HTTP/", 5) == 0 && version.at[5] >= '0' &&
	       version.at[5] <= '9' && version.at[6] == '.' && version.at[7] >= '0' &&
	       version.at[7] <= '9';
}

static enum http_status parse_first(struct span line, struct http_request *request, bool *is_old)
{
	struct span method = take(&line, ' '), target = take(&line, ' ');

	*is_old = is_equal(line, "HTTP/1.0");
	request->closes = *is_old;
	request->is_head = is_equal(method, "HEAD");
	if (!is_token(method) || target.bytes == 0 || !is_version(line))
		return HTTP_BAD_REQUEST;
	if (line.at[5] != '1')
		return HTTP_VERSION_UNKNOWN;
	if (!request->is_head && !is_equal(method, "GET"))
		return HTTP_METHOD_NOT_ALLOWED;
	return is_path(target) ? HTTP_OK : HTTP_NOT_FOUND;
}

static bool has_word(struct span list, const char *word)
{
	while (list.bytes > 0)
		if (is_name(trim(take(&list, ',')), word))
			return true;
	return false;
}

/* Returns the number of Host fields, or -1 if a field is invalid. */
static int parse_fields(struct span rest, struct http_request *request)
{
	int hosts = 0;

	for (;;) {
		struct span line = take_line(&rest), name;

		if (line.bytes == 0)
			return hosts;
		if (memchr(line.at, ':', line.bytes) == NULL || has_control(line))
			return -1;
		name = take(&line, ':');
		line = trim(line);
		if (!is_token(name))
			return -1;
		hosts += is_name(name, "Host");
		if ((is_name(name, "Connection") && has_word(line, "close")) ||
		    is_name(name, "Transfer-Encoding") ||
		    (is_name(name, "Content-Length") && !is_equal(line, "0")))
			request->closes = true;
	}
}

size_t http_parse(const char *text, size_t bytes, struct http_request *request)
{
	size_t skipped = skip_empty(text, bytes), size;
	struct span rest = { text + skipped, bytes - skipped }, line;
	bool is_old = false;
	int hosts;

	*request = (struct http_request){ .status = HTTP_TOO_LARGE, .closes = true };
	size = measure(rest);
	if (skipped + size > HTTP_REQUEST_MAX || (size == 0 && bytes >= HTTP_REQUEST_MAX))
		return bytes;
	if (size == 0)
		return 0;
	rest.bytes = size;
	line = take_line(&rest);
	request->status =
		has_control(line) ? HTTP_BAD_REQUEST : parse_first(line, request, &is_old);
	if (request->status != HTTP_BAD_REQUEST && request->status != HTTP_VERSION_UNKNOWN) {
		hosts = parse_fields(rest, request);
		if (hosts < 0 || hosts > 1 || (hosts == 0 && !is_old))
			request->status = HTTP_BAD_REQUEST;
	}
	if (request->status != HTTP_OK && request->status != HTTP_NOT_FOUND)
		request->closes = true;
	return skipped + size;
}

const char *http_reason(enum http_status status)
{
	switch (status) {
	case HTTP_OK: return "OK";
	case HTTP_BAD_REQUEST: return "Bad Request";
	case HTTP_NOT_FOUND: return "Not Found";
	case HTTP_METHOD_NOT_ALLOWED: return "Method Not Allowed";
	case HTTP_TIMEOUT: return "Request Timeout";
	case HTTP_TOO_LARGE: return "Request Header Fields Too Large";
	case HTTP_UNAVAILABLE: return "Service Unavailable";
	case HTTP_VERSION_UNKNOWN: return "HTTP Version Not Supported";
	}
	return "";
}

/* Not strftime(), whose names of days and months depend on the locale. */
static void format_date(char text[40], time_t now)
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	struct tm tm = { .tm_mday = 1 };

	gmtime_r(&now, &tm);
	snprintf(text, 40, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday % 7],
		 tm.tm_mday % 32, months[tm.tm_mon % 12], (tm.tm_year + 1900) % 10000,
		 tm.tm_hour % 24, tm.tm_min % 60, tm.tm_sec % 61);
}

size_t http_head(char head[HTTP_HEAD_MAX], const struct http_request *request, const char *type,
		 size_t body_bytes, time_t now)
{
	char date[40];

	format_date(date, now);
	return (size_t)snprintf(
		head, HTTP_HEAD_MAX,
		"HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\n"
		"Content-Length: %zu\r\n%s%s\r\n",
		(int)request->status, http_reason(request->status), date, type, body_bytes,
		request->status == HTTP_METHOD_NOT_ALLOWED ? "Allow: GET, HEAD\r\n" : "",
		request->closes ? "Connection: close\r\n" : "");
}
