/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases.h - what the cases of test_redzone.c use: a pool, a stream and their calls. A call that fails
 * ends the process with status STATUS_WRONG.
 */
#ifndef MAM_TESTS_REDZONE_CASES_H
#define MAM_TESTS_REDZONE_CASES_H

#include <mam/pools.h>
#include <mam/stream.h>

#include <stdio.h>
#include <unistd.h>

#include "fake/load.h"

#define MIB ((size_t)1 << 20)
#define STATUS_WRONG 99

#define REQUIRE(condition)                                                              \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(STATUS_WRONG);                                            \
		}                                                                       \
	} while (0)
#define SUCCEEDS(call) REQUIRE((call) == MAM_OK)

static struct cuda cuda;
static struct mam_pool *pool;
static struct CUstream_st *stream;
static char log_path[64], calls_path[64];

static void begin_on(const char *source)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	cuda = load();
	REQUIRE(cuda.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	attr.source = source;
	attr.growth_bytes = 8 * MIB;
	attr.name = "tested";
	SUCCEEDS(mam_pool_create(&attr, &pool));
}

static void begin(void)
{
	begin_on("cudamalloc");
}

static char *get(size_t bytes)
{
	void *block;

	SUCCEEDS(mam_malloc(pool, bytes, &block));
	return block;
}

/* Its red zones are filled, which later work in other streams does not wait for. */
static char *get_filled(size_t bytes)
{
	char *block = get(bytes);

	REQUIRE(cuda.cuCtxSynchronize() == CUDA_SUCCESS);
	return block;
}

static char *get_async(size_t bytes)
{
	void *block;

	SUCCEEDS(mam_malloc_async(pool, bytes, stream, &block));
	return block;
}

static void put(void *block)
{
	SUCCEEDS(mam_free(pool, block));
}

static void write_bytes(void *to, size_t bytes)
{
	REQUIRE(cuda.cuMemsetD8Async((uintptr_t)to, 7, bytes, stream) == CUDA_SUCCESS);
}

#endif
