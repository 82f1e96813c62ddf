/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - allocates and frees pages of one size, or runs of them, in kernels. This is the file to
 * include.
 *
 * A page is a number below the heap's count. A lane keeps a struct mam_kwalk in its registers,
 * started once, and passes it to every call. Lanes that call together are served together. A thread
 * that allocates a page sees what its last owner wrote before freeing it.
 */
#ifndef MAM_HEAP_PAGES_PAGES_H
#define MAM_HEAP_PAGES_PAGES_H

#include "heap/pages/lone.h"
#include "heap/pages/release.h"
#include "heap/pages/runs_warp.h"
#include "heap/pages/warp.h"

/* Allocates one page; returns MAM_NO_PAGE if each was seen allocated. */
MAM_KFN uint32_t mam_pages_take(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk)
{
	uint32_t mask = mam_warp_active();

	if (mask & (mask - 1))
		return mam_warp_take(pages, walk, mask);
	return mam_lone_take(pages, walk);
}

/* Returns false and counts an error if the page is free or invalid; nothing else changes then. */
MAM_KFN bool mam_pages_give(MAM_GLOBAL struct mam_pages *pages, uint32_t page)
{
	if (page >= pages->count) {
		mam_tally_add(pages, MAM_TALLY_FOREIGN, 1);
		return false;
	}
	if (mam_release_warp(pages, page, mam_warp_active()))
		return true;
	mam_tally_add(pages, MAM_TALLY_TWICE, 1);
	return false;
}

/*
 * Allocates `n` consecutive pages; returns MAM_NO_PAGE if no such run was seen free. Each lane may
 * pass a different n.
 */
MAM_KFN uint32_t mam_pages_take_run(MAM_GLOBAL struct mam_pages *pages, struct mam_kwalk *walk,
				    uint32_t n)
{
	struct mam_kfound found;

	if (!n || n > pages->count) {
		mam_tally_add(pages, MAM_TALLY_BAD_SIZE, 1);
		return MAM_NO_PAGE;
	}
	if (n == 1)
		return mam_pages_take(pages, walk);
	found = mam_runs_take_warp(pages, *walk, mam_warp_active(), n);
	*walk = found.walk;
	return found.page;
}

/* As mam_pages_give(), for all of a run or a part of it. */
MAM_KFN bool mam_pages_give_run(MAM_GLOBAL struct mam_pages *pages, uint32_t page, uint32_t n)
{
	if (!n || page >= pages->count || n > pages->count - page) {
		mam_tally_add(pages, MAM_TALLY_FOREIGN, 1);
		return false;
	}
	if (mam_runs_release_warp(pages, page, n, mam_warp_active()))
		return true;
	mam_tally_add(pages, MAM_TALLY_TWICE, 1);
	return false;
}

#endif
