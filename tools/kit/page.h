/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - a page for a browser: a text with marks, each of which stands for something.
 *
 * Whatever comes from outside goes into it by page_markup(), page_text() or as packed numbers, so
 * that nothing of it means anything to a browser.
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

/* page_write - write `text` with its marks replaced. Errors stay with `file`. */
void page_write(FILE *file, const char *text, const struct page_mark *marks, size_t count,
		const void *what);

/* page_markup - text between tags and in attributes. */
void page_markup(FILE *file, const char *text);

/* page_text - a string of JSON that a script element may hold. */
void page_text(FILE *file, const char *text);

/*
 * Numbers in base64: 7 bits a byte, the lowest first, the high bit set on all but a number's last
 * byte.
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
