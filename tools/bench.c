/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.c - `mam bench`: measure the cost of mam's host pools and of comparable allocators.
 *
 * This file parses the command line and selects what to run; bench/host/run.c runs it, bench/host/table.c and
 * bench/harness/results.c print it, bench/plot.c draws it. `mam bench trace` prints the synthetic training
 * run that one workload plays. It is a benchmark, not a test: a missed target does not change the
 * exit status.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "kit/args.h"
#include "bench/bench.h"
#include "bench/compare.h"
#include "bench/papers/cases/cases.h"
#include "bench/harness/lists.h"
#include "bench/device/device_bench.h"
#include "bench/papers/kma/kma.h"
#include "bench/papers/model/model.h"
#include "bench/papers/mpi/mpi_bench.h"
#include "bench/pages/pages_bench.h"
#include "bench/papers/xmalloc/xmalloc.h"
#include "bench/plot.h"
#include "bench/host/training.h"
#include "bench/harness/typed.h"
#include "command.h"
#include "kit/message.h"

#define MS UINT64_C(1000000)

/*
 * Repeats, slice, time limit per case (pools, other allocators), total time limit, maximum number
 * of live blocks (pools, other allocators).
 */
static const struct bench_effort efforts[] = {
	{ "full", 5, 50 * MS, 1200 * MS, 300 * MS, 230000 * MS, 10000000, 10000000, true },
	{ "quick", 5, 15 * MS, 500 * MS, 150 * MS, 30000 * MS, 10000000, 100000, false },
	{ "smoke", 1, 1 * MS, 200 * MS, 200 * MS, 10000 * MS, 10000, 10000, false },
};

struct request {
	bool quick, smoke, keys, list, verbose;
	const char *csv, *plot, *sources, *peers, *only, *traces;
	uint64_t seconds; /* 0: as the effort specifies */
};

#define FIELD(name) offsetof(struct request, name)

