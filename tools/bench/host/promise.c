/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promise.c - the promises of each kind of pool, and whether they were measured and met.
 *
 * A target is for one kind of pool: the pool alone, the pool with its thread caches, pools of
 * device memory, or the pool that maps in pieces, simulated; for others the same numbers are shown
 * without targets.
 */
#include "promise.h"

#include <string.h>

#include "bench/bench.h"

#define WORST "*" /* a promise's parameter: the case with the largest number */

const struct promise promises[] = {
	{ "pair_ns",
	  "pair of 256 B, small pool",
	  "pair",
	  "256B",
	  "pair_ns",
	  NULL,
	  "ns",
	  { 80, 25, 0 } },
	{ "pair_1mib_ns", "pair of 1 MiB", "pair", "1MiB", "pair_ns", NULL, "ns", { 0 } },
	{ "pair_1gib_ns", "pair of 1 GiB", "pair", "1GiB", "pair_ns", NULL, "ns", { 0 } },
	{ "alloc_1000_ns",
	  "alloc, 1,000 live + 1,000 free",
	  "fragmented",
	  "1000",
	  "alloc_ns",
	  NULL,
	  "ns",
	  { 100, 0, 0 } },
	{ "free_1000_ns", "free", "fragmented", "1000", "free_ns", NULL, "ns", { 100, 0, 0 } },
	{ "alloc_100000_ns",
	  "alloc, 100,000 live + 100,000 free",
	  "fragmented",
	  "100000",
	  "alloc_ns",
	  NULL,
	  "ns",
	  { 200, 0, 0 } },
	{ "free_100000_ns", "free", "fragmented", "100000", "free_ns", NULL, "ns", { 400, 0, 0 } },
	{ "steady_alloc_1000_ns",
	  "alloc, 1,000 live, long churned",
	  "fragmented",
	  "1000,steady",
	  "alloc_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "steady_free_1000_ns",
	  "free",
	  "fragmented",
	  "1000,steady",
	  "free_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "steady_alloc_100000_ns",
	  "alloc, 100,000 live, long churned",
	  "fragmented",
	  "100000,steady",
	  "alloc_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "steady_free_100000_ns",
	  "free",
	  "fragmented",
	  "100000,steady",
	  "free_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "flat_alloc_ratio",
	  "alloc, 1 GiB over 256 B",
	  "size",
	  "1GiB",
	  "alloc_ns",
	  "256B",
	  "x",
	  { 1.2, 0, 0 } },
	{ "flat_free_ratio",
	  "free, 1 GiB over 256 B",
	  "size",
	  "1GiB",
	  "free_ns",
	  "256B",
	  "x",
	  { 1.2, 0, 0 } },
	{ "segment_bytes",
	  "host memory a segment",
	  "live",
	  NULL,
	  "segment_bytes",
	  NULL,
	  "B",
	  { 128, 0, 0 } },
	{ "growth_alloc_ratio",
	  "alloc, most live over 1,000 live",
	  "live",
	  NULL,
	  "alloc_ns",
	  "1000",
	  "x",
	  { 8, 0, 0 } },
	{ "growth_free_ratio",
	  "free, most live over 1,000 live",
	  "live",
	  NULL,
	  "free_ns",
	  "1000",
	  "x",
	  { 8, 0, 0 } },
	{ "threads_8_mops",
	  "million operations/s, 8 threads",
	  "threads",
	  "8",
	  "mops",
	  NULL,
	  "M/s",
	  { 0 } },
	{ "threads_16_mops", "16 threads", "threads", "16", "mops", NULL, "M/s", { 0, 80, 0 } },
	{ "foreign_16_mops",
	  "16 threads that free others' blocks",
	  "foreign",
	  "16",
	  "mops",
	  NULL,
	  "M/s",
	  { 0, 20, 0 } },
	{ "random_op_ns",
	  "an operation, RMM's 100,000 of 1 MiB",
	  "random",
	  "100000,1MiB",
	  "op_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "random_worst_ns",
	  "the worst point of RMM's grid",
	  "random",
	  WORST,
	  "op_ns",
	  NULL,
	  "ns",
	  { 0, 120, 0 } },
	{ "latency_alloc_p50_ns",
	  "a single alloc, half of them within",
	  "latency",
	  "mixed",
	  "alloc_p50_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "latency_alloc_p99_ns", "99%", "latency", "mixed", "alloc_p99_ns", NULL, "ns", { 0 } },
	{ "latency_alloc_p999_ns",
	  "99.9%",
	  "latency",
	  "mixed",
	  "alloc_p999_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "latency_free_p999_ns",
	  "a single free, 99.9% within",
	  "latency",
	  "mixed",
	  "free_p999_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "latency_growth_ns",
	  "an alloc for which the heap grew",
	  "latency",
	  "mixed",
	  "growth_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "training_event_ns",
	  "an event of a training run",
	  "training",
	  "growing",
	  "event_ns",
	  NULL,
	  "ns",
	  { 0, 60, 0, 60 } },
	{ "training_reserved_ratio",
	  "reserved over live, growing",
	  "training",
	  "growing",
	  "reserved_ratio",
	  NULL,
	  "x",
	  { 0, 0, 0, 1.01 } },
	{ "training_chunk_ratio",
	  "used of one chunk over live",
	  "training",
	  "chunk",
	  "reserved_ratio",
	  NULL,
	  "x",
	  { 0, 1.01, 0 } },
	{ "smallest_chunk_ratio",
	  "smallest chunk that does, over live",
	  "smallest",
	  "training",
	  "chunk_ratio",
	  NULL,
	  "x",
	  { 0 } },
	{ "training_physical_ratio",
	  "physical over live, growing",
	  "training",
	  "growing",
	  "physical_ratio",
	  NULL,
	  "x",
	  { 0 } },
	{ "stream_same_free_ns",
	  "free, kernel in flight, same stream",
	  "stream",
	  "same,4KiB",
	  "free_ns",
	  NULL,
	  "ns",
	  { 0, 0, 100 } },
	{ "stream_same_alloc_ns", "alloc", "stream", "same,4KiB", "alloc_ns", NULL, "ns", { 0 } },
	{ "stream_other_free_ns",
	  "free, the block leaves its stream",
	  "stream",
	  "other,4KiB",
	  "free_ns",
	  NULL,
	  "ns",
	  { 0, 0, 400 } },
	{ "stream_other_alloc_ns", "alloc", "stream", "other,4KiB", "alloc_ns", NULL, "ns", { 0 } },
	{ "multistream_4_us",
	  "four kernels on four streams",
	  "multistream",
	  "4",
	  "total_us",
	  NULL,
	  "us",
	  { 0 } },
	{ "footprint_kept_bytes",
	  "kept after all is freed and trimmed",
	  "footprint",
	  "trimmed",
	  "kept_bytes",
	  NULL,
	  "B",
	  { 0, 0, 4194304 } },
	{ "create_us", "making a pool", "create", "pool", "create_us", NULL, "us", { 0 } },
};

const size_t promise_count = sizeof(promises) / sizeof(promises[0]);

enum promise_kind promise_kind_of(const char *peer)
{
	if (strcmp(peer, "mam-host") == 0)
		return PROMISE_ALONE;
	if (strcmp(peer, "mam-host-cache") == 0)
		return PROMISE_CACHED;
	if (strcmp(peer, "mam-simulated-cache") == 0)
		return PROMISE_PIECES;
	return strcmp(peer, "mam-cudamalloc-cache") == 0 || strcmp(peer, "mam-vmm-cache") == 0
		       ? PROMISE_DEVICE
		       : PROMISE_OTHER;
}

double promise_bound(const struct promise *promise, const char *peer)
{
	enum promise_kind kind = promise_kind_of(peer);

	return kind == PROMISE_OTHER ? 0 : promise->bound[kind];
}

bool promise_is_rate(const struct promise *promise)
{
	return strcmp(promise->unit, "M/s") == 0;
}

bool promise_is_met(const struct promise *promise, double bound, double value)
{
	return promise_is_rate(promise) ? value >= bound : value <= bound;
}

static bool worst(const struct bench_results *results, const struct promise *promise,
		  const char *peer, double *value)
{
	bool found = false;
	size_t i;

	for (i = 0; i < results->count; i++) {
		const struct bench_result *row = &results->rows[i];

		if (strcmp(row->workload, promise->workload) == 0 && strcmp(row->peer, peer) == 0 &&
		    strcmp(row->metric, promise->metric) == 0 && (!found || row->value > *value)) {
			*value = row->value;
			found = true;
		}
	}
	return found;
}

bool promise_value(const struct bench_results *results, const struct promise *promise,
		   const char *peer, double *value)
{
	double over;

	if (promise->parameter != NULL && strcmp(promise->parameter, WORST) == 0)
		return worst(results, promise, peer, value);
	if (!bench_results_get(results, promise->workload, peer, promise->parameter,
			       promise->metric, value))
		return false;
	if (promise->over == NULL)
		return true;
	if (!bench_results_get(results, promise->workload, peer, promise->over, promise->metric,
			       &over) ||
	    over <= 0)
		return false;
	*value /= over;
	return true;
}
