/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-multi.cu - pools and heaps of two devices, for gpu-multi.sh.
 *
 *   gpu-multi pairs SOURCE FIRST DEVICES THREADS START
 *       THREADS threads allocate and free for one second, on DEVICES devices in turn, of which FIRST
 *       is the first one. They begin at second START of the clock, so that several processes begin
 *       together. SOURCE: that of a pool per device, or cuda: cudaMalloc.
 *   gpu-multi peer SOURCE
 *       Kernels of device 0 write and read a block of 1 GiB on device 1, and cudaMemcpyPeer copies
 *       it. cuda: cudaMalloc.
 *   gpu-multi heap SOURCE
 *       Kernels of device 0 allocate objects from a heap on device 1, write them, check them and
 *       free them; the same on device 1; then each device frees what the other one allocated. Then
 *       both do all of it at the same time, which needs MAM_KPEERS: without it, the wrong objects are
 *       reported only.
 *
 * stdout: lines "KEY NUMBER". Exit status: 0, 1 if a call failed or a word was wrong, 77 with one
 * device.
 */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <mam/heap.cuh>
#include <mam/mam.h>

#define GIB ((size_t)1 << 30)
#define LANES (256 * 128)
#define ROUNDS 16

/* clang-format off */
#define CHECK(call)                                                                            \
	do {                                                                                   \
		int check_code = (int)(call);                                                  \
		if (check_code != 0) {                                                         \
			fprintf(stderr, "gpu-multi: %s: %d\n", #call, check_code);             \
			exit(1);                                                               \
		}                                                                              \
	} while (0)
/* clang-format on */

static struct mam_pool *pool_on(const char *source, int device)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = source;
	attr.device = device;
	attr.free_policy = MAM_FREE_STREAM;
	CHECK(cudaSetDevice(device));
	CHECK(cudaFree(NULL));
	CHECK(mam_pool_create(&attr, &pool));
	return pool;
}

/* ---- pairs ---- */

static std::atomic<bool> over;

static void allocate_and_free(struct mam_pool *pool, int device, unsigned int seed,
			      unsigned long long *pairs)
{
	void *blocks[64] = { NULL };
	unsigned long long done = 0;

	CHECK(cudaSetDevice(device));
	while (!over.load(std::memory_order_relaxed)) {
		void **block;
		size_t bytes;

		seed = seed * 1664525 + 1013904223;
		block = &blocks[seed >> 26];
		bytes = (size_t)512 << ((seed >> 8) % 12);
		if (pool != NULL) {
			CHECK(mam_free(pool, *block));
			CHECK(mam_malloc(pool, bytes, block));
		} else {
			CHECK(cudaFree(*block));
			CHECK(cudaMalloc(block, bytes));
		}
		done++;
	}
	*pairs = done;
	for (void *block : blocks)
		CHECK(pool != NULL ? (int)mam_free(pool, block) : (int)cudaFree(block));
}

static int pairs(const char *source, int first, int devices, int count, double start)
{
	std::vector<struct mam_pool *> pools;
	std::vector<unsigned long long> done((size_t)count *
					     16); /* a cache line or more for each */
	std::vector<std::thread> threads;
	unsigned long long total = 0;
	struct timespec time;

	for (int i = 0; i < devices; i++)
		if (strcmp(source, "cuda") == 0) {
			CHECK(cudaSetDevice(first + i));
			CHECK(cudaFree(NULL));
			pools.push_back(NULL);
		} else {
			pools.push_back(pool_on(source, first + i));
		}
	do
		clock_gettime(CLOCK_REALTIME, &time);
	while ((double)time.tv_sec + (double)time.tv_nsec / 1e9 < start);
	for (int i = 0; i < count; i++)
		threads.emplace_back(allocate_and_free, pools[(size_t)(i % devices)],
				     first + i % devices, (unsigned int)i + 1,
				     &done[(size_t)i * 16]);
	std::this_thread::sleep_for(std::chrono::seconds(1));
	over = true;
	for (std::thread &thread : threads)
		thread.join();
	for (int i = 0; i < count; i++)
		total += done[(size_t)i * 16];
	printf("pairs_per_second %llu\n", total);
	return 0;
}

/* ---- peer ---- */

