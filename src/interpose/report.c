/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - what --stats prints when the process ends.
 *
 * It is made from host memory alone: by then CUDA is gone or going. It is a destructor of this
 * object, which runs after the program's own exit handlers and destructors, so after nearly all
 * of its frees. A process that never heard of CUDA looks at one variable of the environment and
 * does nothing, unless it is the one that mam run started: that one says that nothing was caught,
 * and what the reason may be.
 *
 * Two forms. For people, a table on standard error. For programs, MAM_STATS_FILE: lines of key,
 * tab, value. The process that mam run started fills that file; others put a dot and their own
 * number behind its name. A file is written under another name and then moved to its place, so
 * that nobody reads half of one.
 */
#define _GNU_SOURCE /* program_invocation_short_name, secure_getenv */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mam/options.h>

#include "interpose/count.h"
#include "interpose/init.h"
#include "interpose/pools.h"
#include "interpose/real.h"

static const struct {
	const char *key;
	const char *label;
} roads[] = {
	[MAM_ROAD_RUNTIME] = { "calls_runtime", "runtime symbol" },
	[MAM_ROAD_SYMBOL] = { "calls_driver", "driver symbol" },
	[MAM_ROAD_LOOKUP] = { "calls_lookup", "cuGetProcAddress" },
};

/* All that a report says, of one moment. */
struct numbers {
	uint64_t caught;               /* calls */
	uint64_t road[MAM_ROAD_COUNT]; /* calls */
	uint64_t fate[MAM_FATE_COUNT]; /* calls */
	struct mam_pools_sums pools;
	double ratio; /* peak reserved to peak live; 0: nothing lived */
};

struct text {
	char chars[4096];
	size_t length;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
	size_t room = sizeof(text->chars) - text->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text->chars + text->length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		text->length += (size_t)length < room ? (size_t)length : room - 1;
}

