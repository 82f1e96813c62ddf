/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-growth-ten.cuh - kernels that need ten times the initial size of their heap, compared with
 * the same on a heap that is large enough from the start.
 *
 * 1. A kernel runs on a large heap, to measure how much it needs.
 * 2. Repeatedly, in turn: on the large heap, all free; on a heap that begins with a tenth of that
 *    and grows, all free and shrunk to its initial size, its memory still mapped in the pool
 *    ("mapped"); and on that after the pool's memory was released to the driver ("new").
 * 3. Each time a second kernel reads and verifies all that the first one made.
 *
 * The kernels: objects of one size, allocated and not written; the same, written; mixed sizes,
 * written; lists of 64 B nodes, one list per lane; a graph's edges, added at random to lists that
 * double.
 */
#ifndef MAM_GPU_GROWTH_TEN_CUH
#define MAM_GPU_GROWTH_TEN_CUH

#include "gpu-growth.cuh"

#define TEN_ROUNDS 7
#define TEN_NODES 16 /* of a lane's list */
#define TEN_EDGES 32 /* that a lane adds */
#define TEN_LOCK 0x80000000u

struct ten_job {
	struct mam_kheap *heap;
	struct table table;
	unsigned int *length; /* of each place's list */
	u64 *sums;            /* in pinned memory: the sums that were read and expected */
};

__device__ static unsigned int ten_place(void)
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static void ten_report(u64 *sum, u64 value)
{
	for (unsigned int k = 16; k > 0; k /= 2)
		value += __shfl_down_sync(0xffffffffu, value, k);
	if (threadIdx.x % 32 == 0)
		atomicAdd(sum, value);
}

__device__ static unsigned int ten_mixed(unsigned int place)
{
	return 16 + mix(place, 77) % (8192 - 16 + 1);
}

__device__ static void ten_get(struct ten_job job, unsigned int bytes)
{
	unsigned int place = ten_place();

	job.table.at[place] = (unsigned char *)mam_kmalloc(job.heap, bytes);
	job.table.bytes[place] = bytes;
	if (!job.table.at[place])
		atomicAdd(job.table.vain, 1ull);
}

/* All lanes of a warp write the objects of all of them, word by word. */
__device__ static void ten_write(struct ten_job job)
{
	unsigned int place = ten_place(), lane = place % 32;

	for (unsigned int k = 0; k < 32; k++) {
		unsigned int other = place - lane + k;
		unsigned int *at = (unsigned int *)job.table.at[other];

		for (unsigned int i = lane; at && i < job.table.bytes[other] / 4; i += 32)
			at[i] = other * 31 + i;
		__syncwarp();
	}
}

__global__ void ten_touched(struct ten_job job)
{
	unsigned int place = ten_place(), lane = place % 32;
	u64 wrong_words = 0;

	for (unsigned int k = 0; k < 32; k++) {
		unsigned int other = place - lane + k;
		unsigned int *at = (unsigned int *)job.table.at[other];

		for (unsigned int i = lane; at && i < job.table.bytes[other] / 4; i += 32)
			wrong_words += at[i] != other * 31 + i;
	}
	ten_report(&job.sums[0], wrong_words);
}

__global__ void ten_plain(struct ten_job job)
{
	ten_get(job, 1024);
}

__global__ void ten_plain_check(struct ten_job job)
{
	unsigned int place = ten_place();

	write_object(job.table.at[place], place, 1024);
}

__global__ void ten_one(struct ten_job job)
{
	ten_get(job, 1024);
	__syncwarp();
	ten_write(job);
}

__global__ void ten_many(struct ten_job job)
{
	ten_get(job, ten_mixed(ten_place()));
	__syncwarp();
	ten_write(job);
}

struct ten_node {
	struct ten_node *next;
	u64 words[7];
};

__global__ void ten_lists(struct ten_job job)
{
	unsigned int place = ten_place();
	struct ten_node *first = NULL;

	for (unsigned int i = 0; i < TEN_NODES; i++) {
		struct ten_node *node = (struct ten_node *)mam_kmalloc(job.heap, sizeof(*node));

		if (!node) {
			atomicAdd(job.table.vain, 1ull);
			break;
		}
		node->next = first;
		for (unsigned int k = 0; k < 7; k++)
			node->words[k] = mix(place, i * 7 + k);
		first = node;
	}
	job.table.at[place] = (unsigned char *)first;
}

