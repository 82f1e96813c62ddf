/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_footprint.c - the memory that a heap keeps after all is freed: workload "footprint".
 *
 * 1. The run's heap is closed, free device memory is read, and a growing heap is made.
 * 2. CHURNS times: blocks of sizes uniform in their logarithm are allocated until LIVE_PARTS of the
 *    peer's limit is live, and half of them, chosen at random, are freed.
 * 3. All is freed. The heap is trimmed.
 * 4. kept_bytes is the decrease of free memory since 1: by the driver's count of free device memory
 *    or, for other memory, by the heap's.
 */

#include "bench/bench.h"

#define CHURNS 4
#define MAX_BLOCKS 20000
#define LIVE_PARTS 4 /* a quarter of the limit */
#define LIVE_MAX (8 * BENCH_GIB)

/* From 512 B to 64 MiB: an octave, then a place in it. */
static size_t some_bytes(struct bench_random *random)
{
	size_t octave = (size_t)512 << bench_random_below(random, 17);

	return bench_random_between(random, octave, 2 * octave);
}

static const char *churn(struct bench_peer *peer, struct bench_table *table,
			 struct bench_random *random)
{
	size_t max = peer->space_bytes / LIVE_PARTS, live = 0, turn;

	if (max > LIVE_MAX)
		max = LIVE_MAX;
	for (turn = 0; turn < CHURNS; turn++) {
		while (table->count < table->room) {
			size_t bytes = some_bytes(random);

			if (live + bytes > max)
				break;
			if (!bench_take(peer, bytes, &table->blocks[table->count]))
				return "a request was refused";
			table->count++;
			live += bytes;
		}
		for (size_t left = table->count / 2; left > 0; left--) {
			struct bench_block block = bench_table_take(table, random);

			live -= block.bytes;
			bench_give(peer, &block);
		}
	}
	return NULL;
}

static const char *measure(struct bench_peer *peer, struct bench_table *table,
			   struct bench_random *random, struct bench_sample *sample)
{
	double before, kept, start, end;
	struct bench_gauge gauge;
	const char *why;

	peer->close(peer);
	before = (double)bench_cuda_free_bytes();
	if (!peer->open(peer))
		return "the heap could not be made again";
	why = churn(peer, table, random);
	while (table->count > 0)
		bench_give(peer, &table->blocks[--table->count]);
	if (why != NULL)
		return why;
	start = (double)bench_now();
	if (!peer->trim(peer))
		return "it cannot be trimmed";
	end = (double)bench_now();
	if (!peer->gauge(peer, &gauge))
		return "it does not report its memory";
	kept = before - (double)bench_cuda_free_bytes();
	if (kept < gauge.physical)
		kept = gauge.physical;
	bench_sample_add(sample, "kept_bytes", kept);
	bench_sample_add(sample, "peak_bytes", gauge.peak_physical);
	bench_sample_add(sample, "trim_us", (end - start) / 1000);
	return NULL;
}

static const char *run_footprint(struct bench_peer *peer, const struct bench_case *one,
				 const struct bench_effort *effort, struct bench_random *random,
				 struct bench_sample *sample)
{
	const char *why = "no memory for the bench's own tables";
	struct bench_table table;

	(void)one;
	(void)effort;
	if (bench_table_init(&table, MAX_BLOCKS))
		why = measure(peer, &table, random, sample);
	if (table.blocks != NULL)
		bench_table_fini(&table, peer);
	return why;
}

static bool suits(const struct bench_peer *peer, const struct bench_case *one)
{
	(void)one;
	return peer->trim != NULL && peer->gauge != NULL;
}

static const struct bench_case footprint_cases[] = { { "trimmed", 0, 0, false, 0 } };

const struct bench_workload bench_work_footprint = {
	.name = "footprint",
	.title = "bytes the driver does not get back when all is freed and trimmed",
	.metrics = { "kept_bytes", "trim_us" },
	.cases = footprint_cases,
	.case_count = 1,
	.repeats = 3,
	.grows = true,
	.suits = suits,
	.run = run_footprint,
};
