/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - the results for people, and the promised keys for scripts.
 *
 * The first table is the short one: a line a promise, for each mam pool, with the ratio to each
 * yardstick first, the target beside the number where there is one, and whether it was met. The
 * targets are for mam on its "host" source; on others the same lines are shown without. Then, with
 * all cases played, a table a workload.
 */
#include <string.h>

#include "bench.h"

/* One promise. Where `over` is set the number is that case's divided by the case `over`. */
static const struct promise {
	const char *key;
	const char *label;
	const char *workload, *parameter, *metric; /* parameter NULL: the largest that was played */
	const char *over;
	const char *unit;
	double most; /* 0: no target */
} promises[] = {
	{ "pair_ns", "pair of 256 B, small pool", "pair", "256B", "pair_ns", NULL, "ns", 80 },
	{ "pair_1gib_ns", "pair of 1 GiB", "pair", "1GiB", "pair_ns", NULL, "ns", 0 },
	{ "alloc_1000_ns", "alloc, 1,000 live + 1,000 holes", "holes", "1000", "alloc_ns", NULL,
	  "ns", 100 },
	{ "free_1000_ns", "free", "holes", "1000", "free_ns", NULL, "ns", 100 },
	{ "alloc_100000_ns", "alloc, 100,000 live + 100,000 holes", "holes", "100000", "alloc_ns",
	  NULL, "ns", 200 },
	{ "free_100000_ns", "free", "holes", "100000", "free_ns", NULL, "ns", 400 },
	{ "steady_alloc_1000_ns", "alloc, 1,000 live, long churned", "holes", "1000,steady",
	  "alloc_ns", NULL, "ns", 0 },
	{ "steady_free_1000_ns", "free", "holes", "1000,steady", "free_ns", NULL, "ns", 0 },
	{ "steady_alloc_100000_ns", "alloc, 100,000 live, long churned", "holes", "100000,steady",
	  "alloc_ns", NULL, "ns", 0 },
	{ "steady_free_100000_ns", "free", "holes", "100000,steady", "free_ns", NULL, "ns", 0 },
	{ "flat_alloc_ratio", "alloc, 1 GiB over 256 B", "size", "1GiB", "alloc_ns", "256B", "x",
	  1.2 },
	{ "flat_free_ratio", "free, 1 GiB over 256 B", "size", "1GiB", "free_ns", "256B", "x",
	  1.2 },
	{ "segment_bytes", "host memory a segment", "live", NULL, "segment_bytes", NULL, "B", 128 },
	{ "growth_alloc_ratio", "alloc, most live over 1,000 live", "live", NULL, "alloc_ns",
	  "1000", "x", 8 },
	{ "growth_free_ratio", "free, most live over 1,000 live", "live", NULL, "free_ns", "1000",
	  "x", 8 },
	{ "threads_8_mops", "million operations/s, 8 threads", "threads", "8", "mops", NULL, "M/s",
	  0 },
	{ "random_op_ns", "an operation, RMM's 100,000 of 1 MiB", "random", "100000,1MiB", "op_ns",
	  NULL, "ns", 0 },
	{ "create_us", "making a pool", "create", "pool", "create_us", NULL, "us", 0 },
};

#define PROMISES (sizeof(promises) / sizeof(promises[0]))

/* Which pool is shown beside what. */
static const struct {
	const char *mam, *yardstick;
	bool judged;
} beside[] = {
	{ "mam-host", "glibc", true },
	{ "mam-cudamalloc", "cudaMalloc", false },
	{ "mam-cudamalloc", "cudaMallocAsync-warm", false },
	{ "mam-cudamalloc-strict", "cudaMalloc", false },
};

static bool look_up(const struct bench_results *results, const struct promise *promise,
		    const char *peer, double *value)
{
	double over;

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
	double ratio = strcmp(promise->unit, "M/s") == 0 ? yardstick / mam : mam / yardstick;

	if (ratio < 0.0995)
		snprintf(text, bytes, "1/%.0f", 1 / ratio);
	else
		show(ratio, text, bytes);
}

static void people_line(const struct promise *promise, bool judged, double mam,
			const double *yardstick)
{
	char ratio[32] = "-", mine[32], theirs[32] = "-", target[32] = "", most[24];

	if (yardstick != NULL && *yardstick > 0 && mam > 0 && promise->over == NULL)
		show_ratio(promise, mam, *yardstick, ratio, sizeof(ratio));
	if (yardstick != NULL)
		show(*yardstick, theirs, sizeof(theirs));
	show(mam, mine, sizeof(mine));
	if (judged && promise->most > 0)
		snprintf(target, sizeof(target), "<= %s", show(promise->most, most, sizeof(most)));
	printf("%-37s %8s %9s %-3s %9s", promise->label, ratio, mine, promise->unit, theirs);
	if (target[0] != '\0')
		printf("  %-8s  %s", target, mam <= promise->most ? "met" : "missed");
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
			 const char *yardstick, bool judged)
{
	bool headed = false;
	double mine, theirs;
	size_t i;

	if (!judged && !was_played(results, NULL, NULL, yardstick))
		return;
	for (i = 0; i < PROMISES; i++) {
		if (!look_up(results, &promises[i], mam, &mine))
			continue;
		if (!headed)
			printf("\n%-37s %8s %9s %13s%s\n", mam, "ratio", "mam", yardstick,
			       judged ? "  target" : "");
		headed = true;
		people_line(&promises[i], judged, mine,
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
		people_short(results, beside[i].mam, beside[i].yardstick, beside[i].judged);
}

void bench_table_keys(const struct bench_results *results)
{
	size_t met = 0, missed = 0, i, p;
	double value;

	for (i = 0; i < PROMISES; i++) {
		for (p = 0; p < bench_peer_count; p++) {
			const char *peer = bench_peers[p].name;
			bool ours = strcmp(peer, "mam-host") == 0;

			if (!look_up(results, &promises[i], peer, &value))
				continue;
			printf("%s%s%s\t%.6g\n", ours ? "" : peer, ours ? "" : ".", promises[i].key,
			       value);
			if (ours && promises[i].most > 0)
				*(value <= promises[i].most ? &met : &missed) += 1;
		}
	}
	printf("targets_met\t%zu\ntargets_missed\t%zu\n", met, missed);
}
