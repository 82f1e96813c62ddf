/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_policy.c - the cost of each of mam's settings, by source: workload "policy".
 *
 * A pool may reuse a freed block when the device is idle (strict), when the work that was in flight
 * has ended (deferred), or at once within its stream (stream); and its threads may cache freed
 * blocks (cache). For each of the six, on a pool of the peer's source that grows on demand:
 *   pair_ns         a block of 256 B allocated and freed at once, repeatedly
 *   op_ns           OPERATIONS random steps: one of BLOCKS places is chosen, its block freed and
 *                   another of 256 B to 1 MiB allocated
 *   reserved_ratio  its peak reserved bytes in those, divided by its peak live bytes
 * The device is idle: this is a policy's cost when there is nothing to wait for.
 */
#include "bench/bench.h"

#include <mam/mam.h>

#define BLOCKS 256
#define OPERATIONS 4000
#define PAIRS 64
#define LOOK_EVERY 64
#define TURNS_MAX 4000

/* A case's a: the policy; its b: cached if not 0. */

static const char *time_pairs(struct bench_peer *peer, uint64_t slice_ns,
			      struct bench_sample *sample)
{
	double turns[TURNS_MAX];
	uint64_t until = bench_now() + slice_ns;
	size_t done = 0, i;

	while (done < TURNS_MAX && (done < 2 || bench_now() < until)) {
		size_t pairs = done > 0 && turns[0] > 10000 ? 4 : PAIRS;
		uint64_t start = bench_now();

		for (i = 0; i < pairs; i++) {
			void *block = peer->alloc(peer, 256);

			if (block == NULL)
				return "a request was refused";
			peer->release(peer, block, 256);
		}
		turns[done++] = ((double)(bench_now() - start) - bench_measure_clock_cost()) /
				(double)pairs;
	}
	/* the first was the warm-up */
	bench_sample_add(sample, "pair_ns", bench_measure_median(turns + 1, done - 1));
	return NULL;
}

static const char *time_random(struct bench_peer *peer, uint64_t limit_ns,
			       struct bench_random *random, struct bench_sample *sample)
{
	struct bench_block blocks[BLOCKS] = { { NULL, 0 } };
	struct bench_gauge gauge;
	uint64_t start = bench_now(), ns;
	const char *why = NULL;
	size_t done, live = 0, max = 0, i;

	for (done = 0; why == NULL && done < OPERATIONS; done++) {
		struct bench_block *block = &blocks[bench_random_below(random, BLOCKS)];
		/* an octave from 2^8 to 2^19, then a place in it */
		size_t octave = (size_t)256 << bench_random_below(random, 12);

		if (done % LOOK_EVERY == LOOK_EVERY - 1 && bench_now() - start > limit_ns)
			break;
		if (block->address != NULL) {
			live -= block->bytes;
			bench_give(peer, block);
		}
		if (!bench_take(peer, bench_random_between(random, octave, 2 * octave), block))
			why = "a request was refused";
		else
			live += block->bytes;
		if (live > max)
			max = live;
	}
	ns = bench_now() - start;
	if (why == NULL) {
		bench_sample_add(sample, "op_ns", (double)ns / (double)done);
		if (peer->gauge(peer, &gauge) && max > 0)
			bench_sample_add(sample, "reserved_ratio",
					 gauge.peak_reserved / (double)max);
	}
	for (i = 0; i < BLOCKS; i++) {
		if (blocks[i].address != NULL)
			bench_give(peer, &blocks[i]);
	}
	return why;
}

/* Replaces the peer's pool by one with the case's settings, and restores it. */
static const char *run_policy(struct bench_peer *peer, const struct bench_case *one,
			      const struct bench_effort *effort, struct bench_random *random,
			      struct bench_sample *sample)
{
	bool cached = peer->cached;
	int variant = peer->variant;
	const char *why = NULL;

	peer->close(peer);
	peer->variant = (int)one->a;
	peer->cached = one->b != 0;
	if (!peer->open(peer)) {
		why = "there is no pool of that policy on its source";
	} else {
		why = time_pairs(peer, effort->slice_ns / 2, sample);
		if (why == NULL)
			why = time_random(peer, 4 * effort->slice_ns, random, sample);
		peer->close(peer);
	}
	peer->variant = variant;
	peer->cached = cached;
	if (!peer->open(peer)) {
		peer->dropped = true;
		why = "its pool could not be made again";
	}
	return why;
}

/* One row per source: if a source has several, the one without caches. */
static bool suits(const struct bench_peer *peer, const struct bench_case *one)
{
	(void)one;
	return peer->variant == MAM_FREE_STREAM && (!peer->cached || peer->max_bytes != 0);
}

static const struct bench_case policy_cases[] = {
	{ "strict", MAM_FREE_STRICT, 0, false, 0 },
	{ "deferred", MAM_FREE_DEFERRED, 0, false, 0 },
	{ "stream", MAM_FREE_STREAM, 0, false, 0 },
	{ "strict,cache", MAM_FREE_STRICT, 1, false, 0 },
	{ "deferred,cache", MAM_FREE_DEFERRED, 1, false, 0 },
	{ "stream,cache", MAM_FREE_STREAM, 1, false, 0 },
};

const struct bench_workload bench_work_policy = {
	.name = "policy",
	.title = "ns a pair of 256 B/ns a random free and alloc, mam's policies with caches and "
		 "without",
	.metrics = { "pair_ns", "op_ns" },
	.cases = policy_cases,
	.case_count = sizeof(policy_cases) / sizeof(policy_cases[0]),
	.repeats = 3,
	.mam_only = true,
	.grows = true,
	.suits = suits,
	.run = run_policy,
};
