/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes.cu - kernels allocate in blocks and grids of one, two and three dimensions, also where the
 * rows of a block end in the middle of a warp.
 *
 *	nvcc -arch=native -I PREFIX/include -o shapes shapes.cu -L PREFIX/lib -lmam
 *	./shapes
 *
 * 1. In each shape every thread allocates an object and writes all of its words. All objects are
 *    live at once.
 * 2. A second kernel reads every word. The host sorts the addresses: no two objects may overlap.
 * 3. A kernel of the same shape frees all objects. The heap must then be empty.
 *
 * Objects have one size, mixed sizes, or are parts of one object per block (mam_kmalloc_block()).
 * At the end the times of kernels in three shapes are printed, which are not checked. Prints "ok -
 * SHAPE: ..." for each shape, and "all is well" at the end, with status 0.
 */
#define CLIENT "shapes"
#define SECONDS 60

#include <mam/heap.cuh>

#include <algorithm>
#include <utility>
#include <vector>

#include "say.cuh"

#define HEAP_BYTES ((size_t)2 << 30)
#define THREADS_MAX (1024u * 256)
#define TIMES 7

typedef unsigned long long u64;

enum { ONE_SIZE, MIXED_SIZES, PARTS, WAYS };

static const char *const ways[WAYS] = { "objects of 64 bytes", "objects of mixed sizes",
					"parts of an object per block" };

/* Arguments of all kernels; the counters are in mapped memory. */
struct stage {
	struct mam_kheap *heap;
	unsigned int **at; /* a thread's object */
	unsigned int threads;
	unsigned int way;
	u64 *none, *wrong, *refused;
};

/* The thread's number in the grid, x fastest. */
__device__ static unsigned int self(void)
{
	unsigned int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);

	return block * blockDim.x * blockDim.y * blockDim.z + thread;
}

/* Words of a thread's object. */
__host__ __device__ static unsigned int words_of(unsigned int way, unsigned int thread)
{
	if (way == ONE_SIZE)
		return 16;
	return 1 + (thread * 2654435761u >> 16) % (way == PARTS ? 50 : 500);
}

__device__ static unsigned int word_of(unsigned int thread, unsigned int k)
{
	return (thread + 1) * 2654435769u ^ k;
}

__global__ void take(struct stage stage)
{
	unsigned int thread = self(), n = words_of(stage.way, thread);
	unsigned int *at =
		(unsigned int *)(stage.way == PARTS ? mam_kmalloc_block(stage.heap, n * sizeof(*at))
						    : mam_kmalloc(stage.heap, n * sizeof(*at)));

	stage.at[thread] = at;
	if (!at)
		atomicAdd(stage.none, 1ull);
	for (unsigned int k = 0; at && k < n; k++)
		at[k] = word_of(thread, k);
}

__global__ void look(struct stage stage)
{
	unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;

	if (thread >= stage.threads || !stage.at[thread])
		return;
	for (unsigned int k = 0; k < words_of(stage.way, thread); k++)
		if (stage.at[thread][k] != word_of(thread, k))
			atomicAdd(stage.wrong, 1ull);
}

__global__ void give(struct stage stage)
{
	if (!mam_kfree(stage.heap, stage.at[self()]))
		atomicAdd(stage.refused, 1ull);
}

/* The same without checks, for timing. */
__global__ void take_only(struct stage stage)
{
	stage.at[self()] = (unsigned int *)mam_kmalloc(stage.heap, 64);
}

static unsigned int count_of(dim3 dims)
{
	return dims.x * dims.y * dims.z;
}

