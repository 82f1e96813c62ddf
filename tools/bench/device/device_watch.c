/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_watch.c - the watching process: it starts a worker, records its messages and, when it
 * dies, loses its device or stops responding, starts the next one after the pair that caused it.
 *
 * An allocator that lost its device in MAX_LOST pairs is not run again. A worker that is silent
 * for several times the maximum duration of a kernel is killed: then a driver call does not return,
 * since the worker itself would report a kernel that does not.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_play.h"
#include "bench/harness/gpu.h"

#define SECOND UINT64_C(1000000000)
#define MAX_LOST 3
#define FIELDS 6
#define NO_PAIR SIZE_MAX

static volatile sig_atomic_t stopped; /* the signal that requested a stop; 0: none */

static void stop(int number)
{
	stopped = number;
}

/* After a stop request, print the results so far. */
static void heed_signals(bool heed)
{
	static struct sigaction before[2];
	const int numbers[2] = { SIGINT, SIGTERM };
	struct sigaction action = { .sa_handler = stop };
	size_t i;

	for (i = 0; i < 2; i++)
		sigaction(numbers[i], heed ? &action : &before[i], heed ? &before[i] : NULL);
}

struct watch {
	struct device_request *request;
	const struct device_plan *plan;
	struct device_heard *heard;
	uint64_t start, deadline, silence;
	unsigned int lost[DEVICE_ALLOCATORS_MAX];
	size_t pair; /* begun last by this worker; NO_PAIR: none */
	bool ended;  /* this worker reported that all pairs are done, or that none can be run */
	bool told;   /* it reported why its device is lost */
	pid_t worker;
	int from;
	char text[4096]; /* from its pipe, not yet split into lines */
	size_t used;
};

const char *device_heard_name(struct device_heard *heard, const char *text)
{
	char **names, *copy;
	size_t i;

	for (i = heard->name_count; i-- > 0;) {
		if (strcmp(heard->names[i], text) == 0)
			return heard->names[i];
	}
	names = realloc(heard->names, (heard->name_count + 1) * sizeof(*names));
	copy = names != NULL ? strdup(text) : NULL;
	if (names != NULL)
		heard->names = names;
	if (copy == NULL) {
		heard->results->incomplete = true;
		return "";
	}
	heard->names[heard->name_count++] = copy;
	return copy;
}

void device_heard_fini(struct device_heard *heard)
{
	size_t i;

	for (i = 0; i < heard->name_count; i++)
		free(heard->names[i]);
	free(heard->names);
	heard->names = NULL;
	heard->name_count = 0;
}

static const struct device_cell *cell_of(const struct watch *watch)
{
	return &watch->plan->cells[watch->pair / watch->request->allocator_count];
}

static const struct device_allocator *allocator_of(const struct watch *watch)
{
	return &watch->request->allocators[watch->pair % watch->request->allocator_count];
}

static void say_next(const struct watch *watch)
{
	const struct device_cell *cell = cell_of(watch);
	const char *prefix = watch->request->suite->prefix, *name = allocator_of(watch)->name;
	const char *work = watch->request->suite->works[cell->work].name;

	if (watch->request->verbose)
		fprintf(stderr, "%.1f s: %s-%s %s %s\n", (double)(bench_now() - watch->start) / 1e9,
			prefix, work, cell->parameter, name);
	else if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s-%s %s %s", prefix, work, cell->parameter, name);
}

/* The device was lost in the pair begun last. */
static void note_loss(struct watch *watch, const char *why)
{
	const struct device_cell *cell;
	const char *name;
	char text[32];
	size_t which;

	if (watch->pair == NO_PAIR) {
		bench_results_note(watch->heard->results, "the device failed: %s", why);
		return;
	}
	cell = cell_of(watch);
	name = allocator_of(watch)->name;
	which = watch->pair % watch->request->allocator_count;
	snprintf(text, sizeof(text), "%s-%s", watch->request->suite->prefix,
		 watch->request->suite->works[cell->work].name);
	bench_results_note(watch->heard->results, "%s %s: %s: %s", text, cell->parameter, name,
			   why);
	bench_results_add(watch->heard->results, device_heard_name(watch->heard, text),
			  device_heard_name(watch->heard, name),
			  device_heard_name(watch->heard, cell->parameter), "lost", 1);
	if (++watch->lost[which] == MAX_LOST) {
		watch->request->usable[which] = false;
		bench_results_note(watch->heard->results,
				   "%s lost the device %d times and was not asked again", name,
				   MAX_LOST);
	}
}

static void read_row(struct watch *watch, char *const fields[FIELDS])
{
	struct device_heard *heard = watch->heard;

	bench_results_add(heard->results, device_heard_name(heard, fields[1]),
			  device_heard_name(heard, fields[2]), device_heard_name(heard, fields[3]),
			  device_heard_name(heard, fields[4]), strtod(fields[5], NULL));
}

