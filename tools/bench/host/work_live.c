/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_live.c - the cost of an operation when the pool has many blocks: workloads "live" and
 * "fragmented".
 *
 * live: L blocks of 1 to 10 bytes are live; then one more of that size is allocated, and a random
 * one freed. It is the second experiment of Can Aknesil and Didem Unat, "MAM: A Memory Allocation
 * Manager for GPUs" (figure 10). There are almost no free blocks between live ones: the cost is
 * that of finding a block among L. The size of the metadata per segment is measured here, too.
 *
 * fragmented: L blocks are live with L free blocks between them, sizes uniform in 512 B to 16 KiB (or
 * from 1 B); then random blocks are freed and random sizes allocated. 2 L blocks are allocated and
 * every second one freed. That state does not last: each free merges two free blocks, and after
 * about 2 L replacements the heap reaches its own balance with fewer free blocks. So the churn is
 * stopped when a quarter of the blocks have been replaced, and the heap is set up again. The cases
 * named "steady" are the other extreme: the churn runs for STEADY_FACTOR x L replacements before
 * timing starts.
 */
#include "bench/bench.h"

#define STEADY 1 /* a case's c */
#define STEADY_FACTOR 3
#define PATIENCE 20 /* multiple of a case's limit that reaching its state may take */
#define LOOK_EVERY 64

static const char too_long[] = "it would take too long with so many blocks";

static uint64_t patience(const struct bench_peer *peer, const struct bench_effort *effort)
{
	return bench_now() + PATIENCE * (peer->is_mam ? effort->case_ns : effort->other_case_ns);
}

static size_t batch_for(size_t live)
{
	size_t batch = live / 8;

	if (batch < 4)
		batch = 4;
	return batch < 64 ? batch : 64;
}

static const char *fits(const struct bench_peer *peer, size_t blocks, size_t block_memory)
{
	size_t available = bench_run_memory();

	if (peer->max_blocks != 0 && blocks > peer->max_blocks)
		return too_long;
	if (available != 0 && blocks * (block_memory + sizeof(void *)) > available / 3 * 2)
		return "this machine has not enough free memory";
	return NULL;
}

static const char *fill(struct bench_peer *peer, struct bench_table *table, size_t blocks,
			size_t min, size_t max, uint64_t until, struct bench_random *random)
{
	while (table->count < blocks) {
		if (table->count % LOOK_EVERY == 0 && bench_now() > until)
			return too_long;
		if (!bench_take(peer, bench_random_between(random, min, max),
				&table->blocks[table->count]))
			return "a request was refused";
		table->count++;
	}
	return NULL;
}

/* Two measures of the metadata's cost: the pool's own count, and the growth of the process. */
static void read_metadata(const struct bench_peer *peer, size_t resident_before,
			  struct bench_sample *sample)
{
	size_t resident = bench_run_resident();
	double segments, bytes;

	if (!bench_mam_metadata(peer, &segments, &bytes))
		return;
	bench_sample_add(sample, "segment_bytes", bytes / segments);
	if (resident > resident_before && resident_before != 0)
		bench_sample_add(sample, "segment_resident_bytes",
				 (double)(resident - resident_before) / segments);
}

static const char *run_live(struct bench_peer *peer, const struct bench_case *one,
			    const struct bench_effort *effort, struct bench_random *random,
			    struct bench_sample *sample)
{
	struct bench_churn churn = { 1, 10, batch_for(one->a), false };
	struct bench_table table;
	const char *why = fits(peer, one->a, peer->block_memory);
	size_t resident;
	uint64_t start;

	if (why != NULL)
		return why;
	if (!bench_table_init(&table, one->a + churn.batch))
		return "no memory for the bench's own tables";
	resident = bench_run_resident();
	start = bench_now();
	why = fill(peer, &table, one->a, churn.min_bytes, churn.max_bytes, patience(peer, effort),
		   random);
	if (why == NULL) {
		double fill_ns = (double)(bench_now() - start) / (double)one->a;

		read_metadata(peer, resident, sample);
		why = bench_churn_run(peer, &table, &churn, effort, random, sample);
		if (why == NULL)
			bench_sample_add(sample, "fill_ns", fill_ns);
	}
	bench_table_fini(&table, peer);
	return why;
}

/*
 * L live blocks with L free blocks between them. The table is empty before; everything was freed.
 */
static const char *lay_out(struct bench_peer *peer, struct bench_table *table, size_t live,
			   const struct bench_churn *churn, uint64_t until,
			   struct bench_random *random)
{
	const char *why =
		fill(peer, table, 2 * live, churn->min_bytes, churn->max_bytes, until, random);
	size_t i;

	if (why != NULL)
		return why;
	for (i = 0; i < live; i++) {
		bench_give(peer, &table->blocks[2 * i]);
		table->blocks[i] = table->blocks[2 * i + 1];
	}
	table->count = live;
	if (peer->finish != NULL)
		peer->finish(peer);
	return NULL;
}

