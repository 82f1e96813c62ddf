/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_multistream.c - kernels on several streams, each with its own temporary block: workload
 * "multistream", after the multi-stream benchmark of RAPIDS RMM.
 *
 * KERNELS times, stream after stream in turn: 8 bytes are allocated in the order of the stream, a
 * kernel of a million clocks is launched there, and the 8 bytes are freed in the order of the
 * stream. Then all streams are synchronized. total_us is the total time; an allocator that waits
 * for a kernel to allocate or to free 8 bytes makes four kernels take as long as four, and not as
 * one.
 *
 * Cases: the number of streams; followed by "warm" if each stream had such a block before timing
 * starts.
 */
#include "bench/bench.h"
#include "bench/harness/driver.h"

#define KERNELS 4
#define KERNEL_NS UINT64_C(505000) /* a million clocks of 1.98 GHz */
#define TEMPORARY 8
#define WARM 1 /* a case's b */
#define TURNS 5

static void *take(struct bench_peer *peer, size_t which)
{
	return peer->alloc_on != NULL ? peer->alloc_on(peer, TEMPORARY, which)
				      : peer->alloc(peer, TEMPORARY);
}

static void give(struct bench_peer *peer, void *block, size_t which)
{
	if (peer->release_on != NULL)
		peer->release_on(peer, block, TEMPORARY, which);
	else
		peer->release(peer, block, TEMPORARY);
}

static void wait_streams(size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		bench_driver.stream_wait(bench_driver_stream(i));
}

/* All kernels, once; returns false if a request failed. */
static bool play(struct bench_peer *peer, size_t streams, double *us)
{
	uint64_t start = bench_now();
	bool good = true;
	size_t i;

	for (i = 0; good && i < KERNELS; i++) {
		void *block = take(peer, i % streams);

		good = block != NULL && bench_driver_busy(i % streams, KERNEL_NS);
		if (block != NULL)
			give(peer, block, i % streams);
	}
	wait_streams(streams);
	*us = ((double)(bench_now() - start) - bench_measure_clock_cost()) / 1000;
	return good;
}

/* A fresh heap in the state that the case requires. */
static const char *begin(struct bench_peer *peer, const struct bench_case *one)
{
	size_t i;

	peer->close(peer);
	if (!peer->open(peer))
		return "the heap could not be made again";
	for (i = 0; one->b == WARM && i < one->a; i++) {
		void *block = take(peer, i);

		if (block == NULL)
			return "a request was refused";
		give(peer, block, i);
	}
	wait_streams(one->a);
	return NULL;
}

static const char *run_multistream(struct bench_peer *peer, const struct bench_case *one,
				   const struct bench_effort *effort, struct bench_random *random,
				   struct bench_sample *sample)
{
	double us[TURNS];
	const char *why;
	size_t turn;

	(void)effort;
	(void)random;
	/* A kernel's first launch may take long. */
	if (!bench_driver_busy(0, 1000))
		return "no kernel can be started";
	wait_streams(1);
	for (turn = 0; turn < TURNS; turn++) {
		why = begin(peer, one);
		if (why == NULL && !play(peer, one->a, &us[turn]))
			why = "a request was refused";
		if (why != NULL)
			return why;
	}
	bench_sample_add(sample, "total_us", bench_measure_median(us, TURNS));
	return NULL;
}

static bool suits(const struct bench_peer *peer, const struct bench_case *one)
{
	(void)one;
	return peer->on_device && peer->max_bytes == 0;
}

static const struct bench_case stream_cases[] = {
	{ "1", 1, 0, true, 0 },         { "2", 2, 0, true, 0 },
	{ "3", 3, 0, true, 0 },         { "4", 4, 0, false, 0 },
	{ "1,warm", 1, WARM, true, 0 }, { "2,warm", 2, WARM, true, 0 },
	{ "3,warm", 3, WARM, true, 0 }, { "4,warm", 4, WARM, false, 0 },
};

const struct bench_workload bench_work_multistream = {
	.name = "multistream",
	.title = "us for four kernels of half a millisecond with 8 bytes each, on so many streams",
	.metrics = { "total_us", NULL },
	.cases = stream_cases,
	.case_count = sizeof(stream_cases) / sizeof(stream_cases[0]),
	.repeats = 1,
	.grows = true,
	.suits = suits,
	.run = run_multistream,
};
