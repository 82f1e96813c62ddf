/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinned_loop.cu - the gain of a pool of pinned or managed memory: pairs of an allocation and a
 * free, by CUDA's own functions and from mam.
 *
 *	usage: pinned_loop [MILLISECONDS]
 *
 * One line per kind, way and size, "pinned cuda 65536 NANOSECONDS", the median of the pairs made in
 * that many milliseconds (300), but of at least three. The host writes each block's first and last
 * byte, so that lazily allocated memory is included.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <mam/mam.h>
#include <mam/source.h>

#define PAIRS_MAX 100000

static struct mam_pool *pools[2][2]; /* by kind and policy */

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long long)time.tv_sec * 1000000000u + (unsigned long long)time.tv_nsec;
}

static void *cuda_pinned(size_t bytes)
{
	void *block = NULL;

	return cudaHostAlloc(&block, bytes, cudaHostAllocPortable) == cudaSuccess ? block : NULL;
}

static void *cuda_managed(size_t bytes)
{
	void *block = NULL;

	return cudaMallocManaged(&block, bytes, cudaMemAttachGlobal) == cudaSuccess ? block : NULL;
}

static void *from_pool(struct mam_pool *pool, size_t bytes)
{
	void *block = NULL;

	return mam_malloc(pool, bytes, &block) == MAM_OK ? block : NULL;
}

/* Ways: 0 CUDA's, 1 mam waiting as CUDA does, 2 mam in the caller's order. */
static void *take(int kind, int way, size_t bytes)
{
	if (way > 0)
		return from_pool(pools[kind][way - 1], bytes);
	return kind == 0 ? cuda_pinned(bytes) : cuda_managed(bytes);
}

static int give(int kind, int way, void *block)
{
	if (way > 0)
		return mam_free(pools[kind][way - 1], block) == MAM_OK;
	return (kind == 0 ? cudaFreeHost(block) : cudaFree(block)) == cudaSuccess;
}

static int by_value(const void *left, const void *right)
{
	const unsigned long long a = *(const unsigned long long *)left;
	const unsigned long long b = *(const unsigned long long *)right;

	return a < b ? -1 : a > b;
}

static unsigned long long median(int kind, int way, size_t bytes, unsigned long long limit)
{
	static unsigned long long times[PAIRS_MAX];
	unsigned long long end = now() + limit, start;
	size_t count = 0;

	do {
		volatile char *block;
		int given;

		start = now();
		block = (volatile char *)take(kind, way, bytes);
		if (!block)
			return 0;
		block[0] = block[bytes - 1] = 1;
		given = give(kind, way, (void *)block);
		times[count] = now() - start;
		if (!given)
			return 0;
		count++;
	} while (count < PAIRS_MAX && (count < 3 || start < end));
	qsort(times, count, sizeof(times[0]), by_value);
	return times[count / 2];
}

static int make_pools(void)
{
	static const char *const sources[] = { "pinned", "managed" };
	static const enum mam_free_policy policies[] = { MAM_FREE_STRICT, MAM_FREE_STREAM };

	for (int kind = 0; kind < 2; kind++) {
		for (int policy = 0; policy < 2; policy++) {
			struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
			enum mam_status status;

			attr.source = sources[kind];
			attr.free_policy = policies[policy];
			status = mam_pool_create(&attr, &pools[kind][policy]);
			if (status != MAM_OK) {
				fprintf(stderr, "pinned_loop: no pool of %s memory: %s\n",
					sources[kind], mam_strerror(status));
				return 0;
			}
		}
	}
	return 1;
}

int main(int count, char **arguments)
{
	static const char *const kinds[] = { "pinned", "managed" };
	static const char *const ways[] = { "cuda", "mam-strict", "mam-stream" };
	static const size_t sizes[] = { 64 << 10, 1 << 20, 64 << 20 };
	unsigned long long limit = count > 1 ? strtoull(arguments[1], NULL, 10) : 300;
	int failed = 0;

	if (cudaFree(NULL) != cudaSuccess || !make_pools())
		return 1;
	for (int kind = 0; kind < 2; kind++) {
		for (size_t size = 0; size < 3; size++) {
			for (int way = 0; way < 3; way++) {
				unsigned long long time =
					median(kind, way, sizes[size], limit * 1000000);

				failed |= time == 0;
				printf("%s %s %zu %llu\n", kinds[kind], ways[way], sizes[size],
				       time);
			}
		}
	}
	return failed;
}
