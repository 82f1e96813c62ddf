/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg.c - an SVG file: elements, texts, paths, and the axes of a plot.
 */
#include "kit/svg.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kit/format.h"
#include "kit/page.h"

#define NUMBER_MAX 1e9

/* The colors of the pages (kit/common.css). */
static const char style[] =
	"<style>\n"
	"text{font:12px system-ui,-apple-system,'Segoe UI','Noto Sans','DejaVu Sans',sans-serif;"
	"fill:#5c6779}\n"
	".title{font-size:20px;font-weight:600;fill:#1c2330}\n"
	".head{font-size:14px;fill:#1c2330}\n"
	".name{font-size:13px;font-weight:600;fill:#1c2330}\n"
	".row{font-size:13px;fill:#1c2330}\n"
	".ink{fill:#1c2330}\n"
	".middle{text-anchor:middle}\n"
	".end{text-anchor:end}\n"
	".small{font-size:11px}\n"
	".page{fill:#f6f7f9}\n"
	".paper{fill:#fff;stroke:#d9dee6}\n"
	".grid{stroke:#edf0f4}\n"
	".tick{stroke:#5c6779}\n"
	".mark{stroke:#111827;fill:none}\n"
	".edge{stroke:#000;stroke-opacity:.25;stroke-width:3}\n"
	".thin{stroke-width:.6}\n"
	".bad{stroke:#c81e3c;fill:none}\n"
	".badtext{fill:#c81e3c;font-weight:600}\n"
	".free_block{fill:#fbe3e0}\n"
	".live{stroke:#2367c9;stroke-width:1.2;fill:none}\n"
	".under{fill:#2367c9;fill-opacity:.18}\n"
	".high{stroke:#d0472f;stroke-width:1.6;fill:none}\n"
	".reserved{stroke:#6b7687;stroke-width:1.6;stroke-dasharray:7 4;fill:none}\n"
	".physical{stroke:#0b8a63;stroke-width:1.6;stroke-dasharray:2 3;fill:none}\n"
	".recorded{stroke:#7a3fc0;stroke-width:1.6;stroke-dasharray:10 3 2 3;fill:none}\n"
	"@media (prefers-color-scheme:dark){\n"
	"text{fill:#96a2b4}\n"
	".title,.head,.name,.row,.ink{fill:#e6eaf1}\n"
	".page{fill:#11151c}\n"
	".paper{fill:#191f29;stroke:#313a48}\n"
	".grid{stroke:#242c38}\n"
	".tick{stroke:#96a2b4}\n"
	".mark{stroke:#fff}\n"
	".bad{stroke:#ff6680}\n"
	".badtext{fill:#ff6680}\n"
	".free_block{fill:#43232c}\n"
	".live{stroke:#6ea8ff}\n"
	".under{fill:#6ea8ff}\n"
	".high{stroke:#ff8a6b}\n"
	".reserved{stroke:#a3adbb}\n"
	".physical{stroke:#3fd0a0}\n"
	".recorded{stroke:#bb9bff}\n"
	"}\n"
	"</style>\n"
	"<defs><pattern id=\"free_blocks\" width=\"7\" height=\"7\" "
	"patternUnits=\"userSpaceOnUse\">"
	"<rect class=\"free_block\" width=\"7\" height=\"7\"/>"
	"<path class=\"bad\" d=\"M-1 8L8 -1M-1 1L1 -1M6 8L8 6\"/></pattern></defs>\n";

static void put_number(FILE *file, double number)
{
	char text[32];
	int length;

	if (!(fabs(number) < NUMBER_MAX))
		number = 0;
	length = snprintf(text, sizeof(text), "%.1f", number);
	if (text[length - 1] == '0')
		text[length - 2] = '\0';
	fputs(strcmp(text, "-0") == 0 ? "0" : text, file);
}

void svg_begin(FILE *file, double height, const char *title, const char *what)
{
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
		"height=\"%.0f\" role=\"img\">\n"
		"<!-- SPDX-License-Identifier: Apache-2.0 -->\n<title>",
		SVG_WIDTH, height, SVG_WIDTH, height);
	page_markup(file, title);
	fprintf(file, " - %s</title>\n%s", what, style);
	svg_open(file, "rect", "page", "width height", SVG_WIDTH, height);
	svg_close(file, NULL);
}

bool svg_end(FILE *file)
{
	fputs("</svg>\n", file);
	return !ferror(file) && fflush(file) == 0;
}

void svg_open_with(FILE *file, const char *element, const char *look, const char *names,
		   const double *numbers)
{
	fprintf(file, "<%s", element);
	if (look)
		svg_attribute(file, "class", look);
	while (*names) {
		int length = (int)strcspn(names, " ");

		fprintf(file, " %.*s=\"", length, names);
		put_number(file, *numbers++);
		putc('"', file);
		names += length + (names[length] == ' ');
	}
}

void svg_attribute(FILE *file, const char *name, const char *text)
{
	fprintf(file, " %s=\"", name);
	page_markup(file, text);
	putc('"', file);
}

