/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.c - `mam bench pages`: the cost for a kernel to allocate a page, compared with published
 * allocators, CUDA's own, and a lower bound.
 *
 * This file parses the command line and connects the parts: pages_plan.c has the cells, pages_run.c
 * runs them, pages_show.c and results.c print and save them, plot.c draws them.
 */
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "command.h"
#include "kit/args.h"
#include "kit/message.h"
#include "kit/whole_file.h"
#include "bench/harness/lists.h"
#include "pages_bench.h"
#include "pages_device.h"
#include "bench/plot.h"
#include "bench/harness/results_read.h"
#include "bench/harness/typed.h"
#include "bench/harness/watch.h"

#define SECOND UINT64_C(1000000000)
#define GRACE (20 * SECOND) /* beyond the deadline, before the last kernel is considered hung */
#define MALLOC_HEAP (UINT64_C(1) << 29)
#define PAGES_MIN 1024
#define PAGES_MAX (4 * 1024 * 1024)

static const struct pages_effort efforts[] = {
	{ "full", 101, 150 * SECOND, UINT32_MAX, true, 0 },
	{ "quick", 21, 30 * SECOND, UINT32_MAX, false, 0 },
	{ "smoke", 1, 20 * SECOND, 16384, false, 0 },
};

struct request {
	bool quick, smoke, keys, list, verbose;
	const char *csv, *plot, *peers, *only, *read;
	uint64_t seconds; /* 0: the default of the effort */
	uint64_t pages;
};

#define FIELD(name) offsetof(struct request, name)

