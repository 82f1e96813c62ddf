/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_link.c - see ctl_link.h.
 *
 * The system accepts a connection for a process that is stopped, or that serves another request.
 * Such a process does not send the first line. One that is stopped after that line is noticed once
 * per second: a signal that stops a process may reach its threads long after it was sent, if the
 * first of them waits in the driver.
 */
#define _GNU_SOURCE /* O_PATH */
#include "ctl/ctl_link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "kit/message.h"

#define RESPONSE_MS 1000 /* until the process starts to work */
#define WORK_MS 30000    /* then until its next line */

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

__attribute__((format(printf, 2, 3))) static void say(const struct page_entry *process,
						      const char *format, ...)
{
	char what[MAM_CONTROL_LINE_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	for (char *c = what; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?'; /* a terminal might interpret it */
	message_error("process %ld (%s) %s", (long)process->pid, process->program, what);
}

/* The state is the field after the name, which may contain any characters. */
static bool is_stopped(pid_t pid)
{
	char text[512], *end;
	size_t got = 0;
	FILE *stat;

	snprintf(text, sizeof(text), "/proc/%ld/stat", (long)pid);
	stat = fopen(text, "re");
	if (stat != NULL) {
		got = fread(text, 1, sizeof(text) - 1, stat);
		fclose(stat);
	}
	text[got] = '\0';
	end = strrchr(text, ')');
	return end != NULL && (strncmp(end, ") T", 3) == 0 || strncmp(end, ") t", 3) == 0);
}

static void say_late(const struct ctl_link *link)
{
	if (link->is_received && is_stopped(link->process->pid))
		say(link->process,
		    "was stopped during the request; it finishes it when it continues");
	else if (link->is_received)
		say(link->process,
		    "has not finished yet: the driver may be waiting for the GPU; it continues");
	else
		say(link->process, "does not respond: it is stopped, or works on another request");
}

/* The address is relative to the folder, because addresses are short. */
int ctl_link_connect(int number, const char *page)
{
	const struct timeval time = { RESPONSE_MS / 1000, 0 }; /* if too many clients wait */
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *slash = strrchr(page, '/');
	int folder, length, error = ENAMETOOLONG;
	char path[PATH_MAX];

	length = snprintf(path, sizeof(path), "%.*s", (int)(slash - page), page);
	if (length >= (int)sizeof(path))
		return error;
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return errno;
	setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
	length = snprintf(address.sun_path, sizeof(address.sun_path),
			  "/proc/self/fd/%d/%s" MAM_CONTROL_SUFFIX, folder, slash + 1);
	if (length < (int)sizeof(address.sun_path))
		error = connect(number, (const struct sockaddr *)&address, sizeof(address)) == 0
				? 0
				: errno;
	close(folder);
	return error;
}

bool ctl_link_open(struct ctl_link *link, const struct page_entry *process, const char *request,
		   bool is_quiet)
{
	int error;

	*link = (struct ctl_link){ .process = process };
	link->number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	error = link->number < 0 ? errno : ctl_link_connect(link->number, process->path);
	if (error == 0) {
		/* If the process ended meanwhile, this is reported when its reply is read. */
		(void)send(link->number, request, strlen(request), MSG_NOSIGNAL);
		return true;
	}
	ctl_link_close(link);
	if (error == EAGAIN)
		say_late(link);
	else if (error != ENOENT && error != ECONNREFUSED)
		say(process, "cannot be reached: %s", strerror(error));
	else if (!is_quiet)
		say(process, "cannot be controlled: it has no pool of mam run, or has closed its "
			     "socket");
	return false;
}

/* Receives more bytes. Returns 0 at the end of the reply, and below 0 if none came in time. */
static ssize_t receive(struct ctl_link *link, long long until)
{
	struct pollfd ready = { .fd = link->number, .events = POLLIN };
	long long left;
	ssize_t got;

	for (;;) {
		left = until - now_ms();
		if (left < 0)
			return -1;
		if (poll(&ready, 1, left > RESPONSE_MS ? RESPONSE_MS : (int)left) == 0) {
			if (is_stopped(link->process->pid))
				return -1;
			continue;
		}
		got = recv(link->number, link->bytes, sizeof(link->bytes), MSG_DONTWAIT);
		if (got >= 0)
			break;
		if (errno != EINTR && errno != EAGAIN)
			return 0; /* the process ended before it read the request */
	}
	link->at = 0;
	link->length = (size_t)got;
	return got;
}

/* Copies the next line. Returns false if there is none (reported). */
static bool next_line(struct ctl_link *link)
{
	long long until = now_ms() + (link->is_received ? WORK_MS : RESPONSE_MS);
	size_t used = 0;

	while (used < sizeof(link->line)) {
		if (link->at == link->length) {
			ssize_t got = receive(link, until);

			if (got < 0)
				say_late(link);
			else if (got == 0)
				say(link->process, "ended during the request");
			if (got <= 0)
				return false;
		}
		link->line[used] = link->bytes[link->at++];
		if (link->line[used] == '\0')
			break;
		if (link->line[used] == '\n') {
			link->line[used] = '\0';
			return true;
		}
		used++;
	}
	say(link->process, "sent an invalid reply");
	return false;
}

enum ctl_line ctl_link_read(struct ctl_link *link)
{
	static const char done[] = "done", error[] = "error ";

	if (!link->is_received) {
		if (!next_line(link))
			return CTL_FAILED;
		link->is_received = strcmp(link->line, "working") == 0;
		if (!link->is_received) {
			say(link->process, "sent an invalid reply");
			return CTL_FAILED;
		}
	}
	if (!next_line(link))
		return CTL_FAILED;
	if (strncmp(link->line, error, sizeof(error) - 1) == 0) {
		if (link->accepted && strcmp(link->line + sizeof(error) - 1, link->accepted) == 0) {
			link->line[0] = '\0';
			return CTL_DONE;
		}
		say(link->process, "refused the request: %s", link->line + sizeof(error) - 1);
		return CTL_FAILED;
	}
	if (strncmp(link->line, done, sizeof(done) - 1) != 0)
		return CTL_LINE;
	memmove(link->line, link->line + sizeof(done) - 1, sizeof(link->line) - (sizeof(done) - 1));
	return CTL_DONE;
}

void ctl_link_close(struct ctl_link *link)
{
	if (link->number >= 0)
		close(link->number);
	link->number = -1;
}
