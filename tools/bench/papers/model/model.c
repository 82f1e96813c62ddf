/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.c - `mam bench model`: compares the random-walk paper's equations with measurements on this
 * machine's first GPU, figure by figure.
 *
 * This file parses the command line and connects the parts: plan.c has the cells, pages_run.c and
 * play.c run them, walk.c simulates them on the host, compute.c evaluates the equations, show.c
 * prints it all.
 */
#include <string.h>
#include <unistd.h>

#include "bench/harness/lists.h"
#include "bench/pages/pages_device.h"
#include "bench/plot.h"
#include "bench/harness/results_read.h"
#include "bench/harness/typed.h"
#include "bench/harness/watch.h"
#include "command.h"
#include "kit/args.h"
#include "kit/message.h"
#include "model.h"

#define SECOND UINT64_C(1000000000)
#define GRACE (20 * SECOND) /* beyond the deadline, as in pages.c */
#define MALLOC_HEAP (UINT64_C(1) << 29)
#define PAGES_MIN 6400
#define PAGES_MAX 1048576

static const struct effort {
	struct pages_effort pages;
	uint32_t runs; /* of figure 6 */
} efforts[] = {
	{ { "full", 31, 130 * SECOND, UINT32_MAX, true, 200000 }, 10000 },
	{ { "quick", 11, 30 * SECOND, UINT32_MAX, false, 100000 }, 10000 },
	{ { "smoke", 1, 20 * SECOND, 1024, false, 1024 }, 32 },
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
	  "whom to put beside mam: rw, rw-bm, crw, corw,\nrw-malloc, queue, cuda-malloc, or none" },
	{ "pages", 0, ARGS_COUNT, FIELD(pages), "N", NULL,
	  "pages of the smaller heap, a multiple of 64: 1000000\nunless given; threads are as many "
	  "for each of them" },
	{ "seconds", 0, ARGS_COUNT, FIELD(seconds), "N", NULL,
	  "start nothing after N seconds; the notes name the rest" },
	{ "only", 0, ARGS_TEXT, FIELD(only), "LIST", NULL,
	  "of get, lanes, malloc, use, atomic, found, again and\ngive; all unless given" },
	{ "read", 0, ARGS_TEXT, FIELD(read), "FILE", NULL,
	  "measure nothing, and show what --csv has written" },
	{ "list", 0, ARGS_FLAG, FIELD(list), NULL, NULL, "name allocators, workloads and cells" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	"mam bench model",
	"[OPTION]...",
	"Lay what the random-walk paper's equations expect over what this machine's first GPU "
	"does.\n",
	"A LIST is names with commas between. Every cell is checked before it is timed: a wrong\n"
	"one has no time. Targets that are missed do not change the exit status, faults do.\n"
	"More in mam-bench-model(1).\n",
	options,
	false,
};

struct run {
	const struct request *request;
	const char *typed;
	struct effort effort;
	struct model_plan plan;
	struct bench_results results;
	struct bench_machine machine;
	char now[160]; /* lock: the watch's */
};

/* Bare counters have neither steps nor an equation. */
static bool takes_part(const struct pages_allocator *allocator)
{
	return allocator->role != PAGES_CEILING;
}

static bool is_listed(const struct pages_allocator *allocator, void *user)
{
	const struct request *request = user;

	return takes_part(allocator) && (allocator->role == PAGES_OURS || request->peers == NULL ||
					 bench_in_list(request->peers, allocator->name));
}

enum list { LIST_PEERS, LIST_WORKS };

static bool is_known(const char *name, int which)
{
	size_t i;

	for (i = 0; which == LIST_WORKS && i < MODEL_WORKS; i++) {
		if (strcmp(name, model_work_names[i]) == 0)
			return true;
	}
	for (i = 0; which == LIST_PEERS && i < pages_allocator_count; i++) {
		if (pages_allocators[i].role != PAGES_OURS && takes_part(&pages_allocators[i]) &&
		    strcmp(name, pages_allocators[i].name) == 0)
			return true;
	}
	return which == LIST_PEERS && strcmp(name, "none") == 0;
}

static bool check_request(const struct request *request)
{
	char unknown[64];

	if (!bench_check_list(request->peers, is_known, LIST_PEERS, unknown, sizeof(unknown)))
		message_error(
			"--peers: there is no allocator '%s'; mam bench model --list names them",
			unknown);
	else if (!bench_check_list(request->only, is_known, LIST_WORKS, unknown, sizeof(unknown)))
		message_error(
			"--only: there is no workload '%s'; mam bench model --list names them",
			unknown);
	else if (request->pages % 64 != 0 || request->pages < PAGES_MIN ||
		 request->pages > PAGES_MAX)
		message_error("--pages: %llu is not a multiple of 64 from %d to %d",
			      (unsigned long long)request->pages, PAGES_MIN, PAGES_MAX);
	else
		return true;
	return false;
}

