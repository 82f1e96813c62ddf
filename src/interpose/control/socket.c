/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.c - see socket.h.
 *
 * The address is relative to a descriptor of the folder, because addresses have at most 107 bytes.
 *
 * The thread that waits in accept() keeps the socket open even if the program has closed its
 * descriptor. It then serves one more request, and finds out before it waits again.
 */
#define _GNU_SOURCE /* accept4, struct ucred, O_PATH */
#include "interpose/control/socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <mam/control.h>
#include <mam/statpage.h>

#define CLIENTS_MAX 128 /* that wait for their turn */
#define NUMBER_MIN 64   /* of the descriptor: a program may rely on the lowest numbers */
#define RECEIVE_MS 800  /* for the request, which is sent with the connection */
#define SEND_MS 5000    /* until the client reads some of the reply */

static struct mam_file listening; /* number -1: none */
static struct mam_file peer;
static struct sockaddr_un address; /* of the socket */
static char path[PATH_MAX];        /* of the socket; "": none */
static pid_t home;                 /* the process that created it */
static uid_t owner;

/* Sockets have no contents that could be read later, so all of dead processes are removed. */
static void remove_dead(int folder)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), length;
	DIR *listing = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;
	unsigned long long start;
	unsigned int copy;
	long process;

	if (listing == NULL) {
		if (again >= 0)
			close(again);
		return;
	}
	while ((entry = readdir(listing)) != NULL) {
		length = 0;
		sscanf(entry->d_name, "%ld-%llu-%u" MAM_CONTROL_SUFFIX "%n", &process, &start,
		       &copy, &length);
		if (length != 0 && entry->d_name[length] == '\0' && process > 0 &&
		    mam_statpage_start_of((pid_t)process) != start)
			unlinkat(folder, entry->d_name, 0);
	}
	closedir(listing);
}

/* Returns the number of a socket that is bound and listens, or -1. */
static int make(int folder, const char *name)
{
	int low = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), number = -1;

	address.sun_family = AF_UNIX;
	if (low >= 0 && snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
				 folder, name) < (int)sizeof(address.sun_path))
		number = fcntl(low, F_DUPFD_CLOEXEC, NUMBER_MIN);
	if (low >= 0)
		close(low);
	if (number < 0)
		return -1;
	if (bind(number, (const struct sockaddr *)&address, sizeof(address)) == 0) {
		if (fchmodat(folder, name, 0600, 0) == 0 && listen(number, CLIENTS_MAX) == 0)
			return number;
		unlinkat(folder, name, 0);
	}
	close(number);
	return -1;
}

bool mam_socket_open(void)
{
	const char *page = mam_statpage_path(), *slash = strrchr(page, '/');
	int folder, number = -1;

	if (slash == NULL ||
	    snprintf(path, sizeof(path), "%.*s", (int)(slash - page), page) >= (int)sizeof(path))
		return false;
	folder = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder >= 0 &&
	    snprintf(path, sizeof(path), "%s" MAM_CONTROL_SUFFIX, page) < (int)sizeof(path)) {
		remove_dead(folder);
		number = make(folder, path + (slash + 1 - page));
	}
	if (folder >= 0)
		close(folder);
	listening.number = peer.number = -1;
	home = number < 0 ? 0 : getpid();
	owner = geteuid();
	if (number >= 0 && mam_file_adopt(number, &listening) == 0)
		return true;
	mam_socket_remove();
	return false;
}

/* Whether the connection was made to our socket, by its owner. */
static bool is_allowed(int number)
{
	struct sockaddr_un to = { .sun_family = AF_UNSPEC };
	socklen_t to_bytes = sizeof(to), bytes = sizeof(struct ucred);
	struct ucred client = { .uid = (uid_t)-1 };

	return getsockname(number, (struct sockaddr *)&to, &to_bytes) == 0 &&
	       to.sun_family == AF_UNIX &&
	       strncmp(to.sun_path, address.sun_path, sizeof(to.sun_path)) == 0 &&
	       getsockopt(number, SOL_SOCKET, SO_PEERCRED, &client, &bytes) == 0 &&
	       client.uid == owner;
}

static void limit_time(int number, int option, long milliseconds)
{
	const struct timeval time = { 0, milliseconds * 1000 };

	setsockopt(number, SOL_SOCKET, option, &time, sizeof(time));
}

/* Returns false if the socket is unusable. */
static bool is_temporary(int error)
{
	static const struct timespec a_while = { 0, 100000000 };

	if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM)
		nanosleep(&a_while, NULL);
	else if (error != EINTR && error != ECONNABORTED)
		return false;
	return true;
}

struct mam_file *mam_socket_accept(void)
{
	while (mam_file_is_ours(&listening)) {
		int number = accept4(listening.number, NULL, NULL, SOCK_CLOEXEC);

		if (number < 0 && !is_temporary(errno))
			break;
		if (number < 0)
			continue;
		if (is_allowed(number) && mam_file_adopt(number, &peer) == 0) {
			limit_time(number, SO_RCVTIMEO, RECEIVE_MS);
			limit_time(number, SO_SNDTIMEO, SEND_MS);
			return &peer;
		}
		close(number);
	}
	return NULL;
}

void mam_socket_close(void)
{
	mam_file_close(&peer);
}

void mam_socket_remove(void)
{
	if (home == getpid() && path[0] != '\0')
		unlink(path);
}

void mam_socket_drop(void)
{
	if (home == 0)
		return;
	mam_file_close(&listening);
	mam_file_close(&peer);
	path[0] = '\0';
}
