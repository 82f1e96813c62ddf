/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.c - the checkpoint of a whole process, by another process.
 *
 * The state of a process is a number in an unnamed file that it creates in cuInit. Other processes of
 * the user find the file in /proc/PID/fd, and map it; nothing remains when the process ends. A process
 * that is not running waits in its next call (fake_enter), but a call that is in progress goes on. No
 * memory moves: a checkpoint and a restore only take FAKE_CUDA_LAG_US.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NAME "fake-cuda-state"

static _Atomic int *own; /* of this process; NULL before cuInit. lock: none, set at cuInit */

static void pause_for(uint64_t ns)
{
	const struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&time, NULL);
}

static _Atomic int *map(int file)
{
	void *state = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	return state == MAP_FAILED ? NULL : state;
}

int fake_checkpoint_start(void)
{
	int file = memfd_create(NAME, MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, sizeof(*own)) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	own = map(file);
	return own ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void fake_checkpoint_wait(void)
{
	while (own && *own != PROCESS_RUNNING)
		pause_for(1000000);
}

/* The state of a process, to be unmapped. NULL: it does not use CUDA, or has ended. */
static _Atomic int *find(int pid)
{
	_Atomic int *state = NULL;
	struct dirent *entry;
	char path[300], to[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	while (folder && !state && (entry = readdir(folder)) != NULL) {
		ssize_t length;
		int file;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, entry->d_name);
		length = readlink(path, to, sizeof(to) - 1);
		to[length < 0 ? 0 : length] = '\0';
		if (strncmp(to, "/memfd:" NAME " ", sizeof("/memfd:" NAME)) != 0)
			continue;
		file = open(path, O_RDWR | O_CLOEXEC);
		if (file < 0)
			continue;
		state = map(file);
		close(file);
	}
	if (folder)
		closedir(folder);
	return state;
}

/*
 * With 719 in FAKE_CUDA_FAIL_AT, the process cannot continue. A lock with 600 leaves it locked, which
 * the real driver should not do.
 */
static int change(const char *name, int pid, int from, int to)
{
	int result = fake_enter(name), injected = result;
	_Atomic int *state = find(pid);

	if (result == CUDA_SUCCESS)
		result = !state           ? CUDA_ERROR_INVALID_VALUE
			 : *state != from ? CUDA_ERROR_ILLEGAL_STATE
					  : CUDA_SUCCESS;
	if (result == CUDA_SUCCESS && from + to != PROCESS_RUNNING + PROCESS_LOCKED) {
		pause_for(fake_knobs.lag_ns);
		munmap(state, sizeof(*state));
		state = find(pid);
		if (!state)
			result = CUDA_ERROR_OPERATING_SYSTEM;
	}
	if (state && (result == CUDA_SUCCESS ||
		      (injected == CUDA_ERROR_NOT_READY && from == PROCESS_RUNNING)))
		*state = to;
	else if (state && injected == CUDA_ERROR_LAUNCH_FAILED)
		*state = PROCESS_FAILED;
	if (state)
		munmap(state, sizeof(*state));
	return fake_leave(name, result, "pid=%d", pid);
}

int cuCheckpointProcessGetState(int pid, int *value)
{
	int result = fake_enter_early("cuCheckpointProcessGetState");
	_Atomic int *state = find(pid);

	if (result == CUDA_SUCCESS && (!value || !state))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*value = *state;
	if (state)
		munmap(state, sizeof(*state));
	return fake_leave("cuCheckpointProcessGetState", result, "pid=%d", pid);
}

int cuCheckpointProcessLock(int pid, const struct cu_lock_arguments *arguments)
{
	(void)arguments;
	return change("cuCheckpointProcessLock", pid, PROCESS_RUNNING, PROCESS_LOCKED);
}

int cuCheckpointProcessCheckpoint(int pid, const void *arguments)
{
	(void)arguments;
	return change("cuCheckpointProcessCheckpoint", pid, PROCESS_LOCKED, PROCESS_CHECKPOINTED);
}

int cuCheckpointProcessRestore(int pid, const void *arguments)
{
	(void)arguments;
	return change("cuCheckpointProcessRestore", pid, PROCESS_CHECKPOINTED, PROCESS_LOCKED);
}

int cuCheckpointProcessUnlock(int pid, const void *arguments)
{
	(void)arguments;
	return change("cuCheckpointProcessUnlock", pid, PROCESS_LOCKED, PROCESS_RUNNING);
}
