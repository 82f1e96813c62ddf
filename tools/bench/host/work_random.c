/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_random.c - a long random run: workload "random", after the random-allocation benchmark of
 * RAPIDS RMM.
 *
 * N allocations and N frees. At each step: with a probability of 73%, while fewer than N blocks
 * were allocated and the new one would keep the live bytes within the budget (16,000 MiB), allocate
 * a block of 1 B to M MiB, sizes uniform; otherwise free a random live block. We differ in one
 * point: the steps are generated in advance, so that their generation is not timed. The whole run
 * is timed and divided by its 2 N operations. It is run twice; the second run, with existing
 * metadata, counts. A peer that exceeds its limit is stopped, and its completed part counts.
 */
#include "bench/bench.h"

#define ALLOC_PERCENT 73
#define LIVE_BUDGET (16000 * BENCH_MIB)
#define LOOK_EVERY 64 /* steps between clock reads; a power of two */

/* bytes > 0: allocate them and keep the block at `slot`; 0: free the block at `slot` */
struct step {
	size_t bytes;
	size_t slot;
};

/*
 * `order` has room for n slots. Slots are numbered by request, so that a stopped run knows its live
 * blocks.
 */
static void plan(struct step *steps, size_t *order, size_t n, size_t max_bytes, size_t budget,
		 struct bench_random *random)
{
	size_t *sizes = order + n, asked = 0, live = 0, live_bytes = 0, done;

	for (done = 0; done < 2 * n; done++) {
		bool ask =
			asked < n && (live == 0 || bench_random_below(random, 100) < ALLOC_PERCENT);
		size_t bytes = ask ? bench_random_between(random, 1, max_bytes) : 0;

		if (ask && (live_bytes + bytes < budget || live == 0)) {
			sizes[asked] = bytes;
			order[live++] = asked;
			live_bytes += bytes;
			steps[done] = (struct step){ bytes, asked++ };
		} else {
			size_t at = bench_random_below(random, live), slot = order[at];

			order[at] = order[--live];
			live_bytes -= sizes[slot];
			steps[done] = (struct step){ 0, slot };
		}
	}
}

/* Runs the steps; returns how many were done, and their time. Blocks still live are in `blocks`. */
static size_t play(struct bench_peer *peer, const struct step *steps, size_t count,
		   struct bench_block *blocks, uint64_t limit_ns, size_t *refused, double *ns)
{
	uint64_t start = bench_now(), now;
	size_t done;

	for (done = 0; done < count; done++) {
		const struct step *step = &steps[done];

		if (done % LOOK_EVERY == LOOK_EVERY - 1 && bench_now() - start > limit_ns)
			break;
		if (step->bytes > 0) {
			if (!bench_take(peer, step->bytes, &blocks[step->slot]))
				(*refused)++;
		} else if (blocks[step->slot].address != NULL) {
			bench_give(peer, &blocks[step->slot]);
		}
	}
	now = bench_now();
	*ns = (double)(now - start) - (double)(done / LOOK_EVERY + 1) * bench_measure_clock_cost();
	return done;
}

static void give_back(struct bench_peer *peer, struct bench_block *blocks, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (blocks[i].address != NULL)
			bench_give(peer, &blocks[i]);
	}
	if (peer->finish != NULL)
		peer->finish(peer);
}

static const char *run_random(struct bench_peer *peer, const struct bench_case *one,
			      const struct bench_effort *effort, struct bench_random *random,
			      struct bench_sample *sample)
{
	size_t n = one->a, max_bytes = one->b * BENCH_MIB, budget = LIVE_BUDGET, refused = 0,
	       done = 0;
	size_t steps_bytes = 2 * n * sizeof(struct step), order_bytes = 2 * n * sizeof(size_t);
	struct step *steps = bench_measure_pages(steps_bytes);
	size_t *order = bench_measure_pages(order_bytes);
	struct bench_block *blocks = bench_measure_pages(n * sizeof(*blocks));
	uint64_t limit_ns = peer->is_mam ? effort->case_ns : 2 * effort->other_case_ns;
	const char *why = NULL;
	double ns = 0;

	if (budget > peer->space_bytes / 3 * 2)
		budget = peer->space_bytes / 3 * 2;
	if (peer->max_blocks != 0 && n > peer->max_blocks / 2)
		why = "it would take too long with so many blocks";
	else if (steps == NULL || order == NULL || blocks == NULL)
		why = "no memory for the bench's own tables";
	if (why == NULL) {
		plan(steps, order, n, max_bytes, budget, random);
		done = play(peer, steps, 2 * n, blocks, limit_ns, &refused, &ns);
		give_back(peer, blocks, n);
		if (done == 2 * n && ns < (double)limit_ns / 2) {
			refused = 0;
			done = play(peer, steps, 2 * n, blocks, limit_ns, &refused, &ns);
			give_back(peer, blocks, n);
		}
		bench_sample_add(sample, "op_ns", ns / (double)done);
		bench_sample_add(sample, "refused", (double)refused);
		bench_sample_add(sample, "done_ratio", (double)done / (2 * (double)n));
	}
	bench_measure_pages_free(steps, steps_bytes);
	bench_measure_pages_free(order, order_bytes);
	bench_measure_pages_free(blocks, n * sizeof(*blocks));
	return why;
}

static const struct bench_case random_cases[] = {
	{ "1000,1MiB", 1000, 1, false, 0 },       { "1000,4MiB", 1000, 4, true, 0 },
	{ "1000,64MiB", 1000, 64, true, 0 },      { "1000,1GiB", 1000, 1024, true, 0 },
	{ "1000,4GiB", 1000, 4096, true, 0 },     { "10000,1MiB", 10000, 1, true, 0 },
	{ "10000,4MiB", 10000, 4, true, 0 },      { "10000,64MiB", 10000, 64, true, 0 },
	{ "10000,1GiB", 10000, 1024, true, 0 },   { "10000,4GiB", 10000, 4096, true, 0 },
	{ "100000,1MiB", 100000, 1, false, 0 },   { "100000,4MiB", 100000, 4, true, 0 },
	{ "100000,64MiB", 100000, 64, true, 0 },  { "100000,1GiB", 100000, 1024, true, 0 },
	{ "100000,4GiB", 100000, 4096, true, 0 },
};

const struct bench_workload bench_work_random = {
	.name = "random",
	.title = "ns an operation, random allocations after RMM's benchmark (number, largest)",
	.metrics = { "op_ns", NULL },
	.cases = random_cases,
	.case_count = sizeof(random_cases) / sizeof(random_cases[0]),
	.repeats = 3,
	.run = run_random,
};
