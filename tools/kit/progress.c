/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - a progress line for long operations. For one thread only.
 */
#include "kit/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_SECONDS 2.0
#define EACH_SECONDS 0.1

static bool enabled;
static bool shown; /* a line is shown and has to be erased */
static double begun;
static double last;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void progress_begin(bool quiet)
{
	enabled = !quiet && isatty(STDERR_FILENO);
	begun = now();
	last = begun;
}

void progress_show(const char *what, uint64_t done, uint64_t in_all)
{
	double time;

	if (!enabled)
		return;
	time = now();
	if (time - begun < FIRST_SECONDS || time - last < EACH_SECONDS)
		return;
	last = time;
	shown = true;
	if (in_all)
		fprintf(stderr, "\r\033[K%s: %.0f%%", what, 100.0 * (double)done / (double)in_all);
	else
		fprintf(stderr, "\r\033[K%s: %llu", what, (unsigned long long)done);
	fflush(stderr);
}

void progress_end(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
