/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-growth-hard.cuh - growth that must fail with the right cause; and growth under load.
 *
 * causes: each reason why a heap cannot grow is provoked separately. Failed requests must return in
 * bounded time and be counted under that cause only, and successful ones must get valid memory.
 * full: a kernel that fills every SM allocates; none of its blocks ends before the host has
 * replied.
 * streams: two kernels in two streams on one heap, and two heaps at once.
 */
#ifndef MAM_GPU_GROWTH_HARD_CUH
#define MAM_GPU_GROWTH_HARD_CUH

#include "gpu-growth.cuh"

#define COUNTED(field) offsetof(struct mam_heap_info, field)

struct cause {
	const char *name;
	struct growth_wish wish;
	size_t pool_limit;
	unsigned int lanes, bytes;
	size_t min, max; /* bytes that all of them get together */
	size_t count;    /* offset of its counter in struct mam_heap_info */
};

static const struct cause causes[] = {
	{ "the heap's limit",
	  { MIB, 16 * MIB, 0, 0, 0 },
	  0,
	  65536,
	  1024,
	  12 * MIB,
	  16 * MIB,
	  COUNTED(at_limit) },
	{ "the pool's limit",
	  { MIB, MAM_HEAP_UNLIMITED, 2 * MIB, 0, 0 },
	  64 * MIB,
	  131072,
	  1024,
	  32 * MIB,
	  64 * MIB,
	  COUNTED(pool_full) },
	{ "large objects; the heap's limit",
	  { MIB, 64 * MIB, 0, MAM_HEAP_AHEAD_NONE, 0 },
	  0,
	  100,
	  1u << 20,
	  56 * MIB,
	  64 * MIB,
	  COUNTED(at_limit) },
	{ "large objects; the pool's limit",
	  { MIB, MAM_HEAP_UNLIMITED, 0, MAM_HEAP_AHEAD_NONE, 0 },
	  64 * MIB,
	  100,
	  1u << 20,
	  48 * MIB,
	  64 * MIB,
	  COUNTED(pool_full) },
	{ "as many large objects as can be counted",
	  { MIB, MAM_HEAP_UNLIMITED, 0, MAM_HEAP_AHEAD_NONE, 0 },
	  0,
	  600,
	  300u << 10,
	  500 * (300u << 10),
	  600 * (300u << 10),
	  COUNTED(no_slot) },
};

static u64 counted(const struct mam_heap_info *info, size_t offset)
{
	return *(const uint64_t *)((const char *)info + offset);
}

/* Runs all requests of `lanes` lanes; failures must be counted, and under `count` only. */
static u64 fill_until(struct growth_stage *stage, struct mam_heap *heap, unsigned int lanes,
		      unsigned int bytes, size_t count, const char *what)
{
	struct stage *objects = &stage->objects;
	struct table table = objects->table;
	struct mam_heap_info before = info_of(heap), after;

	table.lanes = lanes;
	*table.vain = 0;
	fill<<<blocks_of(lanes), THREADS, 0, objects->streams[0]>>>(mam_heap_device(heap), table, 0,
								    bytes, false);
	look<<<blocks_of(lanes), THREADS, 0, objects->streams[0]>>>(mam_heap_device(heap), table);
	finish(objects->streams[0], what);
	no_wrongs(table.bad, what);
	after = info_of(heap);
	same(*table.vain, refusals_of(&after) - refusals_of(&before), "requests in vain, counted");
	same(*table.vain, counted(&after, count) - counted(&before, count), what);
	return *table.vain;
}