static bool put_out(const struct text *text, int file)
{
	size_t done = 0;

	while (done < text->length) {
		ssize_t written = write(file, text->chars + done, text->length - done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		done += (size_t)written;
	}
	return true;
}

static void collect(struct numbers *numbers)
{
	memset(numbers, 0, sizeof(*numbers));
	for (int road = 0; road < MAM_ROAD_COUNT; road++) {
		for (int fate = 0; fate < MAM_FATE_COUNT; fate++) {
			uint64_t calls = mam_count_get((enum mam_road)road, (enum mam_fate)fate);

			numbers->caught += calls;
			numbers->road[road] += calls;
			numbers->fate[fate] += calls;
		}
	}
	mam_pools_sum(&numbers->pools);
	if (numbers->pools.peak_live_bytes != 0)
		numbers->ratio = (double)numbers->pools.peak_reserved_bytes /
				 (double)numbers->pools.peak_live_bytes;
}

/* "1.43 GiB" */
static void put_bytes(struct text *text, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	put(text, value < 10 && unit > 0 ? "%.2f %s" : "%.0f %s", value, units[unit]);
}

static const char *likely_reason(void)
{
	if (mam_init_is_awake() && mam_init_is_off())
		return "mam was switched off with MAM_DISABLE";
	if (mam_init_is_awake())
		return "it looked for CUDA, but asked for no memory by a call that mam stands in "
		       "for";
	if (mam_real_is_loaded("libcuda.so") || mam_real_is_loaded("libcudart.so"))
		return "CUDA is there, but was found past mam, as a plugin opened with "
		       "RTLD_DEEPBIND finds it, or not used";
	return "it never loaded CUDA; processes that it started report for themselves, if they "
	       "could";
}

static void put_table(struct text *text, const struct numbers *numbers)
{
	if (numbers->caught == 0) {
		put(text, "mam: no CUDA memory call of %s (process %d) was caught: %s\n",
		    program_invocation_short_name, (int)getpid(), likely_reason());
		return;
	}
	put(text, "mam: CUDA memory calls of %s (process %d)\n", program_invocation_short_name,
	    (int)getpid());
	put(text, "  %-18s %12s %12s %12s %12s\n", "came by", "calls", "served", "forwarded",
	    "failed");
	for (int road = 0; road < MAM_ROAD_COUNT; road++) {
		if (numbers->road[road] == 0)
			continue;
		put(text, "  %-18s %12llu", roads[road].label,
		    (unsigned long long)numbers->road[road]);
		for (int fate = 0; fate < MAM_FATE_COUNT; fate++)
			put(text, " %12llu",
			    (unsigned long long)mam_count_get((enum mam_road)road,
							      (enum mam_fate)fate));
		put(text, "\n");
	}
	put(text, "  live at most ");
	put_bytes(text, numbers->pools.peak_live_bytes);
	put(text, ", reserved at most ");
	put_bytes(text, numbers->pools.peak_reserved_bytes);
	put(text, ": %.2f times; %llu blocks never freed\n", numbers->ratio,
	    (unsigned long long)numbers->pools.live_blocks);
}

static void put_keys(struct text *text, const struct numbers *numbers)
{
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{ "pid", (uint64_t)getpid() },
		{ "calls_caught", numbers->caught },
		{ roads[MAM_ROAD_RUNTIME].key, numbers->road[MAM_ROAD_RUNTIME] },
		{ roads[MAM_ROAD_SYMBOL].key, numbers->road[MAM_ROAD_SYMBOL] },
		{ roads[MAM_ROAD_LOOKUP].key, numbers->road[MAM_ROAD_LOOKUP] },
		{ "served", numbers->fate[MAM_FATE_SERVED] },
		{ "forwarded", numbers->fate[MAM_FATE_FORWARDED] },
		{ "failed", numbers->fate[MAM_FATE_FAILED] },
		{ "pools", numbers->pools.pools },
		{ "allocs", numbers->pools.allocs },
		{ "frees", numbers->pools.frees },
		{ "live_blocks", numbers->pools.live_blocks },
		{ "live_bytes", numbers->pools.live_bytes },
		{ "peak_live_bytes", numbers->pools.peak_live_bytes },
		{ "peak_reserved_bytes", numbers->pools.peak_reserved_bytes },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put(text, "%s\t%llu\n", rows[i].key, (unsigned long long)rows[i].value);
	put(text, "reserved_ratio\t%.4f\n", numbers->ratio);
}

static bool is_started_one(void)
{
	const char *number = secure_getenv("MAM_RUN_PID");

	return number != NULL && strtol(number, NULL, 10) == (long)getpid();
}

/* A pipe or a device is written to as it is; a file's name must never take its place. */
static bool write_special(const struct text *text, const char *path)
{
	int file = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	bool good = file >= 0 && put_out(text, file);

	return file >= 0 && close(file) == 0 && good;
}

static bool write_file(const struct text *text, const char *path)
{
	char place[PATH_MAX], beside[PATH_MAX];
	struct stat status;
	int length, file;
	bool good;

	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return write_special(text, path);
	if (is_started_one())
		length = snprintf(place, sizeof(place), "%s", path);
	else
		length = snprintf(place, sizeof(place), "%s.%d", path, (int)getpid());
	if (length < 0 || (size_t)length >= sizeof(place) - 8)
		return false;
	snprintf(beside, sizeof(beside), "%.*s.XXXXXX", length, place);
	file = mkostemp(beside, O_CLOEXEC);
	if (file < 0)
		return false;
	good = put_out(text, file);
	good = close(file) == 0 && good;
	good = good && rename(beside, place) == 0;
	if (!good)
		unlink(beside);
	return good;
}

static void report(void)
{
	const char *path = mam_option_value("MAM_STATS_FILE");
	struct numbers numbers;
	struct text text = { .length = 0 };

	collect(&numbers);
	if (numbers.caught == 0 && !is_started_one())
		return;
	if (path == NULL || path[0] == '\0') {
		put_table(&text, &numbers);
	} else {
		put_keys(&text, &numbers);
		if (write_file(&text, path))
			return;
		text.length = 0;
		put(&text, "mam: the statistics could not be written to %s: %s\n", path,
		    strerror(errno));
	}
	put_out(&text, STDERR_FILENO);
}

__attribute__((destructor)) static void at_exit(void)
{
	bool wanted = mam_init_is_awake() && mam_init_wants_stats();

	/*
	 * Options are not read for nothing: that may complain about them in a program without
	 * CUDA.
	 */
	if (!mam_init_is_awake() && is_started_one() && secure_getenv("MAM_STATS") != NULL)
		wanted = mam_option_number("MAM_STATS") != 0;
	if (wanted)
		report();
}
