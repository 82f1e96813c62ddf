/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn.c - see turn.h.
 */
#define _GNU_SOURCE
#include "interpose/control/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <mam/control.h>
#include <mam/options.h>

#include "interpose/control/suspend.h"
#include "interpose/process/say.h"
#include "interpose/process/thread.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/init.h"

#define STACK_BYTES ((size_t)256 << 10)
#define NUMBER_MIN 64 /* of the descriptor: a program may rely on the lowest numbers */
#define LOOK_MS 50    /* between two looks whether a thread is held */

static atomic_bool taken;  /* atomic */
static atomic_bool joined; /* atomic; the thread was started */
/* lock: none, the thread's */
static int share = -1; /* descriptor */
static bool is_awake;  /* the gate is open */
static bool has_asked; /* for a turn, since the last suspend */

/* Returns false if mam share has ended. */
static bool send_text(const char *text)
{
	return send(share, text, strlen(text), MSG_NOSIGNAL) >= 0;
}

static bool connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int low = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (low < 0)
		return false;
	share = fcntl(low, F_DUPFD_CLOEXEC, NUMBER_MIN);
	close(low);
	return share >= 0 &&
	       snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) <
		       (int)sizeof(address.sun_path) &&
	       connect(share, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

/* MAM_SHARE is the number of the program, a colon, and the path of the socket. */
static bool join(void)
{
	const char *option = mam_option_value("MAM_SHARE"), *path = strchr(option, ':');
	char text[64];

	if (path == NULL || !connect_to(path + 1))
		return false;
	snprintf(text, sizeof(text), "join %d", atoi(option));
	has_asked = true;
	return send_text(text);
}

/* Waits for the end of a request. A thread that waits too long for calls or work gives up. */
static const char *finish(struct mam_suspend_state *state)
{
	static char why[160];

	for (int waits = 0; !mam_suspend_wait(state); waits++)
		if (waits >= MAM_CONTROL_TURN_WAIT && mam_suspend_cancel()) {
			snprintf(why, sizeof(why), "it waited too long %s", state->waits);
			return why;
		}
	return state->fault;
}

/* Returns false if mam share has ended. */
static bool serve(const char *request)
{
	bool resumes = strcmp(request, "resume") == 0;
	bool to_host = strcmp(request, "suspend") == 0;
	struct mam_suspend_state state = { .released = 0 };
	char text[MAM_CONTROL_LINE_MAX];
	const char *fault;

	if (!resumes && !to_host && strncmp(request, "suspend /", 9) != 0)
		return send_text("error unknown request");
	fault = mam_suspend_begin(resumes   ? MAM_SUSPEND_RESUME
				  : to_host ? MAM_SUSPEND_HOST
					    : MAM_SUSPEND_FILE,
				  resumes || to_host ? NULL : request + 8);
	if (fault == NULL)
		fault = finish(&state);
	if (fault == NULL) {
		is_awake = resumes;
		has_asked = false;
		snprintf(text, sizeof(text), "done %llu %llu", (unsigned long long)state.released,
			 (unsigned long long)state.left);
	} else {
		snprintf(text, sizeof(text), "error %s", fault);
	}
	return send_text(text);
}

/* Waits for a request, and asks for a turn as soon as a thread is held. False: the end. */
static bool next(char *request, size_t room)
{
	struct pollfd ready = { .fd = share, .events = POLLIN };
	ssize_t got;
	int events;

	for (;;) {
		events = poll(&ready, 1, is_awake || has_asked ? -1 : LOOK_MS);
		if (events > 0)
			break;
		if (events < 0 && errno != EINTR)
			return false;
		if (!is_awake && !has_asked && mam_gate_held() != 0) {
			has_asked = true;
			if (!send_text("want"))
				return false;
		}
	}
	got = recv(share, request, room - 1, 0);
	if (got <= 0)
		return false;
	request[got] = '\0';
	return true;
}

/* mam share has ended: resume as soon as there is memory. */
static void go_on_alone(void)
{
	static const struct timespec a_while = { 1, 0 };
	struct mam_suspend_state state;

	atomic_store(&taken, false);
	if (is_awake)
		return;
	mam_say(MAM_SAY_WARN, "mam share has ended: this process resumes as soon as the GPU has "
			      "enough free memory");
	while (mam_suspend_begin(MAM_SUSPEND_RESUME, NULL) != NULL || finish(&state) != NULL)
		nanosleep(&a_while, NULL);
}

static void *run(void *unused)
{
	char request[PATH_MAX + 16];

	(void)pthread_setname_np(pthread_self(), "mam-turn");
	mam_init_depth++;
	if (join())
		while (next(request, sizeof(request)) && serve(request))
			continue;
	if (share >= 0)
		close(share);
	share = -1;
	go_on_alone();
	return unused;
}

/* Without a thread there are no turns, but the process must not wait forever. */
static void join_once(void)
{
	struct mam_suspend_state state;

	if (atomic_exchange(&joined, true) || mam_thread_start(STACK_BYTES, run))
		return;
	mam_say(MAM_SAY_WARN,
		"cannot start a thread: this process does not take turns under mam share");
	atomic_store(&taken, false);
	if (mam_suspend_begin(MAM_SUSPEND_RESUME, NULL) == NULL)
		finish(&state);
	mam_gate_open();
}

void mam_turn_start(void)
{
	if (*mam_option_value("MAM_SHARE") == '\0' || !mam_gate_exists())
		return;
	atomic_store(&taken, true);
	mam_gate_on_hold(join_once);
	mam_suspend_from_start();
}

void mam_turn_restart(void)
{
	if (!atomic_load(&taken))
		return;
	if (share >= 0)
		close(share);
	share = -1;
	is_awake = has_asked = false;
	atomic_store(&joined, false);
	atomic_store(&taken, false);
	mam_turn_start();
}

bool mam_turn_is_taken(void)
{
	return atomic_load(&taken);
}