/* With many free blocks: a few rounds per setup, as many setups as the slice allows. */
static const char *churn_fresh(struct bench_peer *peer, struct bench_table *table, size_t live,
			       const struct bench_churn *churn, const struct bench_effort *effort,
			       struct bench_random *random, struct bench_sample *sample)
{
	struct bench_rounds rounds;
	size_t round, max = live / 4 / churn->batch;
	const char *why =
		bench_rounds_init(&rounds) ? NULL : "no memory for the bench's own tables";
	uint64_t until = bench_now() + effort->slice_ns;

	if (max < 4)
		max = 4;
	do {
		while (why == NULL && table->count > 0)
			bench_give(peer, &table->blocks[--table->count]);
		if (why == NULL)
			why = lay_out(peer, table, live, churn, patience(peer, effort), random);
		for (round = 0; why == NULL && round < max; round++) {
			if (!bench_churn_round(peer, table, churn, random, &rounds))
				why = "a request was refused";
		}
	} while (why == NULL && !bench_rounds_full(&rounds) && bench_now() < until);
	if (why == NULL)
		bench_rounds_answer(&rounds, sample);
	bench_rounds_fini(&rounds);
	return why;
}

static const char *churn_steady(struct bench_peer *peer, struct bench_table *table, size_t live,
				const struct bench_churn *churn, const struct bench_effort *effort,
				struct bench_random *random, struct bench_sample *sample)
{
	uint64_t until = patience(peer, effort);
	const char *why = lay_out(peer, table, live, churn, until, random);
	size_t done;

	for (done = 0; why == NULL && done < STEADY_FACTOR * live; done += churn->batch) {
		if (bench_now() > until)
			why = too_long;
		else if (!bench_churn_round(peer, table, churn, random, NULL))
			why = "a request was refused";
	}
	return why != NULL ? why : bench_churn_run(peer, table, churn, effort, random, sample);
}

static const char *run_free_blocks(struct bench_peer *peer, const struct bench_case *one,
				   const struct bench_effort *effort, struct bench_random *random,
				   struct bench_sample *sample)
{
	struct bench_churn churn = { one->b, 16 * BENCH_KIB, batch_for(one->a), true };
	struct bench_table table;
	/*
	 * A malloc with its metadata next to the blocks touches a page for nearly every one of
	 * these.
	 */
	size_t block_memory = peer->on_device || peer->is_mam ? peer->block_memory : 5000;
	const char *why = fits(peer, 2 * one->a, block_memory);

	if (why != NULL)
		return why;
	if (!bench_table_init(&table, 2 * one->a + churn.batch))
		return "no memory for the bench's own tables";
	why = (one->c == STEADY ? churn_steady : churn_fresh)(peer, &table, one->a, &churn, effort,
							      random, sample);
	bench_table_fini(&table, peer);
	return why;
}

static const struct bench_case live_cases[] = {
	{ "10", 10, 0, true, 0 },
	{ "100", 100, 0, true, 0 },
	{ "1000", 1000, 0, false, 0 },
	{ "10000", 10000, 0, false, 0 },
	{ "100000", 100000, 0, true, 0 },
	{ "1000000", 1000000, 0, false, 0 },
	{ "10000000", 10000000, 0, false, 0 },
};

static const struct bench_case free_block_cases[] = {
	{ "10", 10, 512, true, 0 },
	{ "100", 100, 512, true, 0 },
	{ "1000", 1000, 512, false, 0 },
	{ "10000", 10000, 512, true, 0 },
	{ "100000", 100000, 512, false, 0 },
	{ "1000000", 1000000, 512, true, 0 },
	{ "10,1B", 10, 1, true, 0 },
	{ "100,1B", 100, 1, true, 0 },
	{ "1000,1B", 1000, 1, true, 0 },
	{ "10000,1B", 10000, 1, true, 0 },
	{ "100000,1B", 100000, 1, true, 0 },
	{ "1000,steady", 1000, 512, false, STEADY },
	{ "100000,steady", 100000, 512, false, STEADY },
};

const struct bench_workload bench_work_live = {
	.name = "live",
	.title = "ns alloc/free, blocks of 1 to 10 B live",
	.metrics = { "alloc_ns", "free_ns" },
	.cases = live_cases,
	.case_count = sizeof(live_cases) / sizeof(live_cases[0]),
	.repeats = 3,
	.run = run_live,
};

const struct bench_workload bench_work_free_blocks = {
	.name = "fragmented",
	.title = "ns alloc/free, as many free blocks as live ones, 512 B to 16 KiB (1B: from 1 B)",
	.metrics = { "alloc_ns", "free_ns" },
	.cases = free_block_cases,
	.case_count = sizeof(free_block_cases) / sizeof(free_block_cases[0]),
	.run = run_free_blocks,
};