static void read_line(struct watch *watch, char *line)
{
	struct device_heard *heard = watch->heard;
	char *fields[FIELDS] = { line, "", "", "", "", "" }, *at = line;
	size_t count = 1;

	while (count < FIELDS && (at = strchr(at, '\t')) != NULL) {
		*at++ = '\0';
		fields[count++] = at;
	}
	switch (line[0]) {
	case 'B':
		watch->pair = strtoul(fields[1], NULL, 10);
		say_next(watch);
		break;
	case 'R': read_row(watch, fields); break;
	case 'N': bench_results_note(heard->results, "%s", fields[1]); break;
	case 'G':
		snprintf(heard->machine->gpu, sizeof(heard->machine->gpu), "%s", fields[1]);
		snprintf(heard->machine->driver, sizeof(heard->machine->driver), "%s", fields[2]);
		break;
	case 'T':
		note_loss(watch, fields[1]);
		watch->told = true;
		break;
	case 'X':
		if (watch->pair == NO_PAIR)
			snprintf(heard->refusal, sizeof(heard->refusal), "%s", fields[1]);
		watch->ended = true;
		break;
	case 'L': heard->late = true; break;
	case 'Z': watch->ended = true; break;
	default: break;
	}
}

/* Reads from the pipe, line by line; a line that does not fit is cut. */
static void read_text(struct watch *watch)
{
	char *line = watch->text, *end;

	watch->text[watch->used] = '\0';
	while ((end = strchr(line, '\n')) != NULL) {
		*end = '\0';
		read_line(watch, line);
		line = end + 1;
	}
	watch->used -= (size_t)(line - watch->text);
	if (watch->used == sizeof(watch->text) - 1)
		watch->used = 0;
	memmove(watch->text, line, watch->used);
}

/*
 * Reads until the pipe ends, a timeout, or a signal; returns false if the worker had to be killed.
 */
static bool listen(struct watch *watch)
{
	const uint64_t end = watch->deadline + watch->silence;
	struct pollfd wait = { .fd = watch->from, .events = POLLIN };
	uint64_t heard_at = bench_now();
	ssize_t count;

	for (;;) {
		const int ready = poll(&wait, 1, 250);

		if (ready > 0) {
			assert(watch->used < sizeof(watch->text) - 1); /* read_text leaves room */
			count = read(watch->from, watch->text + watch->used,
				     sizeof(watch->text) - 1 - watch->used);
			if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN))
				return true;
			if (count > 0) {
				watch->used += (size_t)count;
				read_text(watch);
				heard_at = bench_now();
			}
		}
		if (stopped || bench_now() > heard_at + watch->silence || bench_now() > end) {
			kill(watch->worker, SIGKILL);
			return false;
		}
	}
}

/* Runs one worker, starting at pair `first`. Returns false if it cannot be started. */
static bool run_worker(struct watch *watch, size_t first)
{
	int pipe_ends[2], status = 0;
	char why[80];
	bool quiet;

	if (pipe(pipe_ends) != 0)
		return false;
	fflush(NULL);
	watch->worker = fork();
	if (watch->worker < 0) {
		close(pipe_ends[0]);
		close(pipe_ends[1]);
		return false;
	}
	if (watch->worker == 0) {
		close(pipe_ends[0]);
		heed_signals(false);
		device_worker(watch->request, watch->plan, first, watch->deadline, pipe_ends[1]);
	}
	close(pipe_ends[1]);
	watch->from = pipe_ends[0];
	watch->used = 0;
	watch->pair = NO_PAIR;
	watch->ended = watch->told = false;
	quiet = !listen(watch);
	close(watch->from);
	while (waitpid(watch->worker, &status, 0) < 0 && errno == EINTR)
		;
	if (watch->ended || watch->told || stopped)
		return true;
	if (quiet)
		snprintf(why, sizeof(why), "the driver did not come back");
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "the process died of signal %d", WTERMSIG(status));
	else
		snprintf(why, sizeof(why), "the process ended with status %d",
			 WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	note_loss(watch, why);
	return true;
}

bool device_watch(struct device_request *request, const struct device_plan *plan,
		  struct device_heard *heard)
{
	struct watch watch = {
		.request = request, .plan = plan, .heard = heard, .start = bench_now()
	};
	size_t next = 0;

	watch.silence = (6 * (uint64_t)bench_gpu_limit() + 2) * SECOND;
	watch.deadline = watch.start + request->effort.deadline_ns;
	stopped = 0;
	heed_signals(true);
	for (;;) {
		if (!run_worker(&watch, next)) {
			snprintf(heard->refusal, sizeof(heard->refusal),
				 "no process could be started: %s", strerror(errno));
			break;
		}
		if (watch.ended || stopped || watch.pair == NO_PAIR)
			break;
		next = watch.pair + 1;
	}
	heed_signals(false);
	if (!request->verbose && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	if (stopped)
		bench_results_note(heard->results,
				   "cells left out: the bench was stopped by signal %d",
				   (int)stopped);
	if (heard->late)
		bench_results_note(heard->results, "cells left out: the bench's time was up");
	heard->stopped = stopped != 0;
	return heard->refusal[0] == '\0';
}
