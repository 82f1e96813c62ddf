/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - implements pages.h with mmap and mremap. */
#include "base/pages.h"

#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/*
 * Map `bytes`, aligned to a huge page if the range can hold one: a longer range is mapped, and its
 * ends are unmapped.
 */
static char *map_aligned(size_t bytes)
{
	size_t slack = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
	char *base = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t skip;

	if (base == MAP_FAILED)
		return NULL;
	if (slack == 0)
		return base;
	skip = (HUGE_PAGE - (size_t)base % HUGE_PAGE) % HUGE_PAGE;
	if (skip != 0)
		munmap(base, skip);
	if (skip != slack)
		munmap(base + skip + bytes, slack - skip);
	return base + skip;
}

/* Advise the whole range at once, so that it stays one mapping: mremap() moves only one. */
static void prefer_huge(void *base, size_t bytes)
{
	if (bytes >= HUGE_PAGE)
		(void)madvise(base, bytes, MADV_HUGEPAGE);
}

void *mam_pages_map(size_t bytes)
{
	char *base = map_aligned(bytes);

	if (base != NULL)
		prefer_huge(base, bytes);
	return base;
}

void mam_pages_unmap(void *base, size_t bytes)
{
	munmap(base, bytes);
}

void *mam_pages_move(void *base, size_t old_bytes, size_t bytes)
{
	char *fresh = map_aligned(bytes);

	if (fresh == NULL)
		return NULL;
	/* Move into the new range: the old and the new part become one mapping there. */
	if (mremap(base, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, fresh) == MAP_FAILED) {
		munmap(fresh, bytes);
		return NULL;
	}
	prefer_huge(fresh, bytes);
	return fresh;
}
