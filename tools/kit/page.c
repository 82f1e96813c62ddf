/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - an HTML page: substitute marks in a template, escape untrusted text, and pack numbers.
 */
#include "kit/page.h"

#include <stdbool.h>
#include <string.h>

#include "kit/utf8.h"

/*
 * Write the substitution of the mark at `text` and return its length; without a mark, write the
 * '@'.
 */
static size_t put_mark(FILE *file, const char *text, const struct page_mark *marks, size_t count,
		       const void *what)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(marks[i].name);

		if (strncmp(text, marks[i].name, length) == 0) {
			marks[i].put(file, what);
			return length;
		}
	}
	putc(*text, file);
	return 1;
}

void page_write(FILE *file, const char *text, const struct page_mark *marks, size_t count,
		const void *what)
{
	while (*text) {
		size_t plain = strcspn(text, "@");

		fwrite(text, 1, plain, file);
		text += plain;
		if (*text)
			text += put_mark(file, text, marks, count, what);
	}
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

/*
 * Characters that XML forbids, invisible ones and those that change the text direction become '?',
 * and so does each byte that does not start a character.
 */
void page_markup(FILE *file, const char *text)
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

void page_fact(FILE *file, const char *name, const char *value, const char *note)
{
	fprintf(file, "<div><dt>%s</dt><dd>%s%s%s%s</dd></div>\n", name, value,
		*note ? " <small>" : "", note, *note ? "</small>" : "");
}

/*
 * Escape every byte that could end the string, and anything that could form "</script" or "<!--".
 */
void page_text(FILE *file, const char *text)
{
	putc('"', file);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		/* U+2028 and U+2029 end a line of a script and are invisible. */
		if (strncmp(text, "\342\200\250", 3) == 0 || strncmp(text, "\342\200\251", 3) == 0) {
			fprintf(file, "\\u%x", text[2] == '\250' ? 0x2028 : 0x2029);
			text += 2;
		} else if (byte < 0x20 || byte == 0x7f || strchr("<>&\"'\\", byte)) {
			fprintf(file, "\\u%04x", byte);
		} else {
			putc(byte, file);
		}
	}
	putc('"', file);
}

void page_numbers_begin(struct page_numbers *to, FILE *file)
{
	*to = (struct page_numbers){ .file = file };
}

/* Three bytes become four letters; an incomplete group is padded with '='. */
void page_numbers_end(struct page_numbers *to)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char four[4];

	if (to->held == 0)
		return;
	to->bits <<= 8 * (3 - to->held);
	for (int i = 0; i < 4; i++)
		four[i] = i > to->held ? '=' : letters[(to->bits >> (18 - 6 * i)) & 63];
	fwrite(four, 1, 4, to->file);
	to->bits = 0;
	to->held = 0;
	to->column += 4;
	if (to->column < 100)
		return;
	putc('\n', to->file);
	to->column = 0;
}

void page_numbers_put(struct page_numbers *to, uint64_t number)
{
	do {
		to->bits = to->bits << 8 | (uint32_t)(number & 127) | (number > 127 ? 128u : 0u);
		if (++to->held == 3)
			page_numbers_end(to);
		number >>= 7;
	} while (number);
}
