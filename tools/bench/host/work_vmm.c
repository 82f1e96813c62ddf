/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_vmm.c - the cost of explicit memory mapping with this driver: workload "vmm".
 *
 * The calls that a source of mapped memory makes, on an idle device: reserve addresses; create a
 * piece, map it, enable access, unmap it, release it; free the addresses. Medians of TURNS turns
 * after a first one that is discarded. remap_us is unmap, map and access: the cost of moving a
 * piece.
 *
 * In cases of many pieces all are created, then all mapped, and so on; the times are per piece.
 * access_range_us is the time of one call that enables access to all of them.
 */
#include "bench/bench.h"
#include "bench/harness/driver.h"

#define TURNS 9
#define FEW_TURNS 3 /* of many pieces */
#define PINNED 1
#define DEVICE 1
#define READ_WRITE 3
#define PIECES_MAX 256

enum step { RESERVE, CREATE, MAP, ACCESS, UNMAP, RELEASE, UNRESERVE, STEPS };

static const char *const step_metrics[STEPS] = {
	"reserve_us", "create_us", "map_us", "access_us", "unmap_us", "release_us", "unreserve_us",
};

static const struct bench_memory_kind kind = {
	.type = PINNED,
	.location = { DEVICE, 0 },
};

static bool is_there(void)
{
	return bench_driver.reserve != NULL && bench_driver.unreserve != NULL &&
	       bench_driver.create != NULL && bench_driver.map != NULL &&
	       bench_driver.access != NULL && bench_driver.unmap != NULL &&
	       bench_driver.destroy != NULL;
}

/* The pieces of a case, as far as they were made. */
struct pieces {
	size_t bytes, count; /* of each; all */
	bench_address base;
	unsigned long long handles[PIECES_MAX];
	size_t made, mapped;
};

static bool make_all(struct pieces *pieces)
{
	while (pieces->made < pieces->count &&
	       bench_driver.create(&pieces->handles[pieces->made], pieces->bytes, &kind, 0) == 0)
		pieces->made++;
	return pieces->made == pieces->count;
}

static bool map_all(struct pieces *pieces)
{
	while (pieces->mapped < pieces->made &&
	       bench_driver.map(pieces->base + pieces->mapped * pieces->bytes, pieces->bytes, 0,
				pieces->handles[pieces->mapped], 0) == 0)
		pieces->mapped++;
	return pieces->mapped == pieces->count;
}

static bool allow(const struct pieces *pieces, size_t at, size_t count)
{
	struct bench_access access = { { DEVICE, 0 }, READ_WRITE };

	return bench_driver.access(pieces->base + at * pieces->bytes, count * pieces->bytes,
				   &access, 1) == 0;
}

static bool allow_all(struct pieces *pieces)
{
	size_t at = 0;

	while (at < pieces->count && allow(pieces, at, 1))
		at++;
	return at == pieces->count;
}

static bool unmap_all(struct pieces *pieces)
{
	bool good = true;

	for (; pieces->mapped > 0; pieces->mapped--)
		good = bench_driver.unmap(pieces->base + (pieces->mapped - 1) * pieces->bytes,
					  pieces->bytes) == 0 &&
		       good;
	return good;
}

static bool release_all(struct pieces *pieces)
{
	bool good = true;

	for (; pieces->made > 0; pieces->made--)
		good = bench_driver.destroy(pieces->handles[pieces->made - 1]) == 0 && good;
	return good;
}

/*
 * One turn; `us` gets the time of each step per piece, and of one call that enables access to all.
 * Returns false if a driver call failed.
 */
static bool turn(struct pieces *pieces, bool one_call, double us[STEPS])
{
	size_t all = pieces->bytes * pieces->count;
	uint64_t at[STEPS + 1];
	bool good;
	int i;

	at[RESERVE] = bench_now();
	if (bench_driver.reserve(&pieces->base, all, 0, 0, 0) != 0)
		return false;
	at[CREATE] = bench_now();
	good = make_all(pieces);
	at[MAP] = bench_now();
	good = good && map_all(pieces);
	at[ACCESS] = bench_now();
	good = good && (one_call ? allow(pieces, 0, pieces->count) : allow_all(pieces));
	at[UNMAP] = bench_now();
	good = unmap_all(pieces) && good;
	at[RELEASE] = bench_now();
	good = release_all(pieces) && good;
	at[UNRESERVE] = bench_now();
	good = bench_driver.unreserve(pieces->base, all) == 0 && good;
	at[STEPS] = bench_now();
	for (i = 0; i < STEPS; i++) {
		us[i] = ((double)(at[i + 1] - at[i]) - bench_measure_clock_cost()) / 1000;
		if (i != RESERVE && i != UNRESERVE && !(i == ACCESS && one_call))
			us[i] /= (double)pieces->count;
	}
	return good;
}

static const char *run_vmm(struct bench_peer *peer, const struct bench_case *one,
			   const struct bench_effort *effort, struct bench_random *random,
			   struct bench_sample *sample)
{
	double times[STEPS][TURNS], us[STEPS], medians[STEPS];
	struct pieces pieces = { .bytes = one->a, .count = one->b };
	size_t done = 0, step, turns = one->b > 1 ? FEW_TURNS : TURNS;

	(void)peer;
	(void)effort;
	(void)random;
	if (!is_there())
		return "this driver cannot map memory by hand";
	if (turn(&pieces, false, us)) {
		while (done < turns && turn(&pieces, false, us)) {
			for (step = 0; step < STEPS; step++)
				times[step][done] = us[step];
			done++;
		}
	}
	if (done < turns)
		return "the driver refused";
	for (step = 0; step < STEPS; step++) {
		medians[step] = bench_measure_median(times[step], turns);
		bench_sample_add(sample, step_metrics[step], medians[step]);
	}
	for (done = 0; one->b > 1 && done < turns && turn(&pieces, true, us); done++)
		times[ACCESS][done] = us[ACCESS];
	if (one->b > 1 && done == turns)
		bench_sample_add(sample, "access_range_us",
				 bench_measure_median(times[ACCESS], turns));
	bench_sample_add(sample, "remap_us", medians[UNMAP] + medians[MAP] + medians[ACCESS]);
	return NULL;
}

/* The size of a piece, and how many. */
static const struct bench_case vmm_cases[] = {
	{ "2MiB", 2 * BENCH_MIB, 1, false, 0 },
	{ "64MiB", 64 * BENCH_MIB, 1, false, 0 },
	{ "512MiB", 512 * BENCH_MIB, 1, true, 0 },
	{ "1GiB", BENCH_GIB, 1, false, 0 },
	{ "256x2MiB", 2 * BENCH_MIB, PIECES_MAX, true, 0 },
};

const struct bench_workload bench_work_vmm = {
	.name = "vmm",
	.title = "us to create/move a piece of mapped memory, by the driver's own calls",
	.metrics = { "create_us", "remap_us" },
	.cases = vmm_cases,
	.case_count = sizeof(vmm_cases) / sizeof(vmm_cases[0]),
	.repeats = 3,
	.by_name = true,
	.run = run_vmm,
};
