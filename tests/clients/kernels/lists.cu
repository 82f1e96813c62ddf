/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.cu - a program whose kernels allocate: lists that grow while a kernel runs.
 *
 * It sorts numbers by the length of their Collatz sequence. The length of a list is not known in
 * advance, so each lane allocates a page from a heap, writes its number there and pushes the page
 * onto the list of that length. A second kernel traverses the lists, sums up their contents, and
 * frees the pages. Sums and counts are compared with the host's. Then other features of heaps are
 * tested: a heap that is too small, runs of pages, lanes that diverge, a reset, a reset in a graph,
 * invalid calls, and several heaps at once.
 *
 *     nvcc -arch=native -I PREFIX/include -o lists lists.cu -L PREFIX/lib -lmam
 *     ./lists [LANES [ROUNDS]]
 *
 * Prints a line for each part, and "all is well" at the end, with status 0. A kernel that does not
 * finish within a minute ends the program with status 3; a call that does not return ends it with a
 * signal.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>
#include <vector>

#include <mam/heap.cuh>

#define THREADS 256
#define LENGTHS 1024
#define PAGE 256
#define SECONDS 60

struct node {
	struct node *next;
	unsigned long long number;
	unsigned int words[(PAGE - 16) / 4];
};

static_assert(sizeof(struct node) == PAGE, "a node is a page");

static void fail(const char *what, const char *why)
{
	std::fflush(stdout);
	std::fprintf(stderr, "lists: %s: %s\n", what, why);
	_exit(1);
}

static void check(cudaError_t result, const char *what)
{
	if (result != cudaSuccess)
		fail(what, cudaGetErrorString(result));
}

static void check(enum mam_status status, const char *what)
{
	if (status != MAM_OK)
		fail(what, mam_strerror(status));
}

static void same(unsigned long long wanted, unsigned long long got, const char *what)
{
	if (wanted == got)
		return;
	std::fflush(stdout);
	std::fprintf(stderr, "lists: %s: %llu, expected %llu\n", what, got, wanted);
	_exit(1);
}

/* Two events: waits with a timeout for the work between them, and returns its milliseconds. */
struct watch {
	cudaEvent_t begun, done;
};

static void start(struct watch *watch)
{
	check(cudaEventCreate(&watch->begun), "cudaEventCreate");
	check(cudaEventCreate(&watch->done), "cudaEventCreate");
	check(cudaEventRecord(watch->begun), "cudaEventRecord");
}

static float stop(struct watch *watch, const char *what)
{
	std::time_t deadline = std::time(NULL) + SECONDS;
	cudaError_t result;
	float ms;

	check(cudaGetLastError(), what);
	check(cudaEventRecord(watch->done), "cudaEventRecord");
	while ((result = cudaEventQuery(watch->done)) == cudaErrorNotReady) {
		if (std::time(NULL) > deadline) {
			std::fprintf(stderr, "lists: %s: not done after %d s\n", what, SECONDS);
			_exit(3);
		}
		usleep(100);
	}
	check(result, what);
	check(cudaEventElapsedTime(&ms, watch->begun, watch->done), "cudaEventElapsedTime");
	cudaEventDestroy(watch->begun);
	cudaEventDestroy(watch->done);
	return ms;
}

static struct mam_heap_info info_of(struct mam_heap *heap)
{
	struct mam_heap_info info = {};

	info.size = sizeof(info);
	check(mam_heap_stats(heap, NULL, &info), "mam_heap_stats");
	return info;
}

static struct mam_heap *heap_of(struct mam_pool *pool, size_t bytes, size_t page_bytes)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap;

	attr.bytes = bytes;
	attr.kind = MAM_HEAP_PAGES;
	attr.page_bytes = page_bytes;
	check(mam_heap_create(pool, &attr, &heap), "mam_heap_create");
	return heap;
}

__host__ __device__ static unsigned int length_of(unsigned long long value)
{
	unsigned int length = 0;

	for (; value != 1; length++)
		value = value % 2 ? 3 * value + 1 : value / 2;
	return length % LENGTHS;
}

__global__ void push(struct mam_kheap *heap, unsigned long long *lists, unsigned int count,
		     unsigned long long *vain)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	struct mam_kwalk walk;
	struct node *node;

	if (i >= count)
		return;
	mam_kpage_start(heap, &walk);
	node = (struct node *)mam_kpage_alloc(heap, &walk);
	if (!node) {
		atomicAdd(vain, 1ull);
		return;
	}
	node->number = i + 1ull;
	for (unsigned int word = 0; word < (PAGE - 16) / 4; word++)
		node->words[word] = i + word;
	node->next =
		(struct node *)atomicExch(&lists[length_of(i + 1ull)], (unsigned long long)node);
}

