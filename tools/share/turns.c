/* SPDX-License-Identifier: Apache-2.0 */
/* turns.c - see turns.h. */
#define _GNU_SOURCE /* accept4, struct ucred */
#include "share/turns.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <mam/control.h>

#include "kit/format.h"
#include "kit/message.h"

#define AGAIN_MS 1000          /* after a refusal */
#define LEFT_MAX (64ull << 20) /* bytes that a suspended process keeps without a message */

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool make_folder(struct turns *turns)
{
	const char *base = getenv("XDG_RUNTIME_DIR");

	for (int i = 0; i < 2; i++, base = "/tmp")
		if (base != NULL &&
		    snprintf(turns->folder, sizeof(turns->folder), "%s/mam-share-XXXXXX", base) <
			    (int)sizeof(turns->folder) &&
		    mkdtemp(turns->folder) != NULL)
			return true;
	turns->folder[0] = '\0';
	return false;
}

bool turns_open(struct turns *turns)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int error;

	turns->state = TURNS_FREE;
	turns->program = -1;
	turns->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (turns->listening >= 0 && make_folder(turns)) {
		snprintf(turns->path, sizeof(turns->path), "%s/socket", turns->folder);
		strcpy(address.sun_path, turns->path);
		if (bind(turns->listening, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		    listen(turns->listening, TURNS_PROCESSES_MAX) == 0)
			return true;
	}
	error = errno;
	message_error("cannot create a socket for the programs: %s", strerror(error));
	turns_close(turns);
	return false;
}

void turns_close(struct turns *turns)
{
	if (turns->listening >= 0)
		close(turns->listening);
	for (int i = 0; i < turns->count; i++)
		if (turns->processes[i].number >= 0)
			close(turns->processes[i].number);
	if (turns->path[0] != '\0')
		unlink(turns->path);
	if (turns->folder[0] != '\0')
		rmdir(turns->folder);
}

static void drop(struct turns_process *process)
{
	close(process->number);
	process->number = -1;
}

static void ask(struct turns *turns, struct turns_process *process, bool resumes)
{
	const char *text = resumes ? "resume" : turns->suspend;

	process->again_ms = 0;
	process->is_asked = send(process->number, text, strlen(text), MSG_NOSIGNAL) >= 0;
	/* If that failed, the process has ended, which the next poll() finds. */
}

static bool may_act(const struct turns_process *process)
{
	return process->number >= 0 && process->program >= 0 && !process->is_asked;
}

/* Asks the processes of the current program to change to that state. */
static void ask_all(struct turns *turns, bool resumes)
{
	for (int i = 0; i < turns->count; i++) {
		struct turns_process *process = &turns->processes[i];

		if (process->program == turns->program && may_act(process) &&
		    process->is_awake != resumes && (process->wants || !resumes) &&
		    process->again_ms == 0)
			ask(turns, process, resumes);
	}
}

static void report(struct turns_process *process, const char *why, bool resumes)
{
	if (!process->is_refused)
		message_note("process %ld cannot be %s yet: %s", (long)process->pid,
			     resumes ? "resumed" : "suspended", why);
	process->is_refused = true;
}

static void report_left(struct turns_process *process, const char *text)
{
	unsigned long long left = 0;

	if (process->is_noted || sscanf(text, "done %*u %llu", &left) != 1 || left <= LEFT_MAX)
		return;
	process->is_noted = true;
	message_note("process %ld keeps %s on the device while it is suspended: memory that is not "
		     "in pools",
		     (long)process->pid, format_bytes(left).text);
}

static void on_reply(struct turns *turns, struct turns_process *process, const char *text)
{
	static const char error[] = "error ";
	bool resumes = !process->is_awake;

	process->is_asked = false;
	if (strncmp(text, error, sizeof(error) - 1) != 0) {
		process->is_awake = resumes;
		process->wants = process->is_refused = false;
		if (!resumes)
			report_left(process, text);
		if (resumes && turns->begins) {
			turns->begins = false;
			turns->ends_ms = now_ms() + turns->turn_ms;
			if (turns->began_ms != 0)
				turns->away_ms += now_ms() - turns->began_ms;
			turns->began_ms = 0;
		}
		return;
	}
	report(process, text + sizeof(error) - 1, resumes);
	process->again_ms = now_ms() + AGAIN_MS;
	if (resumes)
		return;
	turns->state = TURNS_AWAKE;
	turns->ends_ms = process->again_ms;
	for (int i = 0; i < turns->count; i++)
		if (turns->processes[i].program == turns->program && !turns->processes[i].is_awake)
			turns->processes[i].wants = true;
}

