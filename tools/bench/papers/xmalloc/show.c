/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c - the results of `mam bench xmalloc` as tables for users, and keys for scripts: one table
 * per metric, one line per cell, one column per allocator, with the published numbers; then the
 * targets, which are the published values, and a limit on XMalloc's overhead over a base that does
 * not need it.
 */
#include <stdio.h>
#include <string.h>

#include "bench/harness/rows.h"
#include "xmalloc.h"

#define NAME_WIDTH 14

static const struct device_table tables[] = {
	{ "xmalloc-time", "ns",
	  "malloc, write, read, free of 4 B: ns an object, by workers and workers a warp" },
	{ "xmalloc-prefilled", "ns", "the same where a quarter of the heap was taken before" },
	{ "xmalloc-coalesce", "ns", "the same, of coalescing alone" },
	{ "xmalloc-buffers", "request_ns",
	  "ns a request of a warp, by workers, workers a warp, buffers a class" },
	{ "xmalloc-hold", "ns", "malloc of 8 objects of 4 to 256 B a worker, ns an object" },
	{ "xmalloc-hold", "free_ns", "free of the same by a later kernel, ns an object" },
	{ "xmalloc-speedup", "times", "how many times faster" },
};

/* ---- targets ---- */

static void add_speedups(const struct bench_results *results, struct device_target *targets,
			 size_t *count)
{
	static const struct {
		const char *name, *label;
	} parts[] = {
		{ "time", "xmcMalloc over CUDA's malloc" },
		{ "prefilled", "the same, a quarter of the heap taken" },
		{ "time_256", "as published: 16 buffers of 256 blocks" },
		{ "coalesce", "coalescing alone over CUDA's malloc" },
		{ "buffers", "16 buffers over 1, a worker a warp" },
	};
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct device_target *target = &targets[(*count)++];

		*target = (struct device_target){ .unit = "times" };
		snprintf(target->key, sizeof(target->key), "%s_times", parts[i].name);
		snprintf(target->label, sizeof(target->label), "%s", parts[i].label);
		target->known = bench_results_get(results, "xmalloc-speedup", "over-cuda",
						  parts[i].name, "times", &target->value) &&
				bench_results_get(results, "xmalloc-speedup", "published",
						  parts[i].name, "times", &target->bound);
	}
}

/* If the base is fast, the calls must not make it slow. */
static void add_cost(const struct bench_results *results, struct device_target *target)
{
	static const char workload[] = "xmalloc-time", parameter[] = "1M 32";
	double bare, called;

	*target = (struct device_target){ .unit = "times", .bound = 1.10, .at_most = true };
	snprintf(target->key, sizeof(target->key), "over_mam");
	snprintf(target->label, sizeof(target->label), "xmcMalloc's time over mam, of mam's alone");
	if (!bench_results_get(results, workload, "mam", parameter, "ns", &bare) || bare <= 0 ||
	    !bench_results_get(results, workload, "mam-xmc", parameter, "ns", &called))
		return;
	target->known = true;
	target->value = called / bare;
}

static size_t compute(const struct bench_results *results, const struct device_request *request,
		      struct device_target *targets)
{
	size_t count = 0;

	add_speedups(results, targets, &count);
	add_cost(results, &targets[count++]);
	device_target_faults(results, request, &targets[count++]);
	return count;
}

void xmalloc_show_people(const struct bench_results *results, const struct bench_machine *machine,
			 const struct device_request *request)
{
	struct device_target targets[DEVICE_TARGETS_MAX];
	size_t i;

	device_show_head(results, machine, request);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		device_show_table(results, request, &tables[i], NAME_WIDTH);
	device_show_targets(targets, compute(results, request, targets));
}

void xmalloc_show_keys(const struct bench_results *results, const struct device_request *request)
{
	struct device_target targets[DEVICE_TARGETS_MAX];

	device_show_target_keys(targets, compute(results, request, targets));
}
