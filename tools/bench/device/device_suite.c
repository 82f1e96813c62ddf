/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_suite.c - the command line of `mam bench device` and of the suites that run in the same
 * way: it connects the parts. The suite has the cells, device_watch.c and device_worker.c run them,
 * the suite and results.c print and save the results, plot.c draws them.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "command.h"
#include "device_allocators.h"
#include "device_play.h"
#include "kit/args.h"
#include "kit/message.h"
#include "bench/harness/lists.h"
#include "bench/plot.h"
#include "bench/harness/results_read.h"
#include "bench/harness/typed.h"

#define SECOND UINT64_C(1000000000)

struct request {
	bool quick, smoke, keys, list, verbose;
	const char *csv, *plot, *allocators, *adapters, *only, *read;
	const char *platform, *device; /* of suites that use OpenCL */
	uint64_t seconds;              /* 0: the default of the effort */
};

#define FIELD(name) offsetof(struct request, name)

const struct args_option device_suite_options_opencl[] = {
	{ "platform", 0, ARGS_TEXT, FIELD(platform), "NAME-PART", NULL,
	  "OpenCL's platform: one whose name has this in it" },
	{ "device", 0, ARGS_TEXT, FIELD(device), "NAME-PART", NULL,
	  "its device; by default the first GPU, or the first" },
	/* device_suite_options begin here. */
	{ "quick", 0, ARGS_FLAG, FIELD(quick), NULL, NULL,
	  "some of the cells, those of the targets among them,\nin less than a minute" },
	{ "smoke", 0, ARGS_FLAG, FIELD(smoke), NULL, NULL,
	  "small heaps, few threads, each once, to see that it\nworks; the numbers mean nothing" },
	{ "plain", 'p', ARGS_FLAG, FIELD(keys), NULL, NULL,
	  "the targets as lines of KEY<TAB>VALUE, for scripts" },
	{ "verbose", 0, ARGS_FLAG, FIELD(verbose), NULL, NULL,
	  "a line on standard error for each cell before it begins" },
	{ "csv", 0, ARGS_TEXT, FIELD(csv), "FILE", NULL, "write every number into FILE, too" },
	{ "plot", 0, ARGS_TEXT, FIELD(plot), "FILE.svg", NULL,
	  "draw all figures into FILE.svg, one below another" },
	{ "allocators", 0, ARGS_TEXT, FIELD(allocators), "LIST", NULL,
	  "whom to ask, of those that --list names; all unless\ngiven" },
	{ "adapter", 0, ARGS_TEXT, FIELD(adapters), "LIST", NULL,
	  "fat binaries of your own allocators, FILE or FILE:BYTES,\nto be asked, too; "
	  "device_example.cu shows how one is made" },
	{ "only", 0, ARGS_TEXT, FIELD(only), "LIST", NULL,
	  "workloads, of those that --list names; all unless given" },
	{ "seconds", 0, ARGS_COUNT, FIELD(seconds), "N", NULL,
	  "start nothing after N seconds; the notes name the rest" },
	{ "read", 0, ARGS_TEXT, FIELD(read), "FILE", NULL,
	  "measure nothing, and show what --csv has written" },
	{ "list", 0, ARGS_FLAG, FIELD(list), NULL, NULL, "name allocators, workloads and cells" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

struct run {
	const struct request *request;
	struct device_request play;
	struct device_plan plan;
	struct device_heard heard;
	struct bench_results results;
	struct bench_machine machine;
	size_t built_in; /* of the allocators; those of --adapter follow */
	char typed[512];
};

/* ---- selected works and allocators ---- */

/* Those that may hang come last, so that each cell then has the others' numbers. */
static void list_built_in(struct run *run)
{
	struct device_request *play = &run->play;
	const struct device_allocator *all = play->suite->allocators;
	size_t i;
	int slow;

	for (slow = 0; slow < 2; slow++) {
		for (i = 0; i < *play->suite->allocator_count; i++) {
			if (all[i].slow == (slow == 1) &&
			    play->allocator_count < DEVICE_ALLOCATORS_MAX)
				play->allocators[play->allocator_count++] = all[i];
		}
	}
	run->built_in = play->allocator_count;
}

static bool read_adapters(struct run *run)
{
	struct device_request *play = &run->play;
	const char *at = run->request->adapters;
	char one[512], why[240];

	while (at != NULL && *at != '\0') {
		const size_t bytes = strcspn(at, ",");

		if (play->allocator_count == DEVICE_ALLOCATORS_MAX || bytes >= sizeof(one)) {
			message_error("--adapter: too many files, or too long a name; at most %d "
				      "allocators are asked",
				      DEVICE_ALLOCATORS_MAX);
			return false;
		}
		memcpy(one, at, bytes);
		one[bytes] = '\0';
		if (!device_added_read(one, &play->allocators[play->allocator_count], why,
				       sizeof(why))) {
			message_error("--adapter: %s", why);
			return false;
		}
		play->allocator_count++;
		at += bytes + (at[bytes] == ',');
	}
	return true;
}

/* The suite whose names is_work() and is_allocator() know. */
static const struct device_suite *listed;

static bool is_work(const char *name, int unused)
{
	size_t i;

	(void)unused;
	for (i = 0; i < listed->work_count; i++) {
		if (strcmp(name, listed->works[i].name) == 0)
			return true;
	}
	return false;
}

static bool is_allocator(const char *name, int unused)
{
	size_t i;

	(void)unused;
	for (i = 0; i < *listed->allocator_count; i++) {
		if (strcmp(name, listed->allocators[i].name) == 0)
			return true;
	}
	return false;
}

static bool check_lists(const struct run *run)
{
	const struct request *request = run->request;
	const char *bench = run->play.suite->command->name;
	char unknown[64];

	listed = run->play.suite;
	if (!bench_check_list(request->allocators, is_allocator, 0, unknown, sizeof(unknown)))
		message_error("--allocators: there is no allocator '%s'; %s --list names them",
			      unknown, bench);
	else if (!bench_check_list(request->only, is_work, 0, unknown, sizeof(unknown)))
		message_error("--only: there is no workload '%s'; %s --list names them", unknown,
			      bench);
	else
		return true;
	return false;
}

static void choose(struct run *run)
{
	const struct device_suite *suite = run->play.suite;
	const struct request *request = run->request;
	size_t i;

	for (i = 0; i < run->play.allocator_count; i++)
		run->play.usable[i] =
			i >= run->built_in || request->allocators == NULL ||
			bench_in_list(request->allocators, run->play.allocators[i].name);
	for (i = 0; i < suite->work_count; i++)
		run->play.wanted[i] =
			request->only == NULL || bench_in_list(request->only, suite->works[i].name);
	run->play.effort = suite->efforts[request->smoke ? 2 : request->quick ? 1 : 0];
	if (request->seconds > 0)
		run->play.effort.deadline_ns = request->seconds * SECOND;
	run->play.verbose = request->verbose;
	run->play.platform = request->platform;
	run->play.device = request->device;
	for (i = 0; request->smoke && suite->shrink != NULL && i < run->plan.count; i++)
		suite->shrink(&run->plan.cells[i], run->play.effort.MAX_ASKERS);
}

static int print_list(const struct run *run)
{
	const struct device_suite *suite = run->play.suite;
	size_t i;

	for (i = 0; i < run->play.allocator_count; i++)
		printf("allocator\t%s\n", run->play.allocators[i].name);
	for (i = 0; i < suite->work_count; i++)
		printf("workload\t%s\t%s\n", suite->works[i].name, suite->works[i].title);
	for (i = 0; i < run->plan.count; i++)
		printf("cell\t%s %s%s\n", suite->works[run->plan.cells[i].work].name,
		       run->plan.cells[i].parameter, run->plan.cells[i].fine ? "" : "\tquick");
	return STATUS_GOOD;
}

/* ---- results ---- */

/* Returns true if the checks found errors in mam's own objects. */
static bool has_faults(const struct run *run)
{
	size_t i;

	for (i = 0; i < run->results.count; i++) {
		const struct bench_result *row = &run->results.rows[i];

		if (device_target_group(&run->play, row->peer) == DEVICE_GROUP_OURS &&
		    row->value > 0 &&
		    (strcmp(row->metric, "wrong") == 0 || strcmp(row->metric, "lost") == 0))
			return true;
	}
	return false;
}

static int report(struct run *run)
{
	const struct request *request = run->request;
	int status = STATUS_GOOD;

	if (request->keys)
		run->play.suite->show_keys(&run->results, &run->play);
	else
		run->play.suite->show_people(&run->results, &run->machine, &run->play);
	if (run->results.incomplete) {
		message_error("memory ran out and some results were lost; close other programs and "
			      "try again");
		status = STATUS_FAILED;
	}
	if (has_faults(run)) {
		message_error("the checks found errors of mam's own malloc, or it lost the "
			      "device; see the notes");
		status = STATUS_FAILED;
	}
	if (request->csv != NULL &&
	    !bench_results_save(&run->results, &run->machine, run->typed, request->csv))
		return bench_cannot_write(request->csv, "--csv");
	if (request->plot != NULL && run->results.count > 0 &&
	    plot_results(request->plot, &run->results, &run->machine) != STATUS_GOOD)
		return STATUS_BAD;
	return status;
}

/* Returns true if the worker has an allocator to run; otherwise it needs no device. */
static bool has_worker(const struct run *run)
{
	size_t i;

	for (i = 0; i < run->play.allocator_count; i++) {
		if (run->play.usable[i] && run->play.allocators[i].make != NULL)
			return true;
	}
	return false;
}

static int measure(struct run *run)
{
	const struct device_suite *suite = run->play.suite;
	bool any;

	run->heard.results = &run->results;
	run->heard.machine = &run->machine;
	bench_machine_read_host(&run->machine);
	any = has_worker(run) && device_watch(&run->play, &run->plan, &run->heard);
	if (suite->beside != NULL && suite->beside(&run->play, &run->heard)) {
		if (!any && run->heard.refusal[0] != '\0')
			bench_results_note(&run->results, "CUDA was left out: %s",
					   run->heard.refusal);
		any = true;
	}
	if (any) {
		int status;

		if (run->play.suite->complete != NULL)
			run->play.suite->complete(&run->results);
		status = report(run);
		return run->heard.stopped && status == STATUS_GOOD ? STATUS_FAILED : status;
	}
	if (run->heard.refusal[0] == '\0' && run->results.note_count > 0)
		message_error("cannot measure on this machine: %s",
			      run->results.notes[run->results.note_count - 1]);
	else
		message_error("cannot measure on this machine: %s", run->heard.refusal);
	return STATUS_NO_GPU;
}

/* Shows earlier measurements as if they were new. */
static int read_back(struct run *run)
{
	struct results_rows rows = { .rows = NULL };
	int status =
		results_rows_read_back(run->request->read, &rows, &run->results, &run->machine);

	run->play.effort.name = "stored";
	if (status == STATUS_GOOD)
		status = report(run);
	results_rows_fini(&rows);
	return status;
}

static int act(struct run *run)
{
	const struct request *request = run->request;
	int status;

	if (!check_lists(run) || !read_adapters(run))
		return STATUS_BAD;
	if (request->csv != NULL && !bench_results_may_save(request->csv))
		return bench_cannot_write(request->csv, "--csv");
	if (request->plot != NULL && (status = plot_check(request->plot)) != STATUS_GOOD)
		return status;
	run->play.suite->plan(&run->plan);
	if (request->list)
		return print_list(run);
	choose(run);
	return request->read != NULL ? read_back(run) : measure(run);
}

int device_suite_main(const struct device_suite *suite, int argc, char **argv)
{
	struct request request = { .quick = false };
	struct run *run;
	int first, status;
	size_t i;

	if (!args_parse(suite->command, argc, argv, &request, &first, &status))
		return status;
	if (first < argc) {
		message_error("'%s' is one word too many; see %s --help", argv[first],
			      suite->command->name);
		return STATUS_BAD;
	}
	run = calloc(1, sizeof(*run));
	if (run == NULL) {
		message_error("memory ran out; close other programs and try again");
		return STATUS_FAILED;
	}
	run->request = &request;
	run->play.suite = suite;
	bench_typed(argc, argv, run->typed, sizeof(run->typed));
	list_built_in(run);
	status = act(run);
	for (i = run->built_in; i < run->play.allocator_count; i++)
		device_added_fini(&run->play.allocators[i]);
	device_heard_fini(&run->heard);
	bench_results_fini(&run->results);
	free(run);
	return status;
}
