/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame_svg.c - a profile as a still picture: the flame graph of a view, and live bytes over
 * time.
 *
 * The number of rectangles is bounded: the least width of a frame grows until they fit. So a
 * profile of any size gives a file of a few MiB at most, and the caption reports what is missing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kit/format.h"
#include "kit/page.h"
#include "kit/svg.h"
#include "kit/utf8.h"
#include "map/map_color.h"
#include "flame/flame.h"
#include "profile/profile_view.h"

#define LEFT 20.0
#define WIDTH (SVG_WIDTH - 2 * LEFT)
#define TOP 70.0
#define ROW 18.0
#define ROWS_MAX 150u
#define RECTS_MAX 12000
#define LABEL_MIN 24.0 /* pixels: the least width of a rectangle with a label */
#define CHARACTER 6.3  /* pixels: the width of a character of a label, on average */
#define LABEL_MAX 192  /* characters: the picture is not wider */
#define CURVE_TOP 40.0 /* below the graph */
#define CURVE_HEIGHT 96.0

struct picture {
	FILE *file;
	const struct profile_view *view;
	struct flame flame;
	double *net;   /* of each place with those below it */
	double *width; /* likewise; of a difference, growth and decline add up */
	struct flame_rects rects;
	uint32_t rows;
	bool is_cut; /* there are more rows */
};

static struct map_rgb mix(struct map_rgb a, struct map_rgb b, double part)
{
	return (struct map_rgb){
		(unsigned char)(a.red * part + b.red * (1 - part) + 0.5),
		(unsigned char)(a.green * part + b.green * (1 - part) + 0.5),
		(unsigned char)(a.blue * part + b.blue * (1 - part) + 0.5),
	};
}

/* The colors of the page (page.css, view.js). */
static struct map_rgb color_of(const struct picture *picture, const struct flame_rect *rect)
{
	static const struct map_rgb white = { 255, 255, 255 }, same = { 0xdf, 0xe3, 0xea };
	static const struct map_rgb grew = { 0xef, 0x6a, 0x5b }, shrank = { 0x5b, 0x93, 0xe6 };
	static const unsigned char tones[] = { MAP_KINDS, 2, 0, 1, MAP_KINDS };
	const struct profile *profile = picture->view->profile;
	const uint32_t frame = profile->nodes[picture->flame.nodes[rect->place]].frame;
	const struct profile_frame *found = &profile->frames[frame];
	const uint32_t shade = (found->function * 31 + found->line) * 0x9e3779b1u >> 30;
	const double part = picture->net[rect->place] / picture->width[rect->place];

	if (rect->frames > 1)
		return mix(same, white, 0.7);
	if (picture->view->base)
		return mix(part > 0 ? grew : shrank, same, fabs(part));
	return mix(map_color_kind_rgb(tones[found->kind]), white, 0.38 + 0.055 * shade);
}

static struct format_text amount_text(const struct picture *picture, double amount)
{
	const struct profile *profile = picture->view->profile;
	struct format_text text;

	if (picture->view->by == PROFILE_BY_COUNT)
		return profile_blocks(amount);
	if (picture->view->by == PROFILE_BY_BYTES)
		return profile_bytes(amount);
	text = profile_bytes(profile->has_times ? amount / 1e9 : amount);
	strcat(text.text, profile->has_times ? " s" : " events");
	return text;
}

/* The name of a frame, and its file and line; at most `max` characters. */
static void put_frame(FILE *file, const struct profile *profile, uint32_t frame, size_t max)
{
	const struct profile_frame *found = &profile->frames[frame];
	const char *path = profile_text(profile, found->file), *slash = strrchr(path, '/');
	const char *name =
		found->kind == PROFILE_ROOT ? "all" : profile_text(profile, found->function);
	char text[8 * LABEL_MAX], *end = text;
	size_t left, cut = 0, count = 0;

	snprintf(text, sizeof(text), "%.*s", 4 * LABEL_MAX, name);
	left = strlen(text);
	if (*path && found->line)
		snprintf(text + left, sizeof(text) - left, " (%.*s:%u)", 2 * LABEL_MAX,
			 slash ? slash + 1 : path, found->line);
	left = strlen(text);
	for (size_t bytes; left; left -= bytes, end += bytes) {
		bytes = utf8_length(end, left);
		bytes += bytes == 0;
		if (count + 2 == max)
			cut = (size_t)(end - text);
		if (count++ < max)
			continue;
		text[cut] = '\0';
		page_markup(file, text);
		fputs("..", file);
		return;
	}
	page_markup(file, text);
}

