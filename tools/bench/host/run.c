/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - runs every workload with every peer and collects medians.
 *
 * `repeats` times: each workload, each case in turn, each peer in turn; then the median of every
 * metric. With this order, noise affects one of several repeats instead of all repeats of one cell,
 * and if time is short, repeats are dropped, not cells. A failed request ends a cell, not the
 * bench: it becomes a note.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/harness/lists.h"
#include "bench/harness/watch.h"

#define REPEATS_MAX 16
#define GRACE_SECONDS 45 /* that the last run may take after the deadline */
#define FINE_REPEATS 2   /* of cases without a target, so that those with one get more */

/* In this order: if time runs out, the last ones are skipped. */
const struct bench_workload *const bench_workloads[] = {
	&bench_work_pair,      &bench_work_threads,  &bench_work_foreign,
	&bench_work_training,  &bench_work_stream,   &bench_work_footprint,
	&bench_work_replay,    &bench_work_latency,  &bench_work_random,
	&bench_work_fill,      &bench_work_policy,   &bench_work_vmm,
	&bench_work_smallest,  &bench_work_create,   &bench_work_multistream,
	&bench_work_ownstream, &bench_work_handover, &bench_work_size,
	&bench_work_bigchunk,  &bench_work_live,     &bench_work_free_blocks,
};

const size_t bench_workload_count = sizeof(bench_workloads) / sizeof(bench_workloads[0]);

_Static_assert(sizeof(bench_workloads) / sizeof(bench_workloads[0]) <= BENCH_WORKLOADS_MAX,
	       "raise BENCH_WORKLOADS_MAX");

/* One case with one peer: the results of its runs so far. */
struct cell {
	struct bench_number *numbers; /* of all runs, one after another */
	size_t count;
	size_t runs;
	uint64_t spent_ns;
	bool over; /* failed, or out of time */
};

/* The cells of one workload: a row of all peers for each case. */
struct board {
	const struct bench_case *cases;
	size_t case_count;
	struct cell *cells;
	uint64_t spent_ns;
	bool late; /* one was not run at all: the deadline had passed */
};

/* All state, also for the watch. */
struct bench {
	struct board boards[BENCH_WORKLOADS_MAX];
	const bool *wanted;
	struct bench_results *results;
	int (*late)(void *user);
	void *user;
	uint64_t start;
	bool verbose;
	char now[160]; /* lock: the watch's; the current run */
};

static struct cell *cell_of(const struct board *board, size_t one, size_t peer)
{
	return &board->cells[one * bench_peer_count + peer];
}

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

static bool keep(struct cell *cell, const struct bench_sample *sample)
{
	size_t count = cell->count + sample->count;
	struct bench_number *numbers = realloc(cell->numbers, (count + 1) * sizeof(*numbers));

	if (numbers == NULL)
		return false;
	memcpy(numbers + cell->count, sample->numbers, sample->count * sizeof(*numbers));
	cell->numbers = numbers;
	cell->count = count;
	return true;
}

static void run_once(struct cell *cell, const struct bench_workload *workload,
		     const struct bench_case *one, struct bench_peer *peer,
		     const struct bench_effort *effort, struct bench_results *results)
{
	/* The same seed for every peer, another for every repeat. */
	struct bench_random random = { 20170 + cell->runs };
	struct bench_sample sample = { .count = 0 };
	struct bench_effort own = *effort;
	const char *why = "it gave no heap";
	uint64_t start = bench_now();

	if (one->fine) { /* many, with less time each */
		own.slice_ns = own.slice_ns / 5 * 3;
		own.case_ns /= 2;
		own.other_case_ns /= 2;
	}
	peer->growing = workload->grows && one->c != BENCH_ONE_CHUNK;
	if (peer->open(peer)) {
		why = workload->run(peer, one, &own, &random, &sample);
		if (!peer->dropped)
			peer->close(peer);
		peer->dropped = false;
	}
	bench_watch_take();
	cell->spent_ns += bench_now() - start;
	if (why == NULL && !keep(cell, &sample))
		why = "no memory for the bench's own tables";
	if (why != NULL && cell->runs == 0)
		bench_results_note(results, "%s %s: %s left out: %s", workload->name,
				   one->parameter, peer->name, why);
	bench_watch_release();
	if (why != NULL) {
		cell->over = true;
		return;
	}
	cell->runs++;
	if (cell->spent_ns > (peer->is_mam ? effort->case_ns : effort->other_case_ns))
		cell->over = true;
}

static bool same_place(const struct bench_number *a, const struct bench_number *b)
{
	return strcmp(a->metric, b->metric) == 0 &&
	       (a->parameter == b->parameter || (a->parameter != NULL && b->parameter != NULL &&
						 strcmp(a->parameter, b->parameter) == 0));
}

/* The median over runs of each metric; a run need not have all. */
static void collect(const struct cell *cell, const struct bench_workload *workload,
		    const struct bench_case *one, const struct bench_peer *peer,
		    struct bench_results *results)
{
	double values[REPEATS_MAX];
	size_t at, other, count;