void svg_inside(FILE *file)
{
	putc('>', file);
}

void svg_close(FILE *file, const char *element)
{
	if (element)
		fprintf(file, "</%s>\n", element);
	else
		fputs("/>\n", file);
}

void svg_text(FILE *file, double x, double y, const char *look, const char *text)
{
	svg_open(file, "text", look, "x y", x, y);
	svg_inside(file);
	page_markup(file, text);
	svg_close(file, "text");
}

double svg_width(const char *text)
{
	return 6.8 * (double)strlen(text);
}

static void begin_path(struct svg_path *path)
{
	FILE *file = path->file;

	svg_open(file, "path", path->look, path->width > 0 ? "stroke-width" : "", path->width);
	if (path->fill || path->stroke)
		svg_attribute(file, "fill", path->fill ? path->fill : "none");
	if (path->stroke)
		svg_attribute(file, "stroke", path->stroke);
	fputs(" d=\"", file);
	path->begun = true;
}

void svg_draw_with(struct svg_path *path, const char *commands, const double *numbers)
{
	if (!path->begun)
		begin_path(path);
	for (; *commands; commands++) {
		putc(*commands, path->file);
		if (*commands == 'z')
			continue;
		put_number(path->file, *numbers++);
		if (*commands != 'M' && *commands != 'L')
			continue;
		path->x = numbers[-1];
		path->y = *numbers++;
		putc(' ', path->file);
		put_number(path->file, path->y);
	}
}

void svg_box(struct svg_path *path, double x, double y, double width, double height)
{
	svg_draw(path, "Mhvhz", x, y, width, height, -width);
}

void svg_step(struct svg_path *path, double x, double y)
{
	if (fabs(y - path->y) < 0.05 || (floor(x) == floor(path->x) && y > path->y))
		return;
	svg_draw(path, "HV", x, y);
	path->x = x;
	path->y = y;
}

void svg_path_end(struct svg_path *path)
{
	if (path->begun)
		fputs("\"/>\n", path->file);
	path->begun = false;
}

void svg_line(FILE *file, const char *look, double x, double y, double width, double height)
{
	struct svg_path path = { .file = file, .look = look };

	if (width != 0)
		svg_draw(&path, "Mh", x, y, width);
	else
		svg_draw(&path, "Mv", x, y, height);
	svg_path_end(&path);
}

void svg_frame(FILE *file, double y, double width, double height)
{
	svg_open(file, "rect", "paper", "x y width height", SVG_LEFT, y, width, height);
	svg_close(file, NULL);
}

double svg_tick_step(double span, int max, bool binary)
{
	static const double leading[] = { 1, 2, 5 };
	double rough = fmax(span / max, 1), power = pow(10, floor(log10(rough)));

	if (binary)
		return exp2(ceil(log2(rough)));
	for (int i = 0; i < 3; i++)
		if (leading[i] * power >= rough)
			return leading[i] * power;
	return 10 * power;
}

void svg_tick(FILE *file, double x, double y, const char *text)
{
	svg_line(file, "tick", x, y, 0, 5);
	svg_text(file, x, y + 20, "middle", text);
}

void svg_count_axis(FILE *file, double y, double count, const char *name)
{
	double step = svg_tick_step(count, 10, false);

	for (double at = 0; at <= count; at += step)
		svg_tick(file, SVG_LEFT + at / count * SVG_PLOT, y,
			 format_count((uint64_t)at).text);
	svg_text(file, SVG_LEFT + SVG_PLOT / 2, y + 40, "middle", name);
}

struct svg_bytes svg_bytes_of(double span, double step)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct svg_bytes bytes = { .scale = 1 };
	int unit = 0;

	while (unit < 6 && bytes.scale * 1024 <= fmin(span, step * 8)) {
		bytes.scale *= 1024;
		unit++;
	}
	bytes.unit = units[unit];
	for (double part = step; part < bytes.scale; part *= 2)
		bytes.digits++;
	return bytes;
}

void svg_byte_axis(FILE *file, double y, double height, double top, int max, const char *name,
		   bool grid)
{
	double step = svg_tick_step(top, max, true);
	struct svg_bytes bytes = svg_bytes_of(top, step);
	char text[80], turn[80];

	for (double at = 0; at <= top; at += step) {
		double line = y + height - at / top * height;

		snprintf(text, sizeof(text), "%.*f", bytes.digits, at / bytes.scale);
		svg_text(file, SVG_LEFT - 10, line + 4, "end", text);
		svg_line(file, "tick", SVG_LEFT, line, -5, 0);
		if (grid)
			svg_line(file, "grid", SVG_LEFT, line, SVG_PLOT, 0);
	}
	snprintf(text, sizeof(text), "%s (%s)", name, bytes.unit);
	snprintf(turn, sizeof(turn), "translate(24 %.1f) rotate(-90)", y + height / 2);
	svg_open(file, "text", "middle", "", 0);
	svg_attribute(file, "transform", turn);
	svg_inside(file);
	page_markup(file, text);
	svg_close(file, "text");
}
