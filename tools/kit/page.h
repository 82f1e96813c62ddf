/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - an HTML page: a frame that all pages share, and in it a template with marks, each of
 * which is replaced by generated text.
 *
 * All untrusted data is written by page_markup(), page_text() or as packed numbers, so a browser
 * never interprets any of it as markup or code.
 */
#ifndef TOOLS_PAGE_H
#define TOOLS_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct page_mark {
	const char *name; /* "@TITLE@" */
	void (*put)(FILE *file, const void *what);
};

struct page_parts {
	const char *title; /* untrusted */
	const char *kind;  /* of page */
	const char *css;
	const char *html; /* what follows the title in the header element, with marks */
	const char *js;
};

/* page_write - write a page with the marks replaced. Errors remain set in `file`. */
void page_write(FILE *file, const struct page_parts *parts, const struct page_mark *marks,
		size_t count, const void *what);

/* page_markup - write text between tags and in attributes of HTML or XML. */
void page_markup(FILE *file, const char *text);

/* page_fact - one number of a page's summary, with a note or "". */
void page_fact(FILE *file, const char *name, const char *value, const char *note);

/* page_text - write a JSON string that is safe inside a script element. */
void page_text(FILE *file, const char *text);

/*
 * Numbers in base64: 7 bits per byte, the lowest first; the high bit is set in all bytes of a
 * number except the last.
 */
struct page_numbers {
	FILE *file;
	uint32_t bits;
	int held; /* bytes in `bits` */
	int column;
};

void page_numbers_begin(struct page_numbers *to, FILE *file);
void page_numbers_put(struct page_numbers *to, uint64_t number);
void page_numbers_end(struct page_numbers *to);

#endif
