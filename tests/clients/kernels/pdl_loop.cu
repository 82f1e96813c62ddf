/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pdl_loop.cu - programmatic dependent launch: the next kernel of a stream starts before the
 * previous one has ended, so the order of the stream does not determine when memory is free again.
 *
 * A kernel writes its block, lets the next one start at once, and keeps reading its block for a
 * tenth of a millisecond. Each round:
 *
 *   1. block a, a kernel over it; block b, a kernel over b, concurrent with the first
 *   2. a is freed; block c, which may get a's memory, and a kernel over c that first waits for the
 *      previous kernel, and checks that b contains what that one wrote
 *   3. b and c are freed
 *
 * stdout: how many words a kernel read that it had not written. stderr: milliseconds per round, and
 * how many kernels started before the previous one had ended.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <cuda_runtime.h>

/* clang-format off */
#define CHECK(call)                                                                            \
	do {                                                                                   \
		cudaError_t code = (call);                                                     \
		if (code != cudaSuccess) {                                                     \
			fprintf(stderr, "pdl_loop: %s: %s\n", #call, cudaGetErrorString(code)); \
			exit(1);                                                               \
		}                                                                              \
	} while (0)
/* clang-format on */

enum { WORDS = 1 << 14, ROUNDS = 300, KERNELS = 3 * ROUNDS };

/* Results of the kernels, in memory outside any pool. */
struct seen {
	unsigned long long foreign;                      /* words with wrong values */
	unsigned long long begin[KERNELS], end[KERNELS]; /* nanoseconds */
};

/* A block and its contents: word i is mark + i. */
struct piece {
	unsigned *words;
	unsigned mark;
};

__device__ static unsigned long long device_time()
{
	unsigned long long time;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
	return time;
}

__device__ static void look(const piece &piece, seen *seen)
{
	volatile unsigned *words = piece.words;

	for (unsigned i = threadIdx.x; i < WORDS; i += blockDim.x)
		if (words[i] != piece.mark + i)
			atomicAdd(&seen->foreign, 1ULL);
}

__global__ void use(piece own, piece before, int number, seen *seen)
{
	long long start = clock64();
	volatile unsigned *words = own.words;

	if (threadIdx.x == 0)
		seen->begin[number] = device_time();
	cudaTriggerProgrammaticLaunchCompletion();
	if (before.words != NULL) {
		cudaGridDependencySynchronize();
		look(before, seen);
	}
	for (unsigned i = threadIdx.x; i < WORDS; i += blockDim.x)
		words[i] = own.mark + i;
	do {
		look(own, seen);
	} while (clock64() - start < 200000);
	__syncthreads();
	if (threadIdx.x == 0)
		seen->end[number] = device_time();
}

static double now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int launched;

static piece launch(cudaLaunchConfig_t *config, piece before, seen *seen)
{
	piece own = { NULL, (unsigned)launched << 16 };

	CHECK(cudaMalloc(&own.words, WORDS * sizeof(*own.words)));
	CHECK(cudaLaunchKernelEx(config, use, own, before, launched, seen));
	launched++;
	return own;
}

int main()
{
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};
	piece none = {};
	seen *seen;
	double start;
	int overlaps = 0;

	CHECK(cudaMallocManaged(&seen, sizeof(*seen)));
	seen->foreign = 0;
	CHECK(cudaStreamCreateWithFlags(&config.stream, cudaStreamNonBlocking));
	config.gridDim = 1;
	config.blockDim = 256;
	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	config.attrs = &attribute;
	config.numAttrs = 1;
	start = now();
	for (int i = 0; i < ROUNDS; i++) {
		piece a, b, c;

		a = launch(&config, none, seen);
		b = launch(&config, none, seen);
		CHECK(cudaFree(a.words));
		c = launch(&config, b, seen);
		CHECK(cudaFree(b.words));
		CHECK(cudaFree(c.words));
	}
	CHECK(cudaDeviceSynchronize());
	fprintf(stderr, "ms_per_round %.4f\n", (now() - start) / ROUNDS);
	for (int i = 1; i < KERNELS; i++)
		overlaps += seen->begin[i] < seen->end[i - 1];
	fprintf(stderr, "overlaps %d of %d\n", overlaps, KERNELS - 1);
	printf("rounds %d foreign %llu\n", ROUNDS, seen->foreign);
	return seen->foreign != 0;
}
