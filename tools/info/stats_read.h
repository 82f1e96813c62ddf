/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_read.h - read a file of mam run --stats=FILE: lines of key, tab and number (mam-run(1),
 * STATISTICS).
 */
#ifndef TOOLS_STATS_READ_H
#define TOOLS_STATS_READ_H

#include <stdbool.h>
#include <stdint.h>

#define STATS_DEVICES_MAX 64

/* The numbers that are compared between processes. */
enum stats_value {
	STATS_CALLS,
	STATS_PEAK_LIVE,
	STATS_PEAK_RESERVED,
	STATS_PEAK_ALL, /* all memory under --limit, of pools and of the driver */
	STATS_LIVE_BLOCKS,
	STATS_VALUES
};

struct stats_section {
	uint64_t values[STATS_VALUES];
	unsigned int found; /* a bit per value that was in the file */
};

struct stats_file {
	uint64_t pid;
	uint64_t rank;
	bool has_pid, has_rank;
	struct stats_section whole;
	struct stats_section devices[STATS_DEVICES_MAX]; /* nothing was found: not used */
};

/* The key of a value: "calls_caught". */
const char *stats_key(enum stats_value value);

/*
 * stats_read - read the file at `path`. False: it cannot be read, has a line of another form, has a
 * key twice or lacks one (reported).
 */
bool stats_read(const char *path, struct stats_file *file);

#endif
