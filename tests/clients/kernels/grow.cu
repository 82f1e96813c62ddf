/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow.cu - a heap of 1 MiB, and one kernel that fills a hundred times as much.
 *
 *     nvcc -arch=native -I PREFIX/include -o grow grow.cu -L PREFIX/lib -lmam
 *     ./grow
 *
 * Each lane makes a list of nodes. The heap is too small for them, so it grows while the kernel
 * runs. A second kernel sums up the lists, a third frees them, and mam_heap_trim() releases the
 * memory by which the heap has grown. Status: 0, and "all is well" last; 1 if something failed, or
 * a kernel did not finish within half a minute.
 */
#include <cstdio>
#include <ctime>
#include <unistd.h>

#include <mam/heap.cuh>

#define LANES (1u << 17)
#define NODES 8u

struct node {
	struct node *next;
	unsigned int value[22];
};

__global__ void make(struct mam_kheap *heap, struct node **lists)
{
	unsigned int lane = blockIdx.x * blockDim.x + threadIdx.x;

	lists[lane] = NULL;
	for (unsigned int i = 0; i < NODES; i++) {
		struct node *node = (struct node *)mam_kmalloc(heap, sizeof(*node));

		if (!node)
			return; /* counted in the heap */
		for (unsigned int &value : node->value)
			value = lane + i;
		node->next = lists[lane];
		lists[lane] = node;
	}
}

__global__ void add(struct node **lists, unsigned long long *sum)
{
	unsigned long long own = 0;

	for (struct node *node = lists[blockIdx.x * blockDim.x + threadIdx.x]; node;
	     node = node->next)
		for (unsigned int value : node->value)
			own += value;
	atomicAdd(sum, own);
}

__global__ void drop(struct mam_kheap *heap, struct node **lists)
{
	struct node *node = lists[blockIdx.x * blockDim.x + threadIdx.x], *next;

	for (; node; node = next) {
		next = node->next;
		mam_kfree(heap, node);
	}
}

static void check(bool good, const char *what)
{
	if (!good) {
		std::fprintf(stderr, "grow: %s\n", what);
		_exit(1);
	}
}

static void check(cudaError_t result)
{
	check(result == cudaSuccess, cudaGetErrorString(result));
}

static void check(enum mam_status status)
{
	check(status == MAM_OK, mam_strerror(status));
}

/* Waits for all kernels, with a timeout. */
static void finish()
{
	std::time_t deadline = std::time(NULL) + 30;

	check(cudaGetLastError());
	while (cudaStreamQuery(NULL) == cudaErrorNotReady)
		check(std::time(NULL) < deadline, "a kernel did not finish within 30 s");
	check(cudaStreamSynchronize(NULL));
}

static void report(struct mam_heap *heap, const char *when)
{
	struct mam_heap_info info = {};

	info.size = sizeof(info);
	check(mam_heap_stats(heap, NULL, &info));
	std::printf("%-16s %7llu objects, %6.1f MiB in use, heap of %6.1f MiB, %2llu grants\n",
		    when, (unsigned long long)info.objects, (double)info.object_bytes / (1 << 20),
		    (double)info.space_bytes / (1 << 20), (unsigned long long)info.grants);
}

int main()
{
	struct mam_pool_attr pool_attr = MAM_POOL_ATTR_INIT;
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	unsigned long long *sum, total = 0, wanted = 0;
	struct node **lists;
	struct mam_pool *pool;
	struct mam_heap *heap;
	cudaEvent_t from, to;
	size_t freed;
	float ms;

	for (unsigned long long lane = 0; lane < LANES; lane++)
		for (unsigned int i = 0; i < NODES; i++)
			wanted += 22 * (lane + i);
	check(cudaMalloc(&lists, LANES * sizeof(*lists)));
	check(cudaMalloc(&sum, sizeof(*sum)));
	check(cudaMemset(sum, 0, sizeof(*sum)));
	check(cudaEventCreate(&from));
	check(cudaEventCreate(&to));
	pool_attr.source = "vmm";
	check(mam_pool_create(&pool_attr, &pool));
	attr.bytes = 1 << 20;
	attr.max_bytes = MAM_HEAP_UNLIMITED; /* so that it grows */
	check(mam_heap_create(pool, &attr, &heap));
	report(heap, "made:");

	check(cudaEventRecord(from));
	make<<<LANES / 256, 256>>>(mam_heap_device(heap), lists);
	check(cudaEventRecord(to));
	finish();
	check(cudaEventElapsedTime(&ms, from, to));
	report(heap, "after a kernel:");
	std::printf("                 one launch, %.2f ms\n", ms);

	add<<<LANES / 256, 256>>>(lists, sum);
	finish();
	check(cudaMemcpy(&total, sum, sizeof(total), cudaMemcpyDeviceToHost));
	check(total == wanted, "the lists do not contain the stored values");

	drop<<<LANES / 256, 256>>>(mam_heap_device(heap), lists);
	finish();
	check(mam_heap_trim(heap, NULL, &freed));
	report(heap, "after a trim:");
	std::printf("                 %.1f MiB released to the pool\n", (double)freed / (1 << 20));

	check(mam_heap_destroy(heap));
	check(mam_pool_destroy(pool));
	check(cudaFree(sum));
	check(cudaFree(lists));
	std::printf("all is well\n");
	return 0;
}