static void on_message(struct turns *turns, struct turns_process *process)
{
	char text[MAM_CONTROL_LINE_MAX];
	ssize_t got = recv(process->number, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	text[got < 0 ? 0 : got] = '\0';
	if (got > 0 && process->program < 0 && sscanf(text, "join %d", &process->program) == 1 &&
	    process->program >= 0 && process->program < PROGRAMS_MAX) {
		process->wants = true;
	} else if (got > 0 && process->program >= 0 && strcmp(text, "want") == 0) {
		process->wants = true;
	} else if (got > 0 && process->is_asked) {
		on_reply(turns, process, text);
	} else {
		drop(process);
	}
}

static void on_connection(struct turns *turns)
{
	int number = accept4(turns->listening, NULL, NULL, SOCK_CLOEXEC), i = 0;
	struct ucred peer = { .pid = 0 };
	socklen_t bytes = sizeof(peer);

	if (number < 0)
		return;
	while (i < turns->count && turns->processes[i].number >= 0)
		i++;
	if (i == TURNS_PROCESSES_MAX) {
		message_warning("more than %d processes use the GPU: one does not take turns",
				TURNS_PROCESSES_MAX);
		close(number); /* it continues alone */
		return;
	}
	if (i == turns->count)
		turns->count++;
	if (getsockopt(number, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
		peer.pid = 0;
	turns->processes[i] =
		(struct turns_process){ .number = number, .program = -1, .pid = peer.pid };
}

static bool wants(const struct turns *turns, int program)
{
	for (int i = 0; i < turns->count; i++)
		if (turns->processes[i].number >= 0 && turns->processes[i].program == program &&
		    turns->processes[i].wants)
			return true;
	return false;
}

/* Any process of the current program that is awake, or about to change. */
static bool is_busy(const struct turns *turns)
{
	for (int i = 0; i < turns->count; i++)
		if (turns->processes[i].number >= 0 &&
		    turns->processes[i].program == turns->program &&
		    (turns->processes[i].is_awake || turns->processes[i].is_asked))
			return true;
	return false;
}

/* The next program in turn that wants the GPU; -1: none. */
static int next_program(const struct turns *turns)
{
	for (int i = 1; i <= PROGRAMS_MAX; i++)
		if (wants(turns, (turns->program + i) % PROGRAMS_MAX))
			return (turns->program + i) % PROGRAMS_MAX;
	return -1;
}

static bool others_want(const struct turns *turns)
{
	int next = next_program(turns);

	return next >= 0 && next != turns->program;
}

static void step(struct turns *turns)
{
	long long now = now_ms();
	int next;

	for (int i = 0; i < turns->count; i++)
		if (turns->processes[i].again_ms != 0 && now >= turns->processes[i].again_ms)
			turns->processes[i].again_ms = 0;
	if (turns->state != TURNS_FREE && !is_busy(turns) &&
	    (turns->state == TURNS_SUSPENDING || !wants(turns, turns->program)))
		turns->state = TURNS_FREE;
	/* A turn does not end before its first process has resumed, which may take longer. */
	if (turns->state == TURNS_AWAKE && now >= turns->ends_ms && others_want(turns) &&
	    !(turns->begins && is_busy(turns))) {
		turns->state = TURNS_SUSPENDING;
		turns->began_ms = now;
	}
	if (turns->state == TURNS_FREE) {
		next = next_program(turns);
		if (next < 0)
			return;
		turns->switches += next != turns->program && turns->program >= 0;
		turns->program = next;
		turns->state = TURNS_AWAKE;
		turns->ends_ms = now + turns->turn_ms;
		turns->begins = true;
	}
	ask_all(turns, turns->state == TURNS_AWAKE);
}

int turns_prepare(const struct turns *turns, struct pollfd *ready, int *wait_ms)
{
	long long until = -1, now = now_ms();

	ready[0] = (struct pollfd){ .fd = turns->listening, .events = POLLIN };
	for (int i = 0; i < turns->count; i++) {
		const struct turns_process *process = &turns->processes[i];

		ready[i + 1] = (struct pollfd){ .fd = process->number, .events = POLLIN };
		if (process->number >= 0 && process->again_ms != 0 &&
		    (until < 0 || process->again_ms < until))
			until = process->again_ms;
	}
	if (turns->state == TURNS_AWAKE && now < turns->ends_ms &&
	    (until < 0 || turns->ends_ms < until))
		until = turns->ends_ms;
	*wait_ms = until < 0 ? -1 : until <= now ? 0 : (int)(until - now) + 1;
	return turns->count + 1;
}

void turns_serve(struct turns *turns, const struct pollfd *ready)
{
	int count = turns->count;

	for (int i = 0; i < count; i++)
		if (turns->processes[i].number >= 0 && ready[i + 1].revents != 0)
			on_message(turns, &turns->processes[i]);
	if (ready[0].revents != 0)
		on_connection(turns);
	step(turns);
}

void turns_signal(const struct turns *turns, int number)
{
	for (int i = 0; i < turns->count; i++)
		if (turns->processes[i].number >= 0 && turns->processes[i].pid > 0)
			kill(turns->processes[i].pid, number);
}
