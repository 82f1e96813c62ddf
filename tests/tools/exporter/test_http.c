/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of HTTP/1.1: which are valid, where they end, what the response is, and whether the
 * connection stays open; and the start of a response.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/http.h"

#define HOST "Host: a\r\n"

static const struct {
	const char *text;
	enum http_status status;
	bool is_head, closes;
} requests[] = {
	{ "GET /metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_OK, false, false },
	{ "HEAD /metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_OK, true, false },
	{ "GET /metrics HTTP/1.0\r\n\r\n", HTTP_OK, false, true },
	{ "GET /metrics HTTP/1.7\r\n" HOST "\r\n", HTTP_OK, false, false },
	{ "GET /metrics HTTP/1.0\n\n", HTTP_OK, false, true },
	{ "\r\n\nGET /metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_OK, false, false },
	{ "GET /metrics?a=b HTTP/1.1\r\n" HOST "\r\n", HTTP_OK, false, false },
	{ "GET http://a:1/metrics?a HTTP/1.1\r\n" HOST "\r\n", HTTP_OK, false, false },
	{ "GET /metrics HTTP/1.1\r\nhOsT:a\r\n\r\n", HTTP_OK, false, false },
	{ "GET /metrics HTTP/1.1\r\n" HOST "Connection: Keep-Alive\r\n\r\n", HTTP_OK, false,
	  false },
	{ "GET /metrics HTTP/1.1\r\n" HOST "Connection: x, CLOSE \r\n\r\n", HTTP_OK, false, true },
	{ "GET /metrics HTTP/1.1\r\n" HOST "Connection: closed\r\n\r\n", HTTP_OK, false, false },
	{ "GET /metrics HTTP/1.1\r\n" HOST "X: close\r\n\r\n", HTTP_OK, false, false },
	{ "GET /metrics HTTP/1.1\r\n" HOST "X:\r\n\r\n", HTTP_OK, false, false },
	{ "GET /metrics HTTP/1.1\r\n" HOST "X: \xff\t y\r\n\r\n", HTTP_OK, false, false },
	/* There may be a body, which is not read. */
	{ "GET /metrics HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n", HTTP_OK, false, true },
	{ "GET /metrics HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", HTTP_OK, false, false },
	{ "GET /metrics HTTP/1.1\r\n" HOST "Content-Length: x\r\n\r\n", HTTP_OK, false, true },
	{ "GET / HTTP/1.1\r\n" HOST "transfer-encoding: chunked\r\n\r\n", HTTP_NOT_FOUND, false,
	  true },
	/* Other paths. */
	{ "GET / HTTP/1.1\r\n" HOST "\r\n", HTTP_NOT_FOUND, false, false },
	{ "HEAD /x HTTP/1.1\r\n" HOST "\r\n", HTTP_NOT_FOUND, true, false },
	{ "GET * HTTP/1.1\r\n" HOST "\r\n", HTTP_NOT_FOUND, false, false },
	{ "GET /metrics/ HTTP/1.1\r\n" HOST "\r\n", HTTP_NOT_FOUND, false, false },
	{ "GET /metric HTTP/1.1\r\n" HOST "\r\n", HTTP_NOT_FOUND, false, false },
	{ "GET /../metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_NOT_FOUND, false, false },
	{ "GET http://a HTTP/1.1\r\n" HOST "\r\n", HTTP_NOT_FOUND, false, false },
	/* Other methods. */
	{ "POST /metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_METHOD_NOT_ALLOWED, false, true },
	{ "get /metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_METHOD_NOT_ALLOWED, false, true },
	{ "CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n", HTTP_METHOD_NOT_ALLOWED, false, true },
	/* Other versions. */
	{ "GET /metrics HTTP/2.0\r\n" HOST "\r\n", HTTP_VERSION_UNKNOWN, false, true },
	{ "PRI * HTTP/2.0\r\n\r\n", HTTP_VERSION_UNKNOWN, false, true },
	{ "GET /metrics HTTP/0.9\r\n\r\n", HTTP_VERSION_UNKNOWN, false, true },
	/* Invalid ones. */
	{ "GET /metrics HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics HTTP/1.1\r\n" HOST HOST "\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics\r\n\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET\r\n\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET  /metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST, false, true },
	{ " GET /metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics HTTP/1.1 \r\n" HOST "\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics HTTP/11\r\n" HOST "\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics http/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST, false, true },
	{ "G(T /metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /met\rrics HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics\x7f HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics HTTP/1.1\r\n" HOST "X\r\n\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics HTTP/1.1\r\n" HOST ": x\r\n\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics HTTP/1.1\r\n" HOST "X : y\r\n\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics HTTP/1.1\r\n" HOST " folded: y\r\n\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n", HTTP_BAD_REQUEST, false, true },
	{ "GET /metrics HTTP/1.1\r\n" HOST "X: a\x01\r\n\r\n", HTTP_BAD_REQUEST, false, true },
};

#define REQUESTS ((int)(sizeof(requests) / sizeof(requests[0])))

/* Parses a copy that ends where memory checkers notice reads beyond it. */
static size_t parse(const char *text, size_t bytes, struct http_request *request)
{
	char *copy = malloc(bytes + (bytes == 0));
	size_t size;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, bytes);
	size = http_parse(copy, bytes, request);
	free(copy);
	return size;
}

START_TEST(request_has_a_status)
{
	const char *text = requests[_i].text;
	struct http_request request;

	ck_assert_uint_eq(parse(text, strlen(text), &request), strlen(text));
	ck_assert_int_eq(request.status, requests[_i].status);
	ck_assert_int_eq(request.is_head, requests[_i].is_head);
	ck_assert_int_eq(request.closes, requests[_i].closes);
}
END_TEST

/* Also if the next request follows at once, and at each byte before the end. */
START_TEST(request_ends_at_its_empty_line)
{
	size_t bytes = strlen(requests[_i].text);
	struct http_request request;
	char more[512];

	for (size_t i = 0; i < bytes; i++)
		ck_assert_uint_eq(parse(requests[_i].text, i, &request), 0);
	snprintf(more, sizeof(more), "%sGET / HTTP/1.1\r\n\r\n", requests[_i].text);
	ck_assert_uint_eq(parse(more, strlen(more), &request), bytes);
	ck_assert_int_eq(request.status, requests[_i].status);
}
END_TEST

START_TEST(null_character_is_invalid)
{
	static const char line[] = "GET /metrics\0 HTTP/1.1\r\n" HOST "\r\n";
	static const char field[] = "GET /metrics HTTP/1.1\r\n" HOST "X\0: a\r\n\r\n";
	struct http_request request;

	ck_assert_uint_eq(parse(line, sizeof(line) - 1, &request), sizeof(line) - 1);
	ck_assert_int_eq(request.status, HTTP_BAD_REQUEST);
	ck_assert_uint_eq(parse(field, sizeof(field) - 1, &request), sizeof(field) - 1);
	ck_assert_int_eq(request.status, HTTP_BAD_REQUEST);
}
END_TEST

/* The longest request, and one byte more; without an end, and only of empty lines. */
START_TEST(size_is_limited)
{
	static char text[HTTP_REQUEST_MAX + 1];
	int front = snprintf(text, sizeof(text), "GET /metrics HTTP/1.1\r\n" HOST "X: ");
	struct http_request request;

	memset(text + front, 'x', sizeof(text) - (size_t)front);
	memcpy(text + HTTP_REQUEST_MAX - 4, "\r\n\r\n", 4);
	ck_assert_uint_eq(parse(text, HTTP_REQUEST_MAX, &request), HTTP_REQUEST_MAX);
	ck_assert_int_eq(request.status, HTTP_OK);
	memcpy(text + HTTP_REQUEST_MAX - 4, "x\r\n\r\n", 5);
	ck_assert_uint_eq(parse(text, HTTP_REQUEST_MAX - 1, &request), 0);
	ck_assert_uint_eq(parse(text, HTTP_REQUEST_MAX, &request), HTTP_REQUEST_MAX);
	ck_assert_int_eq(request.status, HTTP_TOO_LARGE);
	ck_assert(request.closes);
	ck_assert_uint_eq(parse(text, HTTP_REQUEST_MAX + 1, &request), HTTP_REQUEST_MAX + 1);
	ck_assert_int_eq(request.status, HTTP_TOO_LARGE);
	memset(text, '\n', HTTP_REQUEST_MAX);
	ck_assert_uint_eq(parse(text, HTTP_REQUEST_MAX - 1, &request), 0);
	ck_assert_uint_eq(parse(text, HTTP_REQUEST_MAX, &request), HTTP_REQUEST_MAX);
	ck_assert_int_eq(request.status, HTTP_TOO_LARGE);
}
END_TEST

START_TEST(response_starts_with_its_fields)
{
	struct http_request request = { .status = HTTP_OK };
	char head[HTTP_HEAD_MAX];

	ck_assert_uint_eq(http_head(head, &request, "a/b", 12, 784111777), strlen(head));
	ck_assert_str_eq(head, "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
			       "Content-Type: a/b\r\nContent-Length: 12\r\n\r\n");
	request = (struct http_request){ .status = HTTP_METHOD_NOT_ALLOWED, .closes = true };
	http_head(head, &request, "a/b", 0, 0);
	ck_assert_str_eq(head, "HTTP/1.1 405 Method Not Allowed\r\n"
			       "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
			       "Content-Type: a/b\r\nContent-Length: 0\r\n"
			       "Allow: GET, HEAD\r\nConnection: close\r\n\r\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http");
	TCase *cases = tcase_create("http");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(cases, request_has_a_status, 0, REQUESTS);
	tcase_add_loop_test(cases, request_ends_at_its_empty_line, 0, REQUESTS);
	tcase_add_test(cases, null_character_is_invalid);
	tcase_add_test(cases, size_is_limited);
	tcase_add_test(cases, response_starts_with_its_fields);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
