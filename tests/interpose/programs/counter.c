/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter.c - a typical preloaded library: it wraps cudaMalloc and cudaFree, forwards both, and
 * prints at exit how often they were called.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int cudaMalloc(void **block, size_t bytes);
int cudaFree(void *block);

static int allocs, frees;

int cudaMalloc(void **block, size_t bytes)
{
	int (*next)(void **, size_t);

	*(void **)&next = dlsym(RTLD_NEXT, "cudaMalloc");
	allocs++;
	return next(block, bytes);
}

int cudaFree(void *block)
{
	int (*next)(void *);

	*(void **)&next = dlsym(RTLD_NEXT, "cudaFree");
	frees++;
	return next(block);
}

__attribute__((destructor)) static void report(void)
{
	if (allocs + frees > 0)
		fprintf(stderr, "counter: %d allocs %d frees\n", allocs, frees);
}
