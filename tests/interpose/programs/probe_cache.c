/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_cache.c - scenes on the driver API about blocks that threads of an unmodified program cache.
 */
#include "probe.h"

#include <pthread.h>
#include <stdlib.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)
#define BLOCKS 24 /* of each thread; all of them fit into its cache */
#define THREADS 4
#define ROUNDS 2000
#define PAIRS 6400

static struct CUctx_st *context;
static pthread_barrier_t barrier;

static void start(void)
{
	SHOW(cuInit(0));
	SHOW(cuDevicePrimaryCtxRetain(&context, probe_device()));
	SHOW(cuCtxSetCurrent(context));
}

static void require(int code)
{
	if (code == CUDA_SUCCESS)
		return;
	printf("an unexpected error: %d\n", code);
	exit(1);
}

/* Without a thread cache, the pool uses the lowest block that fits. */
static void newest(void)
{
	unsigned long long blocks[8], again;

	start();
	for (int i = 0; i < 8; i++)
		require(cuMemAlloc_v2(&blocks[i], 4096));
	require(cuMemFree_v2(blocks[1]));
	require(cuMemFree_v2(blocks[5]));
	SHOW(cuMemAlloc_v2(&again, 4096));
	printf("the newest was reused: %d\n", again == blocks[5]);
}

/* Blocks of several sizes, one after the other. */
static void pairs(void)
{
	unsigned long long block;

	start();
	for (size_t i = 0; i < PAIRS; i++) {
		require(cuMemAlloc_v2(&block, 4096 + i % 3 * 65536));
		require(cuMemFree_v2(block));
	}
	printf("pairs: %d\n", PAIRS);
}

static void *free_block(void *block)
{
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuMemFree_v2(*(unsigned long long *)block));
	return NULL;
}

/* The driver's error for a block that another thread freed, and for addresses inside it. */
static void mistakes(void)
{
	static const size_t sizes[] = { 512, 40960, MIB, 3 * MIB };
	unsigned long long block;
	pthread_t thread;

	start();
	for (int i = 0; i < 4; i++) {
		SHOW(cuMemAlloc_v2(&block, sizes[i]));
		SHOW(cuMemFree_v2(block + 256));
		pthread_create(&thread, NULL, free_block, &block);
		pthread_join(thread, NULL);
		SHOW(cuMemFree_v2(block));
		SHOW(cuMemFree_v2(block + 256));
	}
}

static void allocate_and_free(void)
{
	unsigned long long blocks[BLOCKS];

	require(cuCtxSetCurrent(context));
	for (int i = 0; i < BLOCKS; i++)
		require(cuMemAlloc_v2(&blocks[i], MIB / 2));
	for (int i = 0; i < BLOCKS; i++)
		require(cuMemFree_v2(blocks[i]));
}

static void *stay(void *unused)
{
	allocate_and_free();
	pthread_barrier_wait(&barrier); /* its blocks are free */
	pthread_barrier_wait(&barrier); /* memory was needed */
	return unused;
}

static void use_all(int count)
{
	unsigned long long blocks[44];

	for (int i = 0; i < count; i++)
		SHOW(cuMemAlloc_v2(&blocks[i], 4 * MIB));
	for (int i = 0; i < count; i++)
		SHOW(cuMemFree_v2(blocks[i]));
}

/* Threads that are alive freed almost all memory of the device; another thread needs it. */
static void full(void)
{
	pthread_t threads[THREADS];

	start();
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, stay, NULL);
	pthread_barrier_wait(&barrier);
	use_all(13);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/*
 * Blocks of 4 MiB between others fill the device and are freed first: their memory is available
 * before that of the others. Placed there again, some would separate the memory of the others.
 */
static void joined(void)
{
	unsigned long long blocks[22][3];

	start();
	for (int i = 0; i < 22; i++)
		for (int j = 0; j < 3; j++)
			SHOW(cuMemAlloc_v2(&blocks[i][j], j == 1 ? 4 * MIB : 2 * MIB));
	for (int i = 0; i < 22; i++)
		SHOW(cuMemFree_v2(blocks[i][1]));
	for (int i = 0; i < 22; i++)
		for (int j = 0; j < 3; j += 2)
			SHOW(cuMemFree_v2(blocks[i][j]));
	use_all(44);
}

static void *leave(void *unused)
{
	allocate_and_free();
	return unused;
}

/* The same with threads that have ended. */
static void ended(void)
{
	pthread_t thread;

	start();
	for (int i = 0; i < 4 * THREADS; i++) {
		pthread_create(&thread, NULL, leave, NULL);
		pthread_join(thread, NULL);
	}
	use_all(13);
}

/* Each thread frees blocks of the previous one. */
static unsigned long long passed[THREADS][BLOCKS];

static void *trade(void *number)
{
	unsigned int me = (unsigned int)(size_t)number, other = (me + 1) % THREADS;

	require(cuCtxSetCurrent(context));
	for (unsigned int round = 0; round < ROUNDS / BLOCKS; round++) {
		for (unsigned int i = 0; i < BLOCKS; i++)
			require(cuMemAlloc_v2(&passed[me][i], 1000 + 512 * (round % 7 + i)));
		pthread_barrier_wait(&barrier);
		for (unsigned int i = 0; i < BLOCKS; i++)
			require(cuMemFree_v2(passed[other][i]));
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void counts(void)
{
	pthread_t threads[THREADS];

	start();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, trade, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("blocks: %d\n", THREADS * (ROUNDS / BLOCKS) * BLOCKS);
}

int main(int count, char **arguments)
{
	static const struct probe_scene scenes[] = {
		{ "newest", newest }, { "pairs", pairs },   { "mistakes", mistakes },
		{ "full", full },     { "joined", joined }, { "ended", ended },
		{ "counts", counts },
	};

	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