static int print_list(const struct model_plan *plan)
{
	size_t i;

	for (i = 0; i < pages_allocator_count; i++) {
		if (takes_part(&pages_allocators[i]))
			printf("allocator\t%s\n", pages_allocators[i].name);
	}
	for (i = 0; i < MODEL_WORKS; i++)
		printf("workload\t%s\n", model_work_names[i]);
	for (i = 0; i < plan->pages.count; i++) {
		const struct pages_cell *cell = &plan->pages.cells[i];

		printf("cell\t%s %s%s\n", pages_work_names[cell->work], cell->parameter,
		       cell->fine ? "" : "\tquick");
	}
	for (i = 0; i < MODEL_FOUNDS; i++)
		printf("cell\tfound %s\tquick\n", plan->found[i].parameter);
	for (i = 0; i < plan->give_count; i++)
		printf("cell\tgive %s\tquick\n", plan->gives[i].parameter);
	for (i = 0; i < plan->again_count; i++)
		printf("cell\tagain %s%s\n", plan->again[i].parameter,
		       plan->again[i].fine ? "" : "\tquick");
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
		model_show_keys(&run->results, &run->plan);
	else
		model_show_people(&run->results, &run->machine, &run->plan, run->effort.pages.name);
	return pages_report_rest(&run->results, &run->machine, has_faults(&run->results),
				 run->typed, request->csv, request->plot);
}

static int report_late(void *user)
{
	struct run *run = user;
	int status;

	bench_results_note(&run->results, "%s did not come back, and the bench ends there",
			   run->now);
	model_compute(&run->results, &run->plan);
	status = report(run);
	message_error("a kernel did not return; see the notes; earlier results are printed, and "
		      "--peers or --only exclude the kernel");
	return status == STATUS_GOOD ? STATUS_FAILED : status;
}

static bool wants(const struct request *request, enum model_work work)
{
	return request->only == NULL || bench_in_list(request->only, model_work_names[work]);
}

/* Runs all cells, by one deadline; returns false if the device failed. */
static bool measure(struct run *run, const struct model_request *ask)
{
	struct pages_request pages = ask->pages;
	bool any = false;
	uint64_t now;
	size_t i;

	for (i = 0; i < PAGES_WORKS; i++)
		any = any || pages.wanted[i];
	if (!model_play(&run->plan, ask, &run->results, run->now, sizeof(run->now)))
		return false;
	now = bench_now();
	pages.effort.deadline_ns = ask->deadline > now ? ask->deadline - now : 0;
	return !any ||
	       pages_run_all(&run->plan.pages, &pages, &run->results, run->now, sizeof(run->now));
}

static int play(struct run *run)
{
	struct request *request = (struct request *)(uintptr_t)run->request;
	const uint64_t start = bench_now();
	struct model_request ask = { .pages = { .effort = run->effort.pages,
						.usable = is_listed,
						.user = request,
						.verbose = request->verbose,
						.names = &model_names },
				     .deadline = start + run->effort.pages.deadline_ns,
				     .runs = run->effort.runs };
	int status;
	size_t i;
	bool good;

	for (i = 0; i < MODEL_WORKS; i++)
		ask.wanted[i] = wants(request, (enum model_work)i);
	for (i = 0; i < PAGES_WORKS; i++)
		ask.pages.wanted[i] = ask.wanted[i];
	bench_machine_read(&run->machine);
	bench_watch_begin(run->effort.pages.deadline_ns + GRACE, report_late, run);
	good = measure(run, &ask);
	bench_watch_end();
	ask.deadline += GRACE / 2;
	model_simulate(&run->results, &run->plan, &ask);
	model_compute(&run->results, &run->plan);
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

	run->effort.pages.name = "stored";
	if (status == STATUS_GOOD)
		status = report(run);
	bench_results_fini(&run->results);
	results_rows_fini(&rows);
	return status;
}

int model_main(int argc, char **argv)
{
	struct request request = { .pages = MODEL_PAGES };
	static struct run run;
	static char typed[512]; /* run keeps its address */
	char why[200];
	int first, status;

	run.request = &request;
	bench_typed(argc, argv, typed, sizeof(typed));
	if (!args_parse(&command, argc, argv, &request, &first, &status))
		return status;
	if (first < argc) {
		message_error("'%s' is one word too many; see mam bench model --help", argv[first]);
		return STATUS_BAD;
	}
	if (!check_request(&request))
		return STATUS_BAD;
	if (request.csv != NULL && !bench_results_may_save(request.csv))
		return bench_cannot_write(request.csv, "--csv");
	if (request.plot != NULL && (status = plot_check(request.plot)) != STATUS_GOOD)
		return status;
	model_plan_make(&run.plan, (uint32_t)request.pages);
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
		run.effort.pages.deadline_ns = request.seconds * SECOND;
	return play(&run);
}
