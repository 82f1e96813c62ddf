/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_limit.c - processes that share a limit. Each argument is a step, NAME:VERB or
 * NAME:VERB:DEVICE:MIB, and the program prints it with its result. The first step of a NAME starts
 * that process; this one only controls them. VARIABLE=VALUE sets a variable for later processes,
 * and !COMMAND runs a command of the shell.
 *
 *   alloc    cuMemAlloc       managed  cuMemAllocManaged      (prints what they return)
 *   room     cuMemGetInfo     free     frees the last block   (prints MiB, and what it returns)
 *   exec     executes the program again in that process
 *   exit, _exit, stop, kill   end or stop it
 */
#define _GNU_SOURCE /* dprintf */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/driver_api.h"

#define PROCESSES 26
#define BLOCKS 16
#define MIB ((size_t)1 << 20)

static struct process {
	pid_t id;
	FILE *to, *from;
} processes[PROCESSES];

static struct CUctx_st *contexts[8];
static unsigned long long blocks[BLOCKS];
static int block_count;

/* --- a process that allocates --- */

static void use(int device)
{
	if (contexts[device] == NULL && cuDevicePrimaryCtxRetain(&contexts[device], device) != 0)
		exit(3);
	cuCtxSetCurrent(contexts[device]);
}

static int allocate(const char *verb, size_t bytes)
{
	unsigned long long *block = &blocks[block_count];
	int code = strcmp(verb, "managed") == 0 ? cuMemAllocManaged(block, bytes, 1)
						: cuMemAlloc_v2(block, bytes);

	block_count += code == 0;
	return code;
}

static int obey(const char *verb, int device, size_t bytes)
{
	size_t free_bytes = 0, total_bytes;

	if (strcmp(verb, "exec") == 0) {
		execl("/proc/self/exe", "probe_limit", "-", (char *)NULL);
		exit(3);
	}
	if (strcmp(verb, "exit") == 0)
		exit(0);
	if (strcmp(verb, "_exit") == 0)
		_exit(0);
	cuInit(0);
	use(device);
	if (strcmp(verb, "free") == 0)
		return cuMemFree_v2(blocks[--block_count]);
	if (strcmp(verb, "room") != 0)
		return allocate(verb, bytes);
	return cuMemGetInfo_v2(&free_bytes, &total_bytes) != 0 ? -1 : (int)(free_bytes / MIB);
}

static void serve(void)
{
	char verb[16], line[64];
	int device, mib;

	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (sscanf(line, "%15s %d %d", verb, &device, &mib) != 3)
			exit(3);
		printf("%d\n", obey(verb, device, (size_t)mib * MIB));
		fflush(stdout);
	}
	exit(0);
}

/* --- the process that controls the others --- */

static void start(struct process *process)
{
	int to[2], from[2];
	char line[64];

	if (pipe(to) != 0 || pipe(from) != 0)
		exit(3);
	process->id = fork();
	if (process->id == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		for (int i = 3; i < 256; i++)
			close(i);
		execl("/proc/self/exe", "probe_limit", "-", (char *)NULL);
		_exit(3);
	}
	close(to[0]);
	close(from[1]);
	process->to = fdopen(to[1], "w");
	process->from = fdopen(from[0], "r");
	if (fgets(line, sizeof(line), process->from) == NULL)
		exit(3);
}

/* False: the verb is one for the process itself. */
static bool end(struct process *process, const char *verb)
{
	bool stops = strcmp(verb, "stop") == 0;

	if (!stops && strcmp(verb, "kill") != 0)
		return false;
	kill(process->id, stops ? SIGSTOP : SIGKILL);
	waitpid(process->id, NULL, stops ? WUNTRACED : 0);
	return true;
}

static void step(const char *text)
{
	struct process *process = &processes[(text[0] - 'A') % PROCESSES];
	char verb[16], line[64] = "";
	int device = 0, mib = 0;

	if (sscanf(text + 2, "%15[^:]:%d:%d", verb, &device, &mib) < 1)
		exit(2);
	if (process->id == 0)
		start(process);
	if (end(process, verb)) {
		printf("%s\n", text);
		return;
	}
	fprintf(process->to, "%s %d %d\n", verb, device, mib);
	fflush(process->to);
	if (fgets(line, sizeof(line), process->from) == NULL) {
		waitpid(process->id, NULL, 0);
		snprintf(line, sizeof(line), "ended\n");
	}
	printf("%s %s", text, line);
}

int main(int count, char **arguments)
{
	int failed = 0;

	if (count == 2 && strcmp(arguments[1], "-") == 0)
		serve();
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < count; i++) {
		if (arguments[i][0] == '!')
			failed |= system(arguments[i] + 1);
		else if (strchr(arguments[i], '=') != NULL)
			putenv(arguments[i]);
		else
			step(arguments[i]);
	}
	for (int i = 0; i < PROCESSES; i++) {
		if (processes[i].id == 0)
			continue;
		kill(processes[i].id, SIGCONT);
		fclose(processes[i].to);
		waitpid(processes[i].id, NULL, 0);
	}
	return failed != 0;
}
