/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - a server of one page over HTTP/1.1, in one thread.
 *
 * No client can make others wait or use memory without a limit: connections are served in turns,
 * and their number, the size and time of a request, the time of a response and the number of
 * copies of the page are limited. If all connections are in use, the one that has waited longest
 * for its client is closed for a new one.
 */
#ifndef TOOLS_SERVE_H
#define TOOLS_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#define SERVE_CONNECTIONS 32

struct serve_page {
	/* Returns the text, which serve_run() frees. NULL: out of memory. */
	char *(*make)(size_t *bytes);
	const char *type;    /* Content-Type */
	unsigned int age_ms; /* a text is sent to other clients until it is this old */
};

/* The time a client has, in milliseconds. */
struct serve_times {
	unsigned int request;  /* from the connection or the first byte to the end of a request */
	unsigned int response; /* to receive a response */
	unsigned int idle;     /* between two requests */
	unsigned int farewell; /* to receive the last response, before the connection is closed */
};

extern const struct serve_times serve_times; /* of mam exporter */

/*
 * serve_run - serve the page to the clients of a listening socket, until SIGINT, SIGTERM or SIGHUP
 * arrives. False: it cannot (reported).
 */
bool serve_run(int listening, const struct serve_page *page, const struct serve_times *times);

#endif