static void put_tip(const struct picture *picture, const struct flame_rect *rect)
{
	const struct profile *profile = picture->view->profile;
	const double all = picture->width[0], width = picture->width[rect->place];

	svg_open(picture->file, "title", NULL, "", 0);
	svg_inside(picture->file);
	if (rect->frames > 1) {
		fprintf(picture->file, "%s too narrow to draw",
			format_counted(rect->frames, "frame").text);
	} else {
		put_frame(picture->file, profile,
			  profile->nodes[picture->flame.nodes[rect->place]].frame, LABEL_MAX);
		fprintf(picture->file, ": %s, %.1f %%",
			amount_text(picture, picture->net[rect->place]).text, 100 * width / all);
	}
	svg_close(picture->file, "title");
}

static void put_rect(const struct picture *picture, const struct flame_rect *rect)
{
	const struct profile *profile = picture->view->profile;
	const double gap = rect->width > 3 ? 1 : 0, x = LEFT + rect->x;
	const double y = TOP + (picture->rows - 1 - rect->depth) * ROW;

	svg_open(picture->file, "rect", NULL, "x y width height", x, y, rect->width - gap, ROW - 1);
	svg_attribute(picture->file, "fill", map_color_text(color_of(picture, rect)).text);
	svg_inside(picture->file);
	put_tip(picture, rect);
	svg_close(picture->file, "rect");
	if (rect->width < LABEL_MIN || rect->frames > 1)
		return;
	svg_open(picture->file, "text", "small", "x y", x + 4, y + 13);
	svg_attribute(picture->file, "style", "fill:#1c2330;pointer-events:none");
	svg_inside(picture->file);
	put_frame(picture->file, profile, profile->nodes[picture->flame.nodes[rect->place]].frame,
		  (size_t)((rect->width - 8) / CHARACTER));
	svg_close(picture->file, "text");
}

static double curve_x(const struct profile *profile, uint32_t moment)
{
	const struct profile_moment *first = profile->moments, *at = &first[moment];
	const struct profile_moment *last = &first[profile->moment_count - 1];
	const double time = profile->has_times ? (double)(at->time - first->time)
					       : (double)(at->event - first->event);
	const double all = profile->has_times ? (double)(last->time - first->time)
					      : (double)(last->event - first->event);

	return SVG_LEFT + (all > 0 ? time / all : 0) * SVG_PLOT;
}

/* Append live bytes over time to a path. */
static void draw_live(const struct profile *profile, struct svg_path *path, double foot, double top,
		      const char *first)
{
	for (uint32_t i = 0; i < profile->moment_count; i++)
		svg_draw(path, i ? "L" : first, curve_x(profile, i),
			 foot - profile->moments[i].live.bytes / top * CURVE_HEIGHT);
}

static void put_time(const struct picture *picture, double x, double y, const char *look,
		     uint32_t moment)
{
	const struct profile *profile = picture->view->profile;

	svg_text(picture->file, x, y, look,
		 profile_duration(profile, (double)profile->moments[moment].time).text);
}

/* Live bytes over time, with the view's moments. */
static void put_curve(const struct picture *picture, double y)
{
	const struct profile_view *view = picture->view;
	const struct profile *profile = view->profile;
	const double foot = y + CURVE_HEIGHT;
	struct svg_path area = { .file = picture->file, .look = "under" };
	struct svg_path line = { .file = picture->file, .look = "live" };
	double top = 1;

	for (uint32_t i = 0; i < profile->moment_count; i++)
		top = fmax(top, profile->moments[i].live.bytes);
	svg_frame(picture->file, y, SVG_PLOT, CURVE_HEIGHT);
	svg_byte_axis(picture->file, y, CURVE_HEIGHT, top, 4, "live", true);
	svg_draw(&area, "M", SVG_LEFT, foot);
	draw_live(profile, &area, foot, top, "L");
	svg_draw(&area, "Lz", SVG_LEFT + SVG_PLOT, foot);
	svg_path_end(&area);
	draw_live(profile, &line, foot, top, "M");
	svg_path_end(&line);
	svg_line(picture->file, "mark", curve_x(profile, view->moment), y, 0, CURVE_HEIGHT);
	if (view->base == profile)
		svg_line(picture->file, "mark", curve_x(profile, view->base_moment), y, 0,
			 CURVE_HEIGHT);
	put_time(picture, SVG_LEFT, foot + 18, NULL, 0);
	put_time(picture, SVG_LEFT + SVG_PLOT, foot + 18, "end", profile->moment_count - 1);
}