__global__ void ten_lists_check(struct ten_job job)
{
	const struct ten_node *node = (const struct ten_node *)job.table.at[ten_place()];
	u64 read = 0, meant = 0;

	for (; node; node = node->next)
		for (unsigned int k = 0; k < 7; k++)
			read += node->words[k];
	for (unsigned int i = 0; i < TEN_NODES * 7; i++)
		meant += mix(ten_place(), i);
	ten_report(&job.sums[0], read);
	ten_report(&job.sums[1], meant);
}

__device__ static unsigned int ten_room(unsigned int length)
{
	unsigned int room = 4;

	while (room < length)
		room *= 2;
	return room;
}

/* With the vertex's lock held: one more neighbor. */
__device__ static bool ten_add(struct ten_job job, unsigned int vertex, unsigned int n,
			       unsigned int to)
{
	unsigned int *list = (unsigned int *)job.table.at[vertex], *wider;

	if (n == 0 || n == ten_room(n)) {
		wider = (unsigned int *)mam_kmalloc(job.heap, ten_room(n + 1) * 4);
		if (!wider)
			return false;
		for (unsigned int k = 0; k < n; k++)
			wider[k] = list[k];
		if (!mam_kfree(job.heap, list))
			wrong(job.table, WRONG_FREE);
		job.table.at[vertex] = (unsigned char *)wider;
		list = wider;
	}
	list[n] = to;
	return true;
}

__global__ void ten_graph(struct ten_job job)
{
	unsigned int place = ten_place();

	for (unsigned int i = 0; i < TEN_EDGES; i++) {
		unsigned int vertex = mix(place, i) % job.table.lanes;
		bool added = false;

		/*
		 * The critical section is inside the loop: a lane with the lock never waits for one
		 * without it.
		 */
		while (!added) {
			unsigned int n = atomicOr(&job.length[vertex], TEN_LOCK);

			if (n & TEN_LOCK) {
				__nanosleep(100);
				continue;
			}
			__threadfence();
			if (ten_add(job, vertex, n, mix(place, ~i)))
				n++;
			else
				atomicAdd(job.table.vain, 1ull);
			__threadfence();
			atomicExch(&job.length[vertex], n);
			added = true;
		}
	}
}

__global__ void ten_graph_check(struct ten_job job)
{
	unsigned int place = ten_place();
	const unsigned int *list = (const unsigned int *)job.table.at[place];
	u64 read = 0, meant = 0;

	for (unsigned int k = 0; k < job.length[place]; k++)
		read += (u64)mix(place, 3) * list[k];
	for (unsigned int i = 0; i < TEN_EDGES; i++)
		meant += (u64)mix(mix(place, i) % job.table.lanes, 3) * mix(place, ~i);
	ten_report(&job.sums[0], read);
	ten_report(&job.sums[1], meant);
}

static const struct ten_work {
	const char *name;
	unsigned int lanes;
	void (*make)(struct ten_job job);
	void (*check)(struct ten_job job);
} ten_works[] = {
	{ "1 KiB; not touched", 1u << 20, ten_plain, ten_plain_check },
	{ "1 KiB; written", 1u << 20, ten_one, ten_touched },
	{ "16 B to 8 KiB; written", 1u << 18, ten_many, ten_touched },
	{ "lists of 64 B nodes", 1u << 20, ten_lists, ten_lists_check },
	{ "a graph whose lists grow", 1u << 20, ten_graph, ten_graph_check },
};

