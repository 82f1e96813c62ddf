/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.c - the numbers of the XMalloc paper, and the same numbers of our measurements.
 *
 * Source: X. Huang, C. I. Rodrigues, S. Jones, I. Buck and W. Hwu, "Scalable SIMD-parallel memory
 * allocation for many-core machines", The Journal of Supercomputing, 2011: an NVIDIA G480, CUDA
 * 4.0. Its curves are pictures; only numbers of its text are here. Times are of a million workers;
 * that of CUDA's malloc is its best of all numbers of workers per warp, so the speedup is more than
 * the quotient of the two. The paper describes the speedup of the prefilled heap as "just under"
 * the value here.
 *
 * Workload xmalloc-speedup has speedups: of XMalloc by its calls, with buffers for all warps that
 * run at once, over its base (time, prefilled); the same with 16 buffers of 256 blocks, as
 * published (time_256, prefilled_256); of coalescing alone over its base (coalesce); of 16 buffers
 * over one for lone workers (buffers). "over-cuda", "over-mam" and "over-pages" are ours over these
 * bases; the last has coalescing alone.
 */
#include <stdio.h>

#include "bench/harness/rows.h"
#include "xmalloc.h"

static const struct {
	const char *workload, *allocator, *parameter, *metric;
	double value;
} published[] = {
	{ "xmalloc-time", "published", "1M 32", "ns", 24 },
	{ "xmalloc-time", "published-cuda", "1M 32", "ns", 900 },
	{ "xmalloc-speedup", "published", "time", "times", 48 },
	{ "xmalloc-speedup", "published", "time_256", "times", 48 },
	{ "xmalloc-speedup", "published", "prefilled", "times", 6 },
	{ "xmalloc-speedup", "published", "prefilled_256", "times", 6 },
	{ "xmalloc-speedup", "published", "coalesce", "times", 50 },
	{ "xmalloc-speedup", "published", "buffers", "times", 5 },
};

/*
 * A speedup of ours: `slow` divided by `fast`, with a base's name as the prefix. The first known
 * entry of a name is used: with fewer workers if a million took too long.
 */
static const struct {
	const char *name, *workload, *metric;
	const char *slow, *slow_parameter, *fast, *fast_parameter;
} speedups[] = {
	{ "time", "xmalloc-time", "ns", "", "1M 32", "-xmc", "1M 32" },
	{ "time", "xmalloc-time", "ns", "", "16K 32", "-xmc", "16K 32" },
	{ "time_256", "xmalloc-time", "ns", "", "1M 32", "-xmalloc", "1M 32" },
	{ "time_256", "xmalloc-time", "ns", "", "16K 32", "-xmalloc", "16K 32" },
	{ "prefilled", "xmalloc-prefilled", "ns", "", "1M 32", "-xmc", "1M 32" },
	{ "prefilled", "xmalloc-prefilled", "ns", "", "16K 32", "-xmc", "16K 32" },
	{ "prefilled_256", "xmalloc-prefilled", "ns", "", "1M 32", "-xmalloc", "1M 32" },
	{ "prefilled_256", "xmalloc-prefilled", "ns", "", "16K 32", "-xmalloc", "16K 32" },
	{ "coalesce", "xmalloc-coalesce", "ns", "", "1M 32", "-coalesce", "1M 32" },
	{ "coalesce", "xmalloc-coalesce", "ns", "", "16K 32", "-coalesce", "16K 32" },
	{ "buffers", "xmalloc-buffers", "request_ns", "-xmalloc", "16K 1 1", "-xmalloc",
	  "16K 1 16" },
};

static bool find(const struct bench_results *results, size_t which, const char *base, bool fast,
		 double *ns)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%s", base,
		 fast ? speedups[which].fast : speedups[which].slow);
	return bench_results_get(results, speedups[which].workload, name,
				 fast ? speedups[which].fast_parameter
				      : speedups[which].slow_parameter,
				 speedups[which].metric, ns);
}

void xmalloc_complete(struct bench_results *results)
{
	static const char *const bases[][2] = { { "cuda", "over-cuda" },
						{ "mam", "over-mam" },
						{ "pages", "over-pages" } };
	double slow, fast;
	bool any = false;
	size_t i, k;

	for (i = 0; i < sizeof(speedups) / sizeof(speedups[0]); i++) {
		for (k = 0; k < sizeof(bases) / sizeof(bases[0]); k++) {
			if (bench_results_get(results, "xmalloc-speedup", bases[k][1],
					      speedups[i].name, "times", &slow) ||
			    !find(results, i, bases[k][0], false, &slow) ||
			    !find(results, i, bases[k][0], true, &fast) || fast <= 0)
				continue;
			bench_results_add(results, "xmalloc-speedup", bases[k][1], speedups[i].name,
					  "times", slow / fast);
			any = true;
		}
	}
	for (i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		if (any || bench_rows_has(results, published[i].workload, NULL))
			bench_results_add(results, published[i].workload, published[i].allocator,
					  published[i].parameter, published[i].metric,
					  published[i].value);
	}
}
