/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl.c - reads the OpenCL results of `mam bench kma`. mam does not link with OpenCL:
 * mam-bench-opencl does, a separate program installed next to mam's preload objects. It writes its
 * rows into a pipe, one per line, with tabs between fields:
 *   D platform device driver processor       once, before all rows; processor: 1 or 0
 *   R workload allocator parameter metric value
 *   N sentence                               a note
 *   X sentence                               nothing was measured
 * A signal ends it if it takes twice as long as it was given. BENCH_OPENCL in the environment names
 * another program.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kma.h"
#include "run/run_object.h"

#define PROGRAM "mam-bench-opencl"
#define SECOND UINT64_C(1000000000)
#define FIELDS 6

struct ear {
	struct device_heard *heard;
	char refusal[240];
	bool any;
};

static bool is_wanted(const struct device_request *request)
{
	size_t i;

	for (i = 0; i < request->allocator_count; i++) {
		if (request->allocators[i].make == NULL && request->usable[i])
			return true;
	}
	return false;
}

static bool find(char *path, size_t bytes)
{
	const char *other = getenv("BENCH_OPENCL");

	if (other != NULL && other[0] != '\0')
		return (size_t)snprintf(path, bytes, "%s", other) < bytes &&
		       access(path, X_OK) == 0;
	return run_object_find(PROGRAM, path, bytes) && access(path, X_OK) == 0;
}

/* Names of works separated by commas, as for --only. */
static void list_works(const struct device_request *request, char *list, size_t bytes)
{
	size_t i, used = 0;

	list[0] = '\0';
	for (i = 0; i < request->suite->work_count && used < bytes; i++) {
		if (request->wanted[i])
			used += (size_t)snprintf(list + used, bytes - used, "%s%s",
						 used > 0 ? "," : "",
						 request->suite->works[i].name);
	}
}

static void read_device(struct ear *ear, char *const fields[FIELDS])
{
	struct bench_machine *machine = ear->heard->machine;
	char before[64], name[240];

	snprintf(before, sizeof(before), "%.60s", machine->driver);
	snprintf(machine->driver, sizeof(machine->driver), "%s; OpenCL: %.40s, %.50s, %.30s",
		 before, fields[1], fields[2], fields[3]);
	snprintf(name, sizeof(name), "%.100s: %.100s", fields[1], fields[2]);
	bench_results_add(ear->heard->results, "kma-device", KMA_OPENCL,
			  device_heard_name(ear->heard, name), "processor",
			  strtod(fields[4], NULL));
}

static void read_line(struct ear *ear, char *line)
{
	struct device_heard *heard = ear->heard;
	char *fields[FIELDS] = { line, "", "", "", "", "" }, *at = line;
	size_t count = 1;

	line[strcspn(line, "\n")] = '\0';
	while (count < FIELDS && (at = strchr(at, '\t')) != NULL) {
		*at++ = '\0';
		fields[count++] = at;
	}
	switch (line[0]) {
	case 'D': read_device(ear, fields); break;
	case 'R':
		ear->any = true;
		bench_results_add(heard->results, device_heard_name(heard, fields[1]),
				  device_heard_name(heard, fields[2]),
				  device_heard_name(heard, fields[3]),
				  device_heard_name(heard, fields[4]), strtod(fields[5], NULL));
		break;
	case 'N': bench_results_note(heard->results, "%s", fields[1]); break;
	case 'X': snprintf(ear->refusal, sizeof(ear->refusal), "%s", fields[1]); break;
	default: break;
	}
}

/* Runs in the child. */
static void become(const struct device_request *request, const char *path, int out)
{
	const uint64_t seconds = request->effort.deadline_ns / SECOND;
	char works[256], number[24];
	const char *words[] = { PROGRAM,
				"--only",
				works,
				"--effort",
				request->effort.name,
				"--seconds",
				number,
				"--platform",
				request->platform != NULL ? request->platform : "",
				"--device",
				request->device != NULL ? request->device : "",
				NULL };

	list_works(request, works, sizeof(works));
	snprintf(number, sizeof(number), "%llu", (unsigned long long)seconds);
	if (dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	alarm((unsigned int)(2 * seconds + 60));
	execv(path, (char *const *)(uintptr_t)words);
	_exit(127);
}

static void hear(struct ear *ear, int from)
{
	FILE *lines = fdopen(from, "r");
	char *line = NULL;
	size_t room = 0;

	if (lines == NULL) {
		close(from);
		return;
	}
	while (getline(&line, &room, lines) > 0)
		read_line(ear, line);
	free(line);
	fclose(lines);
}

/* Returns false if no process could be started. */
static bool run_program(const struct device_request *request, const char *path, struct ear *ear,
			int *status)
{
	int ends[2];
	pid_t child;

	if (pipe(ends) != 0)
		return false;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		become(request, path, ends[1]);
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return false;
	}
	hear(ear, ends[0]);
	while (waitpid(child, status, 0) < 0 && errno == EINTR)
		;
	return true;
}

bool kma_opencl_hear(const struct device_request *request, struct device_heard *heard)
{
	struct ear ear = { .heard = heard };
	char path[PATH_MAX];
	int status = 0;

	if (!is_wanted(request) || heard->stopped)
		return false;
	if (!find(path, sizeof(path)))
		snprintf(ear.refusal, sizeof(ear.refusal),
			 "this mam was built without it: there is no %s", PROGRAM);
	else if (!run_program(request, path, &ear, &status))
		snprintf(ear.refusal, sizeof(ear.refusal), "no process could be started: %s",
			 strerror(errno));
	else if (WIFSIGNALED(status))
		bench_results_note(heard->results, "%s died of signal %d: the rest is skipped",
				   PROGRAM, WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0 && ear.refusal[0] == '\0')
		bench_results_note(heard->results, "%s ended with status %d", PROGRAM,
				   WEXITSTATUS(status));
	if (ear.refusal[0] != '\0')
		bench_results_note(heard->results, "OpenCL was left out: %s", ear.refusal);
	return ear.any;
}
