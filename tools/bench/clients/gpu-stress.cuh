/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-stress.cuh - the kernel that detects others writing its memory, and the code that both stress
 * programs need around it.
 *
 * The kernel writes a pattern of its own into a block and reads it back, repeatedly, for a given
 * time. It sees a foreign word that was written between two of its own reads. If two kernels have
 * the same memory, both write it repeatedly, so both detect the other.
 */
#ifndef MAM_GPU_STRESS_CUH
#define MAM_GPU_STRESS_CUH

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <cuda_runtime.h>

/* clang-format off */
#define CHECK(call)                                                                      \
	do {                                                                             \
		cudaError_t code = (call);                                               \
		if (code != cudaSuccess) {                                               \
			fprintf(stderr, "gpu-stress: %s: %s\n", #call,                   \
				cudaGetErrorString(code));                               \
			exit(2);                                                         \
		}                                                                        \
	} while (0)
/* clang-format on */

enum { WORDS_MAX = 1 << 16 }; /* of a block that one kernel checks, spread over all of it */

/* Results of the kernels of one context; in managed memory, outside of any pool. */
struct sums {
	unsigned long long foreign; /* words that differ from what the kernel wrote */
	unsigned long long kernels;
};

__device__ static size_t place(size_t i, size_t words)
{
	return words <= WORDS_MAX ? i : i * (words / WORDS_MAX);
}

__global__ static void use(uint32_t *block, size_t words, uint32_t mark, long long cycles,
			   sums *seen)
{
	size_t looked = words < WORDS_MAX ? words : WORDS_MAX;
	long long start = clock64();
	volatile uint32_t *memory = block;
	unsigned long long foreign = 0;

	cudaTriggerProgrammaticLaunchCompletion();
	for (size_t i = threadIdx.x; i < looked; i += blockDim.x)
		memory[place(i, words)] = mark ^ (uint32_t)i;
	__syncthreads();
	do {
		for (size_t i = threadIdx.x; i < looked; i += blockDim.x) {
			uint32_t got = memory[place(i, words)];

			if (got != (mark ^ (uint32_t)i))
				foreign++;
			memory[place(i, words)] = mark ^ (uint32_t)i;
		}
	} while (clock64() - start < cycles);
	if (foreign != 0)
		atomicAdd(&seen->foreign, foreign);
	if (threadIdx.x == 0)
		atomicAdd(&seen->kernels, 1ULL);
}

static double now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Often small, occasionally large. */
static size_t size_of(uint64_t *random, size_t largest)
{
	size_t max = (size_t)256 << (next(random) % 18);

	if (max > largest)
		max = largest;
	return 4 + next(random) % max;
}

/* In the current context: makes its sums, and loads the kernel. */
static cudaError_t prepare(sums **seen)
{
	cudaError_t code = cudaMallocManaged(seen, sizeof(**seen));

	if (code != cudaSuccess)
		return code;
	memset(*seen, 0, sizeof(**seen));
	use<<<1, 32>>>(NULL, 0, 0, 0, *seen);
	code = cudaGetLastError();
	return code == cudaSuccess ? cudaDeviceSynchronize() : code;
}

#endif