/* One lane per list. Words that differ from what was written count as bad. */
__global__ void pop(struct mam_kheap *heap, unsigned long long *lists, unsigned long long *counts,
		    unsigned long long *sums, unsigned long long *bad)
{
	unsigned int list = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long count = 0, sum = 0;
	struct node *node, *next;

	if (list >= LENGTHS)
		return;
	for (node = (struct node *)lists[list]; node; node = next) {
		next = node->next;
		count++;
		sum += node->number;
		for (unsigned int word = 0; word < (PAGE - 16) / 4; word++)
			if (node->words[word] != (unsigned int)node->number - 1 + word)
				atomicAdd(bad, 1ull);
		if (!mam_kpage_free(heap, node))
			atomicAdd(bad, 1ull);
	}
	lists[list] = 0;
	counts[list] = count;
	sums[list] = sum;
}

/* One page per lane, written to the last byte, read again, and freed if `give`. */
__global__ void fill(struct mam_kheap *heap, unsigned int **kept, unsigned int count, bool give,
		     unsigned long long *vain, unsigned long long *bad)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int words = (unsigned int)(mam_kpage_bytes(heap) / 4);
	struct mam_kwalk walk;
	unsigned int *page;

	if (i >= count)
		return;
	mam_kpage_start(heap, &walk);
	page = (unsigned int *)mam_kpage_alloc(heap, &walk);
	kept[i] = page;
	if (!page) {
		atomicAdd(vain, 1ull);
		return;
	}
	for (unsigned int word = 0; word < words; word++)
		page[word] = i * 7919u + word;
	for (unsigned int word = 0; word < words; word++)
		if (page[word] != i * 7919u + word)
			atomicAdd(bad, 1ull);
	if (give && !mam_kpage_free(heap, page))
		atomicAdd(bad, 1ull);
}

/* Checks what the fill before wrote, and frees the page. */
__global__ void give(struct mam_kheap *heap, unsigned int **kept, unsigned int count,
		     unsigned long long *bad)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int words = (unsigned int)(mam_kpage_bytes(heap) / 4);

	if (i >= count || !kept[i])
		return;
	for (unsigned int word = 0; word < words; word++)
		if (kept[i][word] != i * 7919u + word)
			atomicAdd(bad, 1ull);
	if (!mam_kpage_free(heap, kept[i]))
		atomicAdd(bad, 1ull);
}

/*
 * Each lane allocates a run of a different length, marks each page, and frees the run in two parts.
 */
__global__ void rows(struct mam_kheap *heap, unsigned int count, unsigned long long *vain,
		     unsigned long long *bad)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, n = 1 + i * 37 % 200;
	size_t bytes = mam_kpage_bytes(heap);
	struct mam_kwalk walk;
	char *run;

	if (i >= count)
		return;
	mam_kpage_start(heap, &walk);
	run = (char *)mam_kpage_alloc_run(heap, &walk, n);
	if (!run) {
		atomicAdd(vain, 1ull);
		return;
	}
	for (unsigned int page = 0; page < n; page++)
		*(volatile unsigned int *)(run + page * bytes) = i + page;
	for (unsigned int page = 0; page < n; page++)
		if (*(volatile unsigned int *)(run + page * bytes) != i + page)
			atomicAdd(bad, 1ull);
	if (!mam_kpage_free_run(heap, run, n / 2 + 1))
		atomicAdd(bad, 1ull);
	if (n - n / 2 - 1 && !mam_kpage_free_run(heap, run + (n / 2 + 1) * bytes, n - n / 2 - 1))
		atomicAdd(bad, 1ull);
}

__global__ void mistakes(struct mam_kheap *heap, unsigned long long *results)
{
	struct mam_kwalk walk;
	char *page;

	mam_kpage_start(heap, &walk);
	page = (char *)mam_kpage_alloc(heap, &walk);
	results[0] = mam_kpage_free(heap, page);
	results[1] = mam_kpage_free(heap, page);
	results[2] = mam_kpage_free(heap, page + 1);
	results[3] = mam_kpage_free(heap, heap);
	results[4] = mam_kpage_free(heap, NULL);
	results[5] = mam_kpage_alloc_run(heap, &walk, 0) != NULL;
}

