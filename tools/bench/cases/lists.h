/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.h - lists of items in pages that kernels ask for as they append: what lets one pass do where
 * two would count first. Behind ask.h.
 *
 * A list is a count and a directory of pages, all of one size. To append so many items:
 * 1. one atomic adds them to the count; what was there is the place of the first
 * 2. who has the first place of a page asks for that page, and offers it: its address into the directory
 * 3. who has others looks there until it has come. Who has looked CASE_LOOKS times asks for a page
 *    himself and offers that: the first that was offered stays, any other goes back. So nobody waits for
 *    somebody who may not be running.
 * 4. items are written to their places, plainly: they are read by a later kernel.
 * The directory: a word for each of the first `direct` pages, then a word for each of three trees, of
 * one, two and three levels of pages of words, as a file's blocks in Unix (D. Ritchie, K. Thompson, "The
 * UNIX Time-Sharing System", CACM 1974). So lists that are as long as was thought are read without a
 * second load, and those of a bad hash have room, too.
 *
 * Bound: an append is an atomic and a load; one in `items` appended asks. A list has less than one page
 * that is not full, and less than 2^32 - 2^20 items. Requests of many lists at once do not wait for each other: many lanes ask together.
 *
 * Invariants: the pages of a list hold its items without a gap, page n those from n * items on. A word
 * of a directory goes from 0 to an address, or to CASE_DEAD where no page was to be had, and stays so
 * while kernels append. Whoever is told CASE_DEAD drops his items: case_alloc() has counted that.
 */
#ifndef MAM_TOOLS_BENCH_CASES_LISTS_H
#define MAM_TOOLS_BENCH_CASES_LISTS_H

#include "bench/cases/ask.h"

#define CASE_LOOKS 400u /* 40 us or so: an allocator answers far sooner */
#define CASE_LOOK_NS 100u
#define CASE_DEAD UINT64_C(1) /* for an address: there is no page */
#define CASE_TREES 3u

/* Lists of one kind: in `words`, all zero at first, each has `direct` + 1 + CASE_TREES of them. */
struct case_lists {
	uint64_t *words;
	uint32_t direct;     /* pages that have a word in the list itself */
	uint32_t page_bytes; /* a multiple of 8 */
	uint32_t items;      /* of a page */
};

MAM_KBOTH uint32_t case_list_words(uint32_t direct)
{
	return direct + 1 + CASE_TREES;
}

MAM_KFN uint64_t *case_list_at(const struct case_lists *lists, uint32_t number)
{
	return lists->words + (uint64_t)number * case_list_words(lists->direct);
}

/* ---- the directory ---- */

/* A page is asked for and offered; answers what stands there then. `index`: it is one of words. */
MAM_KSLOW uint64_t case_list_offer(const struct device_job *job, uint64_t *slot,
				   uint32_t page_bytes, bool index)
{
	const uint32_t came = mam_warp_active();
	struct case_told *told = case_told_of(job);
	void *mine = case_alloc(job->heap, told, job->flags, page_bytes);
	const uint64_t address = mine != NULL ? (uint64_t)(uintptr_t)mine : CASE_DEAD;
	uint64_t was;
	uint32_t i;

	for (i = 0; index && mine != NULL && i < page_bytes / 8; i++)
		((uint64_t *)mine)[i] = 0;
	/*
	 * Who reads an address writes items there, and nobody reads these before a later kernel; what the
	 * page's last holder did was over when it was given back. A release would wait for all that this
	 * warp has written: up to 17 us on an H100 that is busy with stores.
	 */
	if (index)
		was = mam_atomic_cas64(slot, 0, address, MAM_ACQ_REL, MAM_AT_DEVICE);
	else
		was = mam_atomic_cas64(slot, 0, address, MAM_RELAXED, MAM_AT_DEVICE);
	if (was != 0 && mine != NULL)
		case_free(job->heap, told, job->flags, mine, page_bytes);
	mam_warp_sync(came);
	return was != 0 ? was : address;
}

/* The word of a page that is the page-th behind the direct ones; NULL: there is none. `trees`: the first
 * tree's word. `make`: pages of words are made. */
MAM_KSLOW uint64_t *case_list_deep(const struct device_job *job, uint64_t *trees,
				   uint32_t page_bytes, uint64_t page, bool make)
{
	const uint64_t fan = page_bytes / 8;
	uint64_t span = fan, child;
	uint32_t tree;

	for (tree = 0; page >= span; tree++) {
		page -= span;
		span *= fan;
		if (tree == CASE_TREES - 1)
			return NULL;
	}
	trees += tree;
	do {
		child = mam_atomic_load64(trees, MAM_ACQUIRE, MAM_AT_DEVICE);
		if (child == 0 && make)
			child = case_list_offer(job, trees, page_bytes, true);
		if (child <= CASE_DEAD)
			return NULL;
		span /= fan;
		trees = (uint64_t *)(uintptr_t)child + page / span;
		page %= span;
	} while (span > 1);
	return trees;
}

MAM_KFN uint64_t *case_list_slot(const struct device_job *job, uint64_t *list, uint32_t direct,
				 uint32_t page_bytes, uint32_t page, bool make)
{
	if (page < direct)
		return list + 1 + page;
	return case_list_deep(job, list + 1 + direct, page_bytes, page - direct, make);
}

/* ---- to append ---- */

