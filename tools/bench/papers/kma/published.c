/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.c - the numbers of the KMA paper, and the same numbers of our measurements.
 *
 * Source: R. Spliet, L. Howes, B. R. Gaster and A. L. Varbanescu, "KMA: a dynamic memory manager
 * for OpenCL", GPGPU-7, 2014: an NVIDIA GeForce GT640, CUDA 5.0. Its curves are pictures; only
 * numbers of its text are here.
 *
 * Workload kma-ratio has speedups over:
 *   one        CUDA's malloc, by one lane
 *   many ...   the same with 4,608 lanes; in the paper between 2.4 and 5.4, of which this has the minimum
 *   scale      pairs per second of one lane, by 4,608 lanes
 *   arraylist  malloc of the same allocator, by elements of a list, 16K lanes, 4 bytes
 * and tree: the time divided by the poor man's, with 64K edges and 384 lanes, so that less is
 * better.
 */
#include <stdio.h>
#include <string.h>

#include "bench/harness/rows.h"
#include "kma.h"

static const struct {
	const char *workload, *allocator, *parameter, *metric;
	double value;
} published[] = {
	{ "kma-one", "published", "10000", "ns", 9800 },
	{ "kma-one", "published-cuda", "10000", "ns", 17700 },
	{ "kma-tree", "published", "64K 384", "us", 28600 },
	{ "kma-tree", "published-poor", "64K 384", "us", 12600 },
	{ "kma-setup", "published", "512", "make_us", 1500 },
	{ "kma-setup", "published-poor", "512", "make_us", 200 },
	{ "kma-ratio", "published", "one", "times", 1.8 },
	{ "kma-ratio", "published", "many none", "times", 2.4 },
	{ "kma-ratio", "published", "scale", "times", 22.5 },
	{ "kma-ratio", "published", "arraylist", "times", 7 },
	{ "kma-ratio", "published", "tree", "times", 2.27 },
};

/*
 * One of our numbers: a value of `above` divided by one of `below`; NULL: of the allocator itself.
 */
static const struct {
	const char *name;
	const char *above, *above_workload, *above_parameter;
	const char *below, *below_workload, *below_parameter;
	const char *metric;
} ratios[] = {
	{ "one", "cuda", "kma-one", "10000", NULL, "kma-one", "10000", "ns" },
	{ "many none", "cuda", "kma-many", "none 4608", NULL, "kma-many", "none 4608", "ns" },
	{ "many low", "cuda", "kma-many", "low 4608", NULL, "kma-many", "low 4608", "ns" },
	{ "many high", "cuda", "kma-many", "high 4608", NULL, "kma-many", "high 4608", "ns" },
	{ "scale", NULL, "kma-one", "10000", NULL, "kma-many", "none 4608", "ns" },
	{ "arraylist", NULL, "kma-arraylist", "malloc 4B 16K", NULL, "kma-arraylist", "list 4B 16K",
	  "us" },
	{ "tree", NULL, "kma-tree", "64K 384", "poor", "kma-tree", "64K 384", "us" },
};

static const char *const ours[] = { "kma", "mam_kmalloc", KMA_OPENCL, "cuda" };

/* An OpenCL allocator is compared with the OpenCL poor man's heap. */
static const char *other(const char *name, const char *mine)
{
	if (name == NULL)
		return mine;
	return strcmp(name, "poor") == 0 && strcmp(mine, KMA_OPENCL) == 0 ? KMA_OPENCL_POOR : name;
}

static bool compute(const struct bench_results *results, size_t which, const char *mine,
		    double *times)
{
	const char *above = other(ratios[which].above, mine);
	const char *below = other(ratios[which].below, mine);
	double one, two;

	if (ratios[which].above != NULL && strcmp(above, mine) == 0)
		return false;
	if (!bench_results_get(results, ratios[which].above_workload, above,
			       ratios[which].above_parameter, ratios[which].metric, &one) ||
	    !bench_results_get(results, ratios[which].below_workload, below,
			       ratios[which].below_parameter, ratios[which].metric, &two) ||
	    two <= 0)
		return false;
	*times = one / two;
	return true;
}

void kma_complete(struct bench_results *results)
{
	double times;
	size_t i, k;

	for (i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
		for (k = 0; k < sizeof(ours) / sizeof(ours[0]); k++) {
			if (compute(results, i, ours[k], &times))
				bench_results_add(results, "kma-ratio", ours[k], ratios[i].name,
						  "times", times);
		}
	}
	for (i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		if (bench_rows_has(results, published[i].workload, NULL))
			bench_results_add(results, published[i].workload, published[i].allocator,
					  published[i].parameter, published[i].metric,
					  published[i].value);
	}
}
