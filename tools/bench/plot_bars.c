/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot_bars.c - bars from 0 to the right, in groups, each followed by its number.
 */
#include <string.h>

#include "plot.h"

#define TOP 72.0
#define BAR_LEFT 190.0
#define BAR_RIGHT 720.0
#define BAR_STEP 24.0
#define BAR_HEIGHT 15.0
#define GROUP_STEP 32.0

static bool begins_group(const struct plot_bars *plot, size_t at)
{
	return at == 0 || strcmp(plot->bars[at].group, plot->bars[at - 1].group) != 0;
}

double plot_bars_height(const struct plot_bars *plot)
{
	double height = TOP + 16;
	size_t i;

	for (i = 0; i < plot->count; i++)
		height += BAR_STEP + (begins_group(plot, i) ? GROUP_STEP : 0);
	return height;
}

void plot_bars_draw(FILE *file, const struct plot_bars *plot)
{
	double max = 0, y = TOP;
	char text[32], label[64];
	size_t i;

	for (i = 0; i < plot->count; i++) {
		if (plot->bars[i].value > max)
			max = plot->bars[i].value;
	}
	plot_svg_heading(file, plot->title, plot->subtitle);
	for (i = 0; i < plot->count; i++) {
		const struct plot_bar *bar = &plot->bars[i];
		double width = max > 0 ? (BAR_RIGHT - BAR_LEFT) * bar->value / max : 0;

		if (begins_group(plot, i)) {
			y += GROUP_STEP;
			plot_svg_text(file, 20, y - 10, "style=\"font-weight:600\"", bar->group);
		}
		plot_svg_text(file, BAR_LEFT - 10, y + 12, "text-anchor=\"end\"", bar->label);
		snprintf(label, sizeof(label), "%s%s",
			 plot_svg_show(bar->value, text, sizeof(text)), plot->unit);
		fprintf(file,
			"<rect class=\"%s\" stroke=\"none\" style=\"stroke:none\" x=\"%.1f\" "
			"y=\"%.1f\" "
			"width=\"%.1f\" height=\"%.1f\" rx=\"2\"><title>",
			bar->color, BAR_LEFT, y, width < 1 ? 1 : width, BAR_HEIGHT);
		plot_svg_put(file, bar->label);
		fputs(": ", file);
		plot_svg_put(file, label);
		fputs("</title></rect>\n", file);
		plot_svg_text(file, BAR_LEFT + (width < 1 ? 1 : width) + 7, y + 12,
			      "class=\"soft\"", label);
		y += BAR_STEP;
	}
	fprintf(file, "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		BAR_LEFT, TOP + 26, BAR_LEFT, y);
}
