/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - a program without mam, for run.sh. Arguments: actions, which use one block of 1,000 bytes.
 *
 *   alloc   free   write OFFSET   range: print what the driver reports of the block   sync
 *   many: 200 blocks, each written completely   exit STATUS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake/driver_api.h"

#define BYTES 1000

static unsigned long long block;

static void expect(int result)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "the driver returned %d\n", result);
	exit(3);
}

static void range(void)
{
	unsigned long long base;
	size_t bytes;

	expect(cuMemGetAddressRange_v2(&base, &bytes, block + 10));
	printf("base %lld bytes %zu aligned %d\n", (long long)(base - block), bytes,
	       block % 512 == 0);
}

static void many(void)
{
	unsigned long long blocks[200];

	for (int i = 0; i < 200; i++) {
		expect(cuMemAlloc_v2(&blocks[i], BYTES + (size_t)i * 100));
		expect(cuMemsetD8_v2(blocks[i], 7, BYTES + (size_t)i * 100));
	}
	for (int i = 0; i < 200; i++)
		expect(cuMemFree_v2(blocks[i]));
}

static int act(const char *name, const char *argument)
{
	if (strcmp(name, "write") == 0) {
		expect(cuMemsetD8_v2(block + (unsigned long long)atoll(argument), 7, 1));
		return 1;
	}
	if (strcmp(name, "exit") == 0)
		exit(atoi(argument));
	if (strcmp(name, "alloc") == 0)
		expect(cuMemAlloc_v2(&block, BYTES));
	else if (strcmp(name, "free") == 0)
		expect(cuMemFree_v2(block));
	else if (strcmp(name, "range") == 0)
		range();
	else if (strcmp(name, "sync") == 0)
		expect(cuCtxSynchronize());
	else if (strcmp(name, "many") == 0)
		many();
	else
		exit(2);
	return 0;
}

int main(int count, char **arguments)
{
	struct CUctx_st *context;

	expect(cuInit(0));
	expect(cuDevicePrimaryCtxRetain(&context, 0));
	expect(cuCtxSetCurrent(context));
	for (int i = 1; i < count; i++)
		i += act(arguments[i], i + 1 < count ? arguments[i + 1] : "0");
	return 0;
}
