/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_training.c - a whole training run against the clock: workload "training".
 *
 * 1. The trace of training.c is made once.
 * 2. Cold: it is played on a fresh heap, and the heap is asked what it holds. What is live at the
 *    end is freed.
 * 3. Warm: it is played WARM_PLAYS times more on the same heap; the median counts.
 *
 * The time is that of the whole play, divided by its events. In case "growing" the heap begins with
 * nothing, as a program's does; in case "chunk" it is one chunk, and how far up that was used is
 * its footprint. A peer that needs longer than it may is stopped, and what it did counts.
 */
#include "bench.h"
#include "training.h"

#define WARM_PLAYS 3
#define LOOK_EVERY 256 /* events between looks at the clock; a power of two */

static struct training training;

struct play {
	size_t done; /* events */
	size_t refused;
	double ns;
};

static struct play play(struct bench_peer *peer, struct bench_block *blocks, uint64_t limit_ns)
{
	uint64_t start = bench_now(), end;
	struct play played = { 0, 0, 0 };
	size_t at;

	for (at = 0; at < training.count; at++) {
		const struct training_event *event = &training.events[at];

		if (at % LOOK_EVERY == LOOK_EVERY - 1 && bench_now() - start > limit_ns)
			break;
		if (event->bytes > 0) {
			if (!bench_take(peer, event->bytes, &blocks[event->slot]))
				played.refused++;
		} else if (blocks[event->slot].address != NULL) {
			bench_give(peer, &blocks[event->slot]);
		}
	}
	end = bench_now();
	played.done = at;
	played.ns =
		(double)(end - start) - (double)(at / LOOK_EVERY + 1) * bench_measure_clock_cost();
	return played;
}

static void give_back(struct bench_peer *peer, struct bench_block *blocks)
{
	size_t i;

	for (i = 0; i < training.slots; i++) {
		if (blocks[i].address != NULL)
			bench_give(peer, &blocks[i]);
	}
	if (peer->settle != NULL)
		peer->settle(peer);
}

static void answer_gauge(struct bench_peer *peer, bool in_chunk, struct bench_sample *sample)
{
	double live = (double)training.peak_bytes;
	struct bench_gauge gauge;

	if (peer->gauge == NULL || !peer->gauge(peer, &gauge))
		return;
	if (in_chunk) {
		bench_sample_add(sample, "reserved_ratio", gauge.high_water / live);
		return;
	}
	bench_sample_add(sample, "reserved_ratio", gauge.peak_reserved / live);
	bench_sample_add(sample, "physical_ratio", gauge.peak_physical / live);
	if (gauge.driver_ms > 0) {
		bench_sample_add(sample, "driver_ms", gauge.driver_ms);
		bench_sample_add(sample, "remaps", gauge.remaps);
	}
}

static const char *play_all(struct bench_peer *peer, const struct bench_case *one,
			    const struct bench_effort *effort, struct bench_block *blocks,
			    struct bench_sample *sample)
{
	struct play played = play(peer, blocks, effort->case_ns);
	double cold_ns = played.ns / (double)played.done, warm[WARM_PLAYS],
	       done = (double)played.done;
	size_t refused = played.refused, plays = 0;
	bool whole = played.done == training.count;

	if (played.done == training.count)
		answer_gauge(peer, one->c == BENCH_ONE_CHUNK, sample);
	give_back(peer, blocks);
	while (whole && plays < WARM_PLAYS && played.ns < (double)effort->case_ns / 4) {
		played = play(peer, blocks, effort->case_ns);
		give_back(peer, blocks);
		refused += played.refused;
		whole = played.done == training.count;
		warm[plays++] = played.ns / (double)played.done;
	}
	if (refused > 0)
		return "a request was refused";
	bench_sample_add(sample, "event_ns",
			 plays > 0 ? bench_measure_median(warm, plays) : cold_ns);
	bench_sample_add(sample, "cold_event_ns", cold_ns);
	bench_sample_add(sample, "done_ratio", done / (double)training.count);
	return NULL;
}

static const char *run_training(struct bench_peer *peer, const struct bench_case *one,
				const struct bench_effort *effort, struct bench_random *random,
				struct bench_sample *sample)
{
	const char *why;
	struct bench_block *blocks;

	(void)random;
	if (training.events == NULL && !training_make(&training))
		return "no memory for the trace";
	if (peer->on_device && bench_cuda_free_bytes() < training.peak_bytes / 16 * 17)
		return "the device has too little free memory";
	blocks = bench_measure_pages(training.slots * sizeof(*blocks));
	if (blocks == NULL)
		return "no memory for the bench's own tables";
	why = play_all(peer, one, effort, blocks, sample);
	bench_measure_pages_free(blocks, training.slots * sizeof(*blocks));
	return why;
}

/* Where the ground is taken at once there is none of that size but on source host. */
static bool suits(const struct bench_peer *peer, const struct bench_case *one)
{
	return one->c != BENCH_ONE_CHUNK || (peer->is_mam && !peer->on_device);
}

static const struct bench_case training_cases[] = {
	{ "growing", 0, 0, false, 0 },
	{ "chunk", 0, 0, false, BENCH_ONE_CHUNK },
};

const struct bench_workload bench_work_training = {
	.name = "training",
	.title = "ns an event of a transformer's training, 33.6 GiB live at its peak",
	.metrics = { "event_ns", "reserved_ratio" },
	.cases = training_cases,
	.case_count = sizeof(training_cases) / sizeof(training_cases[0]),
	.repeats = 3,
	.grows = true,
	.suits = suits,
	.run = run_training,
};