static const struct args_option options[] = {
	{ "quick", 0, ARGS_FLAG, FIELD(quick), NULL, NULL,
	  "run only what the short table needs, in half a minute;\n"
	  "default: all, in under 4 minutes" },
	{ "smoke", 0, ARGS_FLAG, FIELD(smoke), NULL, NULL,
	  "run for a second or two, as a smoke test; the numbers\nmean nothing" },
	{ "plain", 'p', ARGS_FLAG, FIELD(keys), NULL, NULL,
	  "print KEY<TAB>VALUE lines for scripts" },
	{ "verbose", 0, ARGS_FLAG, FIELD(verbose), NULL, NULL,
	  "print a line to stderr before each run" },
	{ "csv", 0, ARGS_TEXT, FIELD(csv), "FILE", NULL, "also write every number to FILE" },
	{ "plot", 0, ARGS_TEXT, FIELD(plot), "FILE.svg", NULL,
	  "draw the results to FILE.svg, all pictures\none below another" },
	{ "sources", 0, ARGS_TEXT, FIELD(sources), "LIST", NULL,
	  "pools to measure: host, cudamalloc, vmm, pinned,\nmanaged; default: all available" },
	{ "peers", 0, ARGS_TEXT, FIELD(peers), "LIST", NULL,
	  "allocators to compare with: glibc, jemalloc, mimalloc,\n"
	  "cudaMalloc, cudaMallocAsync, rmm-pool, torch, or\nnone; default: all available" },
	{ "seconds", 0, ARGS_COUNT, FIELD(seconds), "N", NULL,
	  "start no run after N seconds; list the omitted runs" },
	{ "only", 0, ARGS_TEXT, FIELD(only), "LIST", NULL, "workloads to run; default: all" },
	{ "trace", 0, ARGS_TEXT, FIELD(traces), "LIST", NULL,
	  "trace files for workload replay; default: those of the\nsource tree in the current "
	  "folder" },
	{ "list", 0, ARGS_FLAG, FIELD(list), NULL, NULL, "list pools, peers and workloads" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	"mam bench host",
	"[OPTION]...",
	"Measure mam's pools and other allocators on this machine, in the same run.\n",
	"A LIST is comma-separated names. Missed targets do not change the exit status: this\n"
	"is a benchmark, not a test. More in mam-bench(1).\n",
	options,
	false,
};

/*
 * Whether the list has `name`, alone or followed by a variant: "cudamalloc" also selects
 * "cudamalloc-strict".
 */
static bool in_list(const char *list, const char *name)
{
	while (list != NULL && *list != '\0') {
		size_t length = strcspn(list, ",");

		if (length > 0 && strncmp(list, name, length) == 0 &&
		    (name[length] == '\0' || name[length] == '-'))
			return true;
		list += length + (list[length] == ',');
	}
	return false;
}

static const char *peer_list_name(const struct bench_peer *peer)
{
	return peer->is_mam ? peer->name + strlen("mam-") : peer->name;
}

enum list { LIST_SOURCES, LIST_PEERS, LIST_WORKLOADS };

static bool is_known(const char *one, int which)
{
	size_t i;

	if (which == LIST_WORKLOADS) {
		for (i = 0; i < bench_workload_count; i++) {
			if (strcmp(one, bench_workloads[i]->name) == 0)
				return true;
		}
		return false;
	}
	for (i = 0; i < bench_peer_count; i++) {
		if (bench_peers[i].is_mam == (which == LIST_SOURCES) &&
		    in_list(one, peer_list_name(&bench_peers[i])))
			return true;
	}
	return which != LIST_WORKLOADS && strcmp(one, "none") == 0;
}

static bool check_lists(const struct request *request)
{
	char unknown[64];

	if (!bench_check_list(request->sources, is_known, LIST_SOURCES, unknown, sizeof(unknown)))
		message_error("unknown source '%s'; see 'mam bench host --list'", unknown);
	else if (!bench_check_list(request->peers, is_known, LIST_PEERS, unknown, sizeof(unknown)))
		message_error("unknown peer '%s'; see 'mam bench host --list'", unknown);
	else if (!bench_check_list(request->only, is_known, LIST_WORKLOADS, unknown,
				   sizeof(unknown)))
		message_error("unknown workload '%s'; see 'mam bench host --list'", unknown);
	else
		return true;
	return false;
}

/* Add a case of workload replay for each file of a list. False: one is unusable (reported). */
static bool add_traces(const char *list)
{
	char path[4096];

	while (list != NULL && *list != '\0') {
		size_t length = strcspn(list, ",");

		snprintf(path, sizeof(path), "%.*s",
			 (int)(length < sizeof(path) ? length : sizeof(path) - 1), list);
		if (!bench_replay_add(path))
			return false;
		list += length + (list[length] == ',');
	}
	return true;
}

static int print_list(void)
{
	size_t i;

	for (i = 0; i < bench_peer_count; i++)
		printf("%s\t%s\n", bench_peers[i].is_mam ? "pool" : "peer", bench_peers[i].name);
	for (i = 0; i < bench_workload_count; i++)
		printf("workload\t%s\n", bench_workloads[i]->name);
	return STATUS_GOOD;
}

/*
 * Add a note for each reason why requested cases cannot run here; cases with the same reason share
 * a note.
 */
static void note_skipped(const char (*why)[200], struct bench_results *results)
{
	char names[480];
	size_t i, other, used;

	for (i = 0; i < bench_peer_count; i++) {
		bool told = false;

		for (other = 0; other < i; other++)
			told = told || strcmp(why[other], why[i]) == 0;
		if (told || why[i][0] == '\0')
			continue;
		names[0] = '\0';
		for (other = i, used = 0; other < bench_peer_count && used < sizeof(names);
		     other++) {
			if (strcmp(why[other], why[i]) == 0)
				used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
							 used > 0 ? ", " : "",
							 bench_peers[other].name);
		}
		bench_results_note(results, "skipped %s: %s", names, why[i]);
	}
}

