/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_put.c - the first and last lines of an SVG file, texts, and ticks of axes.
 *
 * Texts are untrusted. Characters that XML forbids, invisible ones and those that change the text
 * direction become '?', and so does each byte that does not start a character.
 */
#include "map/svg_put.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kit/utf8.h"

/* The colors of the page (map/page.css). */
static const char style[] =
	"<style>\n"
	"text{font:12px system-ui,-apple-system,'Segoe UI','Noto Sans','DejaVu Sans',sans-serif;"
	"fill:#5c6779}\n"
	".title{font-size:20px;font-weight:600;fill:#1c2330}\n"
	".head{font-size:14px;fill:#1c2330}\n"
	".name{font-size:13px;font-weight:600;fill:#1c2330}\n"
	".ink{fill:#1c2330}\n"
	".small{font-size:11px}\n"
	".page{fill:#f6f7f9}\n"
	".paper{fill:#fff;stroke:#d9dee6}\n"
	".grid{stroke:#edf0f4}\n"
	".tick{stroke:#5c6779}\n"
	".mark{stroke:#111827;fill:none}\n"
	".edge{stroke:#000;stroke-opacity:.25;stroke-width:3}\n"
	".bad{stroke:#c81e3c;fill:none}\n"
	".badtext{fill:#c81e3c;font-weight:600}\n"
	".hole{fill:#fbe3e0}\n"
	".live{stroke:#2367c9;stroke-width:1.2;fill:none}\n"
	".under{fill:#2367c9;fill-opacity:.18}\n"
	".high{stroke:#d0472f;stroke-width:1.6;fill:none}\n"
	".reserved{stroke:#6b7687;stroke-width:1.6;stroke-dasharray:7 4;fill:none}\n"
	".physical{stroke:#0b8a63;stroke-width:1.6;stroke-dasharray:2 3;fill:none}\n"
	".recorded{stroke:#7a3fc0;stroke-width:1.6;stroke-dasharray:10 3 2 3;fill:none}\n"
	"@media (prefers-color-scheme:dark){\n"
	"text{fill:#96a2b4}\n"
	".title,.head,.name,.ink{fill:#e6eaf1}\n"
	".page{fill:#11151c}\n"
	".paper{fill:#191f29;stroke:#313a48}\n"
	".grid{stroke:#242c38}\n"
	".tick{stroke:#96a2b4}\n"
	".mark{stroke:#fff}\n"
	".bad{stroke:#ff6680}\n"
	".badtext{fill:#ff6680}\n"
	".hole{fill:#43232c}\n"
	".live{stroke:#6ea8ff}\n"
	".under{fill:#6ea8ff}\n"
	".high{stroke:#ff8a6b}\n"
	".reserved{stroke:#a3adbb}\n"
	".physical{stroke:#3fd0a0}\n"
	".recorded{stroke:#bb9bff}\n"
	"}\n"
	"</style>\n"
	"<defs><pattern id=\"holes\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\">"
	"<rect class=\"hole\" width=\"7\" height=\"7\"/>"
	"<path class=\"bad\" d=\"M-1 8L8 -1M-1 1L1 -1M6 8L8 6\"/></pattern></defs>\n";

void svg_begin(FILE *file, double height, const char *title)
{
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
		"height=\"%.0f\" role=\"img\">\n"
		"<!-- SPDX-License-Identifier: Apache-2.0 -->\n<title>",
		SVG_WIDTH, height, SVG_WIDTH, height);
	svg_escape(file, title);
	fprintf(file, " - heap map</title>\n%s<rect class=\"page\" width=\"%d\" height=\"%.0f\"/>\n",
		style, SVG_WIDTH, height);
}

void svg_end(FILE *file)
{
	fputs("</svg>\n", file);
}

/* Whether a multibyte character of `bytes` bytes may be written. */
static bool is_shown(const unsigned char *text, size_t bytes)
{
	uint32_t code = text[0] & (0x7fu >> bytes);

	for (size_t i = 1; i < bytes; i++)
		code = code << 6 | (text[i] & 0x3f);
	return code >= 0xa0 && !(code >= 0x200b && code <= 0x200f) &&
	       !(code >= 0x2028 && code <= 0x202e) && !(code >= 0x2060 && code <= 0x206f) &&
	       code != 0xfeff && (code & 0xfffe) != 0xfffe;
}

void svg_escape(FILE *file, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		size_t bytes = utf8_length(text, left);
		unsigned char byte = (unsigned char)*text;

		if (bytes > 1 && is_shown((const unsigned char *)text, bytes))
			fwrite(text, 1, bytes, file);
		else if (bytes != 1 || byte < 0x20 || byte == 0x7f)
			putc('?', file);
		else if (strchr("<>&\"'", byte))
			fprintf(file, "&#%d;", byte);
		else
			putc(byte, file);
		bytes += bytes == 0;
		text += bytes;
		left -= bytes;
	}
}

void svg_text(FILE *file, double x, double y, const char *how, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, how);
	svg_escape(file, text);
	fputs("</text>\n", file);
}

double svg_width(const char *text)
{
	return 6.8 * (double)strlen(text);
}

void svg_frame(FILE *file, double x, double y, double width, double height)
{
	fprintf(file,
		"<rect class=\"paper\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", x,
		y, width, height);
}

struct svg_color svg_rgb(struct map_rgb rgb)
{
	struct svg_color color;

	snprintf(color.text, sizeof(color.text), "#%02x%02x%02x", rgb.red, rgb.green, rgb.blue);
	return color;
}

double svg_step(double span, int max, int binary)
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

void svg_byte_axis(FILE *file, double y, double height, double top, int max, const char *name)
{
	double step = svg_step(top, max, 1);
	struct svg_bytes bytes = svg_bytes_of(top, step);
	char text[80];

	for (double at = 0; at <= top; at += step) {
		double line = y + height - at / top * height;

		snprintf(text, sizeof(text), "%.*f", bytes.digits, at / bytes.scale);
		svg_text(file, SVG_LEFT - 10, line + 4, " text-anchor=\"end\"", text);
		fprintf(file, "<path class=\"tick\" d=\"M%.1f %.1fh-5\"/>\n", SVG_LEFT, line);
	}
	snprintf(text, sizeof(text), "%s (%s)", name, bytes.unit);
	fprintf(file, "<g transform=\"translate(24 %.1f) rotate(-90)\">", y + height / 2);
	svg_text(file, 0, 0, " text-anchor=\"middle\"", text);
	fputs("</g>\n", file);
}
