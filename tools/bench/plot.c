/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.c - `mam bench plot`, and --plot of the benchmarks: run plots/plot.py, which reads results as
 * --csv writes them, draws figures, and reports errors under the name of this command.
 *
 * The script is in the build folder or installed. The interpreter is PYTHON from the environment,
 * otherwise python3; where that one has no matplotlib, the script runs itself by /usr/bin/python3.
 */
#include "plot.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "bench/harness/typed.h"
#include "command.h"
#include "kit/args.h"
#include "kit/message.h"
#include "kit/own_place.h"

extern char **environ;

static bool find_script(char *path, size_t room)
{
	char here[PATH_MAX], installed[PATH_MAX];
	const char *const folders[] = { "tools/bench/plots", installed };

	own_place_way(MAM_BINDIR, MAM_PLOTSDIR, installed, sizeof(installed));
	for (size_t i = 0; i < 2 && own_place(here, sizeof(here)); i++) {
		snprintf(path, room, "%s/%s/plot.py", here, folders[i]);
		if (access(path, R_OK) == 0)
			return true;
	}
	snprintf(path, room, "%s/plot.py", MAM_PLOTSDIR);
	return access(path, R_OK) == 0;
}

/* Returns an errno, and the interpreter's name in arguments[0]. */
static int start(const char **arguments, pid_t *child)
{
	const char *wanted = getenv("PYTHON");
	const bool chosen = wanted != NULL && wanted[0] != '\0';
	int error;

	arguments[0] = chosen ? wanted : "python3";
	error = posix_spawnp(child, arguments[0], NULL, NULL, (char **)arguments, environ);
	if (error == 0 || chosen)
		return error;
	arguments[0] = "/usr/bin/python3";
	return posix_spawn(child, arguments[0], NULL, NULL, (char **)arguments, environ);
}

/* Runs the script with `option`, and with `count` files. Returns an exit status. */
static int run_script(const char *option, char **files, size_t count)
{
	char script[3 * PATH_MAX], name[80];
	const char **arguments = calloc(count + 7, sizeof(*arguments));
	int error, status;
	pid_t child;

	if (arguments == NULL || !find_script(script, sizeof(script))) {
		message_error(arguments == NULL
				      ? "out of memory"
				      : "cannot find plot.py, which draws figures; reinstall mam");
		free(arguments);
		return STATUS_FAILED;
	}
	snprintf(name, sizeof(name), "--name=%s", message_name());
	arguments[1] = "-B"; /* write no __pycache__ */
	arguments[2] = script;
	arguments[3] = name;
	arguments[4] = option;
	arguments[5] = "--";
	for (size_t i = 0; i < count; i++)
		arguments[6 + i] = files[i];
	fflush(NULL);
	error = start(arguments, &child);
	if (error != 0)
		message_error("cannot run '%s': %s; figures need Python 3 and matplotlib (package "
			      "python3-matplotlib)",
			      arguments[0], strerror(error));
	while (error == 0 && waitpid(child, &status, 0) < 0)
		error = errno == EINTR ? 0 : errno;
	free(arguments);
	if (error != 0)
		return STATUS_FAILED;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	message_error("a signal ended plot.py: %s", strsignal(WTERMSIG(status)));
	return STATUS_FAILED;
}

/* The same with an option that has a value. */
static int run_script_with(const char *option, const char *value, char **files, size_t count)
{
	const size_t bytes = strlen(option) + strlen(value) + 2;
	char *text = malloc(bytes);
	int status;

	if (text == NULL) {
		message_error("out of memory");
		return STATUS_FAILED;
	}
	snprintf(text, bytes, "%s=%s", option, value);
	status = run_script(text, files, count);
	free(text);
	return status;
}

int plot_check(const char *path)
{
	if (!bench_results_may_save(path))
		return bench_cannot_write(path, "--plot");
	return run_script("--check", NULL, 0);
}

int plot_results(const char *path, const struct bench_results *results,
		 const struct bench_machine *machine)
{
	FILE *rows = tmpfile();
	char name[40] = "a temporary file", *files[] = { name };
	int status = STATUS_FAILED;

	if (rows != NULL) /* the script inherits the descriptor */
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fileno(rows));
	if (rows == NULL || !bench_results_save(results, machine, "", name))
		message_error("cannot write results for plot.py to %s: %s", name, strerror(errno));
	else
		status = run_script_with("--page", path, files, 1);
	if (rows != NULL)
		fclose(rows);
	return status;
}

struct request {
	const char *out;
};

static const struct args_option options[] = {
	{ "out", 'o', ARGS_TEXT, offsetof(struct request, out), "FOLDER", NULL,
	  "where the pictures go; here unless given" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	"mam bench plot",
	"[OPTION]... FILE...",
	"Draw results of mam bench host --csv: latency.svg, threads.svg, live.svg, "
	"fragmented.svg,\n"
	"percentiles.svg, random.svg, sizes.svg and footprint.svg; and of mam bench pages --csv:\n"
	"pages-threads.svg, pages-frees.svg, pages-share.svg, pages-tas.svg, pages-was.svg,\n"
	"pages-lanes.svg and pages-malloc.svg; of mam bench device: device-*.svg; of mam bench\n"
	"xmalloc: xmalloc-*.svg; of mam bench mpi: mpi-*.svg; of mam bench kma: kma-*.svg; of\n"
	"mam bench case: case-*.svg; those\n"
	"that there are rows for.\n",
	"A row of a later file replaces the same of an earlier one. Of several files those with\n"
	"other columns are skipped. Needs Python 3 with matplotlib. More in mam-bench(1).\n",
	options,
	false,
};

int plot_main(int argc, char **argv)
{
	struct request request = { "." };
	int first, status;

	if (!args_parse(&command, argc, argv, &request, &first, &status))
		return status;
	if (first == argc) {
		message_error("no file of results given, such as one of mam bench host --csv; see "
			      "'mam bench plot --help'");
		return STATUS_BAD;
	}
	return run_script_with("--out", request.out, argv + first, (size_t)(argc - first));
}