/*
 * Lanes that diverge allocate and free pages again and again: a third of them sleep while they have
 * a page, so that groups of a warp are in the allocator at the same time, and many find the heap
 * full.
 */
__global__ void churn(struct mam_kheap *heap, unsigned int *owners, unsigned int rounds,
		      unsigned long long *vain, unsigned long long *bad)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int *owner;
	struct mam_kwalk walk;
	void *page;

	mam_kpage_start(heap, &walk);
	for (unsigned int round = 0; round < rounds; round++) {
		page = mam_kpage_alloc(heap, &walk);
		if (!page) {
			atomicAdd(vain, 1ull);
			continue;
		}
		owner = &owners[mam_kpage_number(heap, page)];
		if (atomicExch(owner, i + 1))
			atomicAdd(bad, 1ull);
		if ((i + round) % 3 == 0)
			__nanosleep(200);
		if (atomicExch(owner, 0) != i + 1)
			atomicAdd(bad, 1ull);
		if (!mam_kpage_free(heap, page))
			atomicAdd(bad, 1ull);
	}
}

/* Shared by all parts. */
struct stage {
	struct mam_pool *pool;
	unsigned long long *lists, *counts, *sums, *vain, *bad; /* managed */
	unsigned int **kept;
	unsigned int lanes, rounds;
};

static unsigned int blocks_of(unsigned int lanes)
{
	return (lanes + THREADS - 1) / THREADS;
}

static void make_lists(const struct stage *stage)
{
	struct mam_heap *heap = heap_of(stage->pool, (size_t)stage->lanes * PAGE, PAGE);
	unsigned long long counts[LENGTHS] = {}, sums[LENGTHS] = {};
	float take = 0, walk = 0;

	for (unsigned int i = 0; i < stage->lanes; i++) {
		counts[length_of(i + 1ull)]++;
		sums[length_of(i + 1ull)] += i + 1ull;
	}
	for (unsigned int round = 0; round < stage->rounds; round++) {
		struct watch watch;

		start(&watch);
		push<<<blocks_of(stage->lanes), THREADS>>>(mam_heap_device(heap), stage->lists,
							   stage->lanes, stage->vain);
		take = stop(&watch, "push");
		same(stage->lanes, info_of(heap).taken, "pages taken");
		same(0, *stage->vain, "failed requests");
		start(&watch);
		pop<<<blocks_of(LENGTHS), THREADS>>>(mam_heap_device(heap), stage->lists,
						     stage->counts, stage->sums, stage->bad);
		walk = stop(&watch, "pop");
		same(0, *stage->bad, "bad words");
		for (unsigned int i = 0; i < LENGTHS; i++) {
			same(counts[i], stage->counts[i], "a list's length");
			same(sums[i], stage->sums[i], "a list's sum");
		}
		same(0, info_of(heap).taken, "pages allocated after all frees");
	}
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("lists: %u numbers, %u rounds; the last: %.3f ms to push, %.3f ms to pop\n",
		    stage->lanes, stage->rounds, take, walk);
}

/*
 * 100 of the lanes get nothing, and afterwards all pages are free again; a reset frees all pages.
 */
static void make_small(const struct stage *stage, size_t page_bytes)
{
	unsigned int pages = stage->lanes / (unsigned int)(page_bytes / PAGE) - 100;
	struct mam_heap *heap = heap_of(stage->pool, pages * page_bytes, page_bytes);
	struct mam_heap_info info;
	struct watch watch;

	for (unsigned int round = 0; round < stage->rounds; round++) {
		*stage->vain = 0;
		start(&watch);
		fill<<<blocks_of(pages + 100), THREADS>>>(mam_heap_device(heap), stage->kept,
							  pages + 100, false, stage->vain,
							  stage->bad);
		stop(&watch, "fill");
		same(100, *stage->vain, "lanes without a page");
		info = info_of(heap);
		same(pages, info.taken, "pages allocated in a heap that is too small");
		same(100, info.full, "requests that found the heap full");
		if (round % 2) {
			check(mam_heap_reset(heap, NULL), "mam_heap_reset");
		} else {
			start(&watch);
			give<<<blocks_of(pages + 100), THREADS>>>(
				mam_heap_device(heap), stage->kept, pages + 100, stage->bad);
			stop(&watch, "give");
			same(pages, info_of(heap).free, "free pages after all frees");
			check(mam_heap_reset(heap, NULL), "mam_heap_reset");
		}
		info = info_of(heap);
		same(pages, info.longest_free, "longest run of free pages after a reset");
		same(0, info.full, "a counter after a reset");
		same(0, *stage->bad, "bad words");
	}
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("too small: %u pages of %zu bytes for %u lanes\n", pages, page_bytes,
		    pages + 100);
}

