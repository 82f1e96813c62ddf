/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen.c - see listen.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#endif
#include "exporter/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "kit/message.h"

#define WAITING_MAX 64 /* connections that the kernel keeps for accept() */

static int open_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int fail(int socket, const char *where)
{
	message_error("cannot listen on '%s': %s", where, strerror(errno));
	if (socket >= 0)
		close(socket);
	return -1;
}

/* ---- a path ---- */

/* Removes a socket that the last process left there. */
static void remove_unused(const struct sockaddr_un *address)
{
	int probe = open_socket(AF_UNIX);
	struct stat status;

	if (probe < 0)
		return;
	if (lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
	    connect(probe, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
	    errno == ECONNREFUSED)
		unlink(address->sun_path);
	close(probe);
}

static int open_path(const char *path, const char *where)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int socket;

	if (*path == '\0' || strlen(path) >= sizeof(address.sun_path)) {
		message_error("cannot listen on '%s': a path has 1 to %zu bytes", where,
			      sizeof(address.sun_path) - 1);
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	remove_unused(&address);
	socket = open_socket(AF_UNIX);
	if (socket < 0 || bind(socket, (struct sockaddr *)&address, sizeof(address)) != 0)
		return fail(socket, where);
	if (listen(socket, WAITING_MAX) != 0) {
		unlink(path);
		return fail(socket, where);
	}
	message_note("serving /metrics on %s", where);
	return socket;
}

/* ---- an address ---- */

/* Splits "[ADDRESS:]PORT"; an IPv6 address is in brackets. False: it does not have this form. */
static bool split(const char *where, char host[256], const char **port)
{
	const char *colon = strrchr(where, ':'), *start = where, *end = colon;

	strcpy(host, "127.0.0.1");
	*port = colon == NULL ? where : colon + 1;
	if (**port == '\0' || strspn(*port, "0123456789") != strlen(*port) || strlen(*port) > 5 ||
	    atoi(*port) > 65535)
		return false;
	if (colon == NULL || colon == where)
		return true;
	if (*where == '[') {
		start++;
		end--;
	}
	if (end <= start || end - start > 255 || (*where == '[') != (*end == ']') ||
	    (*where != '[' && memchr(start, ':', (size_t)(end - start)) != NULL))
		return false;
	memcpy(host, start, (size_t)(end - start));
	host[end - start] = '\0';
	return true;
}

static void report(int socket)
{
	char host[INET6_ADDRSTRLEN + 20], port[8];
	struct sockaddr_storage address;
	socklen_t bytes = sizeof(address);
	bool is_ipv6;

	if (getsockname(socket, (struct sockaddr *)&address, &bytes) != 0 ||
	    getnameinfo((struct sockaddr *)&address, bytes, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	is_ipv6 = address.ss_family == AF_INET6;
	message_note("serving http://%s%s%s:%s/metrics", is_ipv6 ? "[" : "", host,
		     is_ipv6 ? "]" : "", port);
}

static int open_address(const char *where)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *found;
	const char *port;
	char host[256];
	int socket, error, yes = 1;

	if (!split(where, host, &port)) {
		message_error("--listen expects [ADDRESS:]PORT or unix:PATH, not '%s'", where);
		return -1;
	}
	error = getaddrinfo(host, port, &hints, &found);
	if (error != 0) {
		message_error("cannot listen on '%s': %s", where, gai_strerror(error));
		return -1;
	}
	socket = open_socket(found->ai_family);
	if (socket < 0 || setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
	    bind(socket, found->ai_addr, found->ai_addrlen) != 0 ||
	    listen(socket, WAITING_MAX) != 0)
		socket = fail(socket, where);
	else
		report(socket);
	freeaddrinfo(found);
	return socket;
}

int listen_open(const char *where)
{
	static const char prefix[] = "unix:";

	if (strncmp(where, prefix, strlen(prefix)) == 0)
		return open_path(where + strlen(prefix), where);
	return open_address(where);
}

void listen_close(int socket)
{
	struct sockaddr_un address;
	socklen_t bytes = sizeof(address);

	memset(&address, 0, sizeof(address));
	if (getsockname(socket, (struct sockaddr *)&address, &bytes) == 0 &&
	    address.sun_family == AF_UNIX && address.sun_path[0] != '\0')
		unlink(address.sun_path);
	close(socket);
}
