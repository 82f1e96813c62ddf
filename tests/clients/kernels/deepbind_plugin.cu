/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deepbind_plugin.cu - the plugin of deepbind_host.c: allocates, computes, frees.
 */
#include <cstdio>
#include <ctime>

#include <cuda_runtime.h>

__global__ void fill(unsigned *words, unsigned value)
{
	words[blockIdx.x * blockDim.x + threadIdx.x] = value + threadIdx.x;
}

static double now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

extern "C" int play(void)
{
	enum { ROUNDS = 200, WORDS = 256 * 256 };
	static unsigned host[WORDS];
	unsigned long long sum = 0;
	double start = 0;

	for (unsigned round = 0; round <= ROUNDS; round++) {
		unsigned *words;

		if (round == 1)
			start = now();
		if (cudaMalloc(&words, sizeof(host)) != cudaSuccess)
			return 1;
		fill<<<WORDS / 256, 256>>>(words, round);
		if (cudaMemcpy(host, words, sizeof(host), cudaMemcpyDeviceToHost) != cudaSuccess ||
		    cudaFree(words) != cudaSuccess)
			return 1;
		for (int i = 0; i < WORDS; i++)
			sum += host[i];
	}
	fprintf(stderr, "ms_per_round %.4f\n", (now() - start) / ROUNDS);
	printf("sum %llu\n", sum);
	return 0;
}
