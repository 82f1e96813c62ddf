/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_no_release.c - a page is freed by an atomic that does not release.
 *
 * The bug: the old owner writes its payload, and clears the page's bit with a relaxed AND.
 * The new owner sets the bit and writes its own payload. Nothing orders the two payloads: the old
 * owner's last stores may land after the new owner's first, and overwrite them.
 * Seen in: allocators that rely on "atomics are strong enough", above all frees by a plain or
 * relaxed store because it is the cheapest. It takes a page that is reused at once, and bad luck.
 * The twin's AND releases: with the new owner's acquire, all earlier accesses to the page happen
 * before all later ones.
 * Found by: the race checker with access hooks, as soon as a page has a second owner.
 */
#include "simt/gallery/gallery.h"

#define PAGE_WORDS 4
#define PAGE_ROUNDS 2

struct pages {
	uint32_t bug, wrong, count; /* at most 32 */
	uint32_t taken;
	uint32_t payload[32][PAGE_WORDS];
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

MAM_KFN void pages_free(struct pages *pages, uint32_t page)
{
	/* The one place: the memory order of the free. */
	if (pages->bug)
		(void)mam_atomic_and32(&pages->taken, ~(1u << page), MAM_RELAXED, MAM_AT_DEVICE);
	else
		(void)mam_atomic_and32(&pages->taken, ~(1u << page), MAM_RELEASE, MAM_AT_DEVICE);
}

MAM_KERNEL(gallery_page_no_release)
{
	struct pages *pages = (struct pages *)argument;

	for (uint32_t round = 0; round < PAGE_ROUNDS; round++) {
		uint32_t page = pages_alloc(pages);

		if (page == pages->count)
			continue;
		for (uint32_t i = 0; i < PAGE_WORDS; i++)
			pages->payload[page][i] = gallery_index();
		for (uint32_t i = 0; i < PAGE_WORDS; i++)
			if (pages->payload[page][i] != gallery_index())
				gallery_wrong(&pages->wrong);
		pages_free(pages, page);
	}
}

static void pages_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct pages *pages = (struct pages *)state;
	unsigned int half = grid * block / 2;

	pages->bug = bug;
	pages->count = half > 32 ? 32 : half;
}

static const char *pages_check(void *state)
{
	return ((struct pages *)state)->wrong ? "a page's payload is another owner's" : NULL;
}

const struct gallery_row gallery_page_no_release_row = {
	.name = "page_no_release",
	.what = "a page is freed without release",
	.kernel = gallery_page_no_release,
	.bytes = sizeof(struct pages),
	.grid = 2,
	.block = 2,
	.begin = pages_begin,
	.check = pages_check,
	.hooks = GALLERY_RACE,
};