/* case_list_reserve - room for `count` items; answers the first one's place */
MAM_KFN uint32_t case_list_reserve(uint64_t *list, uint32_t count)
{
	return mam_atomic_add32((uint32_t *)list, count, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Pages from `page` to below `end`. Apart, as are all that ask: what seldom does is not charged for it. */
MAM_KSLOW void case_list_ask(const struct device_job *job, uint64_t *list, uint32_t direct,
			     uint32_t page_bytes, uint32_t page, uint32_t end)
{
	const uint32_t came = mam_warp_active();
	uint64_t *slot;

	for (; page < end; page++) {
		slot = case_list_slot(job, list, direct, page_bytes, page, true);
		if (slot != NULL)
			(void)case_list_offer(job, slot, page_bytes, false);
		else
			device_tell(&case_told_of(job)->none, 1);
	}
	mam_warp_sync(came);
}

/* case_list_open - asks for the pages whose first places are among `count` from `from` on. Before
 * anybody of the block waits for a page. */
MAM_KFN void case_list_open(const struct device_job *job, const struct case_lists *lists,
			    uint64_t *list, uint32_t from, uint32_t count)
{
	const uint32_t page = (from + lists->items - 1) / lists->items;
	const uint32_t end = (from + count + lists->items - 1) / lists->items;

	if (page < end)
		case_list_ask(job, list, lists->direct, lists->page_bytes, page, end);
}

/* Until the page is there; who has waited for long asks for one himself. */
MAM_KSLOW uint64_t case_list_wait(const struct device_job *job, uint64_t *list, uint32_t direct,
				  uint32_t page_bytes, uint32_t page)
{
	const uint32_t came = mam_warp_active();
	uint64_t *slot = case_list_slot(job, list, direct, page_bytes, page, true);
	uint64_t seen = slot != NULL ? 0 : CASE_DEAD;
	uint32_t looks;

	for (looks = 0; seen == 0 && looks < CASE_LOOKS; looks++) {
		seen = mam_atomic_load64(slot, MAM_RELAXED, MAM_AT_DEVICE);
		if (seen == 0)
			mam_nanosleep(CASE_LOOK_NS);
	}
	if (seen == 0)
		seen = case_list_offer(job, slot, page_bytes, false);
	mam_warp_sync(came);
	return seen == CASE_DEAD ? 0 : seen;
}

/* case_list_glance - a page's address, if it is there already and has a word in the list; else 0. Several
 * of these are on their way at a time, before any of them is awaited. */
MAM_KFN uint64_t case_list_glance(const struct case_lists *lists, uint64_t *list, uint32_t page)
{
	const uint64_t seen = page < lists->direct ? mam_atomic_load64(list + 1 + page, MAM_RELAXED,
								       MAM_AT_DEVICE)
						   : 0;

	return seen == CASE_DEAD ? 0 : seen;
}

/* case_list_await - a page's address, of who has a place in it and saw `seen`; 0: there is none to be had */
MAM_KFN uint64_t case_list_await(const struct device_job *job, const struct case_lists *lists,
				 uint64_t *list, uint32_t page, uint64_t seen)
{
	if (seen != 0)
		return seen;
	return case_list_wait(job, list, lists->direct, lists->page_bytes, page);
}

/* ---- to read, in a later kernel ---- */

MAM_KFN uint32_t case_list_count(uint64_t *list)
{
	return mam_atomic_load32((uint32_t *)list, MAM_RELAXED, MAM_AT_DEVICE);
}

/* case_list_page - a page's address; 0: there was none to be had */
MAM_KFN uint64_t case_list_page(const struct device_job *job, const struct case_lists *lists,
				uint64_t *list, uint32_t page)
{
	uint64_t *slot = case_list_slot(job, list, lists->direct, lists->page_bytes, page, false);
	const uint64_t seen =
		slot != NULL ? mam_atomic_load64(slot, MAM_RELAXED, MAM_AT_DEVICE) : CASE_DEAD;

	return seen == CASE_DEAD ? 0 : seen;
}

/* case_list_give - of a page that its reader is done with; all that read it have met since */
MAM_KFN void case_list_give(const struct device_job *job, const struct case_lists *lists,
			    uint64_t page)
{
	case_free(job->heap, case_told_of(job), job->flags, (void *)(uintptr_t)page,
		  lists->page_bytes);
}

MAM_KFN void case_list_give_words(const struct device_job *job, const struct case_lists *lists,
				  uint64_t page, uint32_t levels)
{
	const uint32_t fan = levels > 1 ? lists->page_bytes / 8 : 0;
	const uint32_t fan_below = levels > 2 ? fan : 0;
	uint64_t *words = (uint64_t *)(uintptr_t)page, *below;
	uint32_t i, k;

	if (page <= CASE_DEAD)
		return;
	for (i = 0; i < fan; i++) {
		below = (uint64_t *)(uintptr_t)words[i];
		for (k = 0; words[i] > CASE_DEAD && k < fan_below; k++) {
			if (below[k] > CASE_DEAD)
				case_list_give(job, lists, below[k]);
		}
		if (words[i] > CASE_DEAD)
			case_list_give(job, lists, words[i]);
	}
	case_list_give(job, lists, page);
}

/* case_list_end - by a whole block: gives back the directory, and where `pages` the items' pages with it.
 * The list is empty afterwards. */
MAM_KFN void case_list_end(const struct device_job *job, const struct case_lists *lists,
			   uint64_t *list, bool pages)
{
	const uint32_t count = (case_list_count(list) + lists->items - 1) / lists->items;
	uint64_t page;
	uint32_t n, i;

	for (n = mam_thread(); pages && n < count; n += mam_block_threads()) {
		page = case_list_page(job, lists, list, n);
		if (page != 0)
			case_list_give(job, lists, page);
	}
	mam_syncthreads();
	for (i = mam_thread(); i < CASE_TREES; i += mam_block_threads())
		case_list_give_words(job, lists, list[1 + lists->direct + i], i + 1);
	mam_syncthreads();
	for (i = mam_thread(); i < case_list_words(lists->direct); i += mam_block_threads())
		list[i] = 0;
}

#endif
