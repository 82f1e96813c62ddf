/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of mam exporter and hostile clients: requests in pieces, several at once, cut off; slow
 * ones, more than it has connections for, clients that do not read. In each case another client is
 * served, and memory has a limit.
 */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/listen.h"
#include "exporter/serve.h"

#define GET "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
#define HEAD "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
#define MANY (3 * SERVE_CONNECTIONS)
#define LARGE ((size_t)8 << 20) /* more than a socket's buffer */
#define PATIENCE_S 60           /* of a client that must be served: no test waits that long */

/* Whether free() keeps memory for a while: sanitizers do. */
#ifdef __has_feature
#define KEEPS_FREED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEPS_FREED 1
#else
#define KEEPS_FREED 0
#endif

/* None of these passes in a test that does not set it. */
static struct serve_times times = { 600000, 600000, 600000, 600000 };

/* Shared with the server. */
static struct {
	size_t bytes;      /* of the page */
	unsigned int made; /* count of pages */
	bool fails;
} * shared;

static pid_t server;
static struct sockaddr_in address;

/* The page: its number, then letters. */
static char *make(size_t *bytes)
{
	char *text = shared->fails ? NULL : malloc(shared->bytes + 16);

	if (text == NULL)
		return NULL;
	memset(text, 'x', shared->bytes);
	snprintf(text, 16, "%8u", ++shared->made);
	text[8] = 'x';
	*bytes = shared->bytes;
	return text;
}

