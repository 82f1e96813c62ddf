/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - see serve.h.
 *
 * One poll() per turn. In a turn each connection that is ready makes one call of recv() or sendmsg(),
 * and at most ACCEPTS_MAX connections are added. A connection reads a request, or sends a response,
 * or waits for the end of the client: only then does closing not discard the response on its way.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4, ppoll */
#endif
#include "exporter/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "exporter/http.h"
#include "kit/message.h"

#define ACCEPTS_MAX 8                /* per turn */
#define BODIES_MAX 4                 /* copies of the page that slow clients can keep */
#define SEND_MAX ((size_t)256 << 10) /* bytes per turn */
#define PAUSE_MS 100                 /* when the system can accept no connection */

const struct serve_times serve_times = {
	.request = 5000, .response = 10000, .idle = 120000, .farewell = 1000
};

struct body {
	char *text;
	size_t bytes;
	size_t uses;   /* count: by connections and by the server */
	uint64_t made; /* ms */
};

enum state { READING, SENDING, FAREWELL };

struct connection {
	int socket; /* -1: not in use */
	enum state state;
	uint64_t since, deadline; /* ms; of the state */
	bool closes;              /* after the response */
	size_t got;               /* bytes of the request */
	char request[HTTP_REQUEST_MAX];
	size_t sent; /* bytes of head and content */
	size_t head_bytes, content_bytes;
	const char *content;
	struct body *body; /* it contains the content; NULL: none */
	char head[HTTP_HEAD_MAX];
	char note[64];
};

struct server {
	const struct serve_page *page;
	const struct serve_times *times;
	int listening;
	uint64_t now; /* ms; of this turn */
	struct body *newest;
	unsigned int bodies; /* count */
	struct connection connections[SERVE_CONNECTIONS];
};

static uint64_t read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- the page ---- */

static void release_body(struct server *server, struct body *body)
{
	if (body == NULL || --body->uses > 0)
		return;
	free(body->text);
	free(body);
	server->bodies--;
}

static struct body *make_body(struct server *server)
{
	struct body *body = (struct body *)calloc(1, sizeof(*body));

	if (body == NULL)
		return NULL;
	body->text = server->page->make(&body->bytes);
	if (body->text == NULL) {
		free(body);
		return NULL;
	}
	body->made = server->now;
	body->uses = 1;
	server->bodies++;
	return body;
}

/* Returns the page for one more use; NULL: out of memory. */
static struct body *take_body(struct server *server)
{
	struct body *newest = server->newest;
	bool is_full = newest != NULL && server->bodies >= BODIES_MAX && newest->uses > 1;

	if (newest == NULL || (!is_full && server->now - newest->made >= server->page->age_ms)) {
		release_body(server, newest);
		server->newest = make_body(server);
	}
	if (server->newest != NULL)
		server->newest->uses++;
	return server->newest;
}

/* ---- one connection ---- */

static void set_state(const struct server *server, struct connection *to, enum state state,
		      unsigned int time)
{
	to->state = state;
	to->since = server->now;
	to->deadline = server->now + time;
}

/* The kernel would keep a response that the client does not read: discard it. */
static void close_connection(struct server *server, struct connection *connection)
{
	static const struct linger discard = { .l_onoff = 1 };

	if (connection->state == SENDING)
		setsockopt(connection->socket, SOL_SOCKET, SO_LINGER, &discard, sizeof(discard));
	close(connection->socket);
	connection->socket = -1;
	release_body(server, connection->body);
	connection->body = NULL;
}

static void respond(struct server *server, struct connection *to, struct http_request *request)
{
	const char *type = "text/plain; charset=utf-8";

	if (request->status == HTTP_OK) {
		to->body = take_body(server);
		if (to->body == NULL) {
			request->status = HTTP_UNAVAILABLE;
			request->closes = true;
		}
	}
	if (to->body != NULL) {
		type = server->page->type;
		to->content = to->body->text;
		to->content_bytes = to->body->bytes;
	} else {
		snprintf(to->note, sizeof(to->note), "%s%s\n", http_reason(request->status),
			 request->status == HTTP_NOT_FOUND ? "; see /metrics" : "");
		to->content = to->note;
		to->content_bytes = strlen(to->note);
	}
	to->head_bytes = http_head(to->head, request, type, to->content_bytes, time(NULL));
	if (request->is_head)
		to->content_bytes = 0;
	to->closes = request->closes;
	to->sent = 0;
	set_state(server, to, SENDING, server->times->response);
}

