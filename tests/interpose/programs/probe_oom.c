/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_oom.c - scenes that run out of memory on a device of 128 MiB whose pool has a chunk of 96
 * MiB. Linked so that the dynamic linker knows the names of its functions.
 */
#include "probe.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)
#define BLOCKS 24 /* of 4 MiB each */
#define MANY 200000
#define THREADS 8

static struct CUctx_st *context;
static unsigned long long blocks[BLOCKS], many[MANY];

__attribute__((noinline, visibility("default"))) void probe_fill(void);

static void start(void)
{
	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, probe_device());
	cuCtxSetCurrent(context);
}

void probe_fill(void)
{
	for (volatile int i = 0; i < BLOCKS; i++)
		if (cuMemAlloc_v2(&blocks[i], 4 * MIB) != 0)
			exit(3);
}

/* Many segments: a report takes 15 ms. */
static void scatter(void)
{
	for (int i = 0; i < MANY; i++)
		if (cuMemAlloc_v2(&many[i], (size_t)(i % 3 + 1) * 512) != 0)
			exit(3);
	for (int i = 0; i < MANY; i += 2)
		if (cuMemFree_v2(many[i]) != 0)
			exit(4);
}

static void free_every_other(void)
{
	for (int i = 0; i < BLOCKS; i += 2)
		if (cuMemFree_v2(blocks[i]) != 0)
			exit(4);
}

/* Everything that the program can see of the failure. */
static void fail(size_t bytes)
{
	unsigned long long block = 42;

	errno = 7;
	printf("%zu bytes: %d", bytes, cuMemAlloc_v2(&block, bytes));
	printf(", errno %d, block %llu\n", errno, block);
}

/* 48 MiB of the pool and 32 MiB of the device are free; the request is 40 MiB. */
static void fragmented(void)
{
	start();
	probe_fill();
	free_every_other();
	fail(40 * MIB);
}

/* No memory is free in the pool, and 32 MiB of the device are. */
static void full(void)
{
	start();
	probe_fill();
	fail(40 * MIB);
}

static void too_large(void)
{
	start();
	probe_fill();
	fail((size_t)1 << 40);
}

/* All blocks are freed, and the GPU still uses the first one. */
static void waiting(void)
{
	start();
	probe_fill();
	cuMemsetD8Async(blocks[0], 1, 4 * MIB, NULL);
	for (int i = 0; i < BLOCKS; i++)
		if (cuMemFree_v2(blocks[i]) != 0)
			exit(4);
	fail(40 * MIB);
}

/* Two failures at once and a pause, nine times. */
static void often(void)
{
	start();
	probe_fill();
	for (int i = 0; i < 18; i++) {
		fail(40 * MIB);
		if (i % 2 == 1)
			nanosleep(&(struct timespec){ 1, 20000000 }, NULL);
	}
}

/* Two failures with a pause; files may then have at most PROBE_FILE_BYTES. */
static void twice(void)
{
	const char *bytes = getenv("PROBE_FILE_BYTES");
	struct rlimit limit;

	start();
	probe_fill();
	if (bytes != NULL) {
		limit.rlim_cur = limit.rlim_max = strtoul(bytes, NULL, 10);
		setrlimit(RLIMIT_FSIZE, &limit);
	}
	fail(40 * MIB);
	nanosleep(&(struct timespec){ 1, 20000000 }, NULL);
	fail(40 * MIB);
}

static void *fail_in_thread(void *barrier)
{
	unsigned long long block = 42;

	cuCtxSetCurrent(context);
	pthread_barrier_wait(barrier);
	return cuMemAlloc_v2(&block, (size_t)1 << 40) == 2 && block == 42 ? NULL : barrier;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	pthread_barrier_t barrier;
	int failed = 0;
	void *result;

	start();
	scatter();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, fail_in_thread, &barrier);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &result);
		failed += result == NULL;
	}
	printf("%d of %d failed with out of memory\n", failed, THREADS);
}

/* The child uses CUDA, and so does the parent after it. */
static void forked(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		full();
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	full();
}

static void managed(void)
{
	unsigned long long block = 42;

	start();
	probe_fill();
	SHOW(cuMemAllocAsync(&block, 40 * MIB, NULL));
}

/* Prints the processor time of the failing call, apart from that of the same call before. */
static void slow(void)
{
	struct timespec from, to;
	unsigned long long block;
	double ms;

	start();
	scatter();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	SHOW(cuMemAlloc_v2(&block, (size_t)1 << 40));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	fprintf(stderr, "%.0f ms\n", ms);
}

int main(int argc, char **argv)
{
	static const struct probe_scene scenes[] = {
		{ "fragmented", fragmented }, { "full", full },
		{ "too-large", too_large },   { "waiting", waiting },
		{ "often", often },           { "twice", twice },
		{ "threads", threads },       { "forked", forked },
		{ "managed", managed },       { "slow", slow },
	};

	return probe_play(argc, argv, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