/* Twice as many lanes as pages, 200 rounds: no page has two owners, and none is lost. */
static void make_churn(const struct stage *stage)
{
	static const unsigned int pages[] = { 64, 960, 1000, 4096 };
	unsigned int runs = 0, *owners;

	check(cudaMalloc(&owners, 4096 * sizeof(*owners)), "cudaMalloc");
	check(cudaMemset(owners, 0, 4096 * sizeof(*owners)), "cudaMemset");
	*stage->vain = 0;
	for (unsigned int round = 0; round < 4 * stage->rounds; round++) {
		unsigned int count = pages[round % 4], lanes = blocks_of(2 * count) * THREADS;
		struct mam_heap *heap = heap_of(stage->pool, (size_t)count * PAGE, PAGE);
		struct watch watch;

		start(&watch);
		churn<<<lanes / THREADS, THREADS>>>(mam_heap_device(heap), owners, 200, stage->vain,
						    stage->bad);
		stop(&watch, "churn");
		same(0, *stage->bad, "pages with two owners, or without one");
		same(0, info_of(heap).taken, "pages lost in a churn");
		check(mam_heap_destroy(heap), "mam_heap_destroy");
		runs++;
	}
	check(cudaFree(owners), "cudaFree");
	std::printf("churn: %u runs, %llu failed requests\n", runs, *stage->vain);
}

static void make_rows(const struct stage *stage)
{
	unsigned int lanes = stage->lanes / 64;
	struct mam_heap *heap = heap_of(stage->pool, (size_t)lanes * 100 * PAGE, PAGE);
	struct mam_heap_info info;
	struct watch watch;
	float ms;

	*stage->vain = 0;
	start(&watch);
	rows<<<blocks_of(lanes), THREADS>>>(mam_heap_device(heap), lanes, stage->vain, stage->bad);
	ms = stop(&watch, "rows");
	same(0, *stage->bad, "bad words in runs");
	info = info_of(heap);
	same(0, info.taken, "pages allocated after runs");
	same(*stage->vain, info.no_run + info.contended, "failed runs");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("runs: %u lanes, 1 to 200 pages each, %llu failed, %.3f ms\n", lanes,
		    *stage->vain, ms);
}

static void make_mistakes(const struct stage *stage)
{
	struct mam_heap *heap = heap_of(stage->pool, 1000 * PAGE, PAGE);
	static const unsigned long long wanted[6] = { 1, 0, 0, 0, 1, 0 };
	struct mam_heap_info info;
	struct watch watch;

	start(&watch);
	mistakes<<<1, 1>>>(mam_heap_device(heap), stage->counts);
	stop(&watch, "mistakes");
	for (int i = 0; i < 6; i++)
		same(wanted[i], stage->counts[i], "result of an invalid call");
	info = info_of(heap);
	same(1, info.double_frees, "double frees");
	same(2, info.foreign_frees, "foreign frees");
	same(1, info.bad_sizes, "bad sizes");
	same(0, info.taken, "pages allocated after invalid calls");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("mistakes: counted\n");
}

/* A graph that begins with a reset can be launched again and again, although nothing is freed. */
static void make_graph(const struct stage *stage)
{
	unsigned int pages = stage->lanes / 16;
	struct mam_heap *heap = heap_of(stage->pool, (size_t)pages * PAGE, PAGE);
	struct mam_heap_info info = {};
	cudaGraphExec_t runnable;
	cudaStream_t stream;
	cudaGraph_t graph;
	struct watch watch;

	*stage->vain = 0;
	check(cudaStreamCreate(&stream), "cudaStreamCreate");
	check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "a capture's begin");
	check(mam_heap_reset(heap, stream), "mam_heap_reset in a capture");
	info.size = sizeof(info);
	same(MAM_ERROR_WOULD_WAIT, mam_heap_stats(heap, stream, &info), "statistics in a capture");
	same(MAM_ERROR_WOULD_WAIT, mam_heap_reset(heap, NULL), "the legacy stream and a capture");
	fill<<<blocks_of(pages), THREADS, 0, stream>>>(mam_heap_device(heap), stage->kept, pages,
						       false, stage->vain, stage->bad);
	check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
	check(cudaGraphInstantiate(&runnable, graph, 0), "cudaGraphInstantiate");
	start(&watch);
	for (unsigned int round = 0; round < 5; round++)
		check(cudaGraphLaunch(runnable, stream), "cudaGraphLaunch");
	stop(&watch, "the graph");
	check(mam_heap_stats(heap, stream, &info), "mam_heap_stats");
	same(pages, info.taken, "pages allocated by the last launch of a graph");
	same(0, *stage->vain, "failed requests in a graph");
	check(cudaGraphExecDestroy(runnable), "cudaGraphExecDestroy");
	check(cudaGraphDestroy(graph), "cudaGraphDestroy");
	check(cudaStreamDestroy(stream), "cudaStreamDestroy");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	std::printf("graph: a reset and %u pages, five times\n", pages);
}

