/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_contexts.c - blocks in the primary context, in two contexts of the program's own, and in a
 * green one where the driver supports it: allocated in each, freed while another context is
 * current.
 *
 * stdout: the result of each step, and whether the bytes were right. stderr: milliseconds per
 * round.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../fake/driver_api.h"

#define ROUNDS 50
#define BLOCKS 8
#define BYTES ((size_t)300000)

static struct CUctx_st *contexts[4];
static int count;
static void *green_handle;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static uintptr_t find(const char *name)
{
	return (uintptr_t)dlsym(RTLD_DEFAULT, name);
}

/*
 * A context over some of the device's processors, by functions that came with CUDA 12.4. A driver
 * that cannot describe such a part may still create one over all of them.
 */
static struct CUctx_st *green(void)
{
	int (*resource)(int device, void *found, int type) =
		(int (*)(int, void *, int))find("cuDeviceGetDevResource");
	int (*split)(void *groups, unsigned int *number, const void *from, void *rest,
		     unsigned int flags, unsigned int min) =
		(int (*)(void *, unsigned int *, const void *, void *, unsigned int,
			 unsigned int))find("cuDevSmResourceSplitByCount");
	int (*describe)(void **description, void *groups, unsigned int number) =
		(int (*)(void **, void *, unsigned int))find("cuDevResourceGenerateDesc");
	int (*create)(void **made, void *description, int device, unsigned int flags) =
		(int (*)(void **, void *, int, unsigned int))find("cuGreenCtxCreate");
	int (*convert)(struct CUctx_st * *context, void *made) =
		(int (*)(struct CUctx_st **, void *))find("cuCtxFromGreenCtx");
	char whole[512] = "", group[512] = ""; /* larger than any CUdevResource */
	struct CUctx_st *context = NULL;
	void *description = NULL;
	unsigned int number = 1;

	if (!create || !convert)
		return NULL;
	if (resource && split && describe &&
	    (resource(0, whole, 1) != 0 || split(group, &number, whole, NULL, 0, 16) != 0 ||
	     describe(&description, group, 1) != 0))
		return NULL;
	if (create(&green_handle, description, 0, 1) != 0 || convert(&context, green_handle) != 0)
		return NULL;
	return context;
}

static int round_trip(int round)
{
	unsigned long long blocks[BLOCKS];
	static unsigned char bytes[BYTES];
	int wrong = 0;

	for (int i = 0; i < BLOCKS; i++) {
		wrong += cuCtxSetCurrent(contexts[i % count]) != 0;
		wrong += cuMemAlloc_v2(&blocks[i], BYTES) != 0;
		wrong += cuMemsetD8_v2(blocks[i], (unsigned char)(i + round), BYTES) != 0;
	}
	for (int i = 0; i < BLOCKS; i++) {
		wrong += cuCtxSetCurrent(contexts[i % count]) != 0;
		wrong += cuMemcpyDtoH_v2(bytes, blocks[i], BYTES) != 0;
		for (size_t k = 0; k < BYTES; k += 999)
			wrong += bytes[k] != (unsigned char)(i + round);
		wrong += cuCtxSetCurrent(contexts[(i + 1) % count]) != 0;
		wrong += cuMemFree_v2(blocks[i]) != 0;
		wrong += cuMemFree_v2(blocks[i]) != 1;
	}
	return wrong;
}

/* Memory allocated in a green context outlives it: it belongs to the primary one. */
static void end_green(void)
{
	int (*destroy)(void *made) = (int (*)(void *))find("cuGreenCtxDestroy");
	unsigned long long kept;

	cuCtxSetCurrent(contexts[3]);
	printf("green: block %d\n", cuMemAlloc_v2(&kept, BYTES));
	cuCtxSetCurrent(contexts[0]);
	printf("green: destroy %d\n", destroy ? destroy(green_handle) : -1);
	printf("green: free of its block %d\n", cuMemFree_v2(kept));
}

int main(void)
{
	unsigned long long last;
	double start;
	int wrong = 0;

	printf("init %d\n", cuInit(0));
	printf("primary %d\n", cuDevicePrimaryCtxRetain(&contexts[count++], 0));
	printf("own %d\n", cuCtxCreate_v2(&contexts[count++], 0, 0));
	printf("own %d\n", cuCtxCreate_v2(&contexts[count++], 0, 0));
	contexts[count] = green();
	fprintf(stderr, "green context: %s\n", contexts[count] != NULL ? "yes" : "no");
	count += contexts[count] != NULL;
	wrong += round_trip(0);
	start = now();
	for (int round = 1; round <= ROUNDS; round++)
		wrong += round_trip(round);
	fprintf(stderr, "ms_per_round %.4f\n", (now() - start) / ROUNDS);
	printf("wrong %d\n", wrong);
	cuCtxSetCurrent(contexts[1]);
	printf("last %d\n", cuMemAlloc_v2(&last, BYTES));
	printf("destroy %d\n", cuCtxDestroy_v2(contexts[1]));
	cuCtxSetCurrent(contexts[0]);
	printf("free of what is gone %d\n", cuMemFree_v2(last));
	if (green_handle)
		end_green();
	printf("destroy %d\n", cuCtxDestroy_v2(contexts[2]));
	printf("after all %d\n", cuMemAlloc_v2(&last, BYTES));
	printf("and free %d\n", cuMemFree_v2(last));
	return wrong != 0;
}
