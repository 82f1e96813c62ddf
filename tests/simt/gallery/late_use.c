/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_use.c - a page is read after it was freed.
 *
 * The bug: a lane frees its page and reads it once more, for a checksum. Most times the
 * page still has its old contents; after another lane has allocated it, it does not.
 * Seen in: programs more than allocators: the last use of a block moved after its free when code
 * was cleaned up, or a free in one warp while another of the same block still reads. The twin reads
 * before it frees.
 * Found by: the race checker with access hooks, as soon as the page has another owner: nothing
 * orders that owner's writes and the late read, even if the value was still right.
 */
#include "simt/gallery/gallery.h"

struct pages {
	uint32_t bug, wrong, count; /* at most 32 */
	uint32_t taken;
	uint32_t payload[32];
};

/* A page; `count` if none was free. */
MAM_KFN uint32_t pages_alloc(struct pages *pages)
{
	for (uint32_t page = 0; page < pages->count; page++)
		if (!(mam_atomic_or32(&pages->taken, 1u << page, MAM_ACQUIRE, MAM_AT_DEVICE) >>
			      page &
		      1))
			return page;
	return pages->count;
}

MAM_KERNEL(gallery_late_use)
{
	struct pages *pages = (struct pages *)argument;
	uint32_t page = pages_alloc(pages), sum = 0;

	if (page == pages->count)
		return;
	pages->payload[page] = gallery_index() + 1;
	/* The one place: the bug's last read follows the free. */
	if (!pages->bug)
		sum = pages->payload[page];
	(void)mam_atomic_and32(&pages->taken, ~(1u << page), MAM_RELEASE, MAM_AT_DEVICE);
	if (pages->bug)
		sum = pages->payload[page];
	if (sum != gallery_index() + 1)
		gallery_wrong(&pages->wrong);
}

static void pages_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct pages *pages = (struct pages *)state;
	unsigned int third = (grid * block + 2) / 3;

	pages->bug = bug;
	pages->count = third > 32 ? 32 : third;
}

static const char *pages_check(void *state)
{
	return ((struct pages *)state)->wrong ? "a page's payload is another owner's" : NULL;
}

const struct gallery_row gallery_late_use_row = {
	.name = "late_use",
	.what = "a page is read after it was freed",
	.kernel = gallery_late_use,
	.bytes = sizeof(struct pages),
	.grid = 3,
	.block = 1,
	.begin = pages_begin,
	.check = pages_check,
	.hooks = GALLERY_RACE,
};
