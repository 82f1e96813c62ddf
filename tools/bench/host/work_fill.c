/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_fill.c - random sizes until there is no more space, repeatedly: workload "fill".
 *
 * The first experiment of Can Aknesil and Didem Unat, "MAM: A Memory Allocation Manager for GPUs":
 * figure 1 (malloc and cudaMalloc by size), figure 8 (allocations by size) and figure 9 (frees).
 *
 * 1. Blocks of 1 B to 1 GiB are allocated, each timed, until one fails or the peer's limit is
 *    reached. The sizes are uniform in their logarithm: the paper does not specify its
 *    distribution, and with uniform sizes all but the largest bars of its histogram would be empty.
 * 2. All are freed, in random order, each timed.
 * 3. Both are repeated until the time is used up; the results are the medians of each range of
 *    sizes. A range is named by its smallest size and extends to eight times that.
 */
#include "bench/bench.h"

#define OCTAVES 30   /* 2^0 to 2^30 */
#define RANGE_BITS 3 /* octaves of a range */
#define RANGES (OCTAVES / RANGE_BITS)
#define MAX_BLOCKS 8192
#define ROOM 20000 /* times of a range */
#define MIN_FILLS 2
#define MAX_FILLS 1000

static const char *const range_names[RANGES] = { "1B",    "8B",     "64B",  "512B",  "4KiB",
						 "32KiB", "256KiB", "2MiB", "16MiB", "128MiB" };

struct fill {
	struct bench_table table;
	struct bench_times alloc[RANGES], free[RANGES];
	size_t live; /* bytes */
};

static size_t range_of(size_t bytes)
{
	size_t range = 0;

	while (range + 1 < RANGES && bytes >> RANGE_BITS > 0) {
		bytes >>= RANGE_BITS;
		range++;
	}
	return range;
}

static size_t some_bytes(struct bench_random *random)
{
	size_t octave = (size_t)1 << bench_random_below(random, OCTAVES);

	return bench_random_between(random, octave, 2 * octave - (octave > 1));
}

/* Allocates until it is full. */
static void take_all(struct fill *fill, struct bench_peer *peer, struct bench_random *random)
{
	while (fill->table.count < MAX_BLOCKS) {
		struct bench_block *block = &fill->table.blocks[fill->table.count];
		size_t bytes = some_bytes(random);
		uint64_t start, end;
		bool good;

		if (fill->live + bytes > peer->space_bytes)
			break;
		start = bench_now();
		good = bench_take(peer, bytes, block);
		end = bench_now();
		if (!good)
			break;
		bench_times_add(&fill->alloc[range_of(bytes)], start, end);
		fill->table.count++;
		fill->live += bytes;
	}
}

static void give_all(struct fill *fill, struct bench_peer *peer, struct bench_random *random)
{
	while (fill->table.count > 0) {
		struct bench_block block = bench_table_take(&fill->table, random);
		uint64_t start = bench_now();

		bench_give(peer, &block);
		bench_times_add(&fill->free[range_of(block.bytes)], start, bench_now());
		fill->live -= block.bytes;
	}
	if (peer->finish != NULL)
		peer->finish(peer);
}

static void answer(struct fill *fill, struct bench_sample *sample)
{
	size_t range;

	for (range = 0; range < RANGES; range++) {
		if (fill->alloc[range].count > 0)
			bench_sample_add_at(sample, range_names[range], "alloc_ns",
					    bench_times_quantile(&fill->alloc[range], 0.5));
		if (fill->free[range].count > 0)
			bench_sample_add_at(sample, range_names[range], "free_ns",
					    bench_times_quantile(&fill->free[range], 0.5));
	}
}

static const char *run_fill(struct bench_peer *peer, const struct bench_case *one,
			    const struct bench_effort *effort, struct bench_random *random,
			    struct bench_sample *sample)
{
	uint64_t until = bench_now() + 2 * effort->slice_ns;
	struct fill fill = { .live = 0 };
	bool good = bench_table_init(&fill.table, MAX_BLOCKS);
	size_t range, fills, blocks = 0;

	(void)one;
	for (range = 0; range < RANGES; range++) {
		good = bench_times_init(&fill.alloc[range], ROOM) && good;
		good = bench_times_init(&fill.free[range], ROOM) && good;
	}
	for (fills = 0; good && fills < MAX_FILLS; fills++) {
		if (fills >= MIN_FILLS && bench_now() > until)
			break;
		take_all(&fill, peer, random);
		blocks += fill.table.count;
		give_all(&fill, peer, random);
	}
	if (good) {
		answer(&fill, sample);
		bench_sample_add(sample, "fills", (double)fills);
		bench_sample_add(sample, "blocks_a_fill", (double)blocks / (double)fills);
	}
	if (fill.table.blocks != NULL)
		bench_table_fini(&fill.table, peer);
	for (range = 0; range < RANGES; range++) {
		bench_times_fini(&fill.alloc[range]);
		bench_times_fini(&fill.free[range]);
	}
	return good ? NULL : "no memory for the bench's own tables";
}

static bool suits(const struct bench_peer *peer, const struct bench_case *one)
{
	(void)one;
	return peer->max_bytes == 0;
}

static const struct bench_case fill_cases[] = { { "full", 0, 0, false, 0 } };

const struct bench_workload bench_work_fill = {
	.name = "fill",
	.title = "ns alloc/free, random sizes from 1 B to 1 GiB until all is full; from so many "
		 "bytes",
	.metrics = { "alloc_ns", "free_ns" },
	.cases = fill_cases,
	.case_count = 1,
	.repeats = 3,
	.suits = suits,
	.run = run_fill,
};
