/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_control.c - a program that runs until its input ends, for mam ctl. It executes the lines of
 * its input, and prints one line after each.
 *
 *   alloc COUNT BYTES  allocate blocks
 *   free               free all of them
 *   threads COUNT      start threads that allocate and free until the program ends
 *   fork               fork a child that sleeps until its input ends; print its ID
 *   close              close all descriptors except the first three
 *   files              print the number of open descriptors
 *   leave              end by pthread_exit() in the main thread
 *   exit               end by exit()
 */
#include <dirent.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake/driver_api.h"

#define BLOCKS_MAX 65536
#define KEPT 64

static unsigned long long blocks[BLOCKS_MAX];
static int block_count;
static struct CUctx_st *context;

static int alloc(int count, size_t bytes)
{
	int code = 0;

	for (int i = 0; i < count && code == 0 && block_count < BLOCKS_MAX; i++) {
		code = cuMemAlloc_v2(&blocks[block_count], bytes);
		block_count += code == 0;
	}
	return code;
}

static int free_all(void)
{
	int code = 0;

	while (block_count > 0)
		code |= cuMemFree_v2(blocks[--block_count]);
	return code;
}

static void *work(void *argument)
{
	uint64_t random = 88172645463325252u + (uint64_t)(uintptr_t)argument * 977;
	unsigned long long kept[KEPT] = { 0 };

	cuCtxSetCurrent(context);
	for (;;) {
		unsigned int place;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		place = random % KEPT;
		if (kept[place] != 0)
			cuMemFree_v2(kept[place]);
		kept[place] = 0;
		if (cuMemAlloc_v2(&kept[place], 1 + (random >> 8) % 100000) != 0)
			kept[place] = 0;
		if (random >> 40 == 0)
			usleep(1);
	}
	return NULL;
}

static int start_threads(int count)
{
	pthread_t thread;
	int code = 0;

	for (int i = 0; i < count; i++)
		code |= pthread_create(&thread, NULL, work, (void *)(uintptr_t)i);
	return code;
}

static int count_files(void)
{
	DIR *files = opendir("/proc/self/fd");
	int count = -3; /* ".", ".." and this one */

	while (files != NULL && readdir(files) != NULL)
		count++;
	closedir(files);
	return count;
}

static int fork_child(void)
{
	pid_t child = fork();

	while (child == 0)
		if (getppid() == 1 || usleep(10000) != 0)
			exit(0);
	return (int)child;
}

static int play(const char *line)
{
	int count = 0;
	size_t bytes = 0;

	if (sscanf(line, "alloc %d %zu", &count, &bytes) == 2)
		return alloc(count, bytes);
	if (sscanf(line, "threads %d", &count) == 1)
		return start_threads(count);
	if (strcmp(line, "free\n") == 0)
		return free_all();
	if (strcmp(line, "fork\n") == 0)
		return fork_child();
	if (strcmp(line, "files\n") == 0)
		return count_files();
	if (strcmp(line, "close\n") == 0)
		for (int number = 3; number < 1024; number++)
			close(number);
	if (strcmp(line, "leave\n") == 0)
		pthread_exit(NULL);
	if (strcmp(line, "exit\n") == 0)
		exit(0);
	return 0;
}

int main(void)
{
	char line[100];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 ||
	    cuCtxSetCurrent(context) != 0)
		return 2;
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin) != NULL)
		printf("%d\n", play(line));
	return 0;
}
