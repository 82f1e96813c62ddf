/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_training.c - a whole training run: workloads "training", timed, and "smallest", in as little
 * memory as possible.
 *
 * training: the trace of training.c is run as in play.c. In case "growing" the heap begins empty,
 * as a program's does; in case "chunk" it is one chunk, and its high-water mark is the footprint.
 *
 * smallest: the trace is run in one chunk that may not grow, to find the smallest one in which no
 * allocation fails:
 *   1. try chunks of the peak live bytes plus 1/64, 2/64, 4/64, ... of them, until one is enough;
 *   2. halve the distance between a chunk that is too small and one that is enough until that is less
 *      than 1/STEPS of the peak.
 * chunk_ratio is the sufficient size divided by the peak, fails_ratio the insufficient one.
 */
#include "play.h"

#define STEPS 1024
#define MAX_RATIO 3

static struct training training;

static const char *make_trace(void)
{
	return training.events != NULL || training_make(&training) ? NULL
								   : "no memory for the trace";
}

static const char *run_training(struct bench_peer *peer, const struct bench_case *one,
				const struct bench_effort *effort, struct bench_random *random,
				struct bench_sample *sample)
{
	const char *why = make_trace();

	(void)random;
	if (why != NULL)
		return why;
	return play_script(peer, &training, one->c == BENCH_ONE_CHUNK, false, effort, sample);
}

/* Returns true if one chunk of `bytes` is enough. Ends the run's heap for it, and makes it anew. */
static bool is_enough(struct bench_peer *peer, struct bench_block *blocks, size_t bytes)
{
	bool good;

	peer->close(peer);
	peer->chunk_bytes = bytes;
	good = peer->open(peer);
	peer->chunk_bytes = 0;
	if (good)
		return play_fits(peer, &training, blocks);
	peer->open(peer); /* there must be one to close */
	return false;
}

static const char *look_for(struct bench_peer *peer, struct bench_block *blocks,
			    struct bench_sample *sample)
{
	/* a chunk is whole pages of 2 MiB everywhere */
	size_t peak = training.peak_bytes, page = 2 * BENCH_MIB, fails = 0, part = peak / 64,
	       enough = 0;

	while (enough == 0) {
		size_t bytes = (peak + part + page - 1) / page * page;

		if (bytes > MAX_RATIO * peak)
			return "three times the peak is not enough";
		if (peer->on_device && bytes + BENCH_GIB > bench_cuda_free_bytes())
			return "the device has too little free memory";
		if (is_enough(peer, blocks, bytes))
			enough = bytes;
		else
			fails = bytes;
		part *= 2;
	}
	if (fails == 0)
		fails = peak / page * page - page; /* less than the live bytes is never enough */
	while (enough - fails > peak / STEPS && enough - fails > page) {
		size_t middle = (fails + (enough - fails) / 2) / page * page;

		if (is_enough(peer, blocks, middle))
			enough = middle;
		else
			fails = middle;
	}
	bench_sample_add(sample, "chunk_ratio", (double)enough / (double)peak);
	bench_sample_add(sample, "fails_ratio", (double)fails / (double)peak);
	bench_sample_add(sample, "chunk_bytes", (double)enough);
	return NULL;
}

static const char *run_smallest(struct bench_peer *peer, const struct bench_case *one,
				const struct bench_effort *effort, struct bench_random *random,
				struct bench_sample *sample)
{
	const char *why = make_trace();
	struct bench_block *blocks;

	(void)one;
	(void)effort;
	(void)random;
	if (why != NULL)
		return why;
	blocks = bench_measure_pages(training.slots * sizeof(*blocks));
	if (blocks == NULL)
		return "no memory for the bench's own tables";
	why = look_for(peer, blocks, sample);
	bench_measure_pages_free(blocks, training.slots * sizeof(*blocks));
	return why;
}

/* Only source host can allocate a chunk of that size at once. */
static bool suits(const struct bench_peer *peer, const struct bench_case *one)
{
	return one->c != BENCH_ONE_CHUNK || (peer->is_mam && !peer->on_device);
}

static bool is_bounded(const struct bench_peer *peer, const struct bench_case *one)
{
	(void)one;
	return peer->bounded;
}

static const struct bench_case training_cases[] = {
	{ "growing", 0, 0, false, 0 },
	{ "chunk", 0, 0, false, BENCH_ONE_CHUNK },
};

static const struct bench_case smallest_cases[] = { { "training", 0, 0, false, 0 } };

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

const struct bench_workload bench_work_smallest = {
	.name = "smallest",
	.title = "the smallest chunk that holds that training, over the most live/the largest that "
		 "does not",
	.metrics = { "chunk_ratio", "fails_ratio" },
	.cases = smallest_cases,
	.case_count = 1,
	.repeats = 1,
	.grows = true,
	.suits = is_bounded,
	.run = run_smallest,
};