static void choose_peers(const struct request *request, struct bench_results *results)
{
	static char why[BENCH_PEERS_MAX][200];
	size_t i;

	for (i = 0; i < bench_peer_count; i++) {
		struct bench_peer *peer = &bench_peers[i];
		const char *list = peer->is_mam ? request->sources : request->peers;
		bool wanted = list == NULL || in_list(list, peer_list_name(peer));

		peer->usable = wanted && peer->probe(peer, why[i], sizeof(why[i]));
		if (!wanted || peer->usable)
			why[i][0] = '\0';
	}
	note_skipped((const char(*)[200])why, results);
}

/* The state that is reported at the end, whichever path ends the run. */
struct play {
	const struct request *request;
	const char *typed;
	struct bench_effort effort;
	struct bench_results results;
	struct bench_machine machine;
};

static int report(struct play *play)
{
	const struct request *request = play->request;
	int status = STATUS_GOOD;

	if (request->keys)
		bench_table_keys(&play->results);
	else
		bench_table_people(&play->results, &play->machine, &play->effort);
	if (play->results.incomplete) {
		message_error("out of memory, and some results were lost; close other programs and "
			      "try again");
		status = STATUS_FAILED;
	}
	if (request->csv != NULL &&
	    !bench_results_save(&play->results, &play->machine, play->typed, request->csv))
		status = bench_cannot_write(request->csv, "--csv");
	if (request->plot != NULL && status == STATUS_GOOD)
		status = plot_results(request->plot, &play->results, &play->machine);
	return status;
}

static int report_late(void *user)
{
	int status = report(user);

	message_error("a call of the allocator in the notes did not return; the results so "
		      "far are printed; use --peers or --only to exclude it");
	return status == STATUS_GOOD ? STATUS_FAILED : status;
}

static int play(const struct request *request, const char *typed)
{
	struct play play = { .request = request,
			     .typed = typed,
			     .effort = efforts[request->smoke   ? 2
					       : request->quick ? 1
								: 0] };
	bool wanted[BENCH_WORKLOADS_MAX] = { false };
	int status;
	size_t i;

	for (i = 0; i < bench_workload_count; i++)
		wanted[i] =
			request->only == NULL || in_list(request->only, bench_workloads[i]->name);
	if (request->seconds > 0)
		play.effort.deadline_ns = request->seconds * 1000 * MS;
	if (request->seconds > 0 && request->smoke) /* run to the end, on a slow machine too */
		play.effort.case_ns = play.effort.deadline_ns / 4;
	bench_measure_init();
	bench_machine_read(&play.machine);
	choose_peers(request, &play.results);
	bench_run_all(&play.effort, wanted, request->verbose, report_late, &play, &play.results);
	status = report(&play);
	bench_results_fini(&play.results);
	return status;
}

static int bench_host(int argc, char **argv)
{
	struct request request = { .csv = NULL };
	char typed[512];
	int first, status;

	bench_typed(argc, argv, typed,
		    sizeof(typed)); /* before getopt sorts the options to the front */
	if (!args_parse(&command, argc, argv, &request, &first, &status))
		return status;
	if (first < argc) {
		message_error("unexpected argument '%s'; see 'mam bench host --help'", argv[first]);
		return STATUS_BAD;
	}
	if (!check_lists(&request))
		return STATUS_BAD;
	if (request.csv != NULL && !bench_results_may_save(request.csv))
		return bench_cannot_write(request.csv, "--csv");
	if (request.plot != NULL && (status = plot_check(request.plot)) != STATUS_GOOD)
		return status;
	if (request.list)
		return print_list();
	status = add_traces(request.traces) ? play(&request, typed) : STATUS_BAD;
	bench_replay_fini();
	return status;
}

