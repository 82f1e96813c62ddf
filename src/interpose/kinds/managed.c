/* SPDX-License-Identifier: Apache-2.0 */
/*
 * managed.c - cuMemAllocManaged, and host memory that the device reads: cuMemHostAlloc,
 * cuMemAllocHost. The driver keeps allocating all of it: advice and prefetch act on whole pages of
 * managed memory, so a pooled block would be affected by calls for its neighbors.
 *
 * cudaMallocManaged, cudaMallocHost and cudaHostAlloc call these functions. cuMemFree frees managed
 * memory (free.c).
 */
#include "interpose/memory/pass.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"

struct arguments {
	void *block; /* out: the program's pointer to an address */
	unsigned int flags;
};

static int ask_managed(void *user, size_t bytes, uint64_t *key)
{
	const struct arguments *arguments = user;
	unsigned long long *block = arguments->block;
	int answer = MAM_TABLE_ORIGINAL(cuMemAllocManaged)(block, bytes, arguments->flags);

	if (answer == MAM_CUDA_SUCCESS)
		*key = *block;
	return answer;
}

static int managed(enum mam_road road, unsigned long long *block, size_t bytes, unsigned int flags)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemAllocManaged) real = MAM_TABLE_ORIGINAL(cuMemAllocManaged);
	struct arguments arguments = { block, flags };
	struct mam_pass pass = { .function = MAM_TABLE_cuMemAllocManaged,
				 .road = road,
				 .kind = MAM_ACCOUNT_MANAGED,
				 .bytes = bytes,
				 .taken = mam_pass_rounded(bytes),
				 .ask = ask_managed,
				 .arguments = &arguments };

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == NULL || bytes == 0)
		return real(block, bytes, flags);
	return mam_pass_alloc(&pass);
}

int cuMemAllocManaged(unsigned long long *block, size_t bytes, unsigned int flags)
{
	return managed(mam_road_taken(), block, bytes, flags);
}
MAM_THUNK(cuMemAllocManaged);

static int ask_host(void *user, size_t bytes, uint64_t *key)
{
	const struct arguments *arguments = user;
	void **block = arguments->block;
	int answer = MAM_TABLE_ORIGINAL(cuMemHostAlloc)(block, bytes, arguments->flags);

	if (answer == MAM_CUDA_SUCCESS)
		*key = (uintptr_t)*block;
	return answer;
}

static int ask_host_plain(void *user, size_t bytes, uint64_t *key)
{
	const struct arguments *arguments = user;
	void **block = arguments->block;
	int answer = MAM_TABLE_ORIGINAL(cuMemAllocHost_v2)(block, bytes);

	if (answer == MAM_CUDA_SUCCESS)
		*key = (uintptr_t)*block;
	return answer;
}

static int host_flags(enum mam_road road, void **block, size_t bytes, unsigned int flags)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemHostAlloc) real = MAM_TABLE_ORIGINAL(cuMemHostAlloc);
	struct arguments arguments = { block, flags };
	struct mam_pass pass = { .function = MAM_TABLE_cuMemHostAlloc,
				 .road = road,
				 .kind = MAM_ACCOUNT_HOST,
				 .bytes = bytes,
				 .taken = bytes,
				 .ask = ask_host,
				 .arguments = &arguments };

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == NULL || bytes == 0)
		return real(block, bytes, flags);
	return mam_pass_alloc(&pass);
}

int cuMemHostAlloc(void **block, size_t bytes, unsigned int flags)
{
	return host_flags(mam_road_taken(), block, bytes, flags);
}
MAM_THUNK(cuMemHostAlloc);

static int host_plain(enum mam_road road, void **block, size_t bytes)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemAllocHost_v2) real = MAM_TABLE_ORIGINAL(cuMemAllocHost_v2);
	struct arguments arguments = { block, 0 };
	struct mam_pass pass = { .function = MAM_TABLE_cuMemAllocHost_v2,
				 .road = road,
				 .kind = MAM_ACCOUNT_HOST,
				 .bytes = bytes,
				 .taken = bytes,
				 .ask = ask_host_plain,
				 .arguments = &arguments };

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == NULL || bytes == 0)
		return real(block, bytes);
	return mam_pass_alloc(&pass);
}

int cuMemAllocHost_v2(void **block, size_t bytes)
{
	return host_plain(mam_road_taken(), block, bytes);
}
MAM_THUNK(cuMemAllocHost_v2);

static int release_host(uint64_t key)
{
	return MAM_TABLE_ORIGINAL(cuMemFreeHost)((void *)(uintptr_t)key);
}

static int free_host(enum mam_road road, void *block)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemFreeHost) real = MAM_TABLE_ORIGINAL(cuMemFreeHost);

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == NULL)
		return real(block);
	return mam_pass_free(MAM_TABLE_cuMemFreeHost, road, MAM_ACCOUNT_HOST, (uintptr_t)block,
			     release_host);
}

int cuMemFreeHost(void *block)
{
	return free_host(mam_road_taken(), block);
}
MAM_THUNK(cuMemFreeHost);
