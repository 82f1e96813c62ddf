/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c - `mam share`: programs that do not fit on a GPU together take turns.
 *
 * 1. Start each program under mam run --source=vmm, with a socket by which its processes join.
 * 2. Let one program at a time be awake (turns.h). The others are held at a CUDA call, with their
 *    memory in host memory or in files.
 * 3. Return when all have ended. A signal ends all of them, those that ignore it after 5 seconds.
 *
 * Source: nvshare gives programs turns of the GPU, too, and lets managed memory page in and out. We
 * differ in explicit copies at the speed of the bus, and in memory that keeps its kind.
 */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "command.h"
#include "kit/args.h"
#include "kit/message.h"
#include "share/programs.h"
#include "share/turns.h"

#define TURN_DEFAULT 30 /* seconds */
#define TURN_MAX 86400  /* seconds */
#define SIGNALED 128    /* plus the number of the signal: the exit status */
#define GRACE_WAITS 50  /* of a tenth of a second */

struct settings {
	uint64_t seconds;
	const char *to;
};

#define FIELD(name) offsetof(struct settings, name)

static const struct args_option options[] = {
	{ "turn", 't', ARGS_COUNT, FIELD(seconds), "SECONDS", NULL,
	  "length of a turn; default: 30" },
	{ "to", 0, ARGS_TEXT, FIELD(to), "DIR", NULL,
	  "keep the contents of suspended memory in files in DIR,\n"
	  "not in host memory" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "mam share",
	.use = "[OPTION]... -- PROGRAM [ARGUMENT]... -- PROGRAM [ARGUMENT]...",
	.intro = "Run programs that do not fit on a GPU together: they take turns, and each has "
		 "the\n"
		 "whole GPU. The others are held at a CUDA call, and their memory is released.\n"
		 "The exit status is 0, or that of the first program that returned another.\n",
	.outro = "Examples:\n"
		 "  mam share -- python3 train.py a -- python3 train.py b\n"
		 "  mam share -t 60 --to /scratch -- ./simulate -- sh -c 'CUDA_VISIBLE_DEVICES=0 "
		 "./train'\n",
	.options = options,
	.stops = true,
};

/* lock: none; set by the handler while the only thread waits */
static volatile sig_atomic_t received;

static void on_signal(int number)
{
	if (number != SIGCHLD)
		received = number;
}

/* A hangup stays ignored if it was when this process began, as under nohup. */
static void watch_signals(sigset_t *open)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	struct sigaction action = { .sa_handler = on_signal }, before;
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaddset(&blocked, numbers[i]);
		if (numbers[i] != SIGHUP || sigaction(numbers[i], NULL, &before) != 0 ||
		    before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &blocked, open);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigdelset(open, numbers[i]);
}

/* Ends all programs; returns when they have ended. */
static void end_all(struct turns *turns, struct program_list *list, const sigset_t *open)
{
	static const struct timespec a_while = { 0, 100000000 };
	int waits = 0;

	programs_signal(list, SIGTERM);
	turns_signal(turns, SIGTERM);
	while (programs_reap(list) != 0) {
		ppoll(NULL, 0, &a_while, open);
		if (++waits < GRACE_WAITS)
			continue;
		turns_signal(turns, SIGKILL);
		programs_signal(list, SIGKILL);
	}
}

/* Returns when all programs have ended, or a signal arrived. */
static void serve(struct turns *turns, struct program_list *list, const sigset_t *open)
{
	static struct pollfd ready[TURNS_PROCESSES_MAX + 1];
	struct timespec time;
	int count, wait_ms;

	while (programs_reap(list) != 0 && received == 0) {
		count = turns_prepare(turns, ready, &wait_ms);
		time = (struct timespec){ wait_ms / 1000, wait_ms % 1000 * 1000000L };
		if (ppoll(ready, (nfds_t)count, wait_ms < 0 ? NULL : &time, open) >= 0)
			turns_serve(turns, ready);
	}
}

static bool read_settings(const struct settings *settings, struct turns *turns)
{
	static char request[PATH_MAX + 16];
	char whole[PATH_MAX];
	struct stat what;

	*turns = (struct turns){ .listening = -1, .suspend = "suspend" };
	if (settings->seconds > TURN_MAX) {
		message_error("--turn must be at most %d seconds", TURN_MAX);
		return false;
	}
	turns->turn_ms = (long long)settings->seconds * 1000;
	if (!settings->to)
		return true;
	if (!realpath(settings->to, whole) || stat(whole, &what) != 0) {
		message_error("--to: cannot use the folder '%s': %s", settings->to,
			      strerror(errno));
		return false;
	}
	if (!S_ISDIR(what.st_mode)) {
		message_error("'%s' is not a folder", settings->to);
		return false;
	}
	snprintf(request, sizeof(request), "suspend %s", whole);
	turns->suspend = request;
	return true;
}

int share_main(int argc, char **argv)
{
	struct settings settings = { .seconds = TURN_DEFAULT };
	static struct program_list list;
	static struct turns turns;
	sigset_t open;
	int first, status;

	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (first == argc) {
		message_error("no program given; see 'mam share --help'");
		return STATUS_BAD;
	}
	if (!programs_read(&list, argc - first, argv + first) || !read_settings(&settings, &turns))
		return STATUS_BAD;
	watch_signals(&open);
	if (!turns_open(&turns))
		return STATUS_BAD;
	if (!programs_start(&list, turns.path))
		received = SIGTERM;
	serve(&turns, &list, &open);
	if (received != 0)
		end_all(&turns, &list, &open);
	turns_close(&turns);
	if (received == 0)
		message_note("%lu switch%s; no program had the GPU for %.1f s", turns.switches,
			     turns.switches == 1 ? "" : "es", (double)turns.away_ms / 1000);
	return received != 0 ? SIGNALED + received : programs_status(&list);
}
