/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_vmm.c - what mapping memory by hand costs on this driver: workload "vmm".
 *
 * The five calls that a source of mapped memory lives on, for one piece of a size, the device idle:
 * make a piece, map it, let the device use it, unmap it, give it back. Medians of TURNS turns after
 * a first one that is not kept. remap_us is unmap, map and access: what moving a piece costs.
 */
#include "bench.h"
#include "driver.h"

#define TURNS 9
#define PINNED 1
#define DEVICE 1
#define READ_WRITE 3

enum step { CREATE, MAP, ACCESS, UNMAP, RELEASE, STEPS };

static const char *const step_metrics[STEPS] = { "create_us", "map_us", "access_us", "unmap_us",
						 "release_us" };

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

/* One turn; `us` receives what each step took. False: the driver refused. */
static bool turn(bench_address base, size_t bytes, double us[STEPS])
{
	struct bench_access access = { { DEVICE, 0 }, READ_WRITE };
	unsigned long long handle;
	uint64_t at[STEPS + 1];
	bool good, mapped;
	int i;

	at[CREATE] = bench_now();
	if (bench_driver.create(&handle, bytes, &kind, 0) != 0)
		return false;
	at[MAP] = bench_now();
	mapped = bench_driver.map(base, bytes, 0, handle, 0) == 0;
	at[ACCESS] = bench_now();
	good = mapped && bench_driver.access(base, bytes, &access, 1) == 0;
	at[UNMAP] = bench_now();
	good = (mapped && bench_driver.unmap(base, bytes) == 0) && good;
	at[RELEASE] = bench_now();
	good = bench_driver.destroy(handle) == 0 && good;
	at[STEPS] = bench_now();
	for (i = 0; i < STEPS; i++)
		us[i] = ((double)(at[i + 1] - at[i]) - bench_measure_clock_cost()) / 1000;
	return good;
}

static const char *run_vmm(struct bench_peer *peer, const struct bench_case *one,
			   const struct bench_effort *effort, struct bench_random *random,
			   struct bench_sample *sample)
{
	double times[STEPS][TURNS], us[STEPS], medians[STEPS];
	size_t done = 0, step;
	bench_address base;

	(void)peer;
	(void)effort;
	(void)random;
	if (!is_there())
		return "this driver cannot map memory by hand";
	if (bench_driver.reserve(&base, one->a, 0, 0, 0) != 0)
		return "the driver reserved no addresses";
	if (turn(base, one->a, us)) {
		while (done < TURNS && turn(base, one->a, us)) {
			for (step = 0; step < STEPS; step++)
				times[step][done] = us[step];
			done++;
		}
	}
	bench_driver.unreserve(base, one->a);
	if (done < TURNS)
		return "the driver refused";
	for (step = 0; step < STEPS; step++) {
		medians[step] = bench_measure_median(times[step], TURNS);
		bench_sample_add(sample, step_metrics[step], medians[step]);
	}
	bench_sample_add(sample, "remap_us", medians[UNMAP] + medians[MAP] + medians[ACCESS]);
	return NULL;
}

static const struct bench_case vmm_cases[] = {
	{ "2MiB", 2 * BENCH_MIB, 0, false, 0 },
	{ "64MiB", 64 * BENCH_MIB, 0, false, 0 },
	{ "1GiB", BENCH_GIB, 0, false, 0 },
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
