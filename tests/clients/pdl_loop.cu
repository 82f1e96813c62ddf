/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pdl_loop.cu - programmatic dependent launch: the next kernel of a stream starts before the one
 * before it has ended, so the order of the stream does not say when memory is free again.
 *
 * Each round a kernel keeps writing and reading its block, lets the next one start at once, and the
 * block is freed. The next kernel fills a new block with something else. stdout: how many kernels
 * read what they had not written, and a sum. stderr: milliseconds a round.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <cuda_runtime.h>

#define CHECK(call)                                                                            \
	do {                                                                                   \
		cudaError_t code = (call);                                                     \
		if (code != cudaSuccess) {                                                     \
			fprintf(stderr, "pdl_loop: %s: %s\n", #call, cudaGetErrorString(code)); \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

enum { WORDS = 1 << 14, ROUNDS = 500 };

__global__ void use(unsigned *words, unsigned mark, unsigned long long *foreign)
{
	long long start = clock64();
	volatile unsigned *memory = words;

	cudaTriggerProgrammaticLaunchCompletion();
	for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
		memory[i] = mark + i;
	do {
		for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
			if (memory[i] != mark + i)
				atomicAdd(foreign, 1ULL);
	} while (clock64() - start < 200000);
}

static double now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main()
{
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};
	unsigned long long *foreign;
	double start;

	CHECK(cudaMallocManaged(&foreign, sizeof(*foreign)));
	*foreign = 0;
	CHECK(cudaStreamCreateWithFlags(&config.stream, cudaStreamNonBlocking));
	config.gridDim = 1;
	config.blockDim = 256;
	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	config.attrs = &attribute;
	config.numAttrs = 1;
	start = now();
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned *words;

		CHECK(cudaMalloc(&words, WORDS * sizeof(*words)));
		CHECK(cudaLaunchKernelEx(&config, use, words, i << 16, foreign));
		CHECK(cudaFree(words));
	}
	CHECK(cudaDeviceSynchronize());
	fprintf(stderr, "ms_per_round %.4f\n", (now() - start) / ROUNDS);
	printf("rounds %d foreign %llu\n", ROUNDS, *foreign);
	return *foreign != 0;
}