/* On every source, several at once, each with work of its own. */
static void make_several(const struct stage *stage)
{
	static const char *const sources[] = { "cudamalloc", "vmm", "managed", "pinned" };
	struct mam_heap *heaps[8];
	struct mam_pool *pools[4];
	unsigned int pages = stage->lanes / 64;
	cudaStream_t streams[8];
	struct watch watch;

	*stage->vain = 0;
	for (int i = 0; i < 8; i++) {
		struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

		attr.source = sources[i % 4];
		if (i < 4)
			check(mam_pool_create(&attr, &pools[i]), attr.source);
		heaps[i] = heap_of(pools[i % 4], (size_t)pages * PAGE, PAGE);
		check(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking),
		      "cudaStreamCreate");
	}
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	for (int i = 0; i < 8; i++)
		for (int round = 0; round < 4; round++)
			fill<<<blocks_of(pages), THREADS, 0, streams[i]>>>(
				mam_heap_device(heaps[i]), stage->kept + (size_t)i * pages, pages,
				round < 3, stage->vain, stage->bad);
	for (int i = 0; i < 8; i++) {
		struct mam_heap_info info = {};

		info.size = sizeof(info);
		check(mam_heap_stats(heaps[i], streams[i], &info), "mam_heap_stats");
		same(pages, info.taken, "pages allocated in one of several heaps");
	}
	start(&watch);
	stop(&watch, "several heaps");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	same(0, *stage->vain, "failed requests in several heaps");
	same(0, *stage->bad, "bad words in several heaps");
	for (int i = 0; i < 8; i++) {
		check(mam_heap_destroy(heaps[i]), "mam_heap_destroy");
		check(cudaStreamDestroy(streams[i]), "cudaStreamDestroy");
	}
	for (int i = 0; i < 4; i++)
		check(mam_pool_destroy(pools[i]), "mam_pool_destroy");
	std::printf("several: 8 heaps on 4 sources at once\n");
}

int main(int argument_count, char **arguments)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct stage stage = {};

	stage.lanes = argument_count > 1 ? (unsigned int)std::atoi(arguments[1]) : 1u << 20;
	stage.rounds = argument_count > 2 ? (unsigned int)std::atoi(arguments[2]) : 4;
	if (stage.lanes < 1u << 13)
		fail("LANES", "must be at least 8192");
	alarm(2 * SECONDS);
	check(cudaMallocManaged(&stage.lists, 5 * LENGTHS * sizeof(*stage.lists)), "memory");
	check(cudaMallocManaged(&stage.kept, (stage.lanes + 100) * sizeof(*stage.kept)), "memory");
	stage.counts = stage.lists + LENGTHS;
	stage.sums = stage.counts + LENGTHS;
	stage.vain = stage.sums + LENGTHS;
	stage.bad = stage.vain + 1;
	check(cudaMemset(stage.lists, 0, 5 * LENGTHS * sizeof(*stage.lists)), "cudaMemset");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	attr.name = "lists";
	check(mam_pool_create(&attr, &stage.pool), "mam_pool_create");

	make_lists(&stage);
	make_small(&stage, 256);
	make_small(&stage, 4096);
	make_rows(&stage);
	make_churn(&stage);
	make_mistakes(&stage);
	make_graph(&stage);
	make_several(&stage);
	check(mam_pool_destroy(stage.pool), "mam_pool_destroy");
	check(cudaFree(stage.kept), "cudaFree");
	check(cudaFree(stage.lists), "cudaFree");
	std::printf("all is well\n");
	return 0;
}
