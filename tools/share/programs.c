/* SPDX-License-Identifier: Apache-2.0 */
/* programs.c - see programs.h. */
#define _GNU_SOURCE /* secure_getenv */
#include "share/programs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "kit/message.h"

#define SIGNALED 128 /* as shells return for a program that a signal ended */

bool programs_read(struct program_list *list, int count, char **words)
{
	char **begin = words;

	list->count = 0;
	for (int i = 0; i <= count; i++) {
		if (i < count && strcmp(words[i], "--") != 0)
			continue;
		if (words + i == begin) {
			message_error("there is an empty program; see 'mam share --help'");
			return false;
		}
		if (list->count == PROGRAMS_MAX) {
			message_error("at most %d programs can share a GPU", PROGRAMS_MAX);
			return false;
		}
		list->programs[list->count++] = (struct program_child){ .words = begin };
		if (i < count)
			words[i] = NULL;
		begin = words + i + 1;
	}
	return true;
}

/* The child; returns an exit status if the program cannot be started. */
static int become(char **words, int number, const char *path, pid_t parent)
{
	char self[] = "mam", run[] = "run", source[] = "--source=vmm", end[] = "--", option[256];
	size_t count = 0;
	char **all;

	while (words[count] != NULL)
		count++;
	all = calloc(count + 5, sizeof(*all));
	if (all == NULL ||
	    snprintf(option, sizeof(option), "%d:%s", number, path) >= (int)sizeof(option) ||
	    setenv("MAM_SHARE", option, 1) != 0)
		return STATUS_BAD;
	all[0] = self;
	all[1] = run;
	all[2] = source;
	all[3] = end;
	memcpy(all + 4, words, count * sizeof(*words));
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		return STATUS_BAD;
	execv("/proc/self/exe", all);
	message_error("cannot start mam run: %s", strerror(errno));
	return STATUS_BAD;
}

bool programs_start(struct program_list *list, const char *path)
{
	pid_t self = getpid();
	sigset_t none;

	fflush(NULL);
	for (int i = 0; i < list->count; i++) {
		pid_t child = fork();

		if (child == 0) {
			sigemptyset(&none);
			sigprocmask(SIG_SETMASK, &none, NULL);
			_exit(become(list->programs[i].words, i, path, self));
		}
		if (child < 0) {
			message_error("cannot start '%s': %s", list->programs[i].words[0],
				      strerror(errno));
			programs_signal(list, SIGTERM);
			return false;
		}
		list->programs[i].pid = child;
	}
	return true;
}

int programs_reap(struct program_list *list)
{
	int status, running = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < list->count; i++)
			if (list->programs[i].pid == pid) {
				list->programs[i].pid = 0;
				list->programs[i].status = WIFSIGNALED(status)
								   ? SIGNALED + WTERMSIG(status)
								   : WEXITSTATUS(status);
			}
	for (int i = 0; i < list->count; i++)
		running += list->programs[i].pid != 0;
	return running;
}

void programs_signal(const struct program_list *list, int number)
{
	for (int i = 0; i < list->count; i++)
		if (list->programs[i].pid != 0)
			kill(list->programs[i].pid, number);
}

int programs_status(const struct program_list *list)
{
	for (int i = 0; i < list->count; i++)
		if (list->programs[i].status != 0)
			return list->programs[i].status;
	return STATUS_GOOD;
}
