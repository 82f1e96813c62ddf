/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - mam-bench-opencl: runs the cells of `mam bench kma` on an OpenCL device, and writes the
 * results in the format of bench/papers/kma/opencl.c, which runs it. It is a separate program so that mam
 * does not link with OpenCL.
 *
 * Exit status: 0; 1: an OpenCL call failed, which is reported; 2: invalid usage; 77: no device.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/kma/kma.h"
#include "bench/harness/lists.h"
#include "cl.h"
#include "command.h"
#include "kit/args.h"
#include "kit/message.h"

struct request {
	const char *only, *effort, *platform, *device;
	uint64_t seconds;
};

#define FIELD(name) offsetof(struct request, name)

static const struct args_option options[] = {
	{ "only", 0, ARGS_TEXT, FIELD(only), "LIST", NULL, "workloads of mam bench kma" },
	{ "effort", 0, ARGS_TEXT, FIELD(effort), "NAME", NULL, "full, quick or smoke" },
	{ "seconds", 0, ARGS_COUNT, FIELD(seconds), "N", NULL, "begin nothing after N seconds" },
	{ "platform", 0, ARGS_TEXT, FIELD(platform), "NAME-PART", NULL,
	  "the platform: one whose name has this in it" },
	{ "device", 0, ARGS_TEXT, FIELD(device), "NAME-PART", NULL,
	  "its device; by default the first GPU, or the first" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	"mam-bench-opencl",
	"[OPTION]...",
	"Run the cells of mam bench kma on an OpenCL device.\n",
	"mam bench kma runs it and prints its results; see mam-bench-kma(1).\n",
	options,
	false,
};

static const char *const names[] = { KMA_OPENCL, KMA_OPENCL_POOR };

/* ---- output ---- */

static void put_text(const char *text)
{
	for (; *text != '\0'; text++)
		putchar((unsigned char)*text < ' ' ? ' ' : *text);
	putchar('\n');
	fflush(stdout);
}

void device_row(struct device_run *run, const struct device_heap *heap,
		const struct device_cell *cell, const char *metric, double value)
{
	(void)run;
	printf("R\tkma-%s\t%s\t%s\t%s\t%.9g\n", kma_works[cell->work].name, heap->allocator->name,
	       cell->parameter, metric, value);
	fflush(stdout);
}

void device_note(struct device_run *run, const struct device_heap *heap,
		 const struct device_cell *cell, const char *format, ...)
{
	char sentence[600];
	va_list arguments;

	(void)run;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	printf("N\tkma-%s %s: %s: ", kma_works[cell->work].name, cell->parameter,
	       heap->allocator->name);
	put_text(sentence);
}

/* ---- the plan ---- */

static bool is_wanted(const struct request *request, const struct device_effort *effort,
		      const struct device_cell *cell, bool poor)
{
	return (request->only == NULL ||
		bench_in_list(request->only, kma_works[cell->work].name)) &&
	       (effort->fine || !cell->fine) &&
	       (!poor || cell->work == KMA_GRAPH || cell->work == KMA_SETUP);
}

/* Returns false if an OpenCL call failed. */
static bool play_cell(struct device_run *run, const struct device_cell *cell, bool poor)
{
	const struct device_allocator allocator = { .name = names[poor],
						    .role = poor ? DEVICE_CEILING : DEVICE_OURS,
						    .frees = !poor };
	struct device_heap heap = { .allocator = &allocator };
	char why[240];

	if (!cl_heap_make(run->play, poor, cell->heap_bytes, 0, why, sizeof(why))) {
		if (why[0] != '\0')
			device_note(run, &heap, cell, "%s", why);
	} else {
		(void)kma_works[cell->work].play(run, &heap, cell);
	}
	if (run->play->trouble[0] != '\0') {
		device_note(run, &heap, cell, "%s", run->play->trouble);
		device_row(run, &heap, cell, "lost", 1);
		return false;
	}
	cl_heap_end(run->play);
	return true;
}

static int play_all(struct device_run *run, const struct request *request,
		    const struct device_effort *effort)
{
	static struct device_plan plan;
	const uint64_t end =
		request->seconds > 0 ? bench_now() + request->seconds * 1000000000u : UINT64_MAX;
	size_t i;
	int poor;

	kma_plan_make(&plan);
	for (i = 0; i < plan.count; i++) {
		struct device_cell *cell = &plan.cells[i];

		kma_plan_shrink(cell, effort->MAX_ASKERS);
		if (cell->heap_bytes > effort->heap_max)
			cell->heap_bytes = effort->heap_max;
		for (poor = 0; poor < 2; poor++) {
			if (!is_wanted(request, effort, cell, poor == 1))
				continue;
			if (bench_now() > end) {
				printf("N\tcells of OpenCL left out: the bench's time was up\n");
				return STATUS_GOOD;
			}
			if (!play_cell(run, cell, poor == 1))
				return STATUS_FAILED;
		}
	}
	return STATUS_GOOD;
}

static const struct device_effort *effort_of(const char *name)
{
	size_t i;

	for (i = 0; i < KMA_EFFORTS; i++) {
		if (name == NULL || strcmp(kma_efforts[i].name, name) == 0)
			return &kma_efforts[i];
	}
	message_error("there is no effort '%s'; there are full, quick and smoke", name);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct device_play play;
	struct device_run run = { .play = &play };
	struct request request = { .only = NULL };
	const struct device_effort *effort;
	int first, status;

	message_begin(command.name);
	if (!args_parse(&command, argc, argv, &request, &first, &status))
		return status;
	if (first < argc) {
		message_error("'%s' is one word too many; see mam-bench-opencl --help",
			      argv[first]);
		return STATUS_BAD;
	}
	effort = effort_of(request.effort);
	if (effort == NULL)
		return STATUS_BAD;
	run.repeats = effort->repeats;
	run.warm = effort->warm;
	/*
	 * PoCL 3.1's default method, loopvec, miscompiles a loop around grow_local()'s barriers:
	 * all requests fail. repl and cbs generate correct code.
	 */
	(void)setenv("POCL_WORK_GROUP_METHOD", "cbs", 0);
	if (!cl_device_open(&play, request.platform != NULL ? request.platform : "",
			    request.device != NULL ? request.device : "")) {
		fputs("X\t", stdout);
		put_text(play.trouble);
		status = STATUS_NO_GPU;
	} else {
		printf("D\t%s\t%s\t%s\t%d\n", play.platform_name, play.device_name, play.driver,
		       play.is_processor);
		status = play_all(&run, &request, effort);
	}
	cl_device_close(&play);
	return status;
}
