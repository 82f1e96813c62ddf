/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-layout.cu - how much the placement of memory affects the code that uses it: the unit
 * workloads of `mam bench mpi` on addresses that were not chosen by an allocator.
 *
 *       nvcc -arch=native -o gpu-layout tools/bench/clients/gpu-layout.cu
 *       ./gpu-layout FILE.csv
 *
 * 12 blocks of 1024 threads, each thread on n floats of its own, as there; a block's threads begin
 * together. Thread i's floats are i * (4n + gap) bytes from the first, for several gaps; or all in
 * slots of 2 KiB, in random order, over 512 MiB. No layout is more scattered than the last, so the
 * best of the first ones divided by it is the maximum gain of an allocator by the layout alone.
 *
 * Prints a table to stdout, and writes rows of workload,layout,n,metric,value to the file. Status:
 * 0, 1 if a call failed or a sum was wrong, 2 for invalid usage, 77 without a GPU.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define BLOCKS 12
#define THREADS 1024
#define LANES (BLOCKS * THREADS)
#define PLACE 2048u       /* bytes, of those in random order */
#define PLACES (1u << 18) /* 512 MiB of them */
#define RUNS 7

typedef unsigned long long u64;

struct where {
	char *base;
	unsigned int stride; /* 0: slots in random order */
};

static void check(cudaError_t result, const char *what)
{
	if (result == cudaSuccess)
		return;
	std::fprintf(stderr, "gpu-layout: %s: %s\n", what, cudaGetErrorString(result));
	std::exit(1);
}

__device__ static float *floats_of(struct where where, unsigned int thread)
{
	if (where.stride)
		return (float *)(where.base + (size_t)thread * where.stride);
	/* An odd factor: no two share a slot. */
	return (float *)(where.base + (size_t)(thread * 2654435761u % PLACES) * PLACE);
}

/* From here on the compiler knows nothing about the memory at `pointer`. */
__device__ static float *opaque(float *pointer)
{
	asm volatile("" : "+l"(pointer) : : "memory");
	return pointer;
}

__global__ static void __launch_bounds__(THREADS, 1)
	work(struct where where, unsigned int n, bool quadratic, u64 *cycles, float *sums)
{
	unsigned int me = blockIdx.x * THREADS + threadIdx.x;
	float *data = floats_of(where, me), sum = 0;
	u64 begin;

	for (unsigned int i = 0; i < n; i++)
		data[i] = (float)i;
	__syncthreads();
	data = opaque(data);
	begin = clock64();
	for (unsigned int i = 0; i < n; i++) {
		if (!quadratic)
			sum += data[i];
		for (unsigned int j = 0; quadratic && j < n; j++)
			sum += data[i] * data[j];
	}
	data[0] = sum;
	data = opaque(data);
	cycles[me] = clock64() - begin;
	sums[me] = sum;
}

/* The expected result of each thread, by the same additions in the same order. */
static float wanted(unsigned int n, bool quadratic)
{
	volatile float sum = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (!quadratic)
			sum = sum + (float)i;
		for (unsigned int j = 0; quadratic && j < n; j++)
			sum = sum + (float)i * (float)j;
	}
	return sum;
}

/* The median over several runs of the mean over all threads. */
static double measure(struct where where, unsigned int n, bool quadratic, u64 *cycles, float *sums)
{
	std::vector<u64> all(LANES);
	std::vector<float> got(LANES);
	std::vector<double> means;
	float want = wanted(n, quadratic);

	for (int run = 0; run < RUNS; run++) {
		double mean = 0;

		work<<<BLOCKS, THREADS>>>(where, n, quadratic, cycles, sums);
		check(cudaGetLastError(), "a launch");
		check(cudaMemcpy(all.data(), cycles, LANES * sizeof(u64), cudaMemcpyDeviceToHost),
		      "a kernel");
		check(cudaMemcpy(got.data(), sums, LANES * sizeof(float), cudaMemcpyDeviceToHost),
		      "cudaMemcpy");
		for (unsigned int i = 0; i < LANES; i++) {
			mean += (double)all[i] / LANES;
			if (got[i] != want) {
				std::fprintf(stderr, "gpu-layout: thread %u has %f, not %f\n", i,
					     got[i], want);
				std::exit(1);
			}
		}
		means.push_back(mean);
	}
	std::sort(means.begin(), means.end());
	return means[RUNS / 2];
}

int main(int argument_count, char **arguments)
{
	static const unsigned int gaps[] = { 0, 4, 8, 12, 16, 32, 48, 64 };
	std::FILE *file;
	char *base;
	u64 *cycles;
	float *sums;
	int devices;

	if (argument_count != 2) {
		std::fprintf(stderr, "gpu-layout: name one file for the rows\n");
		return 2;
	}
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		std::printf("skipped: there is no GPU\n");
		return 77;
	}
	file = std::fopen(arguments[1], "a");
	if (!file) {
		std::perror(arguments[1]);
		return 2;
	}
	check(cudaMalloc(&base, (size_t)PLACE * PLACES), "memory");
	check(cudaMalloc(&cycles, LANES * sizeof(*cycles)), "memory");
	check(cudaMalloc(&sums, LANES * sizeof(*sums)), "memory");
	std::printf("cycles of work, by what is between two threads' floats\n%-15s", "");
	for (unsigned int gap : gaps)
		std::printf(" %9u B", gap);
	std::printf("   scattered  the best\n");
	for (int kind = 0; kind < 2; kind++) {
		const char *name = kind ? "quadratic" : "linear";

		/* Above that quadratic takes long, with the same result. */
		for (unsigned int n = 100; n <= (kind ? 200u : 400u); n += 100) {
			double best = 0, one;

			std::printf("%-10s %4u", name, n);
			for (unsigned int gap : gaps) {
				one = measure({ base, 4 * n + gap }, n, kind, cycles, sums);
				best = best > 0 && best < one ? best : one;
				std::printf(" %11.0f", one);
				std::fprintf(file, "layout-%s,gap of %u,%u,cycles,%.0f\n", name,
					     gap, n, one);
			}
			one = measure({ base, 0 }, n, kind, cycles, sums);
			std::printf(" %11.0f  %.2f times\n", one, one / best);
			std::fprintf(file, "layout-%s,scattered,%u,cycles,%.0f\n", name, n, one);
			std::fprintf(file, "layout-%s,scattered over best,%u,times,%.3f\n", name, n,
				     one / best);
		}
	}
	if (std::fclose(file)) {
		std::perror(arguments[1]);
		return 1;
	}
	std::printf("all is well\n");
	return 0;
}
