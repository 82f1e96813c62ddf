/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_legend.c - the legend of a map: a scale with its numbers, or one swatch per kind.
 */
#include "map/svg_view.h"

#include <math.h>

#include "kit/format.h"

#define KINDS_IN_ROW 3
#define ROW_HEIGHT 18.0
#define SCALE_HEIGHT 30.0

static int count_kinds(const struct map_tones *tones)
{
	int count = 0;

	for (int i = 0; i <= MAP_KINDS; i++)
		count += tones->kinds[i].blocks != 0;
	return count;
}

double svg_legend_height(const struct map_tones *tones)
{
	if (tones->rgb != map_color_kind_rgb)
		return SCALE_HEIGHT;
	return ROW_HEIGHT * ceil(fmax(count_kinds(tones), 1) / KINDS_IN_ROW);
}

static void put_swatch(FILE *file, struct map_rgb rgb, double x, double y, double width)
{
	const struct map_color_text color = map_color_text(rgb);
	struct svg_path path = { .file = file, .fill = color.text };

	svg_box(&path, x, y, width, 10);
	svg_path_end(&path);
}

static void put_number(FILE *file, double x, double y, uint64_t number, bool bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	struct format_text text = format_count(number);
	int unit = 0;

	if (bytes) {
		for (; number >= 1024 && unit < 3; unit++)
			number /= 1024;
		snprintf(text.text, sizeof(text.text), "%d %s", (int)number, units[unit]);
	}
	svg_text(file, x, y, "middle", text.text);
}

static void put_scale(const struct svg *svg, const struct map_tones *tones, bool age, double y)
{
	unsigned int count = age ? MAP_AGES : MAP_COLORS;
	unsigned int per = age ? MAP_AGE_PER_POWER : MAP_COLOR_PER_POWER;
	unsigned int first = age ? 0 : MAP_COLOR_FIRST, every = 3 * per;
	const double width = age ? 12 : 11;

	for (unsigned int i = 0; i < count; i++) {
		double x = SVG_LEFT + i * width;

		put_swatch(svg->file, tones->rgb(i), x, y, width + (i + 1 < count ? 0.5 : 0));
		if (i % every == 0)
			put_number(svg->file, x + width / 2, y + 24,
				   UINT64_C(1) << (first + i / per), !age);
	}
	if (!age)
		return;
	put_swatch(svg->file, tones->rgb(MAP_AGES), SVG_LEFT + count * width + 44, y, 10);
	svg_text(svg->file, SVG_LEFT + count * width + 60, y + 9, NULL, "never freed");
}

static void put_kinds(const struct svg *svg, const struct map_tones *tones, double y)
{
	char text[160];
	int at = 0;

	for (unsigned int i = 0; i <= MAP_KINDS; i++) {
		const struct map_kind *kind = &tones->kinds[i];
		double x = SVG_LEFT + at % KINDS_IN_ROW * (SVG_PLOT / KINDS_IN_ROW);
		int row = at / KINDS_IN_ROW;

		if (!kind->blocks)
			continue;
		put_swatch(svg->file, tones->rgb(i), x, y + row * ROW_HEIGHT, 10);
		snprintf(text, sizeof(text), "%s: %s, %s at the peak", kind->name,
			 format_counted(kind->blocks, "block").text,
			 format_bytes(kind->peak_bytes).text);
		svg_text(svg->file, x + 16, y + row * ROW_HEIGHT + 9, NULL, text);
		at++;
	}
}

void svg_legend(const struct svg *svg, enum map_view view, const struct map_tones *tones, double y)
{
	if (tones->rgb != map_color_kind_rgb)
		put_scale(svg, tones, view == MAP_VIEW_AGE, y);
	else if (tones->unknown)
		svg_text(svg->file, SVG_LEFT, y + 9, NULL,
			 "The trace does not record which thread allocated a block.");
	else
		put_kinds(svg, tones, y);
}
