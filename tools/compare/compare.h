/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.h - `mam replay --compare`: one trace under several settings, side by side.
 *
 *   compare.c         file after file, setting after setting
 *   compare_list.c    which settings: the usual ones, or the user's own
 *   compare_name.c    what a setting is called: by what differs
 *   compare_reckon.c  what no replay tells: a cudaMalloc for each block, a driver's time for chunks
 *   compare_choice.c  which one needs least, which is quickest, which one would choose
 *   compare_mean.c    several traces as one
 *   compare_table.c   the numbers, for people and for scripts
 *   compare_html.c    the page; its parts lie in compare/
 *   compare_svg.c     a still of its curves
 *
 * What a setting needs is the memory that the GPU would have to have: where chunks are taken or
 * memory is mapped as needed, the most that the driver had given; with one chunk and no growth,
 * whose size somebody has to choose, its high water.
 */
#ifndef TOOLS_COMPARE_H
#define TOOLS_COMPARE_H

#include <stdio.h>

#include "replay/replay.h"

#define COMPARE_MOST 16 /* settings at once */
#define COMPARE_NAME_BYTES 96

struct compare_setting {
	struct replay_settings given;    /* as the words say */
	struct replay_settings settings; /* complete */
	char name[COMPARE_NAME_BYTES];   /* for people: what differs from the others */
};

struct compare_list {
	struct compare_setting settings[COMPARE_MOST];
	size_t count;
	char *text; /* the words, which settings point into */
};

/*
 * compare_list_make - the settings that base->compare asks for, all else as base has it, for so
 * many files. `base` is as the command line gave it, not yet complete. False: not possible, which
 * was said, and there is nothing to give back.
 */
bool compare_list_make(const struct replay_settings *base, int files, struct compare_list *list);
void compare_list_fini(struct compare_list *list);

/* compare_name - call each of the list by what differs. */
void compare_name(struct compare_list *list);

/* How one trace fared under one setting. */
struct compare_row {
	const struct compare_setting *setting; /* NULL: a cudaMalloc for each block, reckoned */
	struct replay_result result;           /* of what is reckoned, only what is known is set */
	struct map *map;                       /* NULL: of what is reckoned */
	uint64_t needed_bytes;
	double needed_ratio;     /* to the most that was live */
	double high_water_ratio; /* the same */
	double holes;            /* in holes at the peak, to what is live then; -1: not known */
	double waste;            /* by rounding, the same */
	double driver_ms;        /* in the driver's calls, whoever says so; -1: nobody does */
	double ns_per_event;     /* of the fastest pass, the driver's share too */
};

/* One trace under all settings; the last row is the reckoned one. */
struct compare_table {
	struct replay_trace trace;
	uint64_t peak_live_bytes; /* of one copy of the trace */
	struct compare_row rows[COMPARE_MOST + 1];
	size_t count;
};

/* What a table comes down to. Numbers of rows, or COMPARE_NONE. */
#define COMPARE_NONE SIZE_MAX

struct compare_choice {
	size_t memory; /* needs least */
	size_t time;   /* is quickest */
	size_t choice; /* the quickest of those within COMPARE_SLACK of the least memory */
	bool others;   /* some were not to choose from: they ask the program for other promises */
};

#define COMPARE_SLACK 0.02 /* so much more memory is as good as the least */
#define COMPARE_NOISE 0.1  /* times so near to each other are the same */

/* compare_main - `mam replay --compare`, for the files at `paths`; an exit status. */
int compare_main(const struct replay_settings *base, char **paths, int count);

const char *compare_row_name(const struct compare_row *row);

/* compare_reckon_each - the last row: each block by a cudaMalloc of its own. */
void compare_reckon_each(const struct replay_trace *trace, struct compare_row *row);

/* compare_reckon - what follows from a row's result, for so many bytes live at the peak. */
void compare_reckon(struct compare_row *row, uint64_t peak_live_bytes);

/* compare_is_size - could any memory have such a block? What is larger is never live. */
bool compare_is_size(uint64_t bytes);

/* compare_peak_live - the most bytes of a trace that are live at once. */
uint64_t compare_peak_live(const struct replay_trace *trace);

struct compare_choice compare_choose(const struct compare_table *table);

/* compare_choice_say - the choice as sentences. */
void compare_choice_say(const struct compare_table *table, FILE *file);

/* compare_notes_say - what the numbers alone do not tell: failures, waits, where times are from. */
void compare_notes_say(const struct compare_table *table, FILE *file);

/* compare_choice_code - how a program is told: "MAM_SOURCE=vmm MAM_CACHE=off". */
void compare_choice_code(const struct compare_row *row, char *text, size_t bytes);

/* compare_size - a size as an option takes it: "64M", "1.5G", "1000". */
void compare_size(uint64_t size, char *text, size_t bytes);

/* compare_mean - several traces under the same settings as one table of geometric means. */
void compare_mean(const struct compare_table *tables, int count, struct compare_table *mean);

/* compare_report - print what was found of all files. */
void compare_report(const struct replay_settings *base, const struct compare_table *tables,
		    int count);

/* The two kinds of picture. False: writing failed, errno says why. */
bool compare_html(FILE *file, const struct compare_table *table);
bool compare_svg(FILE *file, const struct compare_table *table);

#endif
