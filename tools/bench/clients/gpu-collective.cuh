/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-collective.cuh - times the kernels of gpu-collective.cu; included after them.
 *
 *       nvcc -arch=native -DCOLLECTIVE_MAIN -I PREFIX/include -I tools/bench -o timed FILE.cu \
 *           -L PREFIX/lib -lmam
 *       ./timed [--quick]
 *
 * FILE.cu is gpu-collective.cu, or the output of `mam coalesce` for it. It uses CUDA's malloc(); a
 * mam heap with -include mam/kmalloc_override.cuh or, if rewritten, with -DMAM_COLLECTIVE_HEAP.
 *
 * Each kernel runs WARM times untimed, then up to RUNS times between two events: at least LEAST
 * times, and no further ones after LONG ms in total. It prints one line per kernel: kernel, blocks,
 * threads, the median in us, a checksum of its output, and how many launches had a different sum
 * than the first.
 *
 * Status: 0, 1 if a call failed, 2 for invalid usage, 77 without a GPU. The calling script ends a
 * kernel that hangs.
 */
#ifndef MAM_TOOLS_BENCH_GPU_COLLECTIVE_CUH
#define MAM_TOOLS_BENCH_GPU_COLLECTIVE_CUH

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include <mam/heap.h>

#define WARM 2
#define RUNS 15
#define MIN 3
#define LONG 400.0f
#define INPUTS 1024
#define ROOM ((size_t)4 << 30) /* for allocations, of either kind */

struct timed {
	const char *name;
	int n;
	void (*kernel)(const int *in, int n, int *out);
	void (*kernel_of_heap)(struct mam_kheap *heap, const int *in, int n, int *out);
};

struct space {
	struct mam_kheap *heap;
	int *in, *out;
	cudaEvent_t begin, end;
};

static void check(cudaError_t result, const char *what)
{
	if (result == cudaSuccess)
		return;
	std::fprintf(stderr, "gpu-collective: %s: %s\n", what, cudaGetErrorString(result));
	std::exit(1);
}

static void check(enum mam_status status, const char *what)
{
	if (status == MAM_OK)
		return;
	std::fprintf(stderr, "gpu-collective: %s: %s\n", what, mam_strerror(status));
	std::exit(1);
}

/* In ms; leaves the output in `words`. */
static float launch(const struct timed *timed, const struct space *space, unsigned int blocks,
		    unsigned int threads, std::vector<int> *words)
{
	size_t bytes = words->size() * sizeof(int);
	float ms;

	check(cudaMemset(space->out, 0, bytes), "cudaMemset");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	check(cudaEventRecord(space->begin), "cudaEventRecord");
	if (timed->kernel)
		timed->kernel<<<blocks, threads>>>(space->in, timed->n, space->out);
	else
		timed->kernel_of_heap<<<blocks, threads>>>(space->heap, space->in, timed->n,
							   space->out);
	check(cudaEventRecord(space->end), "cudaEventRecord");
	check(cudaGetLastError(), timed->name);
	check(cudaEventSynchronize(space->end), timed->name);
	check(cudaEventElapsedTime(&ms, space->begin, space->end), "cudaEventElapsedTime");
	check(cudaMemcpy(words->data(), space->out, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
	return ms;
}

static unsigned int sum_of(const std::vector<int> &words)
{
	unsigned int sum = 2166136261u;

	for (int word : words)
		sum = (sum ^ (unsigned int)word) * 16777619u;
	return sum;
}

static void measure(const struct timed *timed, const struct space *space, unsigned int blocks,
		    unsigned int threads)
{
	std::vector<int> words((size_t)blocks * threads);
	std::vector<float> all;
	unsigned int first = 0, others = 0;
	float spent = 0;

	for (int run = 0; run < WARM + RUNS && (run < WARM + MIN || spent < LONG); run++) {
		float ms = launch(timed, space, blocks, threads, &words);
		unsigned int sum = sum_of(words);

		first = run ? first : sum;
		others += sum != first;
		spent += ms;
		if (run >= WARM)
			all.push_back(ms);
	}
	std::sort(all.begin(), all.end());
	std::printf("%s %u %u %.1f %08x %u\n", timed->name, blocks, threads,
		    1000.0 * all[all.size() / 2], first, others);
	std::fflush(stdout);
}

static void make_space(struct space *space)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	std::vector<int> numbers(INPUTS);
	struct mam_heap *heap = nullptr;
	unsigned int seed = 1;

	for (int &number : numbers) {
		seed = seed * 1664525u + 1013904223u;
		number = (int)(seed >> 9) % 10000;
	}
	check(cudaDeviceSetLimit(cudaLimitMallocHeapSize, ROOM), "cudaDeviceSetLimit");
	check(cudaMalloc((void **)&space->in, INPUTS * sizeof(int)), "cudaMalloc");
	check(cudaMalloc((void **)&space->out, ((size_t)1 << 20) * sizeof(int)), "cudaMalloc");
	check(cudaMemcpy(space->in, numbers.data(), INPUTS * sizeof(int), cudaMemcpyHostToDevice),
	      "cudaMemcpy");
	check(cudaEventCreate(&space->begin), "cudaEventCreate");
	check(cudaEventCreate(&space->end), "cudaEventCreate");
	attr.bytes = ROOM;
	check(mam_heap_create(nullptr, &attr, &heap), "mam_heap_create");
	space->heap = mam_heap_device(heap);
#if defined(MAM_KMALLOC_OVERRIDE_CUH)
	check(mam_kmalloc_use(heap), "mam_kmalloc_use");
#elif defined(MAM_COLLECTIVE_HEAP)
	check(mam_collective_use(heap), "mam_collective_use");
#endif
}

int main(int argument_count, char **arguments)
{
	static const unsigned int shapes[][2] = { { 132, 256 }, { 12, 1024 }, { 1056, 32 } };
	static const struct timed all[] = {
		{ "rows", 48, rows, nullptr },           { "lists", 12, lists, nullptr },
		{ "objects", 8, objects, nullptr },      { "rounds", 8, rounds, nullptr },
		{ "scratches", 24, scratches, nullptr }, { "ranks", 24, ranks, nullptr },
		{ "heap_rows", 48, nullptr, heap_rows }, { "singles", 24, singles, nullptr },
	};
	struct space space = {};
	bool quick = argument_count == 2 && !std::strcmp(arguments[1], "--quick");
	int devices, shape_count = quick ? 1 : 3;

	if (argument_count > 1 && !quick) {
		std::fprintf(stderr, "gpu-collective: what is %s? Give --quick or nothing\n",
			     arguments[1]);
		return 2;
	}
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		std::printf("skipped: there is no GPU\n");
		return 77;
	}
	make_space(&space);
	for (const struct timed &timed : all)
		for (int shape = 0; shape < shape_count; shape++)
			measure(&timed, &space, shapes[shape][0], shapes[shape][1]);
	return 0;
}

#endif
