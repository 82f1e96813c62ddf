/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_stream.c - blocks freed in stream order while the stream's work runs: workload "stream".
 *
 * A kernel of KERNEL_NS keeps stream 0 busy (driver.h). While it runs:
 *   same   a batch of blocks is freed on stream 0 and allocated on stream 0 again
 *   other  the batch is freed on stream 0 and allocated on stream 1: the blocks move between streams,
 *          or the heap finds others, until the kernel is done
 * A round: make stream 0 busy, free the batch, allocate a batch, check that the kernel still runs
 * (otherwise the round is dropped), wait for both streams. free_ns and alloc_ns are medians over
 * turns of GROUP rounds, per operation: a heap that pays for moving blocks between streams once in
 * a few rounds pays in every turn. cycle_ns is the mean of both together; waited_ratio is the share
 * of dropped rounds, 1 if every free waits for the kernel.
 */
#include "bench/bench.h"
#include "bench/harness/driver.h"

#define KERNEL_NS UINT64_C(1000000)
#define LARGE_BYTES (16 * BENCH_MIB)
#define SMALL_BATCH 64
#define LARGE_BATCH 8
#define MAX_ROUNDS 4000
#define MIN_ROUNDS 16
#define GROUP 8
#define STREAMS 2
#define OTHER 1 /* a case's b: blocks move between streams */

struct rounds {
	double *alloc, *free; /* ns per operation */
	size_t count;
	size_t dropped;
	double sum;
};

static void wait_streams(void)
{
	size_t i;

	for (i = 0; i < STREAMS; i++)
		bench_driver.stream_wait(bench_driver_stream(i));
}

/* The median of the groups' means; for fewer rounds than a group, their mean. Modifies `ns`. */
static double middle_of(double *ns, size_t count)
{
	size_t groups = 0, i;

	for (i = 0; i < count; i++) {
		bool begins = i % GROUP == 0;

		if (begins && groups != 0 && count - i < GROUP)
			break; /* too few to count as one */
		groups += begins;
		ns[groups - 1] = begins ? ns[i] : ns[groups - 1] + ns[i];
	}
	for (i = 0; i < groups; i++)
		ns[i] /= (double)(count < GROUP ? count : GROUP);
	return bench_measure_median(ns, groups);
}

/* Returns false if a request failed. */
static bool play_round(struct bench_peer *peer, const struct bench_case *one, void **blocks,
		       size_t batch, struct rounds *rounds)
{
	uint64_t start, middle, end;
	bool refused = false, running;
	size_t i, to = one->b == OTHER;

	if (!bench_driver_busy(0, KERNEL_NS))
		return false;
	start = bench_now();
	for (i = 0; i < batch; i++)
		peer->release_on(peer, blocks[i], one->a, 0);
	middle = bench_now();
	for (i = 0; i < batch; i++)
		blocks[i] = peer->alloc_on(peer, one->a, to);
	end = bench_now();
	running = bench_driver.stream_query(bench_driver_stream(0)) == BENCH_NOT_READY;
	wait_streams();
	for (i = 0; i < batch; i++)
		refused = refused || blocks[i] == NULL;
	if (!running) {
		rounds->dropped++;
	} else {
		double clock = bench_measure_clock_cost(), each = (double)batch;

		rounds->free[rounds->count] = ((double)(middle - start) - clock) / each;
		rounds->alloc[rounds->count] = ((double)(end - middle) - clock) / each;
		rounds->sum += rounds->free[rounds->count] + rounds->alloc[rounds->count];
		rounds->count++;
	}
	return !refused;
}

static const char *answer(struct rounds *rounds, struct bench_sample *sample)
{
	double all = (double)(rounds->count + rounds->dropped);

	if (rounds->count == 0) {
		/* Not an error: the result of waiting for the kernel. */
		bench_sample_add(sample, "waited_ratio", 1);
		return NULL;
	}
	bench_sample_add(sample, "alloc_ns", middle_of(rounds->alloc, rounds->count));
	bench_sample_add(sample, "free_ns", middle_of(rounds->free, rounds->count));
	bench_sample_add(sample, "cycle_ns", rounds->sum / (double)rounds->count);
	bench_sample_add(sample, "waited_ratio", (double)rounds->dropped / all);
	return NULL;
}

static const char *play(struct bench_peer *peer, const struct bench_case *one,
			const struct bench_effort *effort, struct rounds *rounds,
			struct bench_sample *sample)
{
	size_t batch = one->a > LARGE_BYTES ? LARGE_BATCH : SMALL_BATCH, i, done, taken = 0;
	void *blocks[SMALL_BATCH] = { NULL };
	const char *why = NULL;
	uint64_t until;

	while (why == NULL && taken < batch) {
		blocks[taken] = peer->alloc_on(peer, one->a, 0);
		if (blocks[taken] == NULL)
			why = "a request was refused";
		else
			taken++;
	}
	wait_streams();
	until = bench_now() + 2 * effort->slice_ns;
	for (done = 0; why == NULL && rounds->count < MAX_ROUNDS; done++) {
		if (done >= MIN_ROUNDS && bench_now() > until)
			break;
		if (!play_round(peer, one, blocks, batch, rounds))
			why = "a request was refused";
		if (done == 1) /* those were the warm-up */
			rounds->count = rounds->dropped = 0, rounds->sum = 0;
	}
	for (i = 0; i < batch; i++) {
		if (blocks[i] != NULL)
			peer->release_on(peer, blocks[i], one->a, 0);
	}
	wait_streams();
	return why != NULL ? why : answer(rounds, sample);
}

static const char *run_stream(struct bench_peer *peer, const struct bench_case *one,
			      const struct bench_effort *effort, struct bench_random *random,
			      struct bench_sample *sample)
{
	size_t bytes = MAX_ROUNDS * sizeof(double);
	struct rounds rounds = { .alloc = bench_measure_pages(bytes),
				 .free = bench_measure_pages(bytes) };
	const char *why = "no memory for the bench's own tables";

	(void)random;
	if (!bench_driver_busy(0, 1000))
		why = "no kernel can be started";
	else if (rounds.alloc != NULL && rounds.free != NULL)
		why = play(peer, one, effort, &rounds, sample);
	bench_measure_pages_free(rounds.alloc, bytes);
	bench_measure_pages_free(rounds.free, bytes);
	return why;
}

static bool suits(const struct bench_peer *peer, const struct bench_case *one)
{
	(void)one;
	return peer->on_device && peer->alloc_on != NULL && peer->release_on != NULL;
}

static const struct bench_case stream_cases[] = {
	{ "same,4KiB", 4 * BENCH_KIB, 0, false, 0 },
	{ "same,2MiB", 2 * BENCH_MIB, 0, true, 0 },
	{ "same,64MiB", 64 * BENCH_MIB, 0, true, 0 },
	{ "other,4KiB", 4 * BENCH_KIB, OTHER, false, 0 },
	{ "other,2MiB", 2 * BENCH_MIB, OTHER, true, 0 },
	{ "other,64MiB", 64 * BENCH_MIB, OTHER, true, 0 },
};

const struct bench_workload bench_work_stream = {
	.name = "stream",
	.title =
		"ns alloc/free with a kernel in flight, the block staying in its stream or leaving",
	.metrics = { "alloc_ns", "free_ns" },
	.cases = stream_cases,
	.case_count = sizeof(stream_cases) / sizeof(stream_cases[0]),
	.repeats = 3,
	.grows = true,
	.suits = suits,
	.run = run_stream,
};