static void check_overlap(const struct stage *stage, const char *name)
{
	std::vector<unsigned int *> at(stage->threads);
	std::vector<std::pair<u64, u64>> objects(stage->threads);

	check(cudaMemcpy(at.data(), stage->at, stage->threads * sizeof(*stage->at),
			 cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	for (unsigned int i = 0; i < stage->threads; i++)
		objects[i] = { (u64)(uintptr_t)at[i],
			       words_of(stage->way, i) * sizeof(unsigned int) };
	std::sort(objects.begin(), objects.end());
	for (unsigned int i = 1; i < stage->threads; i++)
		if (objects[i - 1].first + objects[i - 1].second > objects[i].first)
			fail(1, "%s, %s: two threads have the object at %#llx", name,
			     ways[stage->way], objects[i].first);
}

static void run_shape(struct stage stage, struct mam_heap *heap, dim3 grid, dim3 block,
		      const char *name)
{
	struct mam_heap_info info = {};

	info.size = sizeof(info);
	stage.threads = count_of(grid) * count_of(block);
	for (stage.way = 0; stage.way < WAYS; stage.way++) {
		*stage.none = *stage.wrong = *stage.refused = 0;
		take<<<grid, block>>>(stage);
		look<<<(stage.threads + 255) / 256, 256>>>(stage);
		finish(NULL, name);
		if (*stage.none || *stage.wrong)
			fail(1, "%s, %s: %llu of %u threads got NULL, %llu words are wrong", name,
			     ways[stage.way], *stage.none, stage.threads, *stage.wrong);
		check_overlap(&stage, name);
		give<<<grid, block>>>(stage);
		finish(NULL, name);
		check(mam_heap_stats(heap, NULL, &info), "mam_heap_stats");
		if (*stage.refused || info.objects)
			fail(1, "%s, %s: %llu frees failed, %llu objects are left", name,
			     ways[stage.way], *stage.refused, (u64)info.objects);
	}
	std::printf("ok - %s: %u threads, each word as its thread wrote it\n", name, stage.threads);
}

/* The shortest time of a kernel in which every thread allocates 64 bytes, in milliseconds. */
static float time_shape(struct stage stage, dim3 grid, dim3 block)
{
	cudaEvent_t begin, end;
	float best = 0, ms;

	check(cudaEventCreate(&begin), "cudaEventCreate");
	check(cudaEventCreate(&end), "cudaEventCreate");
	*stage.refused = 0;
	for (unsigned int i = 0; i < TIMES; i++) {
		check(cudaEventRecord(begin), "cudaEventRecord");
		take_only<<<grid, block>>>(stage);
		check(cudaEventRecord(end), "cudaEventRecord");
		give<<<grid, block>>>(stage);
		finish(NULL, "a timed kernel");
		check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
		if (!i || ms < best)
			best = ms;
	}
	check(cudaEventDestroy(begin), "cudaEventDestroy");
	check(cudaEventDestroy(end), "cudaEventDestroy");
	if (*stage.refused)
		fail(1, "%llu frees of a timed kernel failed", *stage.refused);
	return best;
}

static void compare_times(struct stage stage)
{
	const float line = time_shape(stage, dim3(1024), dim3(256));
	const float rows = time_shape(stage, dim3(1024), dim3(32, 8));
	const float square = time_shape(stage, dim3(1024), dim3(16, 16));

	std::printf("speed relative to 256x1 (%.1f us): 32x8 %.2f, 16x16 %.2f\n", line * 1e3,
		    line / rows, line / square);
}

static const struct {
	const char *name;
	dim3 grid, block;
} shapes[] = {
	{ "256x1", dim3(1024), dim3(256) },
	{ "32x8", dim3(1024), dim3(32, 8) },
	{ "16x16", dim3(1024), dim3(16, 16) },
	{ "64x4", dim3(1024), dim3(64, 4) },
	{ "1x256", dim3(1024), dim3(1, 256) },
	{ "8x8x4", dim3(1024), dim3(8, 8, 4) },
	{ "48x4", dim3(1024), dim3(48, 4) },
	{ "40x6", dim3(1024), dim3(40, 6) },
	{ "100x1", dim3(1024), dim3(100) },
	{ "100x2", dim3(1024), dim3(100, 2) },
	{ "33x3", dim3(1024), dim3(33, 3) },
	{ "7x5x3", dim3(1024), dim3(7, 5, 3) },
	{ "256x1 in a grid of 1x1024", dim3(1, 1024), dim3(256) },
	{ "16x16 in a grid of 32x32", dim3(32, 32), dim3(16, 16) },
	{ "48x4 in a grid of 2x1x512", dim3(2, 1, 512), dim3(48, 4) },
	{ "8x8x4 in a grid of 8x8x16", dim3(8, 8, 16), dim3(8, 8, 4) },
};

int main()
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct stage stage = {};
	struct mam_heap *heap;

	attr.bytes = HEAP_BYTES;
	check(mam_heap_create(NULL, &attr, &heap), "mam_heap_create");
	stage.heap = mam_heap_device(heap);
	check(cudaMalloc(&stage.at, THREADS_MAX * sizeof(*stage.at)), "cudaMalloc");
	check(cudaHostAlloc(&stage.none, 3 * sizeof(*stage.none), cudaHostAllocMapped),
	      "cudaHostAlloc");
	stage.wrong = stage.none + 1;
	stage.refused = stage.none + 2;
	for (const auto &shape : shapes)
		run_shape(stage, heap, shape.grid, shape.block, shape.name);
	compare_times(stage);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(cudaFree(stage.at), "cudaFree");
	check(cudaFreeHost(stage.none), "cudaFreeHost");
	std::puts("all is well");
	return 0;
}
