/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_quarantine.c - checks that memory is not allocated again while work still accesses it.
 *
 * Threads allocate blocks, fill them on streams whose work takes a random time, and free them at
 * once. After each allocation the probe queries the fake driver whether unfinished work accesses
 * the new block. That never happens without mam, where a free waits, and must not happen with it.
 *
 *   probe_quarantine THREADS ROUNDS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake/driver_api.h"
#include "probe.h"

#define STREAMS 4
#define KEPT 8

static struct CUctx_st *context;
static atomic_int failures, touched;
static int rounds;

static uint64_t next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static void check(int code)
{
	if (code != 0)
		atomic_fetch_add(&failures, 1);
}

/* By either free; the stream-ordered free uses the block's stream. */
static void release(uint64_t *random, unsigned long long block, struct CUstream_st *stream)
{
	check(next(random) % 4 == 0 ? cuMemFreeAsync(block, stream) : cuMemFree_v2(block));
}

static void *work(void *argument)
{
	uint64_t random = 88172645463325252u + (uint64_t)(uintptr_t)argument * 977;
	struct {
		unsigned long long block;
		struct CUstream_st *stream;
	} kept[KEPT] = { { 0, NULL } };
	struct CUstream_st *streams[STREAMS];

	check(cuCtxSetCurrent(context));
	for (int i = 0; i < STREAMS; i++)
		check(cuStreamCreate(&streams[i], i % 2 ? STREAM_NON_BLOCKING : 0));
	for (int round = 0; round < rounds; round++) {
		struct CUstream_st *stream = streams[next(&random) % STREAMS];
		size_t bytes = 1 + next(&random) % ((size_t)1 << (8 + next(&random) % 13));
		int place = (int)(next(&random) % KEPT);
		unsigned long long block;

		check(cuMemAlloc_v2(&block, bytes));
		if (fake_pending(block, bytes) != 0)
			atomic_fetch_add(&touched, 1);
		check(cuMemsetD8Async(block, (unsigned char)round, bytes, stream));
		if (kept[place].block != 0)
			release(&random, kept[place].block, kept[place].stream);
		kept[place].block = block;
		kept[place].stream = stream;
	}
	for (int i = 0; i < KEPT; i++)
		if (kept[i].block != 0)
			release(&random, kept[i].block, kept[i].stream);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[64];
	int wanted = count > 1 ? atoi(arguments[1]) : 2;

	rounds = count > 2 ? atoi(arguments[2]) : 1000;
	if (wanted < 1 || wanted > 64 || cuInit(0) != 0 ||
	    cuDevicePrimaryCtxRetain(&context, probe_device()) != 0 ||
	    cuCtxSetCurrent(context) != 0)
		return 2;
	for (int i = 0; i < wanted; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
	for (int i = 0; i < wanted; i++)
		pthread_join(threads[i], NULL);
	printf("failures %d\ntouched %d\n", atomic_load(&failures), atomic_load(&touched));
	return 0;
}