__global__ void fill(uint4 *words, size_t count, unsigned int seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
	     i += (size_t)gridDim.x * blockDim.x)
		words[i] = make_uint4((unsigned int)i + seed, (unsigned int)i ^ seed, seed,
				      ~(unsigned int)i);
}

__global__ void count_wrong(const uint4 *words, size_t count, unsigned int seed,
			    unsigned long long *wrong)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
	     i += (size_t)gridDim.x * blockDim.x) {
		uint4 word = words[i];

		if (word.x != (unsigned int)i + seed || word.y != ((unsigned int)i ^ seed) ||
		    word.z != seed || word.w != ~(unsigned int)i)
			atomicAdd(wrong, 1ull);
	}
}

/* The best time of five, in ms. */
template <class Work> static double best(Work work)
{
	double least = 1e9;

	for (int i = 0; i < 6; i++) {
		std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
		double ms;

		work();
		CHECK(cudaDeviceSynchronize());
		ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() -
							       began)
			     .count();
		if (i > 0 && ms < least)
			least = ms;
	}
	return least;
}

static unsigned long long *wrong_on(int device)
{
	unsigned long long *wrong;

	CHECK(cudaSetDevice(device));
	CHECK(cudaMalloc(&wrong, sizeof(*wrong)));
	CHECK(cudaMemset(wrong, 0, sizeof(*wrong)));
	return wrong;
}

static unsigned long long read_wrong(const unsigned long long *wrong)
{
	unsigned long long count;

	CHECK(cudaMemcpy(&count, wrong, sizeof(count), cudaMemcpyDeviceToHost));
	return count;
}

static void *block_on(const char *source, int device)
{
	void *block;

	CHECK(cudaSetDevice(device));
	if (strcmp(source, "cuda") == 0)
		CHECK(cudaMalloc(&block, GIB));
	else
		CHECK(mam_malloc(pool_on(source, device), GIB, &block));
	return block;
}

static void enable_peers(void)
{
	CHECK(cudaSetDevice(1));
	CHECK(cudaDeviceEnablePeerAccess(0, 0));
	CHECK(cudaSetDevice(0));
	CHECK(cudaDeviceEnablePeerAccess(1, 0));
}

static int peer(const char *source)
{
	size_t count = GIB / sizeof(uint4);
	uint4 *far = (uint4 *)block_on(source, 1), *near = (uint4 *)block_on(source, 0);
	unsigned long long *wrong = wrong_on(0), total;

	enable_peers();
	printf("peer_write_gb_per_s %.1f\n",
	       GIB / 1e6 / best([&] { fill<<<1056, 512>>>(far, count, 3); }));
	printf("peer_read_gb_per_s %.1f\n",
	       GIB / 1e6 / best([&] { count_wrong<<<1056, 512>>>(far, count, 3, wrong); }));
	printf("peer_copy_gb_per_s %.1f\n",
	       GIB / 1e6 / best([&] { CHECK(cudaMemcpyPeer(near, 0, far, 1, GIB)); }));
	count_wrong<<<1056, 512>>>(near, count, 3, wrong);
	fill<<<1056, 512>>>(near, count, 7);
	CHECK(cudaMemcpyPeer(far, 1, near, 0, GIB));
	count_wrong<<<1056, 512>>>(far, count, 7, wrong);
	CHECK(cudaDeviceSynchronize());
	total = read_wrong(wrong);
	printf("wrong_words %llu\n", total);
	return total != 0;
}

/* ---- heap ---- */

static __device__ unsigned int size_of(unsigned int lane, unsigned int round)
{
	return 16 + (lane * 7 + round * 13) % 12 * 16;
}

static __device__ void take_one(struct mam_kheap *heap, unsigned long long **objects,
				unsigned int lane, unsigned int round)
{
	unsigned int words = size_of(lane, round) / 8;
	unsigned long long *object = (unsigned long long *)mam_kmalloc(heap, words * 8);

	for (unsigned int i = 0; object != NULL && i < words; i++)
		object[i] = ((unsigned long long)lane << 32) + round * 64 + i;
	objects[lane] = object;
}

static __device__ bool give_one(struct mam_kheap *heap, unsigned long long **objects,
				unsigned int lane, unsigned int round)
{
	unsigned long long *object = objects[lane];
	bool right = object != NULL;

	for (unsigned int i = 0; right && i < size_of(lane, round) / 8; i++)
		right = object[i] == ((unsigned long long)lane << 32) + round * 64 + i;
	return mam_kfree(heap, object) && right;
}

