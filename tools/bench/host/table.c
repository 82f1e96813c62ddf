/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - the results as tables for users, and the promised keys for scripts.
 *
 * The last table is the short one: one line per promise (promise.h), for each mam pool, with the
 * ratio to each yardstick first, the target next to the number if there is one, and whether it was
 * met. Before it, if all cases were run, one table per workload with its two metrics.
 */
#include <string.h>

#include "bench/bench.h"
#include "promise.h"

#define COLUMNS_LIMIT 24

/* The yardstick that each pool is compared with. */
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

/* Of times, so that less than 1 is faster; the inverse for rates. */
static void show_ratio(const struct promise *promise, double mam, double yardstick, char *text,
		       size_t bytes)
{
	double ratio = promise_is_rate(promise) ? yardstick / mam : mam / yardstick;

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
			 promise_is_rate(promise) ? ">=" : "<=", show(bound, text, sizeof(text)));
	printf("%-37s %8s %9s %-3s %9s", promise->label, ratio, mine, promise->unit, theirs);
	if (target[0] != '\0')
		printf("  %-8s  %s", target,
		       promise_is_met(promise, bound, mam) ? "met" : "missed");
	printf("\n");
}

static bool was_played(const struct bench_results *results, const struct bench_workload *workload,
		       const char *peer)
{
	size_t i;

	for (i = 0; i < results->count; i++) {
		const struct bench_result *row = &results->rows[i];

		if (strcmp(row->workload, workload->name) == 0 && strcmp(row->peer, peer) == 0)
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

	for (i = 0; i < promise_count; i++) {
		if (!promise_value(results, &promises[i], mam, &mine))
			continue;
		if (!headed)
			printf("\n%-37s %8s %9s %13s  target\n", mam, "ratio", "mam", yardstick);
		headed = true;
		people_line(&promises[i], promise_bound(&promises[i], mam), mine,
			    promise_value(results, &promises[i], yardstick, &theirs) ? &theirs
										     : NULL);
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

/* The parameters of a workload that have its table's metrics, in the order of their rows. */
static size_t parameters_of(const struct bench_results *results,
			    const struct bench_workload *workload,
			    const char *parameters[COLUMNS_LIMIT])
{
	size_t count = 0, i, before;

	for (i = 0; i < results->count && count < COLUMNS_LIMIT; i++) {
		const struct bench_result *row = &results->rows[i];

		if (strcmp(row->workload, workload->name) != 0 ||
		    strcmp(row->metric, workload->metrics[0]) != 0)
			continue;
		for (before = 0; before < count; before++) {
			if (strcmp(parameters[before], row->parameter) == 0)
				break;
		}
		if (before == count)
			parameters[count++] = row->parameter;
	}
	return count;
}

static void people_workload(const struct bench_results *results,
			    const struct bench_workload *workload)
{
	const char *parameters[COLUMNS_LIMIT];
	size_t count = parameters_of(results, workload, parameters), i, p;

	if (count == 0)
		return;
	printf("\n%s: %s\n%-23s", workload->name, workload->title, "");
	for (i = 0; i < count; i++)
		printf(" %12s", parameters[i]);
	printf("\n");
	for (p = 0; p < bench_peer_count; p++) {
		const char *peer = bench_peers[p].name;

		if (!was_played(results, workload, peer))
			continue;
		printf("%-23s", peer);
		for (i = 0; i < count; i++)
			people_cell(results, workload, parameters[i], peer);
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
	/* last, where it is visible */
	for (i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		people_short(results, beside[i].mam, beside[i].yardstick);
}

void bench_table_keys(const struct bench_results *results)
{
	size_t met = 0, missed = 0, i, p;
	double value;

	for (i = 0; i < promise_count; i++) {
		for (p = 0; p < bench_peer_count; p++) {
			const char *peer = bench_peers[p].name;
			bool ours = promise_kind_of(peer) == PROMISE_ALONE;
			double bound =
				bench_peers[p].is_mam ? promise_bound(&promises[i], peer) : 0;

			if (!promise_value(results, &promises[i], peer, &value))
				continue;
			printf("%s%s%s\t%.6g\n", ours ? "" : peer, ours ? "" : ".", promises[i].key,
			       value);
			if (bound > 0)
				*(promise_is_met(&promises[i], bound, value) ? &met : &missed) += 1;
		}
	}
	printf("targets_met\t%zu\ntargets_missed\t%zu\n", met, missed);
}