static const char *measure_text(const struct profile_view *view)
{
	if (view->by == PROFILE_BY_LIFETIME)
		return "bytes times the time that they were live";
	return view->by == PROFILE_BY_COUNT ? "live blocks" : "live bytes";
}

static void put_heading(const struct picture *picture)
{
	const struct profile_view *view = picture->view;
	const struct profile *profile = view->profile;
	const struct format_text name = format_name(profile->path, 39);
	const struct format_text amount = amount_text(picture, picture->net[0]);
	char text[200], when[100] = "";

	if (view->base)
		snprintf(when, sizeof(when), ", growth until %s",
			 profile_duration(profile, (double)profile->moments[view->moment].time)
				 .text);
	else if (view->by != PROFILE_BY_LIFETIME)
		snprintf(when, sizeof(when), " at %s%s",
			 view->moment == profile->peak ? "the peak, " : "",
			 profile_duration(profile, (double)profile->moments[view->moment].time)
				 .text);
	snprintf(text, sizeof(text), "%s%s: %s", measure_text(view), when, amount.text);
	svg_text(picture->file, LEFT, 34, "title", name.text);
	svg_text(picture->file, LEFT, 56, "head", text);
}

static bool draw(struct picture *picture)
{
	FILE *file = picture->file;
	double height;
	char note[240];

	picture->rects.width = WIDTH;
	picture->rects.narrowest = 0.5;
	do {
		picture->rects.count = 0;
		picture->rects.narrowest *= 2;
		if (!flame_layout(&picture->flame, picture->width, &picture->rects))
			return false;
	} while (picture->rects.count > RECTS_MAX);
	picture->rows = 1;
	for (size_t i = 0; i < picture->rects.count; i++)
		if (picture->rects.list[i].depth >= picture->rows)
			picture->rows = picture->rects.list[i].depth + 1;
	picture->is_cut = picture->rows > ROWS_MAX;
	if (picture->is_cut)
		picture->rows = ROWS_MAX;
	height = TOP + picture->rows * ROW;
	svg_begin(file, height + CURVE_TOP + CURVE_HEIGHT + 34,
		  format_name(picture->view->profile->path, 39).text, "memory profile");
	put_heading(picture);
	for (size_t i = 0; i < picture->rects.count; i++)
		if (picture->rects.list[i].depth < picture->rows)
			put_rect(picture, &picture->rects.list[i]);
	snprintf(note, sizeof(note), "%s. Frames narrower than %g px are omitted or merged%s.",
		 picture->view->base
			 ? "Red: more, blue: less; wide: much changed"
			 : "Blue: Python, orange: native code, green: tag, gray: unknown",
		 picture->rects.narrowest,
		 picture->is_cut ? ", and so are frames above these rows" : "");
	svg_text(file, LEFT, height + 16, "small", note);
	put_curve(picture, height + CURVE_TOP);
	svg_end(file);
	return true;
}

/* Sums at and below each place. */
static void fill_sums(struct picture *picture)
{
	const struct profile_view *view = picture->view;
	const struct flame *flame = &picture->flame;

	for (uint32_t i = flame->count; i-- > 0;) {
		picture->net[i] = view->value[flame->nodes[i]];
		picture->width[i] = fabs(picture->net[i]);
		for (uint32_t child = i + 1; child < flame->ends[i]; child = flame->ends[child]) {
			picture->net[i] += picture->net[child];
			picture->width[i] += picture->width[child];
		}
	}
}

bool profile_write_svg(FILE *file, const struct profile_view *view)
{
	struct picture picture = { .file = file, .view = view };
	bool good = flame_init(&picture.flame, view->profile);

	picture.net = malloc(view->profile->node_count * sizeof(*picture.net));
	picture.width = malloc(view->profile->node_count * sizeof(*picture.width));
	good = good && picture.net && picture.width;
	if (good) {
		fill_sums(&picture);
		good = draw(&picture);
	}
	free(picture.net);
	free(picture.width);
	free(picture.rects.list);
	if (picture.flame.count)
		flame_fini(&picture.flame);
	return good;
}
