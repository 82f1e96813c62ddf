/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - the results for people, and the promised keys for scripts.
 *
 * The first table is the short one: a line a promise, for each mam pool, with the ratio to each
 * yardstick first, the target beside the number where there is one, and whether it was met. A
 * target is for one kind of pool: the pool alone, the pool with its threads' caches, pools of
 * device memory, or the pool that maps in pieces, simulated; on others the same lines are shown
 * without. Then, with all cases played, a table a workload.
 */
#include <string.h>

#include "bench.h"

/* Whom a target is for. */
enum kind { ALONE, CACHED, DEVICE, PIECES, OTHER, KINDS = OTHER };

#define WORST "*" /* a promise's parameter: the case with the largest number */

/* One promise. Where `over` is set the number is that case's divided by the case `over`. */
static const struct promise {
	const char *key;
	const char *label;
	const char *workload, *parameter, *metric; /* parameter NULL: the largest that was played */
	const char *over;
	const char *unit;
	double bound[KINDS]; /* of rates the least, else the most; 0: no target */
} promises[] = {
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
	  "alloc, 1,000 live + 1,000 holes",
	  "holes",
	  "1000",
	  "alloc_ns",
	  NULL,
	  "ns",
	  { 100, 0, 0 } },
	{ "free_1000_ns", "free", "holes", "1000", "free_ns", NULL, "ns", { 100, 0, 0 } },
	{ "alloc_100000_ns",
	  "alloc, 100,000 live + 100,000 holes",
	  "holes",
	  "100000",
	  "alloc_ns",
	  NULL,
	  "ns",
	  { 200, 0, 0 } },
	{ "free_100000_ns", "free", "holes", "100000", "free_ns", NULL, "ns", { 400, 0, 0 } },
	{ "steady_alloc_1000_ns",
	  "alloc, 1,000 live, long churned",
	  "holes",
	  "1000,steady",
	  "alloc_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "steady_free_1000_ns", "free", "holes", "1000,steady", "free_ns", NULL, "ns", { 0 } },
	{ "steady_alloc_100000_ns",
	  "alloc, 100,000 live, long churned",
	  "holes",
	  "100000,steady",
	  "alloc_ns",
	  NULL,
	  "ns",
	  { 0 } },
	{ "steady_free_100000_ns", "free", "holes", "100000,steady", "free_ns", NULL, "ns", { 0 } },
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

#define PROMISES (sizeof(promises) / sizeof(promises[0]))

/* Which pool is shown beside what. */
static const struct {
	const char *mam, *yardstick;
} beside[] = {
	{ "mam-host", "glibc" },
	{ "mam-host-cache", "glibc" },
	{ "mam-simulated", "glibc" },
	{ "mam-simulated-cache", "glibc" },
	{ "mam-cudamalloc", "cudaMalloc" },
	{ "mam-cudamalloc-strict", "cudaMalloc" },
	{ "mam-cudamalloc-cache", "cudaMallocAsync-warm" },
	{ "mam-vmm", "cudaMallocAsync-warm" },
	{ "mam-vmm-cache", "cudaMallocAsync-warm" },
	{ "mam-pinned", "cudaHostAlloc" },
	{ "mam-managed", "cudaMallocManaged" },
};

static enum kind kind_of(const char *peer)
{
	if (strcmp(peer, "mam-host") == 0)
		return ALONE;
	if (strcmp(peer, "mam-host-cache") == 0)
		return CACHED;
	if (strcmp(peer, "mam-simulated-cache") == 0)
		return PIECES;
	return strcmp(peer, "mam-cudamalloc-cache") == 0 || strcmp(peer, "mam-vmm-cache") == 0
		       ? DEVICE
		       : OTHER;
}

/* The target of a promise for a pool; 0: none. */
static double bound_of(const struct promise *promise, const char *peer)
{
	enum kind kind = kind_of(peer);

	return kind == OTHER ? 0 : promise->bound[kind];
}

static bool is_rate(const struct promise *promise)
{
	return strcmp(promise->unit, "M/s") == 0;
}

static bool is_met(const struct promise *promise, double bound, double value)
{
	return is_rate(promise) ? value >= bound : value <= bound;
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

static bool look_up(const struct bench_results *results, const struct promise *promise,
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

/* Three or four digits and a unit: 61.2 ns, 1234 ns, 52.6k. */
static const char *show(double value, char *text, size_t bytes)
{
	if (value >= 999500)
		snprintf(text, bytes, "%.1fM", value / 1e6);
	else if (value >= 9999.5)
		snprintf(text, bytes, "%.1fk", value / 1e3);
	else if (value >= 99.95)
		snprintf(text, bytes, "%.0f", value);
	else if (value >= 9.995)
		snprintf(text, bytes, "%.1f", value);
	else
		snprintf(text, bytes, "%.2f", value);
	return text;
}

/* Of times, so that less than 1 is faster; of rates the other way round. */
static void show_ratio(const struct promise *promise, double mam, double yardstick, char *text,
		       size_t bytes)
{
	double ratio = is_rate(promise) ? yardstick / mam : mam / yardstick;

	if (ratio < 0.0995)
		snprintf(text, bytes, "1/%.0f", 1 / ratio);
	else
		show(ratio, text, bytes);
}

static void people_line(const struct promise *promise, double bound, double mam,
			const double *yardstick)
{
	char ratio[32] = "-", mine[32], theirs[32] = "-", target[32] = "", text[24];

	if (yardstick != NULL && *yardstick > 0 && mam > 0 && promise->over == NULL)
		show_ratio(promise, mam, *yardstick, ratio, sizeof(ratio));
	if (yardstick != NULL)
		show(*yardstick, theirs, sizeof(theirs));
	show(mam, mine, sizeof(mine));
	if (bound > 0)
		snprintf(target, sizeof(target), "%s %s",
			 is_rate(promise) ? ">=" : "<=", show(bound, text, sizeof(text)));
	printf("%-37s %8s %9s %-3s %9s", promise->label, ratio, mine, promise->unit, theirs);
	if (target[0] != '\0')
		printf("  %-8s  %s", target, is_met(promise, bound, mam) ? "met" : "missed");
	printf("\n");
}

static bool was_played(const struct bench_results *results, const struct bench_workload *workload,
		       const char *parameter, const char *peer)
{
	size_t i;

	for (i = 0; i < results->count; i++) {
		const struct bench_result *row = &results->rows[i];

		if ((workload == NULL || strcmp(row->workload, workload->name) == 0) &&
		    (parameter == NULL || strcmp(row->parameter, parameter) == 0) &&
		    (peer == NULL || strcmp(row->peer, peer) == 0))
			return true;
	}
	return false;
}

static void people_short(const struct bench_results *results, const char *mam,
			 const char *yardstick)
{
	bool headed = false;
	double mine, theirs;
	size_t i;

	for (i = 0; i < PROMISES; i++) {
		if (!look_up(results, &promises[i], mam, &mine))
			continue;
		if (!headed)
			printf("\n%-37s %8s %9s %13s  target\n", mam, "ratio", "mam", yardstick);
		headed = true;
		people_line(&promises[i], bound_of(&promises[i], mam), mine,
			    look_up(results, &promises[i], yardstick, &theirs) ? &theirs : NULL);
	}
}

static void people_cell(const struct bench_results *results, const struct bench_workload *workload,
			const char *parameter, const char *peer)
{
	char text[80] = "-", first[32], second[32];
	double a, b;

	if (bench_results_get(results, workload->name, peer, parameter, workload->metrics[0], &a)) {
		show(a, first, sizeof(first));
		snprintf(text, sizeof(text), "%s", first);
		if (workload->metrics[1] != NULL &&
		    bench_results_get(results, workload->name, peer, parameter,
				      workload->metrics[1], &b))
			snprintf(text, sizeof(text), "%s/%s", first,
				 show(b, second, sizeof(second)));
	}
	printf(" %12s", text);
}

static void people_workload(const struct bench_results *results,
			    const struct bench_workload *workload)
{
	size_t i, p;

	if (!was_played(results, workload, NULL, NULL))
		return;
	printf("\n%s: %s\n%-21s", workload->name, workload->title, "");
	for (i = 0; i < workload->case_count; i++) {
		if (was_played(results, workload, workload->cases[i].parameter, NULL))
			printf(" %12s", workload->cases[i].parameter);
	}
	printf("\n");
	for (p = 0; p < bench_peer_count; p++) {
		if (!was_played(results, workload, NULL, bench_peers[p].name))
			continue;
		printf("%-21s", bench_peers[p].name);
		for (i = 0; i < workload->case_count; i++) {
			if (was_played(results, workload, workload->cases[i].parameter, NULL))
				people_cell(results, workload, workload->cases[i].parameter,
					    bench_peers[p].name);
		}
		printf("\n");
	}
}

void bench_table_people(const struct bench_results *results, const struct bench_machine *machine,
			const struct bench_effort *effort)
{
	size_t i;

	printf("%s run on %s, GPU %s\n", effort->name, machine->cpu, machine->gpu);
	for (i = 0; i < results->note_count; i++)
		printf("note: %s\n", results->notes[i]);
	if (effort->fine) {
		for (i = 0; i < bench_workload_count; i++)
			people_workload(results, bench_workloads[i]);
	}
	/* last, where it is seen */
	for (i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		people_short(results, beside[i].mam, beside[i].yardstick);
}

void bench_table_keys(const struct bench_results *results)
{
	size_t met = 0, missed = 0, i, p;
	double value;

	for (i = 0; i < PROMISES; i++) {
		for (p = 0; p < bench_peer_count; p++) {
			const char *peer = bench_peers[p].name;
			bool ours = kind_of(peer) == ALONE;
			double bound = bench_peers[p].is_mam ? bound_of(&promises[i], peer) : 0;

			if (!look_up(results, &promises[i], peer, &value))
				continue;
			printf("%s%s%s\t%.6g\n", ours ? "" : peer, ours ? "" : ".", promises[i].key,
			       value);
			if (bound > 0)
				*(is_met(&promises[i], bound, value) ? &met : &missed) += 1;
		}
	}
	printf("targets_met\t%zu\ntargets_missed\t%zu\n", met, missed);
}
