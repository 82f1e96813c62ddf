/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns.h - which of the programs has the GPU.
 *
 * A process joins when it is held at its first CUDA call (<mam/control.h>). A program is all
 * processes that one command started; they have the GPU together.
 *
 *   free        No program has it: the next one that wants it gets it, and its processes resume.
 *   awake       One has it. When its turn is over and another one wants the GPU, its processes are
 *               suspended; when all of them have ended, at once.
 *   suspending  They have received the request. When all are suspended: free. If one refuses, those that were
 *               suspended resume, and the turn goes on for a second.
 *
 * Invariant: processes of at most one program are awake. A process that cannot resume, because the
 * memory is used by others, receives the request again each second; its program keeps the turn.
 */
#ifndef TOOLS_SHARE_TURNS_H
#define TOOLS_SHARE_TURNS_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "share/programs.h"

#define TURNS_PROCESSES_MAX 256

enum turns_state { TURNS_FREE, TURNS_AWAKE, TURNS_SUSPENDING };

struct turns {
	int listening; /* descriptor */
	char folder[64], path[80];
	const char *suspend; /* the request: "suspend", or with a folder */
	long long turn_ms;   /* length of a turn */
	enum turns_state state;
	int program;       /* that has the GPU; in state free: that had it last, or -1 */
	long long ends_ms; /* when its turn is over */
	struct turns_process {
		int number;  /* descriptor; -1: it has ended */
		int program; /* -1: it has not joined */
		pid_t pid;
		bool wants; /* the GPU */
		bool is_awake;
		bool is_asked;      /* a request was sent, and it has not replied */
		bool is_refused;    /* the last request, which was reported */
		bool is_noted;      /* what it keeps on the device was reported */
		long long again_ms; /* when to ask again; 0: nothing */
	} processes[TURNS_PROCESSES_MAX];
	int count;
	bool begins; /* none of its processes is awake yet; then the turn's time begins */
	unsigned long switches;
	long long began_ms,
		away_ms; /* when the suspend began, 0: none; until the resume, in total */
};

/* turns_open - create the socket. False: reported. turns_close - remove it. */
bool turns_open(struct turns *turns);
void turns_close(struct turns *turns);

/*
 * turns_prepare - the descriptors to wait for; returns their number. *wait_ms: how long, -1: until
 * one is ready. turns_serve - handle those that are ready, and the time that has passed.
 */
int turns_prepare(const struct turns *turns, struct pollfd *ready, int *wait_ms);
void turns_serve(struct turns *turns, const struct pollfd *ready);

/* turns_signal - send it to all processes that have joined. */
void turns_signal(const struct turns *turns, int number);

#endif
