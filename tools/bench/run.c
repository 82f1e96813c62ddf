/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - plays every workload with every peer and collects medians.
 *
 * `repeats` times over: each workload, each case in turn, each peer in turn; then the median of
 * every metric. The order makes a disturbance from outside fall on one of several repeats instead
 * of on all repeats of one cell, and where the time runs out it costs repeats, not cells. A refusal
 * ends a cell, not the bench: it becomes a note.
 */
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define REPEATS_MAX 16
#define CASES_MAX 16

/* In this order: should the time run out, what comes late is left out. */
const struct bench_workload *const bench_workloads[] = {
	&bench_work_pair,   &bench_work_threads,   &bench_work_foreign, &bench_work_training,
	&bench_work_stream, &bench_work_footprint, &bench_work_vmm,     &bench_work_random,
	&bench_work_create, &bench_work_holes,     &bench_work_size,    &bench_work_live,
};

const size_t bench_workload_count = sizeof(bench_workloads) / sizeof(bench_workloads[0]);

/* One case with one peer: what its runs have answered so far. */
struct cell {
	struct bench_sample samples[REPEATS_MAX];
	size_t runs;
	uint64_t spent_ns;
	bool over; /* refused, or out of time */
};

size_t bench_run_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long long kib = 0;
	char line[128];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			break;
	}
	if (file != NULL)
		fclose(file);
	return (size_t)kib * 1024;
}

size_t bench_run_resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long long total = 0, resident = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%llu %llu", &total, &resident) != 2)
		resident = 0;
	fclose(file);
	return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void run_once(struct cell *cell, const struct bench_workload *workload,
		     const struct bench_case *one, struct bench_peer *peer,
		     const struct bench_effort *effort, struct bench_results *results)
{
	/* The same seed for every peer, another for every repeat. */
	struct bench_random random = { 20170 + cell->runs };
	struct bench_sample *sample = &cell->samples[cell->runs];
	const char *why = "it gave no heap";
	uint64_t start = bench_now();

	sample->count = 0;
	peer->growing = workload->grows && one->c != BENCH_ONE_CHUNK;
	if (peer->open(peer)) {
		why = workload->run(peer, one, effort, &random, sample);
		if (!peer->dropped)
			peer->close(peer);
		peer->dropped = false;
	}
	cell->spent_ns += bench_now() - start;
	if (why != NULL) {
		cell->over = true;
		if (cell->runs == 0)
			bench_results_note(results, "%s %s: %s left out: %s", workload->name,
					   one->parameter, peer->name, why);
		return;
	}
	cell->runs++;
	if (cell->spent_ns > (peer->is_mam ? effort->case_ns : effort->other_case_ns))
		cell->over = true;
}

static void collect(const struct cell *cell, const struct bench_workload *workload,
		    const struct bench_case *one, const struct bench_peer *peer,
		    struct bench_results *results)
{
	double values[REPEATS_MAX];
	size_t metric, run;

	if (cell->runs == 0)
		return;
	for (metric = 0; metric < cell->samples[0].count; metric++) {
		size_t count = 0;

		for (run = 0; run < cell->runs; run++) {
			if (metric < cell->samples[run].count)
				values[count++] = cell->samples[run].numbers[metric].value;
		}
		bench_results_add(results, workload->name, peer->name, one->parameter,
				  cell->samples[0].numbers[metric].metric,
				  bench_measure_median(values, count));
	}
}

static bool takes_part(const struct bench_peer *peer, const struct bench_workload *workload,
		       const struct bench_case *one, const struct bench_effort *effort)
{
	if (!peer->usable || (workload->mam_only && !peer->is_mam) ||
	    (workload->suits != NULL && !workload->suits(peer, one)))
		return false;
	if (peer->only != NULL || workload->by_name) {
		if (!bench_in_list(peer->only, workload->name))
			return false;
	}
	if (workload == &bench_work_live)
		return one->a <= (peer->is_mam ? effort->most_live : effort->most_live_others);
	/* As many holes as blocks. */
	return workload != &bench_work_holes || peer->is_mam ||
	       2 * one->a <= effort->most_live_others;
}

/* The cells of one workload. */
struct board {
	uint64_t spent_ns;
	struct cell cells[CASES_MAX][BENCH_PEERS_MAX];
	bool late; /* one was not run at all: the time was up */
};

static int repeats_of(const struct bench_workload *workload, const struct bench_effort *effort)
{
	if (workload->repeats > 0 && workload->repeats < effort->repeats)
		return workload->repeats;
	return effort->repeats;
}

/* One repeat of all cases, by all peers. */
static void run_repeat(struct board *board, const struct bench_workload *workload,
		       const struct bench_effort *effort, uint64_t deadline,
		       struct bench_results *results)
{
	bool progress = isatty(STDERR_FILENO);
	uint64_t start = bench_now();
	size_t i, p;

	for (i = 0; i < workload->case_count; i++) {
		const struct bench_case *one = &workload->cases[i];

		if (one->fine && !effort->fine)
			continue;
		for (p = 0; p < bench_peer_count; p++) {
			struct cell *cell = &board->cells[i][p];
			struct bench_peer *peer = &bench_peers[p];

			if (!takes_part(peer, workload, one, effort) || cell->over)
				continue;
			if (bench_now() > deadline) {
				board->late = board->late || cell->runs == 0;
				continue;
			}
			if (progress)
				fprintf(stderr, "\r\033[K%s %s %s", workload->name, one->parameter,
					peer->name);
			run_once(cell, workload, one, peer, effort, results);
		}
	}
	if (progress)
		fprintf(stderr, "\r\033[K");
	board->spent_ns += bench_now() - start;
}

static void collect_all(const struct board *board, const struct bench_workload *workload,
			struct bench_results *results)
{
	size_t i, p;

	for (i = 0; i < workload->case_count; i++) {
		for (p = 0; p < bench_peer_count; p++)
			collect(&board->cells[i][p], workload, &workload->cases[i], &bench_peers[p],
				results);
	}
	if (board->late)
		bench_results_note(results, "%s: cells left out: the bench's time was up",
				   workload->name);
}

/* What took the time, for who wants it to take less. */
static void note_times(const struct board *boards, const bool *wanted,
		       struct bench_results *results)
{
	size_t used = 0, i;
	char text[480];

	for (i = 0; i < bench_workload_count && used < sizeof(text); i++) {
		if (wanted[i])
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %.1f",
						 used > 0 ? ", " : "", bench_workloads[i]->name,
						 (double)boards[i].spent_ns / 1e9);
	}
	bench_results_note(results, "seconds: %s", text);
}

void bench_run_all(const struct bench_effort *effort, const bool *wanted,
		   struct bench_results *results)
{
	uint64_t deadline = bench_now() + effort->deadline_ns;
	size_t bytes = bench_workload_count * sizeof(struct board), i;
	struct board *boards = bench_measure_pages(bytes);
	int repeat;

	if (boards == NULL) {
		bench_results_note(results,
				   "nothing was run: no memory for the bench's own tables");
		return;
	}
	for (repeat = 0; repeat < effort->repeats; repeat++) {
		for (i = 0; i < bench_workload_count; i++) {
			if (wanted[i] && repeat < repeats_of(bench_workloads[i], effort))
				run_repeat(&boards[i], bench_workloads[i], effort, deadline,
					   results);
		}
	}
	for (i = 0; i < bench_workload_count; i++)
		collect_all(&boards[i], bench_workloads[i], results);
	note_times(boards, wanted, results);
	bench_measure_pages_free(boards, bytes);
}