static void parse(struct server *server, struct connection *from)
{
	struct http_request request;
	size_t size = http_parse(from->request, from->got, &request);

	if (size == 0)
		return;
	from->got -= size;
	memmove(from->request, from->request + size, from->got);
	respond(server, from, &request);
}

static bool is_temporary(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void receive(struct server *server, struct connection *from)
{
	ssize_t got =
		recv(from->socket, from->request + from->got, sizeof(from->request) - from->got, 0);

	if (got < 0 && is_temporary())
		return;
	if (got <= 0) {
		close_connection(server, from);
	} else if (from->state == READING) {
		if (from->got == 0)
			set_state(server, from, READING, server->times->request);
		from->got += (size_t)got;
		parse(server, from);
	}
}

/* The next request may have arrived with the last one. */
static void end_response(struct server *server, struct connection *to)
{
	release_body(server, to->body);
	to->body = NULL;
	if (to->closes) {
		shutdown(to->socket, SHUT_WR);
		to->got = 0;
		set_state(server, to, FAREWELL, server->times->farewell);
	} else {
		set_state(server, to, READING,
			  to->got == 0 ? server->times->idle : server->times->request);
		parse(server, to);
	}
}

static void transmit(struct server *server, struct connection *to)
{
	size_t head = to->sent < to->head_bytes ? to->head_bytes - to->sent : 0;
	size_t from = to->sent - (to->head_bytes - head), content = to->content_bytes - from;
	struct iovec parts[2] = {
		{ to->head + to->head_bytes - head, head },
		{ (char *)(uintptr_t)to->content + from, content < SEND_MAX ? content : SEND_MAX },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t sent = sendmsg(to->socket, &message, MSG_NOSIGNAL);

	if (sent < 0 && is_temporary())
		return;
	if (sent < 0) {
		close_connection(server, to);
		return;
	}
	to->sent += (size_t)sent;
	if (to->sent == to->head_bytes + to->content_bytes)
		end_response(server, to);
}

static void expire(struct server *server, struct connection *connection)
{
	struct http_request late = { .status = HTTP_TIMEOUT, .closes = true };

	if (connection->state == READING && connection->got > 0)
		respond(server, connection, &late);
	else
		close_connection(server, connection);
}

/* ---- all connections ---- */

/* The one that has waited longest for its client; for a request, if there is one. */
static struct connection *find_oldest(struct server *server)
{
	struct connection *oldest = NULL;

	for (int i = 0; i < SERVE_CONNECTIONS; i++) {
		struct connection *other = &server->connections[i];
		bool sends = other->state == SENDING;

		if (other->socket >= 0 &&
		    (oldest == NULL || (oldest->state == SENDING && !sends) ||
		     ((oldest->state == SENDING) == sends && other->since < oldest->since)))
			oldest = other;
	}
	return oldest;
}

static struct connection *find_place(struct server *server)
{
	struct connection *oldest;

	for (int i = 0; i < SERVE_CONNECTIONS; i++)
		if (server->connections[i].socket < 0)
			return &server->connections[i];
	oldest = find_oldest(server);
	close_connection(server, oldest);
	return oldest;
}

/* The system has no descriptor or memory for a connection that would be accepted. */
static void yield_connection(struct server *server)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };
	struct connection *oldest = find_oldest(server);

	if (oldest != NULL)
		close_connection(server, oldest);
	else
		nanosleep(&pause, NULL);
}

static void accept_clients(struct server *server)
{
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		int socket = accept4(server->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *place;

		if (socket < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				yield_connection(server);
			return;
		}
		place = find_place(server);
		place->socket = socket;
		place->got = 0;
		set_state(server, place, READING, server->times->request);
	}
}