static void start(size_t bytes, unsigned int age_ms)
{
	const struct serve_page page = { make, "a/b", age_ms };
	socklen_t length = sizeof(address);
	int socket = listen_open("0");

	ck_assert_int_ge(socket, 0);
	ck_assert_int_eq(getsockname(socket, (struct sockaddr *)&address, &length), 0);
	ck_assert_uint_eq(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
	shared->bytes = bytes;
	server = fork();
	ck_assert_int_ge(server, 0);
	if (server == 0)
		_exit(serve_run(socket, &page, &times) ? 0 : 1);
	close(socket);
}

static void set_up(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
}

/* After each test the server still runs, and ends on request. */
static void tear_down(void)
{
	int status;

	ck_assert_int_eq(waitpid(server, &status, WNOHANG), 0);
	kill(server, SIGTERM);
	ck_assert_int_eq(waitpid(server, &status, 0), server);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int connect_client(void)
{
	struct timeval patience = { .tv_sec = PATIENCE_S };
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(client, 0);
	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
	return client;
}

/* False: the server has closed the connection. */
static bool say_bytes(int client, const char *text, size_t bytes)
{
	return send(client, text, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

static bool say(int client, const char *text)
{
	return say_bytes(client, text, strlen(text));
}

/* Reads so many bytes, or less if the connection ends. */
static size_t hear(int client, char *to, size_t bytes)
{
	size_t got = 0;

	while (got < bytes) {
		ssize_t more = recv(client, to + got, bytes - got, 0);

		ck_assert_msg(more >= 0 || errno == ECONNRESET, "the server did not respond");
		if (more <= 0)
			break;
		got += (size_t)more;
	}
	return got;
}

static bool has_ended(int client)
{
	char c;

	return hear(client, &c, 1) == 0;
}

static char head[4096], body[LARGE + 1];

/* Reads a response into head and body; returns its status, or 0 if the connection ends. */
static int response(int client, bool has_body)
{
	size_t got = 0, bytes;

	while (got < 4 || memcmp(head + got - 4, "\r\n\r\n", 4) != 0) {
		ck_assert_uint_lt(got, sizeof(head) - 1);
		if (hear(client, head + got, 1) == 0)
			return 0;
		got++;
	}
	head[got] = '\0';
	ck_assert_ptr_nonnull(strstr(head, "\r\nContent-Length: "));
	bytes = strtoul(strstr(head, "\r\nContent-Length: ") + 18, NULL, 10);
	ck_assert_uint_le(bytes, LARGE);
	bytes = has_body ? hear(client, body, bytes) == bytes ? bytes : 0 : 0;
	body[bytes] = '\0';
	return atoi(head + strlen("HTTP/1.1 "));
}

static void expect_page(int client)
{
	ck_assert_int_eq(response(client, true), 200);
	ck_assert_uint_eq(strlen(body), shared->bytes);
}

/* Another client is served, and has not had to wait for the times above. */
static void expect_service(void)
{
	int client = connect_client();

	ck_assert(say(client, GET));
	expect_page(client);
	close(client);
}

START_TEST(requests_on_one_connection)
{
	int client;

	start(100, 0);
	client = connect_client();
	for (int i = 0; i < 3; i++) {
		ck_assert(say(client, GET));
		expect_page(client);
		ck_assert_ptr_nonnull(strstr(head, "\r\nContent-Type: a/b\r\n"));
		ck_assert_ptr_null(strstr(head, "Connection"));
		ck_assert_int_eq(atoi(body), 2 * i + 1);
		ck_assert(say(client, HEAD));
		ck_assert_int_eq(response(client, false), 200);
		ck_assert_ptr_nonnull(strstr(head, "\r\nContent-Length: 100\r\n"));
	}
	ck_assert(say(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
	ck_assert_int_eq(response(client, true), 404);
	ck_assert_str_eq(body, "Not Found; see /metrics\n");
	ck_assert(say(client, GET));
	expect_page(client);
}
END_TEST

static const struct {
	const char *text;
	int status;
} last[] = {
	{ "GET /metrics HTTP/1.0\r\n\r\n", 200 },
	{ "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200 },
	{ "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 405 },
	{ "GET /metrics HTTP/1.1\r\n\r\n", 400 },
	{ "GET /metrics HTTP/3.0\r\n\r\n", 505 },
	{ "\x16\x03\x01\x02\n\r\n", 400 }, /* the start of TLS */
};

START_TEST(connection_ends_after_some_responses)
{
	int client;

	start(100, 0);
	client = connect_client();
	ck_assert(say(client, last[_i].text));
	ck_assert_int_eq(response(client, true), last[_i].status);
	ck_assert_ptr_nonnull(strstr(head, "\r\nConnection: close\r\n"));
	ck_assert_int_eq(strstr(head, "\r\nAllow: GET, HEAD\r\n") != NULL, last[_i].status == 405);
	ck_assert(has_ended(client));
	expect_service();
}
END_TEST

START_TEST(several_requests_at_once)
{
	int client;

	start(LARGE, 0);
	client = connect_client();
	ck_assert(say(client, GET HEAD "\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n" GET
				       "GET /metrics HTTP/1.0\r\n\r\n" GET));
	expect_page(client);
	ck_assert_int_eq(response(client, false), 200);
	ck_assert_int_eq(response(client, true), 404);
	expect_page(client);
	expect_page(client);
	ck_assert(has_ended(client)); /* the fifth was the last */
}
END_TEST

START_TEST(request_in_pieces)
{
	int client;

	start(100, 0);
	client = connect_client();
	for (const char *c = GET; *c != '\0'; c++) {
		ck_assert(say_bytes(client, c, 1));
		expect_service();
	}
	expect_page(client);
}
END_TEST

START_TEST(client_that_ends_early)
{
	int client;

	start(LARGE, 0);
	client = connect_client();
	close(client);
	client = connect_client();
	ck_assert(say(client, "GET /metr"));
	close(client);
	expect_service();
	client = connect_client(); /* it sends nothing more, and reads */
	ck_assert(say(client, GET));
	shutdown(client, SHUT_WR);
	expect_page(client);
	ck_assert(has_ended(client));
	for (int i = 0; i < 3; i++) {
		client = connect_client(); /* it does not read all */
		ck_assert(say(client, GET));
		ck_assert_uint_eq(hear(client, body, i == 0 ? 1 : LARGE / 2),
				  i == 0 ? 1 : LARGE / 2);
		close(client);
		expect_service();
	}
}
END_TEST

/* The response arrives although the server did not read what follows the request. */
START_TEST(bytes_after_the_last_request)
{
	static char junk[16 << 20]; /* more than the buffers of the sockets */
	int client;

	memset(junk, 'j', sizeof(junk));
	start(100, 0);
	client = connect_client();
	ck_assert(say(client,
		      "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 16777216\r\n\r\n"));
	ck_assert(say_bytes(client, junk, sizeof(junk)));
	ck_assert_int_eq(response(client, true), 405);
	client = connect_client();
	say_bytes(client, junk, sizeof(junk));
	ck_assert_int_eq(response(client, true), 431);
	expect_service();
}
END_TEST

static void connect_many(int clients[MANY], const char *text)
{
	for (int i = 0; i < MANY; i++) {
		clients[i] = connect_client();
		say(clients[i], text);
	}
}

/* Of `clients`, those whose connection the server closed. */
static int count_ended(const int clients[MANY])
{
	int ended = 0;

	for (int i = 0; i < MANY; i++) {
		struct pollfd polled = { .fd = clients[i], .events = POLLIN | POLLRDHUP };

		ck_assert_int_ge(poll(&polled, 1, 0), 0);
		ended += (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
	}
	return ended;
}

static const char *const slow[] = { "", "G", "GET /metrics HTTP/1.1\r\nX-a: b\r\n" };

START_TEST(many_clients_that_do_not_finish_a_request)
{
	int clients[MANY];

	start(100, 0);
	connect_many(clients, slow[_i]);
	expect_service();
	ck_assert_int_ge(count_ended(clients), MANY - SERVE_CONNECTIONS);
	for (int i = 0; i < MANY; i++)
		say(clients[i], "X-b: c\r\n");
	for (int i = 0; i < 10; i++)
		expect_service();
}
END_TEST

/* In kilobytes, without shared memory and code. */
static long memory_of_server(void)
{
	long all, resident, shared_pages;
	char name[64];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%ld/statm", (long)server);
	file = fopen(name, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%ld %ld %ld", &all, &resident, &shared_pages), 3);
	fclose(file);
	return (resident - shared_pages) * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Each gets a new page, as its age is 0, and keeps it. At most four are kept, and one is made. */
START_TEST(many_clients_that_do_not_read)
{
	int clients[MANY];
	long before;

	start(LARGE, 0);
	expect_service();
	before = memory_of_server();
	connect_many(clients, GET);
	for (int i = 0; i < 5; i++)
		expect_service();
	ck_assert_int_ge(count_ended(clients), MANY - SERVE_CONNECTIONS);
	if (!KEEPS_FREED)
		ck_assert_int_lt(memory_of_server() - before, 6 * (long)(LARGE / 1024));
}
END_TEST

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A byte at a time does not gain time. */
START_TEST(request_has_a_time)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000000 };
	uint64_t begin;
	int client;

	times.request = 300;
	start(100, 0);
	client = connect_client();
	ck_assert(say(client, "GET /metrics HTTP/1.1\r\n"));
	begin = milliseconds();
	while (say(client, "x") && milliseconds() - begin < 1000 * PATIENCE_S) {
		struct pollfd polled = { .fd = client, .events = POLLIN };

		nanosleep(&pause, NULL);
		if (poll(&polled, 1, 0) > 0)
			break;
	}
	ck_assert_int_eq(response(client, true), 408);
	ck_assert_uint_ge(milliseconds() - begin, 200);
	client = connect_client();
	ck_assert(has_ended(client)); /* without a message: it had no request */
}
END_TEST

START_TEST(pause_between_requests_has_a_time)
{
	int client;

	times.idle = 200;
	start(100, 0);
	client = connect_client();
	ck_assert(say(client, GET));
	expect_page(client);
	ck_assert(has_ended(client));
}
END_TEST

START_TEST(response_has_a_time)
{
	struct pollfd polled = { .events = POLLRDHUP };

	times.response = 200;
	start(LARGE, 0);
	polled.fd = connect_client();
	ck_assert(say(polled.fd, GET));
	ck_assert_int_eq(poll(&polled, 1, 1000 * PATIENCE_S), 1);
	ck_assert_uint_lt(hear(polled.fd, body, LARGE), LARGE);
}
END_TEST

START_TEST(end_of_client_has_a_time)
{
	int client;

	times.farewell = 200;
	start(100, 0);
	client = connect_client();
	ck_assert(say(client, "GET /metrics HTTP/1.0\r\n\r\n"));
	expect_page(client);
	ck_assert(has_ended(client));
	while (say(client, "x"))
		expect_service(); /* until the server refuses more */
}
END_TEST

START_TEST(page_is_made_once_for_its_age)
{
	start(100, 3600000);
	for (int i = 0; i < 10; i++) {
		expect_service();
		ck_assert_int_eq(atoi(body), 1);
	}
}
END_TEST

START_TEST(page_that_cannot_be_made)
{
	int client;

	start(100, 0);
	expect_service();
	shared->fails = true;
	client = connect_client();
	ck_assert(say(client, GET));
	ck_assert_int_eq(response(client, true), 503);
	shared->fails = false;
	expect_service();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("serve");
	TCase *cases = tcase_create("serve");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(cases, set_up, tear_down);
	tcase_add_test(cases, requests_on_one_connection);
	tcase_add_loop_test(cases, connection_ends_after_some_responses, 0,
			    sizeof(last) / sizeof(last[0]));
	tcase_add_test(cases, several_requests_at_once);
	tcase_add_test(cases, request_in_pieces);
	tcase_add_test(cases, client_that_ends_early);
	tcase_add_test(cases, bytes_after_the_last_request);
	tcase_add_loop_test(cases, many_clients_that_do_not_finish_a_request, 0,
			    sizeof(slow) / sizeof(slow[0]));
	tcase_add_test(cases, many_clients_that_do_not_read);
	tcase_add_test(cases, request_has_a_time);
	tcase_add_test(cases, pause_between_requests_has_a_time);
	tcase_add_test(cases, response_has_a_time);
	tcase_add_test(cases, end_of_client_has_a_time);
	tcase_add_test(cases, page_is_made_once_for_its_age);
	tcase_add_test(cases, page_that_cannot_be_made);
	tcase_set_timeout(cases, 60);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
