/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_waits.cu - a kernel waits for the host while the host allocates.
 *
 * There are free blocks, all too small, so each request makes a pool grow. If an allocation waited
 * for the GPU, the kernel would wait for the allocation, and give up after LIMIT_MS on the GPU's
 * clock. The program prints the longest allocation of each round, and fails if a kernel gave up.
 *
 *   host_waits                 cudaMalloc, plain or under mam run
 *   host_waits SOURCE POLICY   the library, built with HOST_WAITS_LIBRARY: a source by its name;
 *                              strict, stream or async (mam_malloc_async)
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <cuda_runtime.h>
#ifdef HOST_WAITS_LIBRARY
#include <mam/mam.h>
#include <mam/stream.h>
#endif

#define LIMIT_MS 2000
#define ROUNDS 4
#define REQUESTS 4
#define PIECES 8
#define MIB ((size_t)1 << 20)

/* clang-format off */
#define CHECK(call)                                                             \
	do {                                                                    \
		int code = (int)(call);                                         \
		if (code != 0) {                                                \
			fprintf(stderr, "host_waits: %s: %d\n", #call, code);   \
			exit(1);                                                \
		}                                                               \
	} while (0)
/* clang-format on */

/* In pinned memory. */
struct shared {
	volatile int go, running, gave_up;
};

static __device__ unsigned long long now_ns()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

__global__ void wait_for_host(struct shared *shared)
{
	unsigned long long began = now_ns();

	shared->running = 1;
	while (!shared->go) {
		if (now_ns() - began > LIMIT_MS * 1000000ull) {
			shared->gave_up = 1;
			return;
		}
	}
}

static cudaStream_t stream;

#ifdef HOST_WAITS_LIBRARY
static struct mam_pool *pool;
static bool ordered;

static void begin(int count, char **arguments)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	if (count != 3) {
		fprintf(stderr, "usage: %s SOURCE strict|stream|async\n", arguments[0]);
		exit(2);
	}
	attr.source = arguments[1];
	attr.free_policy = strcmp(arguments[2], "strict") == 0 ? MAM_FREE_STRICT : MAM_FREE_STREAM;
	ordered = strcmp(arguments[2], "async") == 0;
	CHECK(mam_pool_create(&attr, &pool));
}

static void *take(size_t bytes)
{
	void *block;

	CHECK(ordered ? mam_malloc_async(pool, bytes, (struct CUstream_st *)stream, &block)
		      : mam_malloc(pool, bytes, &block));
	return block;
}

static void give(void *block)
{
	CHECK(ordered ? mam_free_async(pool, block, (struct CUstream_st *)stream)
		      : mam_free(pool, block));
}
#else
static void begin(int count, char **arguments)
{
	(void)count;
	(void)arguments;
}

static void *take(size_t bytes)
{
	void *block;

	CHECK(cudaMalloc(&block, bytes));
	return block;
}

static void give(void *block)
{
	CHECK(cudaFree(block));
}
#endif

static double now_ms()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void start_kernel(struct shared *shared)
{
	shared->go = shared->running = shared->gave_up = 0;
	wait_for_host<<<1, 1, 0, stream>>>(shared);
	CHECK(cudaGetLastError());
	while (!shared->running)
		;
}

/* Every other block is free: in sum more than a request, but each of them is too small for one. */
static void make_pieces(size_t bytes, void **pieces)
{
	for (int i = 0; i < PIECES; i++)
		pieces[i] = take(bytes + (size_t)i * MIB);
	for (int i = 0; i < PIECES; i += 2)
		give(pieces[i]);
}

/* Returns false if the kernel gave up. */
static bool play(struct shared *shared, int round)
{
	size_t bytes = (size_t)(40 + 24 * round) * MIB;
	void *pieces[PIECES], *blocks[REQUESTS];
	double longest = 0;

	make_pieces(bytes, pieces);
	start_kernel(shared);
	for (int i = 0; i < REQUESTS; i++) {
		double began = now_ms(), took;

		blocks[i] = take(2 * bytes + (size_t)(i + 1) * 16 * MIB);
		took = now_ms() - began;
		longest = took > longest ? took : longest;
	}
	shared->go = 1;
	CHECK(cudaStreamSynchronize(stream));
	for (int i = 0; i < REQUESTS; i++)
		give(blocks[i]);
	for (int i = 1; i < PIECES; i += 2)
		give(pieces[i]);
	printf("round %d: longest allocation %.3f ms%s\n", round, longest,
	       shared->gave_up ? ", and the kernel gave up" : "");
	return !shared->gave_up;
}

int main(int count, char **arguments)
{
	struct shared *shared;
	bool good = true;

	CHECK(cudaHostAlloc(&shared, sizeof(*shared), cudaHostAllocMapped));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	begin(count, arguments);
	/* The first launch loads the kernel, which waits for other kernels. */
	start_kernel(shared);
	shared->go = 1;
	CHECK(cudaStreamSynchronize(stream));
	for (int round = 0; round < ROUNDS; round++)
		good = play(shared, round) && good;
	puts(good ? "all is well" : "an allocation waited for the GPU");
	return good ? 0 : 1;
}
