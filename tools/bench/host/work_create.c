/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_create.c - the cost of making a pool, workload "create", and of its memory if the driver
 * allocates it at once, workload "bigchunk".
 *
 * create: the run's pool is ended and made anew; its peer's open and close are timed.
 *
 * bigchunk: one block, as large as a pool's chunk may be, is allocated and freed TURNS times; on a
 * GPU without that much free memory, plus a reserve for others, it is skipped. It shows the cost
 * that a pool pays once and others pay per block. The results are the medians.
 */
#include "bench/bench.h"

#define TURNS 3
#define RESERVE (2 * BENCH_GIB)

static const char *run_create(struct bench_peer *peer, const struct bench_case *one,
			      const struct bench_effort *effort, struct bench_random *random,
			      struct bench_sample *sample)
{
	uint64_t start, middle, end;

	(void)one;
	(void)effort;
	(void)random;
	peer->close(peer);
	start = bench_now();
	if (!peer->open(peer))
		return "the pool could not be made again";
	middle = bench_now();
	peer->close(peer);
	end = bench_now();
	bench_sample_add(sample, "create_us", (double)(middle - start) / 1000);
	bench_sample_add(sample, "destroy_us", (double)(end - middle) / 1000);
	bench_sample_add(sample, "chunk_bytes", (double)peer->space_bytes);
	return peer->open(peer) ? NULL : "the pool could not be made again";
}

static const char *run_bigchunk(struct bench_peer *peer, const struct bench_case *one,
				const struct bench_effort *effort, struct bench_random *random,
				struct bench_sample *sample)
{
	double alloc[TURNS], free[TURNS];
	size_t turn;

	(void)effort;
	(void)random;
	if (bench_cuda_free_bytes() < one->a + RESERVE)
		return "the device has too little free memory";
	for (turn = 0; turn < TURNS; turn++) {
		uint64_t start = bench_now(), middle, end;
		void *block = peer->alloc(peer, one->a);

		middle = bench_now();
		if (block == NULL)
			return "a request was refused";
		peer->release(peer, block, one->a);
		if (peer->finish != NULL)
			peer->finish(peer); /* releases deferred memory now */
		end = bench_now();
		alloc[turn] = (double)(middle - start) / 1000;
		free[turn] = (double)(end - middle) / 1000;
	}
	bench_sample_add(sample, "alloc_us", bench_measure_median(alloc, TURNS));
	bench_sample_add(sample, "free_us", bench_measure_median(free, TURNS));
	return NULL;
}

/* The driver's own allocators: others keep the memory that they once had. */
static bool is_drivers(const struct bench_peer *peer, const struct bench_case *one)
{
	(void)one;
	return peer->on_device && !peer->is_mam && peer->only == NULL && peer->variant == 0 &&
	       peer->source == NULL;
}

static const struct bench_case create_cases[] = { { "pool", 0, 0, false, 0 } };

static const struct bench_case chunk_cases[] = {
	{ "16GiB", 16 * BENCH_GIB, 0, false, 0 },
	{ "64GiB", 64 * BENCH_GIB, 0, true, 0 },
};

const struct bench_workload bench_work_create = {
	.name = "create",
	.title = "us to make/end a pool on a first chunk of its whole size",
	.metrics = { "create_us", "destroy_us" },
	.cases = create_cases,
	.case_count = 1,
	.mam_only = true,
	.run = run_create,
};

const struct bench_workload bench_work_bigchunk = {
	.name = "bigchunk",
	.title = "us to take/give back one block as large as a pool's chunk",
	.metrics = { "alloc_us", "free_us" },
	.cases = chunk_cases,
	.case_count = sizeof(chunk_cases) / sizeof(chunk_cases[0]),
	.repeats = 1,
	.grows = true,
	.suits = is_drivers,
	.run = run_bigchunk,
};
