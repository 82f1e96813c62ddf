/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.c - `mam top`: the GPU memory of all processes of this user that use mam, while they run.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "kit/args.h"
#include "kit/message.h"
#include "top/clock.h"
#include "top/model.h"
#include "top/nvml.h"
#include "top/output.h"
#include "top/screen.h"

#define INTERVAL_MIN 0.1
#define INTERVAL_MAX 86400.0

struct settings {
	uint64_t count;
	const char *interval;
	bool plain, parseable, json;
};

static const struct args_option options[] = {
	{ "count", 'n', ARGS_COUNT, offsetof(struct settings, count), "N", NULL,
	  "end after N samples; default: when the user quits" },
	{ "delay", 'd', ARGS_TEXT, offsetof(struct settings, interval), "SECONDS", NULL,
	  "time between samples; default: 1" },
	{ "plain", 0, ARGS_FLAG, offsetof(struct settings, plain), NULL, NULL,
	  "print one table per sample, for screen readers and logs" },
	{ "parseable", 'p', ARGS_FLAG, offsetof(struct settings, parseable), NULL, NULL,
	  "print one line per pool and sample, for scripts" },
	{ "json", 0, ARGS_FLAG, offsetof(struct settings, json), NULL, NULL,
	  "print one JSON object per sample" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "mam top",
	.use = "[OPTION]...",
	.intro =
		"Show the GPU memory of all processes of this user that use mam, by mam run or by\n"
		"the library. F1 shows the keys.\n",
	.outro = "Examples:\n"
		 "  mam top                           the screen\n"
		 "  mam top -n 1 --plain              one table\n"
		 "  mam top -d 10 -p > memory.tsv     a line per pool every 10 seconds\n",
	.options = options,
};

static bool parse_interval(const char *text, uint64_t *ms)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end != '\0' || !(seconds >= INTERVAL_MIN && seconds <= INTERVAL_MAX)) {
		message_error("'%s' is not a number of seconds from 0.1 to 86400; see 'mam top "
			      "--help'",
			      text);
		return false;
	}
	*ms = (uint64_t)(seconds * 1000 + 0.5);
	return true;
}

/* Samples do not drift apart by the time that they take. */
static void wait_until(uint64_t ns)
{
	struct timespec until = { .tv_sec = (time_t)(ns / 1000000000),
				  .tv_nsec = (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
}

static uint64_t date_ms(void)
{
	struct timespec now = { .tv_sec = 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool print_sample(const struct settings *settings, const struct top_model *model,
			 bool is_first)
{
	const struct top_order order = { .column = TOP_LIVE };
	struct top_rows rows;

	if (settings->json) {
		output_json(model, date_ms());
	} else if (settings->parseable) {
		output_lines(model, date_ms(), is_first);
	} else {
		if (!top_rows_build(&rows, model, &order))
			return false;
		output_table(model, &rows, date_ms());
		top_rows_fini(&rows);
	}
	return true;
}

/* A failed write ends the output; mam.c reports it. */
static bool print_samples(const struct settings *settings, struct top_model *model,
			  uint64_t interval_ms)
{
	uint64_t next_ns = clock_ns();

	for (uint64_t i = 0;; i++) {
		if (!top_model_sample(model, clock_ns()))
			return false;
		nvml_sample(model);
		if (!print_sample(settings, model, i == 0))
			return false;
		if (fflush(stdout) != 0 || i + 1 == settings->count)
			return true;
		next_ns += interval_ms * 1000000;
		wait_until(next_ns);
	}
}

int top_main(int argc, char **argv)
{
	struct settings settings = { .interval = "1" };
	static struct top_model model;
	int first, status;
	uint64_t interval_ms;

	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (first < argc) {
		message_error("unexpected argument '%s'; see 'mam top --help'", argv[first]);
		return STATUS_BAD;
	}
	if (settings.plain + settings.parseable + settings.json > 1) {
		message_error("--plain, --parseable and --json exclude each other");
		return STATUS_BAD;
	}
	if (!parse_interval(settings.interval, &interval_ms))
		return STATUS_BAD;
	if (!isatty(STDOUT_FILENO) && !settings.plain && !settings.parseable && !settings.json) {
		settings.plain = true;
		settings.count = settings.count == 0 ? 1 : settings.count;
	}
	if (settings.plain || settings.parseable || settings.json)
		status = print_samples(&settings, &model, interval_ms) ? STATUS_GOOD : STATUS_BAD;
	else
		status = screen_run(&model, interval_ms, settings.count);
	top_model_fini(&model);
	return status;
}