__global__ void take(struct mam_kheap *heap, unsigned long long **objects)
{
	take_one(heap, objects, blockIdx.x * blockDim.x + threadIdx.x, 0);
}

__global__ void give(struct mam_kheap *heap, unsigned long long **objects,
		     unsigned long long *wrong)
{
	if (!give_one(heap, objects, blockIdx.x * blockDim.x + threadIdx.x, 0))
		atomicAdd(wrong, 1ull);
}

__global__ void churn(struct mam_kheap *heap, unsigned long long **objects,
		      unsigned long long *wrong)
{
	unsigned int lane = blockIdx.x * blockDim.x + threadIdx.x;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		take_one(heap, objects, lane, round);
		if (!give_one(heap, objects, lane, round))
			atomicAdd(wrong, 1ull);
	}
}

static int heap_of(const char *source)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	unsigned long long *wrong[2], total = 0, **objects[2], **shared, both;
	struct mam_kheap *device_heap;
	struct mam_pool *pool;
	struct mam_heap *heap;
	cudaStream_t streams[2];

	enable_peers();
	pool = pool_on(source, 1);
	attr.bytes = 256 << 20;
#ifdef MAM_KPEERS
	attr.peers = 1;
#endif
	CHECK(mam_heap_create(pool, &attr, &heap));
	device_heap = mam_heap_device(heap);
	CHECK(mam_malloc(pool, LANES * sizeof(*shared), (void **)&shared));
	for (int i = 0; i < 2; i++) {
		wrong[i] = wrong_on(i);
		CHECK(cudaMalloc(&objects[i], LANES * sizeof(**objects)));
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
	}
	for (int i = 1; i >= 0; i--) {
		CHECK(cudaSetDevice(i));
		printf("%s_ns_per_pair %.2f\n", i == 1 ? "local" : "remote",
		       best([&] {
			       churn<<<LANES / 128, 128, 0, streams[i]>>>(device_heap, objects[i],
									  wrong[i]);
		       }) * 1e6 /
			       LANES / ROUNDS);
		CHECK(cudaGetLastError());
	}
	for (int i = 0; i < 8; i++) { /* each device frees the other's objects */
		CHECK(cudaSetDevice(i % 2));
		take<<<LANES / 128, 128>>>(device_heap, shared);
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaSetDevice(1 - i % 2));
		give<<<LANES / 128, 128>>>(device_heap, shared, wrong[1 - i % 2]);
		CHECK(cudaDeviceSynchronize());
	}
	total = read_wrong(wrong[0]) + read_wrong(wrong[1]);
	printf("wrong_objects %llu\n", total);
	fflush(stdout);
	for (int i = 0; i < 8; i++) {
		for (int j = 0; j < 2; j++) {
			CHECK(cudaSetDevice(j));
			churn<<<LANES / 128, 128, 0, streams[j]>>>(device_heap, objects[j],
								   wrong[j]);
		}
		for (int j = 0; j < 2; j++) {
			CHECK(cudaSetDevice(j));
			CHECK(cudaDeviceSynchronize());
		}
	}
	both = read_wrong(wrong[0]) + read_wrong(wrong[1]) - total;
	printf("wrong_objects_at_once %llu\n", both);
#ifdef MAM_KPEERS
	total += both;
#endif
	return total != 0;
}

int main(int count, char **arguments)
{
	int devices = 0;

	CHECK(cudaGetDeviceCount(&devices));
	if (devices < 2) {
		puts("there are fewer than two GPUs");
		return 77;
	}
	if (count == 7 && strcmp(arguments[1], "pairs") == 0)
		return pairs(arguments[2], atoi(arguments[3]), atoi(arguments[4]),
			     atoi(arguments[5]), atof(arguments[6]));
	if (count == 3 && strcmp(arguments[1], "peer") == 0)
		return peer(arguments[2]);
	if (count == 3 && strcmp(arguments[1], "heap") == 0)
		return heap_of(arguments[2]);
	fprintf(stderr, "usage: gpu-multi pairs SOURCE FIRST DEVICES THREADS START | peer SOURCE | "
			"heap SOURCE\n");
	return 2;
}
