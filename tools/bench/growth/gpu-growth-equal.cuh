/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-growth-equal.cuh - the cost of being able to grow, for a heap that does not need to.
 *
 * Three heaps of one size: two that do not grow, and one that may. The same kernels run on them in
 * turn, in a different order each time. The difference between the two that do not grow is the
 * noise of the measurement.
 */
#ifndef MAM_GPU_GROWTH_EQUAL_CUH
#define MAM_GPU_GROWTH_EQUAL_CUH

#include "gpu-growth.cuh"

#define EQUAL_HEAPS 3 /* the last one may grow */
#define EQUAL_ROUNDS 31
#define EQUAL_WARP_ROUNDS 30
#define EQUAL_PAIRS 8 /* of kernels that are timed together */

__global__ void equal_take(struct mam_kheap *heap, void **at, unsigned int bytes)
{
	at[blockIdx.x * blockDim.x + threadIdx.x] = mam_kmalloc(heap, bytes);
}

__global__ void equal_give(struct mam_kheap *heap, void **at)
{
	mam_kfree(heap, at[blockIdx.x * blockDim.x + threadIdx.x]);
}

/* One warp alone: cycles of a malloc and of a free, each the mean of `rounds`. */
__global__ void equal_alone(struct mam_kheap *heap, unsigned int rounds, u64 *numbers)
{
	u64 take = 0, give = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		u64 start = (u64)clock64(), middle;
		void *at = mam_kmalloc(heap, 64);

		middle = (u64)clock64();
		if (!mam_kfree(heap, at) || !at)
			numbers[2] = 1;
		take += middle - start;
		give += (u64)clock64() - middle;
	}
	if (threadIdx.x == 0) {
		numbers[0] = take / rounds;
		numbers[1] = give / rounds;
	}
}

/* `order`: which of them is made first, as a heap's address affects a warp's latency. */
static void equal_heaps(struct mam_pool *pool, size_t bytes, unsigned int order,
			struct mam_heap **heaps)
{
	struct growth_wish wish = { bytes, 2 * bytes, 0, MAM_HEAP_AHEAD_NONE, 0 };

	for (unsigned int i = order; i < order + EQUAL_HEAPS; i++)
		heaps[i % EQUAL_HEAPS] = i % EQUAL_HEAPS == EQUAL_HEAPS - 1
						 ? growing_heap(pool, &wish)
						 : heap_of(pool, bytes);
}

/* It must not have grown, otherwise the comparison is invalid. */
static void equal_end(struct mam_heap **heaps)
{
	struct mam_heap_info info = info_of(heaps[EQUAL_HEAPS - 1]);

	same(0, info.grants + info.asks + refusals_of(&info), "growth that was not needed");
	for (unsigned int i = 0; i < EQUAL_HEAPS; i++)
		check(mam_heap_destroy(heaps[i]), "mam_heap_destroy");
}

/* `times[i]` of heap i, round by round. */
static void equal_rows(const char *name, const char *unit, const std::vector<double> *times)
{
	std::vector<double> ratios, control;
	char words[96];

	for (size_t i = 0; i < times[0].size(); i++) {
		ratios.push_back(times[2][i] / times[0][i]);
		control.push_back(times[1][i] / times[0][i]);
	}
	std::snprintf(words, sizeof(words), "%s; no growth", name);
	row("equal", words, median_of(times[0]), unit);
	std::snprintf(words, sizeof(words), "%s; growth on", name);
	row("equal", words, median_of(times[2]), unit);
	std::snprintf(words, sizeof(words), "%s; growth on to none", name);
	row("equal", words, median_of(times[2]) / median_of(times[0]), "ratio", 1.02);
	std::snprintf(words, sizeof(words), "%s; the other without to the first", name);
	row("equal", words, median_of(times[1]) / median_of(times[0]), "ratio");
	std::printf(
		"ok - equal: %s: %.4f times (rounds %.3f to %.3f), two alike %.4f (%.3f to %.3f)\n",
		name, median_of(ratios), share_of(ratios, 0.05), share_of(ratios, 0.95),
		median_of(control), share_of(control, 0.05), share_of(control, 0.95));
}