static void make_cause(struct growth_stage *stage, const struct cause *cause)
{
	struct mam_pool *pool = pool_of("vmm", cause->pool_limit);
	struct mam_heap *heap = growing_heap(pool, &cause->wish);
	struct stage *objects = &stage->objects;
	struct stopwatch watch = stopwatch_new();
	size_t got;
	double us;
	u64 vain;

	empty_table(objects);
	stopwatch_begin(&watch);
	vain = fill_until(stage, heap, cause->lanes, cause->bytes, cause->count, cause->name);
	us = stopwatch_end(&watch, cause->name);
	got = (size_t)(cause->lanes - vain) * cause->bytes;
	if (got < cause->min || got > cause->max)
		fail(1, "%s: kernels got %zu bytes; %zu to %zu are right", cause->name, got,
		     cause->min, cause->max);
	if (vain == 0)
		fail(1, "%s: no request failed", cause->name);
	/* Freed memory must be reusable, however full everything is. */
	drop<<<blocks_of(objects->table.lanes), THREADS>>>(mam_heap_device(heap), objects->table, 1,
							   4);
	finish(NULL, "a drop");
	same(vain, fill_until(stage, heap, cause->lanes, cause->bytes, cause->count, cause->name),
	     "requests in vain the second time");
	row("causes", cause->name, (double)vain, "NULLs");
	row("causes", cause->name, us, "us");
	std::printf("ok - causes: %s: %llu of %u requests in vain, all counted so\n", cause->name,
		    vain, cause->lanes);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

static void make_causes(struct growth_stage *stage)
{
	for (const auto &cause : causes)
		make_cause(stage, &cause);
}

/* As many lanes as can be resident on the device at once. */
static unsigned int resident_lanes(const struct growth_stage *stage)
{
	int blocks;

	check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, churn, THREADS, 0),
	      "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
	return stage->sms * (unsigned int)blocks * THREADS;
}

static void make_full(struct growth_stage *stage)
{
	struct mam_pool *pool = pool_of("vmm", 0);
	struct growth_wish wish = { 2 * MIB, MAM_HEAP_UNLIMITED, 4 * MIB, 0, 0 };
	struct mam_heap *heap = growing_heap(pool, &wish);
	struct stage objects = stage->objects;
	struct stopwatch watch = stopwatch_new();
	struct mam_heap_info info;
	double us;

	empty_table(&objects);
	objects.table.lanes = resident_lanes(stage);
	stopwatch_begin(&watch);
	churn<<<objects.table.lanes / THREADS, THREADS>>>(mam_heap_device(heap), objects.table, 0,
							  50, 1234);
	us = stopwatch_end(&watch, "a kernel on every SM");
	same(0, *objects.table.vain, "requests in vain");
	compare(&objects, heap, "after a kernel on every SM", true);
	info = info_of(heap);
	if (info.grants < 4)
		fail(1, "the heap grew by %llu grants only", (u64)info.grants);
	row("full", "every SM asks", us, "us");
	row("full", "every SM asks", (double)info.grants, "grants");
	std::printf("ok - full: %u lanes at once, %llu grants in %.0f us\n", objects.table.lanes,
		    (u64)info.grants, us);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

/* Two heaps, each with its own table; on the first two concurrent kernels. */
static void make_streams(struct growth_stage *stage)
{
	struct mam_pool *pool = pool_of("vmm", 0);
	struct growth_wish wish = { MIB, MAM_HEAP_UNLIMITED, 8 * MIB, 0, 0 };
	struct mam_heap *heaps[2] = { growing_heap(pool, &wish), growing_heap(pool, &wish) };
	struct stage one = stage->objects, two = stage->objects;
	unsigned int lanes = 65536, half = lanes / 2;
	struct mam_heap_info info;
	u64 grants = 0;

	empty_table(&one);
	one.table.lanes = lanes;
	two.table.at += lanes;
	two.table.bytes += lanes;
	two.table.lanes = lanes;
	for (unsigned int round = 0; round < 5; round++) {
		struct table first = one.table;

		first.lanes = half;
		churn<<<half / THREADS, THREADS, 0, one.streams[0]>>>(mam_heap_device(heaps[0]),
								      first, 0, 12, round);
		churn<<<half / THREADS, THREADS, 0, one.streams[1]>>>(
			mam_heap_device(heaps[0]), one.table, half, 12, 100 + round);
		churn<<<lanes / THREADS, THREADS, 0, one.streams[2]>>>(
			mam_heap_device(heaps[1]), two.table, 0, 12, 200 + round);
		for (int i = 0; i < 3; i++)
			finish(one.streams[i], "two heaps at once");
		same(0, *one.table.vain, "requests in vain");
		compare(&one, heaps[0], "the first of two heaps", true);
		compare(&two, heaps[1], "the second of two heaps", true);
		if (round == 3) {
			empty_heap(&one, heaps[0]);
			check(mam_heap_trim(heaps[0], NULL, NULL), "mam_heap_trim");
			same(0, info_of(heaps[0]).grants, "grants after a trim with nothing live");
		}
	}
	for (struct mam_heap *heap : heaps) {
		info = info_of(heap);
		grants += info.grants;
		check(mam_heap_destroy(heap), "mam_heap_destroy");
	}
	std::printf("ok - streams: three kernels, two heaps, %llu grants at the end\n", grants);
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

#endif
