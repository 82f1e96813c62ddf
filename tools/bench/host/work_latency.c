/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_latency.c - the duration of single operations, and of the slow ones: workload "latency".
 *
 * 1. The heap begins empty. Blocks of sizes uniform in their logarithm are allocated and, chosen at
 *    random, freed: three of four steps are allocations until the limit of live bytes is reached,
 *    then one of four until a quarter of that is left, and up again. So the heap sees sizes and
 *    free blocks of all kinds, and grows on the way up.
 * 2. Each operation is between two clock reads; the cost of reading is subtracted and reported as
 *    clock_ns. A quantile is one of the times (times.c).
 * 3. After each operation, untimed, the heap's held memory is read. If it has increased, the
 *    operation was a growth: it counts in growths, growth_ns (their median) and growth_max_ns, and
 *    not among the others. If a heap does not report its memory, its growths are among the others.
 *
 * The bench's work between operations leaves caches colder than in a loop of calls, as a program's
 * own work does; for the cost of calls in a loop see workloads pair and size.
 */
#include "bench/bench.h"

#define MAX_BLOCKS 1024
#define MAX_BYTES (4 * BENCH_GIB)
#define MIN_STEPS 2000
#define MAX_STEPS 400000
#define UP 75 /* of a hundred steps, allocations on the way up */

struct play {
	struct bench_peer *peer;
	struct bench_table table;
	struct bench_times alloc, free, growth;
	size_t live, max_live; /* bytes */
	double held;
};

/* Memory that the heap holds from its source; 0: unknown. */
static double held_by(struct bench_peer *peer)
{
	struct bench_gauge gauge;

	if (peer->gauge == NULL || !peer->gauge(peer, &gauge))
		return 0;
	return gauge.reserved + gauge.physical;
}

/* Records the operation that has just ended. */
static void keep(struct play *play, struct bench_times *times, uint64_t start, uint64_t end)
{
	double held = held_by(play->peer);

	bench_times_add(held > play->held ? &play->growth : times, start, end);
	play->held = held;
}

static bool take_one(struct play *play, size_t bytes)
{
	struct bench_block *block = &play->table.blocks[play->table.count];
	uint64_t start = bench_now(), end;
	bool good = bench_take(play->peer, bytes, block);

	end = bench_now();
	if (!good)
		return false;
	play->table.count++;
	play->live += bytes;
	keep(play, &play->alloc, start, end);
	return true;
}

static void give_one(struct play *play, struct bench_random *random)
{
	struct bench_block block = bench_table_take(&play->table, random);
	uint64_t start = bench_now(), end;

	bench_give(play->peer, &block);
	end = bench_now();
	play->live -= block.bytes;
	keep(play, &play->free, start, end);
}

/* An octave of `least` x 2^0 to 2^octaves, then a place in it. */
static size_t some_bytes(const struct bench_case *one, struct bench_random *random)
{
	size_t octave = one->a << bench_random_below(random, one->b);

	return bench_random_between(random, octave, 2 * octave);
}

static const char *play_steps(struct play *play, const struct bench_case *one, uint64_t slice_ns,
			      struct bench_random *random)
{
	uint64_t until = bench_now() + slice_ns;
	bool up = true;
	size_t done;

	for (done = 0; done < MAX_STEPS; done++) {
		size_t bytes = some_bytes(one, random);
		bool full = play->table.count == MAX_BLOCKS || play->live + bytes > play->max_live;

		if (done >= MIN_STEPS && done % 64 == 0 && bench_now() > until)
			break;
		if (full)
			up = false;
		else if (play->table.count <= MAX_BLOCKS / 4 && play->live <= play->max_live / 4)
			up = true;
		if (!full && (play->table.count == 0 ||
			      bench_random_below(random, 100) < (up ? UP : 100 - UP))) {
			if (!take_one(play, bytes))
				return "a request was refused";
		} else {
			give_one(play, random);
		}
	}
	return NULL;
}

static void answer(struct play *play, struct bench_sample *sample)
{
	static const struct {
		const char *alloc, *free;
		double quantile;
	} points[] = {
		{ "alloc_p50_ns", "free_p50_ns", 0.5 },
		{ "alloc_p90_ns", "free_p90_ns", 0.9 },
		{ "alloc_p99_ns", "free_p99_ns", 0.99 },
		{ "alloc_p999_ns", "free_p999_ns", 0.999 },
	};
	size_t i;

	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		bench_sample_add(sample, points[i].alloc,
				 bench_times_quantile(&play->alloc, points[i].quantile));
	bench_sample_add(sample, "alloc_max_ns", play->alloc.max);
	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		bench_sample_add(sample, points[i].free,
				 bench_times_quantile(&play->free, points[i].quantile));
	bench_sample_add(sample, "free_max_ns", play->free.max);
	bench_sample_add(sample, "clock_ns", bench_measure_clock_cost());
	if (play->peer->gauge == NULL)
		return;
	bench_sample_add(sample, "growths", (double)play->growth.count);
	if (play->growth.count == 0)
		return;
	bench_sample_add(sample, "growth_ns", bench_times_quantile(&play->growth, 0.5));
	bench_sample_add(sample, "growth_max_ns", play->growth.max);
}

static const char *run_latency(struct bench_peer *peer, const struct bench_case *one,
			       const struct bench_effort *effort, struct bench_random *random,
			       struct bench_sample *sample)
{
	struct play play = { .peer = peer, .max_live = peer->space_bytes / 4 };
	const char *why = "no memory for the bench's own tables";
	bool good = bench_table_init(&play.table, MAX_BLOCKS);

	good = bench_times_init(&play.alloc, MAX_STEPS) && good;
	good = bench_times_init(&play.free, MAX_STEPS) && good;
	good = bench_times_init(&play.growth, MAX_STEPS) && good;
	if (play.max_live > MAX_BYTES)
		play.max_live = MAX_BYTES;
	play.held = held_by(peer);
	if (good)
		why = play_steps(&play, one, 2 * effort->slice_ns, random);
	if (why == NULL)
		answer(&play, sample);
	if (play.table.blocks != NULL)
		bench_table_fini(&play.table, peer);
	bench_times_fini(&play.alloc);
	bench_times_fini(&play.free);
	bench_times_fini(&play.growth);
	return why;
}

static bool suits(const struct bench_peer *peer, const struct bench_case *one)
{
	return peer->max_bytes == 0 || one->a << one->b <= peer->max_bytes;
}

/* The smallest size, and the number of octaves. */
static const struct bench_case latency_cases[] = {
	{ "mixed", 256, 16, false, 0 }, /* to 16 MiB */
	{ "small", 16, 8, true, 0 },    /* to 4 KiB */
	{ "large", BENCH_MIB, 6, true, 0 },
};

const struct bench_workload bench_work_latency = {
	.name = "latency",
	.title = "ns of single allocations: median/99.9% of them (256 B to 16 MiB, 16 B to 4 KiB, "
		 "1 MiB to 64 MiB)",
	.metrics = { "alloc_p50_ns", "alloc_p999_ns" },
	.cases = latency_cases,
	.case_count = sizeof(latency_cases) / sizeof(latency_cases[0]),
	.repeats = 2,
	.grows = true,
	.suits = suits,
	.run = run_latency,
};