static void equal_size(struct growth_stage *stage, struct mam_pool *pool, unsigned int bytes)
{
	unsigned int lanes = stage->objects.table.lanes / THREADS * THREADS;
	void **at = (void **)stage->objects.table.at;
	struct stopwatch watch = stopwatch_new();
	std::vector<double> times[EQUAL_HEAPS];
	struct mam_heap *heaps[EQUAL_HEAPS];
	char words[64];

	equal_heaps(pool, (size_t)lanes * bytes / 4 * 5, 0, heaps);
	for (unsigned int round = 0; round < EQUAL_ROUNDS; round++)
		for (unsigned int k = 0; k < EQUAL_HEAPS; k++) {
			unsigned int which = (k + round) % EQUAL_HEAPS;
			struct mam_kheap *heap = mam_heap_device(heaps[which]);
			double us;

			stopwatch_begin(&watch);
			for (unsigned int pair = 0; pair < EQUAL_PAIRS; pair++) {
				equal_take<<<lanes / THREADS, THREADS>>>(heap, at, bytes);
				equal_give<<<lanes / THREADS, THREADS>>>(heap, at);
			}
			us = stopwatch_end(&watch, "a million lanes");
			if (round) /* the first opens the slabs */
				times[which].push_back(us / EQUAL_PAIRS);
		}
	for (struct mam_heap *heap : heaps) {
		struct mam_heap_info info = info_of(heap);

		same(0, info.objects + refusals_of(&info) + info.double_frees + info.foreign_frees,
		     "remaining objects and failed calls");
	}
	equal_end(heaps);
	std::snprintf(words, sizeof(words), "%u lanes %u B; malloc and free", lanes, bytes);
	equal_rows(words, "us", times);
}

static void equal_warp(struct growth_stage *stage, struct mam_pool *pool)
{
	std::vector<double> take[EQUAL_HEAPS], give[EQUAL_HEAPS];
	double sums[2][EQUAL_HEAPS] = {};
	struct mam_heap *heaps[EQUAL_HEAPS];

	stage->numbers[2] = 0;
	for (unsigned int round = 0; round < EQUAL_WARP_ROUNDS; round++) {
		equal_heaps(pool, 256 * MIB, round % EQUAL_HEAPS, heaps);
		for (unsigned int k = 0; k < 2 * EQUAL_HEAPS; k++) {
			unsigned int which = (k + round / EQUAL_HEAPS) % EQUAL_HEAPS;

			equal_alone<<<1, 32>>>(mam_heap_device(heaps[which]), 500, stage->numbers);
			finish(NULL, "one warp");
			if (k < EQUAL_HEAPS) /* it opens the slab */
				continue;
			sums[0][which] += (double)stage->numbers[0] / EQUAL_HEAPS;
			sums[1][which] += (double)stage->numbers[1] / EQUAL_HEAPS;
		}
		equal_end(heaps);
		if (round % EQUAL_HEAPS != EQUAL_HEAPS - 1)
			continue;
		/* Each was first once. */
		for (unsigned int which = 0; which < EQUAL_HEAPS; which++) {
			take[which].push_back(sums[0][which]);
			give[which].push_back(sums[1][which]);
			sums[0][which] = sums[1][which] = 0;
		}
	}
	same(0, stage->numbers[2], "calls of one warp in vain");
	equal_rows("one warp 64 B; malloc", "cycles", take);
	equal_rows("one warp 64 B; free", "cycles", give);
}

static void make_equal(struct growth_stage *stage)
{
	static const unsigned int sizes[] = { 16, 64, 256, 1024, 8192 };
	struct mam_pool *pool = pool_of("vmm", 0);

	for (unsigned int bytes : sizes)
		equal_size(stage, pool, bytes);
	equal_warp(stage, pool);
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

#endif