static const struct args_option options[] = {
	{ "quick", 0, ARGS_FLAG, FIELD(quick), NULL, NULL, "some of the cells, in half a minute" },
	{ "smoke", 0, ARGS_FLAG, FIELD(smoke), NULL, NULL,
	  "a few, each once, to see that it works; the numbers\nmean nothing" },
	{ "plain", 'p', ARGS_FLAG, FIELD(keys), NULL, NULL, "lines of KEY<TAB>VALUE, for scripts" },
	{ "verbose", 0, ARGS_FLAG, FIELD(verbose), NULL, NULL,
	  "a line on standard error for each cell before it begins" },
	{ "csv", 0, ARGS_TEXT, FIELD(csv), "FILE", NULL, "write every number into FILE, too" },
	{ "plot", 0, ARGS_TEXT, FIELD(plot), "FILE.svg", NULL,
	  "draw all figures into FILE.svg, one below another" },
	{ "peers", 0, ARGS_TEXT, FIELD(peers), "LIST", NULL,
	  "whom to put beside mam: rw, rw-bm, crw, corw,\nrw-malloc, queue, bump, bumpw, "
	  "cuda-malloc, or none" },
	{ "pages", 0, ARGS_COUNT, FIELD(pages), "N", NULL,
	  "pages of the heap, a multiple of 1024: 1048576 unless\ngiven; some cells have 4 or 32 "
	  "times "
	  "as many" },
	{ "seconds", 0, ARGS_COUNT, FIELD(seconds), "N", NULL,
	  "start nothing after N seconds; the notes name the rest" },
	{ "only", 0, ARGS_TEXT, FIELD(only), "LIST", NULL,
	  "of get, lanes, malloc and use; all unless given" },
	{ "read", 0, ARGS_TEXT, FIELD(read), "FILE", NULL,
	  "measure nothing, and show what --csv has written" },
	{ "list", 0, ARGS_FLAG, FIELD(list), NULL, NULL, "name allocators, workloads and cells" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	"mam bench pages",
	"[OPTION]...",
	"Measure mam's page allocator for kernels on this machine's first GPU, beside others.\n",
	"A LIST is names with commas between. Every cell is checked before it is timed: a wrong\n"
	"one has no time. Targets that are missed do not change the exit status, faults do.\n"
	"More in mam-bench-pages(1).\n",
	options,
	false,
};

struct run {
	const struct request *request;
	const char *typed;
	struct pages_effort effort;
	struct pages_plan plan;
	struct bench_results results;
	struct bench_machine machine;
	char now[160]; /* lock: the watch's */
};

static bool is_listed(const struct pages_allocator *allocator, void *user)
{
	const struct request *request = user;

	return allocator->role == PAGES_OURS || request->peers == NULL ||
	       bench_in_list(request->peers, allocator->name);
}

enum list { LIST_PEERS, LIST_WORKS };

static bool is_known(const char *name, int which)
{
	size_t i;

	if (which == LIST_WORKS) {
		for (i = 0; i < PAGES_WORKS; i++) {
			if (strcmp(name, pages_work_names[i]) == 0)
				return true;
		}
		return false;
	}
	for (i = 0; i < pages_allocator_count; i++) {
		if (pages_allocators[i].role != PAGES_OURS &&
		    strcmp(name, pages_allocators[i].name) == 0)
			return true;
	}
	return strcmp(name, "none") == 0;
}

static bool check_request(const struct request *request)
{
	char unknown[64];

	if (!bench_check_list(request->peers, is_known, LIST_PEERS, unknown, sizeof(unknown)))
		message_error(
			"--peers: there is no allocator '%s'; mam bench pages --list names them",
			unknown);
	else if (!bench_check_list(request->only, is_known, LIST_WORKS, unknown, sizeof(unknown)))
		message_error(
			"--only: there is no workload '%s'; mam bench pages --list names them",
			unknown);
	else if (request->pages % 1024 != 0 || request->pages < PAGES_MIN ||
		 request->pages > PAGES_MAX)
		message_error("--pages: %llu is not a multiple of 1024 from %d to %d",
			      (unsigned long long)request->pages, PAGES_MIN, PAGES_MAX);
	else
		return true;
	return false;
}

static int print_list(const struct pages_plan *plan)
{
	size_t i;

	for (i = 0; i < pages_allocator_count; i++)
		printf("allocator\t%s\n", pages_allocators[i].name);
	for (i = 0; i < PAGES_WORKS; i++)
		printf("workload\t%s\n", pages_work_names[i]);
	for (i = 0; i < plan->count; i++)
		printf("cell\t%s %s%s\n", pages_work_names[plan->cells[i].work],
		       plan->cells[i].parameter, plan->cells[i].fine ? "" : "\tquick");
	return STATUS_GOOD;
}

static bool has_faults(const struct bench_results *results)
{
	size_t i;

	for (i = 0; i < results->count; i++) {
		const struct pages_allocator *allocator =
			pages_allocator_find(results->rows[i].peer);

		if (allocator != NULL && allocator->role == PAGES_OURS &&
		    strcmp(results->rows[i].metric, "wrong") == 0 && results->rows[i].value > 0)
			return true;
	}
	return false;
}

static int report(struct run *run)
{
	const struct request *request = run->request;

	if (request->keys)
		pages_show_keys(&run->results, &run->plan);
	else
		pages_show_people(&run->results, &run->machine, &run->plan, run->effort.name);
	return pages_report_rest(&run->results, &run->machine, has_faults(&run->results),
				 run->typed, request->csv, request->plot);
}

static int report_late(void *user)
{
	struct run *run = user;
	int status;

	bench_results_note(&run->results, "%s did not come back, and the bench ends there",
			   run->now);
	pages_formula_add(&run->results, &run->plan);
	status = report(run);
	message_error("a kernel did not return; see the notes; earlier results are printed, and "
		      "--peers or --only exclude the kernel");
	return status == STATUS_GOOD ? STATUS_FAILED : status;
}

static int play(struct run *run)
{
	struct request *request = (struct request *)(uintptr_t)run->request;
	struct pages_request ask = { .effort = run->effort,
				     .usable = is_listed,
				     .user = request,
				     .verbose = request->verbose };
	int status;
	size_t i;
	bool good;

	for (i = 0; i < PAGES_WORKS; i++)
		ask.wanted[i] =
			request->only == NULL || bench_in_list(request->only, pages_work_names[i]);
	bench_machine_read(&run->machine);
	bench_watch_begin(run->effort.deadline_ns + GRACE, report_late, run);
	good = pages_run_all(&run->plan, &ask, &run->results, run->now, sizeof(run->now));
	bench_watch_end();
	pages_formula_add(&run->results, &run->plan);
	status = report(run);
	if (good) {
		pages_device_stop();
		bench_results_fini(&run->results);
		return status;
	}
	message_error("the device failed: %s; earlier results are printed",
		      pages_device_trouble()[0] != '\0' ? pages_device_trouble() : "see the notes");
	fflush(NULL);
	_exit(status == STATUS_GOOD ? STATUS_FAILED : status); /* a kernel may still be running */
}

/* Shows earlier measurements as if they were new. */
static int read_back(struct run *run)
{
	struct results_rows rows = { .rows = NULL };
	int status =
		results_rows_read_back(run->request->read, &rows, &run->results, &run->machine);

	run->effort.name = "stored";
	if (status == STATUS_GOOD)
		status = report(run);
	bench_results_fini(&run->results);
	results_rows_fini(&rows);
	return status;
}

int pages_main(int argc, char **argv)
{
	struct request request = { .pages = 1048576 };
	struct run run = { .request = &request };
	char typed[512], why[200];
	int first, status;

	bench_typed(argc, argv, typed, sizeof(typed));
	if (!args_parse(&command, argc, argv, &request, &first, &status))
		return status;
	if (first < argc) {
		message_error("'%s' is one word too many; see mam bench pages --help", argv[first]);
		return STATUS_BAD;
	}
	if (!check_request(&request))
		return STATUS_BAD;
	if (request.csv != NULL && !bench_results_may_save(request.csv))
		return bench_cannot_write(request.csv, "--csv");
	if (request.plot != NULL && (status = plot_check(request.plot)) != STATUS_GOOD)
		return status;
	pages_plan_make(&run.plan, (uint32_t)request.pages);
	run.typed = typed;
	if (request.list)
		return print_list(&run.plan);
	if (request.read != NULL)
		return read_back(&run);
	if (!pages_device_start(MALLOC_HEAP, why, sizeof(why))) {
		message_error("cannot measure on this machine: %s", why);
		return STATUS_NO_GPU;
	}
	run.effort = efforts[request.smoke ? 2 : request.quick ? 1 : 0];
	if (request.seconds > 0)
		run.effort.deadline_ns = request.seconds * SECOND;
	return play(&run);
}
