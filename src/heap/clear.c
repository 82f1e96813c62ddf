/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clear.c - clear.h: zeroes around what never changes.
 */
#include "heap/clear.h"

/* Past `pages` of them the last word of the bitmap, which ends at `end`, has taken bits. */
static void clear_tail(struct mam_reach_visit *visit, uintptr_t end, uint32_t pages)
{
	const uint32_t last = pages % 64;

	if (last == 0 && pages != 0)
		return;
	mam_reach_fill(visit, end - 8 + last / 8, (unsigned char)(0xff << last % 8), 1);
	mam_reach_fill(visit, end - 8 + last / 8 + 1, 0xff, 7 - last / 8);
}

/* From a header of pages to `end`, but for what never changes in the header. */
static void clear_from(struct mam_reach_visit *visit, uintptr_t header, uintptr_t end)
{
	const uintptr_t from = header + offsetof(struct mam_pages, open);

	mam_reach_fill(visit, from, 0, end - from);
}

void mam_clear_pages(struct mam_reach_visit *visit, uintptr_t books, uint32_t pages)
{
	const uintptr_t end = books + mam_pages_bytes(pages);

	clear_from(visit, books, end);
	clear_tail(visit, end, pages);
}

/* The books of no pages come first, and have a tail. */
void mam_clear_plot(struct mam_reach_visit *visit, const struct mam_plot *plot)
{
	const struct mam_books_plan plan = mam_plot_books(plot);
	const uintptr_t head = mam_plot_head(plot), none = head + sizeof(struct mam_kheap);

	clear_from(visit, none, head + plan.units);
	clear_tail(visit, none + mam_pages_bytes(0), 0);
	clear_from(visit, head + plan.units, head + plan.end);
}
