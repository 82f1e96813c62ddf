/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_view.h - what an output shows of a profile: the live memory at a moment, or how it grew.
 */
#ifndef TOOLS_PROFILE_VIEW_H
#define TOOLS_PROFILE_VIEW_H

#include <stdio.h>

#include "kit/format.h"
#include "profile/profile_data.h"

struct profile_view {
	const struct profile *profile;
	uint32_t moment;
	enum profile_by by;
	uint64_t top;               /* rows of a list */
	const struct profile *base; /* of a difference; NULL: none */
	uint32_t base_moment;
	struct profile_amount
		*live; /* of each node without those below it; of a difference: growth */
	double *value; /* likewise, what `by` measures: bytes, count, bytes x time */
};

/*
 * profile_view_fill - compute `live` and `value`; the other fields are set. False: out of memory. The
 * caller calls profile_view_fini() in any case.
 */
bool profile_view_fill(struct profile_view *view);
void profile_view_fini(struct profile_view *view);

/* A place in the code with the numbers of all stacks that belong to it. */
struct profile_site {
	uint32_t frame;
	struct profile_amount live; /* of the view */
	double value;               /* of the view */
	struct profile_amount allocated, exit;
	double freed, lifetime; /* as in struct profile_leaf */
	uint64_t shortest;
	double variance; /* of the live bytes, if profile_has_error() */
};

/* profile_has_error - whether the view is sampled, and its error is known: at the peak and at exit. */
bool profile_has_error(const struct profile_view *view);

/*
 * profile_sites - the sites of a view, unsorted. That of a stack is its innermost Python frame, or
 * its innermost frame. NULL: out of memory.
 */
struct profile_site *profile_sites(const struct profile_view *view, uint32_t *count);

/* profile_put - write a text as UTF-8 without control characters. */
void profile_put(FILE *file, const char *text);

/* profile_put_frame - write a frame for people: "forward (train.py:88)". */
void profile_put_frame(FILE *file, const struct profile *profile, uint32_t frame);

/* profile_duration - a time, or a number of events. */
struct format_text profile_duration(const struct profile *profile, double time);

/* These accept growth below 0: "-1.20 GiB". */
struct format_text profile_bytes(double bytes);
struct format_text profile_blocks(double count);

/* The writers. Errors remain set in `file`. False: out of memory. */
bool profile_write_text(FILE *file, const struct profile_view *view);
bool profile_write_plain(FILE *file, const struct profile_view *view);
bool profile_write_tree(FILE *file, const struct profile_view *view);
bool profile_write_collapsed(FILE *file, const struct profile_view *view);
bool profile_write_speedscope(FILE *file, const struct profile_view *view);
bool profile_write_pprof(FILE *file, const struct profile_view *view);
bool profile_write_json(FILE *file, const struct profile_view *view);

/* In flame/. The base of a page is the same file, or NULL. */
bool profile_write_html(FILE *file, const struct profile_view *view);
bool profile_write_svg(FILE *file, const struct profile_view *view);

#endif
