/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-growth.cuh - interface between the parts of gpu-growth.cu: heaps that grow, rows of numbers,
 * time.
 *
 * A part measures or tests one thing in a process of its own. It prints its results as
 *
 *	row,WHAT,PARAMETER,VALUE,UNIT,TARGET,MET,RATIO
 *
 * with TARGET, MET (yes or no) and RATIO (value to target) "-" if there is no target. Contents of
 * objects are stamped and checked as in objects_table.cuh.
 */
#ifndef MAM_GPU_GROWTH_CUH
#define MAM_GPU_GROWTH_CUH

#define CLIENT "gpu-growth"
#include "objects_table.cuh"

#define MIB ((size_t)1 << 20)

struct growth_stage {
	struct stage objects; /* a table of lanes, streams */
	int seconds;          /* of parts with a variable duration */
	unsigned int sms;
	u64 *numbers; /* in pinned memory, for a kernel's few numbers */
};

static double seconds_now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

/* `most` 0: no target. */
static void row(const char *what, const char *parameter, double value, const char *unit,
		double max = 0)
{
	if (max > 0)
		std::printf("row,%s,%s,%.6g,%s,%.6g,%s,%.4g\n", what, parameter, value, unit, max,
			    value <= max ? "yes" : "no", value / max);
	else
		std::printf("row,%s,%s,%.6g,%s,-,-,-\n", what, parameter, value, unit);
}

/* The quantile `share` of the values. */
static double share_of(std::vector<double> values, double share)
{
	if (values.empty())
		fail(1, "nothing was measured");
	std::sort(values.begin(), values.end());
	return values[std::min(values.size() - 1, (size_t)((double)values.size() * share))];
}

static double median_of(const std::vector<double> &values)
{
	return share_of(values, 0.5);
}

static struct mam_pool *pool_of(const char *source, size_t limit)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = source;
	attr.limit_bytes = limit;
	attr.name = "growth";
	check(mam_pool_create(&attr, &pool), "mam_pool_create");
	return pool;
}

/* Makes the pool keep `bytes` mapped and free. */
static void map_ahead(struct mam_pool *pool, size_t bytes)
{
	void *block;

	check(mam_malloc(pool, bytes, &block), "mam_malloc");
	check(mam_free(pool, block), "mam_free");
}

struct growth_wish {
	size_t first, max, grow;
	unsigned int ahead, wait_us;
};

static struct mam_heap *growing_heap(struct mam_pool *pool, const struct growth_wish *wish)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap;

	attr.bytes = wish->first;
	attr.max_bytes = wish->max;
	attr.grow_bytes = wish->grow;
	attr.ahead = wish->ahead;
	attr.wait_us = wish->wait_us;
	check(mam_heap_create(pool, &attr, &heap), "mam_heap_create");
	return heap;
}

/*
 * Nothing is live, and the heap has its initial size; the rest of its memory is mapped in the pool.
 */
static void shrink(struct mam_heap *heap)
{
	check(mam_heap_reset(heap, NULL), "mam_heap_reset");
	check(mam_heap_trim(heap, NULL, NULL), "mam_heap_trim");
}

__device__ static u64 now_ns()
{
	u64 ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
	return ns;
}

__device__ static void pause_for(u64 ns)
{
	u64 end = now_ns() + ns;

	while (now_ns() < end)
		__nanosleep(1000);
}

/* Count of grants that kernels use. */
__device__ static u64 parts_of(const struct mam_kheap *heap)
{
	return *(volatile const uint64_t *)&heap->growth->parts.value;
}

/* A timer of work on a stream. */
struct stopwatch {
	cudaEvent_t from, to;
};

static struct stopwatch stopwatch_new()
{
	struct stopwatch watch;

	check(cudaEventCreate(&watch.from), "cudaEventCreate");
	check(cudaEventCreate(&watch.to), "cudaEventCreate");
	return watch;
}

static void stopwatch_begin(const struct stopwatch *watch)
{
	check(cudaEventRecord(watch->from, NULL), "cudaEventRecord");
}

/* Microseconds since stopwatch_begin(), once all of it is done. */
static double stopwatch_end(const struct stopwatch *watch, const char *what)
{
	float ms;

	check(cudaEventRecord(watch->to, NULL), "cudaEventRecord");
	finish(NULL, what);
	check(cudaEventElapsedTime(&ms, watch->from, watch->to), "cudaEventElapsedTime");
	return ms * 1000.0;
}

#endif