/* Returns the time until the first deadline in milliseconds; -1: there is none. */
static int fill_poll(const struct server *server, struct pollfd polled[SERVE_CONNECTIONS + 1])
{
	uint64_t first = UINT64_MAX, now = read_clock();

	for (int i = 0; i < SERVE_CONNECTIONS; i++) {
		const struct connection *connection = &server->connections[i];

		polled[i] = (struct pollfd){
			.fd = connection->socket,
			.events = connection->state == SENDING ? POLLOUT : POLLIN,
		};
		if (connection->socket >= 0 && connection->deadline < first)
			first = connection->deadline;
	}
	polled[SERVE_CONNECTIONS] = (struct pollfd){ .fd = server->listening, .events = POLLIN };
	return first == UINT64_MAX ? -1 : first <= now ? 0 : (int)(first - now);
}

static void serve_turn(struct server *server, const struct pollfd polled[SERVE_CONNECTIONS + 1])
{
	server->now = read_clock();
	for (int i = 0; i < SERVE_CONNECTIONS; i++) {
		struct connection *connection = &server->connections[i];

		if (polled[i].revents != 0 && connection->state == SENDING)
			transmit(server, connection);
		else if (polled[i].revents != 0)
			receive(server, connection);
		if (connection->socket >= 0 && connection->deadline <= server->now)
			expire(server, connection);
	}
	if (polled[SERVE_CONNECTIONS].revents != 0)
		accept_clients(server);
}

static struct server *open_server(int listening, const struct serve_page *page,
				  const struct serve_times *times)
{
	struct server *server = (struct server *)calloc(1, sizeof(*server));

	if (server == NULL) {
		message_error("out of memory");
		return NULL;
	}
	server->listening = listening;
	server->page = page;
	server->times = times;
	for (int i = 0; i < SERVE_CONNECTIONS; i++)
		server->connections[i].socket = -1;
	return server;
}

static void close_server(struct server *server)
{
	for (int i = 0; i < SERVE_CONNECTIONS; i++)
		if (server->connections[i].socket >= 0)
			close_connection(server, &server->connections[i]);
	release_body(server, server->newest);
	free(server);
}

/* ---- signals ---- */

static const int endings[] = { SIGINT, SIGTERM, SIGHUP };

#define ENDINGS (sizeof(endings) / sizeof(endings[0]))

static volatile sig_atomic_t ends;

static void end(int signal)
{
	(void)signal;
	ends = 1;
}

/* They are blocked except in ppoll(), so that none is missed. nohup stays in effect. */
static void catch_signals(sigset_t *open, struct sigaction before[ENDINGS])
{
	struct sigaction action = { .sa_handler = end };
	sigset_t set;

	ends = 0;
	sigemptyset(&set);
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ENDINGS; i++)
		sigaddset(&set, endings[i]);
	sigprocmask(SIG_BLOCK, &set, open);
	for (size_t i = 0; i < ENDINGS; i++) {
		sigaction(endings[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(endings[i], &action, NULL);
	}
}

static void release_signals(const sigset_t *open, const struct sigaction before[ENDINGS])
{
	for (size_t i = 0; i < ENDINGS; i++)
		sigaction(endings[i], &before[i], NULL);
	sigprocmask(SIG_SETMASK, open, NULL);
}

bool serve_run(int listening, const struct serve_page *page, const struct serve_times *times)
{
	struct server *server = open_server(listening, page, times);
	struct sigaction before[ENDINGS];
	sigset_t open;
	bool good = true;

	if (server == NULL)
		return false;
	catch_signals(&open, before);
	while (!ends && good) {
		struct pollfd polled[SERVE_CONNECTIONS + 1];
		int left = fill_poll(server, polled);
		struct timespec time = { left / 1000, left % 1000 * 1000000L };

		if (ppoll(polled, SERVE_CONNECTIONS + 1, left < 0 ? NULL : &time, &open) >= 0)
			serve_turn(server, polled);
		else if (errno != EINTR)
			good = false;
	}
	if (!good)
		message_error("cannot wait for clients: %s", strerror(errno));
	release_signals(&open, before);
	close_server(server);
	return good;
}
