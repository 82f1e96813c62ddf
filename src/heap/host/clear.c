/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clear.c - clear.h: zeroes everything around the fields that never change.
 */
#include "heap/host/clear.h"

/* The last word of the bitmap, which ends at `end`, has set bits after the `pages` pages. */
static void clear_tail(struct mam_copy_visit *visit, uintptr_t end, uint32_t pages)
{
	const uint32_t last = pages % 64;

	if (last == 0 && pages != 0)
		return;
	mam_copy_fill(visit, end - 8 + last / 8, (unsigned char)(0xff << last % 8), 1);
	mam_copy_fill(visit, end - 8 + last / 8 + 1, 0xff, 7 - last / 8);
}

/* Clears from a header of pages to `end`, except for the header's constant fields. */
static void clear_from(struct mam_copy_visit *visit, uintptr_t header, uintptr_t end)
{
	const uintptr_t from = header + offsetof(struct mam_pages, open);

	mam_copy_fill(visit, from, 0, end - from);
}

void mam_clear_pages(struct mam_copy_visit *visit, uintptr_t metadata, uint32_t pages)
{
	const uintptr_t end = metadata + mam_pages_bytes(pages);

	clear_from(visit, metadata, end);
	clear_tail(visit, end, pages);
}

/* The metadata of no pages comes first and has a tail. */
void mam_clear_plot(struct mam_copy_visit *visit, const struct mam_plot *plot)
{
	const struct mam_metadata_plan plan = mam_plot_metadata(plot);
	const uintptr_t head = mam_plot_head(plot), none = head + sizeof(struct mam_kheap);

	clear_from(visit, none, head + plan.units);
	clear_tail(visit, none + mam_pages_bytes(0), 0);
	clear_from(visit, head + plan.units, head + plan.end);
}
