/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - requests and responses of HTTP/1.1, as far as a server of one page needs them. Nothing
 * here waits or allocates memory.
 */
#ifndef TOOLS_HTTP_H
#define TOOLS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#define HTTP_REQUEST_MAX 8192 /* bytes of a request line and its header fields */
#define HTTP_HEAD_MAX 512     /* bytes of a response before its body */

enum http_status {
	HTTP_OK = 200,
	HTTP_BAD_REQUEST = 400,
	HTTP_NOT_FOUND = 404,
	HTTP_METHOD_NOT_ALLOWED = 405,
	HTTP_TIMEOUT = 408,
	HTTP_TOO_LARGE = 431,
	HTTP_UNAVAILABLE = 503,
	HTTP_VERSION_UNKNOWN = 505
};

struct http_request {
	enum http_status status; /* of the response to send */
	bool is_head;            /* the response has no body */
	bool closes;             /* close the connection after the response */
};

/*
 * http_parse - parse the first request. Returns its size in bytes; 0: it is incomplete. An invalid
 * request has a status above 399, and closes the connection: its end is not known.
 */
size_t http_parse(const char *text, size_t bytes, struct http_request *request);

/* http_reason - the phrase of a status: "Not Found". */
const char *http_reason(enum http_status status);

/* http_head - write the start of a response to that request, up to its body. Returns its size. */
size_t http_head(char head[HTTP_HEAD_MAX], const struct http_request *request, const char *type,
		 size_t body_bytes, time_t now);

#endif
