/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.h - `mam replay --compare`: one trace under several settings, side by side.
 *
 *   compare.c         one file after another, one setting after another
 *   compare_list.c    the settings to compare: the default list, or the user's own
 *   compare_name.c    name each setting after its differences
 *   compare_compute.c  estimate what no replay measures: a cudaMalloc per block, a driver's time for
 *                     chunks
 *   compare_choice.c  the setting that needs least memory, the fastest, and the choice
 *   compare_mean.c    combine several traces
 *   compare_table.c   the numbers, for people and for scripts
 *   compare_html.c    the page; its parts are in compare/
 *   compare_svg.c     a static picture of its curves
 *
 * The memory that a setting needs is the GPU memory that it would require. If chunks are added or
 * memory is mapped on demand, that is the peak that the driver had allocated. With one chunk and no
 * growth, whose size the user has to choose, it is the high water mark.
 */
#ifndef TOOLS_COMPARE_H
#define TOOLS_COMPARE_H

#include <stdio.h>

#include "replay/replay.h"

#define COMPARE_MAX 16 /* maximum number of settings */
#define COMPARE_NAME_BYTES 96

struct map_step;

struct compare_setting {
	struct replay_settings given;    /* as specified */
	struct replay_settings settings; /* with defaults */
	char name[COMPARE_NAME_BYTES];   /* for people: the differences from the others */
};

struct compare_list {
	struct compare_setting settings[COMPARE_MAX];
	size_t count;
	char *text; /* the text into which settings point */
};

/*
 * compare_list_make - make the settings that base->compare specifies; their other options are those
 * of `base`, which is as on the command line, without defaults. `files` is the number of files.
 * False: the list is invalid (reported), and nothing needs to be freed.
 */
bool compare_list_make(const struct replay_settings *base, int files, struct compare_list *list);
void compare_list_fini(struct compare_list *list);

/* compare_name - name each setting of the list after its differences. */
void compare_name(struct compare_list *list);

/* The result of one trace under one setting. */
struct compare_row {
	const struct compare_setting *setting; /* NULL: the estimate for a cudaMalloc per block */
	struct replay_result result;           /* of an estimate, only the known fields are set */
	struct map *map;                       /* NULL for an estimate */
	uint64_t needed_bytes;
	double needed_ratio;     /* relative to peak live bytes */
	double high_water_ratio; /* likewise */
	double free_blocks;      /* free blocks, relative to live bytes, at the peak; -1: unknown */
	double waste;            /* lost to rounding, likewise */
	double driver_ms;        /* in the driver's calls, measured or estimated; -1: unknown */
	double ns_per_event;     /* of the fastest pass, including the driver's share */
};

/* One trace under all settings; the last row is the estimate. */
struct compare_table {
	struct replay_trace trace;
	uint64_t peak_live_bytes; /* of one copy of the trace */
	struct compare_row rows[COMPARE_MAX + 1];
	size_t count;
};

/* The conclusions from a table. Row indices, or COMPARE_NONE. */
#define COMPARE_NONE SIZE_MAX

struct compare_choice {
	size_t memory; /* needs least memory */
	size_t time;   /* is the fastest */
	size_t choice; /* the fastest within COMPARE_SLACK of the minimum of memory */
	bool others;   /* some settings are excluded: they require other guarantees */
};

#define COMPARE_SLACK 0.02 /* memory that exceeds the minimum by this share counts as equal */
#define COMPARE_NOISE 0.1  /* times that differ by this share count as equal */

/* compare_main - run `mam replay --compare` for the files at `paths`; returns an exit status. */
int compare_main(const struct replay_settings *base, char **paths, int count);

const char *compare_row_name(const struct compare_row *row);

/* compare_compute_each - estimate the last row: a separate cudaMalloc for each block. */
void compare_compute_each(const struct replay_trace *trace, struct compare_row *row);

/*
 * compare_compute - compute the derived fields of a row; `peak_live_bytes` are those of its trace.
 */
void compare_compute(struct compare_row *row, uint64_t peak_live_bytes);

/* compare_needed_at - the needed memory of a row from a step of its map on. */
uint64_t compare_needed_at(const struct compare_row *row, const struct map_step *step);

/*
 * compare_is_size - whether any memory could hold such a block. A larger one never counts as live.
 */
bool compare_is_size(uint64_t bytes);

/* compare_peak_live - the peak live bytes of a trace. */
uint64_t compare_peak_live(const struct replay_trace *trace);

struct compare_choice compare_choose(const struct compare_table *table);

/* compare_choice_say - print the recommendation as sentences. */
void compare_choice_say(const struct compare_table *table, FILE *file);

/* compare_notes_say - print what the numbers do not show: failures, waits, the origin of times. */
void compare_notes_say(const struct compare_table *table, FILE *file);

/* compare_choice_code - how to configure a program: "MAM_SOURCE=vmm MAM_CACHE=off". */
void compare_choice_code(const struct compare_row *row, char *text, size_t bytes);

/* compare_size - format a size as an option accepts it: "64M", "1.5G", "1000". */
void compare_size(uint64_t size, char *text, size_t bytes);

/* compare_mean - combine several traces under the same settings to a table of geometric means. */
void compare_mean(const struct compare_table *tables, int count, struct compare_table *mean);

/* compare_report - print the results of all files. */
void compare_report(const struct replay_settings *base, const struct compare_table *tables,
		    int count);

/* The two formats of the picture. False: writing failed, and errno has the reason. */
bool compare_html(FILE *file, const struct compare_table *table);
bool compare_svg(FILE *file, const struct compare_table *table);

#endif
