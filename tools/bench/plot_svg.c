/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot_svg.c - the frame of a figure: SVG that needs no script.
 *
 * Colors are classes of one style, with a second set for a dark page, if the viewer requests it. An
 * allocator has the same color in every figure, and its name next to it in the text color, so that
 * readers need not distinguish colors. Numbers are in tooltips, too (<title>).
 */
#include <string.h>

#include "plot.h"
#include "kit/utf8.h"

static const char style[] =
	"<style>\n"
	"text{font:13px system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif;fill:#1c2330}\n"
	".title{font-size:16px;font-weight:600}\n"
	".soft{fill:#5c6779}\n"
	".foot{font-size:11px}\n"
	".grid{stroke:#d9dee6;stroke-width:1}\n"
	".axis{stroke:#8993a3;stroke-width:1}\n"
	".line{fill:none;stroke-width:2;stroke-linejoin:round}\n"
	".page{fill:#ffffff}\n"
	".ring{stroke:#ffffff;stroke-width:2}\n"
	".mam{stroke:#2a78d6;fill:#2a78d6}\n"
	".plain{stroke:#1a9c6d;fill:#1a9c6d}\n"
	".rmm{stroke:#c98500;fill:#c98500}\n"
	".torch{stroke:#d8403f;fill:#d8403f}\n"
	".async{stroke:#5a49bd;fill:#5a49bd}\n"
	".cuda{stroke:#6b7484;fill:#6b7484}\n"
	".other{stroke:#c2548a;fill:#c2548a}\n"
	".jemalloc{stroke:#0f8b9d;fill:#0f8b9d}\n"
	".mimalloc{stroke:#8a6d1d;fill:#8a6d1d}\n"
	".line.line{fill:none}\n"
	".line.mam{stroke-width:3.5}\n"
	".line.dash{stroke-dasharray:5 4}\n"
	"@media (prefers-color-scheme:dark){\n"
	"text{fill:#e8ebf0}\n"
	".soft{fill:#a7b0be}\n"
	".grid{stroke:#323945}\n"
	".axis{stroke:#6b7484}\n"
	".page{fill:#161a20}\n"
	".ring{stroke:#161a20}\n"
	".mam{stroke:#5598e7;fill:#5598e7}\n"
	".plain{stroke:#2fb98a;fill:#2fb98a}\n"
	".rmm{stroke:#e0a52e;fill:#e0a52e}\n"
	".torch{stroke:#ee7170;fill:#ee7170}\n"
	".async{stroke:#9d92ee;fill:#9d92ee}\n"
	".cuda{stroke:#98a2b3;fill:#98a2b3}\n"
	".other{stroke:#e07fad;fill:#e07fad}\n"
	".jemalloc{stroke:#45c1d3;fill:#45c1d3}\n"
	".mimalloc{stroke:#cdb262;fill:#cdb262}\n"
	"}\n"
	"</style>\n";

void plot_svg_put(FILE *file, const char *text)
{
	size_t left = strlen(text), bytes;

	/* A single byte of invalid text would make a browser reject the whole figure. */
	for (; left > 0; text += bytes, left -= bytes) {
		bytes = utf8_length(text, left);
		switch (*text) {
		case '&': fputs("&amp;", file); break;
		case '<': fputs("&lt;", file); break;
		case '>': fputs("&gt;", file); break;
		case '"': fputs("&quot;", file); break;
		default:
			if (bytes == 0)
				fputs(UTF8_UNKNOWN, file);
			else if ((unsigned char)*text < ' ')
				putc(' ', file);
			else
				fwrite(text, 1, bytes, file);
		}
		if (bytes == 0)
			bytes = 1;
	}
}

void plot_svg_text(FILE *file, double x, double y, const char *attributes, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	plot_svg_put(file, text);
	fputs("</text>\n", file);
}

const char *plot_svg_show(double value, char *text, size_t bytes)
{
	if (value >= 999500)
		snprintf(text, bytes, "%.3gM", value / 1e6);
	else if (value >= 999.5)
		snprintf(text, bytes, "%.3gk", value / 1e3);
	else
		snprintf(text, bytes, "%.3g", value);
	return text;
}

void plot_svg_begin(FILE *file, const char *title, double height)
{
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
		"height=\"%.0f\" role=\"img\">\n<!-- SPDX-License-Identifier: Apache-2.0 "
		"-->\n<title>",
		PLOT_WIDTH, height, PLOT_WIDTH, height);
	plot_svg_put(file, title);
	fprintf(file, "</title>\n%s", style);
	fprintf(file, "<rect class=\"page\" width=\"%d\" height=\"%.0f\" rx=\"6\"/>\n", PLOT_WIDTH,
		height);
}

void plot_svg_end(FILE *file, double height, const char *footnote)
{
	if (footnote[0] != '\0')
		plot_svg_text(file, 20, height - 11, "class=\"soft foot\"", footnote);
	fputs("</svg>\n", file);
}

void plot_svg_heading(FILE *file, const char *title, const char *subtitle)
{
	plot_svg_text(file, 20, 28, "class=\"title\"", title);
	plot_svg_text(file, 20, 48, "class=\"soft\"", subtitle);
}
