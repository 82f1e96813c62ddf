/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_pair.c - small heaps: workloads "pair" and "size".
 *
 * pair: SMALL_LIVE blocks of mixed sizes are live; one thread allocates a block and frees it at
 * once, repeatedly. A batch is BENCH_BATCH_MAX pairs.
 *
 * size: blocks of one size are allocated in a batch and freed in random order, for each of several
 * sizes. For a pool whose metadata is separate from its memory, 256 B cost the same as 1 GiB. Then,
 * with stream-ordered peers: one block is allocated and freed and the stream synchronized,
 * repeatedly. In this case a heap may release freed memory to the driver: lone_alloc_ns,
 * lone_free_ns and sync_ns are the times of the three calls.
 */
#include "bench/bench.h"

#define SMALL_LIVE 16
#define SIZE_BATCH 32
#define MAX_BATCHES 40000
#define MAX_LONE 4000
#define MIN_LONE 5

static const char *run_pair(struct bench_peer *peer, const struct bench_case *one,
			    const struct bench_effort *effort, struct bench_random *random,
			    struct bench_sample *sample)
{
	double *values = bench_measure_pages(MAX_BATCHES * sizeof(*values));
	struct bench_table table = { NULL, 0, 0 };
	const char *why = NULL;
	size_t count = 0, i;
	uint64_t until;

	if (values == NULL || !bench_table_init(&table, SMALL_LIVE))
		why = "no memory for the bench's own tables";
	while (why == NULL && table.count < SMALL_LIVE) {
		if (bench_take(peer, bench_random_between(random, 256, 16 * BENCH_KIB),
			       &table.blocks[table.count]))
			table.count++;
		else
			why = "a request was refused";
	}
	until = bench_now() + effort->slice_ns;
	while (why == NULL && count < MAX_BATCHES && (count < 4 || bench_now() < until)) {
		/* A slow peer does not run a whole batch. */
		size_t pairs = count == 0 || values[0] < 10000 ? BENCH_BATCH_MAX : 4;
		uint64_t start, end;
		bool refused = false;

		if (count == 0)
			pairs = 4;
		start = bench_now();
		for (i = 0; i < pairs; i++) {
			void *block = peer->alloc(peer, one->a);

			if (block != NULL)
				peer->release(peer, block, one->a);
			else
				refused = true;
		}
		end = bench_now();
		if (refused)
			why = "a request was refused";
		values[count] =
			((double)(end - start) - bench_measure_clock_cost()) / (double)pairs;
		count++;
		if (peer->finish != NULL)
			peer->finish(peer);
	}
	if (why == NULL) /* the first batch was the warm-up */
		bench_sample_add(sample, "pair_ns", bench_measure_median(values + 1, count - 1));
	if (table.blocks != NULL)
		bench_table_fini(&table, peer);
	bench_measure_pages_free(values, MAX_BATCHES * sizeof(*values));
	return why;
}

/* One block is allocated and freed, and the stream synchronized. */
static const char *run_lone(struct bench_peer *peer, size_t bytes,
			    const struct bench_effort *effort, struct bench_sample *sample)
{
	uint64_t until = bench_now() + effort->slice_ns / 2;
	struct bench_times alloc, free, sync;
	bool good = bench_times_init(&alloc, MAX_LONE);
	const char *why = NULL;

	good = bench_times_init(&free, MAX_LONE) && good;
	good = bench_times_init(&sync, MAX_LONE) && good;
	if (!good)
		why = "no memory for the bench's own tables";
	while (why == NULL && alloc.count < MAX_LONE &&
	       (alloc.count < MIN_LONE || bench_now() < until)) {
		uint64_t start = bench_now(), taken, freed;
		void *block = peer->alloc(peer, bytes);

		taken = bench_now();
		if (block == NULL) {
			why = "a request was refused";
			break;
		}
		peer->release(peer, block, bytes);
		freed = bench_now();
		peer->finish(peer);
		bench_times_add(&sync, freed, bench_now());
		bench_times_add(&free, taken, freed);
		bench_times_add(&alloc, start, taken);
	}
	if (why == NULL) {
		bench_sample_add(sample, "lone_alloc_ns", bench_times_quantile(&alloc, 0.5));
		bench_sample_add(sample, "lone_free_ns", bench_times_quantile(&free, 0.5));
		bench_sample_add(sample, "sync_ns", bench_times_quantile(&sync, 0.5));
	}
	bench_times_fini(&alloc);
	bench_times_fini(&free);
	bench_times_fini(&sync);
	return why;
}

static const char *run_size(struct bench_peer *peer, const struct bench_case *one,
			    const struct bench_effort *effort, struct bench_random *random,
			    struct bench_sample *sample)
{
	struct bench_churn churn = { one->a, one->a, SIZE_BATCH, false };
	struct bench_table table;
	const char *why;

	if (churn.batch > peer->space_bytes / 4 * 3 / one->a)
		churn.batch = peer->space_bytes / 4 * 3 / one->a;
	if (churn.batch == 0)
		return "there is not enough memory";
	if (!bench_table_init(&table, churn.batch))
		return "no memory for the bench's own tables";
	why = bench_churn_run(peer, &table, &churn, effort, random, sample);
	bench_table_fini(&table, peer);
	if (why == NULL && peer->finish != NULL && peer->alloc_on != NULL)
		why = run_lone(peer, one->a, effort, sample);
	return why;
}

static bool suits(const struct bench_peer *peer, const struct bench_case *one)
{
	return peer->max_bytes == 0 || one->a <= peer->max_bytes;
}

static const struct bench_case pair_cases[] = {
	{ "256B", 256, 0, false, 0 },
	{ "1MiB", BENCH_MIB, 0, false, 0 },
	{ "16MiB", 16 * BENCH_MIB, 0, true, 0 },
	{ "1GiB", BENCH_GIB, 0, false, 0 },
};

static const struct bench_case size_cases[] = {
	{ "256B", 256, 0, false, 0 },
	{ "64KiB", 64 * BENCH_KIB, 0, true, 0 },
	{ "1MiB", BENCH_MIB, 0, true, 0 },
	{ "16MiB", 16 * BENCH_MIB, 0, true, 0 },
	{ "256MiB", 256 * BENCH_MIB, 0, true, 0 },
	{ "1GiB", BENCH_GIB, 0, false, 0 },
};

const struct bench_workload bench_work_pair = {
	.name = "pair",
	.title = "ns a pair: alloc and free of one block, small heap",
	.metrics = { "pair_ns", NULL },
	.cases = pair_cases,
	.case_count = sizeof(pair_cases) / sizeof(pair_cases[0]),
	.suits = suits,
	.run = run_pair,
};

const struct bench_workload bench_work_size = {
	.name = "size",
	.title = "ns alloc/free by size",
	.metrics = { "alloc_ns", "free_ns" },
	.cases = size_cases,
	.case_count = sizeof(size_cases) / sizeof(size_cases[0]),
	.suits = suits,
	.run = run_size,
};