	for (at = 0; at < cell->count; at++) {
		const struct bench_number *number = &cell->numbers[at];

		for (other = 0; other < at && !same_place(&cell->numbers[other], number); other++)
			;
		if (other < at)
			continue; /* reported with the first run that had it */
		for (count = 0; other < cell->count && count < REPEATS_MAX; other++) {
			if (same_place(&cell->numbers[other], number))
				values[count++] = cell->numbers[other].value;
		}
		bench_results_add(results, workload->name, peer->name,
				  number->parameter != NULL ? number->parameter : one->parameter,
				  number->metric, bench_measure_median(values, count));
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
		return one->a <= (peer->is_mam ? effort->max_live : effort->max_live_others);
	if (workload != &bench_work_free_blocks)
		return true;
	if (peer->max_free_blocks != 0 && one->a > peer->max_free_blocks)
		return false;
	/* As many free blocks as live ones. */
	return peer->is_mam || 2 * one->a <= effort->max_live_others;
}

static int repeats_of(const struct bench_workload *workload, const struct bench_effort *effort)
{
	if (workload->repeats > 0 && workload->repeats < effort->repeats)
		return workload->repeats;
	return effort->repeats;
}

/* Reports the next run to the user, and to the watch in case it never ends. */
static void say_next(struct bench *bench, const char *workload, const char *parameter,
		     const char *peer)
{
	bool lasting = bench->verbose;

	if (lasting)
		fprintf(stderr, "%.1f s: %s %s %s\n", (double)(bench_now() - bench->start) / 1e9,
			workload, parameter, peer);
	else if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s %s %s", workload, parameter, peer);
	bench_watch_take();
	snprintf(bench->now, sizeof(bench->now), "%s %s: %s", workload, parameter, peer);
	bench_watch_release();
}

/* One repeat of all cases, by all peers. */
static void run_repeat(struct bench *bench, struct board *board,
		       const struct bench_workload *workload, const struct bench_effort *effort,
		       uint64_t deadline, struct bench_results *results)
{
	uint64_t start = bench_now();
	size_t i, p;

	for (i = 0; i < board->case_count; i++) {
		const struct bench_case *one = &board->cases[i];

		if (one->fine && !effort->fine)
			continue;
		for (p = 0; p < bench_peer_count; p++) {
			struct cell *cell = cell_of(board, i, p);
			struct bench_peer *peer = &bench_peers[p];

			if (!takes_part(peer, workload, one, effort) || cell->over ||
			    (one->fine && cell->runs >= FINE_REPEATS))
				continue;
			if (bench_now() > deadline) {
				board->late = board->late || cell->runs == 0;
				continue;
			}
			say_next(bench, workload->name, one->parameter, peer->name);
			run_once(cell, workload, one, peer, effort, results);
		}
	}
	if (!bench->verbose && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	board->spent_ns += bench_now() - start;
}

static void collect_all(const struct board *board, const struct bench_workload *workload,
			struct bench_results *results)
{
	size_t i, p;

	for (i = 0; i < board->case_count; i++) {
		for (p = 0; p < bench_peer_count; p++)
			collect(cell_of(board, i, p), workload, &board->cases[i], &bench_peers[p],
				results);
	}
	if (board->late)
		bench_results_note(results, "%s: cells left out: the bench's time was up",
				   workload->name);
}

/* Notes the time of each workload. */
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

static bool board_init(struct board *board, const struct bench_workload *workload)
{
	*board = (struct board){ .cases = workload->cases, .case_count = workload->case_count };
	if (workload->find_cases != NULL)
		board->case_count = workload->find_cases(&board->cases);
	board->cells = calloc(board->case_count * bench_peer_count + 1, sizeof(*board->cells));
	return board->cells != NULL;
}

static void board_fini(struct board *board)
{
	size_t i;

	for (i = 0; board->cells != NULL && i < board->case_count * bench_peer_count; i++)
		free(board->cells[i].numbers);
	free(board->cells);
}

static void collect_boards(const struct bench *bench)
{
	for (size_t i = 0; i < bench_workload_count; i++)
		if (bench->wanted[i])
			collect_all(&bench->boards[i], bench_workloads[i], bench->results);
}

/* lock: the watch's; a run does not end */
static int report_late(void *user)
{
	struct bench *bench = user;

	collect_boards(bench);
	bench_results_note(bench->results, "%s did not come back, and the bench ends there",
			   bench->now);
	return bench->late(bench->user);
}

/* BENCH_GRACE overrides the number of seconds, from 1 up. */
static uint64_t grace(void)
{
	const char *text = getenv("BENCH_GRACE");
	unsigned long seconds = text != NULL ? strtoul(text, NULL, 10) : 0;

	if (seconds == 0 || seconds > 1000000)
		seconds = GRACE_SECONDS;
	return seconds * UINT64_C(1000000000);
}

void bench_run_all(const struct bench_effort *effort, const bool *wanted, bool verbose,
		   int (*late)(void *user), void *user, struct bench_results *results)
{
	struct bench bench = { .wanted = wanted,
			       .results = results,
			       .late = late,
			       .user = user,
			       .start = bench_now(),
			       .verbose = verbose };
	uint64_t deadline = bench.start + effort->deadline_ns;
	struct board *boards = bench.boards;
	bool good = true;
	int repeat;
	size_t i;

	for (i = 0; i < bench_workload_count; i++)
		good = good && (!wanted[i] || board_init(&boards[i], bench_workloads[i]));
	if (!good)
		bench_results_note(results,
				   "nothing was run: no memory for the bench's own tables");
	if (good)
		bench_watch_begin(effort->deadline_ns + grace(), report_late, &bench);
	for (repeat = 0; good && repeat < effort->repeats; repeat++) {
		for (i = 0; i < bench_workload_count; i++) {
			if (wanted[i] && repeat < repeats_of(bench_workloads[i], effort))
				run_repeat(&bench, &boards[i], bench_workloads[i], effort, deadline,
					   results);
		}
	}
	if (good) {
		bench_watch_end();
		collect_boards(&bench);
		note_times(boards, wanted, results);
	}
	for (i = 0; i < bench_workload_count; i++)
		board_fini(&boards[i]);
}