/* One launch on an empty heap; microseconds. */
static double ten_run(struct growth_stage *stage, const struct ten_work *work,
		      const struct stopwatch *watch, struct mam_heap *heap, unsigned int *length)
{
	struct table table = stage->objects.table;
	struct ten_job job;
	double us;

	empty_table(&stage->objects);
	table.lanes = work->lanes;
	check(cudaMemset(length, 0, work->lanes * sizeof(*length)), "cudaMemset");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	stage->numbers[0] = stage->numbers[1] = 0;
	job.heap = mam_heap_device(heap);
	job.table = table;
	job.length = length;
	job.sums = stage->numbers;
	stopwatch_begin(watch);
	work->make<<<work->lanes / THREADS, THREADS>>>(job);
	us = stopwatch_end(watch, work->name);
	if (us > 1e5)
		std::printf("   %s: a launch took %.0f us\n", work->name, us);
	same(0, *table.vain, "requests in vain");
	work->check<<<work->lanes / THREADS, THREADS>>>(job);
	if (work->make == ten_plain)
		look<<<work->lanes / THREADS, THREADS>>>(job.heap, table);
	finish(NULL, "a check");
	no_wrongs(table.bad, work->name);
	same(stage->numbers[1], stage->numbers[0], "the sum over what a kernel made");
	return us;
}

static void ten_case(struct growth_stage *stage, struct mam_pool *pool, const struct ten_work *work,
		     unsigned int *length)
{
	enum { LARGE, MAPPED, NEW, KINDS };
	struct growth_wish wish = { 0, MAM_HEAP_UNLIMITED, 0, 0, 0 };
	struct stopwatch watch = stopwatch_new();
	std::vector<double> times[KINDS];
	struct mam_heap *large, *small;
	struct mam_heap_info info;
	char words[96];
	size_t needed;

	large = heap_of(pool, 3072 * MIB);
	ten_run(stage, work, &watch, large, length);
	info = info_of(large);
	needed = info.taken * info.page_bytes;
	check(mam_heap_destroy(large), "mam_heap_destroy");
	large = heap_of(pool, needed / 4 * 5);
	wish.first = needed / 10;
	small = growing_heap(pool, &wish);
	for (unsigned int round = 0; round <= TEN_ROUNDS; round++)
		for (int kind = 0; kind < KINDS; kind++) {
			struct mam_heap *heap = kind == LARGE ? large : small;
			double us;

			if (kind == LARGE)
				check(mam_heap_reset(heap, NULL), "mam_heap_reset");
			else
				shrink(heap);
			if (kind == NEW)
				check(mam_pool_trim(pool, 0, NULL), "mam_pool_trim");
			else
				map_ahead(pool, 2 * needed);
			us = ten_run(stage, work, &watch, heap, length);
			if (kind != LARGE) {
				info = info_of(heap);
				if (!info.grants)
					fail(1, "%s: the heap did not grow", work->name);
			}
			if (round)
				times[kind].push_back(us);
		}
	std::snprintf(words, sizeof(words), "%s; large from the start", work->name);
	row("ten", words, median_of(times[LARGE]), "us");
	std::snprintf(words, sizeof(words), "%s; grown; mapped", work->name);
	row("ten", words, median_of(times[MAPPED]), "us");
	std::snprintf(words, sizeof(words), "%s; grown; mapped; to large", work->name);
	row("ten", words, median_of(times[MAPPED]) / median_of(times[LARGE]), "ratio", 1.3);
	std::snprintf(words, sizeof(words), "%s; grown; new", work->name);
	row("ten", words, median_of(times[NEW]), "us");
	std::snprintf(words, sizeof(words), "%s; grown; new; to large", work->name);
	row("ten", words, median_of(times[NEW]) / median_of(times[LARGE]), "ratio", 1.3);
	std::printf("ok - ten: %s: needs %zu MiB, begins with %zu, grew by %llu grants\n",
		    work->name, needed / MIB, wish.first / MIB, (u64)info.grants);
	check(mam_heap_destroy(large), "mam_heap_destroy");
	check(mam_heap_destroy(small), "mam_heap_destroy");
}

static void make_ten(struct growth_stage *stage)
{
	struct mam_pool *pool = pool_of("vmm", 0);
	unsigned int *length;

	check(cudaMalloc(&length, (1u << 20) * sizeof(*length)), "memory");
	for (const auto &work : ten_works)
		ten_case(stage, pool, &work, length);
	check(cudaFree(length), "cudaFree");
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

#endif
