/* SPDX-License-Identifier: Apache-2.0 */
/* programs.h - the programs that mam share starts, as its children. */
#ifndef TOOLS_SHARE_PROGRAMS_H
#define TOOLS_SHARE_PROGRAMS_H

#include <stdbool.h>
#include <sys/types.h>

#define PROGRAMS_MAX 64

struct program_list {
	struct program_child {
		char **words; /* ends with NULL */
		pid_t pid;    /* 0: it has ended */
		int status;   /* as an exit status: 128 and more for a signal */
	} programs[PROGRAMS_MAX];
	int count;
};

/*
 * programs_read - split the words, "-- A x -- B y", into programs: a lone "--" begins the next one.
 * Writes NULL over each. False: reported.
 */
bool programs_read(struct program_list *list, int count, char **words);

/*
 * programs_start - start all of them under mam run, with turns at the socket of that path. They end
 * with this process. False: reported, and those that were started get SIGTERM.
 */
bool programs_start(struct program_list *list, const char *path);

/* programs_reap - note the programs that have ended. Returns how many still run. */
int programs_reap(struct program_list *list);

/* programs_signal - send it to those that still run. */
void programs_signal(const struct program_list *list, int number);

/* programs_status - 0 if all programs returned 0, otherwise the first other status, in their order. */
int programs_status(const struct program_list *list);

#endif
