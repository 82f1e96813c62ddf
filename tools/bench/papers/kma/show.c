/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c - the results of `mam bench kma` as tables for users, and keys for scripts: speedups
 * first, then one table per metric, one line per cell, one column per allocator, with the published
 * numbers; the targets last, where they are visible.
 */
#include <stdio.h>
#include <string.h>

#include "bench/harness/rows.h"
#include "kma.h"

#define NAME_WIDTH 16

static const struct device_table tables[] = {
	{ "kma-ratio", "times",
	  "times faster than CUDA's malloc; than one lane; than malloc; time over poor's" },
	{ "kma-one", "ns", "malloc and free of 4 B by one lane: ns a pair, by pairs" },
	{ "kma-many", "mpairs",
	  "100 times malloc and free, million pairs a second, by variance of sizes and lanes" },
	{ "kma-arraylist", "us",
	  "10 elements for each lane, us: by malloc or of a list, bytes, lanes" },
	{ "kma-tree", "us", "a list of edges becomes a graph, us: by edges and lanes" },
	{ "kma-setup", "make_us", "to make a heap of so many superblocks of 4 KB, us" },
	{ "kma-setup", "kernel_us", "the kernel that does it, us" },
	{ "kma-setup", "lone_us", "the same by one lane, as published, us" },
};

/* ---- targets ---- */

static const struct {
	const char *key, *label, *allocator, *name;
	double bound;
	bool at_most;
} targets_of_ratios[] = {
	{ "one_times", "KMA over CUDA's malloc, one lane", "kma", "one", 1.8, false },
	{ "many_none_times", "the same, 4608 lanes, sizes alike", "kma", "many none", 2.4, false },
	{ "many_low_times", "the same, low variance", "kma", "many low", 2.4, false },
	{ "many_high_times", "the same, high variance", "kma", "many high", 2.4, false },
	{ "scale_times", "4608 lanes over one", "kma", "scale", 22.5, false },
	{ "arraylist_times", "a list over malloc, 16K lanes", "kma", "arraylist", 7, false },
	{ "tree_ratio", "graph: mam_kmalloc's time over poor's", "mam_kmalloc", "tree", 1.3, true },
	{ "opencl_one_times", "KMA in OpenCL over CUDA's malloc, one", KMA_OPENCL, "one", 1.8,
	  false },
	{ "opencl_many_times", "the same, 4608 lanes", KMA_OPENCL, "many none", 2.4, false },
	{ "opencl_arraylist_times", "a list over malloc in OpenCL", KMA_OPENCL, "arraylist", 7,
	  false },
};

static bool is_processor(const struct bench_results *results)
{
	double value = 0;

	return bench_results_get(results, "kma-device", KMA_OPENCL, NULL, "processor", &value) &&
	       value > 0;
}

static size_t add_ratios(const struct bench_results *results, struct device_target *targets)
{
	const size_t count = sizeof(targets_of_ratios) / sizeof(targets_of_ratios[0]);
	size_t i;

	for (i = 0; i < count; i++) {
		targets[i] = (struct device_target){ .unit = "times",
						     .bound = targets_of_ratios[i].bound,
						     .at_most = targets_of_ratios[i].at_most };
		snprintf(targets[i].key, sizeof(targets[i].key), "%s", targets_of_ratios[i].key);
		snprintf(targets[i].label, sizeof(targets[i].label), "%s",
			 targets_of_ratios[i].label);
		targets[i].known =
			bench_results_get(results, "kma-ratio", targets_of_ratios[i].allocator,
					  targets_of_ratios[i].name, "times", &targets[i].value);
	}
	return count;
}

/* If OpenCL's device is a CPU: the best of all sizes and numbers of lanes. */
static void add_processor(const struct bench_results *results, struct device_target *target)
{
	size_t i;

	*target = (struct device_target){ .unit = "M/s", .bound = 5 };
	snprintf(target->key, sizeof(target->key), "processor_mpairs");
	snprintf(target->label, sizeof(target->label), "pairs of OpenCL on processors");
	for (i = 0; i < results->count && is_processor(results); i++) {
		const struct bench_result *row = &results->rows[i];

		if (strcmp(row->workload, "kma-many") != 0 || strcmp(row->peer, KMA_OPENCL) != 0 ||
		    strcmp(row->metric, "mpairs") != 0)
			continue;
		target->known = true;
		if (row->value > target->value)
			target->value = row->value;
	}
}

static size_t compute(const struct bench_results *results, const struct device_request *request,
		      struct device_target *targets)
{
	size_t count = add_ratios(results, targets);

	add_processor(results, &targets[count++]);
	device_target_faults(results, request, &targets[count++]);
	return count;
}

void kma_show_people(const struct bench_results *results, const struct bench_machine *machine,
		     const struct device_request *request)
{
	struct device_target targets[DEVICE_TARGETS_MAX];
	size_t i;

	device_show_head(results, machine, request);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		device_show_table(results, request, &tables[i], NAME_WIDTH);
	device_show_targets(targets, compute(results, request, targets));
}

void kma_show_keys(const struct bench_results *results, const struct device_request *request)
{
	struct device_target targets[DEVICE_TARGETS_MAX];

	device_show_target_keys(targets, compute(results, request, targets));
}