static const struct args_option no_options[] = {
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command trace_command = {
	"mam bench trace",
	"",
	"Print the training run of mam bench host's workload training, as a trace.\n",
	"For mam replay; mam-trace(5) describes the format. It is the same every time.\n",
	no_options,
	false,
};

static int bench_trace(int argc, char **argv)
{
	struct training training;
	int first, status;
	char settings;
	bool good;

	if (!args_parse(&trace_command, argc, argv, &settings, &first, &status))
		return status;
	if (first < argc) {
		message_error("unexpected argument '%s'; see 'mam bench trace --help'",
			      argv[first]);
		return STATUS_BAD;
	}
	if (!training_make(&training)) {
		message_error("not enough memory for the trace; close other programs");
		return STATUS_FAILED;
	}
	good = training_print(&training, stdout);
	training_fini(&training);
	if (good)
		return STATUS_GOOD;
	message_error("cannot write the trace: %s", strerror(errno));
	return STATUS_FAILED;
}

static const struct {
	const char *name;
	const char *speaker;
	int (*run)(int argc, char **argv); /* argv[0] is its name */
	const char *doc;
} benches[] = {
	{ "host", "mam bench host", bench_host, "host pools, compared with other allocators" },
	{ "pages", "mam bench pages", pages_main, "page allocators inside kernels" },
	{ "device", "mam bench device", device_main, "malloc and free inside kernels" },
	{ "case", "mam bench case", case_main,
	  "a join, a group-by, an octree and a graph inside kernels" },
	{ "kma", "mam bench kma", kma_main, "the figures of the KMA paper, in CUDA and OpenCL" },
	{ "mpi", "mam bench mpi", mpi_main,
	  "the figures of \"Coalescing Memory Allocations for GPU MPI\"" },
	{ "xmalloc", "mam bench xmalloc", xmalloc_main, "the figures of the XMalloc paper" },
	{ "model", "mam bench model", model_main, "the random-walk model, measured on a GPU" },
	{ "advise", "mam bench advise", advise_main, "recommend a heap for a load, by that model" },
	{ "plot", "mam bench plot", plot_main, "draw results written with --csv" },
	{ "compare", "mam bench compare", compare_results_main,
	  "list what became slower between two files of results" },
	{ "trace", "mam bench trace", bench_trace, "print the trace of a synthetic training run" },
};

#define BENCHES (sizeof(benches) / sizeof(benches[0]))

static int print_benches(void)
{
	size_t i;

	printf("Usage: mam bench BENCHMARK [ARGUMENT]...\n"
	       "Measure mam and other allocators on this machine.\n\n");
	for (i = 0; i < BENCHES; i++)
		printf("  mam bench %-8s %s\n", benches[i].name, benches[i].doc);
	printf("\nmam bench BENCHMARK --help prints the options of one; the manual is "
	       "mam-bench(1).\n");
	return STATUS_GOOD;
}

/* "host, pages, ... or trace" */
static const char *list_benches(char *text, size_t bytes)
{
	size_t i, used = 0;

	for (i = 0; i < BENCHES && used < bytes; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s",
					 i == 0             ? ""
					 : i == BENCHES - 1 ? " or "
							    : ", ",
					 benches[i].name);
	return text;
}

int bench_main(int argc, char **argv)
{
	char names[200];
	size_t i;

	if (argc < 2) {
		message_error("no benchmark given; expected %s; see 'mam bench --help'",
			      list_benches(names, sizeof(names)));
		return STATUS_BAD;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_benches();
	for (i = 0; i < BENCHES; i++) {
		if (strcmp(argv[1], benches[i].name) == 0) {
			message_begin(benches[i].speaker);
			return benches[i].run(argc - 1, argv + 1);
		}
	}
	message_error("unknown benchmark '%s'; expected %s", argv[1],
		      list_benches(names, sizeof(names)));
	return STATUS_BAD;
}
