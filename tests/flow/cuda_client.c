/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_client.c - a CUDA program that includes <mam/cuda.h>; cuda.sh builds it as C and as C++ and
 * runs each part.
 *
 * It takes the name of a part. Exit status 0: success; 1: failure, with a line that shows the
 * failed condition.
 */
#include <mam/cuda.h>
#include <mam/stats.h>

#include <cuda_runtime.h> /* a second call has no effect */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

#define MUST(condition)                                                        \
	do {                                                                   \
		if (!(condition)) {                                            \
			printf("line %d: failed: %s\n", __LINE__, #condition); \
			return 1;                                              \
		}                                                              \
	} while (0)

typedef cudaError_t (*malloc_function)(void **, size_t);
typedef cudaError_t (*free_function)(void *);

/* As in other files of the program, which do not include mam/cuda.h. */
#undef cudaMalloc
static const malloc_function real_malloc = cudaMalloc;
#define cudaMalloc mam_cuda_malloc

static int is_mams(const void *block)
{
	return mam_owner(block, NULL, NULL) == MAM_OK;
}

static int memory(void)
{
	unsigned char host[1000];
	float *block;

#ifdef __cplusplus
	MUST(cudaMalloc(&block, sizeof(host)) == cudaSuccess);
#else
	MUST(cudaMalloc((void **)&block, sizeof(host)) == cudaSuccess);
#endif
	MUST(is_mams(block));
	MUST((uintptr_t)block % 512 == 0);
	memset(host, 7, sizeof(host));
	MUST(cudaMemcpy(block, host, sizeof(host), cudaMemcpyHostToDevice) == cudaSuccess);
	memset(host, 0, sizeof(host));
	MUST(cudaMemcpy(host, block, sizeof(host), cudaMemcpyDeviceToHost) == cudaSuccess);
	for (size_t i = 0; i < sizeof(host); i++)
		MUST(host[i] == 7);
	MUST(cudaFree(block) == cudaSuccess);
	MUST(cudaGetLastError() == cudaSuccess);
	return 0;
}

/* Many blocks, few driver calls: cuda.sh counts them. */
static int many(void)
{
	void *blocks[100];

	for (int round = 0; round < 10; round++) {
		for (size_t i = 0; i < 100; i++)
			MUST(cudaMalloc(&blocks[i], 1 + i * 1000) == cudaSuccess);
		for (size_t i = 0; i < 100; i++)
			MUST(cudaFree(blocks[i]) == cudaSuccess);
	}
	return 0;
}

static int nothing(void)
{
	void *block = &block;

	MUST(cudaFree(0) == cudaSuccess);
	MUST(cudaMalloc(&block, 0) == cudaSuccess);
	MUST(block == NULL);
	MUST(cudaFree(block) == cudaSuccess);
	MUST(cudaMalloc((void **)NULL, 512) == cudaErrorInvalidValue);
	MUST(cudaMalloc((void **)NULL, 0) == cudaErrorInvalidValue);
	MUST(cudaGetLastError() == cudaErrorInvalidValue);
	return 0;
}

static int pointers(void)
{
	const malloc_function maker = cudaMalloc;
	const free_function freer = &cudaFree;
	void *block;

	MUST(maker(&block, 512) == cudaSuccess);
	MUST(is_mams(block));
	MUST(freer(block) == cudaSuccess);
	MUST(maker != real_malloc);
	return 0;
}

/*
 * Each call is refused with the runtime's own error, which is pending afterwards and cleared when
 * it is read.
 */
static int invalid_calls(void)
{
	struct mam_segment_info segment;
	char *block, *other;
	void *wrong[5];

	segment.size = sizeof(segment);
	MUST(cudaMalloc((void **)&block, 4096) == cudaSuccess);
	MUST(cudaMalloc((void **)&other, 4096) == cudaSuccess);
	MUST(mam_owner(block, NULL, &segment) == MAM_OK);
	MUST(cudaFree(block) == cudaSuccess);
	/* freed; also a chunk's start, which the runtime would accept as its own */
	wrong[0] = block;
	wrong[1] = other + 512;
	wrong[2] = &wrong;
	wrong[3] = (void *)1;
	wrong[4] = (char *)segment.chunk_base + segment.chunk_bytes - 1;
	MUST(segment.chunk_base == block);
	for (size_t i = 0; i < 5; i++) {
		MUST(cudaFree(wrong[i]) == cudaErrorInvalidValue);
		MUST(cudaPeekAtLastError() == cudaErrorInvalidValue);
		MUST(cudaGetLastError() == cudaErrorInvalidValue);
		MUST(cudaGetLastError() == cudaSuccess);
	}
	MUST(cudaMemset(other, 0, 4096) == cudaSuccess); /* the chunk still exists */
	MUST(cudaFree(other) == cudaSuccess);
	return 0;
}

/* Memory that CUDA allocated is freed by CUDA. */
static int foreign(void)
{
	void *block, *managed, *pooled;
	size_t pitch;

	MUST(cudaMalloc(&block, 512) == cudaSuccess);
	MUST(real_malloc(&pooled, 4096) == cudaSuccess);
	MUST(!is_mams(pooled));
	MUST(cudaFree(pooled) == cudaSuccess);
	MUST(cudaMallocPitch(&pooled, &pitch, 100, 100) == cudaSuccess);
	MUST(cudaFree(pooled) == cudaSuccess);
	MUST(cudaMallocManaged(&managed, 4096, 1) == cudaSuccess);
	MUST(cudaFree(managed) == cudaSuccess);
	MUST(cudaFree(managed) == cudaErrorInvalidValue);
	MUST(cudaFree(block) == cudaSuccess);
	return 0;
}

static int devices(void)
{
	struct mam_pool *pools[2];
	void *blocks[2];

	for (int device = 0; device < 2; device++) {
		MUST(cudaSetDevice(device) == cudaSuccess);
		MUST(cudaMalloc(&blocks[device], MIB) == cudaSuccess);
		MUST(cudaMemset(blocks[device], device, MIB) == cudaSuccess);
		MUST(mam_owner(blocks[device], &pools[device], NULL) == MAM_OK);
	}
	MUST(pools[0] != pools[1]);
	MUST(mam_pool_default(0, &pools[1]) == MAM_OK && pools[1] == pools[0]);
	MUST(cudaFree(blocks[0]) == cudaSuccess); /* the other device is current */
	MUST(cudaFree(blocks[1]) == cudaSuccess);
	return 0;
}

/* Out of memory: the status and the pending error match the runtime's. Then it works again. */
static int out_of_memory(void)
{
	void *block, *other;

	MUST(cudaMalloc(&block, (size_t)1 << 46) == cudaErrorMemoryAllocation);
	MUST(cudaGetLastError() == cudaErrorMemoryAllocation);
	MUST(cudaMalloc(&block, SIZE_MAX) == cudaErrorMemoryAllocation);
	MUST(cudaGetLastError() == cudaErrorMemoryAllocation);
	MUST(cudaMalloc(&block, 512) == cudaSuccess);
	MUST(cudaMalloc(&other, 512) == cudaSuccess);
	MUST(cudaFree(other) == cudaSuccess);
	MUST(cudaFree(block) == cudaSuccess);
	return 0;
}

/* The pool may have little memory (MAM_LIMIT): the runtime serves the rest. */
static int beyond_the_limit(void)
{
	void *block, *large;

	MUST(cudaMalloc(&block, MIB) == cudaSuccess);
	MUST(cudaMalloc(&large, 64 * MIB) == cudaSuccess);
	MUST(is_mams(block) && !is_mams(large));
	MUST(cudaFree(large) == cudaSuccess);
	MUST(cudaFree(block) == cudaSuccess);
	return 0;
}

/* Copies lag (FAKE_CUDA_LAG_US): a free returns after they are done. */
static int barrier(void)
{
	void *block, *other;
	static char host[4096];
	cudaStream_t stream;

	/* Not synchronized with another stream. */
	MUST(cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
	MUST(cudaMalloc(&block, sizeof(host)) == cudaSuccess);
	MUST(cudaMalloc(&other, sizeof(host)) == cudaSuccess);
	MUST(cudaMemcpyAsync(block, host, sizeof(host), cudaMemcpyHostToDevice, stream) ==
	     cudaSuccess);
	MUST(cudaStreamQuery(stream) == cudaErrorNotReady);
	MUST(cudaFree(other) == cudaSuccess);
	MUST(cudaStreamQuery(stream) == cudaSuccess);
	MUST(cudaFree(block) == cudaSuccess);
	MUST(cudaStreamDestroy(stream) == cudaSuccess);
	return 0;
}

static int reset(void)
{
	struct mam_pool *pool;
	void *block;

	MUST(cudaDeviceReset() == cudaSuccess); /* before anything else, as in many programs */
	for (int round = 0; round < 3; round++) {
		MUST(cudaMalloc(&block, MIB) == cudaSuccess);
		MUST(cudaMemset(block, 1, MIB) == cudaSuccess);
		MUST(mam_owner(block, &pool, NULL) == MAM_OK);
		MUST(cudaDeviceReset() == cudaSuccess);
		MUST(!is_mams(block));
		MUST(mam_pool_destroy(pool) == MAM_ERROR_DESTROYED);
	}
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} parts[] = {
	{ "memory", memory },
	{ "many", many },
	{ "nothing", nothing },
	{ "pointers", pointers },
	{ "invalid_calls", invalid_calls },
	{ "foreign", foreign },
	{ "devices", devices },
	{ "out_of_memory", out_of_memory },
	{ "beyond_the_limit", beyond_the_limit },
	{ "barrier", barrier },
	{ "reset", reset },
};

int main(int count, char **arguments)
{
	for (size_t i = 0; count == 2 && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].name, arguments[1]) == 0)
			return parts[i].run();
	printf("unknown part\n");
	return 2;
}
