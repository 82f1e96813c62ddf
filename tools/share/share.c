/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c - `mam share`: programs that do not fit on a GPU together take turns.
 *
 * 1. Start each program under mam run --source=vmm, with a socket by which its processes join.
 * 2. Let one program at a time be awake (turns.h). The others are held at a CUDA call, with their
 *    memory in host memory or in files.
 * 3. Return when all have ended. A signal ends all of them, those that ignore it after 5 seconds. The
 *    programs have received a typed Ctrl-C, too: they get 5 seconds to end by themselves before.
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
#define GRACE_MS 5000
#define FOREVER LLONG_MAX

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
static volatile sig_atomic_t is_from_terminal; /* all processes of the group have received it */

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (number == SIGCHLD)
		return;
	is_from_terminal = info->si_code == SI_KERNEL;
	received = number;
}

/* A hangup stays ignored if it was when this process began, as under nohup. */
static void watch_signals(sigset_t *open)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO }, before;
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

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns when all programs have ended, a signal arrived, or at that time. */
static void serve(struct turns *turns, struct program_list *list, const sigset_t *open,
		  long long until_ms)
{
	static struct pollfd ready[TURNS_PROCESSES_MAX + 1];
	struct timespec time;
	long long left;
	int count, wait_ms;

	while (programs_reap(list) != 0 && received == 0) {
		left = until_ms - now_ms();
		if (left <= 0)
			break;
		count = turns_prepare(turns, ready, &wait_ms);
		if (wait_ms >= 0 && wait_ms < left)
			left = wait_ms;
		time = (struct timespec){ (time_t)(left / 1000), (long)(left % 1000 * 1000000) };
		if (ppoll(ready, (nfds_t)count, &time, open) >= 0)
			turns_serve(turns, ready);
	}
}

/* Ends all programs; returns when they have ended. */
static void end_all(struct turns *turns, struct program_list *list, const sigset_t *open)
{
	static const struct timespec a_while = { 0, 100000000 };
	const long long patient_until = now_ms() + GRACE_MS;

	programs_signal(list, SIGTERM);
	turns_signal(turns, SIGTERM);
	while (programs_reap(list) != 0) {
		ppoll(NULL, 0, &a_while, open);
		if (now_ms() < patient_until)
			continue;
		turns_signal(turns, SIGKILL);
		programs_signal(list, SIGKILL);
	}
}

/* Returns the signal that ended the programs, or 0. */
static int run(struct turns *turns, struct program_list *list, const sigset_t *open)
{
	int first;

	serve(turns, list, open, FOREVER);
	first = received;
	/* A program that handles Ctrl-C may save its state; one that is held gets its turn for it. */
	if (first != 0 && is_from_terminal) {
		received = 0;
		serve(turns, list, open, now_ms() + GRACE_MS);
	}
	if (first != 0)
		end_all(turns, list, open);
	return first;
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
	int first, status, signal;

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
	signal = run(&turns, &list, &open);
	turns_close(&turns);
	if (signal == 0)
		message_note("%lu switch%s; no program had the GPU for %.1f s", turns.switches,
			     turns.switches == 1 ? "" : "es", (double)turns.away_ms / 1000);
	return signal != 0 ? SIGNALED + signal : programs_status(&list);
}
