/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_devices.cu - a request that cannot succeed on one device, while another device works.
 *
 * The second device has an idle chunk, a block that was just freed, and a kernel that runs for 300
 * ms. A request for more memory than the first device has must fail without waiting for that
 * kernel: it takes less than a third of the kernel's time, measured in the same run.
 *
 *   two_devices            cudaMalloc, plain or under mam run
 *   two_devices SOURCE     the library, built with TWO_DEVICES_LIBRARY: a source by its name; both
 *                          pools are in one quota
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <cuda_runtime.h>
#ifdef TWO_DEVICES_LIBRARY
#include <mam/mam.h>
#include <mam/pools.h>
#include <mam/stream.h>
#endif

#define KERNEL_MS 300
#define ROUNDS 3
#define MIB ((size_t)1 << 20)
#define TOO_MUCH ((size_t)1 << 40)

/* clang-format off */
#define CHECK(call)                                                             \
	do {                                                                    \
		int code = (int)(call);                                         \
		if (code != 0) {                                                \
			fprintf(stderr, "two_devices: %s: %d\n", #call, code);  \
			exit(1);                                                \
		}                                                               \
	} while (0)
/* clang-format on */

__global__ void spin(unsigned long long ns)
{
	unsigned long long began, now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now - began < ns);
}

#ifdef TWO_DEVICES_LIBRARY
static struct mam_pool *pools[2];

static void begin(int count, char **arguments)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	if (count != 2) {
		fprintf(stderr, "usage: %s SOURCE\n", arguments[0]);
		exit(2);
	}
	CHECK(mam_quota_create(TOO_MUCH * 2, &attr.quota));
	attr.source = arguments[1];
	attr.free_policy = MAM_FREE_STREAM;
	for (int i = 0; i < 2; i++) {
		CHECK(cudaSetDevice(i));
		attr.device = i;
		CHECK(mam_pool_create(&attr, &pools[i]));
	}
}

static int take(int device, size_t bytes, void **block)
{
	return mam_malloc(pools[device], bytes, block);
}

static void give(int device, void *block)
{
	CHECK(mam_free(pools[device], block));
}

static void give_in_order(void *block, cudaStream_t stream)
{
	CHECK(mam_free_async(pools[1], block, (struct CUstream_st *)stream));
}
#else
static void begin(int count, char **arguments)
{
	(void)count;
	(void)arguments;
}

static int take(int device, size_t bytes, void **block)
{
	CHECK(cudaSetDevice(device));
	return cudaMalloc(block, bytes);
}

static void give(int device, void *block)
{
	CHECK(cudaSetDevice(device));
	CHECK(cudaFree(block));
}

static void give_in_order(void *block, cudaStream_t stream)
{
	CHECK(cudaFreeAsync(block, stream));
}
#endif

static double now_ms()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static bool play(cudaStream_t stream, int round)
{
	void *idle, *used, *none = NULL;
	double began, kernel, request;
	int code;

	CHECK(take(1, 64 * MIB, &idle));
	CHECK(take(1, 40 * MIB, &used));
	give(1, idle);
	CHECK(cudaSetDevice(1));
	CHECK(cudaDeviceSynchronize());
	began = now_ms();
	spin<<<1, 1, 0, stream>>>(KERNEL_MS * 1000000ull);
	CHECK(cudaGetLastError());
	give_in_order(used, stream);
	request = now_ms();
	code = take(0, TOO_MUCH, &none);
	request = now_ms() - request;
	(void)cudaGetLastError();
	CHECK(cudaSetDevice(1));
	CHECK(cudaStreamSynchronize(stream));
	kernel = now_ms() - began;
	printf("round %d: the request took %.3f ms, the kernel %.3f ms\n", round, request, kernel);
	return code == 2 && request < kernel / 3;
}

int main(int count, char **arguments)
{
	cudaStream_t stream;
	int devices = 0;
	bool good = true;
	void *block;

	CHECK(cudaGetDeviceCount(&devices));
	if (devices < 2) {
		puts("there are fewer than two GPUs");
		return 77;
	}
	CHECK(cudaSetDevice(0));
	CHECK(cudaFree(NULL));
	CHECK(cudaSetDevice(1));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	begin(count, arguments);
	CHECK(take(0, MIB, &block));
	CHECK(cudaSetDevice(1));
	spin<<<1, 1, 0, stream>>>(1000); /* loads the kernel */
	CHECK(cudaStreamSynchronize(stream));
	for (int round = 0; round < ROUNDS; round++)
		good = play(stream, round) && good;
	puts(good ? "all is well" : "a request on one device waited for another device");
	return good ? 0 : 1;
}
