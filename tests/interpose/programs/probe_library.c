/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_library.c - a program that uses libmam.so, which loads the driver with dlopen() and
 * dlsym().
 *
 *   strict          Strict frees of blocks that a fill still writes.
 *   strict-mapped   The same with mapped memory, which is unmapped afterwards.
 */
#include <mam/mam.h>

#include <stdint.h>

#include "fake/driver_api.h"
#include "probe.h"

#define MIB ((size_t)1 << 20)

static struct CUctx_st *context;
static struct CUstream_st *stream;

static struct mam_pool *begin(const char *source)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool = NULL;
	int device;

	SHOW(cuInit(0));
	SHOW(cuDeviceGet(&device, 0));
	SHOW(cuDevicePrimaryCtxRetain(&context, device));
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	attr.source = source;
	attr.free_policy = MAM_FREE_STRICT;
	SHOW(mam_pool_create(&attr, &pool));
	return pool;
}

static void free_in_use(struct mam_pool *pool, size_t bytes)
{
	void *block = NULL;
	unsigned long long address;

	SHOW(mam_malloc(pool, bytes, &block));
	address = (unsigned long long)(uintptr_t)block;
	SHOW(cuMemsetD8Async(address, 1, bytes, stream));
	printf("pending before the free: %d\n", fake_pending(address, bytes));
	SHOW(mam_free(pool, block));
	printf("pending after the free: %d\n", fake_pending(address, bytes));
}

static void end(struct mam_pool *pool)
{
	unsigned long long address = 0;
	size_t bytes = 0;

	SHOW(mam_pool_destroy(pool));
	printf("freed or unmapped under unfinished work: %d\n", fake_disturbed(&address, &bytes));
}

static void strict(void)
{
	struct mam_pool *pool = begin("cudamalloc");

	for (int i = 0; i < 3; i++)
		free_in_use(pool, 3 * MIB);
	end(pool);
}

static void strict_mapped(void)
{
	struct mam_pool *pool = begin("vmm");

	free_in_use(pool, 3 * MIB);
	SHOW(mam_pool_trim(pool, 0, NULL));
	end(pool);
}

static const struct probe_scene scenes[] = {
	{ "strict", strict },
	{ "strict-mapped", strict_mapped },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
