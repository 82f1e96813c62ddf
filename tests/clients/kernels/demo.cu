/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo.cu - a small CUDA program that allocates inside its loop, like much real code.
 *
 * It counts, for numbers 1 to n, the steps of the Collatz sequence down to 1. Each round uses
 * another n, allocates its own buffers, runs two kernels on them and frees them again. The sums are
 * integers, so the result is the same on every GPU and with every allocator.
 *
 *     nvcc -O2 -o demo demo.cu && ./demo && mam run --stats -- ./demo
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>

#define THREADS 256

static void check(cudaError_t result, const char *what)
{
	if (result == cudaSuccess)
		return;
	std::fprintf(stderr, "demo: %s: %s\n", what, cudaGetErrorString(result));
	std::exit(1);
}

/* Every thread follows one number. */
__global__ void walk(unsigned int *steps, unsigned int count)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long value = i + 1;
	unsigned int taken = 0;

	if (i >= count)
		return;
	for (; value != 1; taken++)
		value = value % 2 ? 3 * value + 1 : value / 2;
	steps[i] = taken;
}

/* Every block of threads adds its share. */
__global__ void add(const unsigned int *steps, unsigned int count, unsigned long long *sums)
{
	__shared__ unsigned long long shared[THREADS];
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	shared[threadIdx.x] = i < count ? steps[i] : 0;
	for (unsigned int half = THREADS / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			shared[threadIdx.x] += shared[threadIdx.x + half];
	}
	if (threadIdx.x == 0)
		sums[blockIdx.x] = shared[0];
}

static unsigned long long count_steps(unsigned int count)
{
	unsigned int blocks = (count + THREADS - 1) / THREADS;
	unsigned long long *sums, *copy, total = 0;
	unsigned int *steps;

	check(cudaMalloc(&steps, count * sizeof(*steps)), "cudaMalloc of the steps");
	check(cudaMalloc(&sums, blocks * sizeof(*sums)), "cudaMalloc of the sums");
	walk<<<blocks, THREADS>>>(steps, count);
	add<<<blocks, THREADS>>>(steps, count, sums);
	check(cudaGetLastError(), "the kernels' launch");

	copy = new unsigned long long[blocks];
	check(cudaMemcpy(copy, sums, blocks * sizeof(*sums), cudaMemcpyDeviceToHost), "cudaMemcpy");
	for (unsigned int i = 0; i < blocks; i++)
		total += copy[i];
	delete[] copy;
	check(cudaFree(sums), "cudaFree of the sums");
	check(cudaFree(steps), "cudaFree of the steps");
	return total;
}

int main(int argument_count, char **arguments)
{
	unsigned int rounds = argument_count > 1 ? std::atoi(arguments[1]) : 1000;
	unsigned long long checksum = 0;

	count_steps(1000); /* the first kernel's loading is not timed */
	auto start = std::chrono::steady_clock::now();
	for (unsigned int round = 0; round < rounds; round++)
		checksum = checksum * 31 + count_steps(1000 + round * 7919 % 100000);
	std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;

	std::printf("rounds %u checksum %016llx\n", rounds, checksum);
	std::fprintf(stderr, "ms_per_round %.4f\n", taken.count() / (rounds ? rounds : 1));
	return 0;
}
